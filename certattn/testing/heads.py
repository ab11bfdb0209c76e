"""Attention over arrays in memory, head by head, with proved bounds: what a test of a kernel compares with."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from certattn.fast.balls import rounded_scale
from certattn.fast.heads import Head, scaled
from certattn.fast.units import Floats
from certattn.kernel.decide.floating_point import default_floating_point
from certattn.kernel.document.quoting import counted
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.reals import Real, real_root
from certattn.kernel.theorems.attention.stated_heads import BOTTOM_RIGHT, TOP_LEFT, Sight, blind_query, sight_of
from certattn.testing.arrays import Numbers
from certattn.testing.rules import ZERO, Rules, mask_of

LAYOUTS = ("bhsd", "bshd")


@dataclass(frozen=True)
class Masks:
    """Which tokens a query sees, as `certattn.testing.attention_error` takes it."""

    causal: bool | int | str = False
    window: int | None = None
    lengths: Sequence[int] | None = None
    sequences: tuple[Sequence[int], Sequence[int]] | None = None
    stated: Any = None
    empty: str | None = None

    @classmethod
    def of(
        cls, causal: Any, window: Any, lengths: Any, sequences: Any, stated: Any = None, empty: str | None = None
    ) -> Masks:
        """Whole numbers of any library are read as such. Raises UsageError for others."""
        if empty not in (None, ZERO):
            raise UsageError(f"empty is {empty!r}, expected '{ZERO}', or nothing where every query sees a key")
        if not isinstance(causal, str):
            plain = causal.item() if hasattr(causal, "item") else causal
            causal = plain if isinstance(plain, bool) else _whole(plain, "causal", 0)
        parts = None
        if sequences is not None:
            try:
                queries, keys = sequences
            except (TypeError, ValueError):
                raise UsageError("sequences is not a pair: the lengths of queries, and those of keys") from None
            parts = _wholes(queries, "sequences"), _wholes(keys, "sequences")
            if len(parts[0]) != len(parts[1]):
                found = f"{counted(len(parts[0]), 'length')} of queries and {len(parts[1])} of keys"
                raise UsageError(f"sequences has {found}, expected as many of both")
        window = None if window is None else _whole(window, "window", 1)
        lengths = None if lengths is None else _wholes(lengths, "lengths")
        return cls(causal, window, lengths, parts, stated, empty)

    @property
    def offset(self) -> int | str | None:
        """How far the diagonal of a causal mask is moved, as certificates state it; None where there is none."""
        return None if self.causal is False else TOP_LEFT if self.causal is True else self.causal

    def require(self, queries: int, tokens: int) -> None:
        """Raises UsageError for what makes no sense, or could be meant in two ways."""
        pairs = [(queries, length) for length in self.lengths or [tokens]]
        if self.sequences is not None:
            pairs = list(zip(*self.sequences, strict=True))
        unequal = [pair for pair in pairs if pair[0] != pair[1]]
        if self.causal is True and unequal:
            raise UsageError(
                f"causal is True for {unequal[0][0]} queries and {unequal[0][1]} keys; expected '{TOP_LEFT}', where "
                f"query 0 sees key 0 alone (torch), '{BOTTOM_RIGHT}', where the last query sees all (flash-attention), "
                "or an offset"
            )
        if isinstance(self.causal, str) and self.causal not in (TOP_LEFT, BOTTOM_RIGHT):
            raise UsageError(f"causal is {self.causal!r}, expected True, '{TOP_LEFT}', '{BOTTOM_RIGHT}' or an offset")
        if self.window is not None and self.causal is False:
            raise UsageError("window needs causal: it counts the last keys of a causal mask")
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
    rules: Rules = field(default_factory=Rules)

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
        blind = blind_query(queries, keys, masks.offset, masks.window)
        sight = sight_of(queries, keys, masks.offset, masks.window)
        if masks.sequences is not None and (sum(queries), sum(keys)) != (m, n):
            found = f"{counted(sum(queries), 'query')} and {counted(sum(keys), 'key')} in all"
            raise UsageError(f"sequences has {found}, expected {m} and {n}")
        if sum(keys) > n:
            raise UsageError(f"lengths has {keys[0]} for batch {batch}, expected at most {n}: there are no more keys")
        if blind is not None and not self.empty_allowed:
            raise _sees_nothing(batch, blind)
        return sight

    @property
    def empty_allowed(self) -> bool:
        """Whether a query may see no key: it is said what its output should be, or there is a sink."""
        return self.masks.empty is not None or self.rules.sinks is not None

    @cached_property
    def stated_mask(self) -> NDArray[np.bool_] | None:
        """Of four dimensions, of which the first two may be 1."""
        return None if self.masks.stated is None else mask_of(self.masks.stated, *self.shape, *self._sizes)

    @property
    def _sizes(self) -> tuple[int, int]:
        return self.queries.shape[2], self.keys.shape[2]

    def head(self, batch: int, head: int, scale: float | None = None) -> Head:
        """One head, with its keys and values; with another scale, if that is said."""
        shared = head // (self.shape[1] // self.keys.shape[1])
        sight = self.sight(batch)
        queries, keys = self.queries[batch, head], self.keys[batch, shared]
        queries, radius = scaled(queries, self.rounded_scale if scale is None else scale)
        mask, hidden = self.stated_mask, None
        if mask is not None:
            hidden = ~mask[batch % len(mask), head % mask.shape[1]]
        seen = (sight.first, sight.last, hidden, self.rules.of_head(head), sight.diagonal)
        found = Head(queries, radius, keys, self.values[batch, shared], *seen)
        if found.empty.any() and not self.empty_allowed:
            raise _sees_nothing(batch, int(found.empty.argmax()))
        return found

    def places(self) -> Iterator[tuple[int, int]]:
        """Batch and head of each."""
        return ((batch, head) for batch in range(self.shape[0]) for head in range(self.shape[1]))


def _sees_nothing(batch: int, query: int) -> UsageError:
    return UsageError(
        f"query {query} of batch {batch} sees no key; leave it out, or say that 0 is expected of it: empty='{ZERO}' "
        f"(on the command line --empty {ZERO})"
    )


def heads_of(
    arrays: Sequence[Numbers], scale: Real | None, layout: str, masks: Masks, rules: Rules | None = None
) -> Heads:
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
    for name, array in (("q", q), ("k", k), ("v", v)):
        _require_finite(name, array, masks)
    fits = q.shape[0] == k.shape[0] == v.shape[0] and k.shape[:3] == v.shape[:3] and q.shape[3] == k.shape[3]
    if not (fits and o.shape == (*q.shape[:3], v.shape[3]) and q.shape[1] % k.shape[1] == 0):
        raise UsageError(
            f"shapes {shown} in the layout {layout!r}; expected keys of the queries' dimension, paired values, "
            "a row of the output for each query, and a number of key heads that divides that of the queries"
        )
    if masks.lengths is not None and len(masks.lengths) != q.shape[0]:
        raise UsageError(f"{counted(len(masks.lengths), 'length')} for a batch of {q.shape[0]}")
    masks.require(q.shape[2], k.shape[2])
    scale = real_root(fmpq(1, q.shape[3])) if scale is None else scale
    rules = rules or Rules()
    rules.require(q.shape[1])
    heads = Heads(q, k, v, o, given["output"].dtype, scale, masks, rules)
    _ = heads.stated_mask
    return heads


def in_rows_by_head(array: NDArray[Any], layout: str) -> NDArray[Any]:
    """With the rows of a head one below the other, whatever the layout was."""
    return array.swapaxes(-2, -3) if layout == "bshd" and array.ndim > 2 else array


def _four(array: Floats, layout: str) -> Floats:
    array = in_rows_by_head(array, layout)
    four: Floats = np.ascontiguousarray(array).reshape((1,) * (4 - array.ndim) + array.shape)
    return four


def _require_finite(name: str, array: Floats, masks: Masks) -> None:
    """Raises UsageError for numbers that are none, but for keys and values of padding."""
    bad = ~np.isfinite(array)
    if name != "q" and masks.lengths is not None and len(masks.lengths) == len(array):
        for batch, length in enumerate(masks.lengths):
            bad[batch, :, length:] = False
    if bad.any():
        place = ", ".join(str(int(index)) for index in np.argwhere(bad)[0])
        raise UsageError(f"{name} has NaN or an infinity at batch, head, row, column {place}; expected finite numbers")


def _whole(number: Any, what: str, least: int) -> int:
    try:
        found = least - 1 if isinstance(number, bool) else operator.index(number)
    except TypeError:
        found = least - 1
    if found < least:
        raise UsageError(f"{what} is {number!r}, expected a whole number >= {least}")
    return found


def _wholes(numbers: Any, what: str) -> list[int]:
    try:
        each = list(numbers)
    except TypeError:
        raise UsageError(f"{what} is {numbers!r}, expected lengths, such as [3, 5]") from None
    plain = [number.item() if hasattr(number, "item") else number for number in each]
    if what == "sequences" and len(plain) > 1 and plain[0] == 0:
        ends = [0, *(_whole(number, what, 1) for number in plain[1:])]
        lengths = [end - start for start, end in pairwise(ends)]
        if min(lengths) > 0:
            raise UsageError(f"{what} is {ends}, expected lengths, not cumulative sums: {lengths}")
    return [_whole(number, what, 1) for number in plain]
