"""The risk of in-context regression where tokens, query or tasks are not distributed as in training.

At test time let the tokens be of N(0, T), the query x of N(0, Q) and the task w of N(0, W), all independent. Attention
over the infinite prompt then predicts b w'T A x for <w, x>, and its risk knows of A and b only their product P = bA:

    1/2 E (b w'T A x - <w, x>)^2 = 1/2 tr(W F Q F'),      F = T P - I.

At every Bayes point P = Sigma^-1, so all of them have one risk. T, Q and W may be singular: Q = xx' is a fixed query.
"""

from __future__ import annotations

from dataclasses import dataclass

from certattn.kernel.document.matrices import Matrix, MatrixInput
from certattn.kernel.document.schema import Field, Rational, Record, Values, some_of
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.regression import AnyMatrix, Number

TOKENS = Field("tokens", Matrix(), "covariance of the tokens at test time; Sigma if left out", required=False)
QUERY = Field("query", Matrix(), "covariance of the query at test time; Sigma if left out", required=False)
TASKS = Field("tasks", Matrix(), "covariance of w at test time; I if left out", required=False)
SHIFTED = (TOKENS, QUERY, TASKS)
RISK = Field("risk", Rational(), "the risk at test time")
SHIFT = Field("shift", Record(*SHIFTED, RISK, rules=[some_of(*SHIFTED)]), "the risk at test time", required=False)


@dataclass(frozen=True)
class Shift:
    """T, Q, W, and I in the same kind of matrix."""

    tokens: AnyMatrix
    query: AnyMatrix
    tasks: AnyMatrix
    identity: AnyMatrix

    def risk(self, product: AnyMatrix) -> Number:
        """1/2 tr(W F Q F'), F = T P - I."""
        F = self.tokens @ product - self.identity
        return (self.tasks @ F @ self.query).inner(F) / 2


def read_shift(stated: Values, covariance: ExactMatrix) -> Shift:
    """What is stated of the test time, and the rest as in training with Sigma. Raises MalformedError."""
    identity = ExactMatrix.identity(covariance.rows)

    def read(field: Field[MatrixInput], trained: ExactMatrix) -> ExactMatrix:
        if field not in stated:
            return trained
        stated[field].require_shape(*covariance.shape, "like the covariance")
        return stated[field].load_semidefinite()

    return Shift(read(TOKENS, covariance), read(QUERY, covariance), read(TASKS, identity), identity)
