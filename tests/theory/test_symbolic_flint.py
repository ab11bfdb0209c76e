"""python-flint's types over symbols: they agree with the real ones, and never guess."""

from __future__ import annotations

import flint
import pytest
import sympy

from certattn.theory.symbolic_flint import (
    SymbolicMatrix,
    SymbolicNumber,
    SymbolicPolynomial,
    evaluated,
    expression,
    forms,
    numbers,
    plain,
)

x, y = sympy.symbols("x y", real=True)
X, Y = SymbolicNumber(x), SymbolicNumber(y)


def test_arithmetic_from_both_sides() -> None:
    assert plain([X + 1, 1 + X, X - 1, 1 - X, 2 * X, X / 2, 2 / X, -X]) == [
        x + 1, x + 1, x - 1, 1 - x, 2 * x, x / 2, 2 / x, -x,
    ]  # fmt: skip
    assert expression(X * flint.fmpq(1, 3)) == x / 3
    assert expression(flint.fmpz(7) + SymbolicNumber(1, 2)) == sympy.Rational(15, 2)


def test_equal_means_for_every_value() -> None:
    assert (X + Y) * (X - Y) == X * X - Y * Y
    assert X != Y
    assert X != 0
    assert X - X == 0


@pytest.mark.parametrize("compare", [lambda: X <= 0, lambda: X < Y, lambda: X >= 1, lambda: X > Y])
def test_an_undecided_comparison_is_an_error(compare: object) -> None:
    with pytest.raises(TypeError):
        compare()  # type: ignore[operator]


def test_decided_comparisons() -> None:
    p = SymbolicNumber(sympy.Symbol("p", positive=True))
    assert p > 0
    assert not p <= 0
    assert SymbolicNumber(3) >= 2
    assert SymbolicNumber(1, 2) < 1


def test_numerator_and_denominator() -> None:
    half = X / 2 + Y / 3
    assert expression(half.q) == 6
    assert sympy.expand(expression(half.p) - 3 * x - 2 * y) == 0
    assert expression((X / Y).q) == 1


def test_denominators_stay_concrete() -> None:
    assert expression(SymbolicNumber(4).lcm(SymbolicNumber(6))) == 12
    assert expression(SymbolicNumber(12) // SymbolicNumber(4)) == 3
    with pytest.raises(TypeError, match="not a concrete integer"):
        X.lcm(2)
    with pytest.raises(TypeError, match="not a concrete integer"):
        X // 2


@pytest.mark.parametrize("value", [0.5, "1", None, flint.arb(1)])
def test_what_is_not_exact_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="not an exact number"):
        SymbolicNumber(value)


def test_what_a_ball_holds_below_0_is_cut_off_and_a_number_is_not() -> None:
    assert expression((X * X + Y * Y).nonnegative_part()) == x**2 + y**2
    assert expression(X.nonnegative_part()) == x
    with pytest.raises(ValueError, match="is below 0"):
        (-X * X - 1).nonnegative_part()


def test_which_of_two_forms_is_meant_is_chosen_from_outside() -> None:
    size = abs(X)
    with pytest.raises(TypeError):
        assert size >= 1
    with forms(large=True):
        assert size >= 1
        with forms(large=lambda asked: asked != sympy.Abs(x)):
            assert not size >= 1
            assert abs(Y) >= 1
        assert size >= 1
        # What is decided is not chosen, and no other comparison is.
        assert not SymbolicNumber(sympy.Rational(1, 2)) >= 1
        with pytest.raises(TypeError):
            assert size >= 2
        with pytest.raises(TypeError):
            assert size > 1
    with pytest.raises(TypeError):
        assert size >= 1


def test_hypergeometric_functions_and_sympy_of_a_number() -> None:
    assert expression(X.hypgeom_0f1(SymbolicNumber(3, 2))) == sympy.hyper((), (sympy.Rational(3, 2),), x)
    assert expression(X.hypgeom_1f1(1, 3)) == sympy.hyper((1,), (3,), x)
    assert expression(X.hypgeom([1], [2, 3])) == sympy.hyper((1,), (2, 3), x)
    assert sympy.exp(X) == sympy.exp(x)
    assert isinstance(x * Y, SymbolicNumber)
    assert plain(numbers(sympy.Matrix([[x, y]]))) == [[x, y]]
    assert evaluated(lambda left, right: left[0] * right, [x, y], y) == x * y


def test_matrices() -> None:
    matrix = SymbolicMatrix(2, 1, [X, Y])
    assert (matrix.nrows(), matrix.ncols()) == (2, 1)
    assert plain((matrix.transpose() * matrix).tolist()) == [[x**2 + y**2]]
    assert expression(matrix[1, 0]) == y
    assert matrix + (-matrix) == SymbolicMatrix(2, 1)
    assert matrix != matrix.transpose()
    assert matrix * 2 == SymbolicMatrix(2, 1, [2 * x, 2 * y])
    assert expression((matrix * matrix.transpose()).trace()) == x**2 + y**2
    with pytest.raises(sympy.ShapeError):
        matrix * matrix


def test_polynomials_are_composed_as_flint_does() -> None:
    outer, inner = [2, -1, 0, 3], [5, 1]
    composed = flint.arb_poly(outer)(flint.arb_poly(inner))
    found = SymbolicPolynomial(outer)(SymbolicPolynomial(inner))
    assert [int(plain(found[k])) for k in range(4)] == [int(composed[k].unique_fmpz()) for k in range(4)]


def test_a_ball_holds_both_of_a_union() -> None:
    both = plain(SymbolicNumber(3).union(SymbolicNumber(1, 2)))
    assert (both.min, both.max) == (sympy.Rational(1, 2), 3)
    assert plain(SymbolicNumber(3).union(SymbolicNumber(3))) == 3


def test_incomplete_gamma_functions() -> None:
    p = sympy.Symbol("p", positive=True)
    lower, upper = (getattr(SymbolicNumber(p), f"gamma_{end}")(3, regularized=1) for end in ("lower", "upper"))
    assert sympy.simplify(expression(lower) + sympy.expand_func(expression(upper)) - 1) == 0
    assert expression(SymbolicNumber(p).gamma_lower(1)) == 1 - sympy.exp(-p)


def test_ends_of_a_ball_without_radius() -> None:
    assert expression(X.lower()) == expression(X.upper()) == x
    assert X.is_finite() is True
    assert SymbolicNumber.nan().is_finite() is False
