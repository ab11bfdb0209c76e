"""Prompts that are infinite: contexts that are laws, and the risk of regression over all tasks.

A context that is a law mu of tokens, keys and values at once, has m(a) = tau(a) and C(a) = tau'(a), its covariance
under the tilt. The context of a regression task w, x ~ N(0, Sigma) and y = <w, x>, has keys x and values y:

    m(a) = w'Sigma a,      C(a) = w'Sigma.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, arb_mat

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import inflated
from certattn.kernel.mathematics.functions import BALLS, natural_power
from certattn.kernel.mathematics.law_moments import third_cumulant, tilted_covariance
from certattn.kernel.mathematics.laws import Law
from certattn.kernel.theorems.training.mathematics.context_losses import (
    Curvatures,
    Evaluation,
    Moments,
    Near,
    Trained,
    inflated_matrix,
)
from certattn.kernel.theorems.training.mathematics.regression import BallMatrix, Parameters, Regression


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
