"""Bayes points, against the flow that runs to them and against exact roots."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.regression import bayes_point, inverse_squares

COVARIANCE = ExactMatrix.rational([[fmpq(1), fmpq(1, 2)], [fmpq(1, 2), fmpq(5, 4)]])
INVERSE = ExactMatrix.rational([[fmpq(5, 4), fmpq(-1, 2)], [fmpq(-1, 2), fmpq(1)]])


def test_the_squares_of_the_inverse_are_exact() -> None:
    assert ExactMatrix.identity(2) == INVERSE @ COVARIANCE
    assert inverse_squares(COVARIANCE) == fmpq(25, 16) + fmpq(1, 2) + 1
    assert inverse_squares(COVARIANCE.scaled(fmpq(3, 7))) == inverse_squares(COVARIANCE) * fmpq(49, 9)


@pytest.mark.parametrize("b", [fmpq(1, 1000), fmpq(2, 3), fmpq(50)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_rational_point_is_found_again(b: fmpq, sign: int) -> None:
    invariant = inverse_squares(COVARIANCE) / b**2 - b**2
    with working_precision(256):
        found = bayes_point(COVARIANCE, invariant, sign > 0)
        assert (abs(found.b - sign * b) < arb(2) ** -150) is True
        for entry, exact in zip(found.A.entries(), INVERSE.scaled(1 / (sign * b)).to_rows()[0], strict=False):
            assert entry.contains(arb(exact)) is True
            assert (entry.rad() < arb(2) ** -140) is True


def test_few_bits_give_no_number_rather_than_a_wrong_one() -> None:
    nearly_singular = ExactMatrix.rational([[fmpq(1), fmpq(1)], [fmpq(1), 1 + fmpq(1, 2**200)]])
    with working_precision(64):
        assert bayes_point(nearly_singular, fmpq(0), True).b.is_finite() is False
    with working_precision(512):
        assert bayes_point(nearly_singular, fmpq(0), True).b.is_finite() is True


def test_the_flow_ends_there() -> None:
    """Runge and Kutta in doubles from a start that does not commute with Sigma."""
    S = np.array([[1, 0.5], [0.5, 1.25]])

    def velocity(A: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        K = S @ (b * S @ A - np.eye(2)) @ S
        return -b * K, -float((A * K).sum())

    A, b, h = np.array([[0.5, 0.25], [0, 0.25]]), -0.5, 0.02
    A = -A
    start = float((A * A).sum() - b * b)
    for _ in range(4000):
        k1, l1 = velocity(A, b)
        k2, l2 = velocity(A + h / 2 * k1, b + h / 2 * l1)
        k3, l3 = velocity(A + h / 2 * k2, b + h / 2 * l2)
        k4, l4 = velocity(A + h * k3, b + h * l3)
        A, b = A + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), b + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    with working_precision(64):
        found = bayes_point(COVARIANCE, fmpq(*start.as_integer_ratio()), False)
        assert abs(float(found.b) - b) < 1e-6
        assert np.allclose([float(entry) for entry in found.A.entries()], A.ravel(), atol=1e-6)
