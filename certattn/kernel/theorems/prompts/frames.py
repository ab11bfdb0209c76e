"""Frames: how an l2 norm is bounded by coordinates.

The rows u_c of a frame have sum_c u_c u_c' - I positive semidefinite, so that |y|^2 <= sum_c <u_c, y>^2. An
orthonormal basis is one; rounded to rational numbers and multiplied by a little more than 1 it still is.
"""

from __future__ import annotations

from flint import fmpq

from certattn.kernel.document.fields import Field, Values
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe


def read_frame(hint: Values, field: Field[MatrixInput], size: int, what: str) -> ExactMatrix:
    """The frame of vectors of that size, its condition checked exactly. Raises MalformedError."""
    hint[field].require_shape(None, size, f"for {what} of that dimension")
    frame = hint[field].load()
    if (frame.T @ frame - ExactMatrix.identity(size)).is_positive_semidefinite() is not True:
        raise hint.node(field).malformed(
            "rows u_c with sum u_c u_c' - I positive semidefinite",
            "a frame that is too small in some direction",
            "a rounded orthonormal basis serves when it is multiplied by a little more than 1",
        )
    return frame


def read_levels(hint: Values, field: Field[MatrixInput], frame: ExactMatrix) -> list[fmpq]:
    """Levels e_c >= 0, one per row of the frame. Raises MalformedError."""
    hint[field].require_length(frame.rows, "the rows of the frame")
    levels = hint[field].load().row(0)
    for index, level in enumerate(levels):
        if (level >= 0) is not True:
            raise hint.node(field).malformed("levels >= 0", f"{describe(level)} at index {index}")
    return levels


def sum_of_squares(levels: list[fmpq]) -> fmpq:
    return sum((level * level for level in levels), fmpq(0))
