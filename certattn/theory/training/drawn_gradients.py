"""Checks: what softmax means and covariances of Gaussian tokens fluctuate by, for `stochastic-descent`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.nonnegativity import is_nonnegative
from certattn.theory.stein_reduction import CONSTANT, S, combined, mean, power_sums, times, weighted_sum
from certattn.theory.symbolic_flint import SymbolicNumber
from certattn.theory.symbols import positive_symbol, real
from certattn.theory.training.normal_means import normal_mean

Expr = Any
# Powers of P_2, P_3, P_4, P_5 and how often: f_2, f_1, g_2, g_1 and k_1.
_F2 = {(2, 2): 3, (2, 2, 2): 120, (2, 3): -200, (4,): 78, (2, 2, 2, 2): 840, (2, 2, 3): -2160, (2, 4): 1280,
       (3, 3): 540, (5,): -500}  # fmt: skip
_F1 = {(2, 2): 6, (2, 2, 2): 120, (2, 3): -168, (4,): 48}
_G2 = {(2,): 1, (3,): -62, (2, 2): 27, (2, 3): -680, (4,): 594, (2, 2, 2): 240, (2, 2, 2, 2): 840,
       (2, 2, 3): -2880, (2, 4): 2480, (3, 3): 1020, (5,): -1580}  # fmt: skip
_G1 = {(2,): 4, (3,): -64, (2, 2): 36, (2, 3): -288, (4,): 192, (2, 2, 2): 120}
_K1 = {(2,): 1, (3,): -14, (2, 2): 7, (2, 3): -52, (4,): 38, (2, 2, 2): 20}


def _expected(terms: dict[tuple[int, ...], int]) -> Expr:
    """The mean."""
    return sum(c * power_sums(*key) for key, c in terms.items())


def _at(terms: dict[tuple[int, ...], int], P: dict[int, Expr]) -> Expr:
    """The value."""
    return sum(c * sympy.Mul(*(P[k] for k in key)) for key, c in terms.items())


def check_reduction(kernel: Kernel) -> Iterator[Check]:
    """Stein's identity, along the direction of the scores; v = s^2."""
    v = S**2
    off = combined((1, weighted_sum(1, 1)), (-S, CONSTANT))
    square = times(off, off)
    spread = combined((1, weighted_sum(1, 2)), (-1, times(weighted_sum(1, 1), weighted_sum(1, 1))), (-1, CONSTANT))
    across = combined(
        (1, weighted_sum(2, 2)),
        (-2, times(weighted_sum(1, 1), weighted_sum(2, 1))),
        (1, times(times(weighted_sum(1, 1), weighted_sum(1, 1)), weighted_sum(2, 0))),
    )
    P2, P3, P22 = power_sums(2), power_sums(3), power_sums(2, 2)
    yield equal("the fourth moment", mean(times(square, square)), v**2 * _expected(_F2) + v * _expected(_F1) + 3 * P22)
    yield equal("with P_2", mean(times(square, weighted_sum(2, 0))), v * _expected(_F1) / 6 + P22)
    steep = v**2 * _expected(_G2) + v * _expected(_G1)
    yield equal("the variance", mean(times(spread, spread)), steep + 2 * P2 - 4 * P3 + 3 * P22)
    yield equal("the covariance", mean(across), v * _expected(_K1) + P2 - 2 * P3 + P22)


def check_across(kernel: Kernel) -> Iterator[Check]:
    """Components that the scores do not depend on, by the moments of normal numbers, for three tokens."""
    p = [real(f"p_{i}") for i in range(3)]
    y, z = sympy.symbols("y_0:3"), sympy.symbols("z_0:3")
    P = {k: sum(x**k for x in p) for k in (1, 2, 3, 4)}
    one, other = (sum(x * u for x, u in zip(p, column, strict=True)) for column in (y, z))
    own = sum(x * u**2 for x, u in zip(p, y, strict=True)) - one**2 - 1
    mixed = sum(x * u * w for x, u, w in zip(p, y, z, strict=True)) - one * other
    last = {p[2]: 1 - p[0] - p[1]}
    for name, of, value in (
        ("a variance", own**2, 2 * P[2] - 4 * P[3] + 3 * P[2] ** 2),
        ("a covariance", mixed**2, P[2] - 2 * P[3] + P[2] ** 2),
        ("a fourth moment", one**4, 3 * P[2] ** 2),
        ("two squares", one**2 * other**2, P[2] ** 2),
    ):
        yield equal(name, sympy.expand(normal_mean(of, [*y, *z]).subs(last)), sympy.expand(value.subs(last)))


def check_bounds(kernel: Kernel) -> Iterator[Check]:
    """The polynomials in the power sums, with the kernel's factors, and the kernel's sums of them."""
    module = kernel.drawn_gradients
    # f_1 counts as often as along the direction of the scores and a third of that for every other.
    fourth, steep = module.FOURTH[0].expr, 3 * module.FOURTH[1].expr
    wide = module.SPREAD.expr
    yield from _by_four_moments(fourth, wide)
    yield from _by_three_moments(steep)
    d, v, q, p = (positive_symbol(name) for name in ("d", "v", "q", "p"))
    numbers = [SymbolicNumber(x) for x in (d, v, q, p)]
    n = d - 1
    found = module.mean_fourth(numbers[0], numbers[1], numbers[3]).expr
    expected = fourth * v**2 + steep * v + 3 + 2 * n * (steep * v / 6 + 1) + (d**2 - 1)
    yield equal("z_4 from its parts", found, expected * p)
    yield equal("z_2", module.mean_square(*numbers[:3]).expr, (d + v) * q)
    first = v**2 + 4 * v + 2 + 2 * n * (v + 1) + n + n * (n - 1)
    whole = sympy.sympify(module.spread(*numbers).expr)
    known, plain = ([x for x in sympy.Min.make_args(whole) if x.has(q) is has] for has in (True, False))
    yield equal("c from its parts", known[0], (first + n) * q + wide * v**2 * p)
    yield equal("c without weights", plain[0], d * (d + 3))


def _by_four_moments(fourth: Expr, wide: Expr) -> Iterator[Check]:
    """f_2 <= fourth P_3 and g_2 <= P_2 + wide P_3, by m_4 >= m_2^2 + D^2 / V; m = t^2, V = w t^3 (1 - t)."""
    m, V, D, t, w = (real(name) for name in ("m", "V", "D", "t", "w"))
    m2, m3 = m**2 + V, m * (m**2 + V) + D
    P = {2: m, 3: m2, 4: m3, 5: m2**2 + D**2 / V}
    for name, terms, bound in (("f_2", _F2, fourth * m2), ("g_2", _G2, m + wide * m2)):
        left = sympy.expand(_at(terms, P))
        square, linear = left.coeff(D, 2), left.coeff(D, 1)
        yield Check(f"{name} falls with D^2", bool(sympy.simplify(square * V).is_negative))
        largest = sympy.expand(left.coeff(D, 0) - linear**2 / (4 * square))
        inside = sympy.expand((bound - largest).subs({V: w * t**3 * (1 - t)}).subs(m, t**2))
        yield Check(f"{name} at the largest", is_nonnegative(sympy.cancel(inside / t**3), [t, w], 60))


def _by_three_moments(steep: Expr) -> Iterator[Check]:
    """f_1 <= steep P_3, g_1 <= 4 P_2 and k_1 <= P_2, by weights that are at most t."""
    t, w = real("t"), real("w")
    m = t**2
    m2 = m * (t**2 + t * (1 - t) * w)
    m3 = t * m2 - t**5 * (1 - t) * (1 - w) ** 2
    yield equal("Cauchy-Schwarz", (t * m2 - m3) * (t - m), (t * m - m2) ** 2)
    P = {2: m, 3: m2, 4: m3}
    for name, terms, bound in (("f_1", _F1, steep * m2), ("g_1", _G1, 4 * m), ("k_1", _K1, m)):
        yield Check(f"P_4 counts in {name}", terms[(4,)] > 0)
        inside = sympy.cancel(sympy.expand(bound - _at(terms, P)) / t**3)
        yield Check(f"{name} at the largest P_4", is_nonnegative(inside, [t, w], 60))


def check_curvature(kernel: Kernel) -> Iterator[Check]:
    """Along a segment: the mean of squares and of the function, and what it costs to split a square."""
    u, a, b, c, kappa = (real(name) for name in ("u", "a", "b", "c", "kappa"))
    mean_square = sympy.integrate((a + u * b) ** 2, (u, 0, 1))
    yield equal("no less than at the middle", mean_square - (a + b / 2) ** 2, b**2 / 12)
    quadratic = sympy.integrate(a + u * b + u**2 * c / 2, (u, 0, 1))
    yield equal("the mean of a quadratic function", quadratic, a + b / 2 + c / 6)
    rest = (a + b / 2) ** 2 - ((1 - kappa) * a**2 - (1 / kappa - 1) * b**2 / 4)
    yield equal("a square that is split", rest, (kappa * a + b / 2) ** 2 / kappa)


def check_gradient(kernel: Kernel) -> Iterator[Check]:
    """The mean over w in two dimensions, and the derivatives of the gap along b."""
    w, u, t = ([real(f"{name}_{i}") for i in range(2)] for name in ("w", "u", "t"))
    c = sympy.Matrix(2, 2, [real("c_0"), real("c_1"), real("c_1"), real("c_2")])
    inner = sum(x * y for x, y in zip(w, u, strict=True))
    along = sum(x * y for x, y in zip(w, t, strict=True))
    dot = sum(x * y for x, y in zip(u, t, strict=True))
    length = sum(x**2 for x in u)
    yield equal(
        "along b", normal_mean(inner**2 * along**2, w), sympy.expand(length * sum(x**2 for x in t) + 2 * dot**2)
    )
    moved, turned = c * sympy.Matrix(w), c * sympy.Matrix(u)
    found = normal_mean(inner**2 * (moved.T * moved)[0, 0], w)
    yield equal("along A", sympy.expand(found), sympy.expand(length * (c * c).trace() + 2 * (turned.T * turned)[0, 0]))
    P, Q = (sympy.Matrix(2, 2, [real(f"{name}_{i}") for i in (0, 1, 1, 2)]) for name in ("p", "q"))
    g = sympy.Matrix([real("g_0"), real("g_1")])
    forms = (g.T * P * g)[0, 0] * (g.T * Q * g)[0, 0]
    expected = P.trace() * Q.trace() + 2 * (P * Q).trace()
    yield equal("of two quadratic forms", sympy.expand(normal_mean(forms, list(g))), sympy.expand(expected))
    b, T, q, k, tau2, cross = (real(name) for name in ("b", "T", "q", "kappa", "tau2", "cross"))
    gap = (q * (b**2 * T - b**2 * tau2 + 2 * b * cross) - 6 * b**2 * k * tau2) / 2
    # <tau, u_0> = b |tau|^2 - <tau, x>.
    yield equal("of the gap", sympy.diff(gap, b), q * (b * T - (b * tau2 - cross)) - 6 * k * b * tau2)
