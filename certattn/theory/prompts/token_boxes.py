"""Checks: tokens on a box under a tilt, coordinate by coordinate, and the kernel's bounds over all tilts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory import first_principles
from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, forms, numbers, plain
from certattn.theory.symbols import positive_symbol, positive_vector

Expr = Any


def check_box_moments(kernel: Kernel) -> Iterator[Check]:
    """R_2 = y coth y, the drift delta and E_{2a} (x - tau)^2, for one coordinate of half-width 1 and y > 0."""
    y = positive_symbol("y")
    one = sympy.Integer(1)
    at, twice = first_principles.box([one], [y]), first_principles.box([one], [2 * y])
    ratio = sympy.exp(twice.log_mgf() - 2 * at.log_mgf())
    yield equal("R_2 = y coth y", ratio, y * sympy.coth(y))
    with forms(large=True):
        langevin = kernel.functions.langevin(SymbolicNumber(y))
    yield equal("y coth y = 1 + y L(y)", y * sympy.coth(y), 1 + y * langevin)
    (mean,), (moved,), ((spread,),) = at.mean(), twice.mean(), twice.covariance()
    drift = 1 / (2 * y) - 1 / sympy.sinh(2 * y)
    yield equal("L(2y) - L(y) = 1/(2y) - 1/sinh(2y)", moved - mean, drift)
    yield equal("the variance under 2a and the square of the drift", spread + drift**2, drift / y)
    slope = sympy.diff(y * sympy.coth(y), y)
    yield equal("y coth y increases, as sinh 2y > 2y", slope, (sympy.sinh(2 * y) - 2 * y) / (2 * sympy.sinh(y) ** 2))


def check_drift(kernel: Kernel) -> Iterator[Check]:
    """delta <= x/6 and <= 1/4 at x = 2y, term by term in the series of sinh."""
    k = sympy.Symbol("k", integer=True, positive=True)
    x = positive_symbol("x")
    # 6x - (6 - x^2) sinh x = sum_k ((2k+1) 2k - 6) x^(2k+1) / (2k+1)!, from k = 1 on.
    coefficient = (1 / sympy.factorial(2 * k - 1) - 6 / sympy.factorial(2 * k + 1)) * sympy.factorial(2 * k + 1)
    wanted = (2 * k + 1) * 2 * k - 6
    yield equal("coefficients of 6x - (6 - x^2) sinh x", sympy.combsimp(coefficient), wanted)
    m = sympy.Symbol("m", nonnegative=True)
    yield Check("they are >= 0 from k = 1 on", sympy.expand(wanted.subs(k, 1 + m)).is_nonnegative is True)
    # 4x - (4 - x) sinh x = sum_k x^2k / (2k-1)! - 4 x^(2k+1) / (2k+1)!. Each even term is shared between the odd ones
    # beside it, 3/10 above and 7/10 below; of x^2 all goes to x^3. Then around x^(2k+1) there is x^2k/(2k+1)! times
    # low 2k (2k+1) - 4x + high x^2, which has no root where 16 < 4 low high 2k (2k+1).
    high = sympy.Rational(7, 10)
    for low, least in ((sympy.Integer(1), 1), (1 - high, 2)):
        quadratic = low * 2 * k * (2 * k + 1) - 4 * x + high * x**2
        discriminant = 16 - 4 * low * high * 2 * k * (2 * k + 1)
        yield equal(f"discriminant from k = {least} on", sympy.discriminant(quadratic, x), discriminant)
        yield positive("it is negative", sympy.expand(-discriminant.subs(k, least + m)))


def check_normaliser(kernel: Kernel) -> Iterator[Check]:
    """e^(slope (1-t)) (1 - slope + slope^2 R/2) <= e^(-t^2/(2R)) at slope = t/R, by 1 + x <= e^x."""
    t, R, slope, x = (positive_symbol(name) for name in ("t", "R", "l", "x"))
    exponent = slope * (1 - t) - slope + slope**2 * R / 2
    yield equal("the exponent at slope t/R", exponent.subs(slope, t / R), -(t**2) / (2 * R))
    # e^(-x) <= 1 - x + x^2/2: the difference is 0 at 0 with the slope x - 1 + e^(-x), which is 0 at 0 and increases.
    gap = 1 - x + x**2 / 2 - sympy.exp(-x)
    yield equal("first slope", sympy.diff(gap, x), x - 1 + sympy.exp(-x))
    yield equal("second slope", sympy.diff(gap, x, 2), 1 - sympy.exp(-x))
    yield equal("both are 0 at 0", [gap.subs(x, 0), sympy.diff(gap, x).subs(x, 0)], [0, 0])


# The hyperbolic cotangent as any function: the sums do not depend on which it is.
_coth = sympy.Function("coth_")


def _bounds(found: Any) -> list[Expr]:
    """R_2, R_2 m and the largest error of the kernel's, with that function."""
    return [
        plain(entry).replace(sympy.coth, _coth) for entry in (found.second_weight, found.second_moment, found.largest)
    ]


def check_box_bounds(kernel: Kernel) -> Iterator[Check]:
    """The sums of the kernel against the sums over pairs of coordinates."""
    for d, o in ((1, 1), (2, 1), (2, 2), (3, 1)):
        c, y = positive_vector("c", d), positive_vector("Y", d)
        V = [positive_vector(f"v{r}", d) for r in range(o)]
        tilts = [a / b for a, b in zip(y, c, strict=True)]
        box, what = kernel.over_queries.TokenBox(*map(numbers, (c, tilts, V))), f"{d} coordinates, {o} outputs"
        means = [_coth(a) - 1 / a for a in y]
        drifts = [(a / 3 + sympy.Rational(1, 4) - sympy.Abs(a / 3 - sympy.Rational(1, 4))) / 2 for a in y]
        R = sympy.Mul(*(a * _coth(a) for a in y))
        moment = sum(
            V[r][j] * V[r][k] * c[j] * c[k] * (sympy.Rational(1, 3) if j == k else drifts[j] * drifts[k])
            for r, j, k in itertools.product(range(o), range(d), range(d))
        )
        far = [a * (1 + m) for a, m in zip(c, means, strict=True)]
        reach = sum(sum(v * f for v, f in zip(row, far, strict=True)) ** 2 for row in V)
        factor = positive_symbol("f")
        with forms(large=True):
            output, both = _bounds(box.output()), _bounds(box.covariance(SymbolicNumber(factor)))
        yield equal(f"R_2 and R_2 m, {what}", output[:2], [R, R * moment])
        yield equal(f"the squared reach, {what}", output[2], reach)
        Y = sum(f**2 for f in far)
        size = sum(sum(v * a for v, a in zip(row, c, strict=True)) ** 2 for row in V) * sum(a**2 for a in c)
        product = sum((row[j] * c[j] ** 2 / 3) ** 2 for row in V for j in range(d))
        # Twice what S gives, itself twice a sum of squares, and twice what the product of the deviations gives.
        wanted = factor * R * (2 * (2 * (Y * moment + product)) + 2 * Y * moment)
        yield equal(f"the covariance's second moment, {what}", both[1], wanted)
        yield equal(f"its largest error, {what}", both[2], factor * 2 * (size + product))
    n, t, a, b, R = (positive_symbol(name) for name in ("n", "t", "a", "b", "R"))
    bounds = kernel.over_queries.BoxBounds(*numbers([R, a, b]))
    wanted = a / (n * (1 - t) ** 2) + b * sympy.exp(-n * t**2 / (2 * R))
    yield equal("the bound at length n", bounds.mean_square(n, t), wanted)
