"""Softmax attention of queries that each see the first tokens of a prompt alone. Docs: binary64.md.

A query a that sees n tokens, with the scores s_t = <a, k_t> and their mean s_bar over these n, has

    m(a) = sum_t p_t v_t,   p_t = e^(s_t) / sum_r e^(s_r),   and   m(0) + C(0) a = (A + B - s_bar A) / n,
    A = sum_t v_t,   B = sum_t s_t v_t,

the second because C(0) a = (1/n) sum_t v_t <k_t - k_bar, a>. So no moments of prefixes are needed, and both come by
blocks of queries and tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certattn.fast.attention import StoredPrompt
from certattn.fast.balls import Ball, difference
from certattn.fast.exponential import score_errors
from certattn.fast.heads import QUERIES, TOKENS, Head, attended, joined
from certattn.fast.rows import gathered, norm_bounds
from certattn.fast.units import UNDERFLOW, UNIT, UP, Floats, gamma
from certattn.kernel.mathematics.exact_matrix import ExactMatrix


@np.errstate(all="ignore")
def beside_surrogate_of_prefixes(prompt: StoredPrompt, stated: ExactMatrix, seen: Sequence[int]) -> tuple[Ball, Ball]:
    """V m(a) and V (m(a) - m(0) - C(0) a) for every row of `stated`, over the first `seen` tokens of each.

    Every query sees a token at least. Raises Binary64Error.
    """
    queries, radius = prompt.effective(stated)
    chunks = [(gathered([some], some.shape), gathered([others], others.shape)) for some, others in prompt.chunks()]
    keys, values = (np.vstack(part) for part in zip(*chunks, strict=True))
    # The sums come first: they refuse what is too large for bounds.
    head = Head(queries, radius, keys, values, [0] * len(seen), seen)
    means = attended(head).means
    return prompt.mapped(means), prompt.mapped(difference(means, linear_means(head)))


def linear_means(head: Head) -> Ball:
    """m(0) + C(0) a for every query, for a head that `attended` has not refused, whose queries see first tokens."""
    key_norm = float(norm_bounds(head.keys).max())
    slope, shift = score_errors(head.keys.shape[1], norm_bounds(head.queries), head.radius, key_norm)
    delta = (slope * key_norm + shift) * UP
    rows = len(head.queries)
    parts = [slice(start, min(start + QUERIES, rows)) for start in range(0, rows, QUERIES)]
    return joined([_of_part(head, part, delta[part, None]) for part in parts])


def _of_part(head: Head, part: slice, delta: Floats) -> Ball:
    queries, keys, values, seen = head.queries[part], head.keys, head.values, np.array(head.last[part])[:, None]
    largest, stop = np.abs(values).max(axis=0), int(seen.max())
    scored, plain = np.zeros((len(queries), values.shape[1])), np.zeros((len(queries), values.shape[1]))
    scores_sum, size = np.zeros((len(queries), 1)), np.zeros((len(queries), 1))
    for first in range(0, stop, TOKENS):
        tokens = slice(first, min(first + TOKENS, stop))
        visible = (np.arange(tokens.start, tokens.stop) < seen).astype(np.float64)
        scores = (queries @ keys[tokens].T) * visible
        scored += scores @ values[tokens]
        plain += visible @ values[tokens]
        scores_sum += scores.sum(axis=1, keepdims=True)
        size = np.maximum(size, np.abs(scores).max(axis=1, keepdims=True))
    mean = scores_sum / seen
    middle = (plain + (scored - mean * plain)) / seen
    # Per token, in units of the largest value: the score and its mean are off by delta each; A, B and the sum of scores
    # round by g of what they add up, 1 or |s|; then a product, a difference, a sum and a quotient of at most 1 + 2 |s|.
    g = gamma(min(TOKENS, stop) + stop // TOKENS + 8)
    off = 2 * delta + 2 * g * (1 + 2 * size) + 16 * UNIT * (1 + size)
    underflow = 8 * (stop + 8) * UNDERFLOW * (1 + size) * float(1 + largest.max())
    return Ball(middle, (off * largest + underflow) * UP)
