"""Distances of singular values to the equivalent law and to quarter circles, as stated and as obligations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Enclosure, Obligation, Part, at_least, at_most
from certattn.kernel.document.fields import Field, Rational, Values
from certattn.kernel.given.ranges import AT_LEAST, NONNEGATIVE, SIGNED, Range, read_range
from certattn.kernel.theorems.spectrum.mathematics.equivalent_law import EquivalentLaw
from certattn.kernel.theorems.spectrum.mathematics.kolmogorov import (
    OneSided,
    kolmogorov_distance,
    one_sided_distances,
    scaled,
)
from certattn.kernel.theorems.spectrum.mathematics.quarter_circle import quarter_circle_tail
from certattn.kernel.theorems.spectrum.matrix_inputs import GivenMatrix, StatedMatrix

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


@dataclass(frozen=True)
class Quantity:
    """A number that may be bounded: what obligations call it, and the scales of the witness that it takes."""

    sentence: str
    scales: tuple[Field[fmpq], ...] = ()


QUANTITIES: Mapping[str, Quantity] = {
    LAW: Quantity("distance to mu"),
    CIRCLE: Quantity("distance to the quarter circle of the same variance"),
    SCALED_LAW: Quantity("smallest distance to mu at any scale", (LAW_SCALE,)),
    SCALED_CIRCLE: Quantity("smallest distance to any quarter circle", (CIRCLE_SCALE,)),
    SEPARATION: Quantity("distance to any quarter circle less that to mu", (CIRCLE_SCALE,)),
    SCALED_SEPARATION: Quantity(
        "distance to any quarter circle less that to mu at any scale", (CIRCLE_SCALE, LAW_SCALE)
    ),
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
        """One of QUANTITIES."""
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


def read_ranges(asserts: Values, fields: Sequence[Field[Values]]) -> dict[str, Range]:
    """Those that are there. Raises MalformedError."""
    return {field.name: read_range(asserts[field]) for field in fields if field in asserts}


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


def range_names(quantity: str, stated: Range, *, exact: bool) -> list[str]:
    """The obligations of the bounds of a quantity."""
    return [name for which in stated.bounds for name in bound_names(quantity, which, exact=exact)]


def bound_names(quantity: str, which: str, *, exact: bool) -> list[str]:
    """Those of one bound: exactly known quantities need one, others what shows the bound and what would refute it."""
    name = f"{quantity}.{which}"
    return [name] if exact else [name, f"{name}.at_the_scale"]


def range_obligations(
    quantity: str, sentence: str, stated: Range, found: Between, *, exact: bool, bits: int, arithmetic: str
) -> list[Obligation]:
    """The obligations that `range_names` names."""
    made: list[Obligation] = []
    for which, bound in stated.bounds.items():
        least = which == AT_LEAST.name
        relation, compare = (">=", at_least) if least else ("<=", at_most)
        near, far = (found.low, found.high) if least else (found.high, found.low)
        names = bound_names(quantity, which, exact=exact)
        words = f"{sentence} {relation} bound"
        if exact:
            made.append(compare(names[0], words, near, bound, bits, arithmetic))
            continue
        shown = f"{words}, by the witness's scale"
        made.append(compare(names[0], shown, near, bound, bits, arithmetic, part=Part.WITNESS))
        # The quantity lies on this side of `far`: where that fails, the bound is false.
        other = f"{words}, or its value at the witness's scale refutes it"
        made.append(compare(names[1], other, far, bound, bits, arithmetic))
    return made


def is_exact(quantity: str) -> bool:
    """Whether it is enclosed, and not only bounded from both sides by a witness."""
    return len(QUANTITIES[quantity].scales) == 0


def wanted_scales(ranges: Collection[str]) -> list[Field[fmpq]]:
    """The scales that the bounds of some quantities take."""
    return [field for field in SCALES if any(field in QUANTITIES[name].scales for name in ranges)]


def ranges_names(ranges: Mapping[str, Range]) -> list[str]:
    """The obligations of bounds of QUANTITIES."""
    return [found for name, stated in ranges.items() for found in range_names(name, stated, exact=is_exact(name))]


def ranges_proved(
    ranges: Mapping[str, Range], names: Collection[str], distances: Distances, bits: int, arithmetic: str
) -> list[Obligation]:
    """The named obligations of bounds of QUANTITIES; what none of them needs is not computed."""
    made: list[Obligation] = []
    for name, stated in ranges.items():
        exact = is_exact(name)
        if any(found in names for found in range_names(name, stated, exact=exact)):
            sentence, between = QUANTITIES[name].sentence, distances.between(name)
            made += range_obligations(name, sentence, stated, between, exact=exact, bits=bits, arithmetic=arithmetic)
    return [obligation for obligation in made if obligation.name in names]
