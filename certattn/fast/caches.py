"""Caches of keys and values in doubles: what codes mean, tokens that count several times, the weight on some tokens.

Docs: binary64.md.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from certattn.fast.balls import Ball
from certattn.fast.exact_operations import exact_product, exact_sum
from certattn.fast.heads import Head, attended
from certattn.fast.units import Floats, require_sound_arithmetic


@np.errstate(all="ignore")
def dequantised(codes: Floats, scale: Floats, zero: Floats | None, offset: Floats | None) -> Floats:
    """scale (codes - zero) + offset, exactly; of groups of codes, one of each. Raises RefusedError for no doubles."""
    require_sound_arithmetic()
    found = codes if zero is None else exact_sum(codes, -spread(zero, codes.shape))
    found = exact_product(spread(scale, codes.shape), found)
    return found if offset is None else exact_sum(found, spread(offset, codes.shape))


def spread(groups: Floats, shape: tuple[int, ...]) -> Floats:
    """For every code what its group has: extents that divide those of the codes."""
    for axis, extent in enumerate(shape):
        groups = np.repeat(groups, extent // groups.shape[axis], axis=axis)
    return groups


def unpacked(stored: Floats, *, first_is_low: bool, signed: bool) -> Floats:
    """The two codes of four bits of each byte, next to each other."""
    whole = stored.astype(np.int64)
    halves = [whole & 15, whole >> 4 & 15]
    codes = np.stack(halves if first_is_low else halves[::-1], axis=-1).reshape(len(stored), -1)
    # Two's complement: from 8 on a half is negative.
    found: Floats = (np.where(codes >= 8, codes - 16, codes) if signed else codes).astype(np.float64)
    return found


def counted(head: Head, times: Sequence[int]) -> Head:
    """The head in which a token that counts so many times stands so many times."""
    ends = [0, *accumulate(times)]
    return replace(
        head,
        keys=np.repeat(head.keys, times, axis=0),
        values=np.repeat(head.values, times, axis=0),
        first=[ends[token] for token in head.first],
        last=[ends[token] for token in head.last],
    )


def means_and_shares(head: Head, sets: Sequence[Collection[int]]) -> tuple[Ball, list[Ball]]:
    """The softmax means of the values, and the softmax weight on each of some sets of tokens. Raises Binary64Error.

    That is the mean of a value that is 1 on these tokens, and 0 on all others.
    """
    count, columns = head.values.shape
    whole = np.zeros((count, columns + len(sets)))
    whole[:, :columns] = head.values
    for column, tokens in enumerate(sets, columns):
        whole[sorted(tokens), column] = 1.0
    found = attended(replace(head, values=whole)).means
    shares = [Ball(found.middle[:, i], found.radius[:, i]) for i in range(columns, columns + len(sets))]
    return Ball(found.middle[:, :columns], found.radius[:, :columns]), shares
