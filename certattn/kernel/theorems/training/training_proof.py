"""The obligations of `training-convergence` at a working precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, Outcome, Part, above, at_least, at_most, below, unproved
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.selection_descent import descend
from certattn.kernel.theorems.training.mathematics.ball_matrix import BallMatrix
from certattn.kernel.theorems.training.mathematics.regression import Parameters
from certattn.kernel.theorems.training.mathematics.regression_descent import RegressionStep, flat, shaped
from certattn.kernel.theorems.training.mathematics.regression_flow import RegressionFlow
from certattn.kernel.theorems.training.mathematics.regression_levels import length_below, risk_after
from certattn.kernel.theorems.training.mathematics.regression_rates import (
    DescentRates,
    FlowRates,
    covariance_constants,
    squared_factor,
)
from certattn.kernel.theorems.training.mathematics.validated_flow import Stop, integrate
from certattn.kernel.theorems.training.regression_inputs import balls_around, regression_of_balls
from certattn.kernel.theorems.training.training_runs import MOST_FLOW_STEPS, Problem, StatedLimit, StatedRisk

# A ball, or the exact number at the start.
Number = arb | fmpq


@dataclass(frozen=True)
class Reached:
    """The run where its enclosures end: exact at the start."""

    risk: Number
    invariant: Number
    b: Number


class TrainingProof:
    """Enclosures of the run, the rates from their end on, and what these say."""

    def __init__(self, problem: Problem, bits: int) -> None:
        self._problem = problem
        self._bits = bits
        self._regression = regression_of_balls(problem.covariance)
        self._constants = covariance_constants(problem.covariance, bits)
        # Whether the flow would take more steps than are tried, at any precision.
        self.given_up = False
        self._points = self._enclosures()
        self._base = self._reached()
        self._risks: dict[fmpq, Number] = {}

    def obligations(self) -> list[Obligation]:
        """All of them, in the order of the claim's names."""
        problem = self._problem
        found = [*self._conditions, self._risk("risk", StatedRisk(problem.begins, problem.risk)), self._rate()]
        if problem.length is not None:
            found.append(self._length(problem.length))
        if problem.limit is not None:
            found += self._limit(problem.limit)
        return found + [self._risk(f"risks[{index}]", stated) for index, stated in enumerate(problem.risks)]

    # -- the run as far as it is enclosed

    def _enclosures(self) -> dict[fmpq, Enclosure]:
        """The run at the times where it is enclosed; nothing where it is lost, and at the start, which is exact."""
        problem = self._problem
        if problem.enclosed == 0:
            return {}
        start = around(flat(balls_around(problem.start)))
        if problem.rule.step is None:
            run = integrate(RegressionFlow(problem.covariance), start, problem.times, problem.order, MOST_FLOW_STEPS)
            self.given_up = run.stop is Stop.STEPS
            return run.found
        step = RegressionStep(self._regression, self._constants.largest, arb(problem.rule.step))
        stops = [int(time.p) for time in problem.times]
        return {fmpq(stop): point for stop, point in descend(step, start, stops[-1], stops).items()}

    def _reached(self) -> Reached:
        problem = self._problem
        exact = problem.start.invariant()
        if problem.enclosed == 0:
            return Reached(problem.start_risk, exact, problem.start.b)
        point = self._point(problem.enclosed)
        # The flow keeps it exactly.
        invariant = point.invariant() if problem.rule.discrete else exact
        return Reached(self._regression.risk(point), invariant, point.b)

    def _point(self, time: fmpq) -> Parameters:
        """(A, b) at a time; not finite where the run was lost before."""
        size = self._problem.covariance.rows
        found = self._points.get(time)
        return shaped(found.box if found is not None else [arb.nan()] * (size * size + 1), size)

    def _risk_at(self, time: fmpq) -> Number:
        """R where the run is enclosed, and a bound of it afterwards."""
        if time not in self._risks:
            self._risks[time] = self._fresh_risk(time)
        return self._risks[time]

    def _fresh_risk(self, time: fmpq) -> Number:
        problem, base = self._problem, self._base
        if time == 0:
            return problem.start_risk
        if time <= problem.enclosed:
            risk: arb = self._regression.risk(self._point(time))
            return risk
        return risk_after(time - problem.enclosed, arb(base.risk), self._rates.decay, problem.rule.discrete)

    # -- the theorem

    @cached_property
    def _rates(self) -> FlowRates | DescentRates:
        step, invariant = self._problem.rule.step, arb(self._base.invariant)
        if step is None:
            return FlowRates(self._constants, invariant, BALLS)
        return DescentRates(self._constants, invariant, arb(step), arb(self._base.risk), BALLS)

    @cached_property
    def _conditions(self) -> list[Obligation]:
        """2R < tr Sigma or, what does as well, delta < 0 for ever; and for descent that its step is short enough."""
        problem, base, part = self._problem, self._base, Part.WITNESS
        at = f"at {problem.rule.time} = {describe(problem.enclosed)}"
        step = problem.rule.step
        invariant = base.invariant if step is None else base.invariant + 2 * step * base.risk
        if (invariant < 0) is True:
            words = "|A|_F^2 - b^2" + ("" if step is None else " + 2 eta R")
            found = [below("inside", f"{words} {at}", invariant, fmpq(0), self._bits, part=part)]
        else:
            found = [below("inside", f"2R {at}, below tr Sigma", 2 * base.risk, problem.trace, self._bits, part=part)]
        if isinstance(self._rates, DescentRates):
            bound = self._rates.step * self._rates.smoothness(self._rates.first_risk)
            sentence = f"eta beta, beta a bound of the second derivatives of R where R is no larger than {at}"
            found.append(at_most("step", sentence, bound, fmpq(1), self._bits, part=part))
        return found

    def _resting(self, name: str, make: Callable[[], Obligation]) -> Obligation:
        """What the theorem says; nothing where a condition of it is false."""
        if any(condition.outcome is Outcome.REFUTED for condition in self._conditions):
            return unproved(name, "it rests on the theorem", "a condition of it is false")
        return make()

    # -- what is stated

    def _risk(self, name: str, stated: StatedRisk) -> Obligation:
        sentence = f"R at {self._problem.rule.time} = {describe(stated.at)}"
        if stated.at <= self._problem.enclosed:
            return at_most(name, sentence, self._risk_at(stated.at), stated.at_most, self._bits)
        return self._resting(name, lambda: at_most(
            name, f"the bound of {sentence}", self._risk_at(stated.at), stated.at_most, self._bits, part=Part.WITNESS
        ))  # fmt: skip

    def _rate(self) -> Obligation:
        problem = self._problem
        return self._resting("rate", lambda: at_least(
            "rate", "the rate that is proved", self._rates.rate(arb(self._risk_at(problem.begins))), problem.rate,
            self._bits, part=Part.WITNESS,
        ))  # fmt: skip

    def _length(self, stated: fmpq) -> Obligation:
        def made() -> Obligation:
            risk, rates = arb(self._risk_at(self._problem.begins)), self._rates
            bound = rates.length(risk) if isinstance(rates, DescentRates) else length_below(risk, rates.rate)
            return at_most("length", "the bound of the length", bound, stated, self._bits, part=Part.WITNESS)

        return self._resting("length", made)

    def _limit(self, stated: StatedLimit) -> list[Obligation]:
        found = [self._sign(stated)]
        if stated.point is not None:
            found.append(self._limit_point(*stated.point))
        if stated.invariant is not None:
            found += self._limit_invariant(*stated.invariant)
        return found

    def _sign(self, stated: StatedLimit) -> Obligation:
        """Of b where the enclosures end: the theorem says that it stays."""
        problem, b = self._problem, self._base.b
        part = Part.STATEMENT if problem.enclosed == problem.begins else Part.WITNESS
        sentence = f"b at {problem.rule.time} = {describe(problem.enclosed)}"
        compare = above if stated.positive else below
        return compare("limit.sign", sentence, b, fmpq(0), self._bits, part=part)

    def _limit_point(self, point: Parameters, radius: fmpq) -> Obligation:
        name = "limit.point"
        if isinstance(self._rates, FlowRates):
            distance = self._distance(point, self._rates.limit_square())
            return at_most(name, "the distance from the Bayes point", distance, radius, self._bits)
        product = self._constants.bayes_product(BALLS)
        low, high = (squared_factor(bound, product, BALLS) for bound in self._invariants)
        sentence = "the distance from the Bayes points that are possible"
        # The upper end: more bits do not tell which of these points it is.
        return self._resting(name, lambda: at_most(
            name, sentence, self._distance(point, low.union(high)).upper(), radius, self._bits, part=Part.WITNESS
        ))  # fmt: skip

    def _distance(self, point: Parameters, square: arb) -> arb:
        """From (Sigma^-1/b, b) with the stated sign and this b^2."""
        limit = self._problem.limit
        assert limit is not None
        b = BALLS.sqrt(square) if limit.positive else -BALLS.sqrt(square)
        inverse = BallMatrix(self._regression.covariance.balls.inv(nonstop=True))
        return l2_norm(flat(Parameters(inverse.scaled(1 / b), b) - balls_around(point)))

    @cached_property
    def _invariants(self) -> tuple[arb, arb]:
        """|A|_F^2 - b^2 in the limit of descent lies between these."""
        assert isinstance(self._rates, DescentRates)
        invariant, wander = self._rates.invariant, self._rates.wander(self._rates.first_risk)
        return invariant - wander, invariant + wander

    def _limit_invariant(self, lower: fmpq, upper: fmpq) -> list[Obligation]:
        names = "limit.invariant.lower", "limit.invariant.upper"
        sentence = "|A|_F^2 - b^2"
        if self._problem.rule.step is None:
            exact = self._base.invariant
            return [at_least(names[0], sentence, exact, lower), at_most(names[1], sentence, exact, upper)]
        low, high = self._invariants
        bounds = f"what {sentence} is at least", f"what {sentence} is at most"
        return [
            self._resting(names[0], lambda: at_least(names[0], bounds[0], low, lower, self._bits, part=Part.WITNESS)),
            self._resting(names[1], lambda: at_most(names[1], bounds[1], high, upper, self._bits, part=Part.WITNESS)),
        ]
