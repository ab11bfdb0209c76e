"""Checks: the moments of softmax weights over Gaussian scores, and the mean square that they give.

Tokens are few, their scores symbols: what is checked are identities for all scores. Stein's identity
says that u_i F - d_i F has mean zero for standard normal u, so an identity "left - right is a sum of
such terms" is one of means.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, expression
from certattn.theory.symbols import positive_symbol, real

Expr = Any
_LENGTHS = (1, 2, 3)


class Weights:
    """p = softmax(s u) of symbols u_1 .. u_L, its power sums, and derivatives."""

    def __init__(self, length: int) -> None:
        self.s = positive_symbol("s")
        self.u = [real(f"u_{i + 1}") for i in range(length)]
        exponentials = [sympy.exp(self.s * u) for u in self.u]
        self.p = [e / sum(exponentials) for e in exponentials]
        self.mean = sum(p * u for p, u in zip(self.p, self.u, strict=True))

    def power(self, k: int) -> Expr:
        """P_k = sum p_i^k."""
        return sum(p**k for p in self.p)

    def without_mean(self, functions: list[Expr]) -> Expr:
        """sum_i (u_i F_i - d_i F_i), whose mean is zero."""
        return sum(u * f - sympy.diff(f, u) for u, f in zip(self.u, functions, strict=True))


def check_stein(kernel: Kernel) -> Iterator[Check]:
    """E t = s (1 - q) and E (t - s)^2 = q (1 + s^2) - 6 s^2 kappa, and the kernel's formula for V."""
    q, kappa, S, B = (real(name) for name in ("q", "kappa", "S", "B"))
    formula = kernel.mean_square.gaussian_mean_square
    for length in _LENGTHS:
        w = Weights(length)
        s, p, t, two, three = w.s, w.p, w.mean, w.power(2), w.power(3)
        for i, k in itertools.product(range(length), repeat=2):
            found = sympy.diff(p[k], w.u[i])
            yield equal(f"d_{i} p_{k} = s p_k (delta - p_i), L = {length}", found, s * p[k] * (int(i == k) - p[i]))
        yield equal(f"t - s (1 - P_2) has mean zero, L = {length}", t - s * (1 - two), w.without_mean(p))
        functions = [x * t - s * x - 2 * s * x * two + s * x**2 for x in p]
        left = (t - s) ** 2 - formula(two, three - two**2, 1, s**2)
        yield equal(f"(t - s)^2 less its mean, L = {length}", left, w.without_mean(functions))
    v = positive_symbol("v")
    # Along the tilt and across it: |V E nu|^2 = B / v.
    parts = B / v * formula(q, kappa, 1, v) + q * (S - B / v)
    yield equal("the mean square for values V", formula(q, kappa, S, B), parts)
    yield equal("the mean for values V", kernel.mean_square.bias_factor(q), (1 - q) - 1)


def check_logistic(kernel: Kernel) -> Iterator[Check]:
    """Half the Laplacian of P_2, kappa between 0 and q / 4, and the solution of dq/dv = q - q^2."""
    for length in _LENGTHS:
        w = Weights(length)
        two, three = w.power(2), w.power(3)
        # y = s u with s^2 = v: half the Laplacian in y is that in u over 2 s^2.
        laplacian = sum(sympy.diff(two, u, 2) for u in w.u) / (2 * w.s**2)
        yield equal(f"half the Laplacian of P_2, L = {length}", laplacian, two - 4 * three + 3 * two**2)
        variance = sum(p * (p - two) ** 2 for p in w.p)
        yield equal(f"P_3 - P_2^2 is a variance, L = {length}", three - two**2, variance)
        pairs = sum((a - b) ** 2 for a, b in itertools.combinations(w.p, 2))
        yield equal(f"L P_2 - 1 is a sum of squares, L = {length}", length * two - 1, pairs)
        M = real("M")
        rest = sum(p**2 * (M - p) for p in w.p)
        yield equal(f"M P_2 - P_3 is a sum of p^2 (M - p), L = {length}", M * two - three, rest)
    M, v, L = real("M"), real("v"), sympy.Symbol("L", integer=True, positive=True)
    yield equal("1/4 - (M - M^2) is a square", sympy.Rational(1, 4) - M + M**2, (M - sympy.Rational(1, 2)) ** 2)
    q = expression(kernel.mean_square.logistic(L, SymbolicNumber(v)))
    yield equal("the logistic function solves dq/dv = q - q^2", sympy.diff(q, v), q - q**2)
    yield equal("and is 1/L at v = 0", q.subs(v, 0), 1 / L)
    S, B, x = real("S"), real("B"), real("q")
    floor = kernel.mean_square.logistic_floor(S, B)
    yield equal("the lower bound is q (S - B/2)", kernel.mean_square.gaussian_mean_square(x, x / 4, S, B), x * floor)


def check_power_sums(kernel: Kernel) -> Iterator[Check]:
    """Products of power sums by which indices agree, and Z^-K as an integral."""
    for exponents in ((2,), (3,), (2, 2), (2, 3), (2, 2, 2), (2, 2, 3, 4)):
        for length in (1, 2, 3, 4):
            p = [real(f"p_{i + 1}") for i in range(length)]
            product = sympy.prod([sum(x**k for x in p) for k in exponents])
            total = sympy.Integer(0)
            for sums, count in kernel.softmax_powers.block_sums(exponents).items():
                tuples = list(itertools.permutations(p, len(sums)))
                total += count * sum(sympy.prod([x**k for x, k in zip(t, sums, strict=True)]) for t in tuples)
                counted = kernel.softmax_powers.placements(length, len(sums))
                yield Check(f"{len(sums)} blocks on {length} tokens", len(tuples) == counted)
            yield equal(f"P_k for k in {exponents}, L = {length}", product, total)
    z, x = positive_symbol("z"), positive_symbol("x")
    for degree in (2, 3, 4, 6):
        integral = sympy.integrate(x ** (degree - 1) * sympy.exp(-x * z), (x, 0, sympy.oo))
        yield equal(f"Z^-{degree}", integral / sympy.factorial(degree - 1), z**-degree)
    v, y, k = positive_symbol("v"), real("y"), sympy.Symbol("k", integer=True, positive=True)
    mean = -v / 2
    yield equal(
        "rho(y) e^(ky) is R_k times the density of N(-v/2 + kv, v)",
        -((y - mean) ** 2) / (2 * v) + k * y,
        (k**2 - k) * v / 2 - (y - mean - k * v) ** 2 / (2 * v),
    )
    b = real("b")
    shifted = sympy.expand(-((y + sympy.I * b - mean) ** 2) / (2 * v))
    yield equal("|rho(y + ib)| = e^(b^2/2v) rho(y)", sympy.re(shifted), -((y - mean) ** 2) / (2 * v) + b**2 / (2 * v))
    c = positive_symbol("c")
    slope = sympy.diff(k * y - c * sympy.exp(y), y)
    yield equal("e^(ky) exp(-c e^y) is largest at e^y = k / c", slope.subs(y, sympy.log(k / c)), 0)


def check_one_token_fewer(kernel: Kernel) -> Iterator[Check]:
    """T_n = sum_j (1 - p_j)/(n - 1) T^(j), with weights that sum to 1 and are not negative; and ranges of lengths."""
    for length in (2, 3, 4):
        w, x = [positive_symbol(f"w_{i + 1}") for i in range(length)], [real(f"x_{i + 1}") for i in range(length)]
        total = sum(w)
        shares = [(1 - weight / total) / (length - 1) for weight in w]
        # The output over all tokens but one.
        fewer = [
            sum(w[i] * x[i] for i in range(length) if i != j) / sum(w[i] for i in range(length) if i != j)
            for j in range(length)
        ]
        whole = sum(a * b for a, b in zip(w, x, strict=True)) / total
        parts = sum(share * output for share, output in zip(shares, fewer, strict=True))
        yield equal(f"T_n is the mean of outputs over a token fewer, n = {length}", parts, whole)
        yield equal(f"the weights sum to 1, n = {length}", sum(shares), 1)
        for j, share in enumerate(shares):
            rest = sum(w[i] for i in range(length) if i != j)
            yield equal(f"weight {j + 1} is at most 1/(n - 1), n = {length}", share, rest / total / (length - 1))
            slack = 1 / sympy.Integer(length - 1) - share
            yield equal(f"by p_{j + 1}/(n - 1), which is positive", slack, w[j] / total / (length - 1))
    n = sympy.Symbol("n", integer=True, positive=True)
    for tokens in (1, 2, 5):
        steps = sympy.prod([(n + k) / (n + k - 1) for k in range(1, tokens + 1)])
        yield equal(f"{tokens} steps of n/(n - 1)", sympy.cancel(steps), (n + tokens) / n)
