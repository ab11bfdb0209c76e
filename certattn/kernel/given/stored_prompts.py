"""Prompts in array files, for arithmetic in binary64: chunks of rows, without a detour through exact numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from certattn.fast.attention import StoredPrompt
from certattn.fast.rows import EXACT_TYPES, StoredRows
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.errors import RefusedError
from certattn.kernel.given.prompt_inputs import StatedPrompt

# Numbers in a chunk: what is in memory of a large file.
_CHUNK_NUMBERS = 2**21


def is_within_reach(prompt: StatedPrompt) -> bool:
    """Whether tokens, or keys and values, come from array files whose numbers are doubles."""
    return all(part is None or holds_doubles(part) for part in prompt.inputs)


def holds_doubles(part: MatrixInput) -> bool:
    """Whether a matrix comes from an array file whose numbers are doubles."""
    return part.stored is not None and part.stored.dtype in EXACT_TYPES


def stored_prompt(prompt: StatedPrompt) -> StoredPrompt:
    """The prompt as its files hold it."""
    keys, values = prompt.inputs
    chunks = partial(_tokens, keys) if values is None else partial(_pairs, keys, values)
    weights = prompt.weights
    value_map = weights.values() if weights is not None and weights.V is not None else None
    key_map = weights.K.load() if weights is not None and weights.K is not None else None
    return StoredPrompt(chunks, values is not None, prompt.scale, prompt.score_map, value_map, key_map)


@contextmanager
def naming_what_is_not_finite(prompt: StatedPrompt) -> Iterator[None]:
    """Where binary64 refuses numbers that are not finite, say where they stand; Arb would refuse them too."""
    try:
        yield
    except RefusedError:
        require_finite(part for part in prompt.inputs if part is not None)
        raise


def require_finite(inputs: Iterable[MatrixInput]) -> None:
    """Look through array files for NaN and infinities. Raises MalformedError where one stands."""
    for part in inputs:
        if part.stored is not None:
            part.stored.require_finite(_rows_in_chunk(part.shape[1]))


def _tokens(tokens: MatrixInput) -> Iterator[tuple[StoredRows, StoredRows]]:
    for rows in stored_rows(tokens, tokens.shape[1]):
        yield rows, rows


def _pairs(keys: MatrixInput, values: MatrixInput) -> Iterator[tuple[StoredRows, StoredRows]]:
    columns = max(keys.shape[1], values.shape[1])
    # Strict, so that both are read to the end and both hashes are compared.
    yield from zip(stored_rows(keys, columns), stored_rows(values, columns), strict=True)


def stored_rows(matrix: MatrixInput, columns: int) -> Iterator[StoredRows]:
    """Chunks of rows; `columns` sets how many rows a chunk of a large file has."""
    assert matrix.stored is not None
    for chunk in matrix.stored.chunks(_rows_in_chunk(columns)):
        yield StoredRows.from_bytes(chunk, matrix.stored.dtype, matrix.shape[1])


def _rows_in_chunk(columns: int) -> int:
    return max(1, _CHUNK_NUMBERS // columns)
