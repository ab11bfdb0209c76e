"""Checks: rank collapse and the spread of rows of drawn softmax attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.spectrum.score_walks import Powers, scores
from certattn.theory.symbolic_flint import SymbolicNumber, expression
from certattn.theory.symbols import positive_symbol

Expr = Any


def drawn_attention(kernel: Kernel) -> Any:
    """The module of this chapter."""
    return kernel.module("kernel.theorems.spectrum.drawn_attention")


def _entries(d: int) -> sympy.Matrix:
    return sympy.Matrix(d, d, lambda i, j: positive_symbol(f"e_{i}{j}"))


def _attention(e: sympy.Matrix) -> sympy.Matrix:
    return sympy.Matrix(*e.shape, lambda i, j: e[i, j] / sum(e.row(i)))


def check_collapse(kernel: Kernel) -> Iterator[Check]:
    """AA' = 11'/d + MM'/d for M = sqrt(d) (A - 11'/d), and |A|_F^2 = 1 + |M|_F^2 / d; the squares of its rows."""
    for d in (2, 3):
        e = _entries(d)
        A, mean = _attention(e), sympy.ones(d, d) / d
        rest = A - mean
        yield equal(f"A A', d = {d}", A * A.T, mean + rest * rest.T)
        square = sum(entry**2 for entry in A)
        yield equal(f"|A|_F^2, d = {d}", square, 1 + sum(entry**2 for entry in rest))
        # Of T, whose rows are divided by their normalisers; the square of their mean is left out.
        for i in range(d):
            normaliser = sum(e.row(i)) / d
            squares = sum((entry - 1) ** 2 for entry in e.row(i)) / d
            row = sum(entry**2 for entry in rest.row(i)) * d
            yield equal(f"row {i}, d = {d}", row * normaliser**2, squares - (normaliser - 1) ** 2)


def check_divergence(kernel: Kernel) -> Iterator[Check]:
    """log d - H of a row times its normaliser: the mean of f(e) less f of the mean, f(y) = y log y - y + 1 >= 0."""

    def f(y: Expr) -> Expr:
        return y * sympy.log(y) - y + 1

    y = positive_symbol("y")
    yield equal("f is convex", sympy.diff(f(y), y, 2), 1 / y)
    yield equal("f and its slope at 1", [f(y).subs(y, 1), sympy.diff(f(y), y).subs(y, 1)], [0, 0])
    for d in (2, 3):
        e = [positive_symbol(f"e_{j}") for j in range(d)]
        normaliser = sum(e) / d
        # log p_j = log e_j - log d - log normaliser.
        entropy = -sum(
            entry / (d * normaliser) * (sympy.log(entry) - sympy.log(d) - sympy.log(normaliser)) for entry in e
        )
        left = (sympy.log(d) - entropy) * normaliser
        right = sum(map(f, e)) / d - f(normaliser)
        difference = sympy.simplify(sympy.expand(left - right))
        yield Check(f"d = {d}", sympy.simplify(difference) == 0)


def check_excesses(kernel: Kernel) -> Iterator[Check]:
    """Cantelli's inequality, the two means, and all rows."""
    drawn = drawn_attention(kernel)
    V, t, u = (positive_symbol(name) for name in "Vtu")
    moved = (V + u**2) / (t + u) ** 2
    best = V / t
    yield equal("the best shift", sympy.simplify(sympy.diff(moved, u).subs(u, best)), 0)
    found = expression(drawn.exceeded(SymbolicNumber(V), SymbolicNumber(t)))
    yield equal("V / (V + t^2)", moved.subs(u, best), found)
    d, p, x, level = (positive_symbol(name) for name in ("d", "p", "x", "s"))
    T, F = scores(kernel, d, p, x), Powers(p)
    energy = F.of(drawn.energy_excess(T, SymbolicNumber(level)))
    yield equal("above E m_2(T)", energy, level - F(1 - 2 * x / p) + 1)
    # E e^a = (1 - (a^2 - a) b)^(-p/2), and f(e) is its derivative at 1 less e - 1.
    a = positive_symbol("a")
    mean = sympy.diff((1 - (a**2 - a) * x / p) ** (-p / 2), a).subs(a, 1)
    yield equal("above E f(e)", expression(drawn.divergence_excess(T, SymbolicNumber(level))), level - mean)
    theta, cut = SymbolicNumber(positive_symbol("theta")), SymbolicNumber(positive_symbol("c"))
    row = expression(kernel.gaussian_equivalence.low_normaliser(T, theta, cut))
    yield equal("all rows", expression(drawn.low_normalisers(T, theta, cut)), row * d)


def check_variance(kernel: Kernel) -> Iterator[Check]:
    """Var of the mean of f(e): pairs of entries that are one, in one row, or in one column."""
    d, p, x, a, c = (positive_symbol(name) for name in ("d", "p", "x", "a", "c"))
    b = x / p
    mean = x / 2

    def applied(base: Expr) -> Expr:
        """E f(e) f(e') where E e^a e'^c = base^(-p/2)."""
        parts = ((1, 1, 1), (-1, 1, 0), (1, 0, 0))
        total = sympy.Integer(0)
        for sign, first, n in parts:
            for other, second, m in parts:
                value = base ** (-p / 2)
                value = sympy.diff(value, a, n) if n else value
                value = sympy.diff(value, c, m) if m else value
                total += sign * other * value.subs({a: first, c: second})
        return total

    def determinant(table: tuple[tuple[Expr, ...], ...]) -> Expr:
        Q = sympy.Matrix(kernel.score_matrix.exponent_form(table))
        return (sympy.eye(Q.rows) - b * Q).det()

    F = Powers(p)

    def powers(value: Expr) -> Expr:
        """u^(-p/2 + n) as the symbol of u^(-p/2) times u^n."""
        return value.replace(
            lambda part: part.is_Pow and part.exp.has(p), lambda part: F(part.base) * part.base ** (part.exp + p / 2)
        )

    one, row, column = (powers(applied(determinant(table))) for table in (((a + c,),), ((a, c),), ((a,), (c,))))
    yield equal("one row", sympy.cancel(row - mean**2), x * b / 2)
    wanted = (one - mean**2 + (d - 1) * (row + column - 2 * mean**2)) / d**2
    found = F.of(drawn_attention(kernel).divergence_variance(scores(kernel, d, p, x)))
    yield Check("all pairs", sympy.cancel(sympy.together(found - wanted)) == 0)
