"""A matrix whose singular values are asked for, in words and as a formula."""

from __future__ import annotations

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.stated_matrix import GivenMatrix, SoftmaxMatrix, StatedMatrix
from certattn.statements.given import sight_of_queries


def matrix_words(matrix: StatedMatrix) -> str:
    """What M is, every number in it."""
    head = f"the {matrix.shape[0]} x {matrix.shape[1]} matrix M = "
    if isinstance(matrix, GivenMatrix):
        return head + matrix.matrix.words()
    if not isinstance(matrix, SoftmaxMatrix):
        raise TypeError(f"no words of a {type(matrix).__name__}")
    inputs = f"s = {describe(matrix.scale)}, queries q = {matrix.queries.words()}, keys k = {matrix.keys.words()}"
    if not matrix.causal:
        defined = "sqrt(d) (A - 11'/d)" if matrix.centred else "sqrt(d) A"
        return f"{head}{defined}, d = {matrix.count}, where row i of A is the softmax of s <q_i, k_j> over j, {inputs}"
    defined, zero = "sqrt(d) A", "and 0 for j > i"
    if matrix.centred:
        defined, zero = "sqrt(d) (A - C)", "and C_ij = 1/i for j <= i, both 0 for j > i"
    where = "row i of A is the softmax of s <q_i, k_j> over j <= i"
    sight = sight_of_queries(matrix.count, 1)
    return f"{head}{defined}, d = {matrix.count}, where {where}, {zero}, {inputs}{sight}"


def matrix_latex(matrix: StatedMatrix) -> list[str]:
    """The definition of M as a formula; none where it is given."""
    if not isinstance(matrix, SoftmaxMatrix):
        return []
    if matrix.causal and matrix.centred:
        return [r"M = \sqrt d\,(A - C),\qquad C_{ij} = \tfrac1i \ (j \le i),\qquad A_{ij} = C_{ij} = 0 \ (j > i)"]
    if matrix.causal:
        return [r"M = \sqrt d\,A,\qquad A_{ij} = 0 \ (j > i)"]
    return [r"M = \sqrt d\,(A - \tfrac1d \mathbf 1 \mathbf 1^\top)" if matrix.centred else r"M = \sqrt d\,A"]
