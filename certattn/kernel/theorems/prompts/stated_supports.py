"""Sets that hold the support of a law, as they are stated: boxes and balls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from certattn.kernel.document.matrices import MatrixInput, Vector
from certattn.kernel.document.schema import Field, Kind, Rational, Reading, Record, Values, Variant
from certattn.kernel.document.tree import Node
from certattn.kernel.theorems.prompts.mathematics.supports import BallRegion, BoxRegion, Region

LOW = Field("low", Vector(), "the least value of each coordinate")
HIGH = Field("high", Vector(), "the largest value of each coordinate")
CENTRE = Field("centre", Vector(), "centre of the ball")
RADIUS = Field("radius", Rational(above=0), "its radius in the Euclidean norm")
FORMS = Variant("kind", {"box": Record(LOW, HIGH), "ball": Record(CENTRE, RADIUS)})


@dataclass(frozen=True)
class StatedRegion:
    """A region, and how it is stated."""

    kind: str
    values: Values
    region: Region

    def require_dimension(self, dimension: int, what: str) -> None:
        """Refuse a region of vectors of another dimension than `what`."""
        if self.region.dimension != dimension:
            expected = f"a {self.kind} in dimension {dimension}, that of {what}"
            raise self.values.at.malformed(expected, f"one in dimension {self.region.dimension}")


class RegionKind(Kind[StatedRegion]):
    """A box or a ball."""

    written = (FORMS,)

    def read(self, node: Node, reading: Reading) -> StatedRegion:
        kind, values = FORMS.read(node, reading)
        return StatedRegion(kind, values, _BUILD[kind](values))


def require_ordered(low: MatrixInput, high: MatrixInput, values: Values) -> None:
    """Refuse ends of ranges of which one is empty."""
    high.require_length(low.shape[1], "low")
    for index, (least, most) in enumerate(zip(low.load().row(0), high.load().row(0), strict=True)):
        if (least <= most) is not True:
            raise values.node(HIGH).malformed("no number below that of low", f"a smaller one at index {index}")


def _box(values: Values) -> Region:
    require_ordered(values[LOW], values[HIGH], values)
    return BoxRegion(values[LOW].load().row(0), values[HIGH].load().row(0))


_BUILD: Mapping[str, Callable[[Values], Region]] = {
    "box": _box,
    "ball": lambda values: BallRegion(values[CENTRE].load().row(0), values[RADIUS]),
}
