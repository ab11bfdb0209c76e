"""A descent on the loss of token selection in doubles: where to look for a theorem that applies.

What is found there is confirmed at the enclosed point, so that rounding can only waste time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.mathematics.token_selection import Tokens
from certattn.kernel.theorems.selection.mathematics.selection_constants import NORMALISED, Rule, Start

Array = np.ndarray[Any, Any]

# The steps at which to look are so far apart, relatively.
_SPACING = 1.3


def scouted_descent(
    tokens: Tokens, loss: str, rule: Rule, start: Start, steps: int
) -> Iterator[tuple[int, list[float]]]:
    """p(k) at k = 0, 1, 2, ... and later at longer intervals, and at the last step; it ends where doubles overflow."""
    assert tokens.scores is not None
    assert start.box is not None
    keys = np.array([[_double(x) for x in row] for row in tokens.keys.to_rows()])
    scores = np.array([_double(x) for x in tokens.scores])
    point = np.array([_double(x) for x in start.box[0].row(0)])
    offsets, lengths = np.array(tokens.offsets), np.array(tokens.lengths)
    input_of, size = np.repeat(np.arange(len(lengths)), lengths), _double(rule.unit)
    wanted = 0
    for k in range(steps + 1):
        if not np.all(np.isfinite(point)):
            return
        if k in (wanted, steps):
            yield k, point.tolist()
            wanted = max(k + 1, int(k * _SPACING))
        logits = keys @ point
        shares = np.exp(logits - np.maximum.reduceat(logits, offsets)[input_of])
        shares /= np.add.reduceat(shares, offsets)[input_of]
        means = np.add.reduceat(shares * scores, offsets)
        slopes = _slopes(loss, means)
        weights = slopes[input_of] * (scores - means[input_of])
        turned = rule.kind == NORMALISED
        downhill = _direction(keys, logits, input_of, weights) if turned else (weights * shares) @ keys
        point = point + size * downhill


def _direction(keys: Array, logits: Array, input_of: Array, weights: Array) -> Array:
    """That of the sum of keys under the weights times the softmax weights, whose terms add up to 0 within an input:
    relative to the heaviest tokens, so that nothing cancels or underflows."""
    highest = np.full(input_of[-1] + 1, -np.inf)
    np.maximum.at(highest, input_of, logits)
    tops = np.flatnonzero(logits == highest[input_of])
    chosen = tops[np.unique(input_of[tops], return_index=True)[1]]
    relative = logits - highest[input_of] - np.log(np.bincount(input_of, np.exp(logits - highest[input_of])))[input_of]
    relative[chosen] = -np.inf
    sums = (weights * np.exp(relative - relative.max())) @ (keys - keys[chosen][input_of])
    return np.asarray(sums / (np.linalg.norm(sums) or np.nan))


def _double(x: fmpq) -> float:
    return float(arb(x))


def _slopes(loss: str, scores: Array) -> Array:
    """-l' at these scores."""
    with np.errstate(over="ignore"):
        if loss == "linear":
            return np.ones_like(scores)
        return np.asarray(np.exp(-scores) if loss == "exponential" else 1 / (1 + np.exp(scores)))
