"""What the exponential has beyond its Taylor polynomial, in floats, for arrays: what a search needs, no proof.

    1F1(1; p + 1; y) = p! (e^y - sum_{j<p} y^j/j!) / y^p = sum_j y^j p! / (p + j)!

The kernel's `exp_remainder` is that divided by p!. Up to y = p the series is summed, whose terms fall like those of
a geometric series from there on; above, the difference loses less than a digit.
"""

from __future__ import annotations

import math

import numpy as np

from certattn.provers.prompts.normal_tails import Array

# Enough for 16 digits where y <= p <= 12.
_TERMS = 60


def scaled_exp_remainder(order: int, y: Array) -> Array:
    """1F1(1; p + 1; y) for orders p from 1 to 12 and y from 0 to 700."""
    return np.where(y <= order, _series(order, np.minimum(y, order)), _difference(order, np.maximum(y, order)))


def _series(order: int, y: Array) -> Array:
    """1 + y/(p+1) (1 + y/(p+2) (1 + ...))."""
    total = np.ones_like(y)
    for j in range(order + _TERMS, order, -1):
        total = 1 + total * y / j
    return total


def _difference(order: int, y: Array) -> Array:
    polynomial = np.ones_like(y)
    for j in range(order - 1, 0, -1):
        polynomial = 1 + polynomial * y / j
    return np.asarray((np.exp(y) - polynomial) / y**order * math.factorial(order))
