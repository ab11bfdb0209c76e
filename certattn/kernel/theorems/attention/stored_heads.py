"""Heads of attention in array files, in binary64: what each computes, beside its stored output."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial

from flint import arb

from certattn.fast.attention import Moments
from certattn.fast.balls import rounded_scale
from certattn.fast.heads import Head, Mask, attended, hidden_by, scaled
from certattn.fast.output_errors import OutputErrors
from certattn.fast.rows import StoredRows, gathered
from certattn.fast.score_rules import ScoreRule as DoubleRule
from certattn.fast.units import Floats
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.given.stored_arrays import naming_what_is_not_finite
from certattn.kernel.theorems.attention.score_rules import ScoreRule
from certattn.kernel.theorems.attention.stated_heads import MASK, StatedHeads

Logarithms = Callable[[], list[arb | None]]


def stored_errors(heads: StatedHeads, wanted: Collection[int]) -> Iterator[tuple[int, OutputErrors, Logarithms]]:
    """Of some heads the errors of the output, and what is exact. Raises Binary64Error, and MalformedError.

    Every array is read to its end, since its hash comes last: what is yielded counts once the iterator has ended.
    """
    queries, keys, values, output = heads.arrays
    each = zip(matrices(queries, heads.queries), matrices(output, heads.queries), strict=True)
    pairs = zip(matrices(keys, heads.tokens), matrices(values, heads.tokens), strict=True)
    shared = (pair for pair in pairs for _ in range(heads.shared))
    scale = rounded_scale(heads.scale)
    with naming_what_is_not_finite(heads.arrays):
        for index, ((rows, out), (k, v), mask) in enumerate(zip(each, shared, _hidden(heads), strict=True)):
            if index in wanted:
                sight, rule = heads.sight(index), heads.rule(index)
                head = Head(
                    *scaled(rows, scale), k, v, sight.first, sight.last, mask, _in_doubles(rule), sight.diagonal
                )
                if head.empty.any() and not heads.empty_allowed:
                    raise heads.refuse_empty(int(head.empty.argmax()))
                found = attended(head)
                yield index, OutputErrors.of(out, found.means), partial(_logarithms, head, found)


def _in_doubles(rule: ScoreRule) -> DoubleRule | None:
    return None if rule.changes_nothing else DoubleRule.near(rule.cap, rule.slope, rule.sink)


def _logarithms(head: Head, found: Moments) -> list[arb | None]:
    """log Z of every query, at the working precision; there is none of one that sees nothing."""
    nothing = head.without_weights.tolist()
    return [None if none else found.log_normaliser(query) for query, none in enumerate(nothing)]


def _hidden(heads: StatedHeads) -> Iterator[Mask | None]:
    """What the stated mask hides, by head."""
    if MASK not in heads.given:
        yield from (None for _ in range(heads.count))
        return
    each = _stated_masks(heads, heads.given[MASK])
    if heads.given[MASK].shape[0] == heads.count * heads.queries:
        yield from each
    else:
        few = list(each)
        yield from (few[heads.mask_of(head)] for head in range(heads.count))


def _stated_masks(heads: StatedHeads, part: MatrixInput) -> Iterator[Mask]:
    assert part.stored is not None
    for which, chunk in enumerate(part.stored.chunks(heads.queries)):
        hidden, other = hidden_by(chunk, part.stored.dtype, heads.tokens)
        if other is not None:
            raise heads.not_a_mask(str(other[0]), which * hidden.size + other[1])
        yield hidden


def matrices(part: MatrixInput, rows: int) -> Iterator[Floats]:
    """The matrices of an array one after the other, in doubles. Raises RefusedError for what is too large."""
    assert part.stored is not None
    for chunk in part.stored.chunks(rows):
        yield gathered([StoredRows.from_bytes(chunk, part.stored.dtype, part.shape[1])], (rows, part.shape[1]))
