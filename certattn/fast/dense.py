"""Whole matrices in doubles: norms, products and their errors. Docs: binary64.md."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from certattn.fast.rows import Floats, StoredRows, computed_squares, norm_bound, norm_bounds
from certattn.fast.units import LARGEST, UNDERFLOW, UNIT, UP, gamma
from certattn.kernel.errors import RefusedError


@dataclass(frozen=True)
class Dense:
    """A matrix M up to a distance: |M - values|_F <= error."""

    values: Floats
    error: float


def gathered(chunks: Iterable[StoredRows], shape: tuple[int, int]) -> Floats:
    """Rows from array files as one array of doubles, exactly. Raises RefusedError for what is too large."""
    # Room is made once the first rows are read, and with them the shape that the file itself has.
    whole, first = np.empty((0, shape[1])), 0
    for rows in chunks:
        if first == 0:
            whole = np.empty(shape)
        last = first + rows.shape[0]
        whole[first:last] = rows.block(0, rows.shape[0], whole[first:last])
        first = last
    if first != shape[0]:
        raise ValueError(f"{first} rows instead of {shape[0]}")
    # Written so that a NaN refuses.
    if not bool((np.abs(whole) <= LARGEST).all()):
        raise RefusedError("numbers that are too large, or not finite")
    return whole


def frobenius_bound(matrix: Floats) -> float:
    """An upper bound of |X|_F: of the norms of the rows, then of the norm of these. Infinite or NaN if X is."""
    norms = norm_bounds(matrix)
    return norm_bound(float(computed_squares(norms[None])[0]), len(norms))


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
