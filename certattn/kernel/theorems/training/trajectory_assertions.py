"""What `descent-trajectory` asserts of the iterates of two descents, and the obligations that prove it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, at_least, at_most
from certattn.kernel.document.fields import Choice, Count, Field, Listing, Rational, Record, Values
from certattn.kernel.document.forms import ByKey
from certattn.kernel.document.matrices import MatrixInput, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.descent_setting import WEIGHTS, ExactWeights, Setting, read_weights
from certattn.kernel.theorems.training.mathematics.context_descent import EACH, FINITE, INFINITE, Iterate, Pair
from certattn.kernel.theorems.training.regression_inputs import A, B

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

_DISTANCE = "|theta_k^L - theta_k^inf|"
_PLACES = {EACH: ", each at its own iterate,", FINITE: ", both at theta_k^L,", INFINITE: ", both at theta_k^inf,"}
_GAPS: tuple[tuple[Field[Values], str, Callable[..., arb]], ...] = (
    (RISK_GAP, "|R_L - R_inf|", Pair.risk_gap),
    (GRADIENT_GAP, "|grad R_L - grad R_inf|", Pair.gradient_gap),
)
_RANGES: tuple[tuple[Field[Values], str, Callable[[Pair], arb]], ...] = (
    (DISTANCE, _DISTANCE, Pair.distance),
    (FINITE_RISK, "R_L(theta_k^L)", lambda pair: pair.finite.evaluation.risk),
    (INFINITE_RISK, "R_inf(theta_k^inf)", lambda pair: pair.infinite.evaluation.risk),
)
_ITERATES: tuple[tuple[Field[tuple[str, Values]], str, Callable[[Pair], Iterate]], ...] = (
    (FINITE_POINT, "theta_k^L", lambda pair: pair.finite),
    (INFINITE_POINT, "theta_k^inf", lambda pair: pair.infinite),
)


@dataclass(frozen=True)
class Asserted:
    """Obligations about the pair of iterates after `step` steps, by name; `of` makes them all."""

    step: int
    names: Sequence[str]
    of: Callable[[Pair, int], list[Obligation]]


class Assertion(Protocol):
    """Something that is asserted of both descents."""

    def words(self) -> str: ...
    def asserted(self) -> list[Asserted]: ...


@dataclass(frozen=True)
class Quantity:
    """A number that a pair of iterates has."""

    name: str
    symbol: str
    value: Callable[[Pair], arb]

    def compared(self, suffix: str, k: int, decide: Callable[..., Obligation], bound: fmpq) -> Asserted:
        """The value after k steps beside a bound."""
        name, sentence = self.name + suffix, f"{self.symbol} at k = {k}"
        return Asserted(k, [name], lambda pair, bits: [decide(name, sentence, self.value(pair), bound, bits)])


@dataclass(frozen=True)
class EveryStep:
    """A bound of the quantity for every k = 0, ..., K."""

    quantity: Quantity
    stated: MatrixInput
    bounds: Sequence[fmpq]

    def words(self) -> str:
        several = f"the bound that is stated for it, of {self.stated.words()}"
        bound = describe(self.bounds[0]) if self.stated.shape[1] == 1 else several
        return f"for every k = 0, ..., {len(self.bounds) - 1}, {self.quantity.symbol} is at most {bound}"

    def asserted(self) -> list[Asserted]:
        return [self.quantity.compared(f"[{k}]", k, at_most, bound) for k, bound in enumerate(self.bounds)]


@dataclass(frozen=True)
class Range:
    """at_least <= quantity <= at_most after k steps."""

    quantity: Quantity
    step: int
    at_most: fmpq | None
    at_least: fmpq | None

    def words(self) -> str:
        parts = [f"at least {describe(self.at_least)}"] if self.at_least is not None else []
        parts += [f"at most {describe(self.at_most)}"] if self.at_most is not None else []
        return f"at k = {self.step}, {self.quantity.symbol} is {' and '.join(parts)}"

    def asserted(self) -> list[Asserted]:
        found = []
        if self.at_least is not None:
            found.append(self.quantity.compared(".at_least", self.step, at_least, self.at_least))
        if self.at_most is not None:
            found.append(self.quantity.compared(".at_most", self.step, at_most, self.at_most))
        return found


@dataclass(frozen=True)
class Near:
    """An iterate is at most `radius` away from a stated point after k steps."""

    quantity: Quantity
    step: int
    point: ExactWeights
    radius: fmpq

    def words(self) -> str:
        return f"at k = {self.step}, {self.quantity.symbol} {self.point.words()} is at most {describe(self.radius)}"

    def asserted(self) -> list[Asserted]:
        return [self.quantity.compared("", self.step, at_most, self.radius)]


def read_assertions(values: Values, setting: Setting) -> list[Assertion]:
    """All but the Gronwall bound; every step and shape checked. Raises MalformedError."""
    found: list[Assertion] = []
    if TUBE in values:
        found.append(_every_step(Quantity(TUBE.name, _DISTANCE, Pair.distance), values[TUBE], setting))
    for field, symbol, gap in _GAPS:
        if field in values:
            at = values[field][WHERE]
            quantity = Quantity(field.name, symbol + _PLACES[at], partial(gap, at=at))
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
    for field, symbol, value in _RANGES:
        if field in values:
            ends = values[field]
            if AT_MOST not in ends and AT_LEAST not in ends:
                raise ends.at.malformed("at_most or at_least", "neither")
            quantity = Quantity(f"{name}.{field.name}", symbol, value)
            found.append(Range(quantity, step, ends.get(AT_MOST), ends.get(AT_LEAST)))
    for point, symbol, iterate in _ITERATES:
        if point in values:
            found.append(_near(f"{name}.{point.name}", step, symbol, iterate, values[point], setting))
    if not found:
        raise values.at.malformed("something that is asserted at this step", "only a step")
    return found


def _near(
    name: str, step: int, symbol: str, iterate: Callable[[Pair], Iterate], stated: tuple[str, Values], setting: Setting
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

    return Near(
        Quantity(name, f"the distance of {symbol} from the stated point", distance), step, point, values[RADIUS]
    )
