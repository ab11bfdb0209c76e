"""A descent on the loss of token selection, in doubles, or the flow: where to look for a theorem that applies.

What is found there is confirmed at the enclosed point, so that rounding can only waste time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.mathematics.enclosure import around
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.selection_flow import SelectionFlow, taylor_order
from certattn.kernel.mathematics.selection_landscape import inner, landscape
from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.mathematics.validated_flow import steps
from certattn.kernel.theorems.selection.mathematics.selection_constants import NORMALISED, Rule, Start

Array = np.ndarray[Any, Any]

# The steps at which to look are so far apart, relatively.
_SPACING = 1.3


def scouted_descent(
    tokens: Tokens, loss: str, rule: Rule, start: Start, last: int
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
    for k in range(last + 1):
        if not np.all(np.isfinite(point)):
            return
        if k in (wanted, last):
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


def scouted_flow(tokens: Tokens, loss: Loss, rule: Rule, start: Start, last: int) -> Iterator[tuple[int, list[float]]]:
    """p(t) at the times 0, 1, 2, ... and later at longer intervals, and at the last one, of the flow from the centre.

    By the kernel's own Taylor method, for the tokens that are heaviest at a time; it ends where nothing is enclosed.
    """
    here = around([ball.mid() for ball in start.balls()])
    time = wanted = 0
    while True:
        yield time, [float(x) for x in here.centre]
        if time >= last:
            return
        wanted = min(max(time + 1, int(time * _SPACING)), last)
        reached = fmpq(time)
        while reached < wanted:
            selection = Selection(tokens, heaviest(tokens, here.centre))
            field = SelectionFlow(landscape(selection, loss), arb(rule.unit))
            piece = next(steps(field, here, wanted - reached, taylor_order()), None)
            if piece is None:
                return
            here, reached = piece.end, reached + piece.duration
        time = wanted


def heaviest(tokens: Tokens, point: Sequence[arb]) -> tuple[int, ...]:
    """The tokens of largest softmax weight at a point, about."""
    logits = [float(inner([arb(entry) for entry in row], point)) for row in tokens.keys.to_rows()]
    rows = [logits[tokens.rows_of(i).start : tokens.rows_of(i).stop] for i in range(tokens.count)]
    return tuple(row.index(max(row)) for row in rows)


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
