"""The derivations of the gradient claims notice wrong formulas, and Bernstein's form proves what it should."""

from __future__ import annotations

import pytest
import sympy
from wrong_formulas import assert_noticed

from certattn.theory import DERIVATIONS
from certattn.theory.nonnegativity import is_nonnegative
from certattn.theory.stein_reduction import mean, power_sums, times, weighted_sum

COVARIANCE, BOUNDS = (
    "kernel.theorems.prompts.mathematics.covariance_error",
    "kernel.theorems.prompts.mathematics.gradient_bounds",
)
PAIRS, PRODUCTS = (
    "kernel.theorems.prompts.mathematics.series",
    "kernel.theorems.prompts.mathematics.weighted_sums",
)
WRONG = [
    ("The mean square, exactly", COVARIANCE, "(2, 3): -52", "(2, 3): -51"),
    ("The mean square, exactly", COVARIANCE, "(5,): -1580", "(5,): 1580"),
    ("The mean square, exactly", COVARIANCE, "(2,): 2, (2, 2): 22", "(2,): 1, (2, 2): 22"),
    ("The mean square, exactly", COVARIANCE, "TRACES: PowerSumPolynomial = {(2,): 1, (3,): -2, (2, 2): 1}",
     "TRACES: PowerSumPolynomial = {(2,): 1, (3,): -2, (2, 2): 2}"),
    ("The mean square, exactly", COVARIANCE, "cross=_inner(moved, moved)", "cross=_inner(moved, values)"),
    ("The mean square, exactly", COVARIANCE, "self.value_shift * self.trace + ", ""),
    ("Bounds of the polynomials", COVARIANCE, "MOST_TWO_SHIFTS = 13", "MOST_TWO_SHIFTS = 6"),
    ("Bounds of the polynomials", COVARIANCE, "MOST_MIXED = fmpq(5, 2)", "MOST_MIXED = fmpq(3, 2)"),
    ("Bounds of the polynomials", COVARIANCE, "+ MOST_MIXED * abs(shape.mixed)", "+ MOST_MIXED * shape.mixed"),
    ("Second moments", BOUNDS, "- 2 * frobenius(moved, covariance)", "- frobenius(moved, covariance)"),
    ("Second moments", BOUNDS, "+ 2 * frobenius(moved, moved)", "+ frobenius(moved, moved)"),
    ("Second moments", BOUNDS, "second / length**3", "second / length**2"),
    ("Second moments", BOUNDS, "unlikely=length * frobenius", "unlikely=frobenius"),
    ("A small normaliser", BOUNDS, "rate * length * (1 - t) + (length - 1)", "rate * length * (1 - t) + length"),
    ("A small normaliser", BOUNDS, "((1 - t) * (1 - t))", "(1 - t)"),
    ("Joint moments", PAIRS, "math.comb(i + j, i) * ", ""),
    ("Joint moments", PAIRS, "value = value + c_uv * rows[i - 1][j - 1]", "value = value - c_uv * rows[i - 1][j - 1]"),
    ("Joint moments", PAIRS, "value + c_vv * rows[0][j - 2]", "value + 2 * c_vv * rows[0][j - 2]"),
    ("tail: Moments of the summands", PAIRS, "linear_exponential(-dot(u, centre)", "linear_exponential(dot(u, centre)"),
    ("tail: Moments of the summands", PRODUCTS, "-(self.covariance + self.eps), k", "self.covariance + self.eps, k"),
    ("tail: Moments of the summands", PRODUCTS, "self.sign**j * value", "value"),
    ("tail: The largest summand", PRODUCTS, "* slope * centre - 2)", "* slope * centre - 3)"),
    ("tail: The largest summand", PRODUCTS, "x + self.sign * y for x, y", "x - self.sign * y for x, y"),
]  # fmt: skip


@pytest.mark.parametrize(("title", "module", "old", "new"), WRONG, ids=[f"{t}: {n.strip()}" for t, _, _, n in WRONG])
def test_a_wrong_formula_is_caught(title: str, module: str, old: str, new: str) -> None:
    name = "gradient-tail" if title.startswith("tail: ") else "gradient-mean-square"
    steps = [step for step in DERIVATIONS[name].steps if step.title.startswith(title.removeprefix("tail: "))]
    assert_noticed(steps, module, old, new)


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
