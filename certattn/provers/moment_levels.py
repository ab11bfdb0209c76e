"""The level at which a tail bound by moments reaches a probability, in doubles.

A tail is that of a sum of L independent copies of Y = w (h - E w h - eps), where h is an output of one token, or a
product of two, and w its weight. Its moments come from the table E w^k h^j of the kernel, computed once and
used for every eps, every length and both signs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import hyp1f1

from certattn.kernel.document.tree import Plain

_Floats = np.ndarray[tuple[int], np.dtype[np.float64]]
# Slopes of exponential bounds that are tried, relative to eps / variance.
_SLOPES = np.geomspace(0.2, 4.0, 25)
_BRACKET = 60
_PRECISE = 1e-4


@dataclass(frozen=True)
class Found:
    """A level, the bounds of the probability for both signs there, and the rules that give them."""

    level: float
    rules: tuple[dict[str, Plain], dict[str, Plain]]


@dataclass(frozen=True)
class MomentTable:
    """`moments[k][j]` = E w^k h^j for j <= k; `largest` bounds |w (h - E w h)| where h is bounded, else infinite."""

    moments: Sequence[Sequence[float]]
    largest: float
    orders: Sequence[int]

    @property
    def vanishes(self) -> bool:
        """Whether w h is 0."""
        return len(self.moments) > 2 and self.moments[2][2] == 0

    def level(self, length: int, probability: float) -> Found:
        """About the smallest level at which both signs together have at most this probability."""
        if self.vanishes:
            return Found(0.0, ({"rule": "exact"}, {"rule": "exact"}))
        variance = self.moments[2][2] - 2 * self.moments[1][1] * self.moments[2][1]
        variance += self.moments[1][1] ** 2 * self.moments[2][0]
        low = high = math.sqrt(variance / length)
        while self._bound(high, length)[0] > probability:
            low, high = high, 2 * high
            if high > 1e9 * math.sqrt(variance):
                return Found(math.inf, ({}, {}))
        for _ in range(_BRACKET):
            if high / low < 1 + _PRECISE:
                break
            middle = math.sqrt(low * high)
            if self._bound(middle, length)[0] <= probability:
                high = middle
            else:
                low = middle
        return Found(high, self._bound(high, length)[1])

    def _bound(self, eps: float, length: int) -> tuple[float, tuple[dict[str, Plain], dict[str, Plain]]]:
        plus, minus = (self._one_sided(eps, length, sign) for sign in (1, -1))
        return plus[0] + minus[0], (plus[1], minus[1])

    def _one_sided(self, eps: float, length: int, sign: int) -> tuple[float, dict[str, Plain]]:
        series = self._centred(eps, sign)
        variance = 2 * series[2]
        best: tuple[float, dict[str, Plain]] = (variance / (variance + length * eps * eps), {"rule": "cantelli"})
        for order in self.orders:
            value = _moment_bound(series[: order + 1], eps, length)
            if value < best[0]:
                best = (value, {"rule": "moment", "order": str(order)})
        if math.isfinite(self.largest):
            for order in self.orders:
                value, slope = self._exponential(series[: order + 1], eps, length)
                if value < best[0]:
                    best = (value, {"rule": "chernoff", "lambda": f"{slope:.3g}", "order": str(order)})
        return best

    def _centred(self, eps: float, sign: int) -> _Floats:
        """E D^j / j! for D = Y + eps."""
        order = len(self.moments) - 1
        centre = sign * self.moments[1][1]
        powers = np.zeros(order + 1)
        for k in range(order + 1):
            terms = (
                sign**j * self.moments[k][j] * (-(centre + eps)) ** (k - j) / math.factorial(j) / math.factorial(k - j)
                for j in range(k + 1)
            )
            powers[k] = math.fsum(terms)
        shift = np.array([eps**j / math.factorial(j) for j in range(order + 1)])
        return np.asarray(np.convolve(powers, shift)[: order + 1])

    def _exponential(self, series: _Floats, eps: float, length: int) -> tuple[float, float]:
        """The smallest of the exponential bounds that are tried, and its slope."""
        order, variance = len(series) - 1, 2 * series[2]
        best = (math.inf, 0.0)
        for factor in _SLOPES:
            slope = float(f"{factor * eps / variance:.3g}")
            height = slope * (self.largest + eps)
            if slope <= 0 or height > 600:
                continue
            total = 1 + sum(slope**j * series[j] for j in range(2, order))
            total += slope**order * series[order] * float(hyp1f1(1, order + 1, height))
            exponent = length * (math.log(total) - slope * eps)
            if exponent < 0:
                best = min(best, (math.exp(exponent), slope))
        return best


def _moment_bound(series: _Floats, eps: float, length: int) -> float:
    """E (sum D)^p / (L eps)^p, the terms scaled so that they do not overflow."""
    order = len(series) - 1
    scaled = series / (length * eps) ** np.arange(order + 1)
    result = np.zeros(order + 1)
    result[0] = 1.0
    exponent = length
    with np.errstate(all="ignore"):
        while exponent:
            if exponent & 1:
                result = np.convolve(result, scaled)[: order + 1]
            scaled = np.convolve(scaled, scaled)[: order + 1]
            exponent >>= 1
        value = float(result[order]) * math.factorial(order)
    return value if value > 0 else math.inf
