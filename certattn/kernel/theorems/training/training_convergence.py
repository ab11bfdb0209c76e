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
from certattn.kernel.decide.theorem import Theorem, sections
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.schema import Choice, Field, Listing, Rational, Record, Values, Variant, all_or_none
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosed_descent import descend
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training import regression_task as task
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

FLOW, DESCENT = "flow", "descent"
STEP = Field("step", Rational(above=0), "the step eta")
RULES = Variant("rule", {FLOW: Record(), DESCENT: Record(STEP)})
TRAINING = Field("training", RULES, "the gradient flow of R, or gradient descent on it")
GIVEN = Record(task.COVARIANCE, task.START, TRAINING)

FROM = Field("from", Rational(minimum=0), "time or step from which the rate holds; 0 if left out", required=False)
RISK = Field("risk", Rational(minimum=0), "bound of R at that time")
RATE = Field("rate", Rational(above=0), "the rate c")
LENGTH = Field("length", Rational(minimum=0), "bound of the length of the path from then on", required=False)
SIGNS = ("positive", "negative")
SIGN = Field("sign", Choice(SIGNS), "the sign of b")
LIMIT_A = Field("A", Matrix(), "A in the limit, up to the radius", required=False)
LIMIT_B = Field("b", Rational(), "b in the limit, up to the radius", required=False)
RADIUS = Field("radius", Rational(minimum=0), "Euclidean distance of (A, b) from the limit, at most", required=False)
INVARIANT = Field("invariant", task.BOUNDS, "bounds of |A|_F^2 - b^2 in the limit", required=False)
POINT = Record(SIGN, LIMIT_A, LIMIT_B, RADIUS, INVARIANT, rules=[all_or_none(LIMIT_A, LIMIT_B, RADIUS)])
LIMIT = Field("limit", POINT, "the point that training reaches", required=False)
AT = Field("at", Rational(minimum=0), "a time, or a step")
AT_MOST = Field("at_most", Rational(minimum=0), "bound of R there")
RISKS = Field("risks", Listing(Record(AT, AT_MOST)), "bounds of R at some times or steps", required=False)
ASSERTS = Record(FROM, RISK, RATE, LENGTH, LIMIT, RISKS)

# Until `from` where it is left out; after it the run is bounded by rates.
ENCLOSED = Field("enclosed", Rational(minimum=0), "until when the run is enclosed", required=False)
ORDER = Field("order", task.CountUpTo(1, 60), "order of the Taylor polynomials that enclose the flow", required=False)
WITNESS = Record(ENCLOSED, ORDER)
READ = sections(GIVEN, ASSERTS, WITNESS)

DEFAULT_ORDER = 20
# So many steps of descent are enclosed in some minutes, so many steps along the flow in some seconds.
MOST_STEPS = 100_000
MOST_FLOW_STEPS = 2_000

# A ball, or the exact number at the start.
Known = arb | fmpq


# -- what is stated


@dataclass(frozen=True)
class StatedTraining:
    """What is given and asserted of the flow, or of descent with a `step`; the run is enclosed until `enclosed`."""

    given: Values
    asserts: Values
    covariance: ExactMatrix
    start: Parameters
    step: fmpq | None
    enclosed: fmpq
    order: int

    @property
    def begins(self) -> fmpq:
        return self.asserts.get(FROM) or fmpq(0)


def read(certificate: Certificate) -> StatedTraining:
    """Every dimension checked. Raises MalformedError."""
    found = READ(certificate)
    asserts, (rule, training) = found.asserts, found.given[TRAINING]
    covariance, start = task.read_task(found.given)
    if LIMIT in asserts and LIMIT_A in asserts[LIMIT]:
        task.read_parameters(asserts[LIMIT], covariance.rows)
    enclosed = task.hinted(found.witness, ENCLOSED, asserts.get(FROM) or fmpq(0))
    if rule == DESCENT:
        times = [(asserts, FROM), *((risk, AT) for risk in asserts.items(RISKS))]
        for values, field in [*times, (found.witness, ENCLOSED)]:
            if values is not None and field in values and values[field].q != 1:
                raise values.node(field).malformed("a whole number of steps")
        if enclosed > MOST_STEPS:
            hint = found.witness
            place = hint.node(ENCLOSED) if hint is not None and ENCLOSED in hint else asserts.at
            expected = f"at most {MOST_STEPS} steps that are enclosed (witness.enclosed)"
            raise place.malformed(expected, f"{describe(enclosed)} steps")
    order = task.hinted(found.witness, ORDER, DEFAULT_ORDER)
    return StatedTraining(found.given, asserts, covariance, start, training.get(STEP), enclosed, order)


# -- what proves it


def obligations(stated: StatedTraining) -> Iterator[Obligation]:
    asserts, begins, run = stated.asserts, stated.begins, Shared(lambda: TrainingRun(stated))
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

    def risk(name: str, at: fmpq, most: fmpq) -> Obligation:
        """Of R itself as far as the run is enclosed; later on of a bound that the theorem has."""
        if at <= stated.enclosed:
            return Obligation(name, lambda: run().risk(at), "<=", most)
        return Obligation(name, lambda: run().risk(at), "<=", most, Part.WITNESS, conditions)

    yield risk("risk", begins, asserts[RISK])
    yield Obligation("rate", lambda: run().rate(begins), ">=", asserts[RATE], Part.WITNESS, conditions)
    if LENGTH in asserts:
        yield Obligation("length", lambda: run().length(begins), "<=", asserts[LENGTH], Part.WITNESS, conditions)
    if LIMIT in asserts:
        yield from _limit(stated, asserts[LIMIT], run, conditions)
    for index, one in enumerate(asserts.items(RISKS)):
        yield risk(f"risks[{index}]", one[AT], one[AT_MOST])


def _limit(
    stated: StatedTraining, limit: Values, run: Shared[TrainingRun], conditions: list[str]
) -> Iterator[Obligation]:
    positive = limit[SIGN] == SIGNS[0]
    # Of b where the enclosures end: by the theorem it stays.
    part = Part.STATEMENT if stated.enclosed == stated.begins else Part.WITNESS
    yield Obligation("limit.sign", lambda: run().b, ">" if positive else "<", fmpq(0), part)
    # The flow has one limit, and keeps the invariant. Of descent a range is known.
    part, needs = (Part.STATEMENT, ()) if stated.step is None else (Part.WITNESS, conditions)
    if LIMIT_A in limit:
        point, radius = task.read_parameters(limit, stated.covariance.rows), limit[RADIUS]

        def distance() -> arb:
            found = run().distance(point, positive)
            # Of descent the upper end: more bits do not tell which of the possible points it is.
            return found if stated.step is None else found.upper()

        yield Obligation("limit.point", distance, "<=", radius, part, needs)
    if INVARIANT in limit:
        least: Side = stated.start.invariant() if stated.step is None else lambda: run().invariants[0]
        most: Side = stated.start.invariant() if stated.step is None else lambda: run().invariants[1]
        yield Obligation("limit.invariant.lower", least, ">=", limit[INVARIANT][task.LOWER], part, needs)
        yield Obligation("limit.invariant.upper", most, "<=", limit[INVARIANT][task.UPPER], part, needs)


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
        asked = {one[AT] for one in stated.asserts.items(RISKS)}
        times = sorted({stated.enclosed, *(time for time in asked if time <= stated.enclosed)})
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
    def inside(self) -> tuple[Known, fmpq]:
        """2R < tr Sigma or, what does as well, |A|_F^2 - b^2 < 0 for ever."""
        step = self._stated.step
        risk = self.risk(self._stated.enclosed)
        invariant = self._invariant if step is None else self._invariant + 2 * step * risk
        return (invariant, fmpq(0)) if (invariant < 0) is True else (2 * risk, self._stated.covariance.trace())

    # -- what the theorem says

    @cached_property
    def _rates(self) -> FlowRates | DescentRates:
        step, invariant = self._stated.step, arb(self._invariant)
        if step is None:
            return FlowRates(self._constants, invariant, BALLS)
        return DescentRates(self._constants, invariant, arb(step), arb(self.risk(self._stated.enclosed)), BALLS)

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
            exact: fmpq = exact_regression(stated.covariance).risk(stated.start)
            return exact
        if time <= stated.enclosed:
            risk: arb = self._regression.risk(self._point(time))
            return risk
        at_the_end = arb(self.risk(stated.enclosed))
        return risk_after(time - stated.enclosed, at_the_end, self._rates.decay, stated.step is not None)

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


TITLE = "training in context converges to the Bayes predictor, at a rate"
THEOREM = Theorem("training-convergence", TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
