"""Theorem `risk-transfer`: training on prompts that are long enough ends with a risk as small as stated.

In-context linear regression (Boursier and Boyer 2026, sections 4 and 5) with covariance Sigma. Let R_L(A, b) be the
population risk 1/2 E (b sum_i y_i p_i - <w, x>)^2 over prompts of L tokens x_i ~ N(0, Sigma), y_i = <w, x_i>, with
w ~ N(0, I), a query x ~ N(0, Sigma) and p the softmax of the scores <x_i, A x>; and R that of infinite prompts. Both
are trained by gradient flow from the same start (A, b). A certificate asserts for every length from the given one on

    R_L <= risk at all times t >= time, so that lim R_L <= risk, while lim R = 0,

and it may assert that up to that time the two runs are no further apart than `tube` (theorem 4.3 there, with numbers).
Or N prompts are given, as numbers, and R_L is their loss 1/(2N) sum_n (b sum_i y_i p_i - t_n)^2.

Proof: the infinite-prompt flow is enclosed; bounds of |grad R_L - grad R| keep the other flow beside it; at the end R
and a bound of R_L - R say the rest, for R_L never grows. The flow on given prompts is enclosed beside a polygon
(both below).

The gap. Let x ~ N(0, Sigma), tau = Sigma A x, E = b Sigma A - I, T = tr Sigma, and let q, kappa be functions of the
variance v = x'A'Sigma A x of the scores and of L: q = E P_2, kappa = E[P_3 - P_2^2], P_k the power sums of the softmax
weights. The gap G = R_L - R and its gradient are, with W = b^2 T - b^2 |tau|^2 + 2b <tau, x> = b^2 T + |x|^2 - |Ex|^2,

    G    = 1/2 E[q W - 6 b^2 kappa |tau|^2]
    dG/db = E[q (bT - <tau, Ex>) - 6 b kappa |tau|^2]
    dG/dA = E[((q_v W - 6 b^2 kappa_v |tau|^2) tau - b q Sigma E x - 6 b^2 kappa Sigma tau) x'].

The bounds rest on 0 <= kappa <= q/4, 0 <= q_v <= q, |kappa_v| <= q/3, on

    q <= theta^theta (1-theta)^(1-theta) (L-1)^(-theta) e^(theta v),   0 <= theta <= 1,

and on this: if v = |S g|^2 for normal g, |S|_op^2 <= s and |S|_F^2 <= r, then for nonnegative forms f_j = |B_j g|^2
and powers with n_1 + ... + n_m = 2k

    E[q f_1^(n_1/2) ... f_m^(n_m/2)] <= a_k (E f_1^k)^(n_1/2k) ... (E f_m^k)^(n_m/2k),

    a_k = theta^theta (1-theta)^(1-theta) (L-1)^(-theta) (1 - 2 theta s)^(-n/2 - k) (1 - 2 theta s')^(-1/2),

where n s + s' is a way to write r, or more. All decrease in L. Proofs: docs/claims/training/risk-transfer.md.

The tube. Let e(t) be the distance of the flow of R_L from the infinite-prompt flow with the same start. On an interval
of length h let the latter be within r of a centre, and K the ball of radius r + e_1 around it. If |grad R_L - grad R|
<= g on K, mu bounds the logarithmic norm of -grad R there (`regression_flow`), and e <= e_0 at the beginning, then

    e^(mu h) (e_0 + g h) < e_1      implies      e <= e_1 on the interval, and e <= e^(mu h) (e_0 + g h) at its end.

Proof. While e <= e_1, both flows and the segment between them are in K, where e' <= mu e + g almost everywhere; so
e <= e^(mu t) (e_0 + g t) < e_1 there, mu being >= 0, and a first time with e = e_1 does not exist. QED

The polygon. Over concrete prompts with the loss R let theta' = -grad R(theta) be within e_k of theta_k at the time k h,
and theta_(k+1) = theta_k - h grad R(theta_k). Let -mu <= Hess R <= beta and mu <= beta in the ball K around theta_k of
radius h |grad R(theta_k)| + e'. Then

    e^(mu h) (e_k + beta h^2 |grad R(theta_k)| / 2) < e'

implies that this bounds the distance of the flow from theta_k - t grad R(theta_k) for 0 <= t <= h.

Proof. While that distance e is at most e', both are in K, and so is the segment between them. On it the slope of the
polygon differs from the field by at most beta t |grad R(theta_k)|, so e' <= mu e + beta t |grad R(theta_k)|, and
e(t) <= e^(mu t) (e_k + beta t^2 |grad R(theta_k)| / 2) < e'. QED
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from flint import arb, arb_mat, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import ByKey, CountUpTo, Field, Rational, Record, Values
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.every_length import log_peak
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.theorems.training import context_losses as contexts
from certattn.kernel.theorems.training import regression as task
from certattn.kernel.theorems.training import stated_prompts
from certattn.kernel.theorems.training.validated_flow import RegressionFlow, Step, product_reach, steps

LENGTH = Field("length", Rational(minimum=2), "the least length L of the prompts, an integer")
OF_LENGTHS = Record(task.COVARIANCE, task.START, LENGTH)
GIVEN = ByKey({"tokens": Record(task.COVARIANCE, task.START, *stated_prompts.REGRESSION_PROMPTS), "length": OF_LENGTHS})

RISK = Field("risk", Rational(minimum=0), "bound of the risk R_L")
TIME = Field("time", Rational(above=0), "time from which it holds")
TUBE = Field("tube", Rational(above=0), "distance of the two runs up to that time, at most", required=False)
ASSERTS = Record(RISK, TIME, TUBE)

ORDER = Field("order", CountUpTo(2, 60), "order of the Taylor polynomials that enclose the flow", required=False)
PIECES = Field("pieces", CountUpTo(1, 10_000), "intervals into which the time is cut", required=False)
TRAVEL = Field("travel", Rational(above=0), "longest leg of the polygon beside a flow on given prompts", required=False)
WITNESS = Record(ORDER, PIECES, TRAVEL)

DEFAULT_ORDER = 20
DEFAULT_PIECES = 100
DEFAULT_TRAVEL = fmpq(1, 1000)

# -- the gap

# Powers theta that are tried, as parts of the largest that is possible.
_POWERS = 48


@dataclass(frozen=True)
class Norms:
    """(E|B g|^2)^(1/2) = |B|_F and (E|B g|^4)^(1/4) of a matrix B for normal g, or bounds of them."""

    second: arb
    fourth: arb


def widest(size: arb) -> Norms:
    """Of every matrix with |B|_F <= size: E|Bg|^4 = |B|_F^4 + 2 |B'B|_F^2 <= 3 |B|_F^4."""
    return Norms(size, size * root(root(fmpq(3, 1) + 0 * size)))


def norms(trace: arb, square_trace: arb) -> Norms:
    """Of B with tr B'B and tr (B'B)^2."""
    return Norms(root(trace), root(root(trace * trace + 2 * square_trace)))


def added(one: Norms, other: Norms) -> Norms:
    """Bounds for the sum of two matrices."""
    return Norms(one.second + other.second, one.fourth + other.fourth)


def smaller(x: arb, y: arb) -> arb:
    """min(x, y)."""
    return -(-x).max(-y)


@dataclass(frozen=True)
class Scores:
    """v = |S g|^2 with |S|_op^2 <= s = `largest`, |S|_F^2 <= r = `total`; n = `copies`: (n + 1) s >= r or n + 1 = d."""

    largest: arb
    total: arb
    copies: int

    def rest(self) -> arb:
        """s' = min(s, max(r - n s, 0))."""
        left = self.total - self.copies * self.largest
        return smaller(self.largest, left.max(0 * left))


def scores(largest: arb, total: arb, dimension: int) -> Scores:
    """With the fewest copies that are proved to be enough."""
    largest = smaller(largest, total)
    copies = 0
    while copies + 1 < dimension and ((copies + 1) * largest >= total) is not True:
        copies += 1
    return Scores(largest, total, copies)


def log_average(length: arb, theta: arb, of: Scores, k: int) -> arb:
    """log a_k for 0 < theta <= 1 with 2 theta s < 1."""
    inside, rest = (1 - 2 * theta * of.largest).log(), (1 - 2 * theta * of.rest()).log()
    return log_peak(theta) - theta * (length - 1).log() - (of.copies + 2 * k) * inside / 2 - rest / 2


def averages(length: fmpq, of: Scores) -> tuple[arb, arb, arb]:
    """a_0, a_1 and a_2, each with the best of some powers theta; 1, for q <= 1, where none is better."""
    best = [arb(1), arb(1), arb(1)]
    ceiling = 1 / (2 * of.largest).max(arb(1))
    for part in range(1, _POWERS):
        # Any theta will do: the midpoint is one.
        theta = (ceiling * fmpq(part, _POWERS)).mid()
        if (theta > 0) is True and (theta < 1) is True and (2 * theta * of.largest < 1) is True:
            found = [log_average(arb(length), theta, of, k).exp() for k in range(3)]
            best = [x.min(y) if y.is_finite() is True else x for x, y in zip(best, found, strict=True)]
    return best[0], best[1], best[2]


@dataclass(frozen=True)
class GapBounds:
    """Bounds of the gap for all (A, b) of a set: |b| <= `factor`, norms of x, Sigma A x and E x, and a_0, a_1, a_2.

    `largest` is the largest eigenvalue of Sigma.
    """

    token: Norms
    largest: arb
    factor: arb
    tau: Norms
    error: Norms
    averages: tuple[arb, arb, arb]

    @property
    def _trace(self) -> arb:
        return self.token.second * self.token.second

    @property
    def _value(self) -> Norms:
        """Of b tau."""
        return Norms(self.factor * self.tau.second, self.factor * self.tau.fourth)

    def risk(self) -> arb:
        """R_L - R <= (a_0 b^2 T + a_1 T) / 2."""
        a = self.averages
        return (a[0] * self.factor * self.factor + a[1]) * self._trace / 2

    def bracket(self) -> arb:
        """c with E[|q_v W - 6 b^2 kappa_v |tau|^2| f] <= (a_1 b^2 T + a_2 c) E f, f as above.

        c = |x|^2 + |Ex|^2 + 2 |b tau|^2 or 2 |b tau| |x| + 3 |b tau|^2, in fourth norms.
        """
        x, error, value = self.token.fourth, self.error.fourth, self._value.fourth
        far = x * x + error * error + 2 * value * value
        near = 2 * value * x + 3 * value * value
        return smaller(far, near)

    def gradient_of_factor(self) -> arb:
        """|dG/db| <= max(a_0 b T, 3/2 a_1 b |tau|^2) + a_1 |tau| |Ex|."""
        a, b, tau = self.averages, self.factor, self.tau.second
        spread = fmpq(3, 2) * a[1] * b * tau * tau
        return (a[0] * b * self._trace).max(spread) + a[1] * tau * self.error.second

    def gradient_of_matrix(self) -> arb:
        """|dG/dA|_F: the largest of <dG/dA, H> over |H|_F <= 1, where |Hx| has norms at most lam^(1/2)."""
        a, b, lam, tau = self.averages, self.factor, self.largest, self.tau
        along = widest(root(lam))
        sides = b * b * self._trace * tau.second + b * lam * self.error.second
        sides += fmpq(3, 2) * b * b * lam * tau.second
        return a[1] * sides * along.second + a[2] * self.bracket() * tau.fourth * along.fourth

    def gradient(self) -> arb:
        """|grad G|."""
        matrix, factor = self.gradient_of_matrix(), self.gradient_of_factor()
        return root(matrix * matrix + factor * factor)


# -- bounds of a distance that rest on themselves

# e_1 is a little larger than what has to be below it; a few are tried, as long as they are small.
_ROOM = fmpq(9, 8)
_TRIES = 6
_WIDEST = 16


@dataclass(frozen=True)
class Distance:
    """What a distance comes to, which is proved where that is below `bound`."""

    reached: arb
    bound: arb

    @property
    def closed(self) -> bool:
        return (self.reached < self.bound) is True


def distance_within(guess: arb, reached: Callable[[arb], arb]) -> Distance:
    """With the first bound of a few that does, from a guess on; else with the last that says anything."""
    found, tried = Distance(arb.pos_inf(), guess.upper()), guess.upper()
    for _ in range(_TRIES):
        value = reached(tried).upper()
        if value.is_finite() is not True:
            return found
        found = Distance(value, tried)
        if found.closed or (value < _WIDEST) is not True:
            return found
        tried = (value * _ROOM).upper()
    return found


# -- the tube

# Steps of the infinite-prompt flow; a checker computes some hundreds in a second.
MOST_STEPS = 2000


class FinitePrompts:
    """The gap between the risks at a length, near points that are known."""

    def __init__(self, covariance: ExactMatrix, length: fmpq) -> None:
        self.field = RegressionFlow(covariance)
        self._length = length
        self._covariance = task.BallMatrix.around(covariance).balls
        self._largest = largest_eigenvalue(self._covariance, ctx.prec)
        self.token = _norms(self._covariance)

    def root_of_risk(self, near: Enclosure) -> arb:
        """sqrt(2R), which is the norm of E x: at every point of a ball at most this."""
        return self._error(near).second

    def gap(self, near: Enclosure) -> GapBounds:
        """Bounds over a ball of parameters."""
        sigma, lam, radius = self._covariance, self._largest, near.error
        point = self.field.parameters(near.centre)
        A = point.A.balls
        # Similar to S'S, which is all that its traces and those of its powers know.
        square = A.transpose() * sigma * A * sigma
        operator = root(largest_eigenvalue(square, ctx.prec)) + lam * radius
        frobenius = root(square.trace()) + lam * radius
        tau = sigma * A
        variances = scores(operator * operator, frobenius * frobenius, sigma.nrows())
        spread = added(_norms(tau * sigma * tau.transpose()), widest(lam * root(lam) * radius))
        factor, parts = abs(point.b) + radius, averages(self._length, variances)
        return GapBounds(self.token, lam, factor, spread, self._error(near), parts)

    def _error(self, near: Enclosure) -> Norms:
        """Of E x."""
        sigma, point = self._covariance, self.field.parameters(near.centre)
        E = sigma * point.A.balls * point.b - task.BallMatrix.identity(sigma.nrows()).balls
        # By so much |E Sigma^(1/2)|_F changes within r.
        reach = self._largest * root(self._largest) * product_reach(l2_norm(near.centre), near.error)
        return added(_norms(E * sigma * E.transpose()), widest(reach))


def bound_of_risk(prompts: FinitePrompts, near: Enclosure) -> arb:
    """R_L <= R + (R_L - R) at every point of a ball."""
    root, gap = prompts.root_of_risk(near), prompts.gap(near).risk()
    return root * root / 2 + gap


@dataclass(frozen=True)
class Piece:
    """From `first` to `last`: e at the end, where the infinite-prompt flow is in `flow`, if all before were closed."""

    first: fmpq
    last: fmpq
    flow: Enclosure
    distance: Distance

    @property
    def end(self) -> Enclosure:
        """Where both flows are at its end."""
        return Enclosure(self.flow.centre, (self.flow.error + self.distance.reached).upper())


def tube(prompts: FinitePrompts, start: list[arb], until: fmpq, order: int, pieces: int) -> Iterator[Piece]:
    """The pieces from time 0 to `until`, or to one that is not closed, or to where the flow is not enclosed.

    After very many steps of the flow a piece without a bound is the last one.
    """
    distance = arb(0)
    for count, step in enumerate(steps(prompts.field, around(start), until, order)):
        if count == MOST_STEPS:
            yield Piece(step.first, step.last, step.end, Distance(arb.pos_inf(), distance))
            return
        for first, last in _cut(step, until / pieces):
            piece = _piece(prompts, step, first, last, distance)
            yield piece
            if piece.distance.closed is not True:
                return
            distance = piece.distance.reached


def _cut(step: Step, width: fmpq) -> Iterator[tuple[fmpq, fmpq]]:
    """The step, cut at the multiples of the width."""
    first = step.first
    while first < step.last:
        following = ((first / width).floor() + 1) * width
        last = following if following < step.last else step.last
        yield first, last
        first = last


def _piece(prompts: FinitePrompts, step: Step, first: fmpq, last: fmpq, distance: arb) -> Piece:
    """The piece from an e_0."""
    over, h = step.over(first, last), arb(last - first)

    def reached(tried: arb) -> arb:
        """e^(mu h) (e_0 + g h) with the bounds of the ball of radius r + e_1."""
        ball = Enclosure(over.centre, (over.error + tried).upper())
        return (prompts.field.expansion(ball) * h).exp() * (distance + prompts.gap(ball).gradient() * h)

    return Piece(first, last, step.at(last), distance_within(distance * _ROOM + arb(2) ** -ctx.prec, reached))


def _norms(covariance: arb_mat) -> Norms:
    """Of a centred Gaussian vector with this covariance."""
    return norms(covariance.trace(), (covariance * covariance).trace())


# -- the polygon

# Legs are halved so often at most, and there are no more than so many.
_HALVINGS = 60
MOST_LEGS = 20_000


@dataclass(frozen=True)
class Leg:
    """A leg of the polygon up to the time `last`: its end without error, and how far the flow is from it then.

    That is proved where the distance from the leg is, and all legs before were closed.
    """

    last: fmpq
    end: contexts.Trained
    error: arb
    distance: Distance


def legs(loss: contexts.Loss, start: contexts.Trained, until: fmpq, longest: fmpq, travel: fmpq) -> Iterator[Leg]:
    """Legs from time 0 to `until`, or to one that is not closed; after very many the last has no bound.

    None takes longer than `longest`; it is halved until the leg is no longer than `travel`.
    """
    time, point, error = fmpq(0), _middle(start), start.error()
    for _ in range(MOST_LEGS):
        gradient = loss.at(point).gradient
        duration = min(_duration(gradient.norm(), longest, travel), until - time)
        time += duration
        leg = _leg(loss, Leg(time, point, error, Distance(arb.pos_inf(), error)), gradient, arb(duration))
        yield leg
        if leg.distance.closed is not True or time == until:
            return
        point, error = leg.end, leg.error
    yield Leg(time, point, error, Distance(arb.pos_inf(), error))


def _duration(speed: arb, longest: fmpq, travel: fmpq) -> fmpq:
    """Of a leg: any will do."""
    duration = longest
    for _ in range(_HALVINGS):
        if (speed * duration <= travel) is True:
            break
        duration /= 2
    return duration


def risk_near(loss: contexts.Loss, leg: Leg) -> arb:
    """R of the flow at the end of a closed leg: R(theta_k) up to |grad R(theta_k)| e + beta e^2 / 2."""
    evaluation, e = loss.at(leg.end), leg.error
    curvatures = loss.curvatures(leg.end, e)
    change = evaluation.gradient.norm() * e + curvatures.upward.max(curvatures.downward) * e * e / 2
    return (evaluation.risk + change * arb(0, 1)).nonnegative_part()


def _leg(loss: contexts.Loss, start: Leg, gradient: contexts.Trained, h: arb) -> Leg:
    """The leg from where `start` stands."""
    speed, after = gradient.norm().upper(), start.end - gradient.scaled(h)

    def reached(tried: arb) -> arb:
        """e^(mu h) (e_k + beta h^2 |grad R| / 2) with the bounds of the ball of radius h |grad R| + e'."""
        curvatures = loss.curvatures(start.end, (h * speed + tried).upper())
        beta = curvatures.upward.max(curvatures.downward)
        return (curvatures.downward * h).exp() * (start.error + beta * h * h * speed / 2)

    tried = (start.error + h * speed * arb(2) ** -10) * _ROOM + arb(2) ** -ctx.prec
    distance = distance_within(tried, reached)
    return Leg(start.last, _middle(after), (distance.reached + after.error()).upper(), distance)


def _middle(point: contexts.Trained) -> contexts.Trained:
    """The middle of every ball."""
    U, V = (arb_mat(m.nrows(), m.ncols(), [entry.mid() for entry in m.entries()]) for m in (point.U, point.V))
    return contexts.Trained(U, V)


T = TypeVar("T")


class Followed(Generic[T]):
    """A run that is followed once per precision, as `Shared`; `last` is the one that was followed last, for words."""

    def __init__(self, follow: Callable[[], T]) -> None:
        self._follow = Shared(follow)
        self.last: T | None = None

    def __call__(self) -> T:
        self.last = self._follow()
        return self.last


@dataclass(frozen=True)
class StatedTransfer:
    """Sigma and (A, b) exactly, the sections, prompts where some are given, and what the witness suggests."""

    given: Values
    asserts: Values
    covariance: ExactMatrix
    start: task.Parameters
    prompts: stated_prompts.StatedPrompts | None
    order: int
    pieces: int
    travel: fmpq

    @cached_property
    def twice_the_risk(self) -> task.Number:
        """2R over infinite prompts at the start."""
        return 2 * task.exact_regression(self.covariance).risk(self.start)

    @property
    def balanced_below(self) -> bool:
        """Whether |A|_F^2 < b^2 at the start, from where R tends to 0."""
        return bool(self.start.invariant() < 0)

    @property
    def falls_from_the_start(self) -> bool:
        """Whether |A|_F^2 < b^2 or 2R < tr Sigma at the start, from where R tends to 0."""
        return self.balanced_below or bool(self.twice_the_risk < self.covariance.trace())

    @property
    def known_at_the_start(self) -> bool:
        """Whether the start says if R tends to 0: where the flow of R does not move at all, that it does not."""
        gradient = task.exact_regression(self.covariance).gradient(self.start)
        return self.falls_from_the_start or bool(gradient.inner(gradient) == 0)

    def at_the_start(self) -> Obligation:
        """That R tends to 0."""
        if self.balanced_below:
            return Obligation("infinite", self.start.invariant(), "<", fmpq(0), Part.WITNESS)
        return Obligation("infinite", self.twice_the_risk, "<", self.covariance.trace(), Part.WITNESS)

    @cached_property
    def flows(self) -> Followed[Flows]:
        """Over prompts of a length and infinite ones."""
        return Followed(self._flows)

    def _flows(self) -> Flows:
        prompts, time = FinitePrompts(self.covariance, self.given[LENGTH]), self.asserts[TIME]
        pieces = list(tube(prompts, task.flat(task.balls_around(self.start)), time, self.order, self.pieces))
        return Flows(prompts, pieces[-1] if pieces else None, time)

    @cached_property
    def polygon(self) -> Followed[tuple[contexts.Loss, Leg]]:
        """Beside the flow of the loss of given prompts: its last leg."""
        return Followed(self._polygon)

    def _polygon(self) -> tuple[contexts.Loss, Leg]:
        assert self.prompts is not None
        loss, time = contexts.loss_of(self.prompts), self.asserts[TIME]
        start = contexts.Trained.around(self.start.A, ExactMatrix.row_vector([self.start.b]))
        *_, last = legs(loss, start, time, time / self.pieces, self.travel)
        return loss, last


def read(certificate: Certificate) -> StatedTransfer:
    """Every dimension checked. Raises MalformedError."""
    reading, hints = certificate.reading, None
    form, given = GIVEN.read(certificate.given, reading)
    asserts = ASSERTS.read(certificate.asserts, reading)
    if certificate.witness is not None:
        hints = WITNESS.read(certificate.witness, reading)
    covariance, start = task.read_task(given)
    prompts = None
    if form == "tokens":
        if TUBE in asserts:
            raise asserts.node(TUBE).malformed("no tube: it is of all prompts of a length, not of given ones")
        prompts = stated_prompts.read_regression_prompts(given, covariance.rows)
    elif given[LENGTH].q != 1:
        raise given.node(LENGTH).malformed("an integer >= 2", describe(given[LENGTH]))
    order, pieces = task.hinted(hints, ORDER, DEFAULT_ORDER), task.hinted(hints, PIECES, DEFAULT_PIECES)
    travel = task.hinted(hints, TRAVEL, DEFAULT_TRAVEL)
    return StatedTransfer(given, asserts, covariance, start, prompts, order, pieces, travel)


# -- what proves it


def obligations(stated: StatedTransfer) -> Iterator[Obligation]:
    return _of_lengths(stated) if stated.prompts is None else _of_prompts(stated)


def _of_prompts(stated: StatedTransfer) -> Iterator[Obligation]:
    run = stated.polygon
    path = Shared(lambda: _proved(run()[1].distance))
    yield stated.at_the_start()
    yield Obligation("path", lambda: path().reached, "<", lambda: path().bound, Part.WITNESS)
    # It encloses R_L at that time: what is not at most the stated risk is above it.
    yield Obligation("risk", lambda: risk_near(*run()), "<=", stated.asserts[RISK], needs=["path"])


def _of_lengths(stated: StatedTransfer) -> Iterator[Obligation]:
    asserts, run = stated.asserts, stated.flows
    if stated.known_at_the_start:
        yield stated.at_the_start()
    else:
        # By what is reached at the end, as far as the path there is proved; it is listed before that.
        trace = stated.covariance.trace()
        yield Obligation("infinite", lambda: run().twice_the_risk(), "<", trace, Part.WITNESS)
    path = Shared(lambda: run().path())
    yield Obligation("path", lambda: path().reached, "<", lambda: path().bound, Part.WITNESS)
    if TUBE in asserts:
        yield Obligation("tube", lambda: run().distance(), "<=", asserts[TUBE], Part.WITNESS, ["path"])
    yield Obligation("risk", lambda: run().bound(), "<=", asserts[RISK], Part.WITNESS, ["path"])


def _proved(distance: Distance) -> Distance:
    if distance.reached.is_finite() is not True:
        raise NoBound("no bound is found")
    return distance


@dataclass(frozen=True)
class Flows:
    """Both flows as far as they could be followed: `last` is the last piece, None where there is none at all."""

    prompts: FinitePrompts
    last: Piece | None
    time: fmpq

    @property
    def lost(self) -> bool:
        """Whether all pieces are closed, but the flow over infinite prompts is enclosed no longer."""
        return self.last is None or (self.last.distance.closed and self.last.last < self.time)

    def path(self) -> Distance:
        """The distance in the last piece that was tried: those before it are closed."""
        return Distance(arb.nan(), arb(0)) if self.last is None or self.lost else _proved(self.last.distance)

    @property
    def _end(self) -> Piece | None:
        """The last piece where it ends at the stated time and, like all before, is closed."""
        last = self.last
        return last if last is not None and last.distance.closed and last.last == self.time else None

    def twice_the_risk(self) -> task.Number:
        """2R over infinite prompts at the end."""
        if self.last is not None and self.last.distance.closed is not True:
            raise NoBound("it rests on the path, which is not proved")
        return 2 * self.prompts.field.risk(self._end.flow) if self._end is not None else arb.nan()

    def distance(self) -> arb:
        return self._end.distance.reached if self._end is not None else arb.nan()

    def bound(self) -> arb:
        """Of R_L at the end: of R, and of R_L - R."""
        return bound_of_risk(self.prompts, self._end.end) if self._end is not None else arb.nan()


TITLE = "training on long prompts ends with a small risk, and runs beside training on infinite ones"
THEOREM = Theorem("risk-transfer", TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
