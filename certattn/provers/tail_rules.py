"""The rules of `output-tail` as a search sees them: for a height eps and a length L, the best bound of each.

A family of rules answers `best(eps, length)` with the logarithm of the smallest bound that it finds and the
rule, as certificates write it. Everything is in floats; the kernel proves what is stated in the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from flint import fmpq

from certattn.kernel.arithmetic.reals import format_rational
from certattn.kernel.document.tree import Plain
from certattn.provers.gaussian_tails import Capped, GaussianTail
from certattn.provers.normal_tails import Array, scaled_erfc
from certattn.provers.rounding import last_place, round_nearest

Rule = dict[str, Plain]

# Lambda is sought from e^-2 to e^7 times the rate of Cantelli's bound, in three rounds.
_SPAN, _POINTS, _ROUNDS = (-2.0, 7.0), 19, 2
# Caps are powers of 2^(1/8) times the standard deviation; every fourth is tried, then those beside the best.
_FINE, _COARSE = 8, 4
_LOWEST, _HIGHEST = -3 * _FINE, 60 * _FINE
# Of L P(A): caps above need not be tried, for they are never passed.
_RARE = 1e-18


@dataclass(frozen=True)
class Candidate:
    """A rule and the logarithm of its bound."""

    log_bound: float
    rule: Rule


class Family(Protocol):
    """Rules of one kind for one direction; `deviation` is (E (w y)^2)^{1/2}, the natural unit of heights."""

    @property
    def deviation(self) -> float: ...

    def best(self, eps: float, length: float) -> Candidate: ...


NOTHING = Candidate(0.0, {"rule": "cantelli"})


def few_digits(value: float, digits: int = 3) -> str:
    """A positive number in so many digits, as certificates write it."""
    exact = fmpq(*value.as_integer_ratio())
    return format_rational(round_nearest(exact, last_place(exact, digits)))


def best_rate(log_moment: Callable[[Array], Array], start: float) -> tuple[float, float]:
    """The lambda at which a convex function of it is smallest, and the value there."""
    logs = np.linspace(*_SPAN, _POINTS) + math.log(start)
    for _ in range(_ROUNDS + 1):
        values = log_moment(np.exp(logs))
        values = np.where(np.isnan(values), np.inf, values)
        k = int(np.argmin(values))
        best = float(logs[k]), float(values[k])
        logs = np.linspace(logs[max(k - 1, 0)], logs[min(k + 1, len(logs) - 1)], 9)
    return math.exp(best[0]), best[1]


def union(length: float, exceeding: float, log_moment: float) -> float:
    """log of 1 - (1 - P(A))^L + E[e^{lambda Y}; not A]^L."""
    some = -math.expm1(length * math.log1p(-min(exceeding, 1 - 1e-16)))
    rest = length * log_moment
    return float(np.logaddexp(math.log(some), rest)) if some > 0 else rest


@dataclass(frozen=True)
class Truncated:
    """{rule: truncated}: tokens of height above a cap are left out, the rest is bounded as Chernoff does."""

    tail: GaussianTail
    deviation: float

    def best(self, eps: float, length: float) -> Candidate:
        tried = {k: self._at(k, eps, length) for k in self._grid(length)}
        if not tried:
            return NOTHING
        for step in (_COARSE // 2, _COARSE // 4):
            k = min(tried, key=lambda k: tried[k][0])
            for j in (k - step, k + step):
                if j not in tried:
                    tried[j] = self._at(j, eps, length)
        log_bound, rate, cap = min(tried.values())
        return Candidate(log_bound, {"rule": "truncated", "lambda": few_digits(rate), "cap": few_digits(cap, 4)})

    def _grid(self, length: float) -> list[int]:
        """The caps that a prompt of that length passes sometimes, but not always."""
        found = []
        for k in range(_LOWEST, _HIGHEST, _COARSE):
            exceeding = length * self.tail.capped(self._cap(k)).exceeding
            if exceeding < 1:
                found.append(k)
            if exceeding < _RARE:
                break
        return found

    def _cap(self, k: int) -> float:
        return float(f"{self.deviation * 2 ** (k / _FINE):.3e}")

    def _at(self, k: int, eps: float, length: float) -> tuple[float, float, float]:
        capped = self.tail.capped(self._cap(k))
        rate, log_moment = best_rate(lambda rates: capped.log_moment(rates, eps), eps / self.deviation**2)
        return union(length, capped.exceeding, log_moment), rate, capped.cap


@dataclass(frozen=True)
class Bounded:
    """{rule: chernoff} where w y is a bounded function of one Gaussian: no cap."""

    tail: GaussianTail
    deviation: float

    def best(self, eps: float, length: float) -> Candidate:
        whole = self._whole()
        rate, log_moment = best_rate(lambda rates: whole.log_moment(rates, eps), eps / self.deviation**2)
        return Candidate(min(length * log_moment, 0.0), {"rule": "chernoff", "lambda": few_digits(rate)})

    def _whole(self) -> Capped:
        return self.tail.capped(math.inf)


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
