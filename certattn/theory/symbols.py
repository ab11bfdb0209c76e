"""The symbols that the kernel's formulas are fed."""

from __future__ import annotations

from typing import Any

import sympy

Expr = Any


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
