"""Theorem `equivalent-law`: the limit law of the singular values of softmax attention with random weights.

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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flint import acb, arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Shared, Side
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import EitherKey, Field, Listing, Rational, Record, Values, Variant, some_of
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.spectrum import limit_law
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw, beta_at_share, critical_beta, law_forms, read_law

LARGEST_ORDER = 100
OPEN, NONE = "open", "none"

GIVEN = EitherKey(law_forms())

VALUE = Field("value", Rational(), "the number")
RADIUS = Field("radius", Rational(minimum=0), "how far it may be from the true one")
ORDER, _even = limit_law.moment_orders(LARGEST_ORDER)
AT = Field("at", Rational(minimum=0), "the point x >= 0")
SHARE = Field("share", Rational(above=0), "alpha^2/(alpha^2 + beta^2), a number below 1")
RE = Field("re", Rational(), "the real part")
IM = Field("im", Rational(), "the imaginary part")
UPPER_IM = Field("im", Rational(above=0), "the imaginary part, positive")
Z = Field("z", Record(RE, UPPER_IM), "a point of the upper half plane")
G = Field("value", Record(RE, IM), "G(z)")
LOWER = Field("lower", Rational(), "where the gap begins")
UPPER = Field("upper", Rational(), "where it ends")
OUTER_MASS = Field("outer_mass", Rational(), "the mass of mu above the gap, which is lambda", required=False)


def _below_one(item: Values) -> None:
    if (item[SHARE] < 1) is not True:
        raise item.node(SHARE).malformed("a number between 0 and 1")


_NUMBER = Record(VALUE, RADIUS)
_AT_POINTS = Listing(Record(AT, VALUE, RADIUS))
_OF_ORDERS = Listing(Record(ORDER, VALUE, RADIUS, rules=[_even]))
_AT_SHARES = Listing(Record(SHARE, VALUE, RADIUS, rules=[_below_one]))
_KINDS = Variant("kind", {OPEN: Record(LOWER, UPPER, RADIUS, OUTER_MASS), NONE: Record()})
MOMENTS = Field("moments", _OF_ORDERS, "moments of mu of even order", required=False)
RIGHT_EDGE = Field("right_edge", _NUMBER, "the largest point of the support", required=False)
GAP = Field("gap", _KINDS, "the gap of the support, or that there is none", required=False)
THRESHOLD = Field("threshold", _NUMBER, "beta_c(lambda), below which the support has a gap", required=False)
STIELTJES = Field("stieltjes", Listing(Record(Z, G, RADIUS)), "the Stieltjes transform at points", required=False)
DENSITY = Field("density", _AT_POINTS, "the density of mu at points", required=False)
CDF = Field("cdf", _AT_POINTS, "mu([0, x]) at points", required=False)
DENSITY_BOUND = Field("density_bound", _NUMBER, "the density at 0, its largest value", required=False)
NONLINEAR_SHARE = Field("nonlinear_share", _NUMBER, "alpha^2/(alpha^2 + beta^2)", required=False)
_REACHED = "the beta at which softmax has a stated share alpha^2/(alpha^2 + beta^2)"
SHARE_REACHED = Field("share_reached", _AT_SHARES, _REACHED, required=False)

_ASSERTED = (
    MOMENTS, RIGHT_EDGE, GAP, THRESHOLD, STIELTJES, DENSITY, CDF, DENSITY_BOUND, NONLINEAR_SHARE, SHARE_REACHED
)  # fmt: skip
ASSERTS = Record(*_ASSERTED, rules=[some_of(*_ASSERTED)])
WITNESS = Record()


@dataclass(frozen=True)
class StatedOfLaw:
    """A law, and what is asserted of it."""

    law: SpectralLaw
    asserts: Values


def read(certificate: Certificate) -> StatedOfLaw:
    """Everything stated. Raises MalformedError."""
    law = read_law(*GIVEN.read(certificate.given, certificate.reading))
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if certificate.witness is not None:
        WITNESS.read(certificate.witness, certificate.reading)
    return StatedOfLaw(law, asserts)


def obligations(stated: StatedOfLaw) -> Iterator[Obligation]:
    asserts, exact, law = stated.asserts, stated.law.exact, stated.law.enclosed
    highest = max((item[ORDER] // 2 for item in asserts.items(MOMENTS)), default=0)

    numbers = Shared(lambda: law().numbers if exact is None else exact)
    moments = Shared(lambda: numbers().moments(highest))
    yield from _each(asserts, MOMENTS, lambda item: moments()[item[ORDER] // 2 - 1])
    yield from _one(asserts, RIGHT_EDGE, lambda _: law().right_edge)
    if GAP in asserts:
        kind, gap = asserts[GAP]
        yield from _open_gap(stated.law, gap) if kind == OPEN else _no_gap(stated.law)
    if THRESHOLD in asserts:
        yield Obligation("threshold.lambda", stated.law.lambda_, "<", fmpq(1))
    yield from _one(asserts, THRESHOLD, lambda _: critical_beta(law().numbers.lambda_), ["threshold.lambda"])
    for index, item in enumerate(asserts.items(STIELTJES)):
        yield Obligation(f"stieltjes[{index}]", partial(_off_transform, stated.law, item), "<=", item[RADIUS])
    yield from _each(asserts, DENSITY, lambda item: law().density(arb(item[AT])))
    yield from _each(asserts, CDF, lambda item: 1 - law().tail(arb(item[AT])))
    yield from _one(asserts, DENSITY_BOUND, lambda _: law().density_bound)
    yield from _one(asserts, NONLINEAR_SHARE, lambda _: numbers().share)
    yield from _each(asserts, SHARE_REACHED, lambda item: beta_at_share(arb(item[SHARE])))


# A number of the law, exactly where it is a rational, by what else stands beside it.
Truth = Callable[[Values], Any]


def _each(asserts: Values, field: Field[list[Values]], truth: Truth) -> Iterator[Obligation]:
    for index, item in enumerate(asserts.items(field)):
        yield _near(f"{field.name}[{index}]", truth, item)


def _one(asserts: Values, field: Field[Values], truth: Truth, needs: Sequence[str] = ()) -> Iterator[Obligation]:
    if field in asserts:
        yield _near(field.name, truth, asserts[field], needs)


def _near(name: str, truth: Truth, stated: Values, needs: Sequence[str] = (), value: Field[fmpq] = VALUE) -> Obligation:
    """|truth - value| <= radius."""
    return Obligation(name, lambda: abs(truth(stated) - stated[value]), "<=", stated[RADIUS], needs=needs)


def _discriminant(stated: SpectralLaw) -> Side:
    """Exactly where alpha^2 is rational: the gap may just close."""
    return (lambda: stated.enclosed().numbers.discriminant()) if stated.exact is None else stated.exact.discriminant()


def _no_gap(stated: SpectralLaw) -> Iterator[Obligation]:
    if has_no_gap_by_lambda(stated):
        yield Obligation("gap.none", stated.lambda_, ">=", fmpq(1))
    else:
        yield Obligation("gap.none", _discriminant(stated), "<=", fmpq(0))


def has_no_gap_by_lambda(stated: SpectralLaw) -> bool:
    """Whether lambda is so large that no alpha^2 and beta^2 have a gap."""
    return (stated.lambda_ >= 1) is True


def _open_gap(stated: SpectralLaw, gap: Values) -> Iterator[Obligation]:
    def end(which: int, _: Values) -> arb:
        found = stated.enclosed().gap
        return arb.nan() if found is None else found[which]

    needs = ["gap.lambda", "gap.discriminant"]
    yield Obligation("gap.lambda", stated.lambda_, "<", fmpq(1))
    yield Obligation("gap.discriminant", _discriminant(stated), ">", fmpq(0))
    yield _near("gap.lower", partial(end, 0), gap, needs, LOWER)
    yield _near("gap.upper", partial(end, 1), gap, needs, UPPER)
    if OUTER_MASS in gap:
        mass, known = ExactMatrix.row_vector([gap[OUTER_MASS]]), ExactMatrix.row_vector([stated.lambda_])
        yield Obligation("gap.outer_mass", mass, "=", known, needs=needs)


def _off_transform(law: SpectralLaw, stated: Values) -> arb:
    """|G(z) - value|."""
    found = law.enclosed().stieltjes(acb(arb(stated[Z][RE]), arb(stated[Z][UPPER_IM])))
    return arb.nan() if found is None else abs(found - acb(arb(stated[G][RE]), arb(stated[G][IM])))


_TITLE = "the limit law of the singular values of softmax attention: moments, edges, gap, density, transform"
THEOREM = Theorem("equivalent-law", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
