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


@dataclass(frozen=True)
class LayerHeads:
    """One layer on one prompt: queries, keys and values, heads x tokens x dimension each."""

    layer: int
    queries: Floats
    keys: Floats
    values: Floats


@dataclass(frozen=True)
class Shape:
    """Layers, heads in each, the scale of the scores as certificates write it, and whether there is a mask."""

    family: str
    layers: int
    heads: int
    scale: str
    causal: bool


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


def attend(heads: LayerHeads, scale: float, *, causal: bool) -> Floats:
    """Softmax attention of every head, side by side: tokens x heads d."""
    scores = heads.queries @ heads.keys.transpose(0, 2, 1) * scale
    if causal:
        hidden = np.triu(np.ones(scores.shape[1:], bool), 1)
        scores = np.where(hidden, -np.inf, scores)
    scores -= scores.max(axis=2, keepdims=True)
    weights = np.exp(scores)
    outputs = weights / weights.sum(axis=2, keepdims=True) @ heads.values
    joined: Floats = outputs.transpose(1, 0, 2).reshape(outputs.shape[1], -1)
    return joined
