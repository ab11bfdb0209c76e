"""Checks: the gap between the risks over finite and infinite prompts, its gradient, and the bounds of both.

q and kappa are functions of the variance v of the scores; where a derivative is taken they stand for their values and
slopes at a point, which may be any numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.gaussian_queries import normal_mean
from certattn.theory.kernel_reading import Kernel
from certattn.theory.nonnegativity import is_nonnegative
from certattn.theory.stein_reduction import S, combined, mean, power_sums, times, weighted_sum
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import column, gradient, matrix, positive_symbol, real, vector
from certattn.theory.training.regression_symbols import symmetric_matrix

Expr = Any


def inner(x: sympy.Matrix, y: sympy.Matrix) -> Expr:
    return (x.T * y)[0]


def bracket(b: Expr, trace: Expr, tau: sympy.Matrix, x: sympy.Matrix) -> Expr:
    """W = b^2 T - b^2 |tau|^2 + 2b <tau, x>."""
    return b**2 * trace - b**2 * inner(tau, tau) + 2 * b * inner(tau, x)


def check_gap(kernel: Kernel) -> Iterator[Check]:
    """1/2 E|b tau_hat - x|^2 from E tau_hat = (1-q) tau and E|tau_hat - tau|^2 = q (T + |tau|^2) - 6 kappa |tau|^2."""
    b, q, kappa, trace = real("b"), real("q"), real("kappa"), real("T")
    for d in (1, 2, 3):
        tau, x = column(vector("t", d)), column(vector("x", d))
        size = inner(tau, tau)
        first = (1 - q) * tau
        second = q * (trace + size) - 6 * kappa * size + 2 * inner(first, tau) - size
        risk = (b**2 * second - 2 * b * inner(first, x) + inner(x, x)) / 2
        gap = (q * bracket(b, trace, tau, x) - 6 * b**2 * kappa * size) / 2
        yield equal(f"R_L - R given x, d = {d}", risk - inner(b * tau - x, b * tau - x) / 2, gap)
        error = b * tau - x
        wanted = b**2 * trace + inner(x, x) - inner(error, error)
        yield equal(f"W = b^2 T + |x|^2 - |Ex|^2, d = {d}", bracket(b, trace, tau, x), wanted)


def check_gradient(kernel: Kernel) -> Iterator[Check]:
    """dG/dA and dG/db given x, by differentiation in every entry."""
    b, t = real("b"), real("t")
    q, kappa, q_v, kappa_v = (real(name) for name in ("q", "kappa", "q_v", "kappa_v"))
    for d in (1, 2):
        A, Sigma, x = matrix("a", d, d), symmetric_matrix("s", d), column(vector("x", d))
        trace = Sigma.trace()

        def gap(A: sympy.Matrix, b: Expr, v0: Expr) -> Expr:
            tau = Sigma * A * x  # noqa: B023 - called within the loop
            v = inner(x, A.T * tau)  # noqa: B023
            near = (q + q_v * (v - v0), kappa + kappa_v * (v - v0))
            return (near[0] * bracket(b, trace, tau, x) - 6 * b**2 * near[1] * inner(tau, tau)) / 2  # noqa: B023

        tau = Sigma * A * x
        error, size, v0 = b * tau - x, inner(tau, tau), inner(x, A.T * tau)
        base = sympy.Dummy()
        slopes = sympy.Matrix(d, d, gradient(gap(A, b, base), list(A))).subs(base, v0)
        W = bracket(b, trace, tau, x)
        row = (q_v * W - 6 * b**2 * kappa_v * size) * tau - b * q * Sigma * error - 6 * b**2 * kappa * Sigma * tau
        yield equal(f"dG/dA, d = {d}", slopes, row * x.T)
        slope = sympy.diff(gap(A, t, v0), t).subs(t, b)
        yield equal(f"dG/db, d = {d}", slope, q * (b * trace - inner(tau, error)) - 6 * b * kappa * size)


def check_growth(kernel: Kernel) -> Iterator[Check]:
    """dkappa/dv by Stein's identity, and |dkappa/dv| <= q/3."""
    t, P2, P3 = weighted_sum(1, 1), weighted_sum(2, 0), weighted_sum(3, 0)
    third = combined((3, weighted_sum(3, 1)), (-3, times(P3, t)))
    square = combined((4, times(P2, weighted_sum(2, 1))), (-4, times(times(P2, P2), t)))
    rate = mean(combined((1, third), (-1, square)))
    P = power_sums
    stated = 3 * P(3) - 2 * P(2, 2) - 13 * P(4) + 22 * P(2, 3) - 10 * P(2, 2, 2)
    yield equal("dkappa/ds = 2 s E[...]", rate, 2 * S * stated)
    # Under the weights p: P_2 = E X, P_3 = E X^2, P_4 = E X^3 for X = p_i; divided by a = P_2.
    a, beta, c, s, u = (real(name) for name in ("a", "beta", "c", "sigma", "u"))
    form = 3 * beta - 2 * a - 13 * c + 22 * a * beta - 10 * a**2
    x, y = beta - sympy.Rational(4, 9), a - sympy.Rational(7, 18)
    above = sympy.Rational(5, 18) - form.subs(c, beta**2)
    yield equal("5/18 - [...] at the least P_4 is a quadratic form", above, 13 * x**2 - 22 * x * y + 10 * y**2)
    yield equal("which is positive", 13 * 10 - 11**2, 9)
    most = s * beta - s * (s - beta) ** 2 / (1 - s)
    # E X^2 (s - X) >= (E X (s - X))^2 / E(s - X) where X <= s, and s^2 = a is possible: no p_i^2 exceeds P_2.
    second = a * beta
    largest = (s * second - (s * a - second) ** 2 / (s - a)) / a
    yield equal("the largest P_4 / a at s^2 = a", largest.subs(a, s**2), most)
    below = sympy.Rational(1, 3) + form.subs({a: s**2, c: most})
    polynomial = sympy.expand(sympy.cancel(below.subs(beta, s**2 + s * (1 - s) * u)))
    yield Check("1/3 + [...] >= 0 at the largest P_4", is_nonnegative(polynomial, [s, u]))


def check_norms(kernel: Kernel) -> Iterator[Check]:
    """E|Bg|^2 and E|Bg|^4, and |B'B|_F <= |B|_F^2."""
    for d in (1, 2):
        B, g = matrix("B", d, d), vector("g", d)
        square = inner(B * column(g), B * column(g))
        G = B.T * B
        yield equal(f"E|Bg|^2, d = {d}", normal_mean(square, g), G.trace())
        yield equal(f"E|Bg|^4, d = {d}", normal_mean(sympy.expand(square**2), g), G.trace() ** 2 + 2 * (G * G).trace())
    trace, squares = positive_symbol("t"), positive_symbol("u")
    gap = kernel.risk_transfer
    found = gap.norms(SymbolicNumber(trace), SymbolicNumber(squares))
    yield equal("the kernel's second norm", plain(found.second) ** 2, trace)
    yield equal("the kernel's fourth norm", plain(found.fourth) ** 4, trace**2 + 2 * squares)
    found = gap.widest(SymbolicNumber(trace))
    yield equal("its bound of the fourth", plain(found.fourth) ** 4, 3 * plain(found.second) ** 4)


def check_averages(kernel: Kernel) -> Iterator[Check]:
    """e^(theta v) tilts the normal law, one coordinate after the other; the kernel's a_k."""
    theta, s, g, L = (positive_symbol(name) for name in ("theta", "s", "g", "L"))
    width = 1 / sympy.sqrt(1 - 2 * theta * s)
    density = sympy.exp(-(g**2) / 2)
    tilted = sympy.exp(-(g**2) / (2 * width**2))
    yield equal(
        "e^(theta s g^2) is a density of N(0, 1/(1 - 2 theta s))", sympy.exp(theta * s * g**2) * density, tilted
    )
    rest, more, gap = positive_symbol("r"), positive_symbol("m"), kernel.risk_transfer
    for copies in (1, 4):
        largest = rest + more
        of = gap.Scores(SymbolicNumber(largest), SymbolicNumber(copies * largest + rest), copies)
        for k in (0, 1, 2):
            found = plain(kernel.risk_transfer.log_average(SymbolicNumber(L), SymbolicNumber(theta), of, k))
            log = sympy.log(1 - 2 * theta * largest)
            wanted = theta * sympy.log(theta) + (1 - theta) * sympy.log(1 - theta) - theta * sympy.log(L - 1)
            wanted -= sympy.Rational(copies + 2 * k, 2) * log + sympy.log(1 - 2 * theta * rest) / 2
            yield equal(f"log a_{k}, n = {copies}", found, wanted)
    yield positive("theta > 0: a_k decreases in L", theta)


def check_bounds(kernel: Kernel) -> Iterator[Check]:
    """The extreme values of q_v and kappa_v, and the kernel's bounds."""
    q, bT, X, Z, Y, up, down = (positive_symbol(name) for name in ("q", "c", "X", "Z", "Y", "alpha", "gamma"))
    # q_v = alpha q with 0 <= alpha <= 1, 6 kappa_v = 2 (gamma - delta) q with gamma + delta = 1; W = c + X - Z.
    value = up * q * (bT + X - Z) - 2 * (2 * down - 1) * q * Y
    far = q * (bT + X + Z + 2 * Y)
    yield equal("far, above", far - value, q * ((1 - up) * (bT + X) + (1 + up) * Z + 4 * down * Y))
    yield equal("far, below", far + value, q * ((1 + up) * (bT + X) + (1 - up) * Z + 4 * (1 - down) * Y))
    # |W - c| <= |y|^2 + 2 |y| |x| with y = b tau.
    y, x, side = positive_symbol("y"), positive_symbol("x"), real("e")
    value = up * q * (bT - y**2 + 2 * y * x * side) - 2 * (2 * down - 1) * q * y**2
    near = q * (bT + 2 * y * x + 3 * y**2)
    above = q * ((1 - up) * bT + 2 * y * x * (1 - up * side) + (up + 1 + 4 * down) * y**2)
    below = q * ((1 + up) * bT + 2 * y * x * (1 + up * side) + (1 - up + 4 * (1 - down)) * y**2)
    yield equal("near, above", near - value, above)
    yield equal("near, below", near + value, below)
    yield from _kernel_bounds(kernel)


def _kernel_bounds(kernel: Kernel) -> Iterator[Check]:
    names = ["b", "t2", "t4", "e2", "e4", "x2", "x4", "lam", "a0", "a1", "a2"]
    b, t2, t4, e2, e4, x2, x4, lam, a0, a1, a2 = (positive_symbol(name) for name in names)
    gap = kernel.risk_transfer

    def norms(second: Expr, fourth: Expr) -> Any:
        return gap.Norms(SymbolicNumber(second), SymbolicNumber(fourth))

    averages = tuple(SymbolicNumber(a) for a in (a0, a1, a2))
    factor, sizes = SymbolicNumber(b), (norms(t2, t4), norms(e2, e4))
    found = gap.GapBounds(norms(x2, x4), SymbolicNumber(lam), factor, *sizes, averages)
    trace, value = x2**2, b * t4
    yield equal("the kernel's bound of R_L - R", plain(found.risk()), (a0 * b**2 * trace + a1 * trace) / 2)
    shared = 2 * value * x4 + 3 * value**2
    least = -sympy.Max(-(x4**2 + e4**2 + 2 * value**2), -shared)
    yield equal("its bracket", plain(found.bracket()), least)
    factor = sympy.Max(a0 * b * trace, sympy.Rational(3, 2) * a1 * b * t2**2) + a1 * t2 * e2
    yield equal("its bound of |dG/db|", plain(found.gradient_of_factor()), factor)
    along = sympy.sqrt(lam)
    flat = b**2 * trace * t2 + b * lam * e2 + sympy.Rational(3, 2) * b**2 * lam * t2
    whole = a1 * flat * along + a2 * least * t4 * along * sympy.sqrt(sympy.sqrt(3))
    yield equal("its bound of |dG/dA|", plain(found.gradient_of_matrix()), whole)
    yield equal("its bound of |grad G|", plain(found.gradient()) ** 2, factor**2 + whole**2)


def check_tube(kernel: Kernel) -> Iterator[Check]:
    """What solves e' = mu e + g from above, and how far E moves."""
    mu, g, e0, t = (positive_symbol(name) for name in ("mu", "g", "e0", "t"))
    bound = sympy.exp(mu * t) * (e0 + g * t)
    yield equal(
        "(e^(mu t) (e_0 + g t))' = mu (...) + g e^(mu t)", sympy.diff(bound, t), mu * bound + g * sympy.exp(mu * t)
    )
    beta, speed = positive_symbol("beta"), positive_symbol("c")
    leg = sympy.exp(mu * t) * (e0 + beta * t**2 * speed / 2)
    yield equal("the same for a polygon", sympy.diff(leg, t), mu * leg + beta * t * speed * sympy.exp(mu * t))
    b, h = real("b"), real("h")
    for n in (1, 2, 3):
        A, H = column(vector("a", n)), column(vector("eta", n))
        moved = b * H + h * A
        room = (b**2 + inner(A, A)) * (inner(H, H) + h**2) - inner(moved, moved)
        wedge = inner(A, A) * inner(H, H) - inner(A, H) ** 2
        yield equal(f"|bH + hA|^2 <= |(A, b)|^2 |(H, h)|^2, n = {n}", room, (b * h - inner(A, H)) ** 2 + wedge)
        pairs = [(i, j) for i in range(n) for j in range(i)]
        squares = sum(((A[i] * H[j] - A[j] * H[i]) ** 2 for i, j in pairs), sympy.Integer(0))
        yield equal(f"Lagrange's identity, n = {n}", wedge, squares)
