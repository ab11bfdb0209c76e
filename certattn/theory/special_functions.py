"""The kernel's log cosh, log(sinh(x)/x) and coth x - 1/x, in every form it evaluates.

Near 0 the kernel uses 0F1(; b; x^2/4) = sum_n (x^2/4)^n / ((b)_n n!). `CLOSED_FORMS` says what that
is in elementary functions; `check_closed_forms` proves it term by term.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory import first_principles
from certattn.theory.exactness import Check, equal, equal_logarithms, equal_series
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, forms
from certattn.theory.symbols import positive_symbol, real

Expr = Any

CLOSED_FORMS = {
    sympy.Rational(3, 2): lambda x: sympy.sinh(x) / x,
    sympy.Rational(5, 2): lambda x: 3 * (x * sympy.cosh(x) - sympy.sinh(x)) / x**3,
    sympy.Rational(7, 2): lambda x: 15 * ((x**2 + 3) * sympy.sinh(x) - 3 * x * sympy.cosh(x)) / x**5,
}


def elementary(expression: Expr) -> Expr:
    """Every 0F1(; b; z) with b in CLOSED_FORMS through hyperbolic functions of 2 sqrt(z)."""

    def close(numerators: Any, denominators: Any, z: Expr) -> Expr:
        form = CLOSED_FORMS.get(denominators[0]) if len(numerators) == 0 and len(denominators) == 1 else None
        if form is None:
            return sympy.hyper(numerators, denominators, z)
        return sympy.Integer(1) if z == 0 else form(2 * sympy.sqrt(z))

    return sympy.sympify(expression).replace(sympy.hyper, close)


def check_closed_forms(kernel: Kernel) -> Iterator[Check]:
    """CLOSED_FORMS from the exponential series, for every index by induction."""
    x, n = positive_symbol("x"), sympy.Symbol("n", integer=True, nonnegative=True)
    cosh_term, sinh_term = x ** (2 * n) / sympy.factorial(2 * n), x ** (2 * n + 1) / sympy.factorial(2 * n + 1)

    def term(b: Expr, index: Expr) -> Expr:
        return (x**2 / 4) ** index / (sympy.rf(b, index) * sympy.factorial(index))

    def exponential(y: Expr, index: Expr) -> Expr:
        return y**index / sympy.factorial(index)

    for sign, even, odd, name in ((1, cosh_term, 0, "cosh"), (-1, 0, sinh_term, "sinh")):
        for index, wanted in ((2 * n, even), (2 * n + 1, odd)):
            found = sympy.powsimp((exponential(x, index) + sign * exponential(-x, index)) / 2)
            yield equal(f"terms {index} of {name} from the exponential series", sympy.simplify(found), wanted)
    three_halves, five_halves, seven_halves = CLOSED_FORMS
    yield equal_series("0F1(;3/2;x^2/4) = sinh(x)/x", term(three_halves, n), sinh_term / x, n)
    # x cosh x - sinh x begins at its second term, so the index is moved by one.
    difference = x * cosh_term - sinh_term
    yield equal("x cosh x - sinh x has no term in x", difference.subs(n, 0), 0)
    moved = 3 * difference.subs(n, n + 1) / x**3
    yield equal_series("0F1(;5/2;x^2/4) = 3 (x cosh x - sinh x)/x^3", term(five_halves, n), moved, n)
    # (x^2 + 3) sinh x - 3 x cosh x, term by term from the second on, begins at its third: moved by two.
    combined = x**2 * sinh_term.subs(n, n - 1) + 3 * sinh_term - 3 * x * cosh_term
    yield equal("(x^2 + 3) sinh x - 3x cosh x has no term in x", (3 * sinh_term - 3 * x * cosh_term).subs(n, 0), 0)
    yield equal("(x^2 + 3) sinh x - 3x cosh x has no term in x^3", combined.subs(n, 1), 0)
    moved = 15 * combined.subs(n, n + 2) / x**5
    closed = "15 ((x^2 + 3) sinh x - 3x cosh x)/x^5"
    yield equal_series(f"0F1(;7/2;x^2/4) = {closed}", term(seven_halves, n), moved, n)


def check_forms(kernel: Kernel) -> Iterator[Check]:
    """log cosh, log(sinh(x)/x) and its derivative against their definitions, on both sides of 0 and at 0."""
    yield from check_closed_forms(kernel)
    functions, x, p = kernel.functions, real("x"), positive_symbol("x")
    for y, where in ((p, "x > 0"), (-p, "x < 0"), (sympy.Integer(0), "x = 0")):
        number = SymbolicNumber(y)
        yield equal_logarithms(f"log cosh x, {where}", functions.log_cosh(number), sympy.log(sympy.cosh(y)))
        uniform = first_principles.box([sympy.Integer(1)], [y])
        for large, form in ((False, "the form by 0F1"), (True, "the form by exp"))[: 1 if y == 0 else 2]:
            with forms(large):
                log_sinhc = elementary(functions.log_sinhc(number))
                langevin = elementary(functions.langevin(number))
            yield equal_logarithms(
                f"log of the mean of e^(xt) over [-1, 1], {where}, {form}", log_sinhc, uniform.log_mgf()
            )
            yield equal(f"tilted mean over [-1, 1], {where}, {form}", langevin, uniform.mean()[0])
            if y != 0:
                yield equal_logarithms(f"log(sinh(x)/x), {where}, {form}", log_sinhc, sympy.log(sympy.sinh(y) / y))
                yield equal(f"coth x - 1/x, {where}, {form}", langevin, sympy.coth(y) - 1 / y)
    with forms(large=False):
        log_sinhc, langevin = (function(SymbolicNumber(x)) for function in (functions.log_sinhc, functions.langevin))
    yield equal("d/dx of the form by 0F1, as series", sympy.diff(log_sinhc, x), langevin)
    for y in (p, -p):
        with forms(large=True):
            log_sinhc, langevin = functions.log_sinhc(SymbolicNumber(y)), functions.langevin(SymbolicNumber(y))
        yield equal(f"d/dx of the form by exp, {y}", sympy.diff(log_sinhc, p) * sympy.sign(y), langevin)
