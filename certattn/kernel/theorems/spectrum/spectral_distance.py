"""Theorem `spectral-distance`: how far the singular values of one matrix are from the equivalent law, and from others.

The n x n matrix M is given exactly, or is that of softmax attention over given queries and keys; F_n is the
distribution function of its singular values, mu the law of `equivalent-law` for stated numbers. With
K(F_n, F) = sup |F_n - F|, a certificate asserts bounds of one or more of

    law                    K(F_n, mu)
    quarter_circle         K(F_n, the quarter circle law of the same variance)
    scaled_law             inf over c > 0 of K(F_n, the law of c x for x of mu)
    scaled_quarter_circle  inf over c > 0 of K(F_n, the quarter circle law of variance c^2)
    separation             scaled_quarter_circle - law
    scaled_separation      scaled_quarter_circle - scaled_law

and of a law that is truncated at tau

    fixed_point            tau^2 = n m(tau) has a solution near tau, which is the largest one, or some one

m(t) is the variance of softmax weights that are cut off at t and scaled to the mean 1. Proved is a change of sign of
t^2 - n m(t) around tau, and where the solution is to be the largest, that t^2 - n m(t) grows from there on.

An infimum over all scales is between the smaller and the larger of the two one-sided distances at any one scale, which
the witness names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Choice, EitherKey, Field, Rational, Record, Values, some_of
from certattn.kernel.given.bounds import AT_LEAST, BOUNDS, NONNEGATIVE, SIGNED
from certattn.kernel.mathematics.reals import describe, square
from certattn.kernel.theorems.spectrum import law_distance, limit_law
from certattn.kernel.theorems.spectrum import stated_matrix as matrices
from certattn.kernel.theorems.spectrum.equivalent_formulas import LARGEST_BETA

T = TypeVar("T")

# -- the law and the matrix

WEIGHTS = "weights"
FROM = Field("from", Choice((WEIGHTS,)), "lambda = p/d, beta^2 = scale^2 p unit^4, of d queries and keys in p dims")
UNIT = Field("unit", Rational(above=0), "the standard deviation of their entries; 1 if left out", required=False)
TRUNCATED_AT = Field("truncated_at", Rational(above=0), "tau > 0: the weights of softmax are cut off there", False)
LAW_FORMS = EitherKey({FROM.name: Record(FROM, UNIT, TRUNCATED_AT), **limit_law.law_forms([TRUNCATED_AT])})
OF_LAW = Field("law", LAW_FORMS, "mu: by beta and lambda or from: weights, truncated or not; or by alpha2 too")
GIVEN = matrices.matrix_forms(OF_LAW)


def read_given(certificate: Certificate) -> tuple[matrices.StatedMatrix, limit_law.SpectralLaw]:
    """The section `given` alone. Raises MalformedError."""
    form, values = GIVEN.read(certificate.given, certificate.reading)
    matrix = require_square(matrices.read_matrix(form, values))
    return matrix, read_spectral_law(*values[OF_LAW], matrix)


def require_square(matrix: matrices.GivenMatrix | matrices.SoftmaxMatrix) -> matrices.StatedMatrix:
    """The laws are those of square matrices. Raises MalformedError."""
    if isinstance(matrix, matrices.GivenMatrix):
        size = matrix.shape[0]
        matrix.matrix.require_shape(size, size, "(square, as the matrices are whose limit law is compared)")
    return matrix


def read_spectral_law(form: str, values: Values, matrix: matrices.StatedMatrix) -> limit_law.SpectralLaw:
    """One form of LAW_FORMS; the matrix is for the form that takes its size. Raises MalformedError."""
    tau = values.get(TRUNCATED_AT)
    if form != FROM.name:
        return limit_law.read_law(form, values, tau)
    if not isinstance(matrix, matrices.SoftmaxMatrix):
        raise values.node(FROM).malformed("beta and lambda, or alpha2, beta2 and lambda, beside a given matrix")
    law = law_of_weights(matrix, values[UNIT] if UNIT in values else fmpq(1), tau)
    if law.beta2 > LARGEST_BETA**2:
        expected = f"weights with beta^2 = scale^2 p unit^4 of at most {LARGEST_BETA**2}"
        raise values.at.malformed(expected, f"beta^2 = {describe(law.beta2)}")
    return law


def law_of_weights(matrix: matrices.SoftmaxMatrix, unit: fmpq, tau: fmpq | None = None) -> limit_law.SpectralLaw:
    """That of as many random queries and keys whose entries have this standard deviation, of any beta."""
    if matrix.causal:
        raise ValueError("no law is known under a mask")
    tokens, dimension = matrix.keys.shape
    beta2 = square(matrix.scale) * dimension * unit**4
    return limit_law.SpectralLaw(None, None, beta2, fmpq(dimension, tokens), unit, tau)


# -- what is asserted, and the scales that it takes

LAW, CIRCLE = "law", "quarter_circle"
SCALED_LAW, SCALED_CIRCLE = "scaled_law", "scaled_quarter_circle"
SEPARATION, SCALED_SEPARATION = "separation", "scaled_separation"
SEPARATION_FIELDS = (
    Field(SEPARATION, SIGNED, "bounds of the last less the first", required=False),
    Field(SCALED_SEPARATION, SIGNED, "bounds of the last less the one before", required=False),
)
BOUNDED = (
    Field(LAW, NONNEGATIVE, "bounds of the distance to mu", required=False),
    Field(CIRCLE, NONNEGATIVE, "bounds of that to the quarter circle of the variance alpha^2 + beta^2", required=False),
    Field(SCALED_LAW, NONNEGATIVE, "bounds of the smallest distance to mu at any scale", required=False),
    Field(SCALED_CIRCLE, NONNEGATIVE, "bounds of the smallest distance to any quarter circle", required=False),
    *SEPARATION_FIELDS,
)
SOME, LARGEST = "some", "largest"
RADIUS = Field("radius", Rational(above=0), "r: a solution lies between tau - r and tau + r")
WHICH = Field("which", Choice((SOME, LARGEST)), "whether that solution is the largest one")
FIXED_POINT = Field("fixed_point", Record(RADIUS, WHICH), "tau^2 = d m(tau) has a solution near truncated_at", False)
ASSERTS = Record(FIXED_POINT, *BOUNDED, rules=[some_of(FIXED_POINT, *BOUNDED)])

_POSITIVE = Rational(above=0)
LAW_SCALE = Field("law_scale", _POSITIVE, "c > 0: the law of c x, x of mu, is about the nearest", required=False)
CIRCLE_SCALE = Field("quarter_circle_scale", _POSITIVE, "c > 0: that of variance c^2 is about the nearest", False)
SCALES = (LAW_SCALE, CIRCLE_SCALE)
WITNESS = Record(*SCALES)
# The scales of the witness that bounds of a quantity take; others are enclosed and take none.
TAKES: Mapping[str, tuple[Field[fmpq], ...]] = {
    SCALED_LAW: (LAW_SCALE,),
    SCALED_CIRCLE: (CIRCLE_SCALE,),
    SEPARATION: (CIRCLE_SCALE,),
    SCALED_SEPARATION: (CIRCLE_SCALE, LAW_SCALE),
}


def wanted_scales(quantities: Collection[str]) -> list[Field[fmpq]]:
    """The scales that the bounds of some quantities take."""
    return [field for field in SCALES if any(field in TAKES.get(name, ()) for name in quantities)]


def read_scales(
    witness: Values | None, wanted: Collection[Field[fmpq]], at: Values, possible: Sequence[Field[fmpq]] = SCALES
) -> dict[str, fmpq]:
    """The scales that are needed, and no other, by name. Raises MalformedError."""
    found: dict[str, fmpq] = {}
    for field in possible:
        there = witness is not None and field in witness
        if field in wanted and not there:
            where, there_is = (at.at, "no witness") if witness is None else (witness.at, "")
            expected = f"{field.name} in the witness, a scale c > 0, as bounds over all scales are stated"
            raise where.malformed(expected, there_is, "certattn generate finds one")
        if there and witness is not None:
            if field not in wanted:
                raise witness.node(field).malformed("no such scale, as no bound over these scales is stated")
            found[field.name] = witness[field]
    return found


@dataclass(frozen=True)
class Solution:
    """A solution of t^2 = d m(t) between tau - radius > 0 and tau + radius; the largest one, or some."""

    beta2: fmpq
    tau: fmpq
    tokens: int
    radius: fmpq
    largest: bool


@dataclass(frozen=True)
class StatedDistances:
    """A law, a matrix that may be there, what is asserted of them, and scales by the names of their fields."""

    law: limit_law.SpectralLaw
    matrix: matrices.StatedMatrix | None
    asserts: Values
    scales: Mapping[str, fmpq]
    fixed_point: Solution | None = None


def read(certificate: Certificate) -> StatedDistances:
    """Everything stated. Raises MalformedError."""
    matrix, law = read_given(certificate)
    asserts, hint = ASSERTS.read(certificate.asserts, certificate.reading), certificate.witness
    point = read_fixed_point(asserts, law, matrix.count)
    witness = None if hint is None else WITNESS.read(hint, certificate.reading)
    wanted = wanted_scales([field.name for field in BOUNDED if field in asserts])
    return StatedDistances(law, matrix, asserts, read_scales(witness, wanted, asserts), point)


def read_fixed_point(asserts: Values, law: limit_law.SpectralLaw, tokens: int) -> Solution | None:
    """None where none is stated. Raises MalformedError."""
    stated = asserts.get(FIXED_POINT)
    if stated is None:
        return None
    if law.tau is None:
        expected = f"{TRUNCATED_AT.name} in given.law, which this is about"
        raise asserts.node(FIXED_POINT).malformed(expected, f"fixed_point and no given.law.{TRUNCATED_AT.name}")
    if stated[RADIUS] >= law.tau:
        raise stated.node(RADIUS).malformed(f"a radius below {TRUNCATED_AT.name} = {describe(law.tau)}")
    return Solution(law.beta2, law.tau, tokens, stated[RADIUS], stated[WHICH] == LARGEST)


# -- distances


@dataclass(frozen=True)
class Between:
    """A number that is at least `low` and at most `high`; where they are one enclosure it is in that."""

    low: arb | fmpq
    high: arb | fmpq

    @classmethod
    def at_best_scale(cls, found: law_distance.OneSided) -> Between:
        """The smallest distance over all scales, from the differences at one of them."""
        return cls(found.least, found.distance)

    def __sub__(self, other: Between) -> Between:
        return Between(self.low - other.high, self.high - other.low)


class Distances:
    """The quantities for singular values sigma_1 >= sigma_2 >= ..., at the working precision.

    scales: c by the name of its field.
    """

    def __init__(self, values: Sequence[arb], law: limit_law.EquivalentLaw, scales: Mapping[str, fmpq]) -> None:
        self.values, self._law, self._scales = values, law, scales

    def between(self, name: str) -> Between:
        """One of the quantities that may be bounded, by the name of its field."""
        if name == SEPARATION:
            return self._scaled_circle - self._to_law
        if name == SCALED_SEPARATION:
            return self._scaled_circle - self._scaled_law
        if name == LAW:
            return self._to_law
        if name == CIRCLE:
            variance = self._law.numbers.variance
            return self._to(lambda x: law_distance.quarter_circle_tail(x, variance))
        return self._scaled_law if name == SCALED_LAW else self._scaled_circle

    @cached_property
    def _to_law(self) -> Between:
        return self._to(self._law.tail)

    def _to(self, tail: law_distance.Tail) -> Between:
        found = law_distance.kolmogorov_distance(self.values, tail)
        return Between(found, found)

    @cached_property
    def _scaled_law(self) -> Between:
        tail = law_distance.scaled(self._law.tail, self._scales[LAW_SCALE.name])
        return Between.at_best_scale(law_distance.one_sided_distances(self.values, tail))

    @cached_property
    def _scaled_circle(self) -> Between:
        tail = circle_tail(self._scales[CIRCLE_SCALE.name])
        return Between.at_best_scale(law_distance.one_sided_distances(self.values, tail))


def circle_tail(scale: fmpq) -> Callable[[arb], arb]:
    """The tail of the quarter circle of variance scale^2."""
    return law_distance.scaled(lambda x: law_distance.quarter_circle_tail(x, arb(1)), scale)


# -- obligations


def obligations(stated: StatedDistances) -> Iterator[Obligation]:
    if stated.fixed_point is not None:
        yield from change_of_sign(stated.fixed_point)
    yield from of_matrix(stated, BOUNDED)


def change_of_sign(point: Solution) -> Iterator[Obligation]:
    """Of t^2 - d m(t) between tau - r and tau + r; from tau - r on it grows where the solution is the largest."""
    first, last = point.tau - point.radius, point.tau + point.radius
    before = Shared(lambda: limit_law.TruncatedWeights(point.beta2, first))
    growth = Shared(lambda: before().growth(point.tokens))
    yield Obligation("fixed_point.below", first * first, "<=", lambda: point.tokens * before().variance)
    after = lambda: point.tokens * limit_law.TruncatedWeights(point.beta2, last).variance  # noqa: E731
    yield Obligation("fixed_point.above", last * last, ">=", after)
    if point.largest:
        yield Obligation("fixed_point.growth", lambda: growth()[0], "<=", lambda: growth()[1], Part.WITNESS)


def of_matrix(stated: StatedDistances, fields: Sequence[Field[Values]]) -> Iterator[Obligation]:
    """The obligations of bounds of these quantities of the matrix."""
    matrix, law = stated.matrix, stated.law.enclosed
    if matrix is None:
        return

    def beside_law(spectrum: matrices.Spectrum) -> Distances:
        return Distances(spectrum.singular.values(), law(), stated.scales)

    in_doubles = (lambda: beside_law(matrix.spectrum_in_doubles(None))) if matrix.stands_in_doubles else None
    distances = matrices.InTiers[Distances](lambda: beside_law(matrix.spectrum(ctx.prec)), in_doubles)
    for field in fields:
        if field in stated.asserts:
            between, exact = partial(Distances.between, name=field.name), field.name not in TAKES
            yield from between_bounds(field.name, distances, between, stated.asserts[field], exact=exact)


def between_bounds(
    name: str, known: matrices.InTiers[T], number: Callable[[T], Between], stated: Values, *, exact: bool
) -> Iterator[Obligation]:
    """That a number keeps its bounds: one obligation of each that is exactly known.

    Of others there are two, what shows the bound and what would refute it: the number lies on this side of `far`, and
    where that fails, the bound is false.
    """
    low, high = (lambda known: number(known).low), (lambda known: number(known).high)
    for field, relation in BOUNDS:
        if field in stated:
            near, far = (low, high) if field is AT_LEAST else (high, low)
            part, called = Part.STATEMENT if exact else Part.WITNESS, f"{name}.{field.name}"
            yield known.compared(called, near, relation, stated[field], part)
            if not exact:
                yield known.compared(f"{called}.at_the_scale", far, relation, stated[field])


_TITLE = "how far the singular values of one matrix are from the limit law of attention, and from quarter circles"
THEOREM = Theorem("spectral-distance", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
