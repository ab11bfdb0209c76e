"""The matrices of `matrix_inputs` in doubles: the same singular values as in integers, as wider balls, much faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certattn.fast import singular_values
from certattn.fast.attention_matrix import attention_matrix
from certattn.fast.balls import rounded
from certattn.fast.rows import Dense, gathered
from certattn.fast.singular_values import FloatFactors
from certattn.fast.units import Floats
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.given.stored_arrays import naming_what_is_not_finite, stored_rows
from certattn.kernel.theorems.spectrum.matrix_inputs import GivenMatrix, SoftmaxMatrix, Spectrum, StatedMatrix

if TYPE_CHECKING:
    from certattn.kernel.theorems.spectrum.singular_values import Hint


def spectrum_in_binary64(matrix: StatedMatrix, hint: Hint | None) -> Spectrum:
    """Enclosures in Arb balls; factors are computed where there is no hint. Raises Binary64Error."""
    with naming_what_is_not_finite(matrix.inputs):
        dense = dense_matrix(matrix)
    # A given matrix keeps its zeros to itself here: its rank would take exact arithmetic.
    rank = matrix.rank_bound if isinstance(matrix, SoftmaxMatrix) else matrix.count
    return spectrum_of(dense, hint, rank)


def spectrum_of(dense: Dense, hint: Hint | None, rank: int) -> Spectrum:
    """The spectrum of a matrix of at most so large a rank. Raises Binary64Error."""
    factors = None
    if hint is not None:
        with naming_what_is_not_finite([hint.left, hint.right]):
            left, right = doubles(hint.left), doubles(hint.right)
        factors = FloatFactors(left, rounded(hint.values)[0], right)
    return Spectrum(singular_values.enclose(dense, factors, rank), singular_values.energy(dense))


def dense_matrix(matrix: StatedMatrix) -> Dense:
    """M in doubles, within a proved distance. Raises Binary64Error."""
    if isinstance(matrix, SoftmaxMatrix):
        queries, keys = doubles(matrix.queries), doubles(matrix.keys)
        return attention_matrix(queries, keys, matrix.scale, centred=matrix.centred, causal=matrix.causal)
    if isinstance(matrix, GivenMatrix):
        # Doubles are read as they are.
        return Dense(doubles(matrix.matrix), 0)
    raise TypeError(f"no doubles of a {type(matrix).__name__}")


def doubles(part: MatrixInput) -> Floats:
    """A matrix in an array file of doubles, exactly."""
    return gathered(stored_rows(part, part.shape[1]), part.shape)
