"""The rules of `output-tail` as a search sees them: for a threshold eps and a length L, the best bound of each.

A family of rules answers `best(eps, length)` with the logarithm of the smallest bound that it finds and the
rule, as certificates write it. Everything is in floats; the kernel proves what is stated in the end.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from flint import fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.mathematics.reals import format_rational
from certattn.provers.prompts.gaussian_tails import GaussianTail
from certattn.provers.prompts.normal_tails import Array, scaled_erfc
from certattn.provers.rounding import last_place, round_nearest

Rule = dict[str, Plain]

# In log lambda: where the minimum is sought at first, around Cantelli's rate or a rate that is about right.
_WIDE, _NEAR = np.linspace(-2.0, 7.0, 16), np.linspace(-1.0, 1.0, 6)
_AROUND = np.linspace(-1.0, 1.0, 7)
_ROUNDS, _MOVES = 2, 12
# Caps are powers of 2^(1/8) times the standard deviation; every fourth is tried, then those beside the best.
_FINE, _COARSE = 8, 4
_LOWEST, _HIGHEST = -8 * _FINE, 60 * _FINE
# Share of the bound that L P(A) may have so that a larger cap would not help.
_RARE = 1e-3


@dataclass(frozen=True)
class Candidate:
    """A rule and the logarithm of its bound."""

    log_bound: float
    rule: Rule


class Family(Protocol):
    """Rules of one kind for one direction; `deviation` is (E Y^2)^{1/2} for eps = 0, the natural unit of thresholds."""

    @property
    def deviation(self) -> float: ...

    def best(self, eps: float, length: float) -> Candidate: ...


NOTHING = Candidate(0.0, {"rule": "cantelli"})


def few_digits(value: float, digits: int = 3) -> str:
    """A positive number in so many digits, as certificates write it."""
    exact = fmpq(*value.as_integer_ratio())
    return format_rational(round_nearest(exact, last_place(exact, digits)))


def _steep(rate: float, top: float) -> str:
    """Lambda with more digits where lambda B is large, for exponents change by as much as that does."""
    return few_digits(rate, 3 + max(0, math.ceil(math.log10(max(rate * top, 1e-9) / 10))))


def best_rate(log_moment: Callable[[Array], Array], start: float, near: bool = False) -> tuple[float, float]:
    """The lambda at which a convex function of it is smallest, and the value there.

    `start` is the rate of Cantelli's bound, or, if `near`, one that is about right.
    """
    centre, offsets = math.log(start), _NEAR if near else _WIDE
    rounds = 0
    for _ in range(_MOVES):
        values = log_moment(np.exp(centre + offsets))
        values = np.where(np.isnan(values), np.inf, values)
        k = int(np.argmin(values))
        inside = 0 < k < len(offsets) - 1
        if inside and rounds == _ROUNDS:
            break
        centre += float(offsets[k])
        if inside:
            offsets, rounds = _AROUND * (offsets[1] - offsets[0]), rounds + 1
    else:
        return math.exp(centre), float(values[k])
    # The vertex of the parabola through the three smallest.
    below, least, above = (float(value) for value in values[k - 1 : k + 2])
    bend = below - 2 * least + above
    shift = (below - above) / (2 * bend) if 0 < bend < math.inf else 0.0
    at = centre + float(offsets[k])
    vertex = math.exp(at + shift * float(offsets[1] - offsets[0]))
    lowest, rate = min((least, math.exp(at)), (float(log_moment(np.array([vertex]))[0]), vertex))
    return rate, lowest


def union(first: float, last: float, exceeding: float, log_moment: float) -> float:
    """log of 1 - (1 - P(A))^L + E[e^{lambda Y}; not A]^L, each at the length of a range where it is largest."""
    some = -math.expm1(last * math.log1p(-min(exceeding, 1 - 1e-16)))
    rest = first * min(log_moment, 0.0) if last > first else first * log_moment
    return float(np.logaddexp(math.log(some), rest)) if some > 0 else rest


@dataclass(frozen=True)
class Truncated:
    """{rule: truncated}: tokens with Y above a cap are left out, the rest is bounded as Chernoff does."""

    tail: GaussianTail
    deviation: float

    def best(self, eps: float, length: float, last: float | None = None) -> Candidate:
        """The best for a length, or for all from it to the last."""
        lengths = length, last or length
        tried = self._scan(eps, lengths)
        if not tried:
            return NOTHING
        for step in (_COARSE // 2, _COARSE // 4):
            k = min(tried, key=lambda k: tried[k][0])
            for j in (k - step, k + step):
                if j not in tried:
                    tried[j] = self._at(j, eps, lengths, tried[k][1])
        log_bound, rate, cap = min(tried.values())
        return Candidate(log_bound, {"rule": "truncated", "lambda": _steep(rate, cap), "cap": few_digits(cap, 4)})

    def _scan(self, eps: float, lengths: tuple[float, float]) -> dict[int, tuple[float, float, float]]:
        """The caps that a prompt of that length passes sometimes but not always, in steps.

        With the cap E[e^{lambda Y}; not A] grows, so larger ones are no use where P(A) hardly counts any more.
        """
        tried: dict[int, tuple[float, float, float]] = {}
        best, rate = 0.0, None
        caps = range(_LOWEST, _HIGHEST, _COARSE)
        first = bisect_left(caps, True, key=lambda k: self._exceeding(k, eps, lengths[1]) < 1)
        for k in caps[first:]:
            tried[k] = self._at(k, eps, lengths, rate)
            best, rate = min(best, tried[k][0]), tried[k][1]
            if self._exceeding(k, eps, lengths[1]) < _RARE * math.exp(best):
                break
        return tried

    def _exceeding(self, k: int, eps: float, length: float) -> float:
        """L P(A), which falls as the cap grows."""
        return length * self.tail.capped(self._cap(k), eps).exceeding

    def _cap(self, k: int) -> float:
        return float(f"{self.deviation * 2 ** (k / _FINE):.3e}")

    def _at(self, k: int, eps: float, lengths: tuple[float, float], near: float | None) -> tuple[float, float, float]:
        """The logarithm of the bound for a cap, with lambda and the cap; `near` is a lambda that is about right."""
        capped = self.tail.capped(self._cap(k), eps)
        start = eps / self.deviation**2 if near is None else near
        rate, log_moment = best_rate(capped.log_moment, start, near is not None)
        return union(*lengths, capped.exceeding, log_moment), rate, capped.cap


@dataclass(frozen=True)
class Bounded:
    """{rule: chernoff} where Y is a bounded function of one Gaussian: no cap."""

    tail: GaussianTail
    deviation: float

    def best(self, eps: float, length: float) -> Candidate:
        whole = self.tail.capped(math.inf, eps)
        rate, log_moment = best_rate(whole.log_moment, eps / self.deviation**2)
        return Candidate(min(length * log_moment, 0.0), {"rule": "chernoff", "lambda": _steep(rate, whole.top)})


@dataclass(frozen=True)
class Constant:
    """{rule: exact} where the output is one number."""

    deviation: float = 0.0

    def best(self, eps: float, length: float) -> Candidate:
        return Candidate(-math.inf, {"rule": "exact"})


@dataclass(frozen=True)
class UnweightedMean:
    """{rule: exact} where all weights are equal: the mean of Gaussians of this standard deviation."""

    deviation: float

    def best(self, eps: float, length: float) -> Candidate:
        x = eps * math.sqrt(length) / self.deviation
        tail = float(scaled_erfc(np.array([x / math.sqrt(2)]))[0]) / 2
        return Candidate(math.log(tail) - x * x / 2, {"rule": "exact"})


@dataclass(frozen=True)
class Several:
    """The best of several families."""

    families: Sequence[Family]

    @property
    def deviation(self) -> float:
        return self.families[0].deviation

    def best(self, eps: float, length: float) -> Candidate:
        return min((family.best(eps, length) for family in self.families), key=lambda found: found.log_bound)
