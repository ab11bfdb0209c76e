"""The stages of `mathematics.linearization` in doubles, within proved distances. Docs: binary64.md.

M comes from `attention_matrix`, L = s Q K' Pi / sqrt(d) from the same sums, and tbar from the normalisers of M.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, fmpq

from certattn.fast.attention_matrix import (
    Normalisers,
    norm_of_errors,
    normalised,
    row_blocks,
    scaled_sums_error,
    score_error,
)
from certattn.fast.conversions import rounded_scale
from certattn.fast.dense import Dense, frobenius_bound
from certattn.fast.guards import require_sound_arithmetic
from certattn.fast.rows import Floats, computed_squares, norm_bounds
from certattn.fast.units import LARGEST, UNDERFLOW, UNIT, UP, gamma
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.linearization import Stage, normaliser_excess
from certattn.kernel.mathematics.reals import Real


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
        found.append(normaliser_excess(arb(sums, radius), shift, size, BALLS))
    return found
