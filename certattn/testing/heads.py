"""Attention over arrays in memory, head by head, with proved bounds: what a test of a kernel compares with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from certattn.fast.balls import rounded_scale
from certattn.fast.heads import Head, scaled
from certattn.fast.units import Floats
from certattn.kernel.decide.floating_point import default_floating_point
from certattn.kernel.document.numbers import NumberError, parse_real
from certattn.kernel.errors import UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import Real, real_root
from certattn.kernel.theorems.attention.stated_heads import BOTTOM_RIGHT, TOP_LEFT, Sight, sight_of
from certattn.testing.arrays import Numbers

LAYOUTS = ("bhsd", "bshd")


@dataclass(frozen=True)
class Masks:
    """Which tokens a query sees, as `certattn.testing.attention_error` takes it."""

    causal: bool | int | str = False
    window: int | None = None
    lengths: Sequence[int] | None = None
    sequences: tuple[Sequence[int], Sequence[int]] | None = None

    @property
    def offset(self) -> int | str | None:
        """How far the diagonal of a causal mask is moved, as certificates state it; None where there is none."""
        return None if self.causal is False else TOP_LEFT if self.causal is True else self.causal

    def require(self, queries: int, tokens: int) -> None:
        """Raises UsageError for what makes no sense, or could be meant in two ways."""
        if self.causal is True and queries != tokens and self.lengths is None and self.sequences is None:
            raise UsageError(
                f"causal is True for {queries} queries and {tokens} keys; expected '{TOP_LEFT}', where query 0 sees "
                f"key 0 alone (torch), '{BOTTOM_RIGHT}', where the last query sees all (flash-attention), or an offset"
            )
        if isinstance(self.causal, str) and self.causal not in (TOP_LEFT, BOTTOM_RIGHT):
            raise UsageError(f"causal is {self.causal!r}, expected True, '{TOP_LEFT}', '{BOTTOM_RIGHT}' or an offset")
        if self.window is not None and (self.causal is False or self.window < 1):
            raise UsageError("a window is one of a causal mask, and of at least one token")
        if self.lengths is not None and self.sequences is not None:
            raise UsageError("lengths and sequences beside each other, expected one of them")


@dataclass(frozen=True)
class Heads:
    """Query heads over all batches, in their order, with checked shapes."""

    queries: Floats
    keys: Floats
    values: Floats
    output: Floats
    dtype: str
    scale: Real
    masks: Masks

    @cached_property
    def rounded_scale(self) -> float:
        """As `Head` has it."""
        return rounded_scale(self.scale)

    @property
    def shape(self) -> tuple[int, int]:
        """Batches, and query heads of each."""
        return self.queries.shape[0], self.queries.shape[1]

    def sight(self, batch: int, masks: Masks | None = None) -> Sight:
        """What the queries of a batch see. Raises UsageError where one sees nothing."""
        masks, m, n = masks or self.masks, self.queries.shape[2], self.keys.shape[2]
        if masks.sequences is not None:
            queries, keys = masks.sequences
        else:
            queries, keys = [m], [n if masks.lengths is None else masks.lengths[batch]]
        sight = sight_of(queries, keys, masks.offset, masks.window)
        if len(sight.first) != m or sum(keys) > n or (masks.sequences is not None and sum(keys) != n):
            raise UsageError(f"sequences or lengths that do not fit {m} queries and {n} keys")
        if sight.blind is not None:
            raise UsageError(f"query {sight.blind} sees no key; the softmax over nothing is not defined")
        return sight

    def head(self, batch: int, head: int, scale: float | None = None) -> Head:
        """One head, with its keys and values; with another scale, if that is said."""
        shared = head // (self.shape[1] // self.keys.shape[1])
        sight = self.sight(batch)
        queries, keys = self.queries[batch, head], self.keys[batch, shared]
        queries, radius = scaled(queries, self.rounded_scale if scale is None else scale)
        return Head(queries, radius, keys, self.values[batch, shared], sight.first, sight.last)

    def places(self) -> Iterator[tuple[int, int]]:
        """Batch and head of each."""
        return ((batch, head) for batch in range(self.shape[0]) for head in range(self.shape[1]))


def heads_of(arrays: Sequence[Numbers], scale: Real | None, layout: str, masks: Masks) -> Heads:
    """The output, queries, keys and values, of 2 to 4 dimensions. Raises UsageError for shapes that do not fit."""
    if layout not in LAYOUTS:
        raise UsageError(f"layout is {layout!r}, expected one of {', '.join(LAYOUTS)}")
    given = dict(zip(("output", "q", "k", "v"), arrays, strict=True))
    dimensions = {len(array.shape) for array in given.values()}
    shown = ", ".join(f"{name} {array.shape}" for name, array in given.items())
    if len(dimensions) != 1 or not dimensions <= {2, 3, 4}:
        raise UsageError(f"shapes {shown}; expected as many dimensions of each: 2, 3 (heads) or 4 (batch, heads)")
    if any(0 in array.shape for array in given.values()):
        raise UsageError(f"shapes {shown}; expected no empty one")
    with default_floating_point():
        o, q, k, v = (_four(array.doubles(), layout) for array in given.values())
    fits = q.shape[0] == k.shape[0] == v.shape[0] and k.shape[:3] == v.shape[:3] and q.shape[3] == k.shape[3]
    if not (fits and o.shape == (*q.shape[:3], v.shape[3]) and q.shape[1] % k.shape[1] == 0):
        raise UsageError(
            f"shapes {shown} in the layout {layout!r}; expected keys of the queries' dimension, paired values, "
            "a row of the output for each query, and a number of key heads that divides that of the queries"
        )
    if masks.lengths is not None and len(masks.lengths) != q.shape[0]:
        raise UsageError(f"{len(masks.lengths)} lengths for a batch of {q.shape[0]}")
    masks.require(q.shape[2], k.shape[2])
    scale = real_root(fmpq(1, q.shape[3])) if scale is None else scale
    return Heads(q, k, v, o, given["output"].dtype, scale, masks)


def in_rows_by_head(array: NDArray[Any], layout: str) -> NDArray[Any]:
    """With the rows of a head one below the other, whatever the layout was."""
    return array.swapaxes(-2, -3) if layout == "bshd" and array.ndim > 2 else array


def _four(array: Floats, layout: str) -> Floats:
    array = in_rows_by_head(array, layout)
    four: Floats = np.ascontiguousarray(array).reshape((1,) * (4 - array.ndim) + array.shape)
    return four


Bound = float | str | Fraction


def exact_bound(bound: Bound, what: str) -> Fraction:
    """The number that is meant: of a float the decimal that it is written as. Raises UsageError."""
    try:
        exact = Fraction(repr(bound) if isinstance(bound, float) else bound)
    except (ValueError, TypeError, ZeroDivisionError):
        raise UsageError(f"{what} is {bound!r}, expected a number >= 0") from None
    if exact < 0:
        raise UsageError(f"{what} is {bound!r}, expected a number >= 0")
    return exact


def exact_scale(scale: float | str | Fraction | fmpq | None) -> Real | None:
    """The exact number that is meant: of a float its value, of a text what certificates read. Raises UsageError."""
    if scale is None or isinstance(scale, fmpq):
        return scale
    try:
        if isinstance(scale, str):
            return parse_real(scale, DEFAULT_LIMITS)
        return fmpq(*scale.as_integer_ratio())
    except (NumberError, AttributeError, ValueError, OverflowError):
        raise UsageError(f"scale is {scale!r}, expected a number, or a text such as '1/sqrt(64)'") from None
