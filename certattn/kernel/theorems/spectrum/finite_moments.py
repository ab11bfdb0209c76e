"""Claim `finite-moments`: expected moments of the matrix of exponential scores at finite size, beside their limits.

T is d x d with entries (exp(beta S_ij - beta^2 |x_i|^2 / (2p)) - 1) / sqrt(d), S_ij = x_i.k_j / sqrt(p), queries x_i
and keys k_j independent N(0, I_p), p = lambda d; m_2k(T) = tr((TT')^k) / d, and m_2k is its limit as d grows. Of
k <= 4 a certificate asserts

    moments       E m_2k(T) is finite and between two numbers
    ratios        the same of E m_2k(T) / m_2k
    entry_parts   the same of d^(1-k) E t^2k / m_2k, t = sqrt(d) T_ij, which is a lower bound of the ratio
    variance      the same of Var m_2(T)
    infinite      E m_2k(T) = infinity, which is so exactly where p <= 2k (2k - 1) beta^2
    smallest      |E m_2k(T) / m_2k - 1| <= within at d, and at no size from `from` to d - 1
    thresholds    beta is below or above sqrt(log(d) / (2k))

`mathematics.finite_moments` has the formulas, its page the proofs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from flint import arb, fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, above, at_most, below
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Record
from certattn.kernel.given.ranges import Range, range_names, range_obligations
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.theorems.spectrum.finite_moment_assertions import (
    ABOVE,
    ASSERTS,
    ENTRY_PARTS,
    GIVEN,
    MOMENTS,
    RATIOS,
    Problem,
    Smallest,
    latex_of,
    read_problem,
)
from certattn.kernel.theorems.spectrum.mathematics.finite_moments import ScoreMatrix, limit_moment, moment_condition
from certattn.kernel.theorems.spectrum.score_matrix_inputs import LAMBDA, read_score_matrix

_FOURTH = 4
_SENTENCES = {
    MOMENTS.name: "E m_{}(T)",
    RATIOS.name: "E m_{0}(T) / m_{0}",
    ENTRY_PARTS.name: "d^(1-k) E t^{0} / m_{0}",
}


class FiniteMoments(Claim[Problem]):
    name = "finite-moments"
    title = "expected moments of the matrix of exponential scores at finite size, beside those of its limit"
    arithmetic = ARB
    given = GIVEN
    asserts = ASSERTS
    witness = Record()

    def read(self, certificate: Certificate) -> Problem:
        scores, _ = self.read_given(certificate)
        if certificate.witness is not None:
            self.witness.read(certificate.witness, certificate.reading)
        given = GIVEN.read(certificate.given, certificate.reading)
        return read_problem(given, ASSERTS.read(certificate.asserts, certificate.reading), scores)

    def read_given(self, certificate: Certificate) -> tuple[ScoreMatrix, fmpq]:
        """The section `given` alone: the matrix T, and lambda. Raises MalformedError."""
        given = GIVEN.read(certificate.given, certificate.reading)
        return read_score_matrix(given), given[LAMBDA]

    def statement(self, problem: Problem) -> Statement:
        head, *rest = problem.words
        return Statement(f"{head} {'; '.join(rest)}.", r",\qquad ".join(latex_of(problem)))

    def names(self, problem: Problem) -> list[str]:
        names = []
        for field, stated in problem.bounded.items():
            for index, item in enumerate(stated):
                names += _bounded_names(f"{field}[{index}]", item.stated)
        if problem.variance is not None:
            names += _bounded_names("variance", problem.variance)
        names += [f"infinite[{index}]" for index in range(len(problem.infinite))]
        for index in range(len(problem.smallest)):
            names += [f"smallest[{index}].{part}" for part in ("finite", "at", "before")]
        return names + [f"thresholds[{index}]" for index in range(len(problem.thresholds))]

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        found = [*_bounded(problem, names, bits), *_infinite(problem)]
        for index, item in enumerate(problem.smallest):
            place = f"smallest[{index}]"
            if any(f"{place}.{part}" in names for part in ("finite", "at", "before")):
                found += _smallest(problem, item, place, names, bits)
        found += _thresholds(problem, bits)
        return [obligation for obligation in found if obligation.name in names]


def _bounded_names(place: str, stated: Range) -> list[str]:
    return [f"{place}.finite", *range_names(place, stated)]


def _bounded(problem: Problem, names: Collection[str], bits: int) -> Iterator[Obligation]:
    """Finite, and within the bounds, for every number that is bounded."""
    scores, beta2, lambda_ = problem.scores, problem.scores.beta2, problem.lambda_
    for field, stated in problem.bounded.items():
        for index, item in enumerate(stated):
            place = f"{field}[{index}]"
            if not any(name in names for name in _bounded_names(place, item.stated)):
                continue
            yield _finite(f"{place}.finite", scores, item.order)
            if scores.has_moment(item.order):
                value = scores.entry_part(item.order) if field == ENTRY_PARTS.name else scores.moment(item.order)
                if field != MOMENTS.name:
                    value = value / limit_moment(item.order, beta2, lambda_)
                yield from range_obligations(place, _SENTENCES[field].format(item.order), value, item.stated, bits)
    if problem.variance is not None:
        yield _finite("variance.finite", scores, _FOURTH)
        if scores.has_moment(_FOURTH):
            variance = scores.second_moment_variance()
            yield from range_obligations("variance", "Var m_2(T)", variance, problem.variance, bits)


def _finite(name: str, scores: ScoreMatrix, order: int) -> Obligation:
    sentence = f"p > {order} * {order - 1} beta^2, so E m_{order}(T) is finite"
    return above(name, sentence, fmpq(scores.p), moment_condition(order, scores.beta2))


def _infinite(problem: Problem) -> Iterator[Obligation]:
    for index, order in enumerate(problem.infinite):
        sentence = f"p <= {order} * {order - 1} beta^2, so E m_{order}(T) is infinite"
        bound = moment_condition(order, problem.scores.beta2)
        yield at_most(f"infinite[{index}]", sentence, fmpq(problem.scores.p), bound)


def _smallest(problem: Problem, item: Smallest, place: str, names: Collection[str], bits: int) -> Iterator[Obligation]:
    """Within the distance at d; and further away, or infinite, at every size before."""
    scores, limit = problem.scores, limit_moment(item.order, problem.scores.beta2, problem.lambda_)
    what = f"|E m_{item.order}(T) / m_{item.order} - 1|"
    yield _finite(f"{place}.finite", scores, item.order)
    if not scores.has_moment(item.order):
        return
    if f"{place}.at" in names:
        yield at_most(f"{place}.at", f"{what} <= within", abs(scores.moment(item.order) / limit - 1), item.within, bits)
    if f"{place}.before" not in names:
        return
    smaller = [ScoreMatrix(d, int((problem.lambda_ * d).p), scores.beta2) for d in item.before]
    finite = [other for other in smaller if other.has_moment(item.order)]
    if not finite:
        # The moment grows infinite as d falls, so the largest of these sizes decides for all.
        width = fmpq(smaller[-1].p) if smaller else fmpq(0)
        sentence = (
            f"p <= {item.order} * {item.order - 1} beta^2 at every size before, so E m_{item.order}(T) is infinite"
        )
        yield at_most(f"{place}.before", sentence, width, moment_condition(item.order, scores.beta2))
        return
    nearest = abs(finite[0].moment(item.order) / limit - 1)
    for other in finite[1:]:
        nearest = nearest.min(abs(other.moment(item.order) / limit - 1))
    yield above(f"{place}.before", f"the smallest {what} of the sizes before > within", nearest, item.within, bits)


def _thresholds(problem: Problem, bits: int) -> Iterator[Obligation]:
    """2k beta^2 beside log d."""
    for index, (order, side) in enumerate(problem.thresholds):
        compared, relation = (above, ">") if side == ABOVE else (below, "<")
        left = order * problem.scores.beta2
        sentence = f"{order} beta^2 {relation} log(d), so beta {relation} sqrt(log(d)/{order})"
        yield compared(f"thresholds[{index}]", sentence, left, arb(problem.scores.d).log(), bits)


CLAIM = FiniteMoments()
