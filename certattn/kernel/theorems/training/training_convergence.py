"""Theorem `training-convergence`: training in context reaches the Bayes predictor, at a stated rate.

In-context linear regression with an infinite prompt (Boursier and Boyer 2026, section 4): Sigma positive definite,

    R(A, b) = 1/2 tr(E Sigma E'),     E = b Sigma A - I.

A certificate asserts of the gradient flow from a stated start, and from a time t0 on, that

    R(t) <= r e^(-2c (t - t0)),

or of gradient descent with a step eta, from a step k0 on, that R_k <= r (1 - 2 eta c)^(k - k0). It may assert a bound
L of the length of the path from then on, so that (A, b) is within L e^(-c (t - t0)) of its limit, or within
L (1 - 2 eta c)^((k - k0)/2); which zero of R the limit is; and bounds of R at some times.

Proof: the run is enclosed up to a time, which the witness may say; there |A|_F^2 - b^2 and R bound b away from 0, for
ever (mathematics/regression_rates.py, docs/claims/training/training-convergence.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared, Side
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.schema import (
    Choice,
    Count,
    Field,
    Listing,
    Rational,
    Record,
    Values,
    Variant,
    all_or_none,
)
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.selection_descent import descend
from certattn.kernel.theorems.training.mathematics.regression import (
    BallMatrix,
    Parameters,
    balls_around,
    exact_regression,
    flat,
    regression_of_balls,
    shaped,
    squared_factor,
)
from certattn.kernel.theorems.training.mathematics.regression_flow import RegressionFlow
from certattn.kernel.theorems.training.mathematics.regression_rates import (
    DescentRates,
    FlowRates,
    RegressionStep,
    covariance_constants,
    length_below,
    risk_after,
)
from certattn.kernel.theorems.training.mathematics.validated_flow import Stop, integrate
from certattn.kernel.theorems.training.regression_task import COVARIANCE, START, read_covariance, read_parameters

FLOW, DESCENT = "flow", "descent"
STEP = Field("step", Rational(above=0), "the step eta")
TRAINING = Field(
    "training",
    Variant("rule", {FLOW: Record(), DESCENT: Record(STEP)}),
    "the gradient flow of R, or gradient descent on it",
)
GIVEN = Record(COVARIANCE, START, TRAINING)

FROM = Field("from", Rational(minimum=0), "time or step from which the rate holds; 0 if left out", required=False)
RISK = Field("risk", Rational(minimum=0), "bound of R at that time")
RATE = Field("rate", Rational(above=0), "the rate c")
LENGTH = Field("length", Rational(minimum=0), "bound of the length of the path from then on", required=False)
SIGNS = ("positive", "negative")
SIGN = Field("sign", Choice(SIGNS), "the sign of b")
LIMIT_A = Field("A", Matrix(), "A in the limit, up to the radius", required=False)
LIMIT_B = Field("b", Rational(), "b in the limit, up to the radius", required=False)
RADIUS = Field("radius", Rational(minimum=0), "Euclidean distance of (A, b) from the limit, at most", required=False)
LOWER = Field("lower", Rational(), "lower bound")
UPPER = Field("upper", Rational(), "upper bound")
INVARIANT = Field("invariant", Record(LOWER, UPPER), "bounds of |A|_F^2 - b^2 in the limit", required=False)
LIMIT = Field(
    "limit",
    Record(SIGN, LIMIT_A, LIMIT_B, RADIUS, INVARIANT, rules=[all_or_none(LIMIT_A, LIMIT_B, RADIUS)]),
    "the point that training reaches",
    required=False,
)
AT = Field("at", Rational(minimum=0), "a time, or a step")
AT_MOST = Field("at_most", Rational(minimum=0), "bound of R there")
RISKS = Field("risks", Listing(Record(AT, AT_MOST)), "bounds of R at some times or steps", required=False)
ASSERTS = Record(FROM, RISK, RATE, LENGTH, LIMIT, RISKS)

ENCLOSED = Field(
    "enclosed",
    Rational(minimum=0),
    "the run is enclosed until then, and bounded by rates after it; `from` if left out",
    required=False,
)
ORDER = Field("order", Count(1), "order of the Taylor polynomials that enclose the flow", required=False)
WITNESS = Record(ENCLOSED, ORDER)

DEFAULT_ORDER = 20
MOST_ORDER = 60
# So many steps of descent are enclosed in some minutes, so many steps along the flow in some seconds.
MOST_STEPS = 100_000
MOST_FLOW_STEPS = 2_000

# A ball, or the exact number at the start.
Known = arb | fmpq


# -- what is stated


@dataclass(frozen=True)
class StatedLimit:
    """What is said of the limit: the sign of b; (A, b) up to `radius`, and bounds of the invariant, where stated."""

    positive: bool
    point: tuple[Parameters, fmpq] | None
    invariant: tuple[fmpq, fmpq] | None


@dataclass(frozen=True)
class StatedRisk:
    """R <= at_most at a time or step."""

    at: fmpq
    at_most: fmpq


@dataclass(frozen=True)
class StatedTraining:
    """What is given and asserted of the flow, or of descent with a `step`; the run is enclosed until `enclosed`."""

    given: Values
    asserts: Values
    covariance: ExactMatrix
    start: Parameters
    step: fmpq | None
    begins: fmpq
    risk: fmpq
    rate: fmpq
    length: fmpq | None
    limit: StatedLimit | None
    risks: list[StatedRisk]
    enclosed: fmpq
    order: int

    @cached_property
    def start_risk(self) -> fmpq:
        """R at the start, exactly."""
        risk: fmpq = exact_regression(self.covariance).risk(self.start)
        return risk

    @property
    def last_invariant(self) -> fmpq | None:
        """What |A|_F^2 - b^2 stays below from `enclosed` on, or for the flow keeps; None where only balls say so."""
        start: fmpq = self.start.invariant()
        if self.step is None:
            return start
        return start + 2 * self.step * self.start_risk if self.enclosed == 0 else None


def read(certificate: Certificate) -> StatedTraining:
    """Every dimension checked. Raises MalformedError."""
    given = GIVEN.read(certificate.given, certificate.reading)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    witness = WITNESS.read(certificate.witness, certificate.reading) if certificate.witness is not None else None
    covariance = read_covariance(given[COVARIANCE])
    kind, rule = given[TRAINING]
    whole = kind == DESCENT
    begins = _time(asserts, FROM, whole) or fmpq(0)
    risks = [StatedRisk(_time(item, AT, whole) or fmpq(0), item[AT_MOST]) for item in asserts.get(RISKS) or []]
    return StatedTraining(
        given,
        asserts,
        covariance,
        start=read_parameters(given[START], covariance.rows),
        step=rule[STEP] if whole else None,
        begins=begins,
        risk=asserts[RISK],
        rate=asserts[RATE],
        length=asserts.get(LENGTH),
        limit=_read_limit(asserts.get(LIMIT), covariance.rows),
        risks=risks,
        enclosed=_read_enclosed(witness, begins, whole, asserts),
        order=_read_order(witness),
    )


def _time(values: Values, field: Field[fmpq], whole: bool) -> fmpq | None:
    """A time of the flow, or a step of descent. Raises MalformedError."""
    time = values.get(field)
    if time is not None and whole and time.q != 1:
        raise values.node(field).malformed("a whole number of steps")
    return time


def _read_limit(stated: Values | None, dimension: int) -> StatedLimit | None:
    if stated is None:
        return None
    point, bounds = None, stated.get(INVARIANT)
    if LIMIT_A in stated:
        stated[LIMIT_A].require_shape(dimension, dimension, "like the covariance")
        point = (Parameters(stated[LIMIT_A].load(), stated[LIMIT_B]), stated[RADIUS])
    return StatedLimit(stated[SIGN] == SIGNS[0], point, (bounds[LOWER], bounds[UPPER]) if bounds is not None else None)


def _read_enclosed(witness: Values | None, begins: fmpq, whole: bool, asserts: Values) -> fmpq:
    """Until when the run is enclosed. Raises MalformedError."""
    stated = _time(witness, ENCLOSED, whole) if witness is not None else None
    enclosed = begins if stated is None else stated
    if whole and enclosed > MOST_STEPS:
        place = asserts.at if witness is None or stated is None else witness.node(ENCLOSED)
        raise place.malformed(
            f"at most {MOST_STEPS} steps that are enclosed (witness.enclosed)", f"{describe(enclosed)} steps"
        )
    return enclosed


def _read_order(witness: Values | None) -> int:
    order = witness.get(ORDER) if witness is not None else None
    if order is None or witness is None:
        return DEFAULT_ORDER
    if order > MOST_ORDER:
        raise witness.node(ORDER).malformed(f"an order of at most {MOST_ORDER}")
    return order


# -- what proves it


def obligations(stated: StatedTraining) -> Iterator[Obligation]:
    run, begins = Shared(lambda: TrainingRun(stated)), stated.begins
    settled = []
    if stated.enclosed != begins:
        settled.append("enclosed")
        yield Obligation("enclosed", stated.enclosed, "<=", begins, Part.WITNESS)
    # By these R falls from `enclosed` on, and b keeps its sign.
    conditions = [*settled, "inside"]
    yield Obligation("inside", lambda: run().inside[0], "<", lambda: run().inside[1], Part.WITNESS, settled)
    if stated.step is not None:
        conditions.append("step")
        yield Obligation("step", lambda: run().smoothness, "<=", fmpq(1), Part.WITNESS, settled)

    def resting(name: str, left: Side, right: fmpq) -> Obligation:
        """A bound that the theorem has."""
        return Obligation(name, left, "<=", right, Part.WITNESS, conditions)

    def risk(name: str, at: fmpq, most: fmpq) -> Obligation:
        """Of R itself as far as the run is enclosed."""
        if at > stated.enclosed:
            return resting(name, lambda: run().risk(at), most)
        return Obligation(name, lambda: run().risk(at), "<=", most)

    yield risk("risk", begins, stated.risk)
    yield Obligation("rate", lambda: run().rate(begins), ">=", stated.rate, Part.WITNESS, conditions)
    if stated.length is not None:
        yield resting("length", lambda: run().length(begins), stated.length)
    if stated.limit is not None:
        yield from _limit(stated, stated.limit, run, conditions)
    for index, one in enumerate(stated.risks):
        yield risk(f"risks[{index}]", one.at, one.at_most)


def _limit(
    stated: StatedTraining, limit: StatedLimit, run: Shared[TrainingRun], conditions: list[str]
) -> Iterator[Obligation]:
    # Of b where the enclosures end: by the theorem it stays.
    part = Part.STATEMENT if stated.enclosed == stated.begins else Part.WITNESS
    yield Obligation("limit.sign", lambda: run().b, ">" if limit.positive else "<", fmpq(0), part)
    if limit.point is not None:
        point, radius = limit.point
        if stated.step is None:
            yield Obligation("limit.point", lambda: run().distance(point, limit.positive), "<=", radius)
        else:
            # The upper end: more bits do not tell which of the possible points it is.
            yield Obligation(
                "limit.point", lambda: run().distance(point, limit.positive).upper(), "<=", radius, Part.WITNESS,
                conditions,
            )  # fmt: skip
    if limit.invariant is not None:
        lower, upper = limit.invariant
        names = "limit.invariant.lower", "limit.invariant.upper"
        if stated.step is None:
            yield Obligation(names[0], stated.start.invariant(), ">=", lower)
            yield Obligation(names[1], stated.start.invariant(), "<=", upper)
        else:
            yield Obligation(names[0], lambda: run().invariants[0], ">=", lower, Part.WITNESS, conditions)
            yield Obligation(names[1], lambda: run().invariants[1], "<=", upper, Part.WITNESS, conditions)


class TrainingRun:
    """The run at the working precision: enclosed as far as that is asked for, and the rates from there on."""

    def __init__(self, stated: StatedTraining) -> None:
        self._stated = stated
        self._regression = regression_of_balls(stated.covariance)
        self._constants = covariance_constants(stated.covariance, ctx.prec)
        self._given_up = False
        self._points = self._enclosures()
        self._risks: dict[fmpq, Known] = {}

    def _enclosures(self) -> dict[fmpq, Enclosure]:
        """The run at the times where it is enclosed; nothing where it is lost, and at the start, which is exact."""
        stated = self._stated
        if stated.enclosed == 0:
            return {}
        start = around(flat(balls_around(stated.start)))
        times = sorted({stated.enclosed, *(one.at for one in stated.risks if one.at <= stated.enclosed)})
        if stated.step is None:
            flow = integrate(RegressionFlow(stated.covariance), start, times, stated.order, MOST_FLOW_STEPS)
            self._given_up = flow.stop is Stop.STEPS
            return flow.found
        step = RegressionStep(self._regression, self._constants.largest, arb(stated.step))
        stops = [int(time.p) for time in times]
        return {fmpq(stop): point for stop, point in descend(step, start, stops[-1], stops).items()}

    def _point(self, time: fmpq) -> Parameters:
        """(A, b) at a time; not finite where the run was lost before."""
        if self._given_up:
            raise NoBound(f"more than {MOST_FLOW_STEPS} steps of the flow: expected an earlier time (witness.enclosed)")
        size = self._stated.covariance.rows
        found = self._points.get(time)
        return shaped(found.box if found is not None else [arb.nan()] * (size * size + 1), size)

    # -- where the enclosures end; exact at the start

    @cached_property
    def _invariant(self) -> Known:
        stated = self._stated
        # The flow keeps it exactly.
        exact = stated.enclosed == 0 or stated.step is None
        invariant: Known = stated.start.invariant() if exact else self._point(stated.enclosed).invariant()
        return invariant

    @property
    def b(self) -> Known:
        stated = self._stated
        b: Known = stated.start.b if stated.enclosed == 0 else self._point(stated.enclosed).b
        return b

    @property
    def _last_risk(self) -> Known:
        return self.risk(self._stated.enclosed)

    @property
    def inside(self) -> tuple[Known, fmpq]:
        """2R < tr Sigma or, what does as well, |A|_F^2 - b^2 < 0 for ever."""
        step = self._stated.step
        risk = self._last_risk
        invariant = self._invariant if step is None else self._invariant + 2 * step * risk
        return (invariant, fmpq(0)) if (invariant < 0) is True else (2 * risk, self._stated.covariance.trace())

    # -- what the theorem says

    @cached_property
    def _rates(self) -> FlowRates | DescentRates:
        step, invariant = self._stated.step, arb(self._invariant)
        if step is None:
            return FlowRates(self._constants, invariant, BALLS)
        return DescentRates(self._constants, invariant, arb(step), arb(self._last_risk), BALLS)

    @property
    def _descent(self) -> DescentRates:
        assert isinstance(self._rates, DescentRates)
        return self._rates

    @property
    def smoothness(self) -> arb:
        """eta beta, beta a bound of the second derivatives where R is no larger than where the enclosures end."""
        bound: arb = self._descent.step * self._descent.smoothness(self._descent.first_risk)
        return bound

    def risk(self, time: fmpq) -> Known:
        """R as far as the run is enclosed, and a bound of it afterwards."""
        if time not in self._risks:
            self._risks[time] = self._fresh_risk(time)
        return self._risks[time]

    def _fresh_risk(self, time: fmpq) -> Known:
        stated = self._stated
        if time == 0:
            return stated.start_risk
        if time <= stated.enclosed:
            risk: arb = self._regression.risk(self._point(time))
            return risk
        return risk_after(time - stated.enclosed, arb(self._last_risk), self._rates.decay, stated.step is not None)

    def rate(self, time: fmpq) -> arb:
        """c from a time on."""
        rate: arb = self._rates.rate(arb(self.risk(time)))
        return rate

    def length(self, time: fmpq) -> arb:
        """A bound of the length of the path from a time on."""
        risk, rates = arb(self.risk(time)), self._rates
        bound: arb = rates.length(risk) if isinstance(rates, DescentRates) else length_below(risk, rates.rate)
        return bound

    @cached_property
    def invariants(self) -> tuple[arb, arb]:
        """|A|_F^2 - b^2 in the limit of descent lies between these."""
        invariant, wander = self._descent.invariant, self._descent.wander(self._descent.first_risk)
        return invariant - wander, invariant + wander

    def distance(self, point: Parameters, positive: bool) -> arb:
        """From the Bayes points that may be the limit: (Sigma^-1/b, b) with this sign of b."""
        if isinstance(self._rates, FlowRates):
            square = self._rates.limit_square()
        else:
            product = self._constants.bayes_product(BALLS)
            low, high = (squared_factor(bound, product, BALLS) for bound in self.invariants)
            square = low.union(high)
        b = BALLS.sqrt(square) if positive else -BALLS.sqrt(square)
        inverse = BallMatrix(self._regression.covariance.balls.inv(nonstop=True))
        return l2_norm(flat(Parameters(inverse.scaled(1 / b), b) - balls_around(point)))


THEOREM = Theorem(
    name="training-convergence",
    title="training in context converges to the Bayes predictor, at a rate",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
