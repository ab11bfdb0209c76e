"""Bernstein's form proves what it should, and Stein's identity gives means that are known."""

from __future__ import annotations

import pytest
import sympy

from certattn.theory.nonnegativity import is_nonnegative
from certattn.theory.stein_reduction import mean, power_sums, times, weighted_sum

x, y = sympy.symbols("x y")


@pytest.mark.parametrize(
    "polynomial",
    [x, 1 - x, (x - y) ** 2 + sympy.Rational(1, 100), x * (1 - x) * y, sympy.Integer(0), sympy.Integer(3),
     (x - sympy.Rational(1, 2)) ** 2, (2 * x - 1) ** 2 * (y + 1) + x * y],
)  # fmt: skip
def test_nonnegative_polynomials_are_proved(polynomial: sympy.Expr) -> None:
    assert is_nonnegative(polynomial, (x, y))


@pytest.mark.parametrize(
    "polynomial", [-x, x - 1, x - y, (x - sympy.Rational(1, 3)) ** 2 - sympy.Rational(1, 1000), -sympy.Integer(1)]
)
def test_polynomials_that_are_negative_somewhere_are_not(polynomial: sympy.Expr) -> None:
    assert not is_nonnegative(polynomial, (x, y))


def test_means_of_softmax_scores_by_stein() -> None:
    """E sum p_i u_i = s (1 - q), and the square of it: known from the mean of the output."""
    s = sympy.Symbol("s", positive=True)
    q, three, square = power_sums(2), power_sums(3), power_sums(2, 2)
    assert sympy.expand(mean(weighted_sum(1, 1)) - s * (1 - q)) == 0
    found = mean(times(weighted_sum(1, 1), weighted_sum(1, 1)))
    # E (t - s)^2 = q (1 + s^2) - 6 s^2 E[P_3 - P_2^2].
    wanted = q * (1 + s**2) - 6 * s**2 * (three - square) + 2 * s * s * (1 - q) - s**2
    assert sympy.expand(found - wanted) == 0
