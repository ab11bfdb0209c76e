"""Checks: attention and its linear part as the kernel makes them, the stages, columns of scores, spectra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.spectrum.spectral_laws import elementary
from certattn.theory.symbolic_flint import SymbolicNumber, evaluated, plain
from certattn.theory.symbols import column, positive_symbol, real, vector

Expr = Any
# d tokens with queries and keys of dimension p.
_SIZES = ((2, 1), (2, 2), (3, 1))


def _given(d: int, p: int) -> tuple[Expr, Expr, Expr, Expr]:
    """Queries, keys, scale and rate."""
    queries = sympy.Matrix(d, p, lambda i, j: real(f"q_{i}{j}"))
    keys = sympy.Matrix(d, p, lambda i, j: real(f"k_{i}{j}"))
    return queries, keys, real("s"), real("c")


def check_parts(kernel: Kernel) -> Iterator[Check]:
    """M, L and tbar of symbolic queries and keys, and T Pi = diag(1 + tbar) M."""
    for d, p in _SIZES:
        queries, keys, scale, rate = _given(d, p)
        Pi = sympy.eye(d) - sympy.ones(d, d) / d
        scores, root = scale * queries * keys.T, sympy.sqrt(d)
        found = kernel.linearization.parts(
            kernel.exact(queries), kernel.exact(keys), SymbolicNumber(scale), SymbolicNumber(rate)
        )
        attention, linear = plain(found.attention), plain(found.linear)
        excess = plain(found.excess)
        yield equal(f"L = scores Pi/sqrt(d), d = {d}, p = {p}", linear, scores * Pi / root)
        halves = [rate * sum(entry**2 for entry in queries.row(i)) for i in range(d)]
        # Exponentials as symbols of their own: e^(score) and e^(half).
        t = sympy.Matrix(d, d, lambda i, j, s=scores, c=halves: sympy.exp(s[i, j] - c[i]) - 1)
        A = sympy.Matrix(
            d, d, lambda i, j, s=scores: sympy.exp(s[i, j]) / sum(sympy.exp(s[i, n]) for n in range(len(s.row(i))))
        )
        yield equal(f"M = sqrt(d) (A - 11'/d), d = {d}, p = {p}", attention, root * (A - sympy.ones(d, d) / d))
        means = [sum(t.row(i)) / d for i in range(d)]
        yield equal(f"tbar is the mean of a row of (t_ij), d = {d}, p = {p}", excess, means)
        made = plain(found.rows(kernel.linearization.STAGES["scores"]))
        yield equal(f"T Pi = diag(1 + tbar) M, d = {d}, p = {p}", made, t * Pi / root)


def check_stages(kernel: Kernel) -> Iterator[Check]:
    """Every stage and difference, from rows of M and L."""
    stages, t = kernel.linearization.STAGES, real("t")
    M, L = vector("m", 2), vector("l", 2)
    scores = [(1 + t) * m for m in M]
    meant = {
        "attention": M,
        "scores": scores,
        "linear": L,
        "attention_less_scores": [m - x for m, x in zip(M, scores, strict=True)],
        "scores_less_linear": [x - y for x, y in zip(scores, L, strict=True)],
        "attention_less_linear": [m - y for m, y in zip(M, L, strict=True)],
    }
    yield Check("no other stages", list(stages) == list(meant))
    for name, row in meant.items():
        yield equal(name, stages[name].row(t, M, L), row)
    yield equal(
        "what the normaliser changes is -diag(tbar) M",
        stages["attention_less_scores"].row(t, M, L),
        [-t * m for m in M],
    )


def check_temperature(kernel: Kernel) -> Iterator[Check]:
    """The scale and half the variance of a score, from beta, the unit and the dimension."""
    beta, unit = positive_symbol("beta"), positive_symbol("u")
    for p in (1, 2, 3):
        q, k = column(vector("q", p)), column(vector("k", p))
        temperature = kernel.module("kernel.theorems.spectrum.linearization").Temperature(
            SymbolicNumber(beta), SymbolicNumber(unit)
        )
        score = beta * (unit * q).dot(unit * k) / sympy.sqrt(p)
        scale = sympy.sqrt(plain(temperature.scale_square(p)))
        yield equal(f"beta S is the scale times <q, k>, p = {p}", scale * q.dot(k), score)
        # The variance of <q, k> given q, where u k has independent N(0, 1) entries.
        variance = beta**2 * unit**4 / p * q.dot(q) / unit**2
        yield equal(f"half the variance of a score, p = {p}", plain(temperature.rate(p)) * q.dot(q), variance / 2)


def check_columns(kernel: Kernel) -> Iterator[Check]:
    """Covariances of entries of a column, given the queries, for Gaussian keys; and alpha^2 on the diagonal."""
    beta, p, a = positive_symbol("b"), positive_symbol("p"), real("a")
    k, x, y = real("k"), real("x"), real("y")
    density = sympy.exp(-(k**2) / 2) / sympy.sqrt(2 * sympy.pi)
    transform = sympy.integrate(sympy.exp(a * k) * density, (k, -sympy.oo, sympy.oo))
    yield equal("E e^(a k) = e^(a^2/2)", transform, sympy.exp(a**2 / 2))

    def mean(rate: Expr, power: int) -> Expr:
        # Entries of a key are independent: one of them at a time. E k^n e^(a k) is a derivative in a.
        return sympy.diff(transform, a, power).subs(a, rate)

    root, g = sympy.sqrt(p), x * y / p
    first, second = (beta * z / root for z in (x, y))
    half, other = (sympy.exp(-(rate**2) / 2) for rate in (first, second))
    yield equal("E e_i = 1", half * mean(first, 0), 1)
    yield equal("E e_i e_l = e^(beta^2 G)", half * other * mean(first + second, 0), sympy.exp(beta**2 * g))
    yield equal("E e_i beta S_l = beta^2 G", half * second * mean(first, 1), beta**2 * g)
    yield equal("E beta S_i beta S_l = beta^2 G", first * second * mean(sympy.Integer(0), 2), beta**2 * g)
    G = real("G")
    # (t_i - beta S_i)(t_l - beta S_l), t = e - 1: Sigma - beta^2 G.
    both = (sympy.exp(beta**2 * G) - 1) - 2 * beta**2 * G + beta**2 * G
    yield equal("the covariance of T - beta S/sqrt(d)", both, sympy.exp(beta**2 * G) - 1 - beta**2 * G)
    alpha2 = elementary(evaluated(kernel.equivalent_formulas.nonlinear_energy, beta**2))
    yield equal("alpha^2 where G = 1", both.subs(G, 1), alpha2)


def check_distances(kernel: Kernel) -> Iterator[Check]:
    """Rows with factors; W_2 of numbers in order."""
    for size in (1, 2, 3):
        t, x = vector("t", size), vector("x", size)
        gaps = [sympy.Symbol(f"g_{i}", nonnegative=True) for i in range(size)]
        # max t^2 = t_i^2 + g_i.
        most = [entry**2 + gap for entry, gap in zip(t, gaps, strict=True)]
        rest = sum(m * entry**2 for m, entry in zip(most, x, strict=True)) - sum(
            (f * entry) ** 2 for f, entry in zip(t, x, strict=True)
        )
        meant = sum(gap * entry**2 for gap, entry in zip(gaps, x, strict=True))
        yield equal(f"|diag(t) x|^2 <= max t^2 |x|^2, size {size}", rest, meant)
        yield Check(f"as a sum of what is not negative, size {size}", meant.is_nonnegative is True)
        a, b = vector("a", size), vector("b", size)
        found = evaluated(kernel.linearization.wasserstein, a, b)
        square = sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) / sympy.Integer(size)
        yield equal(f"W_2^2, {size} numbers", found**2, square)
    a, b = vector("a", 2), vector("b", 2)
    other = (a[0] - b[1]) ** 2 + (a[1] - b[0]) ** 2 - (a[0] - b[0]) ** 2 - (a[1] - b[1]) ** 2
    yield equal("another order is dearer", other, 2 * (a[0] - a[1]) * (b[0] - b[1]))
