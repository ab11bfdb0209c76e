"""What a bound is sought for: one direction, or a norm of the output through several directions.

A target bounds P(deviation > eps) by a sum over directions, each at a level that is a fixed share of eps:
1 for a direction and for the linf norm; for the l2 norm shares p_c with sum p_c^2 <= 1, which `tuned`
chooses so that the sum of the bounds is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from certattn.provers.prompts.normal_tails import Array
from certattn.provers.prompts.tail_lengths import for_every_length
from certattn.provers.prompts.tail_rules import Candidate, Family, Rule

# Where the bounds are looked at when levels are chosen, as factors of the level, and how finely they are read.
_FACTORS = np.array([0.7, 0.85, 1.0, 1.18, 1.4])
_READINGS = np.exp(np.linspace(math.log(0.5), math.log(2.0), 401))
# Prices are halved to a grid, and sums of squares compared, more coarsely than floats are rounded: directions of equal
# bounds get equal levels, and levels that are best already stay, whatever the last digits are on a machine.
_HALVINGS = 24
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Target:
    """The deviation in some directions: groups of one-sided families, each group at the level share * eps."""

    groups: Sequence[Sequence[Family]]
    shares: Sequence[float]

    @property
    def deviation(self) -> float:
        """The natural unit of thresholds for one token: that of the largest group, in its share."""
        return max(group[0].deviation / share for group, share in zip(self.groups, self.shares, strict=True))

    def log_bound(self, eps: float, length: float) -> float:
        """The logarithm of the sum of all bounds."""
        return float(np.logaddexp.reduce([found.log_bound for found in self.candidates(eps, length)]))

    def candidates(self, eps: float, length: float) -> list[Candidate]:
        """The best rule for each one-sided bound, in order."""
        return [
            family.best(share * eps, length)
            for group, share in zip(self.groups, self.shares, strict=True)
            for family in group
        ]

    def for_every_length(self, eps: float, length: int, log_delta: float) -> list[Rule]:
        """A rule for each one-sided bound that holds from that length on; of the probability each gets its share."""
        found = self.candidates(eps, float(length))
        spare = log_delta - float(np.logaddexp.reduce([candidate.log_bound for candidate in found]))
        levels = [
            (family, share * eps) for group, share in zip(self.groups, self.shares, strict=True) for family in group
        ]
        return [
            for_every_length(family, level, length, candidate.log_bound + spare)
            for (family, level), candidate in zip(levels, found, strict=True)
        ]

    def tuned(self, eps: float, length: float) -> Target:
        """The same norm with shares that make the sum of the bounds about smallest at (eps, L)."""
        levels = np.array(self.shares) * eps
        curves = [_curve(group, level, length) for group, level in zip(self.groups, levels, strict=True)]
        chosen = _split(curves, levels, eps)
        return replace(self, shares=[float(share) for share in chosen / eps])


def _curve(group: Sequence[Family], level: float, length: float) -> Callable[[Array], Array]:
    """The bound of a group as a function of the level's factor, read from a few points."""
    logs = [
        float(np.logaddexp.reduce([family.best(level * factor, length).log_bound for family in group]))
        for factor in _FACTORS
    ]
    fit = np.polynomial.Polynomial.fit(np.log(_FACTORS), np.maximum(logs, -700.0), 2)
    return lambda factors: np.exp(np.minimum(fit(np.log(factors)), 0.7))


def _split(curves: Sequence[Callable[[Array], Array]], levels: Array, eps: float) -> Array:
    """Levels with sum of squares eps^2 at which the sum of the curves is smallest.

    For a price t of a square, each level is the best for itself: the price at which the squares sum up is
    found by halving.
    """
    values = np.array([curve(_READINGS) for curve in curves])
    squares = (levels[:, None] * _READINGS) ** 2
    low, high = math.log(1e-300), math.log(1e300)
    for _ in range(_HALVINGS):
        price = (low + high) / 2
        best = np.argmin(values + math.exp(price) * squares, axis=1)
        total = squares[np.arange(len(levels)), best].sum()
        low, high = (price, high) if total > eps * eps * (1 + _ROUNDING) else (low, price)
    best = np.argmin(values + math.exp(high) * squares, axis=1)
    chosen = np.sqrt(squares[np.arange(len(levels)), best])
    return np.asarray(chosen * (eps / np.linalg.norm(chosen)))
