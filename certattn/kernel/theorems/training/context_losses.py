"""The loss of attention trained in context, and its gradient, over prompts that are finite or infinite.

Prompt n shows attention pairs of a key k and a value v: the tokens of a finite prompt, each alike, or a whole law of
them. Under the tilt a its mean and slope are

    m(a) = E[v e^{<a, k>}] / E[e^{<a, k>}],      C(a) = dm/da = Cov_a(v, k),      d_v x d_k.

With trained weights (U, V), queries q_n and targets t_n, r_n = V m_n(U q_n) - t_n and N prompts,

    R(U, V) = 1/(2N) sum_n |r_n|^2
    dR/dU   = 1/N sum_n C_n' V' r_n q_n',      dR/dV = 1/N sum_n r_n m_n'.

Along a direction (H, h), with u_n = H q_n and K_n = d^2 m_n / da^2, the second derivative of R is

    1/N sum_n |h m_n + V C_n u_n|^2 + 2 <r_n, h C_n u_n> + <V'r_n, K_n(u_n, u_n)>.

The rest is at most s_n |(H, h)|^2 in size with

    s_n = |r_n| |C_n| |q_n| + |sum_j (V'r_n)_j K_nj| |q_n|^2.

The average of the squares is |J (H, h)|^2 / N, where the numbers h m_n + V C_n u_n stand one below the other in
J (H, h). So it is at most |(H, h)|^2 times the largest eigenvalue of J J'/N, or of J'J/N, and also times the average
of the |m_n|^2 + |V C_n|^2 |q_n|^2.

In-context regression is the case of keys x_i and values y_i, U = A and V = (b); attention to whole tokens z_i that of
keys and values z_i (Boursier and Boyer 2026, sections 2 and 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from flint import arb, arb_mat, ctx, fmpq

from certattn.kernel.mathematics.balls import l2_norm, row_of_balls
from certattn.kernel.mathematics.enclosure import inflated
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.mathematics.softmax_moments import Tokens, WeightedPrompt
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.theorems.training.regression import BallMatrix
from certattn.kernel.theorems.training.stated_prompts import StatedPrompts


@dataclass(frozen=True)
class Trained:
    """The weights (U, V), or a direction in which they move."""

    U: arb_mat
    V: arb_mat

    @classmethod
    def around(cls, U: ExactMatrix, V: ExactMatrix) -> Trained:
        """Exact weights at the working precision."""
        return cls(balls_of(U), balls_of(V))

    def __add__(self, other: Trained) -> Trained:
        return Trained(self.U + other.U, self.V + other.V)

    def __sub__(self, other: Trained) -> Trained:
        return Trained(self.U - other.U, self.V - other.V)

    def scaled(self, factor: arb) -> Trained:
        return Trained(self.U * factor, self.V * factor)

    def entries(self) -> list[arb]:
        return [*self.U.entries(), *self.V.entries()]

    def norm(self) -> arb:
        """(|U|_F^2 + |V|_F^2)^(1/2)."""
        return l2_norm(self.entries())

    def around_all(self, entries: list[arb]) -> Trained:
        """Weights of these shapes, from all numbers in the order of `entries`."""
        U, V, size = self.U, self.V, self.U.nrows() * self.U.ncols()
        return Trained(arb_mat(U.nrows(), U.ncols(), entries[:size]), arb_mat(V.nrows(), V.ncols(), entries[size:]))

    def error(self) -> arb:
        """How far the weights may be from the middle of their balls."""
        return l2_norm([entry.rad() for entry in self.entries()])


@dataclass(frozen=True)
class Moments:
    """m(a) as a column, and C(a)."""

    mean: arb_mat
    slope: arb_mat


class Context(Protocol):
    """What attention sees: a prompt, or a law."""

    def moments(self, near: Near) -> Moments:
        """m(a) and C(a)."""

    def bend(self, near: Near, along: arb_mat) -> arb_mat:
        """sum_j c_j K_j(a) for the column c: the second derivative of <c, m>."""


@dataclass(frozen=True)
class Near:
    """Every tilt a, a column, at most a Euclidean distance from one; no other where the distance is None."""

    tilt: arb_mat
    distance: arb | None = None

    def box(self) -> list[arb]:
        """A ball for each coordinate."""
        entries = self.tilt.entries()
        return entries if self.distance is None else [inflated(entry, self.distance) for entry in entries]


class FinitePrompt:
    """Tokens of keys k_i and values v_i: m and C under the softmax weights of the scores <a, k_i>."""

    def __init__(self, prompt: Prompt) -> None:
        self.tokens = Tokens(prompt)
        self._keys = balls_of(prompt.keys.centred(prompt.keys.mean_row()))
        self._values = balls_of(prompt.values)
        self._mean = balls_of(self.tokens.mean).transpose()

    def moments(self, near: Near) -> Moments:
        weighted = self._weighted(near)
        around = weighted.output_from_mean()
        return Moments(self._mean + arb_mat(len(around), 1, around), weighted.covariance("values-keys"))

    def bend(self, near: Near, along: arb_mat) -> arb_mat:
        """sum_i p_i <c, v_i - m> (k_i - K)(k_i - K)', m and K the weighted averages."""
        weights = self._weighted(near).weights
        total = sum(weights, arb(0))
        shares = [weight / total for weight in weights]
        keys, values = _around_average(shares, self._keys), _around_average(shares, self._values)
        factors = zip(shares, (values * along).entries(), keys.tolist(), strict=True)
        scaled = [p * c * entry for p, c, row in factors for entry in row]
        return keys.transpose() * arb_mat(keys.nrows(), keys.ncols(), scaled)

    def _weighted(self, near: Near) -> WeightedPrompt:
        """The tokens under the weights e^{<a, k_i - k_bar>}; the score of k_bar is left out, it cancels."""
        scores = (self._keys * near.tilt).entries()
        if near.distance is not None:
            pairs = zip(scores, self._lengths, strict=True)
            scores = [inflated(score, length * near.distance) for score, length in pairs]
        return WeightedPrompt(self.tokens, [score.exp() for score in scores], arb(0))

    @cached_property
    def _lengths(self) -> list[arb]:
        """|k_i - k_bar|: by so much a score changes where the tilt moves by 1."""
        return [l2_norm(row) for row in self._keys.tolist()]


@dataclass(frozen=True)
class Evaluation:
    """R and its gradient at a point; the gradient is within `error` of what its balls hold, in the Euclidean norm."""

    risk: arb
    gradient: Trained
    error: arb = field(default_factory=lambda: arb(0))

    def within(self, distance: arb, curvature: arb) -> Evaluation:
        """What they are so near that point, where |Hess R| is at most `curvature`; balls alone hold the gradient."""
        change = curvature * distance
        risk = inflated(self.risk, ((self.gradient.norm() + self.error + change / 2) * distance).upper())
        U, V = (inflated_matrix(matrix, (self.error + change).upper()) for matrix in (self.gradient.U, self.gradient.V))
        return Evaluation(risk, Trained(U, V))


@dataclass(frozen=True)
class Curvatures:
    """-downward <= Hess R <= upward."""

    upward: arb
    downward: arb

    def expansion(self, step: arb) -> arb:
        """|I - eta Hess R| <= max(1 + eta downward, eta upward - 1)."""
        return (1 + step * self.downward).max(step * self.upward - 1)


# Bounds of second derivatives in balls cost some evaluations: so many steps of a descent share them.
SHARED_BY = 32
# Of larger products of J with itself no eigenvalue is taken.
_MOST_ROWS = 96


class Loss(Protocol):
    """What descent descends; so many steps at most share bounds of the second derivatives."""

    @property
    def shared_by(self) -> int: ...
    def at(self, point: Trained) -> Evaluation: ...
    def curvatures(self, around: Trained, radius: arb) -> Curvatures:
        """Bounds of the second derivatives at every point so near, all in the Frobenius norm of (U, V)."""


@dataclass(frozen=True)
class Task:
    """What attention is asked for in one prompt: the query q as a column, and the target t."""

    query: arb_mat
    target: arb_mat


@dataclass(frozen=True)
class ContextLoss:
    """1/(2N) sum_n |V m_n(U q_n) - t_n|^2."""

    contexts: Sequence[Context]
    tasks: Sequence[Task]
    shared_by: int = SHARED_BY

    def at(self, point: Trained) -> Evaluation:
        """R and its gradient, from one evaluation of the moments."""
        risk = arb(0)
        U, V = (arb_mat(weights.nrows(), weights.ncols()) for weights in (point.U, point.V))
        for context, task in zip(self.contexts, self.tasks, strict=True):
            moments = context.moments(Near(point.U * task.query))
            residual = point.V * moments.mean - task.target
            risk += sum((entry * entry for entry in residual.entries()), arb(0))
            U += (moments.slope.transpose() * (point.V.transpose() * residual)) * task.query.transpose()
            V += residual * moments.mean.transpose()
        share = self.share
        return Evaluation(risk * share / 2, Trained(U * share, V * share))

    def curvatures(self, around: Trained, radius: arb) -> Curvatures:
        """The largest eigenvalue of the squares' average, and the average of the s_n."""
        most, rest, rows = self.sums(around, radius)
        if min(len(rows), len(rows[0])) <= _MOST_ROWS:
            J = arb_mat(rows)
            square = J * J.transpose() if len(rows) <= len(rows[0]) else J.transpose() * J
            # Over a wide ball the average may be less.
            most = most.min(largest_eigenvalue(square, ctx.prec))
        return Curvatures((most + rest) * self.share, rest * self.share)

    def sums(self, around: Trained, radius: arb) -> tuple[arb, arb, list[list[arb]]]:
        """Over the prompts: of bounds of the squares, and of the s_n; and the rows of J."""
        rest = arb(0)
        V = inflated_matrix(around.V, radius)
        most = arb(0)
        rows: list[list[arb]] = []
        for context, task in zip(self.contexts, self.tasks, strict=True):
            length = _norm(task.query)
            near = Near(around.U * task.query, radius * length)
            moments = context.moments(near)
            residual = V * moments.mean - task.target
            bend = context.bend(near, V.transpose() * residual)
            rest += _norm(residual) * _norm(moments.slope) * length + _norm(bend) * _square(length)
            most += _square(_norm(moments.mean)) + _square(_norm(V * moments.slope) * length)
            rows += _changes(moments, V, task.query)
        return most, rest, rows

    @cached_property
    def share(self) -> arb:
        """1/N."""
        return arb(fmpq(1, len(self.tasks)))


def _changes(moments: Moments, V: arb_mat, query: arb_mat) -> list[list[arb]]:
    """Rows of J: how h m + V C H q depends on the entries of H, and then of h."""
    mean, none = moments.mean.entries(), [arb(0)] * V.ncols()
    along = [[entry * q for entry in row for q in query.entries()] for row in (V * moments.slope).tolist()]
    return [[*row, *none * i, *mean, *none * (len(along) - 1 - i)] for i, row in enumerate(along)]


def tasks_of(queries: ExactMatrix, targets: ExactMatrix) -> list[Task]:
    """A task for each row of both."""
    pairs = zip(queries.to_rows(), targets.to_rows(), strict=True)
    return [Task(_column(query), _column(target)) for query, target in pairs]


def balls_of(matrix: ExactMatrix) -> arb_mat:
    """The exact matrix at the working precision."""
    return BallMatrix.around(matrix).balls


def _around_average(shares: Sequence[arb], rows: arb_mat) -> arb_mat:
    """Every row less the weighted average of the rows."""
    mean = (arb_mat(1, len(shares), list(shares)) * rows).entries()
    return arb_mat([[x - m for x, m in zip(row, mean, strict=True)] for row in rows.tolist()])


def inflated_matrix(matrix: arb_mat, distance: arb) -> arb_mat:
    """Balls that hold every matrix so near in the Frobenius norm."""
    entries = [inflated(entry, distance) for entry in matrix.entries()]
    return arb_mat(matrix.nrows(), matrix.ncols(), entries)


def _square(number: arb) -> arb:
    return number * number


def _norm(matrix: arb_mat) -> arb:
    """Frobenius."""
    return l2_norm(matrix.entries())


def _column(entries: Sequence[fmpq]) -> arb_mat:
    return arb_mat(len(entries), 1, row_of_balls(entries))


def loss_of(prompts: StatedPrompts) -> ContextLoss:
    """1/(2N) sum_n |V m_n(U q_n) - t_n|^2 over these prompts, at the working precision."""
    return loss_in(prompts, [FinitePrompt(prompt) for prompt in prompts.prompts])


def loss_in(prompts: StatedPrompts, contexts: Sequence[Context]) -> ContextLoss:
    """The same where each query meets another context."""
    return ContextLoss(contexts, tasks_of(*prompts.asked))
