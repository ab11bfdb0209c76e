"""One step of gradient descent on the regression risk, for `selection_descent.descend`.

    theta_(k+1) = theta_k - eta grad R(theta_k),      theta = (A, b)

With S = Sigma E Sigma, the second derivatives of R lie between -|S|_F and lam^3 |theta|^2 + |S|_F: along (H, h) they
are |D Sigma^(1/2)|^2 + 2 h tr(H'S) with D = h Sigma A + b Sigma H. So a step changes distances at most by the factor
max(1 + eta |S|_F, eta (lam^3 |theta|^2 + |S|_F) - 1).
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, arb_mat

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.theorems.training.mathematics.ball_matrix import BallMatrix
from certattn.kernel.theorems.training.mathematics.regression import Parameters, Regression

Vector = list[arb]


def flat(parameters: Parameters) -> Vector:
    """(A, b) as one vector: A row by row, then b."""
    return [*parameters.A.entries(), parameters.b]


def shaped(vector: Vector, size: int) -> Parameters:
    """The vector as (A, b), A size x size."""
    return Parameters(BallMatrix(arb_mat(size, size, vector[:-1])), vector[-1])


@dataclass(frozen=True)
class RegressionStep:
    """A step of the length `step` times the gradient; `largest` is lam."""

    regression: Regression
    largest: arb
    step: arb

    def of(self, point: Vector) -> Vector:
        """Where the step leads."""
        slope = flat(self.regression.gradient(self._at(point)))
        return [x - self.step * g for x, g in zip(point, slope, strict=True)]

    def expansion(self, box: Vector) -> arb:
        """A bound of how much the step expands distances in the box."""
        residual, length = l2_norm(self.regression.residual(self._at(box)).entries()), l2_norm(box)
        upward = self.largest**3 * length * length + residual
        return (1 + self.step * residual).max(self.step * upward - 1)

    def _at(self, point: Vector) -> Parameters:
        return shaped(point, self.regression.covariance.rows)
