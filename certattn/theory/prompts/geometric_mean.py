"""Checks: the bound of short prompts by the geometric mean of the weights, and what it takes from boxes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.operators import entries
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import matrix, positive_symbol, positive_vector

Expr = Any


def check_factors(kernel: Kernel) -> Iterator[Check]:
    """E |sum_i e^(a x_i) y_i|^2 e^(-2 a (x_1 + ... + x_L)/L) / L^2, by its definition and by tilts, for tokens +-1."""
    a = positive_symbol("a")

    def mgf(u: Expr) -> Expr:
        return (sympy.exp(u) + sympy.exp(-u)) / 2

    def second(u: Expr) -> Expr:
        """E_u (x - tau(a))^2"""
        return 1 - 2 * mean(u) * mean(a) + mean(a) ** 2

    def mean(u: Expr) -> Expr:
        return (sympy.exp(u) - sympy.exp(-u)) / (sympy.exp(u) + sympy.exp(-u))

    for length in (1, 2, 3):
        b = -2 * a / length
        total = sympy.Integer(0)
        for x in itertools.product((-1, 1), repeat=length):
            error = sum(sympy.exp(a * one) * (one - mean(a)) for one in x)
            total += error**2 * sympy.exp(b * sum(x)) / 2**length / length**2
        by_tilts = mgf(2 * a + b) * mgf(b) ** (length - 1) * second(2 * a + b)
        apart = mgf(a + b) ** 2 * mgf(b) ** (length - 2) * (mean(a + b) - mean(a)) ** 2
        y = positive_symbol("y")
        powers = {a: length * sympy.log(y)}
        difference = (total - (by_tilts + (length - 1) * apart) / length).subs(powers)
        yield equal(f"{length} tokens", sympy.simplify(sympy.powsimp(difference, force=True)), 0)


def check_terms(kernel: Kernel) -> Iterator[Check]:
    """The kernel's exponents and factors, from Lambda(c a) <= c^2 v / 2 and drifts of |c - 1| |Gamma a|."""
    L = positive_symbol("L")
    b = -2 / L
    found = [[plain(part) for part in term] for term in kernel.geometric_mean.terms(SymbolicNumber(1 / L))]
    together = [1 / L, ((2 + b) ** 2 + (L - 1) * b**2) / 2, 1, (1 + b) ** 2]
    apart = [(1 - 1 / L) * b**2, (2 * (1 + b) ** 2 + (L - 2) * b**2) / 2, 0, 1]
    yield equal("one token with itself", found[0], together)
    yield equal("two tokens", found[1], apart)


def check_uniform(kernel: Kernel) -> Iterator[Check]:
    """Series of sinh and cosh, and moments, term by term."""
    k = sympy.Symbol("k", integer=True, positive=True)
    m = sympy.Symbol("m", nonnegative=True)
    x = positive_symbol("x")
    step = sympy.combsimp(sympy.factorial(2 * k + 3) / sympy.factorial(2 * k + 1) / (6 * (k + 1)))
    yield equal("6^k k! / (2k+1)! falls by 3/(2k+3) <= 1 from k to k+1", step, (2 * k + 3) / sympy.Integer(3))
    # 1/t^2 - 1/sinh(t)^2 <= 1/3 is (12 - x^2)(cosh x - 1) <= 6 x^2 at x = 2t.
    at = x / 2
    left = (12 - x**2) * (sympy.cosh(x) - 1) - 6 * x**2
    slope = (1 / at**2 - 1 / sympy.sinh(at) ** 2 - sympy.Rational(1, 3)) * 6 * x**2 * sympy.sinh(at) ** 2
    half = {sympy.cosh(x): 1 + 2 * sympy.sinh(at) ** 2}
    yield equal("the variance under a tilt", sympy.expand(slope), sympy.expand(left.subs(half)))
    coefficient = (12 / sympy.factorial(2 * k) - 1 / sympy.factorial(2 * k - 2)) * sympy.factorial(2 * k)
    wanted = 12 - 2 * k * (2 * k - 1)
    yield equal("coefficients of (12 - x^2)(cosh x - 1)", sympy.combsimp(coefficient), wanted)
    yield equal("that of x^2, where -x^2 is no term of the product", sympy.Rational(12, 2), 6)
    yield Check("they are <= 0 from k = 2 on", sympy.expand(-wanted.subs(k, 2 + m)).is_nonnegative is True)
    ratio = sympy.combsimp(sympy.gammasimp((2 * k + 3) * (2 * k + 1) / (3 * (2 * k + 1))))
    yield equal("(2k-1)!! (2k+1) / 3^k grows by (2k+3)/3 >= 1 from k to k+1", ratio, (2 * k + 3) / sympy.Integer(3))


def check_drifts(kernel: Kernel) -> Iterator[Check]:
    """a'Da - sum_r (sum_j V_rj Gamma_jj a_j)^2 is a sum of V_rj V_rk Gamma_jj Gamma_kk (a_j - a_k)^2."""
    for d, o in ((1, 1), (2, 1), (3, 2)):
        sizes, a = positive_vector("g", d), positive_vector("a", d)
        V = matrix("V", o, d)
        boxes = kernel.geometric_mean.UniformOnBoxes(
            kernel.exact(sympy.diag(*sizes)), None, None, kernel.exact(V), None
        )
        D = sympy.Matrix(entries(boxes._drift()))
        parts = [[V[r, j] * sizes[j] for j in range(d)] for r in range(o)]
        square = sum(sum(p * x for p, x in zip(row, a, strict=True)) ** 2 for row in parts)
        rest = sum(
            row[j] * row[k] * (a[j] - a[k]) ** 2 for row in parts for j, k in itertools.combinations(range(d), 2)
        )
        column = sympy.Matrix(d, 1, a)
        yield equal(
            f"{d} coordinates, {o} outputs", sympy.expand((column.T * D * column)[0] - square), sympy.expand(rest)
        )
