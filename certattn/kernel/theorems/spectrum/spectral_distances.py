"""Distances of singular values to the equivalent law and to quarter circles: fields, enclosures, obligations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared, Side, Tier
from certattn.kernel.decide.verdict import Enclosure
from certattn.kernel.document.schema import Field, Rational, Values
from certattn.kernel.given.bounds import AT_LEAST, BOUNDS, NONNEGATIVE, SIGNED
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.kernel.theorems.spectrum.mathematics.equivalent_law import EquivalentLaw
from certattn.kernel.theorems.spectrum.mathematics.kolmogorov import (
    OneSided,
    kolmogorov_distance,
    one_sided_distances,
    scaled,
)
from certattn.kernel.theorems.spectrum.mathematics.quarter_circle import quarter_circle_tail
from certattn.kernel.theorems.spectrum.matrix_inputs import IN_DOUBLES, GivenMatrix, StatedMatrix

LAW_SCALE = Field(
    "law_scale", Rational(above=0), "c > 0: the law of c x, x of mu, is about the nearest", required=False
)
CIRCLE_SCALE = Field(
    "quarter_circle_scale",
    Rational(above=0),
    "c > 0: the quarter circle of variance c^2 is about the nearest",
    required=False,
)
LAW, CIRCLE = "law", "quarter_circle"
SCALED_LAW, SCALED_CIRCLE = "scaled_law", "scaled_quarter_circle"
SEPARATION, SCALED_SEPARATION = "separation", "scaled_separation"


# The scales of the witness that bounds of a quantity take; others are enclosed and take none.
TAKES: Mapping[str, tuple[Field[fmpq], ...]] = {
    SCALED_LAW: (LAW_SCALE,),
    SCALED_CIRCLE: (CIRCLE_SCALE,),
    SEPARATION: (CIRCLE_SCALE,),
    SCALED_SEPARATION: (CIRCLE_SCALE, LAW_SCALE),
}
# What is bounded of distances, and of differences of distances.
DISTANCE_FIELDS = (
    Field(LAW, NONNEGATIVE, "bounds of the distance to mu", required=False),
    Field(CIRCLE, NONNEGATIVE, "bounds of that to the quarter circle of the variance alpha^2 + beta^2", required=False),
    Field(SCALED_LAW, NONNEGATIVE, "bounds of the smallest distance to mu at any scale", required=False),
    Field(SCALED_CIRCLE, NONNEGATIVE, "bounds of the smallest distance to any quarter circle", required=False),
)
SEPARATION_FIELDS = (
    Field(SEPARATION, SIGNED, "bounds of the last less the first", required=False),
    Field(SCALED_SEPARATION, SIGNED, "bounds of the last less the one before", required=False),
)
SCALES = (LAW_SCALE, CIRCLE_SCALE)


@dataclass(frozen=True)
class Between:
    """A number that is at least `low` and at most `high`; where they are one enclosure it is in that."""

    low: Enclosure
    high: Enclosure

    @classmethod
    def at_best_scale(cls, found: OneSided) -> Between:
        """The smallest distance over all scales, from the differences at one of them."""
        return cls(found.least, found.distance)

    def __sub__(self, other: Between) -> Between:
        return Between(self.low - other.high, self.high - other.low)


class Distances:
    """The quantities for singular values sigma_1 >= sigma_2 >= ..., at the working precision.

    scales: c by the name of its field.
    """

    def __init__(self, values: Sequence[arb], law: EquivalentLaw, scales: Mapping[str, fmpq]) -> None:
        self.values, self._law, self._scales = values, law, scales

    def between(self, name: str) -> Between:
        """One of the quantities that may be bounded, by the name of its field."""
        if name == SEPARATION:
            return self._scaled_circle - self._to_law
        if name == SCALED_SEPARATION:
            return self._scaled_circle - self._scaled_law
        of = {
            LAW: lambda: self._to_law,
            CIRCLE: lambda: self._to_circle,
            SCALED_LAW: lambda: self._scaled_law,
            SCALED_CIRCLE: lambda: self._scaled_circle,
        }
        return of[name]()

    @cached_property
    def _to_law(self) -> Between:
        found = kolmogorov_distance(self.values, self._law.tail)
        return Between(found, found)

    @cached_property
    def _to_circle(self) -> Between:
        variance = self._law.numbers.variance
        found = kolmogorov_distance(self.values, lambda x: quarter_circle_tail(x, variance))
        return Between(found, found)

    @cached_property
    def _scaled_law(self) -> Between:
        tail = scaled(self._law.tail, self._scales[LAW_SCALE.name])
        return Between.at_best_scale(one_sided_distances(self.values, tail))

    @cached_property
    def _scaled_circle(self) -> Between:
        tail = circle_tail(self._scales[CIRCLE_SCALE.name])
        return Between.at_best_scale(one_sided_distances(self.values, tail))


def circle_tail(scale: fmpq) -> Callable[[arb], arb]:
    """The tail of the quarter circle of variance scale^2."""
    return scaled(lambda x: quarter_circle_tail(x, arb(1)), scale)


# -- what is stated, and its obligations


def require_square(matrix: StatedMatrix) -> StatedMatrix:
    """The laws are those of square matrices. Raises MalformedError."""
    if isinstance(matrix, GivenMatrix):
        size = matrix.shape[0]
        matrix.matrix.require_shape(size, size, "(square, as the matrices are whose limit law is compared)")
    return matrix


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


def wanted_scales(quantities: Collection[str]) -> list[Field[fmpq]]:
    """The scales that the bounds of some quantities take."""
    return [field for field in SCALES if any(field in TAKES.get(name, ()) for name in quantities)]


@dataclass(frozen=True)
class StatedDistances:
    """A law, a matrix that may be there, what is asserted of them, and scales by the names of their fields."""

    law: SpectralLaw
    matrix: StatedMatrix | None
    asserts: Values
    scales: Mapping[str, fmpq]


def of_matrix(stated: StatedDistances, fields: Sequence[Field[Values]]) -> Iterator[Obligation]:
    """The obligations of bounds of these quantities of the matrix."""
    matrix = stated.matrix
    if matrix is None:
        return
    law = Shared(stated.law.at_precision)
    distances = Shared(lambda: Distances(matrix.spectrum(ctx.prec).singular.values(), law(), stated.scales))

    def in_doubles() -> Distances:
        from certattn.kernel.theorems.spectrum.matrix_binary64 import spectrum_in_binary64

        return Distances(spectrum_in_binary64(matrix, None).singular.values(), law(), stated.scales)

    rounded = Shared(in_doubles)
    for field in fields:
        if field in stated.asserts:
            number = _number(distances, field.name)
            fast = {IN_DOUBLES: _number(rounded, field.name)} if matrix.tiers else {}
            exact = field.name not in TAKES
            yield from between_bounds(field.name, number, stated.asserts[field], exact=exact, fast=fast)


def _number(distances: Shared[Distances], name: str) -> Callable[[], Between]:
    return lambda: distances().between(name)


def between_bounds(
    name: str,
    number: Callable[[], Between],
    stated: Values,
    *,
    exact: bool,
    fast: Mapping[Tier, Callable[[], Between]] | None = None,
) -> Iterator[Obligation]:
    """That a number keeps its bounds: one obligation of each that is exactly known.

    Of others there are two, what shows the bound and what would refute it: the number lies on this side of `far`, and
    where that fails, the bound is false.
    """
    for field, relation in BOUNDS:
        if field not in stated:
            continue
        bound, called = stated[field], f"{name}.{field.name}"
        near, far = (_low, _high) if field is AT_LEAST else (_high, _low)

        def sides(end: Callable[[Between], Enclosure], bound: fmpq = bound) -> dict[Tier, tuple[Side, Side]]:
            return {tier: (partial(_end, end, side), bound) for tier, side in (fast or {}).items()}

        part = Part.STATEMENT if exact else Part.WITNESS
        yield Obligation(called, partial(_end, near, number), relation, bound, part, fast=sides(near))
        if not exact:
            other = partial(_end, far, number)
            yield Obligation(f"{called}.at_the_scale", other, relation, bound, fast=sides(far))


def _low(found: Between) -> Enclosure:
    return found.low


def _high(found: Between) -> Enclosure:
    return found.high


def _end(end: Callable[[Between], Enclosure], number: Callable[[], Between]) -> Enclosure:
    return end(number())
