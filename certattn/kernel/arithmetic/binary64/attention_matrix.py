"""The attention matrix of queries and keys in doubles, within a proved distance. Docs: binary64.md.

M = sqrt(d) (A - 1 1'/d)   or   M = sqrt(d) A,   A_ij = e^(s <q_i, k_j>) / sum_j e^(s <q_i, k_j>).
"""

from __future__ import annotations

import math

import numpy as np

from certattn.kernel.arithmetic.binary64.conversions import rounded_scale
from certattn.kernel.arithmetic.binary64.dense import Dense
from certattn.kernel.arithmetic.binary64.enclosures import LARGEST_SCORE_ERROR, beta, score_errors
from certattn.kernel.arithmetic.binary64.exponential import Work, exp_shifted
from certattn.kernel.arithmetic.binary64.exponential_bound import relative_error
from certattn.kernel.arithmetic.binary64.guards import require_sound_arithmetic
from certattn.kernel.arithmetic.binary64.rows import Floats, computed_squares, norm_bound, norm_bounds
from certattn.kernel.arithmetic.binary64.sums import DEPTH, LN2, require_reach
from certattn.kernel.arithmetic.binary64.units import DOWN, LARGEST, UNDERFLOW, UNIT, UP, gamma
from certattn.kernel.arithmetic.reals import Real
from certattn.kernel.errors import RefusedError

# Doubles in a block of scores.
_BLOCK = 2**19
# Entries are looked at as multiples of 2^-q up to this q: two of them fill a double.
_FINEST_GRID = 26
# More than raised weights can change in a row: they and the true ones are below 2^-998 of the largest.
_RAISED = 2.0**-900


def attention_matrix(queries: Floats, keys: Floats, scale: Real, *, centred: bool) -> Dense:
    """M for d queries and d keys (d x p each, doubles exactly). Raises RefusedError or GuardError."""
    require_sound_arithmetic()
    factor, size = rounded_scale(scale), len(keys)
    with np.errstate(over="ignore"):
        norms, key_norm = norm_bounds(queries), float(norm_bounds(keys).max())
    # Written so that a NaN refuses.
    if not (float(norms.max()) <= LARGEST and key_norm <= LARGEST):
        raise RefusedError("numbers that are too large, or not finite")
    slope, shift = score_errors(queries.shape[1], norms, np.zeros_like(norms), key_norm)
    off = np.zeros_like(norms) if sums_are_exact(queries, keys) else (slope * key_norm + shift) * UP
    off = (abs(factor) * off * (1 + 8 * UNIT)) * UP
    values, squares = np.empty((len(queries), size)), 0.0
    rows = max(1, _BLOCK // size)
    for first in range(0, len(queries), rows):
        part = slice(first, first + rows)
        found, errors = _rows(queries[part] @ keys.T, factor, off[part], centred)
        values[part] = found
        squares += float(computed_squares(errors[None])[0])
    # At most one rounding for each block beside those of the squares.
    return Dense(values, norm_bound(squares * (1 + gamma(len(queries) + 8)), len(queries)) * UP)


def sums_are_exact(queries: Floats, keys: Floats) -> bool:
    """Whether all products <q_i, k_j> are exact, in any order of their sums.

    Where entries are multiples of 2^-q and 2^-p, so are all products and partial sums multiples of 2^-(q + p), and
    none exceeds |q_i| |k_j|: doubles, as long as that is at most 2^53 of them.
    """
    q, p = coarsest_grid(queries), coarsest_grid(keys)
    if q is None or p is None:
        return False
    size = float(norm_bounds(queries).max()) * float(norm_bounds(keys).max()) * UP
    return size <= 2.0 ** (53 - q - p)


def coarsest_grid(matrix: Floats) -> int | None:
    """The least q >= 0 with all entries multiples of 2^-q; None if that is more than 26."""
    grid = _FINEST_GRID
    if not _on_grid(matrix, grid):
        return None
    while grid > 0 and _on_grid(matrix, grid - 1):
        grid -= 1
    return grid


def _on_grid(matrix: Floats, grid: int) -> bool:
    scaled = np.ldexp(matrix, grid)
    return bool((np.floor(scaled) == scaled).all())


def _rows(scores: Floats, factor: float, off: Floats, centred: bool) -> tuple[Floats, Floats]:
    """Rows of M from their sums <q_i, k_j>, which are off by `off` after scaling, and how far they are off in norm."""
    scores *= factor
    largest, least = scores.max(axis=1), scores.min(axis=1)
    require_reach(float(least.min()), float(largest.max()))
    # The factor is within 2 u, and its product with a sum within u.
    delta = (off + 4 * UNIT * np.maximum(np.abs(largest), np.abs(least)) + UNDERFLOW) * UP
    if not float(delta.max()) <= LARGEST_SCORE_ERROR:
        raise RefusedError("scores that are too large for their rounding errors to be small")
    exponent = np.floor(largest / LN2)[:, None]
    np.maximum(scores, (exponent - DEPTH) * LN2, out=scores)
    weights = np.empty_like(scores)
    exp_shifted(scores, exponent, weights, Work(weights.shape))
    size = weights.shape[1]
    shares = weights / weights.sum(axis=1)[:, None]
    root = math.sqrt(size)
    values = (shares - 1 / size) * root if centred else shares * root
    relative = _relative_error(beta(delta, relative_error()), gamma(size + 8))
    # Of a share: what weights and sum are off by, and its rounding; of 1/d: u; of the last steps: 4 u of the value.
    errors = root * (relative + 4 * UNIT) * norm_bounds(shares) + 4 * UNIT * norm_bounds(values)
    errors += 2 * UNIT * centred + size * (_RAISED + 8 * UNDERFLOW)
    return values, errors * UP


def _relative_error(weight: Floats, total: float) -> Floats:
    """A bound of |p / (v / z) - 1| for p = W / sum W, |W / v - 1| <= weight, and |sum v / z - 1| <= total.

    (1 + b) / ((1 - g) (1 - b)) - 1 <= (2 b + g) / ((1 - g) (1 - b)).
    """
    found: Floats = (2 * weight + total) * UP / ((1 - total) * (1 - weight) * DOWN) * UP
    return found
