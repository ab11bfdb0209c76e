"""Lines above what a query adds to the risk's gap over a ball, for `risk-gap`: nodes, shells and slopes.

In the kernel's bound what a line costs, over a shell of n, is u + m E[v], u the largest of f(n, v) - m v: convex in m.
Of every shell the best slope is searched for, at the middle of it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.weight_growth import weights
from certattn.kernel.theorems.training.gap_lines import FALLS, Gap, Lines, outer_moments
from certattn.provers.rounding import as_float

BITS = 32
# b is a multiple of rho_b / _PARTS.
_PARTS = 8
# What may lie above chords, about, in parts of the function; more of it beyond v = 5 r^2.
_LOOSE = 0.008
_MOST = 60.0
# Shells have this probability each, but for the outermost.
_SHELLS = 14
_OUTER = (0.05, 0.04, 0.03, 0.022, 0.016, 0.011, 7e-3, 4e-3, 2e-3, 8e-4, 2e-4, 2e-5, 1e-6)
_SLOPE_DIGITS = 10**7
# Of the slopes that are left, a third is left out so many times.
_THIRDS = 45


def lines(length: int, gap: Gap) -> Lines:
    """Nodes, shells and slopes with a small bound of the excess for prompts of this length."""
    numbers = (gap.trace, gap.smallest, gap.largest, gap.scale, gap.b_squared)
    trace, smallest, largest, scale, b_squared = (float(ball.mid()) for ball in numbers)
    ends = _ends(gap.dimension)

    def step(at: float) -> float:
        size = b_squared * trace + largest * at * gap.dimension / (2 * scale)
        bend = 4.25 * size + 25.5 * smallest * b_squared * at
        return float(np.sqrt(8 * _LOOSE * size / bend) * max(1.0, at / (5 * scale)))

    nodes = _nodes(scale * as_float(ends[-1]), step)
    v = np.array([as_float(node) for node in nodes])
    q, kappa = np.array([[float(ball.mid()) for ball in weights(length, node, BITS)] for node in nodes]).T
    shells = [((as_float(a) + as_float(b)) / 2, as_float(b) * scale) for a, b in pairwise((fmpq(0), *ends))]

    def phi(n: float, c: float) -> np.ndarray:
        y = np.sqrt(c * v)
        h = c * trace + 2 * np.sqrt(largest * n) * y * np.sqrt(largest) - largest * y * y
        larger = np.maximum(q * h - 6 * smallest * c * v * kappa, (q - as_float(FALLS) * kappa) * h)
        return np.asarray(np.maximum(larger, 0))

    def best(f: np.ndarray, n: float, most: float) -> fmpq:
        inside = v <= max(most, v[1])
        return _slope(v[inside], f[inside], n * scale / gap.dimension)

    slopes = [
        tuple(best(phi(n, b_squared * (k / _PARTS) ** 2), n, most) for n, most in shells) for k in range(1, _PARTS + 1)
    ]
    return Lines(length, nodes, ends, tuple(slopes), tuple(best(q * v, n, most) for n, most in shells))


def _ends(dimension: int) -> tuple[fmpq, ...]:
    shares = [1 - k / _SHELLS for k in range(1, _SHELLS)]
    return tuple(dict.fromkeys(_quantile(dimension, share) for share in (*shares, *_OUTER)))


def _quantile(dimension: int, share: float) -> fmpq:
    """The first multiple of 1/32 beyond which the chi-squared law has at most this probability."""
    low, high = 0, 32 * 40 * (dimension + 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if float(outer_moments(dimension, fmpq(middle, 32))[0]) > share else (low, middle)
    return fmpq(high, 32)


def _nodes(most: float, step: Callable[[float], float]) -> tuple[fmpq, ...]:
    """From 0 to at least `most`, or as far as q is known."""
    found = [fmpq(0)]
    while (last := as_float(found[-1])) < min(most, _MOST):
        found.append(found[-1] + fmpq(max(1, round(64 * step(last))), 64))
    return tuple(found)


def _slope(v: np.ndarray, values: np.ndarray, mean: float) -> fmpq:
    """Of the line that costs least where E v = `mean`: the cost is convex."""

    def cost(slope: float) -> float:
        return float(np.max(values - slope * v)) + slope * mean

    low, high = 0.0, float(np.max(np.abs(np.diff(values)) / np.diff(v)))
    for _ in range(_THIRDS):
        third = (high - low) / 3
        low, high = (low, high - third) if cost(low + third) <= cost(high - third) else (low + third, high)
    return fmpq(round((low + high) / 2 * _SLOPE_DIGITS), _SLOPE_DIGITS)
