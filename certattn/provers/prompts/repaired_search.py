"""Witnesses of repaired propositions: exponents for Gaussian laws, t and a first length for boxes.

The search runs in floats on the formulas that the checker evaluates; what it finds is proved by the checker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.every_length import log_peak
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Box, Gaussian
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.prompts.mathematics.over_queries import BoxBounds, has_positive_eigenvalues
from certattn.kernel.theorems.prompts.propositions import (
    Error,
    Setting,
    query_box_bounds,
    short_prompts,
    weighted_average,
)
from certattn.provers.rounding import round_down

_BITS = 64
# Exponents that are tried, as parts of the largest one; and what of the largest one is stated by default.
_GRID = 50
_SHARE = fmpq(1, 2)
_DIGITS = 3
_LONGEST = 20000
# What rounding may add to the logarithm of a ratio.
_ROUNDING = 1e-9


def best_exponent(setting: Setting) -> fmpq:
    """c2 / sigma^2 to state where none is asked for: most of the largest exponent that can be proved."""
    if isinstance(setting.law.law, Box):
        return fmpq(1)
    return exponent_to_state(_largest_theta(setting))


def exponent_to_state(largest: fmpq) -> fmpq:
    """Most of the largest exponent, with few digits."""
    return max((largest * _SHARE * 1000).floor() / fmpq(1000), fmpq(1, 1000))


@dataclass(frozen=True)
class _Exponent:
    """ln of the bound at length L is `log_constant` - theta ln(L - 1)."""

    theta: fmpq
    log_constant: float


def find_steps(setting: Setting, error: Error, rho: fmpq) -> dict[str, Plain]:
    """The steps with which c1 is about least. Raises NotProvedError where c2 is too large to be proved."""
    if not setting.are_both(Gaussian):
        raise UsageError("a repaired form needs Gaussian tokens and queries, or tokens and queries on a box")
    exponents = _exponents(setting, error, rho)
    last = [exponent.theta >= rho for exponent in exponents]
    if not any(last):
        raise NotProvedError(
            f"c2/sigma^2 = {format_rational(rho)} is too large for these laws; expected at most "
            f"{format_rational(round_down(_largest_theta(setting), _DIGITS))}"
        )
    lengths = np.arange(2, _LONGEST)
    theta = np.array([_double(exponent.theta) for exponent in exponents])
    constants = np.array([exponent.log_constant for exponent in exponents])
    form = _double(rho) * np.log(lengths) - np.log(np.log(lengths))
    ratios = constants[:, None] - theta[:, None] * np.log(lengths - 1) + form
    return _written([(at + 2, exponents[i].theta) for at, i in choose_steps(ratios, np.array(last))])


def choose_steps(ratios: np.ndarray[Any, Any], last: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """First columns and rows of ln(ratio), one column per length from 2 on, with the smallest maximum.

    The first column of a last step stands for all that follow; before it each column needs some row.
    """
    count = ratios.shape[1]
    before = np.concatenate([[-math.inf], np.maximum.accumulate(ratios.min(axis=0))[:-1]])
    onwards = np.where(last[:, None], ratios, math.inf)
    end = int(np.argmin(np.maximum(before, onwards.min(axis=0))))
    most = max(float(before[end]), float(onwards[:, end].min())) + _ROUNDING
    at, steps = 0, list[tuple[int, int]]()
    while at < end:
        # The row that keeps below longest.
        above = ratios[:, at:end] > most
        lasts = np.where(above.any(axis=1), above.argmax(axis=1), count)
        row = int(np.argmax(lasts))
        steps.append((at, row))
        at = min(end, at + int(lasts[row]))
    return [*steps, (end, int(np.argmin(onwards[:, end])))]


def _double(value: fmpq) -> float:
    return int(value.p) / int(value.q)


def _exponents(setting: Setting, error: Error, rho: fmpq) -> list[_Exponent]:
    """The exponents of the grid, and rho, with finite averages."""
    largest = _largest_theta(setting)
    grid = {(largest * k * 1000 / _GRID).floor() / fmpq(1000) for k in range(_GRID + 1)} | {rho}
    found = []
    with working_precision(_BITS):
        for theta in sorted(grid):
            average = weighted_average(setting, error, theta) if theta <= 1 else None
            if average is not None:
                determinant, mean = average
                size = math.log(float(arb(mean))) if mean > 0 else -math.inf
                found.append(
                    _Exponent(theta, float(log_peak(arb(theta))) - math.log(float(arb(determinant))) / 2 + size)
                )
    return found


def _largest_theta(setting: Setting) -> fmpq:
    """About the largest theta <= 1 with 2 theta |M| < 1, from below."""
    M = (setting.U.T @ setting.covariance @ setting.U @ setting.query_covariance).scaled(2 * setting.squared_scale)
    low, high = fmpq(0), fmpq(1)
    one = ExactMatrix.identity(M.rows)
    if M.trace() == 0 or has_positive_eigenvalues(one - M):
        return high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if has_positive_eigenvalues(one - M.scaled(middle)) else (low, middle)
    return low


def _written(steps: Sequence[tuple[int, fmpq]]) -> dict[str, Plain]:
    return {"steps": [{"from": str(start), "theta": format_rational(theta)} for start, theta in steps]}


def find_box_witness(setting: Setting, error: Error, rho: fmpq) -> dict[str, Plain]:
    """t and the first monotone length with which c1 is about least. Raises NotProvedError where c2 is too large."""
    if rho > 1:
        raise NotProvedError("c2 is more than sigma^2, and no such rate is proved for a box; expected c2 <= sigma^2")
    found: list[tuple[float, fmpq, int]] = []
    with working_precision(_BITS):
        bounds, always = query_box_bounds(setting, error), _short_bounds(setting, error)
        for k in range(1, 40):
            t = fmpq(k, 40)
            cost, start = _box_cost(bounds, always, rho, t)
            found.append((cost, t, start))
    _, t, start = min(found, key=lambda one: one[0])
    return {"t": format_rational(t), "from": str(start)}


def _short_bounds(setting: Setting, error: Error) -> Callable[[int], float]:
    """What bounds the error of short prompts whatever t is, infinite where nothing does."""
    short = short_prompts(setting, error)

    @cache
    def bound(length: int) -> float:
        return min((float(each) for each in short(length)), default=math.inf)

    return bound


def _box_cost(bounds: BoxBounds, short: Callable[[int], float], rho: fmpq, t: fmpq) -> tuple[float, int]:
    """The least c1 for this t, and the first monotone length with which it is reached."""
    moment, largest, weight = (float(x) for x in (bounds.second_moment, bounds.largest, bounds.second_weight))
    share, power = _double(t), _double(rho)
    rate = share * share / (2 * weight)
    worst, best = 0.0, (math.inf, 2)
    for length in range(2, _LONGEST):
        form = length**power / math.log(length)
        bound = moment / (length * (1 - share) ** 2) + largest * math.exp(-rate * length)
        if rate * length >= power * (1 + 1e-9):
            best = min(best, (max(worst, bound * form), length))
            if bound * form <= worst:
                break
        worst = max(worst, min(bound, largest, short(length)) * form)
    return best
