"""The complementary error function in floats, for arrays: what a search needs, no proof.

    scaled_erfc(x) = e^{x^2} erfc(x)  for x >= 0,      normal_cdf(x) = erfc(-x / sqrt 2) / 2

(1 + 2x) e^{x^2} erfc(x) is smooth in t = (x - k) / (x + k): a Chebyshev series, interpolated from Arb when the
module is loaded, gives its Taylor polynomials at the points of a grid, and these give the values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb

from certattn.kernel.mathematics.balls import working_precision

Array = np.ndarray[Any, Any]

_MIDDLE = 3.75
_TERMS = 32
_CELLS, _DEGREE = 1024, 4
_BITS = 128


def _coefficients() -> Array:
    """Of the series, from its values at the roots of a Chebyshev polynomial."""
    nodes = np.polynomial.chebyshev.chebpts1(_TERMS)
    with working_precision(_BITS):
        points = [arb(_MIDDLE * (1 + t) / (1 - t)) for t in nodes]
        values = [float((1 + 2 * x) * (x * x).exp() * x.erfc()) for x in points]
    return np.polynomial.chebyshev.chebfit(nodes, values, _TERMS - 1)


def _taylor() -> Array:
    """At each point of the grid the coefficients of a Taylor polynomial, one row per degree."""
    series, grid = _coefficients(), np.linspace(-1.0, 1.0, _CELLS + 1)
    derivatives = [np.polynomial.chebyshev.chebder(series, degree) for degree in range(_DEGREE + 1)]
    values = [np.polynomial.chebyshev.chebval(grid, d) / math.factorial(k) for k, d in enumerate(derivatives)]
    return np.array(values)


_TAYLOR = _taylor()


@np.errstate(over="ignore", invalid="ignore")
def scaled_erfc(x: Array) -> Array:
    """e^{x^2} erfc(x) for x >= 0, to about 14 digits."""
    t = (1 - 2 * _MIDDLE / (x + _MIDDLE) + 1) * (_CELLS / 2)
    cell = np.rint(t).astype(np.intp)
    t = (t - cell) * (2 / _CELLS)
    value = _TAYLOR[_DEGREE][cell]
    for coefficients in _TAYLOR[_DEGREE - 1 :: -1]:
        value *= t
        value += coefficients[cell]
    return np.asarray(value / (1 + 2 * x))


@np.errstate(over="ignore", invalid="ignore")
def normal_cdf(x: Array) -> Array:
    """The distribution function of N(0, 1), both tails to full relative accuracy."""
    tail = np.exp(-x * x / 2) * scaled_erfc(np.abs(x) / np.sqrt(2)) / 2
    return np.where(x < 0, tail, 1 - tail)
