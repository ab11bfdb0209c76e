"""Approximate singular vectors of a small matrix, to any number of bits. Nothing here is proved: a hint.

One-sided Jacobi: the columns of B = M V are turned into each other, two at a time, until they are orthogonal. Then
their lengths are about the singular values, and the columns divided by them about the left singular vectors
(M. R. Hestenes, Inversion of matrices by biorthogonalization, J. SIAM 6 (1958)). It needs no starting point, and is not
troubled by values that are equal or 0. `singular_values` proves how good the result is.
"""

from __future__ import annotations

from flint import arb, fmpz_mat

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.singular_values import Factors, FixedPoint, nearest_integer

Column = list[arb]
_MOST_SWEEPS = 60
# Bits beyond those that are wanted, for the rounding along the way.
_GUARD = 32


def jacobi_factors(matrix: FixedPoint, bits: int) -> Factors | None:
    """Factors of a matrix to about so many bits; None for the matrix 0."""
    if matrix.shape[0] < matrix.shape[1]:
        found = jacobi_factors(matrix.transposed, bits)
        return None if found is None else found.transposed
    with working_precision(bits + _GUARD):
        columns = [[arb(entry).mid() for entry in column] for column in matrix.numerators.transpose().tolist()]
        size = sum((_product(column, column) for column in columns), arb(0)).mid()
        if size == 0:
            return None
        turned = _identity(len(columns))
        _orthogonalise(columns, turned, bits, size * arb(2) ** (-2 * bits - _GUARD))
        return _factors(columns, turned, matrix.places, bits, size)


def _orthogonalise(columns: list[Column], turned: list[Column], bits: int, least: arb) -> None:
    """Turn columns into each other until all angles are right to 2^-bits; those below `least`, squared, count as 0."""
    tolerance = arb(2) ** (-2 * bits)
    for _ in range(_MOST_SWEEPS):
        done = True
        for j in range(len(columns)):
            for i in range(j):
                first, second = _product(columns[i], columns[i]), _product(columns[j], columns[j])
                both = _product(columns[i], columns[j])
                small = (first <= least) is True or (second <= least) is True
                if small or (both * both <= tolerance * first * second) is True:
                    continue
                done = False
                slope = _slope(first, second, both)
                for table in (columns, turned):
                    table[i], table[j] = _turned(table[i], table[j], slope)
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


def _factors(columns: list[Column], turned: list[Column], places: int, bits: int, size: arb) -> Factors | None:
    """Columns by falling lengths; those that are about 0 are left out."""
    lengths = [_product(column, column).sqrt().mid() for column in columns]
    least = (size.sqrt() * arb(2) ** -bits).mid()
    kept = [j for j, length in enumerate(lengths) if (length > least) is True]
    if len(kept) == 0:
        return None
    kept.sort(key=lambda j: nearest_integer(lengths[j], bits), reverse=True)
    own = bits + _GUARD
    left = [[nearest_integer(entry / lengths[j], own) for entry in columns[j]] for j in kept]
    right = [[nearest_integer(entry, own) for entry in turned[j]] for j in kept]
    # Lengths are in units of 2^-places: so many more places for their own bits.
    values = sorted((nearest_integer(lengths[j], bits) for j in kept), reverse=True)
    return Factors(fmpz_mat(left).transpose(), fmpz_mat(right).transpose(), values, own, places + bits)


def _product(first: Column, second: Column) -> arb:
    total = arb(0)
    for x, y in zip(first, second, strict=True):
        total += x * y
    return total.mid()


def _identity(size: int) -> list[Column]:
    return [[arb(int(i == j)) for i in range(size)] for j in range(size)]
