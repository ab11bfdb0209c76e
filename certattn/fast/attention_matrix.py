"""The attention matrix of queries and keys in doubles, within a proved distance. Docs: binary64.md.

M = sqrt(d) (A - 1 1'/d)   or   M = sqrt(d) A,   A_ij = e^(s <q_i, k_j>) / sum_j e^(s <q_i, k_j>).

Under a causal mask query i sees the first i keys alone: sums are over j <= i, C takes the place of 1 1'/d, with
C_ij = 1/i for j <= i, and everything is 0, exactly, for j > i.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from certattn.fast.balls import rounded_scale
from certattn.fast.exponential import (
    DEPTH,
    LARGEST_SCORE_ERROR,
    LN2,
    Work,
    beta,
    exp_shifted,
    relative_error,
    require_reach,
    score_errors,
)
from certattn.fast.rows import Dense, computed_squares, frobenius_bound, norm_bound, norm_bounds
from certattn.fast.units import DOWN, LARGEST, UNDERFLOW, UNIT, UP, Floats, gamma, require_sound_arithmetic
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.linearization import Stage, normaliser_excess
from certattn.kernel.mathematics.reals import Real

# Doubles in a block of scores.
_BLOCK = 2**19
# Entries are looked at as multiples of 2^-q up to this q: two of them fill a double.
_FINEST_GRID = 26
# Integers of so many bits have room in 64, with their sign.
_INTEGER_BITS = 62
# More than raised weights can change in a row: they and the true ones are below 2^-998 of the largest.
RAISED = 2.0**-900

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Normalisers:
    """sum_j e^(s <q_i, k_j>) = 2^exponent z_i with |z_i - sums| <= radii, for every query; exponents are whole."""

    exponents: Floats
    sums: Floats
    radii: Floats


def attention_matrix(queries: Floats, keys: Floats, scale: Real, *, centred: bool, causal: bool) -> Dense:
    """M for d queries and d keys (d x p each, doubles exactly), under a causal mask if asked.

    Raises RefusedError or GuardError.
    """
    return normalised(queries, keys, scale, centred=centred, causal=causal)[0]


def normalised(queries: Floats, keys: Floats, scale: Real, *, centred: bool, causal: bool) -> tuple[Dense, Normalisers]:
    """M and what its rows were divided by. Raises RefusedError or GuardError."""
    require_sound_arithmetic()
    factor, off = rounded_scale(scale), scaled_sums_error(queries, keys, scale)
    values, squares = np.empty((len(queries), len(keys))), 0.0
    sight = np.arange(1.0, len(queries) + 1) if causal else None
    known = Normalisers(*(np.empty(len(queries)) for _ in range(3)))
    for part in row_blocks(len(queries), len(keys)):
        seen = None if sight is None else sight[part]
        found, errors, normalisers = _rows(queries[part] @ keys.T, factor, off[part], centred, seen)
        values[part] = found
        known.exponents[part], known.sums[part] = normalisers.exponents, normalisers.sums
        known.radii[part] = normalisers.radii
        squares += float(computed_squares(errors[None])[0])
    return Dense(values, norm_of_errors(squares, len(queries))), known


def row_blocks(queries: int, keys: int) -> Iterator[slice]:
    """Rows of scores that are computed at a time."""
    rows = max(1, _BLOCK // keys)
    for first in range(0, queries, rows):
        yield slice(first, first + rows)


def norm_of_errors(squares: float, rows: int) -> float:
    """An upper bound of a norm from its square, which was added up block by block."""
    # At most one rounding for each block beside those of the squares.
    return norm_bound(squares * (1 + gamma(rows + 8)), rows) * UP


def scaled_sums_error(queries: Floats, keys: Floats, scale: Real) -> Floats:
    """How far computed products <q_i, k_j> times the scale may be off, by query. Raises RefusedError."""
    factor = rounded_scale(scale)
    with np.errstate(over="ignore"):
        norms, key_norm = norm_bounds(queries), float(norm_bounds(keys).max())
    # Written so that a NaN refuses.
    if not (float(norms.max()) <= LARGEST and key_norm <= LARGEST):
        raise RefusedError("numbers that are too large, or not finite")
    slope, shift = score_errors(queries.shape[1], norms, np.zeros_like(norms), key_norm)
    off = np.zeros_like(norms) if sums_are_exact(queries, keys) else (slope * key_norm + shift) * UP
    found: Floats = (abs(factor) * off * (1 + 8 * UNIT)) * UP
    return found


def score_error(off: Floats, largest: Floats) -> Floats:
    """How far scores may be off by row, from the error of their scaled sums and the largest size of a computed one."""
    # The factor is within 2 u, and its product with a sum within u.
    found: Floats = (off + 4 * UNIT * largest + UNDERFLOW) * UP
    return found


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
    """The least q >= 0 with all entries multiples of 2^-q; None if that is more than 26, or for entries of 2^36."""
    # Written so that a NaN is none.
    if not float(np.abs(matrix).max()) < 2.0 ** (_INTEGER_BITS - _FINEST_GRID):
        return None
    scaled = matrix * 2.0**_FINEST_GRID
    if not bool((np.floor(scaled) == scaled).all()):
        return None
    # Of integers the last bit that any of them has: negative ones have the same as without their sign.
    bits = int(np.bitwise_or.reduce(scaled.astype(np.int64), axis=None))
    last = (bits & -bits).bit_length() - 1
    return max(0, _FINEST_GRID - last) if bits else 0


def _rows(
    scores: Floats, factor: float, off: Floats, centred: bool, seen: Floats | None
) -> tuple[Floats, Floats, Normalisers]:
    """Rows of M from their sums <q_i, k_j>, which are off by `off` after scaling, how far they are off in norm, and
    their normalisers. `seen` says of how many of the first tokens, None of all."""
    scores *= factor
    visible = None if seen is None else first_of(scores.shape[1], seen)
    if visible is not None:
        scores = scores_of_seen(scores, visible)
    largest, least = scores.max(axis=1), scores.min(axis=1)
    require_reach(float(least.min()), float(largest.max()))
    delta = score_error(off, np.maximum(np.abs(largest), np.abs(least)))
    if not float(delta.max()) <= LARGEST_SCORE_ERROR:
        raise RefusedError("scores that are too large for their rounding errors to be small")
    exponent, weights = exponentials(scores, largest)
    size = weights.shape[1]
    level: Floats | float = 1 / size
    if visible is not None and seen is not None:
        # Of a token that is not seen all is 0 from here on.
        weights *= visible
        level = visible / seen[:, None]
    sums = weights.sum(axis=1)
    shares = weights / sums[:, None]
    root = math.sqrt(size)
    values = (shares - level) * root if centred else shares * root
    weight, rounding = beta(delta, relative_error()), gamma(size + 8)
    relative = share_error(weight, rounding)
    # Of a share: what weights and sum are off by, and its rounding; of n numbers 1/n: u sqrt(d/n); of the last steps:
    # 4 u of the value.
    errors = root * (relative + 4 * UNIT) * norm_bounds(shares) + 4 * UNIT * norm_bounds(values)
    errors += 2 * UNIT * centred * (1.0 if seen is None else np.sqrt(size / seen)) + size * (RAISED + 8 * UNDERFLOW)
    # |W / v - 1| <= weight for the weights themselves, and |sum v / z - 1| <= rounding.
    radii = (sums * (weight + rounding + weight * rounding) + size * (RAISED + 8 * UNDERFLOW)) * UP
    return values, errors * UP, Normalisers(exponent[:, 0], sums, radii)


# -- the stages of `mathematics.linearization`
#
# The stages of `mathematics.linearization` in doubles, within proved distances. Docs: binary64.md.
#
# M comes from `attention_matrix`, L = s Q K' Pi / sqrt(d) from the same sums, and tbar from the normalisers of M.


@dataclass(frozen=True)
class Parts:
    """M and L in doubles, and tbar in Arb balls; the last is empty where no c_i are meant."""

    attention: Dense
    linear: Dense
    excess: Sequence[arb]

    def stage(self, stage: Stage) -> Dense:
        """A stage, d x d. Raises RefusedError for what is too large."""
        excess = self.excess or [arb(0)] * len(self.attention.values)
        return combined(stage, excess, self.attention, self.linear)


def parts(queries: Floats, keys: Floats, scale: Real, rate: fmpq | None) -> Parts:
    """M, L and tbar of d queries and keys (d x p each, doubles exactly), with c_i = rate |q_i|^2.

    tbar is enclosed at the working precision. Raises RefusedError or GuardError.
    """
    attention, normalisers = normalised(queries, keys, scale, centred=True, causal=False)
    linear = linear_part(queries, keys, scale)
    excess = [] if rate is None else _excess(queries, normalisers, rate)
    return Parts(attention, linear, excess)


def linear_part(queries: Floats, keys: Floats, scale: Real) -> Dense:
    """L = s Q K' Pi / sqrt(d). Raises RefusedError or GuardError."""
    require_sound_arithmetic()
    factor, off = rounded_scale(scale), scaled_sums_error(queries, keys, scale)
    values, squares = np.empty((len(queries), len(keys))), 0.0
    for part in row_blocks(len(queries), len(keys)):
        found, errors = _centred(queries[part] @ keys.T * factor, off[part])
        values[part] = found
        squares += float(computed_squares(errors[None])[0])
    return Dense(values, norm_of_errors(squares, len(queries)))


def combined(stage: Stage, excess: Sequence[arb], attention: Dense, linear: Dense) -> Dense:
    """diag(a + b tbar) M + c L. Raises RefusedError for what is too large."""
    balls = [arb(stage.factor(entry)) for entry in excess]
    # Written so that a NaN refuses.
    if not all((abs(ball) < LARGEST) is True for ball in balls):
        raise RefusedError("normalisers that are too large, or not finite")
    factors = np.array([float(ball.mid()) for ball in balls])
    off = max(float(abs(ball - near).upper()) for ball, near in zip(balls, factors.tolist(), strict=True))
    off = off * UP + UNDERFLOW
    largest = (float(np.abs(factors).max()) + off) * UP
    scaled = factors[:, None] * attention.values
    values = scaled + stage.linear * linear.values
    error = off * frobenius_bound(attention.values) + largest * attention.error + abs(stage.linear) * linear.error
    # A product and a sum round by u of what they are, or underflow.
    error += 2 * UNIT * (frobenius_bound(scaled) + frobenius_bound(values)) + 4 * math.sqrt(values.size) * UNDERFLOW
    return Dense(values, error * UP)


def _centred(scores: Floats, off: Floats) -> tuple[Floats, Floats]:
    """Scores less their mean over sqrt(d), by row, and how far they are off in norm; `off` as in `score_error`."""
    size = scores.shape[1]
    largest = np.abs(scores).max(axis=1)
    # Written so that a NaN refuses.
    if not float(largest.max()) <= LARGEST:
        raise RefusedError("scores that are too large, or not finite")
    values = (scores - scores.mean(axis=1)[:, None]) / math.sqrt(size)
    # Pi makes no error larger, and entries off by x make a row of norm sqrt(d) x; the mean is off by gamma of the
    # largest score, and difference, root and quotient by 4 u of the value.
    errors = score_error(off, largest) + gamma(size + 8) * largest + 4 * UNIT * norm_bounds(values)
    return values, (errors + 8 * size * UNDERFLOW) * UP


def _excess(queries: Floats, normalisers: Normalisers, rate: fmpq) -> list[arb]:
    """tbar_i, from sums of weights and |q_i|^2."""
    size, terms = queries.shape
    squares = computed_squares(queries)
    # Relative to the computed sum of terms that are not negative; then what underflowed.
    errors = (gamma(terms + 8) * squares + 4 * terms * UNDERFLOW) * UP
    half, log2 = arb(rate), arb.const_log2()
    found = []
    for exponent, sums, radius, square, error in zip(
        normalisers.exponents.tolist(),
        normalisers.sums.tolist(),
        normalisers.radii.tolist(),
        squares.tolist(),
        errors.tolist(),
        strict=True,
    ):
        shift = int(exponent) * log2 - half * arb(square, error)
        found.append(normaliser_excess(arb(sums, radius), shift, size))
    return found


# -- rows of scores, of which a query may see the first alone


def first_of(tokens: int, seen: Floats) -> Mask:
    """Which tokens queries see that see the first `seen` of them, a row for each query."""
    return np.arange(tokens)[None, :] < seen[:, None]


def scores_of_seen(scores: Floats, visible: Mask) -> Floats:
    """Scores where what is not seen has the largest that is, so that it reaches no limit; every row sees something."""
    largest = np.where(visible, scores, -np.inf).max(axis=1)
    return np.where(visible, scores, largest[:, None])


def exponentials(scores: Floats, largest: Floats) -> tuple[Floats, Floats]:
    """K and 2^-K e^s by row, for scores within reach of `require_reach` whose largest are known; overwrites them.

    Scores that are far below the largest are raised first: see RAISED.
    """
    exponent = np.floor(largest / LN2)[:, None]
    np.maximum(scores, (exponent - DEPTH) * LN2, out=scores)
    weights = np.empty_like(scores)
    exp_shifted(scores, exponent, weights, Work(weights.shape))
    return exponent, weights


def share_error(weight: Floats, total: float) -> Floats:
    """A bound of |p / (v / z) - 1| for p = W / sum W, |W / v - 1| <= weight, and |sum v / z - 1| <= total.

    (1 + b) / ((1 - g) (1 - b)) - 1 <= (2 b + g) / ((1 - g) (1 - b)).
    """
    found: Floats = (2 * weight + total) * UP / ((1 - total) * (1 - weight) * DOWN) * UP
    return found
