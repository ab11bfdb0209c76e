"""Theorem `flow-trajectory`: where the gradient flow of training in context is, at stated times and between them.

In-context linear regression with an infinite prompt (Boursier and Boyer 2026, section 4): Sigma positive definite,

    R(A, b) = 1/2 tr(E Sigma E'),     E = b Sigma A - I,     (A, b)' = -grad R(A, b).

A certificate asserts that the flow from a stated start exists and has |(A(t), b(t)) - (A_i, b_i)| <= r_i at t = t_i, in
the Euclidean norm of all d^2 + 1 numbers. It may assert bounds of R at t_i, and of the distance from the zero of R with
the same |A|_F^2 - b^2 and sign of b; and a bound of the distance, at all times between t_(i-1) and t_i, from what moves
evenly from one stated point to the next.

Proof: a Taylor method that proves its own error (mathematics/validated_flow.py,
docs/claims/training/flow-trajectory.md). And, independent of it and exact but for one root, that the stated points may
be on the flow at all, which conserves |A|_F^2 - b^2:

    | |A_i|_F^2 - b_i^2 - (|A(0)|_F^2 - b(0)^2) | <= 2 r_i |(A_i, b_i)| + r_i^2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Shared
from certattn.kernel.decide.theorem import BITS, Theorem, sections
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import CountUpTo, Field, Listing, Rational, Record, Values
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure, around, inflated
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.validated_flow import Step, integrate
from certattn.kernel.theorems.training import regression as task
from certattn.kernel.theorems.training.regression_flow import RegressionFlow, invariant_reach

GIVEN = Record(task.COVARIANCE, task.START)

TIME = Field("time", Rational(above=0), "a time t of the flow")
RADIUS = Field("radius", Rational(minimum=0), "Euclidean distance of (A(t), b(t)) from the stated A and b, at most")
RISK = Field("risk", task.BOUNDS, "bounds of R at the time", required=False)
# Of the zero of R with the same |A|_F^2 - b^2 and sign of b.
BAYES = Field("bayes", Rational(minimum=0), "distance from the Bayes point of the flow, at most", required=False)
# At all times between the point before, or the start, and this one.
TUBE = Field("tube", Rational(minimum=0), "distance from the line that leads to this point, at most", required=False)
POINT = Record(TIME, task.A, task.B, RADIUS, RISK, BAYES, TUBE)
POINTS = Field("points", Listing(POINT), "where the flow is at some times, each after the one before")
ASSERTS = Record(POINTS)

LEAST_ORDER, MOST_ORDER = 8, 100
ORDERS = CountUpTo(LEAST_ORDER, MOST_ORDER)
ORDER = Field("order", ORDERS, f"order of the Taylor polynomials, at most {MOST_ORDER}", required=False)
WITNESS = Record(ORDER, BITS)
READ = sections(GIVEN, ASSERTS, WITNESS)

# A Taylor polynomial of an order of about a quarter of the precision costs least.
_BITS_PER_ORDER = 4
_LEAST_ORDER = 12


@dataclass(frozen=True)
class StatedFlow:
    """What is given and asserted; (A_i, b_i) for each of the points, and the order that the witness states, or 0."""

    given: Values
    asserts: Values
    covariance: ExactMatrix
    start: task.Parameters
    places: list[task.Parameters]
    order: int

    @property
    def points(self) -> list[Values]:
        return self.asserts[POINTS]


def read(certificate: Certificate) -> StatedFlow:
    """Every dimension checked. Raises MalformedError."""
    found = READ(certificate)
    covariance, start = task.read_task(found.given)
    points = found.asserts[POINTS]
    for point in points:
        if BAYES in point and is_at_rest(covariance, start):
            expected = "a start that moves: where b = 0 and tr(A'Sigma^2) = 0 the flow rests, and b has no sign"
            raise point.node(BAYES).malformed(expected, describe(point[BAYES]))
    for before, point in pairwise(points):
        if point[TIME] <= before[TIME]:
            expected = f"a time after that of the point before, {describe(before[TIME])}"
            raise point.node(TIME).malformed(expected, describe(point[TIME]))
    places = [task.read_parameters(point, covariance.rows) for point in points]
    return StatedFlow(found.given, found.asserts, covariance, start, places, task.hinted(found.witness, ORDER, 0))


def is_at_rest(covariance: ExactMatrix, start: task.Parameters) -> bool:
    """Whether b is 0 for ever: b = 0, and b' = tr(A'Sigma^2) = 0."""
    return bool(start.b == 0 and start.A.inner(covariance @ covariance) == 0)


# -- what proves it


def obligations(stated: StatedFlow) -> Iterator[Obligation]:
    flow = Shared(lambda: EnclosedFlow(stated))
    for index, (point, at) in enumerate(zip(stated.points, stated.places, strict=True)):
        place, of = f"points[{index}]", partial(_of, flow, index)
        # The invariant of the start may be met within the radius: it changes by at most 2 |(A, b)| r + r^2.
        change = abs(at.invariant() - stated.start.invariant())
        yield Obligation(f"{place}.invariant", change, "<=", partial(_reach, at, point[RADIUS]))
        yield Obligation(f"{place}.distance", of(EnclosedFlow.distance), "<=", point[RADIUS])
        if RISK in point:
            yield Obligation(f"{place}.risk.lower", of(EnclosedFlow.risk), ">=", point[RISK][task.LOWER])
            yield Obligation(f"{place}.risk.upper", of(EnclosedFlow.risk), "<=", point[RISK][task.UPPER])
        if BAYES in point:
            yield Obligation(f"{place}.bayes", of(EnclosedFlow.from_bayes), "<=", point[BAYES])
        if TUBE in point:
            yield Obligation(f"{place}.tube", of(EnclosedFlow.straying), "<=", point[TUBE])


def _of(flow: Shared[EnclosedFlow], index: int, number: Callable[[EnclosedFlow, int], arb]) -> Callable[[], arb]:
    """What the flow says of a point."""
    return lambda: number(flow(), index)


def _reach(at: task.Parameters, radius: fmpq) -> arb:
    return invariant_reach(arb(at.inner(at)).sqrt(), arb(radius))


def taylor_order(order: int, bits: int) -> int:
    """What the witness states, or for 0 what costs least at the precision."""
    return order or min(max(bits // _BITS_PER_ORDER, _LEAST_ORDER), MOST_ORDER)


class EnclosedFlow:
    """The flow at the working precision, and what it says of the points, by their index."""

    def __init__(self, stated: StatedFlow) -> None:
        self._stated = stated
        self._flow = RegressionFlow(stated.covariance)
        self._times = [point[TIME] for point in stated.points]
        self._strayings = {index: self._straying(index) for index, point in enumerate(stated.points) if TUBE in point}
        start, order = around(_vector(stated.start)), taylor_order(stated.order, ctx.prec)
        self._trajectory = integrate(self._flow, start, self._times, order, watch=self._watch)

    def _straying(self, index: int) -> Straying:
        """From the line to a stated point from the one before."""
        places, last = self._stated.places, self._times[index]
        first, before = (self._times[index - 1], places[index - 1]) if index > 0 else (fmpq(0), self._stated.start)
        slope = (places[index] - before).scaled(1 / (last - first))
        # The finer the precision, the shorter the pieces: a tube that holds is proved in the end.
        return Straying(first, last, _vector(before), _vector(slope), pieces=ctx.prec)

    def _watch(self, step: Step) -> None:
        for straying in self._strayings.values():
            straying.meet(step)

    def _at(self, index: int) -> Enclosure:
        """Where the flow is at the time of a point; anywhere where it is not enclosed."""
        time, trajectory = self._times[index], self._trajectory
        if time in trajectory.found:
            return trajectory.found[time]
        # Enclosures that are narrow still: more precision would only add more steps.
        if trajectory.is_cut and (trajectory.end.error < arb(2) ** -(ctx.prec // 2)) is True:
            raise NoBound(f"it takes more than {trajectory.steps} steps")
        size = self._stated.covariance.rows
        return Enclosure([arb.nan()] * (size * size + 1), arb.pos_inf())

    def distance(self, index: int) -> arb:
        """From what is stated."""
        return _distance(self._at(index), _vector(self._stated.places[index]))

    def risk(self, index: int) -> arb:
        return self._flow.risk(self._at(index))

    def from_bayes(self, index: int) -> arb:
        """The distance from the Bayes point; not finite where the sign of b is not known."""
        found, stated = self._at(index), self._stated
        b = found.box[-1]
        positive = (b > 0) is True
        if not positive and (b < 0) is not True:
            return arb.nan()
        return _distance(found, task.flat(task.bayes_point(stated.covariance, stated.start.invariant(), positive)))

    def straying(self, index: int) -> arb:
        """The largest distance from the line that ends at a point."""
        self._at(index)
        return self._strayings[index].largest


def _vector(parameters: task.Parameters) -> list[arb]:
    return task.flat(task.balls_around(parameters))


def _distance(found: Enclosure, point: list[arb]) -> arb:
    """From a point, for everything enclosed."""
    gap = l2_norm([x - y for x, y in zip(found.centre, point, strict=True)])
    return inflated(gap, found.error).nonnegative_part()


@dataclass
class Straying:
    """The largest distance between z(t) and the line from `origin` at `first` with the velocity `slope`, to `last`.

    Over a piece of time with the middle m, the difference z(t) - l(t) of the curve from a line l is that at m, up to
    the travel of the difference in the piece. The largest distance is at least that at any middle, and at most the
    largest of the bounds of the pieces. The steps of the curve are to be met in their order; `pieces` of equal length
    are looked at, cut where steps end.
    """

    first: fmpq
    last: fmpq
    origin: list[arb]
    slope: list[arb]
    pieces: int
    _met: fmpq = field(init=False)
    _lower: arb = field(default_factory=lambda: arb(0))
    _upper: arb = field(default_factory=lambda: arb(0))

    def __post_init__(self) -> None:
        self._met = self.first

    def meet(self, step: Step) -> None:
        """The part of a step that is in this time; nothing where a part before it has not been met."""
        last = min(step.last, self.last)
        if not step.first <= self._met < last:
            return
        since = arb(step.first - self.first)
        arc = step.arc.minus([x + since * y for x, y in zip(self.origin, self.slope, strict=True)], self.slope)
        length = (self.last - self.first) / self.pieces
        while self._met < last:
            number = ((self._met - self.first) / length).floor() + 1
            end = min(last, self.first + number * length)
            middle, half = arb((self._met + end) / 2 - step.first), arb((end - self._met) / 2)
            at, over = arc.at(middle), arc.over(middle, half)
            self._lower = self._lower.max(l2_norm(at.centre) - at.error)
            self._upper = self._upper.max(l2_norm(over.centre) + over.error)
            self._met = end

    @property
    def largest(self) -> arb:
        """The largest distance; not finite as long as a part of the time has not been met."""
        return self._lower.union(self._upper) if self._met == self.last else arb.nan()


TITLE = "where the gradient flow of training in context is"
THEOREM = Theorem("flow-trajectory", TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
