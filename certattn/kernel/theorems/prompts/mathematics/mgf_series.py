"""The moment-generating function of a law along a line: E e^{<a + t v, x>} as a power series in t.

Its coefficient of t^n is E[e^{<a,x>} <v,x>^n] / n!, so one series holds all moments under the tilt a.
Each formula is generic in its number type.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from certattn.kernel.mathematics.functions import Functions, Number, natural_power
from certattn.kernel.mathematics.laws import Atoms, Box, Gaussian, Law, Mixture, Rademacher, Vector, dot
from certattn.kernel.theorems.prompts.mathematics.power_series import Series, exp_of_quadratic, product

_Coordinate = Callable[[Number, Number, int, Functions], Number]


def mgf_series(law: Law, tilt: Vector, direction: Vector, order: int, fn: Functions) -> Series:
    """The coefficients of 1, t, ..., t^order of E e^{<tilt + t direction, x>}."""
    if isinstance(law, Gaussian):
        return _gaussian(law, tilt, direction, order, fn)
    if isinstance(law, Rademacher):
        return _independent(law.sizes, sign_coefficient, tilt, direction, order, fn)
    if isinstance(law, Box):
        return _independent(law.sizes, uniform_coefficient, tilt, direction, order, fn)
    if isinstance(law, Atoms):
        return _atoms(law, tilt, direction, order, fn)
    if isinstance(law, Mixture):
        parts = [mgf_series(part, tilt, direction, order, fn) for part in law.components]
        return [dot(law.weights, column) for column in zip(*parts, strict=True)]
    raise TypeError(f"no moment-generating function of {type(law).__name__}")


def _gaussian(law: Gaussian, tilt: Vector, direction: Vector, order: int, fn: Functions) -> Series:
    """Lambda(a + t v) = Lambda(a) + t <v, m + Gamma a> + t^2 v'Gamma v / 2."""
    linear = dot(direction, law.tilted_mean(tilt, fn))
    quadratic = dot(direction, [dot(row, direction) for row in law.covariance]) / 2
    return exp_of_quadratic(law.log_mgf(tilt, fn), linear, quadratic, order, fn)


def _independent(
    sizes: Vector, coefficient: _Coordinate, tilt: Vector, direction: Vector, order: int, fn: Functions
) -> Series:
    """The product over independent coordinates."""
    result: Series | None = None
    for c, a, v in zip(sizes, tilt, direction, strict=True):
        factor = [coefficient(c * a, c * v, n, fn) for n in range(order + 1)]
        result = factor if result is None else product(result, factor)
    assert result is not None
    return result


def sign_coefficient(x: Number, h: Number, n: int, fn: Functions) -> Number:
    """Of t^n in cosh(x + t h): h^n/n! times cosh x for even n, sinh x for odd n."""
    up, down = fn.exp(x), fn.exp(-x)
    return natural_power(h, n) * (up + down if n % 2 == 0 else up - down) / (2 * math.factorial(n))


def uniform_coefficient(x: Number, h: Number, n: int, fn: Functions) -> Number:
    """Of t^n in sinh(x + t h)/(x + t h): h^n/n! times the average of s^n e^{s x} over s in [-1, 1].

    That average is 1F2((n+1)/2; 1/2, (n+3)/2; x^2/4) / (n+1) for even n, and
    x 1F2((n+2)/2; 3/2, (n+4)/2; x^2/4) / (n+2) for odd n: series of positive terms, no cancellation.
    """
    first, half = (n + 1, 1) if n % 2 == 0 else (n + 2, 3)
    average = fn.hypergeometric_1f2(fn.ratio(first, 2), fn.ratio(half, 2), fn.ratio(first + 2, 2), x * x / 4) / first
    return natural_power(h, n) * (average if n % 2 == 0 else x * average) / math.factorial(n)


def _atoms(law: Atoms, tilt: Vector, direction: Vector, order: int, fn: Functions) -> Series:
    """sum_k w_k e^{<a, y_k>} e^{t <v, y_k>}."""
    shares = [w * fn.exp(dot(tilt, y)) for w, y in zip(law.weights, law.points, strict=True)]
    slopes = [dot(direction, y) for y in law.points]
    return [dot(shares, [natural_power(slope, n) for slope in slopes]) / math.factorial(n) for n in range(order + 1)]
