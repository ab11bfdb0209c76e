"""Claim `flow-trajectory`: where the gradient flow of training in context is, at stated times and between them.

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

from collections.abc import Collection, Sequence

from flint import arb, fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Outcome, at_least, at_most, unproved
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import ARB, l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure, around, inflated
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.flow_inputs import (
    ASSERTS,
    BITS,
    GIVEN,
    MOST_ORDER,
    WITNESS,
    Problem,
    StatedPoint,
    read_problem,
)
from certattn.kernel.theorems.training.mathematics.bayes_points import bayes_point
from certattn.kernel.theorems.training.mathematics.flow_tubes import Straying
from certattn.kernel.theorems.training.mathematics.regression import Parameters
from certattn.kernel.theorems.training.mathematics.regression_descent import flat
from certattn.kernel.theorems.training.mathematics.regression_flow import RegressionFlow, invariant_reach
from certattn.kernel.theorems.training.mathematics.validated_flow import MOST_STEPS, Step, Stop, Vector, integrate
from certattn.kernel.theorems.training.regression_inputs import balls_around

# A Taylor polynomial of an order of about a quarter of the precision costs least.
_BITS_PER_ORDER = 4
_LEAST_ORDER = 12


class FlowTrajectory(Claim[Problem]):
    name = "flow-trajectory"
    title = "where the gradient flow of training in context is"
    arithmetic = ARB
    given = GIVEN
    asserts = ASSERTS
    witness = WITNESS

    def read(self, certificate: Certificate) -> Problem:
        return read_problem(certificate)

    def first_bits(self, certificate: Certificate) -> int | None:
        witness = certificate.witness
        return WITNESS.read(witness, certificate.reading).get(BITS) if witness is not None else None

    def statement(self, problem: Problem) -> Statement:
        words = [
            f"For R(A, b) = 1/2 tr(E Sigma E'), E = b Sigma A - I, with Sigma = {problem.covariance_words}, the "
            f"gradient flow (A, b)' = -grad R(A, b) from {problem.start_words} at t = 0 exists up to "
            f"t = {describe(problem.points[-1].time)}"
        ]
        before, place = fmpq(0), "the start"
        for point in problem.points:
            words += _point_words(point, before, place)
            before, place = point.time, f"the point stated for t = {describe(point.time)}"
        latex = [r"\|(A(t_i), b(t_i)) - (A_i, b_i)\| \le r_i"]
        if any(point.risk is not None for point in problem.points):
            latex.append(r"R(A(t_i), b(t_i)) \in [l_i, u_i]")
        return Statement("; ".join(words) + ".", r",\qquad ".join(latex))

    def names(self, problem: Problem) -> list[str]:
        found = []
        for index, point in enumerate(problem.points):
            place = f"points[{index}]"
            found += [f"{place}.invariant", f"{place}.distance"]
            found += [f"{place}.risk.lower", f"{place}.risk.upper"] if point.risk is not None else []
            found += [f"{place}.bayes"] if point.bayes is not None else []
            found += [f"{place}.tube"] if point.tube is not None else []
        return found

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        found = [_invariant(index, point, problem, bits) for index, point in enumerate(problem.points)]
        if not {obligation.name for obligation in found}.issuperset(names):
            found += _Enclosed(problem, bits).obligations()
        order = {name: position for position, name in enumerate(self.names(problem))}
        return sorted((o for o in found if o.name in names), key=lambda o: order[o.name])

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        proved = {o.name for o in obligations if o.outcome is Outcome.PROVED}
        if not proved.issuperset(self.names(problem)):
            return []
        return [f"|A|_F^2 - b^2 = {describe(problem.start.invariant())} at all times, and R never increases"]


def taylor_order(problem: Problem, bits: int) -> int:
    """What the witness states, or else what costs least at the precision."""
    return problem.order or min(max(bits // _BITS_PER_ORDER, _LEAST_ORDER), MOST_ORDER)


def _point_words(point: StatedPoint, before: fmpq, place: str) -> list[str]:
    time = describe(point.time)
    words = [f"at t = {time}, (A, b) is within {describe(point.radius)} of {point.words} (Euclidean distance)"]
    if point.risk is not None:
        lower, upper = point.risk
        words[0] += f", and {describe(lower)} <= R <= {describe(upper)}"
    if point.bayes is not None:
        words[0] += (
            f", and within {describe(point.bayes)} of the A = Sigma^-1/b, b with the same |A|_F^2 - b^2 and sign of b"
        )
    if point.tube is not None:
        words.append(
            f"for all t from {describe(before)} to {time}, (A, b) is within {describe(point.tube)} of what moves "
            f"straight and evenly from {place} to the one stated for t = {time}"
        )
    return words


def _invariant(index: int, point: StatedPoint, problem: Problem, bits: int) -> Obligation:
    """Whether |A|_F^2 - b^2 of the start may be met within the radius: it changes by at most 2 |(A, b)| r + r^2."""
    stated = point.parameters
    difference = abs(stated.invariant() - problem.start.invariant())
    reach = invariant_reach(arb(stated.inner(stated)).sqrt(), arb(point.radius))
    sentence = f"the change of |A|_F^2 - b^2 from the start to the point stated for t = {describe(point.time)}"
    return at_most(f"points[{index}].invariant", sentence, difference, reach, bits)


class _Enclosed:
    """What rests on the enclosed flow, at the working precision."""

    def __init__(self, problem: Problem, bits: int) -> None:
        self._problem = problem
        self._bits = bits
        self._flow = RegressionFlow(problem.covariance)
        self._strayings = {
            index: self._straying(index) for index, point in enumerate(problem.points) if point.tube is not None
        }
        start = around(_vector(problem.start))
        times = [point.time for point in problem.points]
        self._trajectory = integrate(self._flow, start, times, taylor_order(problem, bits), watch=self._watch)

    def obligations(self) -> list[Obligation]:
        return [o for index, point in enumerate(self._problem.points) for o in self._of(index, point)]

    def _straying(self, index: int) -> Straying:
        """From the line to a stated point from the one before."""
        points = self._problem.points
        point = points[index]
        first = points[index - 1].time if index > 0 else fmpq(0)
        before = points[index - 1].parameters if index > 0 else self._problem.start
        slope = (point.parameters - before).scaled(1 / (point.time - first))
        # The finer the precision, the shorter the pieces: a tube that holds is proved in the end.
        return Straying(first, point.time, _vector(before), _vector(slope), pieces=self._bits)

    def _watch(self, step: Step) -> None:
        for straying in self._strayings.values():
            straying.meet(step)

    def _of(self, index: int, point: StatedPoint) -> list[Obligation]:
        compared = self._compared(index, point)
        if point.time not in self._trajectory.found and self._is_too_long():
            reason = f"it takes more than {MOST_STEPS} steps"
            return [unproved(name, sentence, reason) for name, sentence, *_ in compared]
        return [
            (at_most if relation == "<=" else at_least)(name, sentence, value, bound, self._bits)
            for name, sentence, value, relation, bound in compared
        ]

    def _compared(self, index: int, point: StatedPoint) -> list[tuple[str, str, arb, str, fmpq]]:
        """Names, sentences, and what is to be compared."""
        place, at = f"points[{index}]", f"at t = {describe(point.time)}"
        found = self._trajectory.found.get(point.time, self._nowhere)
        sentence = f"the distance of (A, b) {at} from what is stated"
        compared = [
            (f"{place}.distance", sentence, _distance(found, _vector(point.parameters)), "<=", point.radius),
        ]
        if point.risk is not None:
            risk = self._flow.risk(found)
            compared.append((f"{place}.risk.lower", f"R {at}", risk, ">=", point.risk[0]))
            compared.append((f"{place}.risk.upper", f"R {at}", risk, "<=", point.risk[1]))
        if point.bayes is not None:
            sentence = f"the distance of (A, b) {at} from the zero of R with the same |A|_F^2 - b^2 and sign of b"
            compared.append((f"{place}.bayes", sentence, self._from_bayes(found), "<=", point.bayes))
        if point.tube is not None:
            sentence = f"the largest distance of (A, b) from the line that ends {at}"
            compared.append((f"{place}.tube", sentence, self._strayings[index].largest, "<=", point.tube))
        return compared

    @property
    def _nowhere(self) -> Enclosure:
        """Where the flow is not enclosed."""
        size = self._problem.covariance.rows
        return Enclosure([arb.nan()] * (size * size + 1), arb.pos_inf())

    def _from_bayes(self, found: Enclosure) -> arb:
        """The distance from the Bayes point; not finite where the sign of b is not known."""
        b = found.box[-1]
        positive = (b > 0) is True
        if not positive and (b < 0) is not True:
            return arb.nan()
        return _distance(found, flat(bayes_point(self._problem.covariance, self._problem.start.invariant(), positive)))

    def _is_too_long(self) -> bool:
        """Whether there are too many steps although their enclosures are narrow: more precision would only add more."""
        narrow = arb(2) ** -(self._bits // 2)
        return self._trajectory.stop is Stop.STEPS and (self._trajectory.end.error < narrow) is True


def _vector(parameters: Parameters) -> Vector:
    return flat(balls_around(parameters))


def _distance(found: Enclosure, point: Vector) -> arb:
    """From a point, for everything enclosed."""
    gap = l2_norm([x - y for x, y in zip(found.centre, point, strict=True)])
    return inflated(gap, found.error).nonnegative_part()


CLAIM = FlowTrajectory()
