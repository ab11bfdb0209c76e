"""Prompts in array files, in binary64: what the files hold, and attention over it beside a limit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial

from certattn.fast.attention import StoredPrompt
from certattn.fast.balls import Ball, difference, enclose
from certattn.fast.rows import StoredRows
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.given.prompts import StatedPrompt
from certattn.kernel.given.stored_arrays import naming_what_is_not_finite, stored_rows
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.operator import AffineMap, Operator

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


def _tokens(tokens: MatrixInput) -> Iterator[tuple[StoredRows, StoredRows]]:
    for rows in stored_rows(tokens, tokens.shape[1]):
        yield rows, rows


def _pairs(keys: MatrixInput, values: MatrixInput) -> Iterator[tuple[StoredRows, StoredRows]]:
    columns = max(keys.shape[1], values.shape[1])
    # Strict, so that both are read to the end and both hashes are compared.
    yield from zip(stored_rows(keys, columns), stored_rows(values, columns), strict=True)


def naming_its_infinities(prompt: StatedPrompt) -> AbstractContextManager[None]:
    """Where binary64 refuses numbers of a prompt that are not finite, say where they stand."""
    return naming_what_is_not_finite([part for part in prompt.inputs if part is not None])


def off_limit(prompt: StatedPrompt, limit: AffineMap | Operator, stated: ExactMatrix) -> Ball:
    """T(q) - T_inf(q) for every row q of `stated`. Raises Binary64Error where binary64 has no answer."""
    with naming_its_infinities(prompt):
        return difference(stored_prompt(prompt).means(stated), limit_values(prompt, limit, stated))


def limit_values(prompt: StatedPrompt, limit: AffineMap | Operator, stated: ExactMatrix) -> Ball:
    """T_inf(q) for every row, by Arb."""
    with working_precision(_ARB_BITS):
        return enclose(limit.from_point(ExactMatrix.zero(1, prompt.output_dimension), stated))
