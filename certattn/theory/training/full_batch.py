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
    """Moments of X X' - I for X = w x g on the line and in the plane, and the kernel's numbers for every dimension."""
    module = kernel.full_batch_descent
    for d in (1, 2):
        w, g, v, h = ([real(f"{name}_{i}") for i in range(d)] for name in "wgvh")
        X, Y = (sympy.Matrix([u * x for u in left for x in right]) for left, right in ((w, g), (v, h)))
        off = X * X.T - sympy.eye(d * d)
        yield equal(f"the mean of X X' for d = {d}", sum(normal_mean(x, [*w, *g]) ** 2 for x in off), 0)
        square = sum(x**2 for x in off)
        yield equal(f"the mean square for d = {d}", normal_mean(square, [*w, *g]), module.spread_square(d))
        yield equal(f"the fourth moment for d = {d}", normal_mean(square**2, [*w, *g]), module.spread_fourth(d))
        inner = (X.T * Y)[0, 0] ** 2 - (X.T * X)[0, 0] - (Y.T * Y)[0, 0] + d**2
        pairs = module.spread_square(d) ** 2 + 2 * normal_mean(inner**2, [*w, *g, *v, *h])
        yield equal(f"pairs for d = {d}", pairs, module.spread_pairs(d))
    # E t^i = m_i^2, and E<X, Y>^4 = (3 m_2)^2, E<X, Y>^2 |X|^2 = E|X|^4, E<X, Y>^2 = d^2.
    d, t = positive_symbol("d"), real("t")
    moments = [module.normal_moment(d, k) ** 2 for k in range(5)]
    form = sympy.Poly((t**2 - 2 * t + d**2) ** 2, t)
    fourth = sum(c * moments[i] for (i,), c in form.terms())
    yield equal("the mean square", sympy.expand(module.spread_square(d)), sympy.expand(d**2 * (d + 1) * (d + 3)))
    yield equal("the fourth moment", sympy.expand(fourth), sympy.expand(module.spread_fourth(d)))
    # Of a^2, p^2, q^2, D^2 and the products of a, -p, -q and D with a = <X, Y>^2, p = |X|^2, q = |Y|^2, D = d^2.
    D, second = d**2, moments[2]
    inner = 9 * second + 2 * second + D**2 - 4 * second + 2 * D * D + 2 * D * D - 4 * D * D
    pairs = module.spread_square(d) ** 2 + 2 * inner
    yield equal("pairs", sympy.expand(pairs), sympy.expand(module.spread_pairs(d)))


def check_fourth_moment(kernel: Kernel) -> Iterator[Check]:
    """E|X|^4 <X, G>^4 on the line and in the plane, for a diagonal G: w and g may be turned."""
    module = kernel.full_batch_descent
    for d in (1, 2):
        w, g, G = ([real(f"{name}_{i}") for i in range(d)] for name in ("w", "g", "G"))
        length = sum(x**2 for x in w) * sum(x**2 for x in g)
        found = normal_mean(length**2 * sum(u * x * c for u, x, c in zip(w, g, G, strict=True)) ** 4, [*w, *g])
        square, other = sum(c**2 for c in G), sum(c**4 for c in G)
        expected = sympy.Rational(module.fourth_factor(d) ** 2, 3) * (square**2 + 2 * other)
        yield equal(f"for d = {d}", sympy.expand(found), sympy.expand(expected))
        rest = 3 * square**2 - (square**2 + 2 * other)
        yield Check(f"at most 3 |G|^4 for d = {d}", all(c >= 0 for c in sympy.Poly(rest, *G).coeffs()))


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


def check_slope(kernel: Kernel) -> Iterator[Check]:
    """|G'^T y|^2 in the plane, from the derivatives of G along every entry of A and along b."""
    F = sympy.Matrix(2, 2, [real("f_0"), 0, real("f_1"), real("f_2")])
    A, y = (sympy.Matrix(2, 2, [real(f"{name}_{i}") for i in range(4)]) for name in ("a", "y"))
    b = real("b")
    M, Sigma = F.T * A * F, F * F.T
    G = F * (b * M - sympy.eye(2))
    found = sum((y.T * G.diff(x)).trace() ** 2 for x in [*A, b])
    expected = b**2 * (y.T * Sigma**2 * y * F.T * F).trace() + ((y.T * F * M).trace()) ** 2
    yield equal("by Sigma^2 and F'F", sympy.expand(found), sympy.expand(expected))


def check_descent(kernel: Kernel) -> Iterator[Check]:
    """Where a step of length t lowers f by t u g^2, with g^2 >= 2 c f: what the root of f falls by."""
    t, u, g, c, f, h = (positive_symbol(name) for name in ("t", "u", "g", "c", "f", "h"))
    yield equal("of a root", sympy.expand((sympy.sqrt(f) - h) * (sympy.sqrt(f) + h)), f - h**2)
    fall = t * u * g**2 / (2 * sympy.sqrt(f))
    way = sympy.sqrt(2 / c) / u * fall
    yield equal("the way against it", sympy.simplify(way / (t * g)), sympy.simplify(g / sympy.sqrt(2 * c * f)))
