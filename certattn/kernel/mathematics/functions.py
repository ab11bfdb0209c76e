"""Transcendental functions in two readings: over balls here, over sympy symbols in certattn.theory.

`Functions` is what a number type must offer beyond + - * /. The formulas below are written in
its terms only. Where a function has two closed forms, each is the stable one on its side of
|x| = 1; theory proves both equal to the definition.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from flint import arb, fmpq

# A number: arb in the checker, a sympy expression in certattn.theory.
Number = Any


class Functions(Protocol):
    """The functions of a number type."""

    def ratio(self, p: int, q: int) -> Number: ...
    def exp(self, x: Number) -> Number: ...
    def log(self, x: Number) -> Number: ...
    def sqrt(self, x: Number) -> Number:
        """The square root of what is known to be >= 0."""

    def tanh(self, x: Number) -> Number: ...
    def coth(self, x: Number) -> Number: ...
    def absolute(self, x: Number) -> Number: ...
    def maximum(self, x: Number, y: Number) -> Number: ...
    def hypergeometric_0f1(self, b: Number, z: Number) -> Number:
        """0F1(; b; z) = sum_k z^k / ((b)_k k!)."""

    def hypergeometric_1f1(self, a: Number, b: Number, z: Number) -> Number:
        """1F1(a; b; z) = sum_k (a)_k z^k / ((b)_k k!)."""

    def hypergeometric_1f2(self, a: Number, b: Number, c: Number, z: Number) -> Number:
        """1F2(a; b, c; z) = sum_k (a)_k z^k / ((b)_k (c)_k k!)."""

    def is_large(self, size: Number) -> bool:
        """Whether size >= 1 is proved: it picks a formula. Both hold for any size but 0, the small one there too."""


def natural_power(x: Number, exponent: int) -> Number:
    """x^n for n >= 0, by multiplication: `**` takes logarithms of a ball whose midpoint is 0, and finds none."""
    result: Number = 1
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * x
        exponent //= 2
        if exponent > 0:
            x = x * x
    return result


def log_cosh(x: Number, fn: Functions) -> Number:
    """log cosh x = |x| + log((1 + e^{-2|x|}) / 2): no overflow for large |x|."""
    size = fn.absolute(x)
    return size + fn.log((fn.exp(-2 * size) + 1) / 2)


def log_sinhc(x: Number, fn: Functions) -> Number:
    """log(sinh(x) / x), and 0 at 0."""
    size = fn.absolute(x)
    if fn.is_large(size):
        return size + fn.log((1 - fn.exp(-2 * size)) / (2 * size))
    return fn.log(fn.hypergeometric_0f1(fn.ratio(3, 2), x * x / 4))


def langevin(x: Number, fn: Functions) -> Number:
    """coth x - 1/x, and 0 at 0: the derivative of log_sinhc."""
    if fn.is_large(fn.absolute(x)):
        return fn.coth(x) - 1 / x
    return x * langevin_ratio(x, fn)


def langevin_ratio(x: Number, fn: Functions) -> Number:
    """(coth x - 1/x) / x, and 1/3 at 0."""
    if fn.is_large(fn.absolute(x)):
        return langevin(x, fn) / x
    z = x * x / 4
    return fn.hypergeometric_0f1(fn.ratio(5, 2), z) / fn.hypergeometric_0f1(fn.ratio(3, 2), z) / 3


def langevin_ratio_slope(x: Number, fn: Functions) -> Number:
    """The derivative of R(x) = (coth x - 1/x) / x, and 0 at 0: R' = (1 - L^2 - 3R)/x with L = x R."""
    ratio = langevin_ratio(x, fn)
    if fn.is_large(fn.absolute(x)):
        return (1 - natural_power(langevin(x, fn), 2) - 3 * ratio) / x
    z = x * x / 4
    quotient = fn.hypergeometric_0f1(fn.ratio(7, 2), z) / fn.hypergeometric_0f1(fn.ratio(3, 2), z)
    return x * (quotient / 15 - natural_power(ratio, 2))


def exp_tail(t: Number, fn: Functions) -> Number:
    """(e^t - 1 - t) / t^2 from 1 on; below, a bound of it that holds for every t >= 0 and has no cancellation.

    The bound is 1/2 + t/6 + t^2/24 + t^3/120 (5 + e^t)/6: from the fifth on, the terms t^(m-2)/m! are at
    most those of the last summand.
    """
    power = fn.exp(t)
    if fn.is_large(t):
        return (power - 1 - t) / (t * t)
    return fn.ratio(1, 2) + t * (fn.ratio(1, 6) + t * (fn.ratio(1, 24) + t * (power + 5) / 720))


def exp_remainder(order: int, y: Number, fn: Functions) -> Number:
    """phi_p(y) = (e^y - sum_{j<p} y^j/j!) / y^p = 1F1(1; p+1; y) / p!, which is 1/p! at 0.

    As the average of e^{s y} over s in [0, 1] with the weight (1-s)^{p-1}/(p-1)!, it increases with y.
    """
    return fn.hypergeometric_1f1(fn.ratio(1, 1), fn.ratio(order + 1, 1), y) / math.factorial(order)


class BallFunctions:
    """The reading over Arb balls."""

    def ratio(self, p: int, q: int) -> fmpq:
        return fmpq(p, q)

    def exp(self, x: arb) -> arb:
        return x.exp()

    def log(self, x: arb) -> arb:
        return x.log()

    def sqrt(self, x: arb) -> arb:
        # What a ball holds below 0 is cut off: the number itself is not there.
        return x.nonnegative_part().sqrt()

    def tanh(self, x: arb) -> arb:
        return x.tanh()

    def coth(self, x: arb) -> arb:
        return x.coth()

    def absolute(self, x: arb) -> arb:
        return abs(x)

    def maximum(self, x: arb, y: arb) -> arb:
        return x.max(y)

    def hypergeometric_0f1(self, b: fmpq, z: arb) -> arb:
        return z.hypgeom_0f1(b)

    def hypergeometric_1f1(self, a: fmpq, b: fmpq, z: arb) -> arb:
        return z.hypgeom_1f1(a, b)

    def hypergeometric_1f2(self, a: fmpq, b: fmpq, c: fmpq, z: arb) -> arb:
        return z.hypgeom([a], [b, c])

    def is_large(self, size: arb) -> bool:
        return size >= 1


BALLS = BallFunctions()
