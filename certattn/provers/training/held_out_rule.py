"""The rule of `held-out-risk` in doubles: where its ends are. The kernel decides; this searches and draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from certattn.kernel.mathematics.betting import bets
from certattn.provers.rounding import as_float

Array = np.ndarray[Any, np.dtype[np.float64]]
_STEPS = 100


def log_wealth(numbers: Array, mean: float) -> float:
    """log M(mean), for a mean > 0."""
    stakes = np.array([as_float(bet) for bet in bets(len(numbers))])
    with np.errstate(divide="ignore"):
        logs = np.log1p(np.maximum(stakes[:, None] * (numbers / mean - 1), -1.0)).sum(axis=1)
    return float(np.logaddexp.reduce(logs) - np.log(len(stakes)))


def lower_end(numbers: Array, chance: float) -> float:
    """The largest mean at which, and below which, numbers >= 0 rarely look like these; else 0."""
    low, high = 0.0, float(numbers.mean())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle <= low or middle >= high:
            break
        if log_wealth(numbers, middle) >= -np.log(chance):
            low = middle
        else:
            high = middle
    return low


def ends(losses: Array, most: float, chance: float) -> tuple[float, float]:
    """Both ends, for losses of at most `most`, which may be infinite."""
    upper = most - lower_end(most - losses, chance) if np.isfinite(most) else np.inf
    return lower_end(losses, chance), upper
