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
from certattn.provers.rounding import doubles

Array = np.ndarray[Any, Any]

# The steps at which to look are so far apart, relatively.
_SPACING = 1.3


def scouted_descent(
    tokens: Tokens, loss: str, rule: Rule, start: Start, last: int
) -> Iterator[tuple[int, list[float]]]:
    """p(k) at k = 0, 1, 2, ... and later at longer intervals, and at the last step; it ends where doubles overflow."""
    assert start.box is not None
    for k, points in scouted_descents(tokens, loss, rule, doubles(start.box[0]), last):
        yield k, points[0].tolist()


def scouted_descents(tokens: Tokens, loss: str, rule: Rule, points: Array, last: int) -> Iterator[tuple[int, Array]]:
    """The same from each of some points, one per row; it ends where all overflow."""
    assert tokens.scores is not None
    keys, scores = doubles(tokens.keys), np.array([_double(x) for x in tokens.scores])
    offsets, size = np.array(tokens.offsets), _double(rule.unit)
    input_of = np.repeat(np.arange(tokens.count), tokens.lengths)
    wanted = 0
    for k in range(last + 1):
        if not np.isfinite(points).all(axis=1).any():
            return
        if k in (wanted, last):
            yield k, points
            wanted = max(k + 1, int(k * _SPACING))
        logits = points @ keys.T
        relative = logits - np.maximum.reduceat(logits, offsets, axis=1)[:, input_of]
        powers = np.exp(relative)
        sums = np.add.reduceat(powers, offsets, axis=1)[:, input_of]
        shares = powers / sums
        means = np.add.reduceat(shares * scores, offsets, axis=1)
        weights = _slopes(loss, means)[:, input_of] * (scores - means[:, input_of])
        if rule.kind == NORMALISED:
            downhill = _directions(keys, relative, np.log(sums), offsets, weights)
        else:
            downhill = (weights * shares) @ keys
        points = points + size * downhill


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


def _directions(keys: Array, relative: Array, logarithms: Array, offsets: Array, weights: Array) -> Array:
    """Those of the sums of keys under the weights times the softmax weights, whose terms add up to 0 within an input:
    relative to the heaviest tokens, so that nothing cancels or underflows."""
    last = len(keys) - 1
    chosen = np.minimum.reduceat(np.where(relative == 0, np.arange(last + 1), last), offsets, axis=1)
    logs = relative - logarithms
    np.put_along_axis(logs, chosen, -np.inf, axis=1)
    terms = weights * np.exp(logs - logs.max(axis=1, keepdims=True))
    np.put_along_axis(terms, chosen, -np.add.reduceat(terms, offsets, axis=1), axis=1)
    sums = terms @ keys
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.where(lengths > 0, lengths, np.nan))


def _double(x: fmpq) -> float:
    return float(arb(x))


def _slopes(loss: str, scores: Array) -> Array:
    """-l' at these scores."""
    with np.errstate(over="ignore"):
        if loss == "linear":
            return np.ones_like(scores)
        return np.asarray(np.exp(-scores) if loss == "exponential" else 1 / (1 + np.exp(scores)))
