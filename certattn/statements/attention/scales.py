"""A scale that was probably forgotten: a line of a report, which decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.mathematics.reals import Real


def forgotten_scale(scale: Real, dimension: int, inputs: Sequence[MatrixInput | None]) -> list[str]:
    """That scores of arrays from files are not scaled, though models scale them; nothing where they are.

    Of numbers that somebody has written down, this is seen at a glance.
    """
    if scale != 1 or dimension == 1 or all(part is None or part.written_out for part in inputs):
        return []
    return [f"the scale is 1, although keys have dimension {dimension}: was 1/sqrt({dimension}) forgotten?"]
