"""The rule of `observed-prompt` in doubles: where its intervals end. The kernel decides; this searches and draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb

from certattn.kernel.theorems.prompts.observed_prompt import bets

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_STEPS = 60


def as_array(numbers: Sequence[arb]) -> Array:
    """The doubles next to balls."""
    return np.array([float(number) for number in numbers])


def log_wealth(end: float, weights: Array, outputs: Array, least: float) -> float:
    """log M(end), for end > least: what the kernel's p-value is the inverse of."""
    gains = weights * (outputs - end) / (end - least)
    stakes = np.array([float(stake.p) / float(stake.q) for stake in bets(len(weights))])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log1p(np.maximum(stakes[:, None] * gains, -1.0)).sum(axis=1)
    return float(np.logaddexp.reduce(logs) - np.log(len(stakes)))


def lower_end(weights: Array, outputs: Array, least: float, chance: float) -> float:
    """The largest end below which the rule excludes everything: M(end) >= 1/chance; else `least`."""
    low, high = least, float(weights @ outputs / weights.sum())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle <= low or middle >= high:
            break
        if log_wealth(middle, weights, outputs, least) >= -np.log(chance):
            low = middle
        else:
            high = middle
    return low


def interval(weights: Array, outputs: Array, ends: Sequence[float], chance: float) -> tuple[float, float]:
    """Both ends, for outputs between `ends` and a probability `chance` for each side."""
    least, most = ends
    return lower_end(weights, outputs, least, chance), -lower_end(weights, -outputs, -most, chance)
