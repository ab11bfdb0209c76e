"""What `descent-trajectory` asserts of the iterates of two descents, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound, Part, Relation
from certattn.kernel.document.matrices import MatrixInput, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import ByKey, Choice, Count, Field, Listing, Rational, Record, Values
from certattn.kernel.theorems.training.descent_setting import WEIGHTS, ExactWeights, Setting, read_weights
from certattn.kernel.theorems.training.mathematics.context_descent import EACH, FINITE, INFINITE, Iterate, Pair
from certattn.kernel.theorems.training.regression_task import A, B

BOUNDS = Field("at_most", Vector(), "one bound for every k = 0, ..., K, or K + 1 bounds, the first for k = 0")
WHERE = Field("at", Choice((EACH, FINITE, INFINITE)), "each loss at its own iterate, or both at that of one")
TUBE = Field("distance", Record(BOUNDS), "bounds of the distance of the two iterates", required=False)
RISK_GAP = Field("risk_gap", Record(WHERE, BOUNDS), "bounds of |R_L - R_inf|", required=False)
GRADIENT_GAP = Field("gradient_gap", Record(WHERE, BOUNDS), "bounds of |grad R_L - grad R_inf|", required=False)

AT_MOST = Field("at_most", Rational(), "upper bound", required=False)
AT_LEAST = Field("at_least", Rational(), "lower bound", required=False)
RANGE = Record(AT_MOST, AT_LEAST)
RADIUS = Field("radius", Rational(minimum=0), "largest distance of the iterate from this point")
_POINT = ByKey({"A": Record(A, B, RADIUS), "U": Record(*WEIGHTS.fields.values(), RADIUS)})
CHECKPOINT_STEP = Field("step", Count(0), "k")
DISTANCE = Field("distance", RANGE, "range of |theta_k^L - theta_k^inf|", required=False)
FINITE_POINT = Field(FINITE, _POINT, "a point near theta_k^L", required=False)
INFINITE_POINT = Field(INFINITE, _POINT, "a point near theta_k^inf", required=False)
FINITE_RISK = Field("finite_risk", RANGE, "range of R_L(theta_k^L)", required=False)
INFINITE_RISK = Field("infinite_risk", RANGE, "range of R_inf(theta_k^inf)", required=False)
CHECKPOINTS: Field[list[Values]] = Field(
    "checkpoints",
    Listing(Record(CHECKPOINT_STEP, DISTANCE, FINITE_POINT, INFINITE_POINT, FINITE_RISK, INFINITE_RISK)),
    "what holds after some steps",
    required=False,
)

_GAPS: tuple[tuple[Field[Values], Callable[..., arb]], ...] = (
    (RISK_GAP, Pair.risk_gap),
    (GRADIENT_GAP, Pair.gradient_gap),
)
_RANGES: tuple[tuple[Field[Values], Callable[[Pair], arb]], ...] = (
    (DISTANCE, Pair.distance),
    (FINITE_RISK, lambda pair: pair.finite.evaluation.risk),
    (INFINITE_RISK, lambda pair: pair.infinite.evaluation.risk),
)
_ITERATES: tuple[tuple[Field[tuple[str, Values]], Callable[[Pair], Iterate]], ...] = (
    (FINITE_POINT, lambda pair: pair.finite),
    (INFINITE_POINT, lambda pair: pair.infinite),
)


@dataclass(frozen=True)
class Compared:
    """A number that the pair of iterates after some steps has, beside a bound."""

    name: str
    relation: Relation
    bound: fmpq
    part: Part = Part.STATEMENT


# What the numbers of a pair are, or why nothing bounds one.
Found = Sequence[arb | NoBound]


@dataclass(frozen=True)
class AtStep:
    """What is compared after `step` steps; `values` has the numbers of all of them."""

    step: int
    compared: Sequence[Compared]
    values: Callable[[Pair], Found]


class Assertion(Protocol):
    """Something that is asserted of both descents."""

    def at_steps(self) -> Iterator[AtStep]: ...


@dataclass(frozen=True)
class Quantity:
    """A number that a pair of iterates has."""

    name: str
    value: Callable[[Pair], arb]

    def beside(self, suffix: str, k: int, relation: Relation, bound: fmpq) -> AtStep:
        """The value after k steps beside a bound."""
        return AtStep(k, [Compared(self.name + suffix, relation, bound)], lambda pair: [self.value(pair)])


@dataclass(frozen=True)
class EveryStep:
    """A bound of the quantity for every k = 0, ..., K."""

    quantity: Quantity
    stated: MatrixInput
    bounds: Sequence[fmpq]

    def at_steps(self) -> Iterator[AtStep]:
        return (self.quantity.beside(f"[{k}]", k, "<=", bound) for k, bound in enumerate(self.bounds))


@dataclass(frozen=True)
class Range:
    """at_least <= quantity <= at_most after k steps."""

    quantity: Quantity
    step: int
    at_most: fmpq | None
    at_least: fmpq | None

    def at_steps(self) -> Iterator[AtStep]:
        if self.at_least is not None:
            yield self.quantity.beside(".at_least", self.step, ">=", self.at_least)
        if self.at_most is not None:
            yield self.quantity.beside(".at_most", self.step, "<=", self.at_most)


@dataclass(frozen=True)
class Near:
    """An iterate is at most `radius` away from a stated point after k steps."""

    quantity: Quantity
    step: int
    point: ExactWeights
    radius: fmpq

    def at_steps(self) -> Iterator[AtStep]:
        yield self.quantity.beside("", self.step, "<=", self.radius)


def read_assertions(values: Values, setting: Setting) -> list[Assertion]:
    """All but the Gronwall bound; every step and shape checked. Raises MalformedError."""
    found: list[Assertion] = []
    if TUBE in values:
        found.append(_every_step(Quantity(TUBE.name, Pair.distance), values[TUBE], setting))
    for field, gap in _GAPS:
        if field in values:
            at = values[field][WHERE]
            quantity = Quantity(field.name, partial(gap, at=at))
            found.append(_every_step(quantity, values[field], setting))
    if CHECKPOINTS in values:
        checkpoints = values[CHECKPOINTS]
        for index, checkpoint in enumerate(checkpoints):
            found += _checkpoint(f"{CHECKPOINTS.name}[{index}]", checkpoint, setting)
    return found


def _every_step(quantity: Quantity, values: Values, setting: Setting) -> EveryStep:
    stated, count = values[BOUNDS], setting.steps + 1
    if stated.shape[1] not in (1, count):
        expected = f"one bound, or {count} bounds for k = 0, ..., {setting.steps}"
        raise stated.node.malformed(expected, counted(stated.shape[1], "bound"))
    bounds = stated.load().row(0)
    return EveryStep(quantity, stated, bounds * count if len(bounds) == 1 else bounds)


def _checkpoint(name: str, values: Values, setting: Setting) -> list[Assertion]:
    step = values[CHECKPOINT_STEP]
    if step > setting.steps:
        raise values.node(CHECKPOINT_STEP).malformed(f"a step up to K = {setting.steps}", f"{step}")
    found: list[Assertion] = []
    for field, value in _RANGES:
        if field in values:
            ends = values[field]
            if AT_MOST not in ends and AT_LEAST not in ends:
                raise ends.at.malformed("at_most or at_least", "neither")
            quantity = Quantity(f"{name}.{field.name}", value)
            found.append(Range(quantity, step, ends.get(AT_MOST), ends.get(AT_LEAST)))
    for point, iterate in _ITERATES:
        if point in values:
            found.append(_near(f"{name}.{point.name}", step, iterate, values[point], setting))
    if not found:
        raise values.at.malformed("something that is asserted at this step", "only a step")
    return found


def _near(
    name: str, step: int, iterate: Callable[[Pair], Iterate], stated: tuple[str, Values], setting: Setting
) -> Near:
    form, values = stated
    if form != setting.start.names[0]:
        expected = f"a point with {' and '.join(setting.start.names)}, which this model trains"
        raise values.at.malformed(expected, f"a point with {form}")
    point = read_weights(setting.model, values)
    if point.shapes != setting.start.shapes:
        raise values.at.malformed("a point of the shapes of the start", "other shapes")

    def distance(pair: Pair) -> arb:
        return (iterate(pair).point - point.balls()).norm()

    return Near(Quantity(name, distance), step, point, values[RADIUS])
