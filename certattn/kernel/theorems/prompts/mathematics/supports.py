"""Sets that hold the support of a law: which points lie in them, and how large a linear function is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from flint import fmpq, fmpz

from certattn.kernel.document.matrices import MatrixInput, Vector
from certattn.kernel.document.schema import Field, Kind, Rational, Reading, Record, Values, Variant
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

LOW = Field("low", Vector(), "the least value of each coordinate")
HIGH = Field("high", Vector(), "the largest value of each coordinate")
CENTRE = Field("centre", Vector(), "centre of the ball")
RADIUS = Field("radius", Rational(above=0), "its radius in the Euclidean norm")
FORMS = Variant("kind", {"box": Record(LOW, HIGH), "ball": Record(CENTRE, RADIUS)})


@dataclass(frozen=True)
class Extreme:
    """rational + sqrt(squared): the largest value of a linear function."""

    rational: fmpq
    squared: fmpq


class Region(Protocol):
    """A set of points."""

    @property
    def dimension(self) -> int: ...

    def margin(self, points: ExactMatrix) -> fmpq:
        """A number that is >= 0 exactly where all rows of `points` lie in the set."""
        ...

    def largest(self, row: list[fmpq]) -> Extreme:
        """The largest <row, x> for x in the set."""
        ...


@dataclass(frozen=True)
class BoxRegion:
    """low_j <= x_j <= high_j for every j."""

    low: list[fmpq]
    high: list[fmpq]

    @property
    def dimension(self) -> int:
        return len(self.low)

    def margin(self, points: ExactMatrix) -> fmpq:
        """How far the points stay from what bounds a coordinate, at least."""
        columns, size = points.numerators.transpose().tolist(), points.denominator
        ends = zip(columns, self.low, self.high, strict=True)
        return min(min(fmpq(min(x), size) - low, high - fmpq(max(x), size)) for x, low, high in ends)

    def largest(self, row: list[fmpq]) -> Extreme:
        ends = zip(row, self.low, self.high, strict=True)
        return Extreme(sum((max(entry * low, entry * high) for entry, low, high in ends), fmpq(0)), fmpq(0))


@dataclass(frozen=True)
class BallRegion:
    """|x - centre| <= radius."""

    centre: list[fmpq]
    radius: fmpq

    @property
    def dimension(self) -> int:
        return len(self.centre)

    def margin(self, points: ExactMatrix) -> fmpq:
        """The squared radius minus the largest squared distance from the centre."""
        gaps = points.centred(ExactMatrix.row_vector(self.centre))
        farthest = max(sum((x * x for x in row), fmpz(0)) for row in gaps.numerators.tolist())
        return self.radius * self.radius - fmpq(farthest, gaps.denominator * gaps.denominator)

    def largest(self, row: list[fmpq]) -> Extreme:
        at_centre = sum((x * y for x, y in zip(row, self.centre, strict=True)), fmpq(0))
        return Extreme(at_centre, self.radius * self.radius * sum((x * x for x in row), fmpq(0)))


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
