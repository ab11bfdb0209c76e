"""Singular values of matrices of doubles: bounds that hold for any factors. Docs: binary64.md.

What `certattn.fast.factors` finds is a hint like any other: `singular_values.SingularValues` says what is proved of it.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb, fmpz, fmpz_mat

from certattn.fast.factors import FloatFactors, lapack, quick_factors
from certattn.fast.rows import Dense, computed_squares, frobenius_bound
from certattn.fast.units import LARGEST, UNDERFLOW, UNIT, UP, Floats, gamma, require_sound_arithmetic
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.singular_values import Factors, FixedPoint, SingularValues, distortion

# Entries of singular vectors are at most 1: in a double, no more places than these carry anything.
_PLACES = 60
_QUIETLY = np.errstate(all="ignore")


@_QUIETLY
def enclose(matrix: Dense, hint: FloatFactors | None, rank: int) -> SingularValues:
    """The singular values of M in Arb balls; factors are computed where there is no hint.

    rank: a number that is known to be at least the rank of M. Raises RefusedError or GuardError.
    """
    require_sound_arithmetic()
    exponent, scaled = _scaled(matrix)
    found = quick_factors(scaled.values) if hint is None else _in_units(hint, exponent)
    _require_order(found, scaled.values.shape)
    left, right = (arb(off_identity(side)) for side in (found.left, found.right))
    off = residual(scaled, found.left, found.values, found.right)
    unit = arb(2) ** exponent
    centres = [arb(value) * unit for value in found.values.tolist()]
    count = min(scaled.values.shape)
    factor = distortion(left, right).abs_upper()
    return SingularValues(centres, (arb(off) * unit).abs_upper(), factor, count, rank)


@_QUIETLY
def energy(matrix: Dense) -> arb:
    """|M|_F^2."""
    require_sound_arithmetic()
    exponent, scaled = _scaled(matrix)
    computed, error = frobenius(scaled.values)
    norm = (arb(computed, error) + arb(0, scaled.error)).nonnegative_part() * arb(2) ** exponent
    return norm * norm


@_QUIETLY
def lapack_factors(matrix: FixedPoint) -> Factors | None:
    """Factors of a matrix of integers, rounded to doubles on the way; None where LAPACK has none."""
    flat = matrix.numerators.entries()
    drop = max(0, max(abs(entry).bit_length() for entry in flat) - 1000)
    values = np.array([float(int(entry >> drop)) for entry in flat], np.float64).reshape(matrix.shape)
    try:
        found = lapack(values)
    except RefusedError:
        return None
    left, right = (_integers(side) for side in (found.left, found.right))
    numbers = [fmpz(int(value)) << drop for value in np.rint(found.values).tolist()]
    return Factors(left, right, numbers, _PLACES, matrix.places)


def _scaled(matrix: Dense) -> tuple[int, Dense]:
    """e, and 2^-e M with entries below 1: exact but for what underflows."""
    largest = float(np.abs(matrix.values).max())
    # Written so that a NaN refuses.
    if not largest <= LARGEST:
        raise RefusedError("numbers that are too large, or not finite")
    exponent = int(np.frexp(largest)[1])
    scaled = np.ldexp(matrix.values, -exponent)
    lost = math.sqrt(scaled.size) * UNDERFLOW
    error = float(np.ldexp(matrix.error, -exponent))
    if not error <= LARGEST:
        raise RefusedError("a matrix whose error is as large as it is")
    return exponent, Dense(scaled, (error + lost) * UP)


def _in_units(hint: FloatFactors, exponent: int) -> FloatFactors:
    """A hint for M, for 2^-e M: what it rounds makes it another hint."""
    return FloatFactors(hint.left, np.ldexp(hint.values, -exponent), hint.right)


def _require_order(hint: FloatFactors, shape: tuple[int, int]) -> None:
    """Shapes that fit, finite numbers, and s_1 >= ... >= s_r >= 0: what the theorem supposes. Raises RefusedError."""
    count = len(hint.values)
    if (hint.left.shape, hint.right.shape) != ((shape[0], count), (shape[1], count)) or not 0 < count <= min(shape):
        raise RefusedError("factors whose shapes do not fit")
    # Written so that a NaN refuses.
    finite = all(bool((np.abs(part) <= LARGEST).all()) for part in (hint.left, hint.values, hint.right))
    if not (finite and bool((np.diff(hint.values) <= 0).all()) and bool(hint.values[-1] >= 0)):
        raise RefusedError("singular values of a hint that are not finite, not in falling order or negative")


def _integers(side: Floats) -> fmpz_mat:
    """Entries times 2^60, rounded; those of no use are 0."""
    scaled = np.rint(np.ldexp(side, _PLACES))
    kept = np.where(np.abs(scaled) <= 2.0**62, scaled, 0.0)
    return fmpz_mat(kept.astype(np.int64).tolist())


# -- norms, products and their errors


def frobenius(matrix: Floats) -> tuple[float, float]:
    """|X|_F as computed, and a bound of its error."""
    computed = math.sqrt(float(computed_squares(matrix).sum()))
    terms = sum(matrix.shape)
    underflow = math.sqrt(4 * matrix.size * UNDERFLOW)
    return computed, (gamma(terms + 8) * computed + underflow) * UP


def product_size(left: Floats, right: Floats) -> float:
    """An upper bound of the spectral norm of |X| |Y|: the root of its largest row sum times its largest column sum.

    X is m x k, Y is k x n. Both sums are two products with a vector.
    """
    sizes, others = np.abs(left), np.abs(right)
    rows, terms, columns = _extents(left, right)
    of_rows = float((sizes @ others.sum(axis=1)).max())
    of_columns = float((sizes.sum(axis=0) @ others).max())
    # Relative to what was computed, for terms that are not negative; then what underflowed.
    grown = 1 + gamma(rows + terms + columns + 8)
    lost = 4 * terms * (rows + columns) * UNDERFLOW * (1 + float(sizes.max()) + float(others.max()))
    return math.sqrt((of_rows * grown + lost) * UP) * math.sqrt((of_columns * grown + lost) * UP) * UP


def _extents(left: Floats, right: Floats) -> tuple[int, int, int]:
    """m, k and n of the product of an m x k matrix with a k x n one."""
    return len(left), len(right), right.shape[1]


def product_error(left: Floats, right: Floats) -> float:
    """An upper bound of |fl(X Y) - X Y|_2: gamma_k | |X| |Y| |_2, and what underflowed.

    Higham, Accuracy and Stability of Numerical Algorithms, section 3.5, for any order of the sums.
    """
    rows, terms, columns = _extents(left, right)
    # In every entry at most so much, and |.|_2 <= |.|_F.
    underflow = 4 * terms * UNDERFLOW * math.sqrt(rows * columns)
    return (gamma(terms) * product_size(left, right) + underflow) * UP


def off_identity(side: Floats) -> float:
    """An upper bound of |U'U - I|_2 for U with columns of about unit length."""
    gram = side.T @ side
    gram[np.diag_indices_from(gram)] -= 1
    return (frobenius_bound(gram) * (1 + 4 * UNIT) + product_error(side.T, side)) * UP


def residual(matrix: Dense, left: Floats, values: Floats, right: Floats) -> float:
    """An upper bound of |M - U diag(s) V'|_2."""
    scaled = left * values
    difference = matrix.values - scaled @ right.T
    # The product with s: u relatively in every entry, or what underflowed, times entries of V.
    rounded = 2 * UNIT * product_size(scaled, right.T)
    lost = UNDERFLOW * len(values) * float(np.abs(right).max()) * math.sqrt(difference.size)
    computed = frobenius_bound(difference) * (1 + 4 * UNIT)
    lost += matrix.error
    return (computed + product_error(scaled, right.T) + rounded + lost) * UP
