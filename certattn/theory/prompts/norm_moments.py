"""Checks: what moments of norms of a mean's and a covariance's error are made of, derived and as the kernel has it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import expression
from certattn.theory.symbols import positive_symbol, real, vector

Expr = Any


def _written(polynomial: Any, p: list[Expr], z: list[Expr]) -> Expr:
    """A polynomial of the kernel in S_(k,j), over the weights and scores of a prompt."""
    total = sympy.Integer(0)
    for monomial, coefficient in polynomial.items():
        sums = [sum(x**k * y**j for x, y in zip(p, z, strict=True)) for k, j in monomial]
        total += expression(coefficient) * sympy.prod(sums)
    return total


def check_square_of_a_normal(kernel: Kernel) -> Iterator[Check]:
    """Completing the square, and the cumulants of the square of N(m, k)."""
    x, m, t, k = real("x"), real("m"), real("t"), positive_symbol("k")
    shrunk = 1 - 2 * t * k
    left = t * x**2 - (x - m) ** 2 / (2 * k)
    yield equal("the exponent", left, -shrunk / (2 * k) * (x - m / shrunk) ** 2 + t * m**2 / shrunk)
    series = sympy.series(-sympy.log(shrunk) / 2 + t * m**2 / shrunk, t, 0, 5).removeO()
    for n in range(1, 5):
        by_hand = 2 ** (n - 1) * (k**n / n + m**2 * k ** (n - 1))
        yield equal(f"the coefficient of t^{n}", sympy.expand(series).coeff(t, n), by_hand)


def check_powers_of_lambda(kernel: Kernel) -> Iterator[Check]:
    """tr Lambda^n and z'Lambda^n z, over explicit prompts with weights that add up to 1."""
    for length, most in ((1, 4), (2, 4), (3, 3)):
        free = vector("p", length - 1) if length > 1 else []
        p, z = [*free, 1 - sum(free)], vector("z", length)
        weights, scores = sympy.Matrix(p), sympy.Matrix(z)
        power = matrix = sympy.diag(*p) - weights * weights.T
        for n in range(1, most + 1):
            trace = _written(kernel.norm_moments.trace_of_power(n), p, z)
            yield equal(f"tr Lambda^{n}, {length} tokens", trace, power.trace())
            form = _written(kernel.norm_moments.form_of_power(n), p, z)
            yield equal(f"z'Lambda^{n} z, {length} tokens", form, (scores.T * power * scores)[0])
            power = power * matrix


def check_stein(kernel: Kernel) -> Iterator[Check]:
    """A step of the reduction is sum_i d/dz_i (p_i^k z_i^(j-1) f), over the softmax of explicit scores."""
    for length in (1, 2):
        z = vector("z", length)
        p = [sympy.exp(x) / sum(map(sympy.exp, z)) for x in z]
        for (k, j), rest in itertools.product(((1, 1), (1, 2), (2, 1), (3, 2)), ((), ((2, 0),), ((1, 1), (2, 2)))):
            f = _written({rest: sympy.Integer(1)}, p, z)
            by_hand = sum(sympy.diff(x**k * y ** (j - 1) * f, y) for x, y in zip(p, z, strict=True))
            step = _written(kernel.norm_moments._derivative(k, j, rest), p, z)
            yield equal(f"S{k, j} times {rest}, {length} tokens", step, by_hand)


def check_linear_forms(kernel: Kernel) -> Iterator[Check]:
    """|x|^p is a sum of powers of linear forms."""
    for order, size in itertools.product((2, 4), (1, 2, 3, 5)):
        x = vector("x", size)
        forms = kernel.norm_moments.linear_forms(order, size)
        total = sum(expression(c) * sum(s * x[i] for i, s in f.items()) ** order for c, f in forms)
        yield equal(f"|x|^{order} in R^{size}", total, sum(y**2 for y in x) ** (order // 2))
