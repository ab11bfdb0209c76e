"""The checking code itself: what it proves, and what it must not."""

from __future__ import annotations

import pytest
import sympy

from certattn.theory.exactness import equal, equal_logarithms, equal_matrices, equal_series, positive, same, vanishes
from certattn.theory.special_functions import elementary

x, y = sympy.symbols("x y", real=True)
p = sympy.Symbol("p", positive=True)

# -- accepted


@pytest.mark.parametrize(
    "expression",
    [
        0,
        (x + y) ** 2 - x**2 - 2 * x * y - y**2,
        sympy.tanh(x) - sympy.sinh(x) / sympy.cosh(x),
        sympy.cosh(x) ** 2 - sympy.sinh(x) ** 2 - 1,
        sympy.exp(x + y) - sympy.exp(x) * sympy.exp(y),
        sympy.exp(x * (x + y) / 2) ** 2 - sympy.exp(x**2) * sympy.exp(x * y),
        sympy.tanh(2 * x) - 2 * sympy.tanh(x) / (1 + sympy.tanh(x) ** 2),
        1 / x + 1 / y - (x + y) / (x * y),
    ],
)
def test_true_identities_vanish(expression: object) -> None:
    assert vanishes(expression)


def test_nestings_are_compared_entry_by_entry() -> None:
    assert same([[x + y, 1]], sympy.Matrix([[y + x, 1]]))


def test_logarithms_are_compared_by_their_exponentials() -> None:
    assert equal_logarithms("", sympy.log(p**2), 2 * sympy.log(p)).holds


def test_series_by_induction() -> None:
    n = sympy.Symbol("n", integer=True, nonnegative=True)
    twice = sympy.factorial(2 * n + 2) / (2 * (n + 1))
    assert equal_series("", p**n / sympy.factorial(2 * n + 1), p**n / twice, n).holds


# -- refused


@pytest.mark.parametrize(
    "expression",
    [
        sympy.Rational(1, 10**30),
        x,
        sympy.tanh(x) - x,
        sympy.exp(x) - 1 - x,
        sympy.exp(2 * x) - 2 * sympy.exp(x),
        sympy.exp(x + y) - sympy.exp(x) - sympy.exp(y),
        sympy.cosh(x) ** 2 + sympy.sinh(x) ** 2 - 1,
        sympy.nan,
        sympy.zoo,
        sympy.oo,
    ],
)
def test_false_identities_do_not_vanish(expression: object) -> None:
    assert not vanishes(expression)


@pytest.mark.parametrize(
    ("left", "right"),
    [([], []), ([x], x), ([x], [x, x]), ([[x]], [x]), (sympy.zeros(0, 0), sympy.zeros(0, 0)), ([[x, y]], [[x], [y]])],
)
def test_shapes_must_agree_and_nothing_is_not_equal_to_nothing(left: object, right: object) -> None:
    assert not same(left, right)


def test_logarithms_that_differ() -> None:
    assert not equal_logarithms("", sympy.log(p), sympy.log(2 * p)).holds


def test_series_must_agree_at_the_first_term_and_in_the_ratio() -> None:
    n = sympy.Symbol("n", integer=True, nonnegative=True)
    assert not equal_series("", p**n, 2 * p**n, n).holds
    assert not equal_series("", p**n / sympy.factorial(n), p**n / sympy.factorial(n) ** 2, n).holds


def test_an_exponential_of_a_bound_variable_stays_in_its_sum() -> None:
    i = sympy.Symbol("i", integer=True)
    a, b = sympy.IndexedBase("a")[i], sympy.IndexedBase("b")[i]

    def total(term: sympy.Expr) -> sympy.Expr:
        return sympy.Sum(term, (i, 1, 3))

    # sum a e^i sum b e^i is not sum a e^{2i} sum b: no factor e^i may be moved between the sums.
    assert not vanishes(total(a * sympy.exp(i)) * total(b * sympy.exp(i)) - total(a * sympy.exp(2 * i)) * total(b))
    assert not vanishes(total(a * sympy.exp(i)) - sympy.exp(i) * total(a))


def test_matrices_of_symbolic_dimension() -> None:
    d = sympy.Symbol("d", integer=True, positive=True)
    A, B = sympy.MatrixSymbol("A", d, d), sympy.MatrixSymbol("B", d, d)
    assert equal_matrices("", (A + B) * A, A * A + B * A).holds
    assert not equal_matrices("", (A + B) * A, A * A + A * B).holds
    assert not equal_matrices("", A * B, (A * B).T).holds


def test_positive_needs_a_proof() -> None:
    assert positive("", p**3 / (1 + p)).holds
    assert not positive("", x**2).holds
    assert not positive("", -p).holds
    assert not positive("", 0).holds


def test_a_hypergeometric_function_without_a_proved_closed_form_stays() -> None:
    unknown = sympy.hyper((), (sympy.Rational(9, 2),), p)
    assert elementary(unknown) == unknown
    assert not equal("", unknown, sympy.sinh(p) / p).holds
