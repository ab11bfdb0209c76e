"""Prompts in array files, for arithmetic in binary64: chunks of rows, without a detour through exact numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from certattn.fast.attention import StoredPrompt
from certattn.fast.balls import Ball, difference, enclose
from certattn.fast.rows import StoredRows
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.errors import RefusedError
from certattn.kernel.given.prompt_inputs import StatedPrompt, holds_doubles
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.operator import AffineMap, Operator

__all__ = ["holds_doubles", "naming_what_is_not_finite", "off_limit", "require_finite", "stored_prompt", "stored_rows"]

# Numbers in a chunk: what is in memory of a large file.
_CHUNK_NUMBERS = 2**21
# Precision of what Arb contributes.
_ARB_BITS = 96


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


def off_limit(prompt: StatedPrompt, limit: AffineMap | Operator, stated: ExactMatrix, *, tight: bool = False) -> Ball:
    """T(q) - T_inf(q) for every row q of `stated`. Raises Binary64Error where binary64 has no answer."""
    return difference(means(prompt, stated, tight=tight), limit_values(prompt, limit, stated))


def means(prompt: StatedPrompt, stated: ExactMatrix, *, tight: bool) -> Ball:
    """T(q) for every row."""
    stored = stored_prompt(prompt)
    with naming_what_is_not_finite(prompt):
        return stored.tight_moments(stated).means if tight else stored.means(stated)


def limit_values(prompt: StatedPrompt, limit: AffineMap | Operator, stated: ExactMatrix) -> Ball:
    """T_inf(q) for every row, by Arb."""
    with working_precision(_ARB_BITS):
        return enclose(limit.from_point(ExactMatrix.zero(1, prompt.output_dimension), stated))
