"""Theorem `training-convergence`: training in context reaches the Bayes predictor, at a stated rate.

In-context linear regression with an infinite prompt (Boursier and Boyer 2026, section 4): Sigma positive definite,

    R(A, b) = 1/2 tr(E Sigma E'),     E = b Sigma A - I.

A certificate asserts of the gradient flow from a stated start, and from a time t0 on, that

    R(t) <= r e^(-2c (t - t0)),

or of gradient descent with a step eta, from a step k0 on, that R_k <= r (1 - 2 eta c)^(k - k0). It may assert a bound
L of the length of the path from then on, so that (A, b) is within L e^(-c (t - t0)) of its limit, or within
L (1 - 2 eta c)^((k - k0)/2); which zero of R the limit is, and its risk where tokens, query or tasks are not
distributed as in training; and bounds of R at some times.

Proof: the run is enclosed up to a time, which the witness may say; there |A|_F^2 - b^2 and R bound b away from 0, for
ever (below, and docs/claims/training/training-convergence.md).

R(A, b) = 1/2 tr(E Sigma E'), E = b Sigma A - I, and delta = |A|_F^2 - b^2. Let l and lam be the extreme eigenvalues of
Sigma, and r = sqrt(2R) = |E Sigma^(1/2)|_F. Because bA = Sigma^-1 (I + E),

    m <= |bA|_F <= M,   m = max(0, (tr Sigma - r sqrt(tr Sigma)) / sqrt(tr Sigma^4),
                                   (tr Sigma^-2 - r sqrt(tr Sigma^-5)) / sqrt(tr Sigma^-2)),
                        M = sqrt(tr Sigma^-2) + r / l^(3/2).

b^2 (b^2 + delta) = |bA|_F^2 turns a bound p of |bA|_F into one of b^2,

    z(delta, p) = (sqrt(delta^2 + 4p^2) - delta) / 2,

and |grad R|^2 >= b^2 |Sigma E Sigma|_F^2 >= 2 l^3 b^2 R. m and the rates fall as R and delta grow, M and the curvature
grow with R: what is proved at one point of a run, where R only falls, holds ever after.

Levels. Let log R fall at least at the rate s(r) wherever R <= r, with s >= 0 and decreasing in r. From R_0, R is at
most R_j = f^j R_0 (f = 3/4) after

    T_j = sum_{i < j} n_i,     n_i >= log(1/f) / s(R_i),  rounded up to whole steps for descent,

and at most R_j e^(-s(R_j) (t - T_j)) at every later t: a staircase that costs no step of the run itself, and reaches
the rate of the limit however small the first one is. The flow's path is as short: -d sqrt(R) >= sqrt(c/2) |d theta|
where R falls at the rate 2c, so between two levels it is no longer than sqrt(2/c(R_j)) (sqrt(R_j) - sqrt(R_(j+1))), and
from the last one on than sqrt(2R_j/c(R_j)).

Proofs: docs/claims/training/training-convergence.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared, Side
from certattn.kernel.decide.theorem import Theorem, sections
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.schema import (
    Choice,
    CountUpTo,
    Field,
    Listing,
    Rational,
    Record,
    Values,
    Variant,
    all_or_none,
)
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosed_descent import descend
from certattn.kernel.mathematics.enclosure import Enclosure, around, widened
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.mathematics.validated_flow import integrate
from certattn.kernel.theorems.training import regression as task
from certattn.kernel.theorems.training import shifted_risk
from certattn.kernel.theorems.training.regression_flow import RegressionFlow

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
POINT = Record(
    SIGN, LIMIT_A, LIMIT_B, RADIUS, INVARIANT, shifted_risk.SHIFT, rules=[all_or_none(LIMIT_A, LIMIT_B, RADIUS)]
)
LIMIT = Field("limit", POINT, "the point that training reaches", required=False)
AT = Field("at", Rational(minimum=0), "a time, or a step")
AT_MOST = Field("at_most", Rational(minimum=0), "bound of R there")
RISKS = Field("risks", Listing(Record(AT, AT_MOST)), "bounds of R at some times or steps", required=False)
ASSERTS = Record(FROM, RISK, RATE, LENGTH, LIMIT, RISKS)

# Until `from` where it is left out; after it the run is bounded by rates.
ENCLOSED = Field("enclosed", Rational(minimum=0), "until when the run is enclosed", required=False)
ORDER = Field("order", CountUpTo(1, 60), "order of the Taylor polynomials that enclose the flow", required=False)
WITNESS = Record(ENCLOSED, ORDER)
READ = sections(GIVEN, ASSERTS, WITNESS)

DEFAULT_ORDER = 20
# So many steps of descent are enclosed in some minutes, so many steps along the flow in some seconds.
MOST_STEPS = 100_000
MOST_FLOW_STEPS = 2_000


@dataclass(frozen=True)
class CovarianceConstants:
    """What the rates know of Sigma: its extreme eigenvalues, and traces of its powers."""

    smallest: arb
    largest: arb
    trace: arb
    trace_fourth: arb
    trace_inverse_second: arb
    trace_inverse_fifth: arb

    def least_product(self, risk: arb) -> arb:
        """m: a lower bound of |bA|_F where the risk is at most so large."""
        square_root = root(2 * risk)
        far = (self.trace - square_root * root(self.trace)) / root(self.trace_fourth)
        inverse_second = self.trace_inverse_second
        near = (inverse_second - square_root * root(self.trace_inverse_fifth)) / root(inverse_second)
        return far.max(near).max(0 * risk)

    def bayes_product(self) -> arb:
        """sqrt(tr Sigma^-2): |bA|_F where R = 0."""
        return root(self.trace_inverse_second)

    def largest_product(self, risk: arb) -> arb:
        """M: an upper bound of |bA|_F there."""
        return self.bayes_product() + root(2 * risk) / root(self.smallest) / self.smallest


def covariance_constants(covariance: ExactMatrix) -> CovarianceConstants:
    """The constants of a positive definite Sigma at the working precision; not finite where that is too low."""
    sigma = task.BallMatrix.around(covariance)
    inverse = task.BallMatrix(sigma.balls.inv(nonstop=True))
    square, inverse_square = sigma @ sigma, inverse @ inverse
    return CovarianceConstants(
        smallest=1 / largest_eigenvalue(inverse.balls, ctx.prec),
        largest=largest_eigenvalue(sigma.balls, ctx.prec),
        trace=sigma.trace(),
        trace_fourth=square.inner(square),
        trace_inverse_second=inverse_square.trace(),
        trace_inverse_fifth=inverse_square.inner(inverse_square @ inverse),
    )


@dataclass(frozen=True)
class FlowRates:
    """The flow (A, b)' = -grad R with the invariant delta, from a point whose risk is given."""

    constants: CovarianceConstants
    invariant: arb

    def rate(self, risk: arb) -> arb:
        """c = l^3 z(delta, m): from there on R falls at least like e^(-2ct), and b^2 >= c / l^3."""
        l = self.constants.smallest  # noqa: E741 - the mathematical name
        return l * l * l * task.squared_factor(self.invariant, self.constants.least_product(risk))

    def decay(self, risk: arb) -> arb:
        """2c: log R falls at least so fast there, and no path from there is longer than sqrt(2R/c)."""
        return 2 * self.rate(risk)


@dataclass(frozen=True)
class DescentRates:
    """Descent with a step eta from a point with risk R_0 and invariant delta_0.

    Let D = 2 eta R_0 and beta be the bound of second derivatives for |delta - delta_0| <= D and R <= R_0. Where
    eta beta <= 1, with kappa = 1 - eta beta / 2,

        R_(k+1) <= R_k - eta kappa |grad R_k|^2,      |delta_k - delta_0| <= eta (R_0 - R_k) / kappa <= D,

    and so with the rate c = kappa l^3 z(delta_0 + D, m): R_(k+1) <= (1 - 2 eta c) R_k, and no path from a point with
    risk R is longer than sqrt(2R / (kappa c)).
    """

    constants: CovarianceConstants
    invariant: arb
    step: arb
    first_risk: arb

    @property
    def drift(self) -> arb:
        """D = 2 eta R_0."""
        return 2 * self.step * self.first_risk

    def least_square(self, risk: arb) -> arb:
        """z(delta_0 + D, m) <= b^2."""
        return task.squared_factor(self.invariant + self.drift, self.constants.least_product(risk))

    def largest_square(self, risk: arb) -> arb:
        """z(delta_0 - D, M) >= b^2."""
        return task.squared_factor(self.invariant - self.drift, self.constants.largest_product(risk))

    def curvature_by_norms(self, risk: arb) -> arb:
        """lam^3 (|A|_F^2 + b^2), where |A|_F^2 + b^2 <= sqrt((|delta_0| + D)^2 + 4M^2)."""
        lam, M = self.constants.largest, self.constants.largest_product(risk)
        invariant = abs(self.invariant) + self.drift
        return lam * lam * lam * root(invariant * invariant + 4 * M * M)

    def curvature_at(self, square: arb, risk: arb) -> arb:
        """lam^3 b^2 + (sqrt(tr Sigma) + r)^2 / b^2 for a value of b^2."""
        lam = self.constants.largest
        square_root = root(self.constants.trace) + root(2 * risk)
        return lam * lam * lam * square + square_root * square_root / square

    def rest_of_curvature(self, risk: arb) -> arb:
        """lam^(3/2) r >= |Sigma E Sigma|_F."""
        lam = self.constants.largest
        return lam * root(lam) * root(2 * risk)

    def smoothness(self, risk: arb) -> arb:
        """beta >= |Hess R|: by norms, or by the convex bound in b^2 at the ends of its range where b is not near 0."""
        bound = self.curvature_by_norms(risk)
        least, largest = self.least_square(risk), self.largest_square(risk)
        if (least > 0) is True:
            ends = self.curvature_at(least, risk).max(self.curvature_at(largest, risk))
            bound = -(-ends).max(-bound)
        return bound + self.rest_of_curvature(risk)

    def share(self, risk: arb) -> arb:
        """kappa = 1 - eta beta / 2."""
        return 1 - self.step * self.smoothness(risk) / 2

    def rate(self, risk: arb) -> arb:
        """c = kappa l^3 z(delta_0 + D, m)."""
        l = self.constants.smallest  # noqa: E741 - the mathematical name
        return self.share(risk) * l * l * l * self.least_square(risk)

    def wander(self, risk: arb) -> arb:
        """eta R / kappa: |A|_F^2 - b^2 changes by no more from there on."""
        return self.step * risk / self.share(risk)

    def factor(self, risk: arb) -> arb:
        """1 - 2 eta c: by which every step from there on multiplies the risk at most."""
        return 1 - 2 * self.step * self.rate(risk)

    def decay(self, risk: arb) -> arb:
        """-log(1 - 2 eta c): log R falls at least so much in a step."""
        return -self.factor(risk).log()

    def length(self, risk: arb) -> arb:
        """sqrt(2R / (kappa c)): no path from there is longer."""
        return root(2 * risk / (self.share(risk) * self.rate(risk)))


@dataclass(frozen=True)
class RegressionStep:
    """theta -> theta - eta grad R(theta), for `descend`; `largest` is lam.

    With S = Sigma E Sigma, the second derivatives of R lie between -|S|_F and lam^3 |theta|^2 + |S|_F: along (H, h)
    they are |D Sigma^(1/2)|^2 + 2 h tr(H'S) with D = h Sigma A + b Sigma H. So a step changes distances at most by the
    factor max(1 + eta |S|_F, eta (lam^3 |theta|^2 + |S|_F) - 1).
    """

    regression: task.Regression
    largest: arb
    step: arb

    def of(self, point: list[arb]) -> Enclosure:
        """Where the step leads."""
        slope = task.flat(self.regression.gradient(self._at(point)))
        return around([x - self.step * g for x, g in zip(point, slope, strict=True)])

    def expansion(self, box: list[arb], distance: arb) -> arb:
        """A bound of how much the step expands distances among what is so near to the box."""
        near = widened(box, distance)
        residual, length = l2_norm(self.regression.residual(self._at(near)).entries()), l2_norm(near)
        upward = self.largest**3 * length * length + residual
        return (1 + self.step * residual).max(self.step * upward - 1)

    def _at(self, point: list[arb]) -> task.Parameters:
        return task.shaped(point, self.regression.covariance.rows)


# -- the risk at a later time, bounded by rates alone

# The risk falls by the factor f from level to level; after so many the last rate is kept.
_FALL = fmpq(3, 4)
_LEVELS = 256


def risk_after(duration: fmpq, risk: arb, decay: Callable[[arb], arb], whole: bool) -> arb:
    """A bound of R so long after it was `risk`; `whole` for descent, whose time goes in steps."""
    level, spent = risk, arb(0)
    fall = -arb(_FALL).log()
    for _ in range(_LEVELS):
        need = (fall / decay(level)).upper()
        if need.is_finite() is not True:
            break
        reached = (spent + (need.ceil() if whole else need)).upper()
        if (reached <= duration) is not True:
            break
        level, spent = level * _FALL, reached
    return level * (-decay(level) * (arb(duration) - spent)).exp()


def length_below(risk: arb, rate: Callable[[arb], arb]) -> arb:
    """A bound of the length of the flow's path from where R is `risk`; `rate` is c."""
    level, total = risk, arb(0)
    kept = 1 - arb(_FALL).sqrt()
    for _ in range(_LEVELS):
        total += (2 * level / rate(level)).sqrt() * kept
        level = level * _FALL
    return total + (2 * level / rate(level)).sqrt()


# -- what is stated


@dataclass(frozen=True)
class StatedTraining:
    """What is given and asserted of the flow, or of descent with a `step`; the run is enclosed until `enclosed`."""

    given: Values
    asserts: Values
    covariance: ExactMatrix
    start: task.Parameters
    step: fmpq | None
    enclosed: fmpq
    order: int
    shift: shifted_risk.Shift | None

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
    shift = None
    if LIMIT in asserts and shifted_risk.SHIFT in asserts[LIMIT]:
        shift = shifted_risk.read_shift(asserts[LIMIT][shifted_risk.SHIFT], covariance)
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
    return StatedTraining(found.given, asserts, covariance, start, training.get(STEP), enclosed, order, shift)


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
    if stated.shift is not None:
        shift, expected = stated.shift, limit[shifted_risk.SHIFT][shifted_risk.RISK]
        # Of all Bayes points: there bA = Sigma^-1.
        yield Obligation("limit.shift", expected, "=", lambda: shift.risk(task.inverse(stated.covariance)))


class TrainingRun:
    """The run at the working precision: enclosed as far as that is asked for, and the rates from there on.

    Numbers of the start are exact, all others balls.
    """

    def __init__(self, stated: StatedTraining) -> None:
        self._stated = stated
        self._regression = task.regression_of_balls(stated.covariance)
        self._constants = covariance_constants(stated.covariance)
        self._given_up = False
        self._points = self._enclosures()

    def _enclosures(self) -> dict[fmpq, Enclosure]:
        """The run at the times where it is enclosed; nothing where it is lost, and at the start, which is exact."""
        stated = self._stated
        if stated.enclosed == 0:
            return {}
        start = around(task.flat(task.balls_around(stated.start)))
        asked = {one[AT] for one in stated.asserts.items(RISKS)}
        times = sorted({stated.enclosed, *(time for time in asked if time <= stated.enclosed)})
        if stated.step is None:
            flow = integrate(RegressionFlow(stated.covariance), start, times, stated.order, MOST_FLOW_STEPS)
            self._given_up = flow.is_cut
            return flow.found
        step = RegressionStep(self._regression, self._constants.largest, arb(stated.step))
        stops = [int(time.p) for time in times]
        return {fmpq(stop): point for stop, point in descend(step, start, stops[-1], stops).items()}

    def _point(self, time: fmpq) -> task.Parameters:
        """(A, b) at a time: exact at the start, and not finite where the run was lost before."""
        if time == 0:
            return self._stated.start
        if self._given_up:
            raise NoBound(f"more than {MOST_FLOW_STEPS} steps of the flow: expected an earlier time (witness.enclosed)")
        size = self._stated.covariance.rows
        found = self._points.get(time)
        return task.shaped(found.box if found is not None else [arb.nan()] * (size * size + 1), size)

    # -- where the enclosures end

    @cached_property
    def _invariant(self) -> task.Number:
        """The flow keeps that of the start."""
        return self._point(fmpq(0) if self._stated.step is None else self._stated.enclosed).invariant()

    @property
    def b(self) -> task.Number:
        return self._point(self._stated.enclosed).b

    @property
    def inside(self) -> tuple[task.Number, fmpq]:
        """2R < tr Sigma or, what does as well, |A|_F^2 - b^2 < 0 for ever."""
        step, risk = self._stated.step, self.risk(self._stated.enclosed)
        invariant = self._invariant if step is None else self._invariant + 2 * step * risk
        return (invariant, fmpq(0)) if (invariant < 0) is True else (2 * risk, self._stated.covariance.trace())

    # -- what the theorem says

    @cached_property
    def _rates(self) -> FlowRates | DescentRates:
        step, invariant = self._stated.step, arb(self._invariant)
        if step is None:
            return FlowRates(self._constants, invariant)
        return DescentRates(self._constants, invariant, arb(step), arb(self.risk(self._stated.enclosed)))

    @property
    def smoothness(self) -> arb:
        """eta beta, beta a bound of the second derivatives where R is no larger than where the enclosures end."""
        assert isinstance(self._rates, DescentRates)
        return self._rates.step * self._rates.smoothness(self._rates.first_risk)

    def risk(self, time: fmpq) -> task.Number:
        """R as far as the run is enclosed, and a bound of it afterwards."""
        stated = self._stated
        if time <= stated.enclosed:
            regression = task.exact_regression(stated.covariance) if time == 0 else self._regression
            return regression.risk(self._point(time))
        at_the_end = arb(self.risk(stated.enclosed))
        return risk_after(time - stated.enclosed, at_the_end, self._rates.decay, stated.step is not None)

    def rate(self, time: fmpq) -> arb:
        """c from a time on."""
        return self._rates.rate(arb(self.risk(time)))

    def length(self, time: fmpq) -> arb:
        """A bound of the length of the path from a time on."""
        risk, rates = arb(self.risk(time)), self._rates
        return rates.length(risk) if isinstance(rates, DescentRates) else length_below(risk, rates.rate)

    @cached_property
    def invariants(self) -> tuple[arb, arb]:
        """|A|_F^2 - b^2 in the limit lies between these."""
        rates = self._rates
        wander = rates.wander(rates.first_risk) if isinstance(rates, DescentRates) else 0
        return rates.invariant - wander, rates.invariant + wander

    def distance(self, point: task.Parameters, positive: bool) -> arb:
        """From the Bayes points that may be the limit: (Sigma^-1/b, b) with this sign of b."""
        product = self._constants.bayes_product()
        low, high = (task.squared_factor(bound, product) for bound in self.invariants)
        square_root = root(low if self._stated.step is None else low.union(high))
        b = square_root if positive else -square_root
        inverse = task.BallMatrix(self._regression.covariance.balls.inv(nonstop=True))
        return l2_norm(task.flat(task.Parameters(inverse.scaled(1 / b), b) - task.balls_around(point)))


TITLE = "training in context converges to the Bayes predictor, at a rate"
THEOREM = Theorem("training-convergence", TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
