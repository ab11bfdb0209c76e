"""Checks: the kernel's bounds on eigenvalues, from traces of squares and an inverse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicMatrix, SymbolicNumber, plain
from certattn.theory.symbols import positive_symbol, real

Expr = Any
_SIZES = (1, 2, 3)


def _symmetric(size: int) -> sympy.Matrix:
    return sympy.Matrix(size, size, lambda i, j: real(f"A_{min(i, j) + 1}{max(i, j) + 1}"))


def _characteristic(matrix: sympy.Matrix, x: Expr) -> Expr:
    """det(x I - M): its roots are the eigenvalues."""
    return (x * sympy.eye(matrix.rows) - matrix).det(method="berkowitz")


def _eigenvalues(size: int) -> list[Expr]:
    """l_1 >= ... >= l_d >= 0, l_1 > 0, as sums of symbols that are not negative."""
    steps = [sympy.Symbol(f"e_{i + 1}", nonnegative=True) for i in range(size - 1)]
    found = [positive_symbol("l")]
    for step in steps:
        found.insert(0, found[0] + step)
    return found


def check_squares(kernel: Kernel) -> Iterator[Check]:
    """B = (A / m)^2 has the eigenvalues (l / m)^2, so that l_1 = m sqrt(l_1(B))."""
    m, x = positive_symbol("m"), real("x")
    for size in _SIZES:
        A = _symmetric(size)
        B = kernel.spectrum.scaled_square(SymbolicMatrix(A), SymbolicNumber(m)).entries_of
        both = _characteristic(A, x) * _characteristic(-A, x)
        yield equal(
            f"det(x^2 I - m^2 B) = det(x I - A) det(x I + A), size {size}", _characteristic(m**2 * B, x**2), both
        )
        yield Check(f"B is symmetric, size {size}", bool(B == B.T))
    eigenvalue = positive_symbol("l")
    found = plain(kernel.spectrum.from_square(SymbolicNumber((eigenvalue / m) ** 2), SymbolicNumber(m)))
    yield equal("m sqrt((l / m)^2) = l", found, eigenvalue)


def check_traces(kernel: Kernel) -> Iterator[Check]:
    """sum l_i^2 / sum l_i <= l_1 <= sum l_i, and the sums are traces."""
    m, x = positive_symbol("m"), real("x")
    for size in _SIZES:
        A = _symmetric(size)
        # The coefficients of the characteristic polynomial are the elementary symmetric sums.
        coefficients = sympy.Poly(_characteristic(A, x), x).all_coeffs()
        first, second = -coefficients[1], coefficients[2] if size > 1 else sympy.Integer(0)
        yield equal(f"tr A is the sum of the eigenvalues, size {size}", plain(SymbolicMatrix(A).trace()), first)
        B = kernel.spectrum.scaled_square(SymbolicMatrix(A), SymbolicNumber(m))
        yield equal(
            f"m^2 tr B is the sum of their squares, size {size}", m**2 * plain(B.trace()), first**2 - 2 * second
        )
        eigenvalues = _eigenvalues(size)
        total = sum(eigenvalues)
        B = kernel.spectrum.scaled_square(SymbolicMatrix(sympy.diag(*eigenvalues)), SymbolicNumber(m))
        lower = plain(kernel.spectrum.trace_ratio(SymbolicNumber(total), SymbolicNumber(m), B.trace()))
        squares = sum(entry**2 for entry in eigenvalues)
        yield equal(f"the lower bound, size {size}", lower, squares / total)
        gap = sum(entry * sympy.expand(eigenvalues[0] - entry) for entry in eigenvalues) / total
        yield equal(f"l_1 - lower bound, size {size}", eigenvalues[0] - lower, gap)
        yield Check(f"l_1 - lower bound is not negative, size {size}", gap.is_nonnegative is True)
        rest = sympy.expand(total - eigenvalues[0])
        yield Check(f"tr A - l_1 is not negative, size {size}", rest.is_nonnegative is True)
        # Both ends within a factor of d: d sum l^2 >= (sum l)^2.
        apart = sum((a - b) ** 2 for i, a in enumerate(eigenvalues) for b in eigenvalues[:i])
        yield equal(f"d sum l^2 - (sum l)^2 is a sum of squares, size {size}", size * squares - total**2, apart)


def check_inverse(kernel: Kernel) -> Iterator[Check]:
    """(A + c I)^-1 has the eigenvalues 1 / (l + c), the largest for the smallest l."""
    c, x = positive_symbol("c"), sympy.Symbol("x", real=True, nonzero=True)
    for size in _SIZES:
        A = _symmetric(size)
        moved = kernel.spectrum.shifted(SymbolicMatrix(A), SymbolicNumber(c)).entries_of
        # M has the eigenvalue 1/x of its inverse's x: det(M) det(x I - M^-1) = det(x M - I).
        left = (x * moved - sympy.eye(size)).det(method="berkowitz")
        right = (-x) ** size * _characteristic(A, 1 / x - c)
        yield equal(f"det(x (A + c I) - I) = (-x)^d det((1/x - c) I - A), size {size}", left, right)
    eigenvalue, step = sympy.Symbol("l", nonnegative=True), positive_symbol("e")
    found = plain(kernel.spectrum.from_inverse(SymbolicNumber(1 / (eigenvalue + c)), SymbolicNumber(c)))
    yield equal("1 / (1 / (l + c)) - c = l", found, eigenvalue)
    fall = step / ((eigenvalue + c) * (eigenvalue + step + c))
    yield equal("1 / (l + c) falls in l", 1 / (eigenvalue + c) - 1 / (eigenvalue + step + c), fall)
    yield positive("and strictly", fall)
