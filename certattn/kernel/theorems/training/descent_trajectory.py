"""Theorem `descent-trajectory`: training on concrete prompts beside training on infinite ones, step by step.

Given N prompts of numbers, each with a query and a target, a start theta_0 and a step eta, let

    theta_(k+1) = theta_k - eta grad R(theta_k),      k = 0, ..., K - 1,

be gradient descent on the loss R_L of these prompts (theta^L) and on the loss R_inf of infinite prompts
(theta^inf). A certificate asserts, with the Frobenius norm of all trained numbers, one or more of

    distance       |theta_k^L - theta_k^inf| <= eps_k                        for every k <= K
    risk_gap       |R_L - R_inf| <= eps_k                                    for every k <= K
    gradient_gap   |grad R_L - grad R_inf| <= eps_k                          for every k <= K
    checkpoints    ranges of the distance and of both risks, and the iterates up to a radius, at stated k
    gronwall       |theta_k^L - theta_k^inf| <= g ((1 + eta nu)^k - 1)/nu     by constants of a tube around theta^inf

Both descents are enclosed in Arb balls from the exact start. Boursier and Boyer 2026, sections 4 and 5. The models are

    regression   tokens x_i with labels y_i and scores <x_i, A x>; values b y_i; the infinite side is R(A, b) over
                 all tasks, or with `tasks` w_n the loss of the N tasks with infinite prompts
    attention    scores <z_i, U q> and values V z_i; the infinite side has the law of the tokens for each prompt

For `gronwall`, if within r of theta_0^inf, ..., theta_(K-1)^inf the gradients differ by at most g and
|I - eta Hess R_inf| is at most 1 + eta nu, and g ((1 + eta nu)^K - 1)/nu <= r, then the stated bound holds for k <= K.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Relation, Shared
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import ByKey, Choice, Field, Listing, Rational, Record, Values, Variant, some_of
from certattn.kernel.given.token_laws import LAW, StatedLaw
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.theorems.training.concrete_prompts import (
    ATTENTION_PROMPTS,
    REGRESSION_PROMPTS,
    StatedPrompts,
    read_attention_prompts,
    read_regression_prompts,
)
from certattn.kernel.theorems.training.mathematics.context_descent import (
    EACH,
    FINITE,
    INFINITE,
    LawContext,
    Pair,
    PopulationLoss,
    TaskContext,
    growth,
    pairs,
    tube_around,
)
from certattn.kernel.theorems.training.mathematics.context_losses import Loss, Trained, balls_of
from certattn.kernel.theorems.training.mathematics.regression import regression_of_balls
from certattn.kernel.theorems.training.regression_task import COVARIANCE, START, A, B, CountUpTo, read_covariance

# -- what is given

STEP = Field("step", Rational(above=0), "the step eta of both descents")
# So many steps take hours where prompts are short.
MOST_STEPS = 100_000
STEPS = Field("steps", CountUpTo(1, MOST_STEPS, "step"), "K, the number of steps")
TASKS = Field("tasks", Matrix(), "w_n of each prompt, one per row; left out: prompts of all tasks", required=False)
U = Field("U", Matrix(), "the matrix U of the scores <z_i, U q>")
V = Field("V", Matrix(), "the matrix V of the values V z_i")
WEIGHTS_START = Field("start", Record(U, V), "where both descents start")
LAWS = Field("laws", Listing(LAW), "law of the tokens of infinite prompts: one for all prompts, or one for each")

REGRESSION, ATTENTION = "regression", "attention"
OF_TASKS = Record(COVARIANCE, TASKS, START, STEP, STEPS, *REGRESSION_PROMPTS)
OF_LAWS = Record(LAWS, WEIGHTS_START, STEP, STEPS, *ATTENTION_PROMPTS)
GIVEN = Variant("model", {REGRESSION: OF_TASKS, ATTENTION: OF_LAWS})

# -- what is asserted

BOUNDS = Field("at_most", Vector(), "one bound for every k = 0, ..., K, or K + 1 bounds, the first for k = 0")
WHERE = Field("at", Choice((EACH, FINITE, INFINITE)), "each loss at its own iterate, or both at that of one")
TUBE = Field("distance", Record(BOUNDS), "bounds of the distance of the two iterates", required=False)
RISK_GAP = Field("risk_gap", Record(WHERE, BOUNDS), "bounds of |R_L - R_inf|", required=False)
GRADIENT_GAP = Field("gradient_gap", Record(WHERE, BOUNDS), "bounds of |grad R_L - grad R_inf|", required=False)

AT_MOST = Field("at_most", Rational(), "upper bound", required=False)
AT_LEAST = Field("at_least", Rational(), "lower bound", required=False)
RANGE = Record(AT_MOST, AT_LEAST, rules=[some_of(AT_MOST, AT_LEAST)])
RADIUS = Field("radius", Rational(minimum=0), "largest distance of the iterate from this point")
# Told apart by a key of the weights that the model trains.
_POINT = ByKey({A.name: Record(A, B, RADIUS), U.name: Record(U, V, RADIUS)})
CHECKPOINT_STEP = Field("step", CountUpTo(0, MOST_STEPS), "k")
DISTANCE = Field("distance", RANGE, "range of |theta_k^L - theta_k^inf|", required=False)
FINITE_POINT = Field(FINITE, _POINT, "a point near theta_k^L", required=False)
INFINITE_POINT = Field(INFINITE, _POINT, "a point near theta_k^inf", required=False)
FINITE_RISK = Field("finite_risk", RANGE, "range of R_L(theta_k^L)", required=False)
INFINITE_RISK = Field("infinite_risk", RANGE, "range of R_inf(theta_k^inf)", required=False)
_AT_STEP = (DISTANCE, FINITE_POINT, INFINITE_POINT, FINITE_RISK, INFINITE_RISK)
CHECKPOINT = Record(CHECKPOINT_STEP, *_AT_STEP, rules=[some_of(*_AT_STEP)])
CHECKPOINTS = Field("checkpoints", Listing(CHECKPOINT), "what holds after some steps", required=False)

TUBE_RADIUS = Field("radius", Rational(above=0), "r, the radius of the tube around the infinite iterates")
GAP = Field("gap", Rational(above=0), "g, a bound of |grad R_L - grad R_inf| in the tube")
RATE = Field("rate", Rational(above=0), "nu, with |I - eta Hess R_inf| <= 1 + eta nu in the tube")
TUBE_STEPS = Field("steps", CountUpTo(1, MOST_STEPS), "steps that it is for, at most K; K if left out", required=False)
_NUMBERS = Record(TUBE_RADIUS, GAP, RATE, TUBE_STEPS)
GRONWALL = Field("gronwall", _NUMBERS, "the closed bound of the distance", required=False)

_ASSERTED = (TUBE, RISK_GAP, GRADIENT_GAP, CHECKPOINTS, GRONWALL)
ASSERTS = Record(*_ASSERTED, rules=[some_of(*_ASSERTED)])
WITNESS = Record(BITS)


# -- what is stated


@dataclass(frozen=True)
class Descents:
    """The section `given`: `infinite` makes the loss of infinite prompts at the working precision.

    Both start at the exact `weights` U and V, which for regression are A and (b).
    """

    model: str
    given: Values
    prompts: StatedPrompts
    infinite: Callable[[], Loss]
    weights: tuple[ExactMatrix, ExactMatrix]

    @property
    def step(self) -> fmpq:
        return self.given[STEP]

    @property
    def steps(self) -> int:
        return self.given[STEPS]

    def pairs(self) -> Iterator[Pair]:
        """Both, side by side, at the working precision."""
        return pairs(self.prompts.loss(), self.infinite(), Trained.around(*self.weights), arb(self.step))


@dataclass(frozen=True)
class Compared:
    """A number that the pair of iterates after so many steps has, beside a bound. `value` may raise NoBound."""

    name: str
    step: int
    value: Callable[[Pair], arb]
    relation: Relation
    bound: fmpq
    part: Part = Part.STATEMENT


@dataclass(frozen=True)
class StatedDescents:
    """Both descents, and what is compared: of the pairs themselves, and for `gronwall` in the tube."""

    descents: Descents
    asserts: Values
    compared: list[Compared]
    in_tube: list[Compared]


def read(certificate: Certificate) -> StatedDescents:
    """Every step and shape checked. Raises MalformedError."""
    if certificate.witness is not None:
        WITNESS.read(certificate.witness, certificate.reading)
    descents = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    in_tube = _in_tube(asserts[GRONWALL], descents) if GRONWALL in asserts else []
    return StatedDescents(descents, asserts, list(_compared(asserts, descents)), in_tube)


def read_given(certificate: Certificate) -> Descents:
    """The section `given` alone. Raises MalformedError."""
    model, given = GIVEN.read(certificate.given, certificate.reading)
    return _regression(given) if model == REGRESSION else _attention(given)


def _regression(given: Values) -> Descents:
    covariance, tasks = read_covariance(given[COVARIANCE]), given.get(TASKS)
    size = covariance.rows
    given[START][A].require_shape(size, size, "like the covariance")
    prompts = read_regression_prompts(given, size)
    if tasks is not None:
        tasks.require_shape(prompts.count, size, "(a task per query)")

    def infinite() -> Loss:
        if tasks is None:
            return PopulationLoss(regression_of_balls(covariance), largest_eigenvalue(balls_of(covariance), ctx.prec))
        slopes = tasks.load() @ covariance
        return prompts.loss_of([TaskContext(balls_of(slopes.take_rows([n]))) for n in range(prompts.count)])

    return Descents(REGRESSION, given, prompts, infinite, _weights(given[START]))


def _attention(given: Values) -> Descents:
    laws, start = given[LAWS], given[WEIGHTS_START]
    size = laws[0].dimension
    for law in laws:
        if law.dimension != size:
            raise law.node.malformed(f"dimension {size}, like the first law", f"{law.dimension}")
    start[U].require_shape(size, None, "like the law of the tokens")
    start[V].require_shape(None, size, "like the law of the tokens")
    prompts = read_attention_prompts(given, size, start[U].shape[1], start[V].shape[0])
    if len(laws) not in (1, prompts.count):
        expected = f"one law, or one for each of {counted(prompts.count, 'prompt')}"
        raise given.node(LAWS).malformed(expected, counted(len(laws), "law"))
    each: list[StatedLaw] = laws if len(laws) == prompts.count else laws * prompts.count
    infinite = lambda: prompts.loss_of([LawContext(law.law.map(arb)) for law in each])  # noqa: E731
    return Descents(ATTENTION, given, prompts, infinite, _weights(start))


def _weights(values: Values) -> tuple[ExactMatrix, ExactMatrix]:
    if A in values:
        return values[A].load(), ExactMatrix.row_vector([values[B]])
    return values[U].load(), values[V].load()


def _compared(asserts: Values, descents: Descents) -> Iterator[Compared]:
    if TUBE in asserts:
        yield from _every_step(TUBE.name, Pair.distance, asserts[TUBE], descents.steps)
    if RISK_GAP in asserts:
        gap = partial(Pair.risk_gap, at=asserts[RISK_GAP][WHERE])
        yield from _every_step(RISK_GAP.name, gap, asserts[RISK_GAP], descents.steps)
    if GRADIENT_GAP in asserts:
        gap = partial(Pair.gradient_gap, at=asserts[GRADIENT_GAP][WHERE])
        yield from _every_step(GRADIENT_GAP.name, gap, asserts[GRADIENT_GAP], descents.steps)
    for index, checkpoint in enumerate(asserts.items(CHECKPOINTS)):
        yield from _checkpoint(f"{CHECKPOINTS.name}[{index}]", checkpoint, descents)


def _every_step(name: str, value: Callable[[Pair], arb], stated: Values, steps: int) -> Iterator[Compared]:
    """A bound for every k = 0, ..., K."""
    vector, count = stated[BOUNDS], steps + 1
    if vector.shape[1] not in (1, count):
        expected = f"one bound, or {count} bounds for k = 0, ..., {steps}"
        raise vector.node.malformed(expected, counted(vector.shape[1], "bound"))
    bounds = vector.load().row(0)
    for k, bound in enumerate(bounds * count if len(bounds) == 1 else bounds):
        yield Compared(f"{name}[{k}]", k, value, "<=", bound)


def _checkpoint(name: str, stated: Values, descents: Descents) -> Iterator[Compared]:
    """Ranges of numbers, and points near the iterates, after k steps."""
    k = stated[CHECKPOINT_STEP]
    if k > descents.steps:
        raise stated.node(CHECKPOINT_STEP).malformed(f"a step up to K = {descents.steps}", f"{k}")
    ranges: list[tuple[Field[Values], Callable[[Pair], arb]]] = [
        (DISTANCE, Pair.distance),
        (FINITE_RISK, lambda pair: pair.finite.evaluation.risk),
        (INFINITE_RISK, lambda pair: pair.infinite.evaluation.risk),
    ]
    for field, value in ranges:
        if field in stated and AT_LEAST in stated[field]:
            yield Compared(f"{name}.{field.name}.at_least", k, value, ">=", stated[field][AT_LEAST])
        if field in stated and AT_MOST in stated[field]:
            yield Compared(f"{name}.{field.name}.at_most", k, value, "<=", stated[field][AT_MOST])
    points: list[tuple[Field[tuple[str, Values]], Callable[[Pair], Trained]]] = [
        (FINITE_POINT, lambda pair: pair.finite.point),
        (INFINITE_POINT, lambda pair: pair.infinite.point),
    ]
    for point, iterate in points:
        if point in stated:
            near = _weights_like(descents, *stated[point])
            distance = partial(_distance, iterate, near)
            yield Compared(f"{name}.{point.name}", k, distance, "<=", stated[point][1][RADIUS])


def _weights_like(descents: Descents, form: str, stated: Values) -> tuple[ExactMatrix, ExactMatrix]:
    """The weights of a point that the model may reach. Raises MalformedError."""
    first, second = (A.name, B.name) if descents.model == REGRESSION else (U.name, V.name)
    if form != first:
        expected = f"a point with {first} and {second}, which this model trains"
        raise stated.at.malformed(expected, f"a point with {form}")
    found = _weights(stated)
    if [matrix.shape for matrix in found] != [matrix.shape for matrix in descents.weights]:
        raise stated.at.malformed("a point of the shapes of the start", "other shapes")
    return found


def _distance(iterate: Callable[[Pair], Trained], point: tuple[ExactMatrix, ExactMatrix], pair: Pair) -> arb:
    return (iterate(pair) - Trained.around(*point)).norm()


# -- the closed bound

# A bound over the tube is wide because the tube is. It is only compared where the iterate is known to this part of
# the radius, and counts as not to be had where even this part less of it is too much: more bits gain no more.
_PART = fmpq(1, 1024)
_EXACT_STEPS = 1000


def tube_steps(stated: Values, descents: Descents) -> int:
    """For how many steps the bound is."""
    return stated.get(TUBE_STEPS) or descents.steps


def _in_tube(stated: Values, descents: Descents) -> list[Compared]:
    """What holds within r of theta_0^inf, ..., theta_(K-1)^inf. Raises MalformedError."""
    steps = tube_steps(stated, descents)
    if steps > descents.steps:
        raise stated.node(TUBE_STEPS).malformed(f"at most K = {descents.steps} steps", f"{steps}")
    radius, gap, rate = stated[TUBE_RADIUS], stated[GAP], stated[RATE]
    # Two numbers are asked of each pair, one after the other.
    tube = lru_cache(1)(lambda pair: tube_around(pair, radius, arb(descents.step)))
    found = []
    for k in range(steps):
        found += [
            Compared(f"gronwall.centre[{k}]", k, lambda pair: pair.gradient_gap(INFINITE), "<=", gap),
            Compared(f"gronwall.gap[{k}]", k, lambda p: _bounded(tube(p).gap, p, radius), "<=", gap, Part.WITNESS),
            Compared(f"gronwall.rate[{k}]", k, lambda p: _bounded(tube(p).rate, p, radius), "<=", rate, Part.WITNESS),
        ]
    return found


def _bounded(bound: arb, pair: Pair, radius: fmpq) -> arb:
    """A bound over the tube, where the iterate is known well enough for it to be compared. Raises NoBound."""
    upper = bound.upper()
    if (pair.infinite.point.error() < _PART * radius) is not True:
        return arb.nan()
    if upper.is_finite() is not True:
        raise NoBound("no bound is found: the radius is too large")
    return upper.union(upper * (1 - _PART))


def _closing(stated: Values, descents: Descents) -> arb | fmpq:
    """g ((1 + eta nu)^K - 1)/nu: exact where that is short, for the stated radius may be the bound itself."""
    steps = tube_steps(stated, descents)
    lift = fmpq if steps <= _EXACT_STEPS else arb
    bound: arb | fmpq = growth(lift(stated[GAP]), lift(stated[RATE]), lift(descents.step), steps)
    return bound


# -- what proves it


def obligations(stated: StatedDescents) -> Iterator[Obligation]:
    walk = Shared(lambda: Walk(stated))
    yield from (_obligation(one, walk) for one in stated.compared)
    if GRONWALL in stated.asserts:
        bound = stated.asserts[GRONWALL]
        yield Obligation("gronwall.radius", partial(_closing, bound, stated.descents), "<=", bound[TUBE_RADIUS])
        yield from (_obligation(one, walk) for one in stated.in_tube)


def _obligation(one: Compared, walk: Shared[Walk]) -> Obligation:
    return Obligation(one.name, lambda: walk().value(one), one.relation, one.bound, one.part)


class Walk:
    """Both descents at the working precision, as far as they are asked for. Of each pair only numbers are kept."""

    def __init__(self, stated: StatedDescents) -> None:
        self._pairs = stated.descents.pairs()
        self._by_step: dict[int, list[Compared]] = {}
        for one in [*stated.compared, *stated.in_tube]:
            self._by_step.setdefault(one.step, []).append(one)
        self._next = 0
        self._found: dict[str, arb | NoBound] = {}

    def value(self, wanted: Compared) -> arb:
        """What is compared. Raises NoBound."""
        while self._next <= wanted.step:
            pair = next(self._pairs)
            for one in self._by_step.get(self._next, []):
                self._found[one.name] = _value(one, pair)
            self._next += 1
        found = self._found[wanted.name]
        if isinstance(found, NoBound):
            raise found
        return found


def _value(one: Compared, pair: Pair) -> arb | NoBound:
    try:
        return one.value(pair)
    except NoBound as reason:
        return reason


TITLE = "gradient descent on concrete prompts beside the same descent on infinite ones"
THEOREM = Theorem("descent-trajectory", TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
