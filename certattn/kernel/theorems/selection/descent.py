"""How a certificate states a descent: its rule and step, and where it starts.

    descent: {rule: gradient, step: eta}      p(k+1) = p(k) - eta grad L(p(k))
    descent: {rule: normalised, step: s}      p(k+1) = p(k) - s grad L(p(k)) / |grad L(p(k))|
    descent: {rule: flow}                     dp/dt = -grad L(p)

    start: VECTOR                             one point
    start: {lower: VECTOR, upper: VECTOR}     every point of a box
    start: every                              every point
    start: {cone: {opening: mu, norm: R}}     every p with cos angle(p, p_mm) >= 1 - mu and |p| >= R

L is the average of the losses of n inputs, so that a step eta on L is h = eta / n on their sum.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.document.matrices import MatrixInput, Vector
from certattn.kernel.document.schema import Choice, Field, Kind, Rational, Reading, Record, Values, Variant
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.selection_descent import GradientStep, NormalisedStep, Step
from certattn.kernel.mathematics.selection_landscape import Landscape
from certattn.kernel.theorems.selection.mathematics.cone_convergence import Cone

GRADIENT, NORMALISED, FLOW = "gradient", "normalised", "flow"

STEP = Field("step", Rational(above=0), "the step eta on L, the average over the inputs")
LENGTH = Field("step", Rational(above=0), "the length s of every step")
DESCENT = Field(
    "descent",
    Variant("rule", {GRADIENT: Record(STEP), NORMALISED: Record(LENGTH), FLOW: Record()}),
    "the rule of descent, and its step",
)

LOWER = Field("lower", Vector(), "the lower ends of the box")
UPPER = Field("upper", Vector(), "the upper ends of the box")
EVERY = "every"
# The kinds of start: one that is enclosed as a box, and the two that are no boxes.
ENCLOSED, CONE = "box", "cone"
OPENING = Field("opening", Rational(minimum=0), "mu < 1: the cosine of the angle with p_mm is at least 1 - mu")
NORM = Field("norm", Rational(above=0), "R: the least norm")
CONE_FIELD = Field(CONE, Record(OPENING, NORM), "the cone around p_mm")


@dataclass(frozen=True)
class Rule:
    """A rule of descent for n inputs; `step` is eta or s, and None of the flow."""

    kind: str
    step: fmpq | None
    inputs: int

    @property
    def discrete(self) -> bool:
        """Whether it goes in steps."""
        return self.step is not None

    def size(self) -> arb:
        """h = eta / n, or s; 0 for the flow."""
        if self.step is None:
            return arb(0)
        return arb(self.step / self.inputs if self.kind == GRADIENT else self.step)

    def unit(self) -> arb:
        """What a step, or a unit of time, is on the sum F of the losses rather than on their average."""
        return arb(1) / self.inputs if self.step is None else self.size()

    def on(self, landscape: Landscape) -> Step:
        """One step there."""
        return (NormalisedStep if self.kind == NORMALISED else GradientStep)(landscape, self.size())


@dataclass(frozen=True)
class Start:
    """Where descent starts: in a box between two corners, which may be equal; or else in a cone; or else anywhere."""

    lower: ExactMatrix | None
    upper: ExactMatrix | None
    words: str
    cone: Cone | None = None

    @property
    def kind(self) -> str:
        """Enclosed, a cone or every."""
        if self.lower is not None:
            return ENCLOSED
        return EVERY if self.cone is None else CONE

    @property
    def everywhere(self) -> bool:
        """Whether no box encloses it."""
        return self.kind != ENCLOSED

    def balls(self) -> list[arb]:
        """The box at the working precision."""
        assert self.lower is not None
        assert self.upper is not None
        corners = zip(self.lower.row(0), self.upper.row(0), strict=True)
        return [arb(low).union(arb(high)) for low, high in corners]

    def is_point(self) -> bool:
        return self.lower is not None and self.lower == self.upper

    def is_origin(self) -> bool:
        return self.is_point() and self.lower is not None and self.lower.is_zero()


class Starts(Kind["StatedStart"]):
    """A vector, a box, a cone, or the word `every`."""

    _box = Record(LOWER, UPPER)
    _cone = Record(CONE_FIELD)
    written = (Vector(), _box, _cone, Choice((EVERY,)))

    def read(self, node: Node, reading: Reading) -> StatedStart:
        if node.value == EVERY:
            return StatedStart(node, None)
        if isinstance(node.value, dict) and any(key in node.value for key in self._box.fields):
            return StatedStart(node, self._box.read(node, reading))
        if isinstance(node.value, dict) and CONE in node.value:
            return StatedStart(node, self._cone.read(node, reading))
        if isinstance(node.value, str):
            raise node.malformed(f"a vector, a box (lower, upper), a cone, or {EVERY!r}")
        return StatedStart(node, Vector().read(node, reading))


@dataclass(frozen=True)
class StatedStart:
    """A start as it is written."""

    node: Node
    stated: MatrixInput | Values | None


START = Field("start", Starts(), "p(0), or a box or a cone of all p(0), or every")


def read_rule(stated: tuple[str, Values], inputs: int) -> Rule:
    """The rule of descent for so many inputs."""
    kind, values = stated
    return Rule(kind, None if kind == FLOW else values[STEP], inputs)


def read_start(start: StatedStart, dimension: int) -> Start:
    """The start, of the dimension of the keys. Raises MalformedError."""
    if start.stated is None:
        return Start(None, None, "every p(0)")
    if isinstance(start.stated, MatrixInput):
        start.stated.require_length(dimension, "a key")
        point = start.stated.load()
        return Start(point, point, f"p(0) = {start.stated.words()}")
    if CONE_FIELD in start.stated:
        return _read_cone(start.stated[CONE_FIELD])
    ends = [start.stated[LOWER], start.stated[UPPER]]
    for end in ends:
        end.require_length(dimension, "a key")
    lower, upper = (end.load() for end in ends)
    for axis, (low, high) in enumerate(zip(lower.row(0), upper.row(0), strict=True)):
        if low > high:
            raise start.node.malformed("lower <= upper in every coordinate", f"coordinate {axis} turned round")
    return Start(lower, upper, f"every p(0) between {ends[0].words()} and {ends[1].words()}")


def _read_cone(stated: Values) -> Start:
    opening, norm = stated[OPENING], stated[NORM]
    if opening >= 1:
        raise stated.node(OPENING).malformed(
            "an opening mu < 1, where the cosine is at least 1 - mu", describe(opening)
        )
    words = f"every p(0) with cos angle(p(0), p_mm) >= 1 - {describe(opening)} and |p(0)| >= {describe(norm)}"
    return Start(None, None, words, Cone(opening, norm))
