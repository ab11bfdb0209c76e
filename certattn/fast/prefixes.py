"""Softmax attention of queries that each see the first tokens of a prompt alone. Docs: binary64.md.

A query a that sees n tokens, with the scores s_t = <a, k_t> and their mean s_bar over these n, has

    m(a) = sum_t p_t v_t,   p_t = e^(s_t) / sum_r e^(s_r),   and   m(0) + C(0) a = sum_t (1 + s_t - s_bar) / n v_t,

the second because C(0) a = (1/n) sum_t v_t <k_t - k_bar, a>. So all queries take two products with the values,
and no moments of prefixes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certattn.fast.attention import StoredPrompt
from certattn.fast.balls import Ball, difference, product
from certattn.fast.exponential import (
    LARGEST_SCORE_ERROR,
    RAISED,
    Mask,
    beta,
    exponentials,
    first_of,
    relative_error,
    require_reach,
    score_errors,
    scores_of_seen,
    share_error,
)
from certattn.fast.rows import gathered, norm_bounds
from certattn.fast.units import LARGEST, UNDERFLOW, UNIT, UP, Floats, gamma, require_sound_arithmetic
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

# Tokens in memory at once, and terms of the products with them.
MOST_TOKENS = 2**11
# Doubles in a block of scores.
_BLOCK = 2**19


@np.errstate(all="ignore")
def beside_surrogate_of_prefixes(prompt: StoredPrompt, stated: ExactMatrix, seen: Sequence[int]) -> tuple[Ball, Ball]:
    """V m(a) and V (m(a) - m(0) - C(0) a) for every row of `stated`, over the first `seen` tokens of each.

    Every query sees a token at least. Raises Binary64Error.
    """
    require_sound_arithmetic()
    queries, radius = prompt.effective(stated)
    keys, values = _tokens(prompt)
    sight = np.asarray(seen, np.float64)
    if len(sight) != len(queries) or bool(((sight < 1) | (sight > len(keys))).any()):
        raise ValueError("every query sees at least one token, and at most all")
    rows = max(1, _BLOCK // len(keys))
    parts = [slice(first, first + rows) for first in range(0, len(queries), rows)]
    found = [_weights(queries[part], radius[part], keys, sight[part]) for part in parts]
    means = _joined([product(softmax, values) for softmax, _ in found])
    off = _joined([product(difference(softmax, linear), values) for softmax, linear in found])
    return prompt.mapped(means), prompt.mapped(off)


def _tokens(prompt: StoredPrompt) -> tuple[Floats, Ball]:
    """Keys, and values as balls without radii; both are doubles exactly. Raises RefusedError."""
    keys: list[Floats] = []
    values: list[Floats] = []
    tokens = 0
    for some, others in prompt.chunks():
        tokens += some.shape[0]
        if tokens > MOST_TOKENS:
            raise RefusedError(f"a mask over more than {MOST_TOKENS} tokens")
        keys.append(gathered([some], some.shape))
        values.append(gathered([others], others.shape))
    table = np.vstack(values)
    return np.vstack(keys), Ball(table, np.zeros_like(table))


def _weights(queries: Floats, radius: Floats, keys: Floats, seen: Floats) -> tuple[Ball, Ball]:
    """p_t and (1 + s_t - s_bar) / n, a row for each query; 0, exactly, for the tokens that it does not see."""
    dimension, tokens = queries.shape[1], len(keys)
    norms, key_norm = norm_bounds(queries), float(norm_bounds(keys).max())
    # Written so that a NaN refuses.
    if not (float(norms.max()) <= LARGEST and float(radius.max()) <= LARGEST and key_norm <= LARGEST):
        raise RefusedError("numbers that are too large, or not finite")
    slope, shift = score_errors(dimension, norms, radius, key_norm)
    delta = (slope * key_norm + shift) * UP
    if not float(delta.max()) <= LARGEST_SCORE_ERROR:
        raise RefusedError("scores that are too large for their rounding errors to be small")
    scores = queries @ keys.T
    visible = first_of(tokens, seen)
    scores = scores_of_seen(scores, visible)
    largest = scores.max(axis=1)
    require_reach(float(scores.min()), float(largest.max()))
    linear = _linear(scores, visible, delta, seen[:, None])
    _, weights = exponentials(scores, largest)
    # Of a token that is not seen the weight is 0.
    weights *= visible
    shares = weights / weights.sum(axis=1)[:, None]
    # Weights and their sum, the quotient's rounding, and weights that were raised.
    relative = share_error(beta(delta, relative_error()), gamma(tokens + 8)) + 4 * UNIT
    off = (shares * relative[:, None] + tokens * (RAISED + 8 * UNDERFLOW)) * UP
    return Ball(shares, off * visible), linear


def _linear(scores: Floats, visible: Mask, delta: Floats, seen: Floats) -> Ball:
    """(1 + s_t - s_bar) / n for the tokens that are seen, for scores that are off by `delta`."""
    terms = scores.shape[1]
    size = np.abs(scores).max(axis=1)[:, None]
    mean = (scores * visible).sum(axis=1)[:, None] / seen
    middle = (1 + (scores - mean)) / seen * visible
    # The score and the mean are off by delta each, the mean by its rounding; then a difference of at most 2 |s|, a sum
    # with 1, a quotient.
    rounding = gamma(terms + 4) * size + 4 * UNIT * (2 + 2 * size) + (terms + 4) * UNDERFLOW
    off = (2 * delta[:, None] + rounding) * UP / seen + 2 * UNDERFLOW
    return Ball(middle, off * UP * visible)


def _joined(parts: list[Ball]) -> Ball:
    return Ball(np.vstack([part.middle for part in parts]), np.vstack([part.radius for part in parts]))
