"""The risk of in-context regression, against its definition as an average and against difference quotients."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.regression import BallMatrix, Parameters, Regression

COVARIANCE = ExactMatrix.rational([[fmpq(2), fmpq(1, 2)], [fmpq(1, 2), fmpq(1)]])
TASK = Regression(COVARIANCE, ExactMatrix.identity(2))
AT = Parameters(ExactMatrix.rational([[fmpq(1, 3), fmpq(-1, 5)], [fmpq(2, 7), fmpq(1, 2)]]), fmpq(3, 4))
ALONG = Parameters(ExactMatrix.rational([[fmpq(1), fmpq(-2)], [fmpq(1, 2), fmpq(3)]]), fmpq(-5, 3))


def floats(matrix: ExactMatrix) -> np.ndarray:
    return np.array([[float(entry.p) / float(entry.q) for entry in row] for row in matrix.to_rows()])


def test_the_risk_is_half_the_mean_squared_error() -> None:
    rng = np.random.default_rng(0)
    S, A, b = floats(COVARIANCE), floats(AT.A), 0.75
    x, w = rng.multivariate_normal([0, 0], S, 400_000), rng.standard_normal((400_000, 2))
    error = b * np.einsum("ni,ij,nj->n", w, S @ A, x) - np.einsum("ni,ni->n", w, x)
    sample = error**2 / 2
    deviation = sample.std() / np.sqrt(len(sample))
    risk = TASK.risk(AT)
    assert abs(sample.mean() - float(risk.p) / float(risk.q)) < 5 * deviation


def test_gradient_and_second_derivative_are_those_of_the_risk() -> None:
    # R is a polynomial of degree 4 along a line: five values give its derivatives exactly.
    values = [TASK.risk(AT + ALONG.scaled(fmpq(k))) for k in range(-2, 3)]
    first = (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / 12
    second = (-values[0] + 16 * values[1] - 30 * values[2] + 16 * values[3] - values[4]) / 12
    assert TASK.gradient(AT).inner(ALONG) == first
    assert TASK.second_derivative(AT, ALONG) == second


def test_the_flow_conserves_the_invariant() -> None:
    gradient = TASK.gradient(AT)
    assert AT.A.inner(gradient.A) == AT.b * gradient.b


@pytest.mark.parametrize("b", [fmpq(1, 2), fmpq(-3)])
def test_the_risk_vanishes_where_the_inverse_is_learnt(b: fmpq) -> None:
    inverse = ExactMatrix.rational([[fmpq(4, 7), fmpq(-2, 7)], [fmpq(-2, 7), fmpq(8, 7)]])
    at = Parameters(inverse.scaled(1 / b), b)
    assert TASK.risk(at) == 0
    assert TASK.gradient(at).inner(TASK.gradient(at)) == 0
    assert TASK.risk(Parameters(ExactMatrix.identity(2).scaled(1 / b), b)) > 0


def test_balls_contain_the_exact_values() -> None:
    with working_precision(64):
        task = Regression(BallMatrix.around(COVARIANCE), BallMatrix.identity(2))
        at = Parameters(BallMatrix.around(AT.A), arb(AT.b))
        along = Parameters(BallMatrix.around(ALONG.A), arb(ALONG.b))
        assert task.risk(at).contains(TASK.risk(AT))
        assert task.risk(at).rel_accuracy_bits() > 50
        assert task.gradient(at).inner(along).contains(TASK.gradient(AT).inner(ALONG))
        assert task.second_derivative(at, along).contains(TASK.second_derivative(AT, ALONG))
        assert at.invariant().contains(AT.invariant())
        assert task.covariance.T.trace().contains(COVARIANCE.trace())
