"""Checks: what the kernel averages over queries is the error's bound at each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.gaussian_queries import symmetric
from certattn.theory.kernel_reading import Kernel
from certattn.theory.operators import entries
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import matrix, positive_symbol, real

Expr = Any


def _value(kernel: Kernel, polynomial: Any, z: sympy.Matrix) -> Expr:
    """A QueryPolynomial at a query."""
    total = sympy.Integer(0)
    for coefficient, forms in polynomial.terms:
        values = [(z.T * sympy.Matrix(entries(form)) * z)[0] for form in forms]
        total += plain(coefficient) * sympy.Mul(*values)
    return total


class _Setting:
    """What the kernel reads of a setting, over symbols."""

    def __init__(self, kernel: Kernel, V: Any, Gamma: Any, U: Any, s: Any) -> None:
        self.covariance, self.U, self.V = kernel.exact(Gamma), kernel.exact(U), kernel.exact(V)
        self.squared_scale = SymbolicNumber(s**2)

    def read_out(self, error: Any) -> Any:
        return self.V


def check_output(kernel: Kernel) -> Iterator[Check]:
    """tr(V Gamma V') + |V Gamma a|^2 at a = s U z."""
    module, error = kernel.propositions, kernel.propositions.Error.OUTPUT
    for d, q, o in ((1, 1, 1), (2, 1, 2), (2, 2, 1)):
        V, Gamma, U, z = matrix("V", o, d), symmetric("G", d), matrix("U", d, q), matrix("z", q, 1)
        s = positive_symbol("s")
        found = _value(kernel, module.error_polynomial(_Setting(kernel, V, Gamma, U, s), error), z)
        moved = V * Gamma * (s * U * z)
        yield equal(f"f(z), d = {d}, z in R^{q}", found, (V * Gamma * V.T).trace() + (moved.T * moved)[0])


def check_gradient(kernel: Kernel) -> Iterator[Check]:
    """The six functions of the query are the six numbers of the tilt; the last is checked apart, as a bound."""
    module, shapes = kernel.propositions, kernel.covariance_error
    for d, q, o in ((1, 1, 1), (2, 1, 2), (2, 2, 1)):
        V, Gamma, U = matrix("V", o, d), symmetric("G", d), matrix("U", d, q)
        z, s = matrix("z", q, 1), positive_symbol("s")
        setting = _Setting(kernel, V, Gamma, U, s)
        found = module.covariance_polynomials(setting, setting.V, _symmetric_part)
        wanted = shapes.covariance_shape(setting.covariance, setting.V, kernel.exact((U * z).T), setting.squared_scale)
        names = ("cross", "value_trace", "trace", "value_shift", "shift", "mixed")
        values = [_value(kernel, getattr(found, name), z) for name in names]
        yield equal(f"the six numbers, d = {d}, z in R^{q}", values, [plain(getattr(wanted, name)) for name in names])


def _symmetric_part(left: Any, right: Any, total: Any) -> Any:
    product = left.T @ right
    return (product + product.T).scaled(SymbolicNumber(1, 2))


def check_mixed(kernel: Kernel) -> Iterator[Check]:
    """(T |u|^2 + |w|^2 / T) / 2 -+ <u, w> = |T u -+ w|^2 / (2 T) >= 0."""
    T = positive_symbol("T")
    u, w = [real("u_1"), real("u_2")], [real("w_1"), real("w_2")]
    for sign in (1, -1):
        bound = sum(T * a**2 / 2 + b**2 / (2 * T) + sign * a * b for a, b in zip(u, w, strict=True))
        yield equal(f"sign {sign}", bound, sum((T * a + sign * b) ** 2 for a, b in zip(u, w, strict=True)) / (2 * T))
    left, right, total = matrix("l", 2, 2), matrix("r", 2, 2), positive_symbol("T")
    found = kernel.propositions.balanced(kernel.exact(left), kernel.exact(right), SymbolicNumber(total))
    yield equal("the kernel's matrix", entries(found), left.T * left * total / 2 + right.T * right / (2 * total))
