"""Deviations of `output-deviation` in binary64: the same numbers as in Arb, as wider balls, much faster.

For the empirical limit T(q) - T_inf(q) comes out of one pass over the prompt; for an affine one or
that of a law, T_inf(q) is enclosed by Arb.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from flint import arb

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.arithmetic.binary64.attention import StoredPrompt
from certattn.kernel.arithmetic.binary64.ball_algebra import NORMS, difference
from certattn.kernel.arithmetic.binary64.conversions import arb_balls, enclose
from certattn.kernel.arithmetic.binary64.rows import EXACT_TYPES, StoredRows
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.document.matrices import MatrixInput

if TYPE_CHECKING:
    from certattn.kernel.claims.output_deviation import Problem
    from certattn.kernel.claims.prompt_inputs import StatedPrompt

# Precision of what Arb contributes.
_ARB_BITS = 96
# Numbers in a chunk: what is in memory of a large file.
_CHUNK_NUMBERS = 2**21


def is_within_reach(prompt: StatedPrompt) -> bool:
    """Whether tokens, or keys and values, come from array files whose numbers are doubles."""
    return all(part is None or (part.stored is not None and part.stored.dtype in EXACT_TYPES) for part in prompt.inputs)


def deviations(problem: Problem, rows: Sequence[int]) -> list[arb]:
    """|T(q) - T_inf(q)| for these queries. Raises Binary64Error where binary64 has no answer."""
    stored = stored_prompt(problem.prompt)
    stated = problem.prompt.stated_queries.take_rows(rows)
    if problem.limit_kind == "empirical":
        off = stored.off_surrogate(stated)
    else:
        with working_precision(_ARB_BITS):
            limit = enclose(problem.limit.from_point(ExactMatrix.zero(1, problem.prompt.output_dimension), stated))
        off = difference(stored.means(stated), limit)
    return arb_balls(NORMS[problem.bounds.norm](off))


def stored_prompt(prompt: StatedPrompt) -> StoredPrompt:
    """The prompt as its files hold it."""
    keys, values = prompt.inputs
    value_map = prompt.weights.values() if prompt.weights is not None and prompt.weights.V is not None else None
    chunks = partial(_tokens, keys) if values is None else partial(_pairs, keys, values)
    return StoredPrompt(chunks, values is not None, prompt.scale, prompt.score_map, value_map)


def _tokens(tokens: MatrixInput) -> Iterator[tuple[StoredRows, StoredRows]]:
    for rows in _rows(tokens, tokens.shape[1]):
        yield rows, rows


def _pairs(keys: MatrixInput, values: MatrixInput) -> Iterator[tuple[StoredRows, StoredRows]]:
    columns = max(keys.shape[1], values.shape[1])
    # Strict, so that both are read to the end and both hashes are compared.
    yield from zip(_rows(keys, columns), _rows(values, columns), strict=True)


def _rows(matrix: MatrixInput, columns: int) -> Iterator[StoredRows]:
    """Chunks of rows; `columns` sets how many rows a chunk of a large file has."""
    assert matrix.stored is not None
    for chunk in matrix.stored.chunks(max(1, _CHUNK_NUMBERS // columns)):
        yield StoredRows.from_bytes(chunk, matrix.stored.dtype, matrix.shape[1])
