"""Which mistake an output looks like: guesses, by trying the usual ones on the worst head. Nothing is proved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import frexp, inf, ldexp, log

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from certattn.fast.balls import rounded_scale
from certattn.fast.heads import Head, attended
from certattn.fast.score_rules import ScoreRule
from certattn.fast.units import Floats
from certattn.kernel.errors import Binary64Error, UsageError
from certattn.kernel.mathematics.reals import real_root
from certattn.kernel.theorems.attention.attention_error import FORMATS
from certattn.kernel.theorems.attention.stated_heads import BOTTOM_RIGHT, TOP_LEFT
from certattn.testing.errors import AttentionError, Entry
from certattn.testing.heads import Heads

# A mistake is named that explains all but so much of the error, or but what rounding to the output's type leaves, if
# that is not most of it.
_LEFT, _MOST_LEFT = 0.02, 0.25
# Kernels work in blocks of so many keys, of which the last may be incomplete.
_TILES = (8, 16, 32, 64, 128, 256)
_MOST_HEADS = 64
# So many entries say that an output is a multiple of another.
_FEW_ENTRIES = 8

Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]


@np.errstate(all="ignore")
def likely_causes(found: AttentionError, heads: Heads) -> list[str]:
    """Sentences, the most telling first; none where nothing fits."""
    worst = found.worst
    head, output = heads.head(worst.batch, worst.head), heads.output[worst.batch, worst.head]
    try:
        exact = attended(head).means.middle
        off = np.abs(output - exact)
        finite = np.isfinite(off).all(axis=1)
        if not finite.any():
            return []
        limit = _limit(off[finite], output[finite], heads.dtype)
        lines = _concentrated(found, off) if finite.all() else []
        for mistakes in (_wrong_outputs(heads, head, worst), _of_other_keys(heads, head, worst)):
            best, cause = limit, ""
            for words, wrong, rows in mistakes:
                told = finite & rows
                left = float(np.abs(output - wrong)[told].max()) if told.any() else inf
                if left < best:
                    best, cause = left, words
            if cause:
                return [*lines, f"looks like this mistake: {cause}"]
        return lines + _scaled(output[finite], exact[finite], limit) + _swapped(heads, worst, output, limit)
    except Binary64Error:
        return []


def _limit(off: Floats, output: Floats, dtype: str) -> float:
    """An output is nearer than this to that of the mistake which explains it; 0 where rounding explains enough."""
    largest, size, (precision, least) = float(off.max()), float(np.abs(output).max()), FORMATS[dtype]
    exponent = max(frexp(size)[1] - 1, least) if size > 0 else least
    last_place = ldexp(1.0, exponent - precision + 1)
    return min(_LEFT * largest + last_place, _MOST_LEFT * largest) if largest > last_place else 0.0


def _scaled(output: Floats, exact: Floats, limit: float) -> list[str]:
    size = float((exact * exact).sum())
    factor = float((output * exact).sum()) / size if size > 0 else 1.0
    if output.size < _FEW_ENTRIES or float(np.abs(output - factor * exact).max()) >= limit:
        return []
    if not output.any():
        return ["looks like this mistake: the output is 0 everywhere"]
    return [f"looks like this mistake: the output is {factor:.6g} times what it should be"]


def _wrong_outputs(heads: Heads, head: Head, worst: Entry) -> Iterator[tuple[str, Floats, Rows]]:
    """What mistakes make of the head, and for which queries."""
    for words, wrong, rows in _mistakes(heads, head, worst.batch, worst.head):
        yield words, _mean(wrong), rows
    if head.rule is not None and head.rule.cap is not None:
        words = "the soft cap comes after the mask: what is hidden has the score -c, and is seen"
        yield words, _capped_after_mask(head, head.rule.cap), np.ones(len(head.queries), bool)


def _mean(head: Head) -> Floats:
    """NaN, which explains nothing, where binary64 bounds nothing."""
    try:
        return attended(head).means.middle
    except Binary64Error:
        return np.full((len(head.queries), head.values.shape[1]), np.nan)


def _capped_after_mask(head: Head, cap: float) -> Floats:
    """The mean of what is seen, and with it that of what is hidden, each with the weight e^-c."""
    tokens = np.arange(len(head.keys))
    seen = (tokens >= np.array(head.first)[:, None]) & (tokens < np.array(head.last)[:, None])
    if head.mask is not None:
        seen &= ~head.mask
    queries, first, last = 0 * head.queries, [0] * len(seen), [len(tokens)] * len(seen)
    hidden = _mean(Head(queries, 0 * head.radius, head.keys, head.values, first, last, mask=seen))
    moments = attended(head)
    weight = (~seen).sum(axis=1) * np.exp(-cap - log(2) * moments.exponent) / moments.normaliser.middle
    found: Floats = (moments.means.middle + weight[:, None] * hidden) / (1 + weight[:, None])
    found[head.without_weights] = hidden[head.without_weights]
    return found


def _mistakes(heads: Heads, head: Head, batch: int, index: int) -> Iterator[tuple[str, Head, Rows]]:
    """The head as it would be computed wrongly, and the queries that would see something."""
    first, last, n = np.array(head.first), np.array(head.last), len(head.keys)
    masks, everyone = heads.masks, np.ones(len(head.queries), bool)

    def seeing(words: str, start: Counts, stop: Counts) -> tuple[str, Head, Rows]:
        start, stop = np.clip(start, 0, n), np.clip(stop, 0, n)
        some = start < stop
        there = replace(head, first=np.where(some, start, 0).tolist(), last=np.where(some, stop, 1).tolist())
        return words, there, some

    yield seeing("the last key that a query sees is left out", first, last - 1)
    yield seeing("the first key is left out", np.maximum(first, 1), last)
    for tile in _TILES:
        if n % tile:
            words = f"the last {n % tile} keys, an incomplete block, are left out"
            yield seeing(words, first, np.minimum(last, n - n % tile))
    if masks.causal is not False:
        yield seeing("every query sees one key more: the diagonal is off by one", first, last + 1)
        yield seeing("no mask is applied", 0 * first, 0 * last + n)
    for alignment in (TOP_LEFT, BOTTOM_RIGHT):
        if alignment != masks.offset:
            with suppress(UsageError):
                sight = heads.sight(batch, replace(masks, causal=alignment))
                yield seeing(f"the mask is causal, {alignment}", np.array(sight.first), np.array(sight.last))
    if masks.window is not None:
        yield seeing("the window is one key longer", first - 1, last)
        yield seeing("the window is one key shorter", first + 1, last)
        yield seeing("the window is ignored", 0 * first, last)
    if masks.lengths is not None:
        yield seeing("keys beyond the length are seen", first, 0 * last + n)
        yield seeing("one key beyond the length is seen", first, last + 1)
    if masks.sequences is not None:
        yield seeing("packed sequences see each other", 0 * first, last if masks.causal is not False else 0 * last + n)
    if head.mask is not None:
        yield "the mask is ignored", replace(head, mask=None), everyone
        yield "the mask is inverted: True hides", replace(head, mask=~head.mask), everyone
    yield from ((words, replace(head, rule=rule), everyone) for words, rule in _rules(heads, head.rule, index))
    usual = rounded_scale(real_root(fmpq(1, head.keys.shape[1])))
    for words, scale in (
        ("the scores are not scaled", 1.0),
        ("the scale is 1/sqrt(d), whatever was asked for", usual),
        ("the scale is applied twice", heads.rounded_scale**2),
        ("the exponential is to base 2, and the scores are not times log2 e", heads.rounded_scale * log(2)),
    ):
        yield words, heads.head(batch, index, scale), everyone


def _of_other_keys(heads: Heads, head: Head, worst: Entry) -> Iterator[tuple[str, Floats, Rows]]:
    count, everyone = heads.keys.shape[1], np.ones(len(head.queries), bool)
    own = worst.head // (heads.shape[1] // count)
    for other in range(min(count, _MOST_HEADS)):
        if other != own:
            words = f"the keys and values are those of key head {other}, where query head {worst.head} has {own}"
            wrong = replace(head, keys=heads.keys[worst.batch, other], values=heads.values[worst.batch, other])
            yield words, _mean(wrong), everyone


def _rules(heads: Heads, rule: ScoreRule | None, index: int) -> Iterator[tuple[str, ScoreRule]]:
    """What is done to the scores, with a part left out or another one."""
    if rule is None:
        return
    other = heads.rules.of_head(heads.shape[1] - 1 - index) or rule
    if rule.cap is not None:
        yield "the soft cap is left out", replace(rule, cap=None)
    if rule.slope != 0:
        yield "the slopes are left out", replace(rule, slope=0.0)
        yield "the slopes have the other sign", replace(rule, slope=-rule.slope)
    if other.slope != rule.slope:
        yield "the slopes are those of the heads in reverse order", replace(rule, slope=other.slope)
    if rule.sink is not None:
        yield "the sink is left out", replace(rule, sink=None)
        yield "the sink has the other sign", replace(rule, sink=-rule.sink)
    if other.sink != rule.sink:
        yield "the sinks are those of the heads in reverse order", replace(rule, sink=other.sink)


def _swapped(heads: Heads, worst: Entry, output: Floats, limit: float) -> list[str]:
    for other in range(min(heads.shape[1], _MOST_HEADS)):
        means = attended(heads.head(worst.batch, other)).means
        if other != worst.head and float(np.abs(output - means.middle).max()) < limit:
            return [f"looks like this mistake: it is the output of head {other}; heads are swapped"]
    return []


def _concentrated(found: AttentionError, off: Floats) -> list[str]:
    """Where the errors are, if not everywhere."""
    largest = found.max_abs.lower
    bad = [head for head in found.heads if head.max_abs.upper >= largest / 10]
    lines = []
    if len(bad) <= len(found.heads) / 2:
        shown = ", ".join(f"{head.batch}/{head.head}" for head in bad[:8])
        more = ", ..." if len(bad) > 8 else ""
        lines.append(f"large in {len(bad)} of {len(found.heads)} heads (batch/head): {shown}{more}")
    for axis, what in ((1, "queries"), (0, "coordinates")):
        which = np.flatnonzero(off.max(axis=axis) >= largest / 10)
        if len(which) <= off.shape[1 - axis] / 2:
            shown = ", ".join(map(str, which[:8].tolist())) + (", ..." if len(which) > 8 else "")
            lines.append(f"in that head, large at {len(which)} of {off.shape[1 - axis]} {what}: {shown}")
    return lines
