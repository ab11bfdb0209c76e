"""The rule of `observed-prompt` in doubles: where its intervals end. The kernel decides; this searches and draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb, fmpq

from certattn.kernel.mathematics.betting import bets

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_STEPS = 50


def as_array(numbers: Sequence[arb]) -> Array:
    """The doubles next to balls."""
    return np.array([float(number) for number in numbers])


def log_wealth(end: float, weights: Array, outputs: Array, least: float) -> float:
    """log M(end), for end > least: what the kernel's p-value is the inverse of."""
    return _average(weights * (outputs - end) / (end - least))


def other_log_wealth(end: float, weights: Array, outputs: Array, least: float, length: int, share: float) -> float:
    """The same of the kernel's p-value for another prompt of so many tokens."""
    gains, kappa = weights * (outputs - end) / (end - least), share ** (1 / length)
    rates = 4 * _in_doubles(bets(16 * length))
    with np.errstate(over="ignore"):
        found = [_average((kappa - np.exp(-rate * gains)) / (np.exp(rate) - kappa)) for rate in rates]
    return float(max(found) - np.log(len(rates)))


def _in_doubles(numbers: Sequence[fmpq]) -> Array:
    return np.array([float(number.p) / float(number.q) for number in numbers])


def _average(gains: Array) -> float:
    """The logarithm of the average wealth over all stakes."""
    stakes = _in_doubles(bets(len(gains)))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log1p(np.maximum(stakes[:, None] * gains, -1.0)).sum(axis=1)
    return float(np.logaddexp.reduce(logs) - np.log(len(stakes)))


def lower_end(weights: Array, outputs: Array, least: float, chance: float, another: int = 0) -> float:
    """The largest end below which the rule excludes everything: its wealth is 1/chance there; else `least`.

    With `another`, for another prompt of so many tokens.
    """
    low, high = least, float(weights @ outputs / weights.sum())
    share = chance / 2 if another else chance
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle <= low or middle >= high:
            break
        if another:
            found = other_log_wealth(middle, weights, outputs, least, another, share)
        else:
            found = log_wealth(middle, weights, outputs, least)
        if found >= -np.log(share):
            low = middle
        else:
            high = middle
    return low


def interval(
    weights: Array, outputs: Array, ends: Sequence[float], chance: float, another: int = 0
) -> tuple[float, float]:
    """Both ends, for outputs between `ends` and a probability `chance` for each side."""
    least, most = ends
    return (
        lower_end(weights, outputs, least, chance, another),
        -lower_end(weights, -outputs, -most, chance, another),
    )
