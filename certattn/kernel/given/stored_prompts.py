"""Prompts in array files, for arithmetic in binary64: chunks of rows, without a detour through exact numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from certattn.fast.attention import StoredPrompt
from certattn.fast.rows import StoredRows
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.errors import RefusedError
from certattn.kernel.given.prompt_inputs import StatedPrompt
from certattn.kernel.given.stored_rows import holds_doubles, require_finite, stored_rows


def is_within_reach(prompt: StatedPrompt) -> bool:
    """Whether tokens, or keys and values, come from array files whose numbers are doubles."""
    return all(part is None or holds_doubles(part) for part in prompt.inputs)


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


def _tokens(tokens: MatrixInput) -> Iterator[tuple[StoredRows, StoredRows]]:
    for rows in stored_rows(tokens, tokens.shape[1]):
        yield rows, rows


def _pairs(keys: MatrixInput, values: MatrixInput) -> Iterator[tuple[StoredRows, StoredRows]]:
    columns = max(keys.shape[1], values.shape[1])
    # Strict, so that both are read to the end and both hashes are compared.
    yield from zip(stored_rows(keys, columns), stored_rows(values, columns), strict=True)
