"""Which mistake an output looks like: guesses, by trying the usual ones on the worst head. Nothing is proved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from certattn.fast.balls import rounded_scale
from certattn.fast.heads import Head, attended
from certattn.fast.units import Floats
from certattn.kernel.errors import Binary64Error, UsageError
from certattn.kernel.mathematics.reals import real_root
from certattn.kernel.theorems.attention.stated_heads import BOTTOM_RIGHT, TOP_LEFT
from certattn.testing.errors import AttentionError
from certattn.testing.heads import Heads

# A mistake is named that explains all but so much of the error.
_LEFT = 0.02
# Kernels work in blocks of so many keys, of which the last may be incomplete.
_TILES = (8, 16, 32, 64, 128, 256)
_MOST_HEADS = 64


def likely_causes(found: AttentionError, heads: Heads) -> list[str]:
    """Sentences, the most telling first; none where nothing fits."""
    worst = found.worst
    if found.not_finite:
        return []
    lines = _concentrated(found, heads)
    head, output = heads.head(worst.batch, worst.head), heads.output[worst.batch, worst.head]
    try:
        exact = attended(head).means.middle
        limit = _LEFT * float(np.abs(output - exact).max())
        for words, other in _mistakes(heads, head, worst.batch, worst.head):
            if float(np.abs(output - attended(other).means.middle).max()) <= limit:
                lines.append(f"looks like this mistake: {words}")
                return lines
        factor = float((output * exact).sum() / (exact * exact).sum())
        if float(np.abs(output - factor * exact).max()) <= limit:
            lines.append(f"looks like this mistake: the output is {factor:.3g} times what it should be")
        lines += _of_another_head(heads, worst.batch, worst.head, output, limit)
    except Binary64Error:
        pass
    return lines


def _mistakes(heads: Heads, head: Head, batch: int, index: int) -> Iterator[tuple[str, Head]]:
    """The head as it would be computed wrongly."""
    first, last = np.array(head.first), np.array(head.last)
    tokens, masked = len(head.keys), heads.masks.causal is not False

    def seeing(start: NDArray[np.int64], stop: NDArray[np.int64]) -> Head:
        stop = np.clip(stop, 1, tokens)
        start = np.clip(np.minimum(start, stop - 1), 0, None)
        return replace(head, first=start.tolist(), last=stop.tolist())

    yield "the last key that a query sees is left out", seeing(first, np.maximum(last - 1, first + 1))
    yield "the first key is left out", seeing(np.minimum(first + 1, last - 1), last)
    for tile in _TILES:
        if 0 < tokens % tile < tokens:
            yield (
                f"the last {tokens % tile} keys, an incomplete block, are left out",
                seeing(first, np.minimum(last, tokens - tokens % tile)),
            )
    if masked:
        yield "every query sees one key more: the diagonal is off by one", seeing(first, last + 1)
        yield "no mask is applied", seeing(np.zeros_like(first), np.full_like(last, tokens))
    for alignment in (TOP_LEFT, BOTTOM_RIGHT):
        moved = replace(heads.masks, causal=alignment)
        if alignment != heads.masks.offset:
            try:
                sight = heads.sight(batch, moved)
            except UsageError:
                continue
            yield f"the mask is causal, {alignment}", replace(head, first=sight.first, last=sight.last)
    if heads.masks.window is not None:
        yield "the window is one key longer", seeing(first - 1, last)
        yield "the window is ignored", seeing(np.zeros_like(first), last)
    if heads.masks.lengths is not None:
        yield "keys beyond the length are seen", seeing(first, np.full_like(last, tokens))
    usual = rounded_scale(real_root(fmpq(1, head.keys.shape[1])))
    for words, scale in (
        ("the scores are not scaled", 1.0),
        ("the scale is 1/sqrt(d), whatever was asked for", usual),
        ("the scale is applied twice", heads.rounded_scale**2),
    ):
        yield words, heads.head(batch, index, scale)
    shared = heads.queries.shape[1] // heads.keys.shape[1]
    for other in range(min(heads.keys.shape[1], _MOST_HEADS)):
        if other != index // shared:
            words = f"the keys and values are those of key head {other}, where query head {index} has {index // shared}"
            yield words, replace(head, keys=heads.keys[batch, other], values=heads.values[batch, other])


def _of_another_head(heads: Heads, batch: int, index: int, output: Floats, limit: float) -> list[str]:
    for other in range(min(heads.shape[1], _MOST_HEADS)):
        if other != index and float(np.abs(output - attended(heads.head(batch, other)).means.middle).max()) <= limit:
            return [f"looks like this mistake: it is the output of head {other}; heads are swapped"]
    return []


def _concentrated(found: AttentionError, heads: Heads) -> list[str]:
    """Where the errors are, if not everywhere."""
    largest = found.max_abs.lower
    bad = [head for head in found.heads if head.max_abs.upper >= largest / 10]
    lines = []
    if len(bad) <= len(found.heads) / 2:
        shown = ", ".join(f"{head.batch}/{head.head}" for head in bad[:8])
        more = ", ..." if len(bad) > 8 else ""
        lines.append(f"large in {len(bad)} of {len(found.heads)} heads (batch/head): {shown}{more}")
    worst = found.worst
    exact = attended(heads.head(worst.batch, worst.head)).means.middle
    off = np.abs(heads.output[worst.batch, worst.head] - exact)
    for axis, what in ((1, "queries"), (0, "coordinates")):
        which = np.flatnonzero(off.max(axis=axis) >= largest / 10)
        if len(which) <= off.shape[1 - axis] / 2:
            shown = ", ".join(map(str, which[:8].tolist())) + (", ..." if len(which) > 8 else "")
            lines.append(f"in that head, large at {len(which)} of {off.shape[1 - axis]} {what}: {shown}")
    return lines
