"""What `singular-values` asserts: the fields, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from certattn.kernel.document.fields import Count, Field, Listing, Rational, Record, Values
from certattn.kernel.document.matrices import MatrixInput, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.given.query_inputs import Bounds, StatedBounds
from certattn.kernel.given.ranges import NONNEGATIVE, Range, read_range
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.matrix_inputs import StatedMatrix

VALUE = Field("value", Vector(), "the largest singular values, or all of them, from the largest on")
RADIUS = Field("radius", Bounds(minimum=0), "largest error: one number, or one per value")
VALUES = Field("values", Record(VALUE, RADIUS), "singular values", required=False)

ABOVE = Field("above", Rational(minimum=0), "the threshold t >= 0")
COUNT = Field("count", Count(0), "how many singular values are larger than t")
INSIDE = Field("at_least", Rational(minimum=0), "these are at least so large", required=False)
OUTSIDE = Field("at_most", Rational(minimum=0), "the others are at most so large", required=False)
COUNTS = Field(
    "counts", Listing(Record(ABOVE, COUNT, INSIDE, OUTSIDE)), "how many are above a threshold", required=False
)

OF_VALUES = Field("values", NONNEGATIVE, "with shares sigma_k / sum sigma", required=False)
OF_SQUARES = Field("squares", NONNEGATIVE, "with shares sigma_k^2 / sum sigma^2", required=False)
_SHARES = Record(OF_VALUES, OF_SQUARES)
NORM = Field("norm", NONNEGATIVE, "bounds of the spectral norm sigma_1", required=False)
ENERGY = Field("energy", NONNEGATIVE, "bounds of |M|_F^2 = sum sigma^2", required=False)
STABLE_RANK = Field("stable_rank", NONNEGATIVE, "bounds of |M|_F^2 / sigma_1^2", required=False)
ENTROPY = Field("entropy", _SHARES, "bounds of the entropy of the spectrum, in nats", required=False)
EFFECTIVE_RANK = Field("effective_rank", _SHARES, "bounds of e to the entropy", required=False)

ASSERTS = Record(VALUES, COUNTS, NORM, ENERGY, STABLE_RANK, ENTROPY, EFFECTIVE_RANK)

# What is bounded, by the first part of its obligations' names: whether a matrix 0 has none.
QUANTITIES: Mapping[str, str] = {
    "norm": "sigma_1",
    "energy": "|M|_F^2",
    "stable_rank": "|M|_F^2 / sigma_1^2",
    "entropy.values": "entropy of sigma_k / sum sigma",
    "entropy.squares": "entropy of sigma_k^2 / sum sigma^2",
    "effective_rank.values": "e^entropy of sigma_k / sum sigma",
    "effective_rank.squares": "e^entropy of sigma_k^2 / sum sigma^2",
}


@dataclass(frozen=True)
class StatedValues:
    """|sigma_k - value_k| <= radius_k for k = 1, ..., as many as are stated."""

    value: MatrixInput
    radius: StatedBounds

    @property
    def count(self) -> int:
        return self.value.shape[1]

    @cached_property
    def loaded(self) -> ExactMatrix:
        """The values, 1 x count."""
        return self.value.load()


@dataclass(frozen=True)
class StatedCount:
    """Exactly `count` singular values are > above; those are >= inside, and the others <= outside, if stated."""

    above: fmpq
    count: int
    inside: fmpq | None
    outside: fmpq | None


@dataclass(frozen=True)
class Assertions:
    """What is asserted of a matrix; `ranges` by the names of QUANTITIES."""

    values: StatedValues | None
    counts: Sequence[StatedCount]
    ranges: Mapping[str, Range]


def read_assertions(asserts: Values, matrix: StatedMatrix) -> Assertions:
    """All of them, checked against the shape of the matrix. Raises MalformedError."""
    if not any(field in asserts for field in ASSERTS.fields.values()):
        raise asserts.at.malformed(" or ".join(ASSERTS.fields), "nothing that is asserted")
    values = _read_values(asserts[VALUES], matrix.count) if VALUES in asserts else None
    counts = [_read_count(item, matrix.count) for item in asserts.get(COUNTS) or []]
    ranges = {field.name: read_range(asserts[field]) for field in (NORM, ENERGY, STABLE_RANK) if field in asserts}
    for field in (ENTROPY, EFFECTIVE_RANK):
        if field in asserts:
            ranges |= {f"{field.name}.{of}": found for of, found in _read_shares(asserts[field]).items()}
    return Assertions(values, counts, {name: ranges[name] for name in QUANTITIES if name in ranges})


def _read_values(values: Values, count: int) -> StatedValues:
    value, radius = values[VALUE], values[RADIUS]
    if value.shape[1] > count:
        found = counted(value.shape[1], "number")
        raise value.node.malformed(f"at most {counted(count, 'singular value')}, as many as there are", found)
    if radius.each is not None:
        radius.each.require_length(value.shape[1], "the values")
        for k, entry in enumerate(radius.each.load().row(0)):
            if (entry >= 0) is not True:
                raise radius.each.node.malformed("numbers >= 0", f"a negative one at index {k}")
    return StatedValues(value, radius)


def _read_count(item: Values, count: int) -> StatedCount:
    stated = StatedCount(item[ABOVE], item[COUNT], item.get(INSIDE), item.get(OUTSIDE))
    if stated.count > count:
        raise item.node(COUNT).malformed(f"at most {count}, as many as there are", str(stated.count))
    if stated.count == 0 and stated.inside is not None:
        raise item.node(INSIDE).malformed(
            "no lower bound where no singular value is above", f"{describe(stated.inside)} beside a count of 0"
        )
    if stated.count == count and stated.outside is not None:
        raise item.node(OUTSIDE).malformed(
            "no upper bound where all singular values are above", f"{describe(stated.outside)} beside all {count}"
        )
    if stated.inside is not None and (stated.inside < stated.above) is True:
        raise item.node(INSIDE).malformed("a bound that is not below the threshold", "a smaller number")
    if stated.outside is not None and (stated.outside > stated.above) is True:
        raise item.node(OUTSIDE).malformed("a bound that is not above the threshold", "a larger number")
    return stated


def _read_shares(values: Values) -> dict[str, Range]:
    found = {field.name: read_range(values[field]) for field in (OF_VALUES, OF_SQUARES) if field in values}
    if len(found) == 0:
        raise values.at.malformed("values or squares", "no shares whose entropy is meant")
    return found
