"""Cantelli's bound, even moments, and Chernoff's bound by moments, for any threshold at once.

The kernel computes the moments of a token for one eps. A search asks for many: here E[w^k y^j] is computed
once, with the kernel's series, and the moments of D = w (y - eps) + eps follow by two products of series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import factorial

import numpy as np
from flint import arb

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts.mathematics.series import Series, linear_exponential, mgf_series, product
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import (
    BoundedPart,
    Summand,
    bound_of_summands,
    bounded_exponential,
)
from certattn.provers.prompts.normal_tails import Array
from certattn.provers.prompts.tail_rules import NOTHING, Candidate, best_rate, few_digits

_BITS = 192
_MOST = 16
# Orders at which the exponential series of a bounded summand is cut off.
_ORDERS = (4, 8, 16)


@dataclass(frozen=True)
class TokenMoments:
    """E[w^k y^j] / j! for j <= k <= 16, and the summand they belong to; the bounded `parts` of its law, if it is so."""

    summand: Summand
    table: list[Series]
    parts: Sequence[BoundedPart] | None

    def at(self, eps: float) -> tuple[Summand, Series]:
        """The summand D of a threshold, and E D^j / j!."""
        summand = replace(self.summand, eps=arb(eps))
        shift = linear_exponential(-summand.eps, _MOST)
        powers = [product(row, shift[: len(row)])[-1] for row in self.table]
        return summand, product(powers, linear_exponential(summand.eps, _MOST))


def token_moments(summand: Summand, parts: Sequence[BoundedPart] | None) -> TokenMoments:
    table = []
    for k in range(_MOST + 1):
        moments = mgf_series(summand.law, [k * a for a in summand.tilt], summand.direction, k)
        centred = product(moments, linear_exponential(-summand.mean, k))
        size = (-k * summand.log_mgf).exp()
        table.append([size * entry for entry in centred])
    return TokenMoments(summand, table, parts)


@dataclass(frozen=True)
class Moments:
    """The rules that need moments only, and the support where it is bounded."""

    moments: TokenMoments

    @property
    def deviation(self) -> float:
        """(E (w y)^2)^{1/2}."""
        return math.sqrt(2 * float(self.moments.table[2][2]))

    def best(self, eps: float, length: float) -> Candidate:
        with working_precision(_BITS):
            summand, series = self.moments.at(eps)
            found = [_cantelli(series, eps, length), *_moments(series, eps, length)]
            if self.moments.parts is not None:
                largest = bound_of_summands(summand, self.moments.parts)
                found += _chernoff(summand, series, largest, eps, length)
        return min(found, key=lambda candidate: candidate.log_bound)


def _cantelli(series: Series, eps: float, length: float) -> Candidate:
    ratio = float(2 * series[2]) / (length * eps * eps)
    return Candidate(math.log(ratio / (1 + ratio)), {"rule": "cantelli"}) if 0 < ratio < math.inf else NOTHING


def _moments(series: Series, eps: float, length: float) -> list[Candidate]:
    """E (sum D)^p / (L eps)^p for p = 4, 6, ...: the series of a power n f_n = sum ((L + 1) k - n) c_k f_{n-k}."""
    powers, found = [arb(1)], []
    for n in range(1, _MOST + 1):
        terms = (((length + 1) * k - n) * series[k] * powers[n - k] for k in range(1, n + 1))
        powers.append(sum(terms, arb(0)) / n)
        if n % 2 == 0 and n > 2:
            bound = (powers[n] * factorial(n)).log() - n * arb(length * eps).log()
            if bound.is_finite() and float(bound) < 0:
                found.append(Candidate(float(bound), {"rule": "moment", "order": str(n)}))
    return found


def _chernoff(summand: Summand, series: Series, largest: arb, eps: float, length: float) -> list[Candidate]:
    """(E e^{lambda Y})^L with the exponential series cut off after so many moments."""
    found = []
    for order in _ORDERS:

        def log_moment(rates: Array, order: int = order) -> Array:
            values = []
            for rate in rates:
                slope = arb(float(rate))
                exponential = bounded_exponential(series[: order + 1], slope, largest)
                value = exponential.log() - slope * summand.eps
                values.append(float(value) if value.is_finite() else math.inf)
            return np.array(values)

        rate, value = best_rate(log_moment, eps / float(2 * series[2]))
        rule = {"rule": "chernoff", "lambda": few_digits(rate), "order": str(order)}
        found.append(Candidate(min(length * value, 0.0), {**rule}))
    return found
