"""Transcendental functions of balls. Where a function has two closed forms, each is the stable one on its side of
|x| = 1; certattn.theory reads this source over symbols and proves both equal to the definition.
"""

from __future__ import annotations

import math
from typing import TypeVar

from flint import arb, fmpq

# Balls, or exact numbers: what is written once for both.
N = TypeVar("N", arb, fmpq)


def root(x: arb) -> arb:
    """The square root of what is known to be >= 0: what a ball holds below 0 is cut off, the number is not there."""
    return x.nonnegative_part().sqrt()


def natural_power(x: N, exponent: int) -> N:
    """x^n for n >= 0, by multiplication: `**` takes logarithms of a ball whose midpoint is 0, and finds none."""
    result = type(x)(1)
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * x
        exponent //= 2
        if exponent > 0:
            x = x * x
    return result


def log_cosh(x: arb) -> arb:
    """log cosh x = |x| + log((1 + e^{-2|x|}) / 2): no overflow for large |x|."""
    size = abs(x)
    return size + (((-2 * size).exp() + 1) / 2).log()


def log_sinhc(x: arb) -> arb:
    """log(sinh(x) / x), and 0 at 0."""
    size = abs(x)
    if size >= 1:
        return size + ((1 - (-2 * size).exp()) / (2 * size)).log()
    return (x * x / 4).hypgeom_0f1(fmpq(3, 2)).log()


def langevin(x: arb) -> arb:
    """coth x - 1/x, and 0 at 0: the derivative of log_sinhc."""
    if abs(x) >= 1:
        return x.coth() - 1 / x
    return x * langevin_ratio(x)


def langevin_ratio(x: arb) -> arb:
    """(coth x - 1/x) / x, and 1/3 at 0."""
    if abs(x) >= 1:
        return langevin(x) / x
    z = x * x / 4
    return z.hypgeom_0f1(fmpq(5, 2)) / z.hypgeom_0f1(fmpq(3, 2)) / 3


def langevin_ratio_slope(x: arb) -> arb:
    """The derivative of R(x) = (coth x - 1/x) / x, and 0 at 0: R' = (1 - L^2 - 3R)/x with L = x R."""
    ratio = langevin_ratio(x)
    if abs(x) >= 1:
        return (1 - natural_power(langevin(x), 2) - 3 * ratio) / x
    z = x * x / 4
    quotient = z.hypgeom_0f1(fmpq(7, 2)) / z.hypgeom_0f1(fmpq(3, 2))
    return x * (quotient / 15 - natural_power(ratio, 2))


def log_0f1(b: fmpq, z: arb) -> arb:
    """log 0F1(; b; z) for z >= 0. With s = 2 sqrt(z), 0F1(; b; z) = Gamma(b) (2/s)^(b - 1) I_(b - 1)(s)."""
    if z >= 1:
        s = 2 * z.sqrt()
        return s + arb(b).gamma().log() + (1 - arb(b)) * (s / 2).log() + s.bessel_i(arb(b - 1), scaled=True).log()
    return z.hypgeom_0f1(b).log()


def ratios_0f1(b: fmpq, z: arb, order: int) -> list[arb]:
    """The derivatives of 0F1(; b; z) of the orders 0..n over itself: (2/s)^k I_(b - 1 + k)(s) / I_(b - 1)(s)."""
    if z >= 1:
        s = 2 * z.sqrt()
        first, *rest = (s.bessel_i(arb(b - 1 + k), scaled=True) for k in range(order + 1))
        return [arb(1), *(natural_power(2 / s, k) * one / first for k, one in enumerate(rest, 1))]
    below, found = z.hypgeom_0f1(b), [arb(1)]
    for k in range(1, order + 1):
        below = below * (b + k - 1)
        found.append(z.hypgeom_0f1(b + k) / below)
    return found


def exp_tail(t: arb) -> arb:
    """(e^t - 1 - t) / t^2 from 1 on; below, a bound of it that holds for every t >= 0 and has no cancellation.

    The bound is 1/2 + t/6 + t^2/24 + t^3/120 (5 + e^t)/6: from the fifth on, the terms t^(m-2)/m! are at
    most those of the last summand.
    """
    power = t.exp()
    if t >= 1:
        return (power - 1 - t) / (t * t)
    return fmpq(1, 2) + t * (fmpq(1, 6) + t * (fmpq(1, 24) + t * (power + 5) / 720))


def exp_remainder(order: int, y: arb) -> arb:
    """phi_p(y) = (e^y - sum_{j<p} y^j/j!) / y^p = 1F1(1; p+1; y) / p!, which is 1/p! at 0.

    As the average of e^{s y} over s in [0, 1] with the weight (1-s)^{p-1}/(p-1)!, it increases with y.
    """
    return y.hypgeom_1f1(fmpq(1, 1), fmpq(order + 1, 1)) / math.factorial(order)
