"""Heads of attention in array files, in binary64: what each computes, beside its stored output."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from certattn.fast.attention import Moments
from certattn.fast.balls import rounded_scale
from certattn.fast.heads import Head, attended, scaled
from certattn.fast.output_errors import OutputErrors
from certattn.fast.rows import StoredRows, gathered
from certattn.fast.units import Floats
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.given.stored_arrays import naming_what_is_not_finite
from certattn.kernel.theorems.attention.stated_heads import StatedHeads


def stored_errors(heads: StatedHeads, wanted: Collection[int]) -> Iterator[tuple[int, OutputErrors, Moments]]:
    """Of some heads the errors of the output, and what is exact. Raises Binary64Error.

    Every array is read to its end, since its hash comes last: what is yielded counts once the iterator has ended.
    """
    queries, keys, values, output = heads.arrays
    each = zip(matrices(queries, heads.queries), matrices(output, heads.queries), strict=True)
    pairs = zip(matrices(keys, heads.tokens), matrices(values, heads.tokens), strict=True)
    shared = (pair for pair in pairs for _ in range(heads.shared))
    scale = rounded_scale(heads.scale)
    with naming_what_is_not_finite(heads.arrays):
        for index, ((rows, out), (k, v)) in enumerate(zip(each, shared, strict=True)):
            if index in wanted:
                sight = heads.sight(index)
                found = attended(Head(*scaled(rows, scale), k, v, sight.first, sight.last))
                yield index, OutputErrors.of(out, found.means), found


def matrices(part: MatrixInput, rows: int) -> Iterator[Floats]:
    """The matrices of an array one after the other, in doubles. Raises RefusedError for what is too large."""
    assert part.stored is not None
    for chunk in part.stored.chunks(rows):
        yield gathered([StoredRows.from_bytes(chunk, part.stored.dtype, part.shape[1])], (rows, part.shape[1]))
