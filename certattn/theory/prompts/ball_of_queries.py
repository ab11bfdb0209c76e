"""Checks: averages over small balls of tilts, sizes of normal vectors, and moments of what is averaged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import sympy
from sympy import Expr

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, expression
from certattn.theory.symbols import positive_symbol

_TERMS, _HALF = 6, sympy.Rational(1, 2)


def check_averages(kernel: Kernel) -> Iterator[Check]:
    """Over a ball of radius h: a coordinate t along y has a density like (h^2 - t^2)^((d - 1)/2)."""
    h, y = positive_symbol("h"), positive_symbol("y")
    for d in range(1, 7):
        half = sympy.Rational(d, 2)
        # E t^(2n) of h^2 times a beta variable with 1/2 and (d + 1)/2.
        moments = [h ** (2 * k) * sympy.rf(_HALF, k) / sympy.rf(half + 1, k) for k in range(_TERMS)]
        series = sum(moment * y ** (2 * k) / sympy.factorial(2 * k) for k, moment in enumerate(moments))
        z = h**2 * y**2 / 4
        bessel = sum(z**k / (sympy.rf(half + 1, k) * sympy.factorial(k)) for k in range(_TERMS))
        yield equal(f"G is 0F1(; d/2 + 1; h^2 y^2/4), its first terms, dimension {d}", series, bessel)
        yield equal(f"E t^2 = h^2/(d + 2), dimension {d}", moments[1], h**2 / (d + 2))
        shares = all(sympy.rf(half + 1, n) >= (half + 1) ** n for n in range(_TERMS))
        yield Check(f"terms of G are at most those of e^(h^2 y^2/(2 (d + 2))), dimension {d}", shares)
    t, height = sympy.Symbol("t", real=True), positive_symbol("l")
    uniform = sympy.integrate(t**2, (t, -height, height)) / (2 * height)
    yield equal("E xi^2 = l^2/3", uniform, height**2 / 3)


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


def check_moments(kernel: Kernel) -> Iterator[Check]:
    """The exponent of a moment from its parts, and the remainder of the exponential, which is a series."""
    h, k, beta, nu, at, height, eps = map(positive_symbol, ("h", "k", "beta", "nu", "x", "l", "eps"))
    number, over_ball, (d, outputs) = SymbolicNumber, kernel.small_balls, (3, 2)
    x = sympy.Symbol("X", real=True)
    tangent = sympy.log(at) + sympy.diff(sympy.log(x), x).subs(x, at) * (x - at)
    yield equal("log X <= log x + X/x - 1, a tangent", tangent, sympy.log(at) + x / at - 1)
    yield equal("|v| <= (1 + |v|^2)/2", (1 + x**2) / 2 - x, (1 - x) ** 2 / 2)
    values = {h: (1, 10), k: (1, 5), beta: (3, 4), nu: (2, 1), height: (1, 7), eps: (1, 3)}
    exact = {symbol: sympy.Rational(*pair) for symbol, pair in values.items()}
    slope, least = sympy.Rational(1, 9), sympy.Rational(1, 8)
    setting = over_ball.Setting(d, d, outputs, number(exact[eps]), number(exact[nu]), number(50), True)
    parts = [sympy.Rational(1, 2), exact[beta], least, exact[h], exact[k], exact[height], slope]
    shell = over_ball.Shell(*map(number, parts))
    for p, moment in zip((3, 4), setting.moments(shell, number(least)), strict=False):
        about = (p - 1) * beta * nu - eps
        best = (about + sympy.sqrt(about**2 + 4 * p * nu**2)) / 2
        # p X/x at its mean plus half its variance, p |v| nu/x, is stationary in x there.
        cost = p * sympy.log(at) + p * ((p - 1) * beta * nu - eps) / at + (p * nu / at) ** 2 / 2
        yield equal(f"x is best, p = {p}", sympy.diff(cost, at).subs(at, best), 0)
        # Over eta, zeta and xi e^(c <., direction>) is at most e^(c^2 radius^2 / (2 (n + 2))), n the dimension.
        first, second = p * (p - 1) * beta * nu / at, (p * nu / at) ** 2 / 2
        exponent = p * least + sympy.Rational(p * (p - 1), 2) * beta**2 + (p * h) ** 2 / 2
        exponent += h**2 * (p * (p * beta) + p**2 * nu * (1 + k) / at) ** 2 / (2 * (d + 2))
        exponent += (
            first * (1 + k**2 / 2) + second * (1 + k**2) + k**2 * (first + 2 * second) ** 2 / (2 * (outputs + 2))
        )
        exponent += (p * height / at) ** 2 / (2 * 3) - p - p * eps / at
        found = ((slope * at) ** p * sympy.exp(exponent)).subs(at, best).subs(exact)
        yield equal(f"the moment of the order {p}", expression(moment), found)
    yield from _second_moments(setting, shell, least, exact, (h, k, height, nu, eps), over_ball.AtCentre)
    low = sympy.Rational(1, 5)
    rest = [expression(each) for each in over_ball.remainders(number(low))]
    terms = over_ball.TERMS
    for p in (0, 3):
        # Beyond 1/TERMS! each term is at most x/(TERMS + 1) times the one before it.
        head = sum(low ** (j - p) / sympy.factorial(j) for j in range(p, terms))
        tail = low ** (terms - p) / sympy.factorial(terms) / (1 - low / (terms + 1))
        yield equal(f"the remainder of e^x from x^{p} on", rest[p], head + tail)


def _second_moments(
    setting: Any, shell: Any, least: Expr, exact: dict[Expr, Expr], symbols: Sequence[Expr], at_centre: Any
) -> Iterator[Check]:
    """E f^2 from a variance and a mean along u, all variances and the mean's square across, and heights."""
    h, k, height, nu, eps = symbols
    d, outputs, within = setting.dimension, setting.outputs, 50
    # E <zeta, x>^2 = k^2 |x|^2 / (d_v + 2), and E e^<2 eta,y> is at most e^((2 h |y|)^2 / (2 (d + 2))).
    widths = (2 * h * within) ** 2 / (2 * (d + 2))

    def moment(along: Expr, mean: Expr, together: Expr) -> Expr:
        return along + (mean + eps) ** 2 + k**2 * (together + mean**2) / (outputs + 2) + height**2 / 3

    slope, size = (sympy.nsimplify(expression(number)) for number in (shell.slope, shell.to))
    found = setting.by_size(shell, SymbolicNumber(least))
    formula = slope**2 * sympy.exp(least + size * within + widths) * moment(nu**2, 0, min(d, outputs) * nu**2)
    yield equal("E f^2 by sizes", expression(found), formula.subs(exact))
    log_mgf, norm, trace, off, reach = (sympy.Rational(1, n) for n in (2, 3, 5, 7, 11))
    numbers = at_centre(*map(SymbolicNumber, (least, log_mgf, norm, trace, off, reach)))
    found = replace(setting, centre=numbers).by_centre(shell, SymbolicNumber(least))
    formula = slope**2 * sympy.exp(log_mgf + 2 * reach * within + widths) * moment(norm, off + nu * reach, trace)
    yield equal("E f^2 by the centre", expression(found), formula.subs(exact))


def check_volumes(kernel: Kernel) -> Iterator[Check]:
    """Volumes of balls in dimension d go with the d-th power of radii."""
    over_ball, number = kernel.small_balls, SymbolicNumber
    start, to, h, k, height, reach = (
        sympy.Rational(*pair) for pair in ((3, 4), (1, 1), (1, 10), (1, 5), (1, 7), (9, 1))
    )
    for d, outputs in ((1, 1), (2, 3), (3, 2)):
        setting = over_ball.Setting(d, d, outputs, number(1), number(2), number(5), True)
        shell = over_ball.Shell(*map(number, (start, to, sympy.Integer(0), h, k, height, sympy.Rational(1, 100))))
        found = expression(setting.volumes(shell, number(reach)))
        radius = positive_symbol("r")
        shells = d * sympy.integrate(radius ** (d - 1), (radius, start - h, to + h)) / h**d
        heights = (height + 2 * (1 + k) * h) / height
        directions = outputs * sympy.integrate(radius ** (outputs - 1), (radius, 1 - k, 1 + k)) / k**outputs
        yield equal(f"volumes, dimensions {d} and {outputs}", found, shells * directions * heights)
