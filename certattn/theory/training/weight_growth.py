"""Checks: how the moments of softmax weights change with the variance of Gaussian scores.

Half the Laplacian in the scores is the derivative by their variance. Polynomials in few weights stand for functions
of all: an identity of power sums is checked for up to three tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.nonnegativity import is_nonnegative
from certattn.theory.symbolic_flint import evaluated
from certattn.theory.symbols import positive_symbol, real

Expr = Any
_TOKENS = (1, 2, 3)


def check_second_derivatives(kernel: Kernel) -> Iterator[Check]:
    """dq/dv, d kappa/dv and the second derivatives are means of polynomials, and how large those are."""
    for count in _TOKENS:
        p = [real(f"p_{i + 1}") for i in range(count)]
        P = {k: sum(x**k for x in p) for k in range(1, 6)}
        q, kappa = P[2], P[3] - P[2] ** 2
        first = (_half_laplacian(q, p), _half_laplacian(kappa, p))
        steep = 3 * P[3] - 2 * P[2] ** 2 - 13 * P[4] + 22 * P[2] * P[3] - 10 * P[2] ** 3
        for name, left, right in (
            ("of P_2", first[0], P[2] - 4 * P[3] + 3 * P[2] ** 2),
            ("of P_3 - P_2^2", first[1], steep),
            ("twice, of P_2", _half_laplacian(first[0], p), _collision_bend(P)),
            ("twice, of P_3 - P_2^2", _half_laplacian(first[1], p), _spread_bend(P)),
        ):
            yield Check(f"half the Laplacian {name}, L = {count}", _on_simplex(left - right, p))
    yield from _bounds(kernel)


def _half_laplacian(f: Expr, p: list[Expr]) -> Expr:
    """1/2 sum_i d_i d_i f with d_i p_k = p_k (delta_ik - p_i)."""

    def along(g: Expr, i: int) -> Expr:
        return sum(sympy.diff(g, x) * x * (int(k == i) - p[i]) for k, x in enumerate(p))

    return sympy.expand(sum(along(along(f, i), i) for i in range(len(p))) / 2)


def _on_simplex(difference: Expr, p: list[Expr]) -> bool:
    """Whether it vanishes where the weights sum to 1."""
    last = 1 - sum(p[:-1])
    return bool(sympy.expand(difference.subs(p[-1], last)) == 0)


def _collision_bend(P: dict[int, Expr]) -> Expr:
    return P[2] - 16 * P[3] + 48 * P[4] + 9 * P[2] ** 2 - 72 * P[2] * P[3] + 30 * P[2] ** 3


def _spread_bend(P: dict[int, Expr]) -> Expr:
    low = 9 * P[3] - 4 * P[2] ** 2 - 113 * P[4] + 138 * P[2] * P[3] - 50 * P[2] ** 3
    middle = 340 * P[5] - 580 * P[2] * P[4] - 220 * P[3] ** 2
    return low + middle + 690 * P[2] ** 2 * P[3] - 210 * P[2] ** 4


def _bounds(kernel: Kernel) -> Iterator[Check]:
    """The second derivatives over P_2 = t = s^2."""
    growth = kernel.weight_growth
    yield from _collision_bounds(growth.MOST_CONCAVE.expr, growth.MOST_CONVEX.expr)
    yield from _spread_from_below(growth.KAPPA_CONCAVE.expr)
    yield from _spread_from_above(growth.KAPPA_CONVEX.expr)


def _collision_bounds(concave: Expr, convex: Expr) -> Iterator[Check]:
    """By the moments m_k = P_(k+2) / P_2 of weights that are at most s."""
    s, w, m1, m2 = (real(name) for name in ("s", "w", "m_1", "m_2"))
    t = s**2
    bend = sympy.expand(_collision_bend({2: t, 3: t * m1, 4: t * m2}) / t)
    # From below: m_2 >= m_1^2, and the least over all m_1.
    low = sympy.expand(bend.subs(m2, m1**2))
    least = sympy.expand(low.subs(m1, (16 + 72 * t) / 96))
    yield equal("the least over m_1", low - least, 48 * (m1 - (16 + 72 * t) / 96) ** 2)
    part = positive_symbol("t")
    yield Check("d^2 P_2 >= -13/12 P_2", is_nonnegative((least + concave).subs(s, sympy.sqrt(part)), [part]))
    # From above: the largest second moment, for m_1 between t and s.
    first, second = t + s * (1 - s) * w, t * (s + (1 - s) * w) - s**3 * (1 - s) * (1 - w) ** 2
    yield equal("the largest second moment", (s - t) * (s * first - second), t * (s - first) ** 2)
    yield Check("d^2 P_2 <= P_2", is_nonnegative(convex - bend.subs({m1: first, m2: second}), [s, w]))


def _spread_from_below(concave: Expr) -> Iterator[Check]:
    """All weights together where none is above 1/2, else the largest and the others."""
    P = {k: real(f"P_{k}") for k in (2, 3, 4, 5)}
    d, V, M, e, t, m1, w = (real(name) for name in ("d", "V", "M", "e", "t", "m_1", "w"))
    half = sympy.Rational(1, 2)
    # P_4 is above a number by d, and P_5 above another one by at least d^2 / V.
    lift = _spread_bend({**P, 4: P[4] + d, 5: P[5] + d**2 / V}) - _spread_bend(P)
    linear = 113 + 580 * P[2]
    yield equal("the least over P_4", lift + V * linear**2 / 1360, 340 / V * (d - V * linear / 680) ** 2)

    def least(low: dict[int, Expr], V: Expr) -> Expr:
        return _spread_bend(low) - V * (113 + 580 * low[2]) ** 2 / 1360 + concave * low[2]

    low = {2: t, 3: t * m1, 4: t * (t * m1), 5: (t * m1) ** 2}
    small = sympy.expand(least(low, t * m1 - t**2) / t).subs(m1, t + (half - t) * w)
    yield Check("d^2 kappa >= -3/2 P_2, no weight above 1/2", is_nonnegative(small.subs(t, e / 2), [e, w]))
    r, mean = 1 - M, (1 - M) * e
    square = (1 - M) * mean * (e + (1 - e) * w)
    low = {2: M**2 + r * mean, 3: M**3 + r * square, 4: M**4 + r * mean * square, 5: M**5 + r * square**2}
    large = least(low, r * (square - mean**2)).subs(M, (1 + t) / 2)
    yield Check("d^2 kappa >= -3/2 P_2, a weight above 1/2", is_nonnegative(large, [t, e, w]))


def _spread_from_above(convex: Expr) -> Iterator[Check]:
    """The largest weight M and the others, which are at most c: M or what is left of 1."""
    M, c, e, x, w, t, p, fourth = (real(name) for name in ("M", "c", "e", "x", "w", "t", "p", "R_4"))
    r, h = 1 - M, c * e / 2

    def most_fifth(second: Expr, third: Expr, fourth: Expr) -> Expr:
        return c * fourth - 2 * h * (c * third - fourth) + h**2 * (c * second - third)

    yield equal("the largest R_5", most_fifth(p**2, p**3, p**4) - p**5, p**2 * (c - p) * (p - h) ** 2)
    R2, R3 = r * c * e, r * c**2 * e * x
    fifth = most_fifth(R2, R3, fourth)
    high = sympy.expand(_spread_bend({2: M**2 + R2, 3: M**3 + R3, 4: M**4 + fourth, 5: M**5 + fifth}))
    falls = -sympy.diff(high, fourth)
    yield equal("how R_4 enters", falls, 113 + 580 * (M**2 + R2) - 340 * c * (1 + e))
    # R_4 >= R_3^2 / R_2.
    most = convex * (M**2 + R2) - high.subs(fourth, R3 * c * x)
    for name, cap, large in (("below", M, t / 2), ("above", r, (1 + t) / 2)):
        lowers, left = (f.subs({c: cap, x: e + (1 - e) * w}) for f in (falls, most))
        # M >= 0 is a factor where it is c, without which there is more room next to 0.
        left = sympy.cancel(left / M) if cap == M else left
        yield Check(f"R_4 lowers the bound, M {name} 1/2", is_nonnegative(lowers.subs(M, large), [t, e]))
        yield Check(f"d^2 kappa <= 5/8 P_2, M {name} 1/2", is_nonnegative(left.subs(M, large), [t, e, w]))


def check_lengths(kernel: Kernel) -> Iterator[Check]:
    """q is the mean at the largest of L uniform variables of a function that falls."""
    t, y, lam = real("t"), real("y"), positive_symbol("lambda")
    kernels = {k: sympy.exp(k * (t + y)) * sympy.exp(-sympy.exp(t + y)) for k in (0, 1, 2)}
    yield equal("Psi_1 = -phi'", -sympy.diff(kernels[0], t), kernels[1])
    yield equal("Psi_1' = Psi_1 - Psi_2", sympy.diff(kernels[1], t), kernels[1] - kernels[2])
    density = sympy.exp(t - sympy.exp(t))
    survival = sympy.exp(-lam).subs(lam, sympy.exp(t))
    yield equal("log of an exponential variable", -sympy.diff(survival, t), density)
    yield equal("is log-concave", sympy.diff(sympy.log(density).expand(force=True), t, 2), -sympy.exp(t))
    v = positive_symbol("v")
    normal = -((y + v / 2) ** 2) / (2 * v)
    yield equal("and so is a normal variable", sympy.diff(normal, y, 2), -1 / v)


def check_longer_prompts(kernel: Kernel) -> Iterator[Check]:
    """What is left of q without a part of kappa is the integral of a function that is positive.

    h and its derivatives are letters; d/dv of them follows from h_v = h''/2 + (1/2 - h) h'.
    """
    h = [positive_symbol(f"h_{k}") for k in range(10)]
    half = sympy.Rational(1, 2)

    def dt(f: Expr) -> Expr:
        return sum(sympy.diff(f, h[k]) * h[k + 1] for k in range(len(h) - 1))

    def dv(f: Expr) -> Expr:
        total, growth = sympy.Integer(0), h[2] / 2 + (half - h[0]) * h[1]
        for k in range(5):
            total += sympy.diff(f, h[k]) * growth
            growth = dt(growth)
        return total

    # 3 Psi_3 - Psi_4 - (Psi_2^2 / Psi_1)' over Psi_1, from Psi_(k+1) = k Psi_k - Psi_k' and Psi_1' = (1 - h) Psi_1.
    ratio = [sympy.Integer(1)]
    for k in (1, 2, 3):
        ratio.append(k * ratio[-1] - dt(ratio[-1]) - ratio[-1] * (1 - h[0]))
    spread = 3 * ratio[2] - ratio[3] - dt(h[0] ** 2) - h[0] ** 2 * (1 - h[0])
    k = h[0] - h[0] ** 2 + h[0] * h[1] - h[2]
    yield equal("Psi_2 / Psi_1", ratio[1], h[0])
    yield equal("6 kappa", sympy.expand(spread), k)
    a = h[2] / h[1]
    w, p = 1 - dt(k) / h[1], a**2 + a * sympy.log(a)

    def along(f: Expr, drift: Expr) -> Expr:
        return dt(dt(f)) / 2 + drift * dt(f)

    plain, drift = half - h[0], half - h[0] + a
    yield equal("h''", dv(h[2]), along(h[2], plain) - 3 * h[1] * h[2])
    y = h[1] - h[2]
    yield equal("h' - h''", dv(y), along(y, plain) - h[1] * y + 2 * h[1] * h[2])
    z, lost = w - p, (2 + 1 / a) * dt(a) ** 2 / 2
    yield equal("w - p", dv(z), along(z, drift) - 2 * h[1] * z + h[1] * (4 * h[0] - h[1]) + lost)
    # The least of p is at log a = -1 - 2a, where it is -a - a^2; this a is below 1/4, as log(1/4) > -3/2.
    yield equal("where p is least", sympy.diff(p, h[2]) * h[1], 2 * a + sympy.log(a) + 1)
    yield Check("p is at least -5/16", bool(sympy.log(4) < sympy.Rational(3, 2)))
    falls = kernel.gap_lines.FALLS.expr
    yield Check("and that is enough", bool(falls / 6 * (1 + sympy.Rational(5, 16)) <= 1))
    yield equal("q + 6 kappa, at most", kernel.gap_lines.SUM.expr, 1 + 6 / falls)
    # kappa' over P_2 = s^2, by the moments m_k.
    s, m1, m2 = (positive_symbol(name) for name in ("s", "m_1", "m_2"))
    t = s**2
    steep = (3 + 22 * t) * m1 - 13 * m2 - 2 * t - 10 * t**2
    high = sympy.expand(steep.subs(m2, m1**2))
    most = (3 + 22 * t) ** 2 / 52 - 2 * t - 10 * t**2
    yield equal("the largest over m_1", most - high, 13 * (m1 - (3 + 22 * t) / 26) ** 2)
    rising = kernel.gap_lines.MOST_RISING.expr
    yield equal("kappa' <= 5/18 q", rising - most, sympy.Rational(9, 13) * (t - sympy.Rational(7, 18)) ** 2)


def check_complex_variances(kernel: Kernel) -> Iterator[Check]:
    """Normal densities of complex variance, the heat equation of phi, and how binomial prompts come in."""
    weights = kernel.weight_growth
    x, y, z, n, p, f = (positive_symbol(name) for name in ("x", "y", "z", "L", "p", "phi"))
    v = x + sympy.I * y
    exponent = sympy.expand(sympy.re(sympy.expand_complex(-(z**2) / (2 * v) - z / 2 - v / 8)))
    wide = x + y**2 / x
    plain = -(z**2) / (2 * wide) - z / 2 - wide / 8
    growth = evaluated(weights.density_growth, y / x, y)
    yield equal("exponents of the densities", exponent - plain, y**2 / x / 8)
    yield equal("factors of the densities", (wide / sympy.sqrt(x**2 + y**2)) ** 2, 1 + y**2 / x**2)
    yield equal("c", growth**4, (1 + y**2 / x**2) * sympy.exp(y**2 / x / 2))
    e = sympy.exp(-sympy.exp(z))
    yield equal("d phi / dv = Psi_2 / 2", (sympy.diff(e, z, 2) - sympy.diff(e, z)) / 2, sympy.exp(2 * z) * e / 2)
    # e^s - 1 is at least its expansion to the fifth order, and 2/3 of that is above s^2.
    s = real("s")
    rest = sum(sympy.Rational(2, 3) * s ** (k - 1) / sympy.factorial(k) for k in range(1, 6)) - s
    yield Check("s^2 e^-s <= 2/3 (1 - e^-s) for s <= 4", is_nonnegative(rest.subs(s, 4 * s), [s]))
    yield Check("and beyond", is_nonnegative(sympy.expand(s**4 * rest.subs(s, 4 / s)), [s]))
    c = positive_symbol("c")
    yield equal("p", weights.kept_share(c, y), 1 - y / 2 * c * sympy.Rational(2, 3))
    for length in (2, 3, 4, 5):
        for blocks in (1, 2):
            left = sympy.ff(length, blocks) * (1 - p + p * f) ** (length - blocks)
            law = [(m, sympy.binomial(length, m) * p**m * (1 - p) ** (length - m)) for m in range(blocks, length + 1)]
            kept = sum(share * sympy.ff(m, blocks) * f ** (m - blocks) for m, share in law)
            yield equal(f"thinned prompts, L = {length}, {blocks} blocks", left * p**blocks, kept)
        mean = sum(sympy.binomial(length, m) * p**m * (1 - p) ** (length - m) / (m + 1) for m in range(length + 1))
        whole = (1 - (1 - p) ** (length + 1)) / (p * (length + 1))
        yield equal(f"E 1/(N + 1), L = {length}", mean, whole)
    yield equal("the bound of E q_N", evaluated(weights.thinned_collision, n, p, x), sympy.exp(x) * 2 / (p * n))
    m = positive_symbol("n")
    above = 1 + (m - 1) * sympy.exp(-x) - m * sympy.exp(-x)
    yield equal("1 + (n - 1) e^-x exceeds n e^-x", above, 1 - sympy.exp(-x))
    a, h, middle = positive_symbol("a"), positive_symbol("y_0"), positive_symbol("m")
    cosine = -a / middle
    steepest = h**2 * (1 - cosine**2) / (middle + a * cosine) ** 2
    yield equal("the steepest ray meets the ellipse where cos = -a/m", steepest, h**2 / (middle**2 - a**2))
