"""The complementary error function in floats, for arrays: what a search needs, no proof.

    scaled_erfc(x) = e^{x^2} erfc(x)  for x >= 0,      normal_cdf(x) = erfc(-x / sqrt 2) / 2

One Chebyshev series does it, of (1 + 2x) e^{x^2} erfc(x) in t = (x - k) / (x + k), whose coefficients
are interpolated from Arb when the module is loaded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from certattn.kernel.arithmetic.balls import working_precision

Array = np.ndarray[Any, Any]

_MIDDLE = 3.75
_TERMS = 32
_BITS = 128


def _coefficients() -> Array:
    """Of the series, from its values at the roots of a Chebyshev polynomial."""
    nodes = np.polynomial.chebyshev.chebpts1(_TERMS)
    with working_precision(_BITS):
        points = [arb(_MIDDLE * (1 + t) / (1 - t)) for t in nodes]
        values = [float((1 + 2 * x) * (x * x).exp() * x.erfc()) for x in points]
    return np.polynomial.chebyshev.chebfit(nodes, values, _TERMS - 1)


_SERIES = _coefficients()


def scaled_erfc(x: Array) -> Array:
    """e^{x^2} erfc(x) for x >= 0, to about 15 digits."""
    t = (x - _MIDDLE) / (x + _MIDDLE)
    return np.asarray(np.polynomial.chebyshev.chebval(t, _SERIES) / (1 + 2 * x))


def normal_cdf(x: Array) -> Array:
    """The distribution function of N(0, 1), both tails to full relative accuracy."""
    tail = np.exp(-x * x / 2) * scaled_erfc(np.abs(x) / np.sqrt(2)) / 2
    return np.where(x < 0, tail, 1 - tail)
