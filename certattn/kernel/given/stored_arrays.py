"""Matrices in array files, for arithmetic in binary64: chunks of rows, without a detour through exact numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from certattn.fast.rows import EXACT_TYPES, StoredRows
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.errors import RefusedError

# Numbers in a chunk: what is in memory of a large file.
_CHUNK_NUMBERS = 2**21


def holds_doubles(part: MatrixInput) -> bool:
    """Whether a matrix comes from an array file whose numbers are doubles."""
    return part.stored is not None and part.stored.dtype in EXACT_TYPES


def stored_rows(matrix: MatrixInput, columns: int) -> Iterator[StoredRows]:
    """Chunks of rows; `columns` sets how many rows a chunk of a large file has."""
    assert matrix.stored is not None
    for chunk in matrix.stored.chunks(_rows_in_chunk(columns)):
        yield StoredRows.from_bytes(chunk, matrix.stored.dtype, matrix.shape[1])


@contextmanager
def naming_what_is_not_finite(inputs: Sequence[MatrixInput]) -> Iterator[None]:
    """Where binary64 refuses numbers that are not finite, say where they stand; Arb would refuse them too."""
    try:
        yield
    except RefusedError:
        for part in inputs:
            if part.stored is not None:
                part.stored.require_finite(_rows_in_chunk(part.shape[1]))
        raise


def _rows_in_chunk(columns: int) -> int:
    return max(1, _CHUNK_NUMBERS // columns)
