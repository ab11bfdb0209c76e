"""The attention matrix of a causal head: query i sees the first i tokens alone.

    A_ij = e^(s <q_i, k_j>) / sum_{l <= i} e^(s <q_i, k_l>),   C_ij = 1/i   for j <= i,   both 0 for j > i,
    M = sqrt(d) (A - C)   where it is centred,   else   M = sqrt(d) A.

C is what A is where all scores are equal: what is left says what the scores do. Laws of random weights are known
without a mask alone, so the claims about these take no such matrix.
"""

from __future__ import annotations

from certattn.kernel.document.schema import ByKey, Field, Flag, Record, Values
from certattn.kernel.given.attention import SCALE
from certattn.kernel.given.prompts import sight_of_queries
from certattn.kernel.mathematics.attention_matrix import is_uniform_where_seen
from certattn.kernel.theorems.spectrum.matrix_inputs import (
    ATTENTION_FORM,
    CENTRED,
    KEYS,
    MATRIX,
    MATRIX_FORM,
    QUERIES,
    AttentionMatrix,
    SoftmaxMatrix,
    StatedMatrix,
    by,
    read_matrix,
)

CAUSAL = Field(
    "causal",
    Flag(),
    "true where query i sees the first i tokens alone, and C_ij = 1/i (j <= i) takes the place of 11'/d; "
    "all see all if left out",
    required=False,
)
HEAD_FORMS = ByKey({ATTENTION_FORM: Record(QUERIES, KEYS, SCALE, CENTRED, CAUSAL), MATRIX_FORM: Record(MATRIX)})


class CausalMatrix(SoftmaxMatrix):
    """M under a causal mask, lower triangular."""

    causal = True

    def words(self) -> str:
        size, where = self.count, "row i of A is the softmax of s <q_i, k_j> over j <= i"
        defined, zero = "sqrt(d) A", "and 0 for j > i"
        if self.centred:
            defined, zero = "sqrt(d) (A - C)", "and C_ij = 1/i for j <= i, both 0 for j > i"
        return (
            f"the {by(self.shape)} matrix M = {defined}, d = {size}, where {where}, {zero}, "
            f"{self.inputs_words}{sight_of_queries(size, 1)}"
        )

    @property
    def latex(self) -> str:
        if self.centred:
            return r"M = \sqrt d\,(A - C),\qquad C_{ij} = \tfrac1i \ (j \le i),\qquad A_{ij} = C_{ij} = 0 \ (j > i)"
        return r"M = \sqrt d\,A,\qquad A_{ij} = 0 \ (j > i)"

    @property
    def is_zero(self) -> bool:
        return self.centred and is_uniform_where_seen(*self.exact)


def read_head_matrix(form: str, values: Values) -> StatedMatrix:
    """The matrix of one form of HEAD_FORMS, its shapes checked. Raises MalformedError."""
    matrix = read_matrix(form, values)
    if isinstance(matrix, AttentionMatrix) and values.get(CAUSAL) is True:
        return CausalMatrix(matrix.queries, matrix.keys, matrix.scale, matrix.centred)
    return matrix
