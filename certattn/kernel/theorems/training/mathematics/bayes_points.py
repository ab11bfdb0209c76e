"""The Bayes points of in-context regression: the parameters of risk 0.

The risk vanishes exactly where b Sigma A = I, so on the curve A = Sigma^-1 / b, b != 0. There
|A|_F^2 = tr(Sigma^-2) / b^2, and with delta = |A|_F^2 - b^2, which gradient flow conserves,

    b^2 (b^2 + delta) = tr(Sigma^-2),      b^2 = (sqrt(delta^2 + 4 tr(Sigma^-2)) - delta) / 2 :

one point of each sign of b for every delta. Where delta = 0, b^4 = tr(Sigma^-2).
"""

from __future__ import annotations

from flint import arb, fmpq, fmpq_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.theorems.training.mathematics.ball_matrix import BallMatrix
from certattn.kernel.theorems.training.mathematics.regression import Parameters
from certattn.kernel.theorems.training.mathematics.regression_rates import squared_factor


def bayes_point(covariance: ExactMatrix, invariant: fmpq, positive: bool) -> Parameters:
    """The Bayes point with that invariant and sign of b, in balls; not finite where the precision is too low."""
    inverse = BallMatrix(BallMatrix.around(covariance).balls.inv(nonstop=True))
    b = BALLS.sqrt(squared_factor(arb(invariant), BALLS.sqrt(inverse.inner(inverse)), BALLS))
    b = b if positive else -b
    return Parameters(inverse.scaled(1 / b), b)


def exact_inverse(matrix: ExactMatrix) -> ExactMatrix:
    """The inverse of an invertible matrix, exactly."""
    numerators, denominator = fmpq_mat(matrix.numerators).inv().numer_denom()
    return ExactMatrix(numerators, denominator).scaled(fmpq(matrix.denominator))


def inverse_squares(covariance: ExactMatrix) -> fmpq:
    """tr(Sigma^-2) of a symmetric Sigma, exactly."""
    inverse = exact_inverse(covariance)
    return inverse.inner(inverse)
