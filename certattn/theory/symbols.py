"""The kernel's formulas over sympy: its `Functions`, and the symbols they are fed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

Expr = Any


class SymbolicFunctions:
    """`certattn.kernel.mathematics.functions.Functions` over sympy expressions.

    Where a function has two closed forms the kernel asks `is_large`; a symbol has no size, so the
    form is chosen from outside, by a truth value or by a choice for every size.
    """

    def __init__(self, large: bool | Callable[[Expr], bool] | None = None) -> None:
        self._large = large

    def ratio(self, p: int, q: int) -> Expr:
        return sympy.Rational(p, q)

    def exp(self, x: Expr) -> Expr:
        return sympy.exp(x)

    def log(self, x: Expr) -> Expr:
        return sympy.log(x)

    def sqrt(self, x: Expr) -> Expr:
        return sympy.sqrt(x)

    def tanh(self, x: Expr) -> Expr:
        return sympy.tanh(x)

    def coth(self, x: Expr) -> Expr:
        return sympy.coth(x)

    def absolute(self, x: Expr) -> Expr:
        return sympy.Abs(x)

    def maximum(self, x: Expr, y: Expr) -> Expr:
        return sympy.Max(x, y)

    def hypergeometric_0f1(self, b: Expr, z: Expr) -> Expr:
        return sympy.hyper((), (b,), z)

    def hypergeometric_1f1(self, a: Expr, b: Expr, z: Expr) -> Expr:
        return sympy.hyper((a,), (b,), z)

    def hypergeometric_1f2(self, a: Expr, b: Expr, c: Expr, z: Expr) -> Expr:
        return sympy.hyper((a,), (b, c), z)

    def is_large(self, size: Expr) -> bool:
        if self._large is None:
            raise ValueError(f"two forms are possible at size {size}, and none was chosen")
        return self._large(size) if callable(self._large) else self._large


LARGE = SymbolicFunctions(large=True)
SMALL = SymbolicFunctions(large=False)
# For formulas with one form only: a question about sizes is an error.
PLAIN = SymbolicFunctions()


def real(name: str) -> Expr:
    return sympy.Symbol(name, real=True)


def positive_symbol(name: str) -> Expr:
    return sympy.Symbol(name, positive=True)


def vector(name: str, size: int) -> list[Expr]:
    """Real symbols name_1 .. name_size."""
    return [real(f"{name}_{i + 1}") for i in range(size)]


def positive_vector(name: str, size: int) -> list[Expr]:
    return [positive_symbol(f"{name}_{i + 1}") for i in range(size)]


def matrix(name: str, rows: int, columns: int) -> sympy.Matrix:
    """Real symbols name_11 .. name_rc; `columns` may be 0."""
    return sympy.Matrix(rows, columns, lambda i, j: real(f"{name}_{i + 1}{j + 1}"))


def column(entries: list[Expr]) -> sympy.Matrix:
    return sympy.Matrix(len(entries), 1, entries)


def gradient(expression: Expr, variables: list[Expr]) -> list[Expr]:
    return [sympy.diff(expression, variable) for variable in variables]


def hessian(expression: Expr, variables: list[Expr]) -> list[list[Expr]]:
    return [gradient(first, variables) for first in gradient(expression, variables)]
