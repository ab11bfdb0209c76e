"""Singular values of a matrix, enclosed by a factorisation that nobody has to believe.

For an m x n matrix M, approximate factors U (m x r), s_1 >= ... >= s_r >= 0 and V (n x r), r <= min(m, n), and
s_k = 0 for k > r, let

    dU >= |U'U - I|_2,    dV >= |V'V - I|_2,    R >= |M - U diag(s) V'|_2.

Then for every k

    |sigma_k(M) - s_k| <= R + s_k c,    c = max(sqrt((1 + dU)(1 + dV)) - 1, 1 - sqrt((1 - dU)_+ (1 - dV)_+)).

By Weyl's inequality M and U diag(s) V' have singular values that differ by at most R; by Ostrowski's inequality those
of U diag(s) V' are s_k times a number between the products of the smallest and of the largest singular values of U
and V, whose squares lie within dU and dV of 1 (R. A. Horn, C. R. Johnson, Matrix Analysis, 2nd ed., theorems 4.5.9 and
7.3.5). Wherever the factors come from, what is checked is the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpz, fmpz_mat

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix


def distortion(off_left: arb, off_right: arb) -> arb:
    """c of the theorem, from dU and dV."""
    grown = ((1 + off_left) * (1 + off_right)).sqrt() - 1
    shrunk = 1 - ((1 - off_left).nonnegative_part() * (1 - off_right).nonnegative_part()).sqrt()
    return grown.max(shrunk)


def radius(residual: arb, factor: arb, centre: arb) -> arb:
    """R + s_k c."""
    return residual + centre * factor


@dataclass(frozen=True)
class SingularValues:
    """Enclosures of all singular values sigma_1 >= sigma_2 >= ... of one matrix.

    centres: s_1 >= ... >= s_r >= 0. residual, factor: R and c; what may be infinite or NaN encloses nothing.
    count: how many singular values there are, min(m, n); rank: those after so many are exactly 0.
    """

    centres: Sequence[arb]
    residual: arb
    factor: arb
    count: int
    rank: int

    def centre(self, k: int) -> arb:
        """s_k, k counted from 1."""
        return self.centres[k - 1] if k <= len(self.centres) else arb(0)

    def radius(self, k: int) -> arb:
        """An upper bound of |sigma_k - s_k|."""
        return radius(self.residual, self.factor, self.centre(k)).abs_upper()

    def value(self, k: int) -> arb:
        """A ball around sigma_k, k counted from 1."""
        if k > self.rank:
            return arb(0)
        ball = self.centre(k) + self.radius(k) * arb(0, 1)
        return ball.nonnegative_part() if ball.is_finite() is True else ball

    def values(self) -> list[arb]:
        """All of them, from the largest to the smallest."""
        return [self.value(k) for k in range(1, self.count + 1)]


# -- matrices and factors in integers


@dataclass(frozen=True)
class FixedPoint:
    """A matrix M as integers N: |M - N 2^-places|_F <= error."""

    numerators: fmpz_mat
    places: int
    error: arb

    @classmethod
    def exact(cls, matrix: ExactMatrix, bits: int) -> FixedPoint:
        """An exact matrix, with about so many bits for its largest entry; dyadic numbers that are not long are kept."""
        entries, denominator = matrix.numerators.entries(), matrix.denominator
        length = max(abs(entry).bit_length() for entry in entries)
        exponent = denominator.bit_length() - 1
        places = bits + denominator.bit_length() - length
        if denominator == fmpz(1) << exponent and exponent <= places + bits:
            places = max(places, exponent)
            return cls(matrix.numerators * (fmpz(1) << (places - exponent)), places, arb(0))
        if places >= 0:
            rounded = [_nearest_quotient(entry << places, denominator) for entry in entries]
        else:
            rounded = [_nearest_quotient(entry, denominator << -places) for entry in entries]
        return cls(fmpz_mat(*matrix.shape, rounded), places, _rounding(len(entries), places))

    @classmethod
    def rounded(cls, rows: Sequence[Sequence[arb]], bits: int) -> FixedPoint | None:
        """A matrix of balls; None where one is not finite."""
        flat = [entry for row in rows for entry in row]
        if all(entry.is_finite() is True for entry in flat) is not True:
            return None
        largest = arb(0)
        for entry in flat:
            largest = largest.max(entry.abs_upper())
        places = bits - _exponent(largest.upper())
        numerators = [nearest_integer(entry, places) for entry in flat]
        unit, squares = arb(2) ** -places, arb(0)
        for entry, numerator in zip(flat, numerators, strict=True):
            off = (entry - numerator * unit).abs_upper()
            squares += off * off
        return cls(fmpz_mat(len(rows), len(rows[0]), numerators), places, squares.sqrt().upper())

    @property
    def shape(self) -> tuple[int, int]:
        return self.numerators.nrows(), self.numerators.ncols()

    def frobenius(self) -> arb:
        """|M|_F."""
        norm = frobenius(self.numerators, self.places) + self.error * arb(0, 1)
        return norm.nonnegative_part() if norm.is_finite() is True else norm


@dataclass(frozen=True)
class Factors:
    """U and V as integers times 2^-places, and s as integers times 2^-`value_places`, a hint."""

    left: fmpz_mat
    right: fmpz_mat
    values: Sequence[fmpz]
    places: int
    value_places: int


def enclose(matrix: FixedPoint, factors: Factors | None, rank: int) -> SingularValues:
    """The singular values of a matrix by exact products of integers.

    rank: a number that is known to be at least the rank. Without factors, or with values that are not in order, all
    singular values are enclosed by the norm alone.
    """
    rows, columns = matrix.shape
    count = min(rows, columns)
    if factors is None or _in_order(factors) is not True:
        return SingularValues([], matrix.frobenius().abs_upper(), arb(0), count, rank)
    off_left = _off_identity(factors.left, factors.places)
    off_right = _off_identity(factors.right, factors.places)
    residual = matrix.error + _residual(matrix, factors, off_left)
    unit = arb(2) ** -factors.value_places
    centres = [value * unit for value in factors.values]
    return SingularValues(centres, residual.abs_upper(), distortion(off_left, off_right).abs_upper(), count, rank)


def frobenius(numerators: fmpz_mat, places: int) -> arb:
    """|N|_F 2^-places."""
    total = fmpz(0)
    for entry in numerators.entries():
        total += entry * entry
    return arb(total).sqrt() * arb(2) ** -places


def nearest_integer(value: arb, places: int) -> fmpz:
    """The middle of a ball times 2^places, rounded to an integer."""
    mantissa, exponent = value.mid().man_exp()
    shift = int(exponent) + places
    # 0 has no size that would say how many places are too many.
    if mantissa == 0 or mantissa.bit_length() + shift < 0:
        return fmpz(0)
    return mantissa << shift if shift >= 0 else _shifted(mantissa, -shift)


def _in_order(factors: Factors) -> bool:
    """s_1 >= ... >= s_r >= 0, and no more of them than there are rows of U and of V."""
    values = factors.values
    count = len(values)
    shapes = [(side.nrows(), side.ncols()) for side in (factors.left, factors.right)]
    fitting = all(columns == count <= rows for rows, columns in shapes)
    falling = all(values[k] >= values[k + 1] for k in range(count - 1))
    return fitting and count > 0 and falling and values[-1] >= 0


def _off_identity(side: fmpz_mat, places: int) -> arb:
    """|U'U - I|_F."""
    gram = side.transpose() * side
    one = fmpz(1) << (2 * places)
    for k in range(gram.nrows()):
        gram[k, k] = gram[k, k] - one
    return frobenius(gram, 2 * places)


def _residual(matrix: FixedPoint, factors: Factors, off_left: arb) -> arb:
    """|N 2^-places - U diag(s) V'|_F, at most.

    diag(s) V' is rounded to the places of the matrix first, which U, |U|_2 <= sqrt(1 + dU), may enlarge.
    """
    drop = factors.places + factors.value_places - matrix.places
    scaled = [
        [_shifted(entry * value, drop) for entry, value in zip(row, factors.values, strict=True)]
        for row in factors.right.tolist()
    ]
    product = factors.left * fmpz_mat(scaled).transpose()
    difference = matrix.numerators * (fmpz(1) << factors.places) - product
    lost = _rounding(factors.right.nrows() * len(factors.values), matrix.places)
    return frobenius(difference, matrix.places + factors.places) + (1 + off_left).sqrt() * lost


def _rounding(entries: int, places: int) -> arb:
    """The Frobenius norm of so many errors of half a unit."""
    return arb(entries).sqrt() * arb(2) ** -(places + 1)


def _shifted(value: fmpz, drop: int) -> fmpz:
    """value * 2^-drop, rounded to an integer."""
    return (value + (fmpz(1) << (drop - 1))) >> drop if drop > 0 else value << -drop


def _nearest_quotient(numerator: fmpz, denominator: fmpz) -> fmpz:
    return (2 * numerator + denominator) // (2 * denominator)


def _exponent(size: arb) -> int:
    """e with size < 2^e, about; 0 for the number 0."""
    mantissa, exponent = size.man_exp()
    return int(exponent) + mantissa.bit_length()


# -- factors of a small matrix, to any number of bits: a hint, of which nothing is proved here

Column = list[arb]
_MOST_SWEEPS = 60
# Bits beyond those that are wanted, for the rounding along the way.
_GUARD = 32


def jacobi_factors(matrix: FixedPoint, bits: int) -> Factors | None:
    """Factors of a matrix to about so many bits; None for the matrix 0.

    One-sided Jacobi: the columns of B = M V are turned into each other, two at a time, until they are orthogonal. Then
    their lengths are about the singular values, and the columns divided by them about the left singular vectors (M. R.
    Hestenes, Inversion of matrices by biorthogonalization, J. SIAM 6 (1958)). It needs no starting point, and is not
    troubled by values that are equal or 0. `enclose` proves how good the result is.
    """
    wide = matrix.shape[0] < matrix.shape[1]
    table = matrix.numerators if wide else matrix.numerators.transpose()
    count, length, own = table.nrows(), table.ncols(), bits + _GUARD
    with working_precision(own):
        # A column of B, and below it that of V.
        columns = [
            [arb(entry).mid() for entry in column] + [arb(int(i == j)) for i in range(count)]
            for j, column in enumerate(table.tolist())
        ]
        squares = [_product(column, column, length) for column in columns]
        size = sum(squares, arb(0)).mid()
        _orthogonalise(columns, length, bits, size * arb(2) ** (-2 * bits - _GUARD))
        sizes = [_product(column, column, length).sqrt().mid() for column in columns]
        # Columns by falling lengths; those that are about 0 are left out.
        kept = [j for j in range(count) if (sizes[j] > (size.sqrt() * arb(2) ** -bits).mid()) is True]
        kept.sort(key=lambda j: nearest_integer(sizes[j], bits), reverse=True)
        if len(kept) == 0:
            return None
        left = fmpz_mat([[nearest_integer(x / sizes[j], own) for x in columns[j][:length]] for j in kept]).transpose()
        right = fmpz_mat([[nearest_integer(x, own) for x in columns[j][length:]] for j in kept]).transpose()
        # Lengths are in units of 2^-places: so many more places for their own bits.
        values = sorted((nearest_integer(sizes[j], bits) for j in kept), reverse=True)
        return Factors(*((right, left) if wide else (left, right)), values, own, matrix.places + bits)


def _orthogonalise(columns: list[Column], length: int, bits: int, least: arb) -> None:
    """Turn columns into each other until all angles are right to 2^-bits; those below `least`, squared, count as 0."""
    tolerance = arb(2) ** (-2 * bits)
    pairs = [(i, j) for j in range(len(columns)) for i in range(j)]
    for _ in range(_MOST_SWEEPS):
        done = True
        for i, j in pairs:
            first, second = _product(columns[i], columns[i], length), _product(columns[j], columns[j], length)
            both = _product(columns[i], columns[j], length)
            small = (first <= least) is True or (second <= least) is True
            if not small and (both * both <= tolerance * first * second) is not True:
                done = False
                columns[i], columns[j] = _turned(columns[i], columns[j], _slope(first, second, both))
        if done:
            return


def _slope(first: arb, second: arb, both: arb) -> arb:
    """The tangent of the smaller of the angles that make two columns orthogonal."""
    ratio = (second - first) / (2 * both)
    slope = 1 / (abs(ratio) + (1 + ratio * ratio).sqrt())
    return (slope if (ratio >= 0) is True else -slope).mid()


def _turned(first: Column, second: Column, slope: arb) -> tuple[Column, Column]:
    cosine = (1 + slope * slope).rsqrt()
    sine = cosine * slope
    pairs = list(zip(first, second, strict=True))
    return [(cosine * x - sine * y).mid() for x, y in pairs], [(sine * x + cosine * y).mid() for x, y in pairs]


def _product(first: Column, second: Column, length: int) -> arb:
    """Of the upper parts alone."""
    total = arb(0)
    for x, y in zip(first[:length], second[:length], strict=True):
        total += x * y
    return total.mid()
