"""Vectors of quadratic forms (x'M_1 x, ..., x'M_m x) with M_j = sum_i f_ij a_i a_i', from tokens to upper bounds.

Factors f and rows a are balls. They are rounded to integers, and the sums over tokens are exact products of integer
matrices, which FLINT multiplies several times faster than balls; one bound of the error holds for every entry. With

    |a - A| <= alpha,  |A| <= a_max,  |f - F| <= beta,  |F| <= f_max,  |A A' - Q| <= kappa

for all entries, where A, F and Q are integers times a power of two, each of L terms of an entry of M_j is off by

    |f a a' - F Q| <= |f| |a a' - A A'| + |f - F| |A A'| + |F| |A A' - Q|
                   <= (f_max + beta) (2 a_max alpha + alpha^2) + beta a_max^2 + f_max kappa.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, arb_mat, ctx, fmpz, fmpz_mat

# Products of coordinates held in memory at once: about 100 bytes each.
_PRODUCTS_AT_ONCE = 2**18
# p = 2^10: the bound exceeds the largest |eigenvalue| by a factor of at most n^(1/1024), 0.5% for n = 128.
_SQUARINGS = 10
# FLINT keeps integers of up to 62 bits without memory of their own, so few bits less than the precision are best.
_SPARED_BITS = 4
_LEAST_BITS = 16
# So far no mantissa reaches: what is shifted by more is 0 or -1, less than 1 from the truth.
_FAR = 2**40
# Multiplications in a product of each of the matrices with itself.
SMALL = 2**12
# Directions are hints: they need few bits.
_DIRECTION_BITS = 24


def spectral_bound(matrix: arb_mat) -> arb:
    """(tr S^p)^(1/p) >= every |eigenvalue| of a symmetric matrix S, p = 2^10: the trace sums their p-th powers.

    The trace of the last square is the sum of the squares of the entries.
    """
    for _ in range(_SQUARINGS - 1):
        matrix = matrix * matrix
    bound = sum((entry * entry for entry in matrix.entries()), arb(0))
    for _ in range(_SQUARINGS):
        bound = bound.nonnegative_part().sqrt()
    return bound


@dataclass(frozen=True)
class Rounded:
    """Balls as integers N, row by row: every one is within `error` of N 2^-places, and these are at most `largest`."""

    numerators: list[fmpz]
    places: int
    error: arb
    largest: arb

    @classmethod
    def of(cls, table: arb_mat, bits: int) -> Rounded:
        """With about so many bits for the largest. Of balls that are not finite nothing is known."""
        middles = table.mid()
        try:
            parts = [middle.man_exp() for middle in middles.entries()]
        except ValueError:
            return cls([fmpz(0)] * (table.nrows() * table.ncols()), 0, arb("nan"), arb("nan"))
        # In every row the sum of the radii, which bounds each of them.
        ones = arb_mat(table.ncols(), 1, [1] * table.ncols())
        radius = arb(0)
        for spread in ((table - middles) * ones).entries():
            radius = radius.max(spread.abs_upper())
        top = max((mantissa.bit_length() + int(exponent) for mantissa, exponent in parts if mantissa != 0), default=0)
        places = bits - top
        shifts = [int(exponent) + places for _, exponent in parts]
        numerators = [
            mantissa << shift if shift >= 0 else mantissa >> min(-shift, _FAR)
            for (mantissa, _), shift in zip(parts, shifts, strict=True)
        ]
        lost = arb(2) ** -places if any(shift < 0 for shift in shifts) else arb(0)
        return cls(numerators, places, (radius + lost).upper(), arb(2) ** top)


@dataclass(frozen=True)
class QuadraticForms:
    """Symmetric n x n matrices M_1, ..., M_m: every entry is within `error` of that of N_j times `unit`.

    `numerators` has one row for each N_j, with its entries k <= l, row by row.
    """

    size: int
    numerators: fmpz_mat
    unit: arb
    error: arb

    @property
    def count(self) -> int:
        return self.numerators.nrows()

    @property
    def is_small(self) -> bool:
        """Whether each of the matrices can be bounded by itself in no time."""
        return self.count * self.size**3 <= SMALL

    def matrix(self, j: int) -> arb_mat:
        """M_j."""
        off = self.error * arb(0, 1)
        entries = [entry * self.unit + off for entry in self._rows[j]]
        return arb_mat(self.size, self.size, [entries[place] for place in _square_order(self.size)])

    def sizes(self) -> list[arb]:
        """sum_kl |M_kl| of every matrix."""
        off = self.size**2 * self.error * arb(0, 1)
        both = [2 if k < m else 1 for k, m in _pairs(self.size)]
        return [
            sum((abs(entry) * times for entry, times in zip(row, both, strict=True)), fmpz(0)) * self.unit + off
            for row in self._rows
        ]

    def norms(self) -> list[arb]:
        """|M_j|_F of every matrix."""
        off = self.size * self.error * arb(0, 1)
        return [arb(self._gram[j, j]).sqrt() * self.unit + off for j in range(self.count)]

    def over_ball(self) -> arb:
        """A bound of |(x'M_1 x, ..., x'M_m x)|_2 for |x|_2 <= 1.

        The vector is a linear map of xx', whose entries have the norm |x|^2. So it is at most the largest singular
        value of that map. The map has a large part where all M_j have large traces, of which xx' takes little. So
        for any z, here that of the traces, it is also at most (|x'S x|^2 + r^2)^(1/2), with S = sum_j z_j M_j / |z|
        and r the largest singular value of the map to what is orthogonal to z.
        """
        bound = spectral_bound(arb_mat(self._gram)).nonnegative_part().sqrt()
        z = self._direction()
        square = sum((entry * entry for entry in z), fmpz(0))
        if square != 0:
            along = spectral_bound(self._combination(z))
            # |z|^2 times the projection to what is orthogonal to z.
            row = fmpz_mat(1, self.count, z)
            same = range(self.count)
            across = fmpz_mat([[square if i == j else fmpz(0) for j in same] for i in same])
            across = across - row.transpose() * row
            rest = spectral_bound(arb_mat(across * self._gram * across)) / (square * square)
            bound = bound.min((along * along / square + rest).nonnegative_part().sqrt())
        # Each of both bounds is a norm of the map, at most its Frobenius norm: so far m n^2 errors move it at most.
        return bound * self.unit + arb(self.count).sqrt() * self.size * self.error * arb(0, 1)

    @cached_property
    def _rows(self) -> list[list[fmpz]]:
        return self.numerators.tolist()

    @cached_property
    def _gram(self) -> fmpz_mat:
        """<N_i, N_j>, over all n^2 entries: those off the diagonal count twice."""
        diagonals = self._diagonals()
        return 2 * (self.numerators * self.numerators.transpose()) - diagonals * diagonals.transpose()

    def _diagonals(self) -> fmpz_mat:
        places = [place for place, (k, m) in enumerate(_pairs(self.size)) if k == m]
        return fmpz_mat([[row[place] for place in places] for row in self._rows])

    def _direction(self) -> list[fmpz]:
        """The traces of the N_j, with few bits."""
        traces = [sum(row, fmpz(0)) for row in self._diagonals().tolist()]
        drop = max(0, max(abs(trace).bit_length() for trace in traces) - _DIRECTION_BITS)
        return [trace >> drop for trace in traces]

    def _combination(self, z: Sequence[fmpz]) -> arb_mat:
        """sum_j z_j N_j."""
        entries = (fmpz_mat(1, self.count, list(z)) * self.numerators).entries()
        return arb_mat(self.size, self.size, [arb(entries[place]) for place in _square_order(self.size)])


def moments(
    rows: Sequence[Sequence[arb]], sizes: Sequence[arb], *groups: Sequence[Sequence[arb]]
) -> list[QuadraticForms]:
    """For each group of factors, one number for each of the rows a: the matrices sum f a a', one for each factor.

    sizes: about how large the entries of each row are. Rows are brought to one size, by powers of two that their
    factors take twice: else a row that is large, with small factors, would decide how coarse all others become.
    """
    size, count = len(rows[0]), len(rows)
    bits = max(_LEAST_BITS, ctx.prec - _SPARED_BITS)
    exponents = [_exponent(length) for length in sizes]
    units, squares = [arb(2) ** -exponent for exponent in exponents], [arb(4) ** exponent for exponent in exponents]
    a = Rounded.of(_table([[entry * unit for entry in row] for row, unit in zip(rows, units, strict=True)]), bits)
    factors = [
        Rounded.of(_table([[f * square for f, square in zip(factor, squares, strict=True)] for factor in group]), bits)
        for group in groups
    ]
    pairs = _pairs(size)
    sums = [fmpz_mat(len(group), len(pairs)) for group in groups]
    step = max(1, _PRODUCTS_AT_ONCE // len(pairs))
    for start in range(0, count, step):
        stop = min(start + step, count)
        products = []
        for i in range(start, stop):
            row = a.numerators[i * size : (i + 1) * size]
            for k, first in enumerate(row):
                products += [first * second >> bits for second in row[k:]]
        table = fmpz_mat(stop - start, len(pairs), products)
        for place, factor in enumerate(factors):
            lines = len(groups[place])
            some = [entry for j in range(lines) for entry in factor.numerators[j * count + start : j * count + stop]]
            sums[place] += fmpz_mat(lines, stop - start, some) * table
    kappa = arb(2) ** (bits - 2 * a.places)
    found = []
    for total, factor in zip(sums, factors, strict=True):
        of_products = (factor.largest + factor.error) * (2 * a.largest + a.error) * a.error
        of_factors = factor.error * a.largest * a.largest
        error = count * (of_products + of_factors + factor.largest * kappa)
        found.append(QuadraticForms(size, total, kappa * arb(2) ** -factor.places, error.upper()))
    return found


def _table(rows: Sequence[Sequence[arb]]) -> arb_mat:
    return arb_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row])


def _exponent(size: arb) -> int:
    """e with about 2^e for the size; 0 where it says nothing."""
    if size.is_finite() is not True:
        return 0
    mantissa, exponent = size.mid().man_exp()
    return mantissa.bit_length() + int(exponent) if mantissa != 0 else 0


def _pairs(size: int) -> list[tuple[int, int]]:
    return [(k, m) for k in range(size) for m in range(k, size)]


def _square_order(size: int) -> list[int]:
    """Where the entries of an n x n matrix stand among those k <= l."""
    places = {pair: place for place, pair in enumerate(_pairs(size))}
    return [places[min(k, m), max(k, m)] for k in range(size) for m in range(size)]
