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
        downhill = (slopes[input_of] * shares * (scores - means[input_of])) @ keys
        if rule.kind == NORMALISED:
            downhill = downhill / (np.linalg.norm(downhill) or np.nan)
        point = point + size * downhill


def _double(x: fmpq) -> float:
    return float(arb(x))


def _slopes(loss: str, scores: Array) -> Array:
    """-l' at these scores."""
    with np.errstate(over="ignore"):
        if loss == "linear":
            return np.ones_like(scores)
        return np.asarray(np.exp(-scores) if loss == "exponential" else 1 / (1 + np.exp(scores)))
