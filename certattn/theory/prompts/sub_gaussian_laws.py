"""Checks: bounds for every law of a class of sub-Gaussian ones, and the kernel's polynomials of the score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import matrix, positive_symbol, real, vector

Expr = Any

SIGMA, S, V, F, T, ETA, D, LOG = (positive_symbol(name) for name in ("sigma", "s", "v", "f", "t", "eta", "d", "l"))


def _unit(parameter: Expr) -> sympy.Matrix:
    """A unit vector of the plane."""
    return sympy.Matrix([1 - parameter**2, 2 * parameter]) / (1 + parameter**2)


def _score_polynomial(coefficients: Any) -> Expr:
    """sum_j c_j s^(2j) of coefficients that the kernel gives."""
    return sum((plain(c) * S ** (2 * j) for j, c in enumerate(coefficients)), sympy.Integer(0))


def check_limit(kernel: Kernel) -> Iterator[Check]:
    """sigma^2 |a + |a| u|^2 / 2 = sigma^2 |a|^2 + sigma^2 |a| <u, a> for a unit vector u."""
    r, first, second = positive_symbol("r"), real("m"), real("n")
    a, u = r * _unit(first), _unit(second)
    moved = a + r * u
    yield equal("u is a unit vector", (u.T * u)[0], 1)
    yield equal("the exponent at t = |a|", SIGMA**2 * (moved.T * moved)[0] / 2,
                SIGMA**2 * r**2 + SIGMA**2 * r * (u.T * a)[0])  # fmt: skip


def check_squares(kernel: Kernel) -> Iterator[Check]:
    """The Gaussian mean in an axis of VV', and -ln(1 - eta l) <= l eta / (1 - eta) for 0 <= l <= 1."""
    g, c, part = real("g"), real("c"), positive_symbol("l")
    left = 1 - ETA * part
    exponent = ETA * part * g**2 / 2 + c * g - g**2 / 2
    yield equal("the exponent of an axis", exponent, -left * (g - c / left) ** 2 / 2 + c**2 / (2 * left))
    yield equal("-ln(1 - eta l) is convex in l", sympy.diff(-sympy.log(left), part, 2), ETA**2 / left**2)
    yield equal("and 0 at l = 0", sympy.log(left).subs(part, 0), 0)
    slope = sympy.diff(ETA / (1 - ETA) + sympy.log(1 - ETA), ETA)
    yield equal("at l = 1 the difference grows with eta", slope, ETA / (1 - ETA) ** 2)


def check_kept(kernel: Kernel) -> Iterator[Check]:
    """E w^2 |Vy|^2 and E w^2 |y|^4 by X <= e^(X - 1) and X^2 <= 4 e^(X - 2), and the kernel's polynomials A."""
    x = positive_symbol("x")
    for n in (1, 2):
        # ln of x^n and of (n/e)^n e^x: equal at x = n, where the slopes are, and x^n is the flatter one from there on.
        apart = x - n + n * sympy.log(n) - n * sympy.log(x)
        yield equal(f"x^{n} touches its bound", [apart.subs(x, n), sympy.diff(apart, x)], [0, (x - n) / x])
    inverse = 1 + F / (2 * V) + 2 * S**2
    share = 1 / (inverse - 1)
    yield equal("eta / (1 - eta)", share, (1 / inverse) / (1 - 1 / inverse))
    yield equal("the second term of the exponent is 1", share * (F / (2 * V) + 2 * S**2), 1)
    second = 2 * SIGMA**2 * V * inverse
    numbers = [SymbolicNumber(number) for number in (SIGMA**2, V, F)]
    found = _score_polynomial(kernel.class_errors.Mean(*numbers).kept())
    yield equal("the kernel's A", found, second)
    inverse = 1 + (D / 2 + 2 * S**2) / 2
    share = 1 / (inverse - 1)
    yield equal("for fourth powers it is 2", share * (D / 2 + 2 * S**2), 2)
    fourth = 4 * (2 * SIGMA**2 * inverse) ** 2
    yield equal("E w^2 |y|^4", fourth, SIGMA**4 * (D + 4 + 4 * S**2) ** 2)
    size, wide = 2 * SIGMA**2 * (1 + S**2), 2 * SIGMA**2 * (D + S**2)
    small = SIGMA**2 * (D + 2 + 4 * S**2)
    found = _score_polynomial(kernel.class_errors.Covariance(SymbolicNumber(SIGMA**2), SymbolicNumber(D)).kept())
    yield equal("the kernel's A_2", found, fourth + size * wide + 2 * size * small)


def check_always(kernel: Kernel) -> Iterator[Check]:
    """The largest errors, and the kernel's polynomials B."""
    numbers = [SymbolicNumber(number) for number in (SIGMA**2, V, F)]
    at = [SymbolicNumber(number) for number in (LOG, T, ETA)]
    found = _score_polynomial(kernel.class_errors.Mean(*numbers).always(*at))
    share = ETA / (1 - ETA) * (F / (2 * V) + 2 * S**2)
    yield equal("the kernel's B", found, 2 * SIGMA**2 * V / ETA * (LOG + T + share))
    found = _score_polynomial(kernel.class_errors.Covariance(SymbolicNumber(SIGMA**2), SymbolicNumber(D)).always(*at))
    largest = 2 * SIGMA**2 / ETA * (1 + LOG + T - D / 2 * sympy.log(1 - ETA))
    limit = 4 * SIGMA**4 * (1 + S**2) * (D + S**2)
    yield equal("the kernel's B_2", found, largest**2 + limit)
    x = positive_symbol("x")
    curve = sympy.diff((1 + sympy.log(x)) ** 2, x, 2)
    yield equal("(ln e x)^2 is concave for x >= 1", curve, -2 * sympy.log(x) / x**2)


def check_bound(kernel: Kernel) -> Iterator[Check]:
    """e^(-h) <= 1/(e h), Hoelder's bound, and the kernel's."""
    h, L, score = positive_symbol("h"), positive_symbol("L"), positive_symbol("q")
    yield equal("h e^(-h) is largest at h = 1", sympy.diff(h * sympy.exp(-h), h), (1 - h) * sympy.exp(-h))
    depth = L * T**2 * sympy.exp(-2 * score) / 2
    yield equal("1/(e h)", 1 / (sympy.E * depth), 2 * sympy.exp(2 * score) / (sympy.E * T**2 * L))
    theta, gap, plain_, raised = (positive_symbol(name) for name in ("theta", "gamma", "P", "R"))
    factors = ([(SymbolicNumber(number), 1)] for number in (plain_, raised))
    weighted = kernel.class_bounds.Weighted(*factors, SymbolicNumber(gap))
    coefficients = [positive_symbol(f"c{j}") for j in range(3)]
    mean = plain(weighted.mean([SymbolicNumber(c) for c in coefficients]))
    means = [1 / sympy.sqrt(plain_), 1 / (sympy.E * gap * sympy.sqrt(raised)),
             4 / (sympy.E**2 * gap**2 * sympy.sqrt(raised))]  # fmt: skip
    yield equal("means of powers of s^2", mean, sum(c * m for c, m in zip(coefficients, means, strict=True)))
    numbers = [SymbolicNumber(number) for number in (SIGMA**2, V, F)]
    tokens = kernel.class_errors.Mean(*numbers)
    at = [SymbolicNumber(number) for number in (theta, T, ETA)]
    found = plain(kernel.class_errors.class_bound(SymbolicNumber(L), tokens, weighted, *at))
    kept = [plain(c) for c in tokens.kept()]
    always = [plain(c) for c in tokens.always(SymbolicNumber(sympy.log(L)), *at[1:])]
    A, B = (sum(c * m for c, m in zip(part, means[:2], strict=True)) for part in (kept, always))
    apart = A / (1 - T) ** 2 + 2 * B / (sympy.E * T**2)
    alpha, beta = positive_symbol("alpha"), positive_symbol("beta")
    exponent = _by_name(found.args[0], {apart: alpha, B: beta})
    yield equal("the kernel's bound", exponent, theta * (alpha - sympy.log(L)) + (1 - theta) * beta)


def _by_name(exponent: Expr, named: dict[Expr, Expr]) -> Expr:
    """Logarithms of expressions that are proved equal to a known one, by its name."""

    def name(inner: Expr) -> Expr:
        for known, symbol in named.items():
            if equal("", inner, known).holds:
                return symbol
        return sympy.log(inner)

    return exponent.replace(sympy.log, name)


def check_variance(kernel: Kernel) -> Iterator[Check]:
    """The covariance under a tilt: sigma^2 (1/(1 - eta) + s^2/eta) at its best eta."""
    a, u, c = sympy.Matrix(vector("a", 2)), sympy.Matrix(vector("u", 2)), real("c")
    moved = a + c * u
    exponent = SIGMA**2 * (moved.T * moved)[0] / 2 - c * SIGMA**2 * (u.T * a)[0]
    yield equal("the exponent", exponent, SIGMA**2 * ((a.T * a)[0] + c**2 * (u.T * u)[0]) / 2)
    root = positive_symbol("r")
    best = S / (root + S)
    found = (root**2 / (1 - ETA) + S**2 / ETA).subs(ETA, best)
    yield equal("d/(1 - eta) + s^2/eta at eta = s/(sqrt d + s)", found, (root + S) ** 2)
    yield equal("(r + s)^2 <= 2 (r^2 + s^2)", 2 * (root**2 + S**2) - (root + S) ** 2, (root - S) ** 2)
    yield positive("and at eta the bound is defined", best)


def check_ball(kernel: Kernel) -> Iterator[Check]:
    """2s <= slope s^2 + 1/slope, and the kernel's numbers on a ball: |y| <= 2R, tr C <= R^2 and tr C_hat <= R^2."""
    slope, R2 = positive_symbol("slope"), positive_symbol("R2")
    yield equal("2s <= slope s^2 + 1/slope", slope * S**2 + 1 / slope - 2 * S, slope * (S - 1 / slope) ** 2)
    square, norm = SymbolicNumber(R2), SymbolicNumber(V)
    unused = [SymbolicNumber(x) for x in (LOG, T, ETA)]
    mean = kernel.class_errors.OnBall.mean(square, norm)
    yield equal("the kernel's a on a ball", _score_polynomial(mean.kept()), V * R2)
    yield equal("the kernel's b on a ball", _score_polynomial(mean.always(*unused)), V * (2 * sympy.sqrt(R2)) ** 2)
    covariance = kernel.class_errors.OnBall.covariance(square)
    fourth, size = (2 * sympy.sqrt(R2)) ** 2 * R2, R2
    yield equal("a of covariances", _score_polynomial(covariance.kept()), fourth + 2 * size * R2)
    yield equal("b of covariances", _score_polynomial(covariance.always(*unused)), R2**2 + R2**2)


def check_error(kernel: Kernel) -> Iterator[Check]:
    """|D - dd'|^2 = |D|^2 - 2 d'Dd + |d|^4, and |yy' - C|^2 likewise."""
    E, off = matrix("E", 2, 2), sympy.Matrix(vector("d", 2))
    symmetric = E + E.T
    found = sum(entry**2 for entry in symmetric - off * off.T)
    parts = sum(entry**2 for entry in symmetric) - 2 * (off.T * symmetric * off)[0] + (off.T * off)[0] ** 2
    yield equal("the square of the difference", found, parts)
