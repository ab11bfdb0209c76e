"""Theorem `flow-trajectory`: where the gradient flow of training in context is, at stated times and between them.

In-context linear regression with an infinite prompt (Boursier and Boyer 2026, section 4): Sigma positive definite,

    R(A, b) = 1/2 tr(E Sigma E'),     E = b Sigma A - I,     (A, b)' = -grad R(A, b).

A certificate asserts that the flow from a stated start exists and has |(A(t), b(t)) - (A_i, b_i)| <= r_i at t = t_i, in
the Euclidean norm of all d^2 + 1 numbers. It may assert bounds of R at t_i, and of the distance from the zero of R with
the same |A|_F^2 - b^2 and sign of b; and a bound of the distance, at all times between t_(i-1) and t_i, from what moves
evenly from one stated point to the next.

Proof: a Taylor method that proves its own error (mathematics/validated_flow.py,
docs/claims/training/flow-trajectory.md). And,
independent of it and exact but for one root, that the stated points may be on the flow at all, which conserves
|A|_F^2 - b^2:

    | |A_i|_F^2 - b_i^2 - (|A(0)|_F^2 - b(0)^2) | <= 2 r_i |(A_i, b_i)| + r_i^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Shared
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure, around, inflated
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.mathematics.flow_tubes import Straying
from certattn.kernel.theorems.training.mathematics.regression import Parameters, balls_around, bayes_point, flat
from certattn.kernel.theorems.training.mathematics.regression_flow import RegressionFlow, invariant_reach
from certattn.kernel.theorems.training.mathematics.validated_flow import MOST_STEPS, Step, Stop, Vector, integrate
from certattn.kernel.theorems.training.regression_task import COVARIANCE, PARAMETERS, START, read_covariance, read_parameters

GIVEN = Record(COVARIANCE, START)

TIME = Field("time", Rational(above=0), "a time t of the flow")
RADIUS = Field("radius", Rational(minimum=0), "Euclidean distance of (A(t), b(t)) from the stated A and b, at most")
LOWER = Field("lower", Rational(), "lower bound")
UPPER = Field("upper", Rational(), "upper bound")
RISK = Field("risk", Record(LOWER, UPPER), "bounds of R at the time", required=False)
BAYES = Field(
    "bayes",
    Rational(minimum=0),
    "distance from the zero of R with the same |A|_F^2 - b^2 and sign of b, at most",
    required=False,
)
TUBE = Field(
    "tube",
    Rational(minimum=0),
    "distance from the straight line between the point before (the start) and this one, at most, at all times between",
    required=False,
)
POINT = Record(TIME, *PARAMETERS.fields.values(), RADIUS, RISK, BAYES, TUBE)
POINTS = Field("points", Listing(POINT), "where the flow is at some times, each after the one before")
ASSERTS = Record(POINTS)

LEAST_ORDER, MOST_ORDER = 8, 100
ORDER = Field("order", Count(LEAST_ORDER), f"order of the Taylor polynomials, at most {MOST_ORDER}", required=False)
WITNESS = Record(ORDER, BITS)

# A Taylor polynomial of an order of about a quarter of the precision costs least.
_BITS_PER_ORDER = 4
_LEAST_ORDER = 12


# -- what is stated


@dataclass(frozen=True)
class StatedPoint:
    """What is said of one time, and of the time since the point before."""

    time: fmpq
    parameters: Parameters
    radius: fmpq
    risk: tuple[fmpq, fmpq] | None
    bayes: fmpq | None
    tube: fmpq | None


@dataclass(frozen=True)
class StatedFlow:
    """What is given and asserted, `asserts` None as long as it is a draft; `order` where the witness states one."""

    given: Values
    asserts: Values | None
    covariance: ExactMatrix
    start: Parameters
    points: list[StatedPoint]
    order: int | None


def read(certificate: Certificate) -> StatedFlow:
    """Every dimension checked. Raises MalformedError."""
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    draft = read_draft(certificate)
    for values in asserts[POINTS]:
        if BAYES in values and is_at_rest(draft.covariance, draft.start):
            expected = "a start that moves: where b = 0 and tr(A'Sigma^2) = 0 the flow rests, and b has no sign"
            raise values.node(BAYES).malformed(expected, describe(values[BAYES]))
    points = _read_points(asserts[POINTS], draft.covariance.rows)
    return replace(draft, asserts=asserts, points=points, order=_read_order(certificate))


def read_draft(certificate: Certificate) -> StatedFlow:
    """Of the section `given` alone, as yet without points. Raises MalformedError."""
    given = GIVEN.read(certificate.given, certificate.reading)
    covariance = read_covariance(given[COVARIANCE])
    return StatedFlow(given, None, covariance, read_parameters(given[START], covariance.rows), [], None)


def is_at_rest(covariance: ExactMatrix, start: Parameters) -> bool:
    """Whether b is 0 for ever: b = 0, and b' = tr(A'Sigma^2) = 0."""
    return bool(start.b == 0 and start.A.inner(covariance @ covariance) == 0)


def _read_points(stated: list[Values], dimension: int) -> list[StatedPoint]:
    points: list[StatedPoint] = []
    for values in stated:
        if points and values[TIME] <= points[-1].time:
            expected = f"a time after that of the point before, {describe(points[-1].time)}"
            raise values.node(TIME).malformed(expected, describe(values[TIME]))
        risk, at = values.get(RISK), read_parameters(values, dimension)
        bounds = (risk[LOWER], risk[UPPER]) if risk is not None else None
        points.append(StatedPoint(values[TIME], at, values[RADIUS], bounds, values.get(BAYES), values.get(TUBE)))
    return points


def _read_order(certificate: Certificate) -> int | None:
    if certificate.witness is None:
        return None
    witness = WITNESS.read(certificate.witness, certificate.reading)
    order = witness.get(ORDER)
    if order is not None and order > MOST_ORDER:
        raise witness.node(ORDER).malformed(f"an order of at most {MOST_ORDER}", str(order))
    return order


# -- what proves it


def obligations(stated: StatedFlow) -> Iterator[Obligation]:
    flow = Shared(lambda: EnclosedFlow(stated))
    for index, point in enumerate(stated.points):
        yield from _of_point(index, point, stated, flow)


def _of_point(index: int, point: StatedPoint, stated: StatedFlow, flow: Shared[EnclosedFlow]) -> Iterator[Obligation]:
    place, at = f"points[{index}]", point.parameters
    # The invariant of the start may be met within the radius: it changes by at most 2 |(A, b)| r + r^2.
    change = abs(at.invariant() - stated.start.invariant())
    reach = partial(_reach, at, point.radius)
    yield Obligation(f"{place}.invariant", change, "<=", reach)
    yield Obligation(f"{place}.distance", lambda: flow().distance(index), "<=", point.radius)
    if point.risk is not None:
        lower, upper = point.risk
        yield Obligation(f"{place}.risk.lower", lambda: flow().risk(index), ">=", lower)
        yield Obligation(f"{place}.risk.upper", lambda: flow().risk(index), "<=", upper)
    if point.bayes is not None:
        yield Obligation(f"{place}.bayes", lambda: flow().from_bayes(index), "<=", point.bayes)
    if point.tube is not None:
        yield Obligation(f"{place}.tube", lambda: flow().straying(index), "<=", point.tube)


def _reach(at: Parameters, radius: fmpq) -> arb:
    return invariant_reach(arb(at.inner(at)).sqrt(), arb(radius))


def taylor_order(stated: StatedFlow, bits: int) -> int:
    """What the witness states, or else what costs least at the precision."""
    return stated.order or min(max(bits // _BITS_PER_ORDER, _LEAST_ORDER), MOST_ORDER)


class EnclosedFlow:
    """The flow at the working precision, and what it says of the points, by their index."""

    def __init__(self, stated: StatedFlow) -> None:
        self._stated = stated
        self._flow = RegressionFlow(stated.covariance)
        self._strayings = {
            index: self._straying(index) for index, point in enumerate(stated.points) if point.tube is not None
        }
        start = around(_vector(stated.start))
        times = [point.time for point in stated.points]
        self._trajectory = integrate(self._flow, start, times, taylor_order(stated, ctx.prec), watch=self._watch)

    def _straying(self, index: int) -> Straying:
        """From the line to a stated point from the one before."""
        points = self._stated.points
        point = points[index]
        first = points[index - 1].time if index > 0 else fmpq(0)
        before = points[index - 1].parameters if index > 0 else self._stated.start
        slope = (point.parameters - before).scaled(1 / (point.time - first))
        # The finer the precision, the shorter the pieces: a tube that holds is proved in the end.
        return Straying(first, point.time, _vector(before), _vector(slope), pieces=ctx.prec)

    def _watch(self, step: Step) -> None:
        for straying in self._strayings.values():
            straying.meet(step)

    def _at(self, index: int) -> Enclosure:
        """Where the flow is at the time of a point; anywhere where it is not enclosed."""
        time, trajectory = self._stated.points[index].time, self._trajectory
        if time in trajectory.found:
            return trajectory.found[time]
        # Enclosures that are narrow still: more precision would only add more steps.
        if trajectory.stop is Stop.STEPS and (trajectory.end.error < arb(2) ** -(ctx.prec // 2)) is True:
            raise NoBound(f"it takes more than {MOST_STEPS} steps")
        size = self._stated.covariance.rows
        return Enclosure([arb.nan()] * (size * size + 1), arb.pos_inf())

    def distance(self, index: int) -> arb:
        """From what is stated."""
        return _distance(self._at(index), _vector(self._stated.points[index].parameters))

    def risk(self, index: int) -> arb:
        return self._flow.risk(self._at(index))

    def from_bayes(self, index: int) -> arb:
        """The distance from the Bayes point; not finite where the sign of b is not known."""
        found, stated = self._at(index), self._stated
        b = found.box[-1]
        positive = (b > 0) is True
        if not positive and (b < 0) is not True:
            return arb.nan()
        return _distance(found, flat(bayes_point(stated.covariance, stated.start.invariant(), positive)))

    def straying(self, index: int) -> arb:
        """The largest distance from the line that ends at a point."""
        self._at(index)
        return self._strayings[index].largest


def _vector(parameters: Parameters) -> Vector:
    return flat(balls_around(parameters))


def _distance(found: Enclosure, point: Vector) -> arb:
    """From a point, for everything enclosed."""
    gap = l2_norm([x - y for x, y in zip(found.centre, point, strict=True)])
    return inflated(gap, found.error).nonnegative_part()


THEOREM = Theorem(
    name="flow-trajectory",
    title="where the gradient flow of training in context is",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
