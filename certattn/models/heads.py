"""What a model gives: the queries, keys and values of its heads, layer by layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from certattn.kernel.errors import UsageError

Floats = NDArray[np.floating[Any]]
Ids = NDArray[np.int64]
# Scores that are held at a time: 8 MB of doubles.
_BLOCK = 2**20


@dataclass(frozen=True)
class LayerHeads:
    """One layer on one prompt: queries, keys and values, heads x tokens x dimension each.

    window: how many of the last tokens a query sees, None for all. shares: heads x tokens, the length of what the head
    adds to the residual stream by that of the stream there; None where that is not known.
    """

    layer: int
    queries: Floats
    keys: Floats
    values: Floats
    window: int | None = None
    shares: Floats | None = None


@dataclass(frozen=True)
class Shape:
    """Layers, heads in each, the scale of the scores as certificates write it, and whether there is a mask.

    cap: c where scores s become c tanh(s / c) before the softmax.
    """

    family: str
    layers: int
    heads: int
    scale: str
    causal: bool
    cap: float | None = None


class Model(Protocol):
    """A model that runs on token ids."""

    @property
    def shape(self) -> Shape: ...

    @property
    def vocabulary(self) -> int:
        """The number of token ids."""

    @property
    def most_tokens(self) -> int:
        """The longest prompt that it takes."""

    def heads(self, ids: Ids, layers: int) -> Iterator[LayerHeads]:
        """The first so many layers, one after the other. Raises UsageError."""


def split_heads(rows: Floats, heads: int) -> Floats:
    """Rows of all heads side by side (tokens x heads d) as heads x tokens x d."""
    tokens, columns = rows.shape
    return np.ascontiguousarray(rows.reshape(tokens, heads, columns // heads).transpose(1, 0, 2))


def repeated(rows: Floats, heads: int) -> Floats:
    """Keys or values that several query heads in a row share, once for each of them. Raises UsageError."""
    if heads % len(rows) != 0:
        raise UsageError(f"{heads} heads of queries share {len(rows)} of keys; expected a divisor of {heads}")
    return np.repeat(rows, heads // len(rows), axis=0)


def attend(
    queries: Floats,
    keys: Floats,
    values: Floats,
    scale: float,
    *,
    causal: bool,
    window: int | None = None,
    cap: float | None = None,
) -> Floats:
    """Softmax attention of every head: heads x tokens x d. Some queries at a time, so that long prompts fit."""
    tokens = keys.shape[1]
    outputs = np.empty((*queries.shape[:2], values.shape[2]), values.dtype)
    rows = max(1, _BLOCK // tokens)
    for head in range(len(queries)):
        for first in range(0, queries.shape[1], rows):
            last = min(first + rows, queries.shape[1])
            # No query of these sees a token before `begin`, or one from `end` on.
            begin = max(0, first + 1 - window) if window is not None else 0
            end = last if causal else tokens
            scores = queries[head, first:last] @ keys[head, begin:end].T
            scores *= scale
            if cap is not None:
                scores = np.tanh(scores / cap) * cap
            if causal:
                query, key = np.arange(first, last)[:, None], np.arange(begin, end)[None, :]
                hidden = key > query
                if window is not None:
                    hidden |= key <= query - window
                scores[hidden] = -np.inf
            scores -= scores.max(axis=1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=1, keepdims=True)
            outputs[head, first:last] = scores @ values[head, begin:end]
    return outputs


def side_by_side(outputs: Floats) -> Floats:
    """Heads x tokens x d as tokens x heads d."""
    joined: Floats = outputs.transpose(1, 0, 2).reshape(outputs.shape[1], -1)
    return joined
