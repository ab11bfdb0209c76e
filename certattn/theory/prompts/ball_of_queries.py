"""Checks: averages over small balls of tilts, sizes of normal vectors, and what is summed over cells of scores."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, expression
from certattn.theory.symbols import positive_symbol

_TERMS, _HALF = 6, sympy.Rational(1, 2)


def check_averages(kernel: Kernel) -> Iterator[Check]:
    """Over a ball of radius h: a coordinate t along y has a density like (h^2 - t^2)^((d - 1)/2)."""
    h, y = positive_symbol("h"), positive_symbol("y")
    t = sympy.Symbol("t", real=True)
    for d in (1, 3):
        density = (h**2 - t**2) ** ((d - 1) // 2)
        total = sympy.integrate(density, (t, -h, h))
        weight, pull = (
            sympy.integrate(sympy.expand(f * density), (t, -h, h)) / total
            for f in (sympy.exp(t * y), t * sympy.exp(t * y))
        )
        # With s = G'/(y G) the mean of ((1 + s) y - t) e^(ty) is y G.
        left = y * weight + sympy.diff(weight, y) - pull
        yield equal(f"(1 + s) y - eta has the mean y under the weights e^<eta,y>, dimension {d}", left, y * weight)
    for d in range(1, 7):
        half = sympy.Rational(d, 2)
        # E t^(2n) of h^2 times a beta variable with 1/2 and (d + 1)/2.
        moments = [h ** (2 * k) * sympy.rf(_HALF, k) / sympy.rf(half + 1, k) for k in range(_TERMS)]
        series = sum(moment * y ** (2 * k) / sympy.factorial(2 * k) for k, moment in enumerate(moments))
        z = h**2 * y**2 / 4
        bessel = sum(z**k / (sympy.rf(half + 1, k) * sympy.factorial(k)) for k in range(_TERMS))
        yield equal(f"G is 0F1(; d/2 + 1; h^2 y^2/4), its first terms, dimension {d}", series, bessel)
        yield equal(f"E |eta|^2 = h^2 d/(d + 2), dimension {d}", d * moments[1], h**2 * sympy.Rational(d, d + 2))
        shares = all(sympy.rf(half + 1, n) <= sympy.rf(half + 2, n) for n in range(_TERMS))
        yield Check(f"terms of s, over those of h^2/(d + 2), are at most 1: a larger parameter, dimension {d}", shares)


def check_sizes(kernel: Kernel) -> Iterator[Check]:
    """P(|y| > x) falls by the density of |y|, from 1 on; E |y| P(chi_(d+1) > x) by x times it, from E |y| on."""
    over_ball, x = kernel.small_balls, positive_symbol("x")
    for d in range(1, 6):
        half = sympy.Rational(d, 2)
        density = x ** (d - 1) * sympy.exp(-(x**2) / 2) * 2 ** (1 - half) / sympy.gamma(half)
        tail = expression(over_ball.chi_tail(d, SymbolicNumber(x)))
        further = expression(over_ball.chi_mean(d) * over_ball.chi_tail(d + 1, SymbolicNumber(x)))
        yield equal(f"P(|y| > x) falls by the density, dimension {d}", -sympy.diff(tail, x), density)
        yield equal(f"it begins at 1, dimension {d}", sympy.limit(tail, x, 0), 1)
        yield equal(
            f"E[|y|; |y| > x] falls by x times the density, dimension {d}", -sympy.diff(further, x), x * density
        )
        begin = sympy.integrate(x * density, (x, 0, sympy.oo))
        yield equal(f"it begins at E |y|, dimension {d}", sympy.limit(further, x, 0), begin)


def check_cells(kernel: Kernel) -> Iterator[Check]:
    """E[e^(2 beta g); g > a] = e^(2 beta^2) Q(a - 2 beta), and psi with its bound for small x, term by term."""
    beta, a = positive_symbol("beta"), sympy.Symbol("a", real=True)
    tail = sympy.exp(2 * beta**2) * expression(kernel.balls.normal_tail(SymbolicNumber(a - 2 * beta)))
    density = sympy.exp(2 * beta * a - a**2 / 2) / sympy.sqrt(2 * sympy.pi)
    yield equal("e^(2 beta^2) Q(a - 2 beta) falls by e^(2 beta a) times the density", -sympy.diff(tail, a), density)
    yield equal("it ends at 0", sympy.limit(tail, a, sympy.oo), 0)
    psi, low, high = kernel.small_balls.psi, sympy.Rational(1, 5), sympy.Integer(3)
    yield equal("psi(3)", expression(psi(SymbolicNumber(high))), (sympy.exp(3) - 4) / 9)
    k = sympy.Symbol("k", integer=True, nonnegative=True)
    geometric = sympy.summation((low / 3) ** k / 2, (k, 0, sympy.oo))
    yield equal("its bound at 1/5 is the sum of x^k / (2 3^k)", expression(psi(SymbolicNumber(low))), geometric)
    terms = all(sympy.factorial(k + 2) >= 2 * 3**k for k in range(30))
    yield Check("x^k / (k + 2)! is at most x^k / (2 3^k), for k < 30; each further factor k + 2 is above 3", terms)


def check_volumes(kernel: Kernel) -> Iterator[Check]:
    """Volumes of balls in dimension d go with the d-th power of radii."""
    over_ball, number = kernel.small_balls, SymbolicNumber
    start, to, h, k, reach = (sympy.Rational(*pair) for pair in ((3, 4), (1, 1), (1, 10), (1, 5), (9, 1)))
    for d, outputs in ((1, 1), (2, 3), (3, 2)):
        setting = over_ball.Setting(d, outputs, number(1), number(1), number(5))
        shell = over_ball.Shell(*map(number, (start, to, h, k, sympy.Rational(1, 100))))
        found = expression(setting.volumes(shell, number(reach)))
        radius = positive_symbol("r")
        shells = d * sympy.integrate(radius ** (d - 1), (radius, start - h, to + h)) / h**d
        yield equal(f"volumes, dimensions {d} and {outputs}", found, shells * ((1 + k) / k) ** outputs)
