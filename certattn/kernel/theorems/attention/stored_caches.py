"""Caches in array files, in binary64: attention over them beside attention over what they were made of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from certattn.fast.attention import Moments
from certattn.fast.balls import Ball, arb_balls, difference, rounded_scale, row_l2_norms, row_linf_norms
from certattn.fast.dequantised import dequantised
from certattn.fast.heads import Head, attended, scaled
from certattn.fast.units import Floats
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.errors import RefusedError
from certattn.kernel.given.stored_arrays import naming_what_is_not_finite
from certattn.kernel.theorems.attention.cache_error import DEVIATION, ERROR, RELATIVE, AssertedCache, quotient
from certattn.kernel.theorems.attention.stated_caches import LOW_FIRST, CachedArray, StatedCache
from certattn.kernel.theorems.attention.stated_heads import Sight
from certattn.kernel.theorems.attention.stored_heads import matrices

if TYPE_CHECKING:
    from certattn.kernel.theorems.attention.cache_error import Measured

# A token that counts m times is m tokens here: so many times as many as there are tokens that it was made of.
_MOST_TIMES = 4


def stored_measures(stated: AssertedCache, wanted: Collection[int]) -> dict[int, Measured]:
    """The measures of some heads. Raises Binary64Error.

    Every array is read to its end, since its hash comes last.
    """
    heads, given = stated.heads, stated.inputs
    queries = matrices(given[0], heads.queries)
    pairs = zip(matrices(given[1], heads.tokens), matrices(given[2], heads.tokens), strict=True)
    scale = rounded_scale(heads.scale)
    found: dict[int, Measured] = {}
    with naming_what_is_not_finite(given):
        caches = _caches(stated.cache) if stated.cache is not None and stated.compares else None
        for key_head, (keys, values) in enumerate(pairs):
            cached = next(caches) if caches is not None else None
            for index in range(key_head * heads.shared, (key_head + 1) * heads.shared):
                asked = scaled(next(queries), scale)
                if index in wanted:
                    found[index] = _measured(stated, index, asked, keys, values, cached)
        # They end here, and their hashes are compared.
        for left in (queries, caches or iter(())):
            for _ in left:
                raise ValueError("more matrices than heads")
    return found


# Keys and values, where they do not differ from those of the tokens that are kept.
_Cached = tuple[Floats | None, Floats | None]


def _caches(cache: StatedCache) -> Iterator[_Cached]:
    """By head of keys, one after the other."""
    parts = [_numbers(part, cache.key_heads) for part in (cache.keys, cache.values)]
    yield from zip(*parts, strict=True)


def _numbers(part: CachedArray | None, heads: int) -> Iterator[Floats | None]:
    """The numbers of a part of a cache, head by head. Raises RefusedError where they are no doubles."""
    if part is None:
        yield from [None] * heads
        return
    *outer, rows, _ = part.extents
    coarse = [_whole(each) for each in (part.scale, part.zero, part.offset)]
    for place, codes in zip(np.ndindex(*outer), matrices(part.numbers, rows), strict=True):
        if part.packed is not None:
            codes = _unpacked(codes, first_is_low=part.packed == LOW_FIRST, signed=part.is_signed)
        scale, zero, offset = (_spread(each, part.extents, place) for each in coarse)
        yield codes if scale is None else dequantised(codes, scale, zero, offset)


def _whole(part: MatrixInput | None) -> Floats | None:
    """An array of scales, or the like, with its own extents."""
    if part is None:
        return None
    (found,) = matrices(part, part.shape[0])
    return found.reshape(part.extents)


def _spread(part: Floats | None, extents: tuple[int, ...], place: tuple[int, ...]) -> Floats | None:
    """What stands for each code of the matrix at this place of batch and head."""
    if part is None:
        return None
    outer = tuple(i * groups // whole for i, groups, whole in zip(place, part.shape, extents, strict=False))
    table: Floats = part[outer]
    for axis in (0, 1):
        table = np.repeat(table, extents[axis - 2] // table.shape[axis], axis=axis)
    return table


def _unpacked(stored: Floats, *, first_is_low: bool, signed: bool) -> Floats:
    """The two codes of four bits of each byte, next to each other."""
    whole = stored.astype(np.int64)
    halves = [whole & 15, whole >> 4 & 15]
    codes = np.stack(halves if first_is_low else halves[::-1], axis=-1).reshape(len(stored), -1)
    found: Floats = (np.where(codes >= 8, codes - 16, codes) if signed else codes).astype(np.float64)
    return found


def _measured(
    stated: AssertedCache,
    head: int,
    asked: tuple[Floats, Floats],
    keys: Floats,
    values: Floats,
    cached: _Cached | None,
) -> Measured:
    heads, sight, columns = stated.heads, stated.heads.sight(head), values.shape[1]
    found: dict[str, Sequence[arb]] = {}
    # The softmax weight on a set of tokens is the mean of a value that is 1 on them, and 0 on all others.
    indicators = {}
    for name, chosen in stated.shares(head // heads.shared).items():
        if chosen:
            indicators[name] = np.zeros((len(values), 1))
            indicators[name][sorted(chosen)] = 1.0
        else:
            found[name] = [arb(0)] * heads.queries
    own = attended(Head(*asked, keys, np.hstack([values, *indicators.values()]), sight.first, sight.last)).means
    for column, name in enumerate(indicators, columns):
        found[name] = arb_balls(Ball(own.middle[:, column], own.radius[:, column]))
    if cached is None:
        return found
    assert stated.cache is not None
    exact = Ball(own.middle[:, :columns], own.radius[:, :columns])
    off = difference(_over_cache(stated.cache, head, asked, (keys, values), cached).means, exact)
    found[ERROR.name] = arb_balls(row_linf_norms(off))
    found[DEVIATION.name] = deviations = arb_balls(row_l2_norms(off))
    sizes = arb_balls(row_l2_norms(exact))
    found[RELATIVE.name] = [quotient(x, size) for x, size in zip(deviations, sizes, strict=True)]
    return found


def _over_cache(
    cache: StatedCache, head: int, asked: tuple[Floats, Floats], whole: tuple[Floats, Floats], cached: _Cached
) -> Moments:
    """Attention over the cache."""
    shared, sight = head // cache.heads.shared, cache.sight(head)
    kept = np.asarray(cache.kept(shared))
    keys, values = (own[kept] if part is None else part for part, own in zip(cached, whole, strict=True))
    numbers = cache.multiplicities(shared)
    if any(number != 1 for number in numbers):
        times = [int(number.p) for number in numbers if number.q == 1]
        if len(times) < len(numbers) or sum(times) > _MOST_TIMES * cache.heads.tokens:
            raise RefusedError("tokens that count a broken number of times, or very often")
        keys, values = (np.repeat(part, times, axis=0) for part in (keys, values))
        ends = [0, *accumulate(times)]
        sight = Sight(*(tuple(ends[c] for c in each) for each in (sight.first, sight.last)))
    return attended(Head(*asked, keys, values, sight.first, sight.last))
