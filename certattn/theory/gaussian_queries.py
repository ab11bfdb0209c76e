"""Checks: averages over Gaussian queries, and the mean square errors of the instances that are exact."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.operators import entries
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import matrix, positive_symbol, real, vector

Expr = Any


def normal_mean(polynomial: Expr, variables: list[Expr]) -> Expr:
    """The mean over independent standard normal variables, monomial by monomial: E g^(2n) = (2n-1)!!."""
    if not variables:
        return sympy.expand(polynomial)
    total = sympy.Integer(0)
    for exponents, coefficient in sympy.Poly(sympy.expand(polynomial), *variables).terms():
        if all(n % 2 == 0 for n in exponents):
            total += coefficient * sympy.Mul(*(sympy.factorial2(n - 1) for n in exponents))
    return sympy.expand(total)


def symmetric(name: str, size: int) -> sympy.Matrix:
    return sympy.Matrix(size, size, lambda i, j: real(f"{name}_{min(i, j) + 1}{max(i, j) + 1}"))


def check_products(kernel: Kernel) -> Iterator[Check]:
    """E prod y'A_i y for y = R h, h standard normal, against the sum over blocks and orders."""
    g = real("g")
    bell = sympy.exp(-(g**2) / 2)
    yield equal("(g^(n-1) e^(-g^2/2))' gives E g^n = (n-1) E g^(n-2), n = 6",
                sympy.diff(g**5 * bell, g), (5 * g**4 - g**6) * bell)  # fmt: skip
    for count, d, rank in ((0, 1, 1), (1, 2, 2), (2, 2, 2), (3, 2, 1), (3, 1, 1), (4, 1, 1)):
        forms = [symmetric(f"A{i}", d) for i in range(count)]
        R = matrix("R", d, rank)
        h = vector("h", rank)
        y = R * sympy.Matrix(rank, 1, h)
        by_hand = normal_mean(sympy.Mul(*((y.T * form * y)[0] for form in forms)), h)
        found = kernel.over_queries.product_mean([kernel.exact(form) for form in forms], kernel.exact(R * R.T))
        yield equal(f"{count} forms in R^{d}, rank {rank}", plain(found), by_hand)


def check_weighted(kernel: Kernel) -> Iterator[Check]:
    """The density of h under the weight, and S N^(-1), det N in the coordinates of S = R R'."""
    for d, rank in ((1, 1), (2, 1), (2, 2), (1, 2)):
        R, W, r = matrix("R", d, rank), symmetric("W", d), positive_symbol("r")
        h = sympy.Matrix(rank, 1, vector("h", rank))
        inner = sympy.eye(rank) - 2 * r * R.T * W * R
        z = R * h
        exponent = r * (z.T * W * z)[0] - (h.T * h)[0] / 2
        what = f"queries in R^{d}, rank {rank}"
        yield equal(f"the exponent, {what}", exponent, -(h.T * inner * h)[0] / 2)
        N = sympy.Matrix(entries(kernel.over_queries.shrinking(
            kernel.exact(R * R.T), kernel.exact(W), SymbolicNumber(r)
        )))  # fmt: skip
        yield equal(f"N = I - 2 r W S, {what}", N, sympy.eye(d) - 2 * r * W * R * R.T)
        yield equal(f"det N, {what}", N.det(), inner.det())
        # S N^(-1) = R (I - 2 r M)^(-1) R', multiplied by both determinants.
        left, right = R * R.T * N.adjugate() * inner.det(), R * inner.adjugate() * R.T * N.det()
        yield equal(f"S N^(-1), {what}", left, right)


def check_logistic(kernel: Kernel) -> Iterator[Check]:
    """x/(1+x) <= theta^theta (1-theta)^(1-theta) x^theta: the maximum of x^(1-theta)/(1+x), and the kernel's bound."""
    x, theta, rest = positive_symbol("x"), positive_symbol("theta"), positive_symbol("eta")
    slope = sympy.diff(rest * sympy.log(x) - sympy.log(1 + x), x)
    # theta + eta = 1
    yield equal("it rises below theta x = eta", slope.subs(rest, 1 - theta), (1 - theta - theta * x) / (x * (1 + x)))
    at = (rest * sympy.log(x) - sympy.log(1 + x)).subs(x, rest / theta)
    value = rest * sympy.log(rest) - rest * sympy.log(theta) - sympy.log(1) + sympy.log(theta) - sympy.log(theta + rest)
    yield equal("its value there", sympy.exp(sympy.expand_log(sympy.together(at), force=True)), sympy.exp(value))
    peak = plain(kernel.every_length.log_peak(SymbolicNumber(theta)))
    stated = theta * sympy.log(theta) + (1 - theta) * sympy.log(1 - theta)
    yield equal("the kernel's logarithm of the maximum", peak, stated)
    yield equal("which is that value", value.subs(rest, 1 - theta), stated)
    s2, L, D, A = (positive_symbol(name) for name in ("s2", "L", "D", "A"))
    ratio = sympy.exp(s2) / (L - 1)
    yield equal("q <= x/(1+x)", sympy.exp(s2) / (sympy.exp(s2) + L - 1), ratio / (1 + ratio))
    numbers = [SymbolicNumber(number) for number in (L, theta, D, A)]
    found = plain(kernel.every_length.logistic_bound(*numbers))
    wanted = A * sympy.exp(stated - theta * sympy.log(L - 1) - sympy.log(D) / 2)
    yield equal("the kernel's bound", found, wanted)


def check_lengths(kernel: Kernel) -> Iterator[Check]:
    """The logarithmic derivatives of the ratios to the display: sums of negative terms."""
    m, rho, more, sigma, kappa, n = (positive_symbol(name) for name in ("m", "rho", "tau", "sigma", "kappa", "n"))
    L = 1 + m
    numbers = [SymbolicNumber(number) for number in (L, rho, sigma)]
    log_form = 6 * n * sympy.log(sigma) + n * sympy.log(sympy.log(L)) - rho * sympy.log(L)
    for power in (1, 2):
        form = plain(kernel.every_length.display(*numbers, power))
        wanted = sigma ** (6 * power) * sympy.log(L) ** power * sympy.exp(-rho * sympy.log(L))
        yield equal(f"(sigma^6 ln L)^{power} / L^rho", form, wanted)
        one = plain(kernel.every_length.display(SymbolicNumber(1), *numbers[1:], power))
        yield equal(f"the display is 0 at L = 1, n = {power}", one, 0)
    falls = rho / (L * m) + more / m + n / (L * sympy.log(L))
    slope = sympy.diff(-(rho + more) * sympy.log(m) - log_form, m)
    yield equal("(L - 1)^(-rho-tau) over the display", slope, -falls)
    yield positive("which decreases", falls)
    # Of any exponent: L times the slope increases, so that the ratio falls and then rises.
    slope = sympy.diff(-more * sympy.log(m) - log_form, m)
    yield equal("(L - 1)^(-theta) over the display", L * slope, rho - more - more / m - n / sympy.log(L))
    rises = more / m**2 + n / (L * sympy.log(L) ** 2)
    yield equal("L times that has the slope", sympy.diff(rho - more - more / m - n / sympy.log(L), m), rises)
    yield positive("which is positive", rises)
    share = positive_symbol("s")
    slope = sympy.diff(-sympy.log(L) - log_form, m)
    yield equal("1/L over the display, rho = 1 - s", slope.subs(rho, 1 - share), -share / L - n / (L * sympy.log(L)))
    slope = sympy.diff(-kappa * L - log_form, m)
    yield equal("e^(-kappa L) over the display", slope, -(kappa * L - rho) / L - n / (L * sympy.log(L)))


# -- instances whose left side is exact


@dataclass(frozen=True)
class Instance:
    """What the kernel's `left_side` reads of a setting."""

    V: Any
    covariance: Any
    query_covariance: Any
    U: Any
    squared_scale: Any

    def read_out(self, error: Any) -> Any:
        return self.V


def _instance(kernel: Kernel, V: Any, B: Any, U: Any, R: Any, s: Any) -> Instance:
    V, covariance, query_covariance, U = map(kernel.exact, (V, B * B.T, R * R.T, U))
    return Instance(V, covariance, query_covariance, U, SymbolicNumber(s**2))


def check_one_token(kernel: Kernel) -> Iterator[Check]:
    """L = 1, x = B g and z = R h: the softmax mean is x, its limit B B's U z, and the softmax covariance 0."""
    inputs = kernel.propositions
    for d, q, o in ((1, 1, 1), (1, 2, 2), (2, 1, 1)):
        B, R, U, V, s = matrix("B", d, d), matrix("R", q, q), matrix("U", d, q), matrix("V", o, d), positive_symbol("s")
        g, h = vector("g", d), vector("h", q)
        x, z = B * sympy.Matrix(d, 1, g), R * sympy.Matrix(q, 1, h)
        off = V * (x - s * B * B.T * U * z)
        instance, what = _instance(kernel, V, B, U, R, s), f"d = {d}, z in R^{q}, {o} outputs"
        found = plain(inputs.left_side(instance, inputs.Error.OUTPUT, 1))
        yield equal(f"E |V (x - tau)|^2, {what}", found, normal_mean((off.T * off)[0], g + h))
        far = s**2 * sum(entry**2 for entry in V * B * B.T) * (z.T * z)[0]
        found = plain(inputs.left_side(instance, inputs.Error.GRADIENT_U, 1))
        yield equal(f"s^2 |V Gamma|_F^2 E |z|^2, {what}", found, normal_mean(far, h))


def check_equal_weights(kernel: Kernel) -> Iterator[Check]:
    """U = 0: means and covariances of L tokens with weights 1/L."""
    inputs = kernel.propositions
    for length, d, o in ((1, 2, 1), (2, 1, 2), (3, 1, 1), (2, 2, 1)):
        B, R, V, s = matrix("B", d, d), matrix("R", 1, 1), matrix("V", o, d), positive_symbol("s")
        g = [vector(f"g{i}", d) for i in range(length)]
        x = [B * sympy.Matrix(d, 1, entries_) for entries_ in g]
        variables = list(itertools.chain(*g))
        mean = sum(x, sympy.zeros(d, 1)) / length
        spread = sum((one * one.T for one in x), sympy.zeros(d, d)) / length - mean * mean.T
        instance, what = _instance(kernel, V, B, sympy.zeros(d, 1), R, s), f"{length} tokens in R^{d}"
        off = V * mean
        found = plain(inputs.left_side(instance, inputs.Error.OUTPUT, length))
        yield equal(f"E |V x_bar|^2, {what}", found, normal_mean((off.T * off)[0], variables))
        off = V * (spread - B * B.T)
        square = normal_mean(sum(entry**2 for entry in off), variables)
        found = plain(inputs.left_side(instance, inputs.Error.GRADIENT_U, length))
        yield equal(f"s^2 E |z|^2 |V (C_L - C)|_F^2, {what}", found, s**2 * R[0] ** 2 * square)
