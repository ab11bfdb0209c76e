"""Caches in array files, in binary64: attention over them beside attention over what they were made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product

from flint import arb

from certattn.fast.balls import Ball, arb_balls, difference, rounded_scale, row_l2_norms, row_linf_norms
from certattn.fast.caches import counted, dequantised, means_and_shares, unpacked
from certattn.fast.heads import Head, attended, scaled
from certattn.fast.units import Floats
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.errors import RefusedError
from certattn.kernel.given.stored_arrays import naming_what_is_not_finite
from certattn.kernel.theorems.attention.stated_caches import LOW_FIRST, CachedArray, StatedCache
from certattn.kernel.theorems.attention.stated_heads import StatedHeads
from certattn.kernel.theorems.attention.stored_heads import matrices

# A token that counts m times is m tokens here: so many times as many as there are tokens that it was made of.
_MOST_TIMES = 4

# Keys and values of a cache, where they are not those of the tokens that are kept.
_Cached = tuple[Floats | None, Floats | None]


# Norms of T' - T by query, entry and row, and of T.
Norms = tuple[Sequence[arb], Sequence[arb], Sequence[arb]]


def stored_measures(
    heads: StatedHeads,
    cache: StatedCache | None,
    inputs: Sequence[MatrixInput],
    sets: Callable[[int], Mapping[str, Collection[int]]],
    wanted: Collection[int],
) -> dict[int, tuple[dict[str, Sequence[arb]], Norms | None]]:
    """Of some heads the softmax weight on sets of tokens, by name, and norms, where there is a cache to compare with.

    sets: those of a head of keys. Raises Binary64Error. Every array is read to its end, since its hash comes last.
    """
    queries = matrices(inputs[0], heads.queries)
    pairs = zip(matrices(inputs[1], heads.tokens), matrices(inputs[2], heads.tokens), strict=True)
    scale = rounded_scale(heads.scale)
    found = {}
    with naming_what_is_not_finite(inputs):
        caches = _caches(cache) if cache is not None else None
        for key_head, whole in enumerate(pairs):
            cached = next(caches) if caches is not None else None
            for index in range(key_head * heads.shared, (key_head + 1) * heads.shared):
                asked = scaled(next(queries), scale)
                if index in wanted:
                    shares, exact = _of_original(heads, index, asked, whole, sets(key_head))
                    norms = None
                    if cache is not None and cached is not None:
                        norms = _norms(_over_cache(cache, index, asked, whole, cached), exact)
                    found[index] = shares, norms
        # They end here, and their hashes are compared.
        for left in (queries, caches or iter(())):
            for _ in left:
                raise ValueError("more matrices than heads")
    return found


def _of_original(
    heads: StatedHeads,
    head: int,
    asked: tuple[Floats, Floats],
    whole: tuple[Floats, Floats],
    sets: Mapping[str, Collection[int]],
) -> tuple[dict[str, Sequence[arb]], Ball]:
    """Attention over the tokens themselves: the weight on sets of them, and T."""
    sight = heads.sight(head)
    # Of no token the share is 0, exactly.
    some = {name: tokens for name, tokens in sets.items() if tokens}
    found: dict[str, Sequence[arb]] = {name: [arb(0)] * heads.queries for name in sets}
    exact, shares = means_and_shares(Head(*asked, *whole, sight.first, sight.last), list(some.values()))
    return found | {name: arb_balls(share) for name, share in zip(some, shares, strict=True)}, exact


def _norms(cached: Ball, exact: Ball) -> Norms:
    off = difference(cached, exact)
    return arb_balls(row_linf_norms(off)), arb_balls(row_l2_norms(off)), arb_balls(row_l2_norms(exact))


def _over_cache(
    cache: StatedCache, head: int, asked: tuple[Floats, Floats], whole: tuple[Floats, Floats], cached: _Cached
) -> Ball:
    """Attention over the cache."""
    key_head, sight = head // cache.heads.shared, cache.sight(head)
    kept = list(cache.kept(key_head))
    keys, values = (own[kept] if part is None else part for part, own in zip(cached, whole, strict=True))
    compared = Head(*asked, keys, values, sight.first, sight.last)
    numbers = cache.multiplicities(key_head)
    if any(number != 1 for number in numbers):
        times = [int(number.p) for number in numbers if number.q == 1]
        if len(times) < len(numbers) or sum(times) > _MOST_TIMES * cache.heads.tokens:
            raise RefusedError("multiplicities that are not whole numbers, or are very large")
        compared = counted(compared, times)
    return attended(compared).means


# -- keys and values of caches, by head of keys, one after the other


def _caches(cache: StatedCache) -> Iterator[_Cached]:
    yield from zip(*(_numbers(part, cache.key_heads) for part in (cache.keys, cache.values)), strict=True)


def _numbers(part: CachedArray | None, heads: int) -> Iterator[Floats | None]:
    """The numbers of a part of a cache. Raises RefusedError where they are no doubles."""
    if part is None:
        yield from [None] * heads
        return
    *outer, rows, _ = part.extents
    coarse = [_whole(each) for each in (part.scale, part.zero, part.offset)]
    for place, codes in zip(product(*map(range, outer)), matrices(part.numbers, rows), strict=True):
        if part.packed is not None:
            codes = unpacked(codes, first_is_low=part.packed == LOW_FIRST, signed=part.is_signed)
        scale, zero, offset = (_at(each, place, part.extents) for each in coarse)
        yield codes if scale is None else dequantised(codes, scale, zero, offset)


def _whole(part: MatrixInput | None) -> Floats | None:
    """An array of scales, or the like, with its own extents."""
    if part is None:
        return None
    (found,) = matrices(part, part.shape[0])
    return found.reshape(part.extents)


def _at(part: Floats | None, place: tuple[int, ...], extents: tuple[int, ...]) -> Floats | None:
    """Of scales, or the like, the matrix for the codes at a place of batch and head."""
    if part is None:
        return None
    found: Floats = part[
        tuple(i * groups // whole for i, groups, whole in zip(place, part.shape, extents, strict=False))
    ]
    return found
