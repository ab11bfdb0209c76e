"""Softmax attention beside its linear part: how the stages of the approximation are made of one another.

For d queries q_i and keys k_j with scores s <q_i, k_j>, A their softmax by rows and Pi = I - 11'/d, let

    M = sqrt(d) (A - 11'/d),    L = (s <q_i, k_j>) Pi / sqrt(d).

With any numbers c_i, t_ij = e^(s <q_i, k_j> - c_i) - 1, T = (t_ij)/sqrt(d), and tbar_i the mean of t_i1, ..., t_id:

    T Pi = diag(1 + tbar) M    exactly,

as factors of rows leave softmax as it is. So every stage and every difference of two stages is diag(a + b tbar) M + c L
with integers a, b, c, and no exponential is needed that is not in M. In the limit theorem the queries and keys are
u q_i and u k_j with independent N(0, 1) entries, the scores those over sqrt(p) times beta, and 2 c_i = beta^2 u^2
|q_i|^2/p is the variance of a score given the query.

Hayase, Collins and Karakida (AISTATS 2026, arXiv 2510.06685) approximate M by these stages; the identity is proved in
`docs/claims/spectrum/linearization.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.mathematics.attention_matrix import centred_row, total
from certattn.kernel.mathematics.balls import scale_ball, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.reals import Real
from certattn.kernel.mathematics.softmax import Prompt


@dataclass(frozen=True)
class Stage:
    """diag(constant + slope tbar) M + linear L."""

    constant: int
    slope: int
    linear: int

    def factor(self, excess: arb) -> arb:
        """What a row of M is multiplied by, from tbar_i."""
        return self.constant + self.slope * excess

    def row(self, excess: arb, attention: Sequence[arb], linear: Sequence[arb]) -> list[arb]:
        """A row, from tbar_i and the rows of M and L."""
        factor = self.factor(excess)
        return [factor * m + self.linear * entry for m, entry in zip(attention, linear, strict=True)]


ATTENTION, REMAINDER, SCORES = "attention", "attention_less_linear", "scores"
CHANGE = "attention_less_scores"
STAGES: Mapping[str, Stage] = {
    ATTENTION: Stage(1, 0, 0),
    SCORES: Stage(1, 1, 0),
    "linear": Stage(0, 0, 1),
    CHANGE: Stage(0, -1, 0),
    "scores_less_linear": Stage(1, 1, -1),
    REMAINDER: Stage(1, 0, -1),
}


def normaliser_excess(weights: arb, exponent: arb, size: int) -> arb:
    """tbar_i = e^exponent (sum of weights)/d - 1, where weights are e^(s <q_i, k_j> - c_i - exponent)."""
    return weights * exponent.exp() / size - 1


def wasserstein(first: Sequence[arb], second: Sequence[arb]) -> arb:
    """W_2 of the laws of as many numbers in the same order: the root of the mean of (x_k - y_k)^2."""
    squares = [(x - y) * (x - y) for x, y in zip(first, second, strict=True)]
    return root(sum(squares[1:], squares[0]) / len(squares))


@dataclass(frozen=True)
class Parts:
    """M and L as rows, and tbar; the last is empty where no c_i are meant."""

    attention: Sequence[Sequence[arb]]
    linear: Sequence[Sequence[arb]]
    excess: Sequence[arb]

    def rows(self, stage: Stage) -> list[list[arb]]:
        """A stage, d x d."""
        excess = self.excess or [arb(0)] * len(self.attention)
        return [stage.row(*parts) for parts in zip(excess, self.attention, self.linear, strict=True)]


def parts(queries: ExactMatrix, keys: ExactMatrix, scale: Real, rate: fmpq | None) -> Parts:
    """M, L and tbar of d queries and keys, with c_i = rate |q_i|^2, at the working precision."""
    attention: list[list[arb]] = []
    sums: list[arb] = []
    for weights in Prompt(keys, keys, scale).weights(queries):
        rows = weights.tolist()
        attention += [centred_row(row) for row in rows]
        sums += [total(row) for row in rows]
    linear = linear_part(queries, keys, scale)
    if rate is None:
        return Parts(attention, linear, [])
    # Weights are relative to the first key.
    first = table_of_balls(queries @ keys.take_rows([0]).T, scale_ball(scale))
    excess = [
        normaliser_excess(weight, score - half_variance(rate, query), keys.rows)
        for weight, [score], query in zip(sums, first, queries.to_rows(), strict=True)
    ]
    return Parts(attention, linear, excess)


def linear_part(queries: ExactMatrix, keys: ExactMatrix, scale: Real) -> list[list[arb]]:
    """L = (s <q_i, k_j - mean of the keys>)/sqrt(d): Pi takes the mean of a row off."""
    scores = queries @ keys.centred(keys.mean_row()).T
    return table_of_balls(scores, scale_ball(scale) / arb(keys.rows).sqrt())


def half_variance(rate: fmpq, query: Sequence[fmpq]) -> arb:
    """c_i = rate |q_i|^2."""
    return arb(rate * sum((entry * entry for entry in query), fmpq(0)))
