"""Checks: second moments of prompts that are used in every step, and the tube of `full-batch-descent`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber
from certattn.theory.symbols import positive_symbol, real
from certattn.theory.training.normal_means import normal_mean

Expr = Any


def check_second_moments(kernel: Kernel) -> Iterator[Check]:
    """E|X X' - I|_F^2 for X = w x g, on the line and in the plane, and the kernel's number for every dimension."""
    module = kernel.full_batch_descent
    for d in (1, 2):
        w, g = ([real(f"{name}_{i}") for i in range(d)] for name in ("w", "g"))
        X = sympy.Matrix([u * x for u in w for x in g])
        off = X * X.T - sympy.eye(d * d)
        yield equal(f"the mean of X X' for d = {d}", sum(normal_mean(x, [*w, *g]) ** 2 for x in off), 0)
        square = sum(x**2 for x in off)
        yield equal(f"the mean square for d = {d}", normal_mean(square, [*w, *g]), module.second_moments(d))
    d = positive_symbol("d")
    yield equal("in product form", sympy.expand(module.second_moments(d)), sympy.expand(d**2 * (d + 1) * (d + 3)))


def check_loss(kernel: Kernel) -> Iterator[Check]:
    """On an infinitely long prompt in the plane, with F lower triangular: <w, b Sigma A x - x> is <w g', G>."""
    F = sympy.Matrix(2, 2, [real("f_0"), 0, real("f_1"), real("f_2")])
    A = sympy.Matrix(2, 2, [real(f"a_{i}") for i in range(4)])
    w, g = (sympy.Matrix([real(f"{name}_{i}") for i in range(2)]) for name in ("w", "g"))
    b = real("b")
    x, G = F * g, F * (b * F.T * A * F - sympy.eye(2))
    error = (w.T * (b * F * F.T * A * x - x))[0, 0]
    yield equal("the error", sympy.expand(error), sympy.expand(((w * g.T).T * G).trace()))


def check_tube(kernel: Kernel) -> Iterator[Check]:
    """What s_(k+1) leaves over, by the kernel's own square."""
    rho, s, eta, a, y, n = (positive_symbol(name) for name in ("rho", "s", "eta", "a", "y", "n"))
    found = kernel.full_batch_descent.next_square(*(SymbolicNumber(x) for x in (s**2, rho, eta, a))).expr
    rest = found * (y + a * n**2) - (rho * s * sympy.sqrt(y) + eta * n) ** 2
    yield equal(
        "a square is left",
        sympy.expand(rest),
        sympy.expand((rho * s * sympy.sqrt(a) * n - eta * sympy.sqrt(y / a)) ** 2),
    )
