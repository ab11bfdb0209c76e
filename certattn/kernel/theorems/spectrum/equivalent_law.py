"""Claim `equivalent-law`: the limit law of the singular values of softmax attention with random weights.

Gaussian equivalence (Hayase, Collins and Karakida, AISTATS 2026, arXiv 2510.06685): for d tokens, d_qk = lambda d and
queries and keys of independent N(0, 1) entries, the singular values of sqrt(d) (A - 11'/d) have as d grows the limit
law mu of those of alpha Z/sqrt(d) + beta Q K'/sqrt(d d_qk), alpha^2 = e^(beta^2) - 1 - beta^2. It is the law of |x| for
the symmetric law nu whose Stieltjes transform G(z) has the inverse function

    K(w) = 1/w + alpha^2 w + beta^2 w/(1 - beta^2 w^2/lambda).

Of mu, for stated (beta, lambda) or (alpha^2, beta^2, lambda), a certificate asserts

    moments          of even order; for rational alpha^2 and beta^2 as exact numbers
    right_edge       the largest point of the support
    gap              the ends of the gap of the support with the mass above it, or that there is none
    threshold        beta_c(lambda): for softmax there is a gap exactly for beta < beta_c
    stieltjes        G(z) at points of the upper half plane
    density, cdf     at points x >= 0
    density_bound    the largest density, that at 0
    nonlinear_share  alpha^2/(alpha^2 + beta^2)
    share_reached    the beta at which that is a stated number

each up to a radius, which may be 0 where the number is rational. That mu is the limit is the cited theorem; the numbers
of mu are proved here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial

from flint import acb, arb, fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Enclosure, Obligation, above, at_least, at_most, below, identical
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Record
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.spectrum.equivalent_assertions import (
    ASSERTS,
    CDF,
    DENSITY,
    DENSITY_BOUND,
    GAP,
    GIVEN,
    MOMENTS,
    NONLINEAR_SHARE,
    RIGHT_EDGE,
    SHARE_REACHED,
    STIELTJES,
    THRESHOLD,
    Problem,
    Stated,
    StatedAt,
    StatedGap,
    StatedTransform,
    nothing_asserted,
    read_gap,
    read_law,
    read_moments,
    read_points,
    read_shares,
    read_stated,
    read_transforms,
)
from certattn.kernel.theorems.spectrum.equivalent_words import latex_of, words_of
from certattn.kernel.theorems.spectrum.mathematics.energy_thresholds import beta_at_share, critical_beta
from certattn.kernel.theorems.spectrum.mathematics.equivalent_law import EquivalentLaw, GapState

# An obligation at the working precision, from its name and the law.
_Proof = Callable[[str, EquivalentLaw, int], Obligation]


class EquivalentLawClaim(Claim[Problem]):
    name = "equivalent-law"
    title = "the limit law of the singular values of softmax attention: moments, edges, gap, density, transform"
    arithmetic = ARB
    given = GIVEN
    asserts = ASSERTS
    witness = Record()

    def read(self, certificate: Certificate) -> Problem:
        beta, alpha2, beta2, lambda_ = read_law(self.given.read(certificate.given, certificate.reading))
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        if certificate.witness is not None:
            self.witness.read(certificate.witness, certificate.reading)
        if not any(field in asserts for field in self.asserts.fields.values()):
            raise nothing_asserted(asserts.at)
        return Problem(
            beta,
            alpha2,
            beta2,
            lambda_,
            read_moments(asserts.get(MOMENTS)),
            read_stated(asserts.get(RIGHT_EDGE)),
            read_gap(asserts.get(GAP)),
            read_stated(asserts.get(THRESHOLD)),
            read_transforms(asserts.get(STIELTJES)),
            read_points(asserts.get(DENSITY)),
            read_points(asserts.get(CDF)),
            read_stated(asserts.get(DENSITY_BOUND)),
            read_stated(asserts.get(NONLINEAR_SHARE)),
            read_shares(asserts.get(SHARE_REACHED)),
        )

    def statement(self, problem: Problem) -> Statement:
        head, *rest = words_of(problem)
        return Statement(f"{head} {'; '.join(rest)}.", r",\qquad ".join(latex_of(problem)))

    def names(self, problem: Problem) -> list[str]:
        return [name for name, _ in _proofs(problem)]

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        law = law_of(problem)
        return [proof(name, law, bits) for name, proof in _proofs(problem) if name in names]


def law_of(problem: Problem) -> EquivalentLaw:
    """The law at the working precision."""
    if problem.beta is not None:
        return EquivalentLaw.from_beta(problem.beta, problem.lambda_)
    assert problem.alpha2 is not None
    return EquivalentLaw(arb(problem.alpha2), arb(problem.beta2), arb(problem.lambda_))


def _proofs(problem: Problem) -> Iterator[tuple[str, _Proof]]:
    """Every obligation's name, and how it is enclosed."""
    for index, moment in enumerate(problem.moments):
        yield f"moments[{index}]", partial(_moment, problem, moment)
    if problem.right_edge is not None:
        yield "right_edge", partial(_right_edge, problem.right_edge)
    if isinstance(problem.gap, StatedGap):
        yield from _open_gap(problem, problem.gap)
    elif problem.gap is not None:
        yield "gap.none", partial(_no_gap, problem)
    if problem.threshold is not None:
        yield "threshold.lambda", partial(_below_one, problem.lambda_)
        yield "threshold", partial(_threshold, problem.threshold)
    for index, transform in enumerate(problem.stieltjes):
        yield f"stieltjes[{index}]", partial(_transform, transform)
    for index, point in enumerate(problem.density):
        yield f"density[{index}]", partial(_density, point)
    for index, point in enumerate(problem.cdf):
        yield f"cdf[{index}]", partial(_cdf, point)
    if problem.density_bound is not None:
        yield "density_bound", partial(_density_bound, problem.density_bound)
    if problem.nonlinear_share is not None:
        yield "nonlinear_share", partial(_share, problem, problem.nonlinear_share)
    for index, share in enumerate(problem.share_reached):
        yield f"share_reached[{index}]", partial(_share_reached, share)


def _open_gap(problem: Problem, gap: StatedGap) -> Iterator[tuple[str, _Proof]]:
    yield "gap.lambda", partial(_below_one, problem.lambda_)
    yield "gap.discriminant", partial(_discriminant, problem)
    yield "gap.lower", partial(_gap_end, 0, Stated(gap.lower, gap.radius))
    yield "gap.upper", partial(_gap_end, 1, Stated(gap.upper, gap.radius))
    if gap.outer_mass is not None:
        yield "gap.outer_mass", partial(_outer_mass, problem.lambda_, gap.outer_mass)


def _near(name: str, what: str, truth: Enclosure, stated: Stated | StatedAt, bits: int) -> Obligation:
    """|truth - value| <= radius, exactly where the truth is a rational."""
    off = abs(truth - stated.value) if isinstance(truth, fmpq) else abs(truth - arb(stated.value))
    return at_most(name, f"|{what} - value| <= radius", off, stated.radius, bits)


def _moment(problem: Problem, stated: StatedAt, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    order = int(stated.at.p)
    moments = problem.exact_moments or law.moments(problem.highest)
    return _near(name, f"m_{order}", moments[order // 2 - 1], stated, bits)


def _right_edge(stated: Stated, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    return _near(name, "right edge", law.right_edge(), stated, bits)


def _below_one(lambda_: fmpq, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    return below(name, "lambda < 1, or no beta has a gap", lambda_, fmpq(1), bits)


def _discriminant(problem: Problem, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    sentence = "the discriminant of h is positive, or there is no gap"
    return above(name, sentence, _discriminant_of(problem, law), fmpq(0), bits)


def _no_gap(problem: Problem, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    if problem.lambda_ >= 1:
        return at_least(name, "lambda >= 1, so that there is no gap", problem.lambda_, fmpq(1), bits)
    sentence = "the discriminant of h is not positive, or there is a gap"
    return at_most(name, sentence, _discriminant_of(problem, law), fmpq(0), bits)


def _discriminant_of(problem: Problem, law: EquivalentLaw) -> Enclosure:
    """Exactly where alpha^2 is rational: the gap may just close."""
    exact = problem.exact
    found: Enclosure = law.numbers.discriminant() if exact is None else exact.discriminant()
    return found


def _gap_end(end: int, stated: Stated, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    gap = law.gap()
    truth = arb.nan() if isinstance(gap, GapState) else gap[end]
    return _near(name, ("lower", "upper")[end] + " end of the gap", truth, stated, bits)


def _outer_mass(lambda_: fmpq, stated: fmpq, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    left, right = ExactMatrix.row_vector([stated]), ExactMatrix.row_vector([lambda_])
    return identical(name, "the mass above the gap is lambda", left, right)


def _threshold(stated: Stated, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    return _near(name, "beta_c", critical_beta(law.numbers.lambda_), stated, bits)


def _transform(stated: StatedTransform, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    found = law.stieltjes(acb(*(arb(part) for part in stated.z)))
    off = arb.nan() if found is None else abs(found - acb(*(arb(part) for part in stated.value)))
    return at_most(name, "|G(z) - value| <= radius", off, stated.radius, bits)


def _density(stated: StatedAt, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    return _near(name, "density", law.density(arb(stated.at)), stated, bits)


def _cdf(stated: StatedAt, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    return _near(name, "mu([0, x])", 1 - law.tail(arb(stated.at)), stated, bits)


def _density_bound(stated: Stated, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    return _near(name, "density at 0", law.density_bound(), stated, bits)


def _share(problem: Problem, stated: Stated, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    truth: Enclosure = law.numbers.share if problem.exact is None else problem.exact.share
    return _near(name, "alpha^2/(alpha^2 + beta^2)", truth, stated, bits)


def _share_reached(stated: StatedAt, name: str, law: EquivalentLaw, bits: int) -> Obligation:
    return _near(name, "beta", beta_at_share(arb(stated.at)), stated, bits)


CLAIM = EquivalentLawClaim()
