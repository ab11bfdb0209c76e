"""Gradient descent on the loss of concrete prompts beside that on infinite ones, enclosed step by step.

    theta_(k+1) = theta_k - eta grad R(theta_k)

The start is exact and every step an evaluation in balls, so the balls grow by rounding alone, by some bits a step.
More working precision than that leaves them as narrow as one likes.

Gronwall, for two descents theta^L on R_L and theta^inf on R_inf with the same start: if within r of each of
theta_0^inf, ..., theta_(K-1)^inf

    |grad R_L - grad R_inf| <= g      and      |I - eta Hess R_inf| <= 1 + eta nu,     g ((1 + eta nu)^K - 1)/nu <= r,

then |theta_k^L - theta_k^inf| <= g ((1 + eta nu)^k - 1)/nu for k <= K. Where -mu <= Hess R_inf <= beta,
nu = max(mu, beta - 2/eta) will do; and the gap of the gradients changes, from the centre to the border of such a
ball, by at most r max(beta_L + mu, beta + mu_L).

A context that is a law mu of tokens, keys and values at once, has m(a) = tau(a) and C(a) = tau'(a), its covariance
under the tilt. The context of a regression task w, x ~ N(0, Sigma) and y = <w, x>, has keys x and values y:

    m(a) = w'Sigma a,      C(a) = w'Sigma.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import inflated
from certattn.kernel.mathematics.functions import BALLS, Number, natural_power
from certattn.kernel.mathematics.law_moments import third_cumulant, tilted_covariance
from certattn.kernel.mathematics.laws import Law
from certattn.kernel.theorems.training.mathematics.context_losses import (
    Curvatures,
    Evaluation,
    Loss,
    Moments,
    Near,
    Trained,
    inflated_matrix,
)
from certattn.kernel.theorems.training.mathematics.regression import BallMatrix, Parameters, Regression

# -- infinite prompts


@dataclass(frozen=True)
class LawContext:
    """All tokens of a law whose parameters are balls."""

    law: Law

    def moments(self, near: Near) -> Moments:
        entries = near.box()
        mean = self.law.tilted_mean(entries, BALLS)
        return Moments(arb_mat(len(mean), 1, mean), arb_mat(tilted_covariance(self.law, entries, BALLS)))

    def bend(self, near: Near, along: arb_mat) -> arb_mat:
        return arb_mat(third_cumulant(self.law, near.box(), along.entries(), BALLS))


@dataclass(frozen=True)
class TaskContext:
    """All tokens (x, <w, x>) of a regression task; `slope` is the row w'Sigma."""

    slope: arb_mat

    def moments(self, near: Near) -> Moments:
        tilt = near.box()
        return Moments(self.slope * arb_mat(len(tilt), 1, tilt), self.slope)

    def bend(self, near: Near, along: arb_mat) -> arb_mat:
        """0: m is linear."""
        return arb_mat(self.slope.ncols(), self.slope.ncols())


@dataclass(frozen=True)
class PopulationLoss:
    """R(A, b) over all tasks and queries, as in `regression`; U = A and V = (b).

    The second derivative along (H, h) is |D Sigma^(1/2)|^2 + 2h <Sigma E Sigma, H> with D = h Sigma A + b Sigma H, and

        |D Sigma^(1/2)|^2 <= (|Sigma A Sigma^(1/2)|^2 + b^2 lam^3) |(H, h)|^2,   lam >= the norm of Sigma.
    """

    regression: Regression
    largest: arb

    def at(self, point: Trained) -> Evaluation:
        parameters = Parameters(BallMatrix(point.U), point.V[0, 0])
        gradient = self.regression.gradient(parameters)
        return Evaluation(self.regression.risk(parameters), Trained(gradient.A.balls, _single(gradient.b)))

    def curvatures(self, around: Trained, radius: arb) -> Curvatures:
        A, b = BallMatrix(inflated_matrix(around.U, radius)), inflated(around.V[0, 0], radius)
        covariance = self.regression.covariance
        moved = covariance @ A
        squares = (moved @ covariance).inner(moved) + b * b * natural_power(self.largest, 3)
        rest = l2_norm(self.regression.residual(Parameters(A, b)).entries())
        return Curvatures(squares + rest, rest)


def _single(entry: arb) -> arb_mat:
    return arb_mat(1, 1, [entry])


# -- two descents

# Where two losses are compared: each at its own iterate, or both at one of the two.
EACH, FINITE, INFINITE = "each", "finite", "infinite"


@dataclass(frozen=True, eq=False)
class Iterate:
    """A point of a descent on a loss."""

    loss: Loss
    point: Trained

    @cached_property
    def evaluation(self) -> Evaluation:
        """R and its gradient there."""
        return self.loss.at(self.point)

    def after(self, step: arb) -> Iterate:
        """One step on."""
        return Iterate(self.loss, self.point - self.evaluation.gradient.scaled(step))


@dataclass(frozen=True, eq=False)
class Pair:
    """theta_k of the descent on the finite prompts, and of that on the infinite ones."""

    k: int
    finite: Iterate
    infinite: Iterate

    def distance(self) -> arb:
        """|theta_k^L - theta_k^inf|, which is 0 at the start: it is the same point, whatever its balls."""
        return arb(0) if self.k == 0 else (self.finite.point - self.infinite.point).norm()

    def compared(self, at: str) -> tuple[Evaluation, Evaluation]:
        """R_L and R_inf with their gradients: `at` EACH's own iterate, or both at that of one."""
        finite = self._finite_at_infinite if at == INFINITE else self.finite
        infinite = self._infinite_at_finite if at == FINITE else self.infinite
        return finite.evaluation, infinite.evaluation

    def risk_gap(self, at: str) -> arb:
        """|R_L - R_inf|."""
        finite, infinite = self.compared(at)
        return abs(finite.risk - infinite.risk)

    def gradient_gap(self, at: str) -> arb:
        """|grad R_L - grad R_inf|."""
        finite, infinite = self.compared(at)
        return (finite.gradient - infinite.gradient).norm()

    @cached_property
    def _finite_at_infinite(self) -> Iterate:
        return Iterate(self.finite.loss, self.infinite.point)

    @cached_property
    def _infinite_at_finite(self) -> Iterate:
        return Iterate(self.infinite.loss, self.finite.point)


@dataclass(frozen=True)
class Tube:
    """What holds within r of theta_k^inf: bounds of |grad R_L - grad R_inf|, and of nu."""

    gap: arb
    rate: arb


def tube_around(pair: Pair, radius: fmpq, step: arb) -> Tube:
    """The bounds at one k."""
    point, r = pair.infinite.point, arb(radius)
    finite, infinite = pair.finite.loss.curvatures(point, r), pair.infinite.loss.curvatures(point, r)
    change = (finite.upward + infinite.downward).max(infinite.upward + finite.downward)
    rate = infinite.downward.max(infinite.upward - 2 / step)
    return Tube(pair.gradient_gap(INFINITE) + change * r, rate)


def growth(gap: Number, rate: Number, step: Number, steps: int) -> Number:
    """g ((1 + eta nu)^k - 1)/nu."""
    return gap * (natural_power(1 + step * rate, steps) - 1) / rate


def pairs(finite: Loss, infinite: Loss, start: Trained, step: arb) -> Iterator[Pair]:
    """Both descents from the same start, side by side, without end."""
    both = zip(iterates(finite, start, step), iterates(infinite, start, step), strict=True)
    return (Pair(k, left, right) for k, (left, right) in enumerate(both))


def iterates(loss: Loss, start: Trained, step: arb) -> Iterator[Iterate]:
    """theta_0, theta_1, ... without end."""
    current = Iterate(loss, start)
    while True:
        yield current
        current = current.after(step)
