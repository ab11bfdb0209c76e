"""Witnesses of repaired propositions: exponents for Gaussian laws, t and a first length for boxes.

The search runs in floats on the formulas that the checker evaluates; what it finds is proved by the checker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
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
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.prompts.mathematics.over_queries import BoxBounds, has_positive_eigenvalues
from certattn.kernel.theorems.prompts.propositions import (
    Error,
    Setting,
    logistic_average,
    query_box_bounds,
    short_prompts,
    weighted_average,
)
from certattn.provers.rounding import round_down

_BITS = 64
# Exponents that are tried, as parts of the largest one, and then between the neighbours of the best.
_GRID, _FINER = 50, 16
_DIGITS = 3
_LONGEST_ON_BOXES = 20000
# Lengths of Gaussian prompts: at which the mean of the logistic bound is computed, and at which steps may begin, with
# the last length of a step that ends before.
_LENGTHS = [*range(2, 9), *(round(8 * 2.5**k) for k in range(1, 14)), *(10 ** (7 + 2 * k) for k in range(6))]
_FIRST = np.array(
    [*range(2, 40), *(round(40 * 1.1**k) for k in range(120)), *(round(4e6 * 2**k) for k in range(38))], float
)
_LAST = _FIRST - 1
# What of steps is too many, and of the logarithm of c1 too much above what two tokens need.
_MOST_STEPS, _MOST_GAP = 7, 200.0
# What rounding may add to the logarithm of a ratio.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Exponent:
    """ln of the bound at length L is `log_constant` - theta ln(L - 1)."""

    theta: fmpq
    log_constant: float


# The first length of a step, and its theta or None for the mean of the logistic bound.
_Step = tuple[int, fmpq | None]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Bounds:
    """What bounds the error for Gaussian laws at lengths where steps may begin, in logarithms.

    A row for each exponent, at the first length of a step and at the last one of a step before it; and the mean of the
    logistic bound at the first, infinite where it is not known.
    """

    exponents: list[_Exponent]
    at_first: Array
    at_last: Array
    means: Array

    @classmethod
    def of(cls, setting: Setting, error: Error, thetas: set[fmpq], known: _Bounds | None = None) -> _Bounds:
        """Of these exponents, beside those that are known, as far as their averages are finite."""
        with working_precision(_BITS):
            exponents = _exponents(
                setting, error, thetas | ({each.theta for each in known.exponents} if known else set())
            )
            means = np.full(len(_FIRST), math.inf) if known is None else known.means
            if known is None and error is not Error.GRADIENT_U and any(e.log_constant > -math.inf for e in exponents):
                average = logistic_average(setting, error)
                found = [float(average.integral(length, _BITS // 4)) for length in _LENGTHS]
                means = np.interp(np.log(_FIRST), np.log(np.array(_LENGTHS, dtype=float)), np.log(found))
        constants = np.array([each.log_constant for each in exponents])[:, None]
        theta = np.array([_double(each.theta) for each in exponents])[:, None]
        with np.errstate(divide="ignore"):
            at_last = constants - theta * np.log(np.maximum(_LAST - 1, 1))
        return cls(exponents, constants - theta * np.log(_FIRST - 1), at_last, means)

    def least(self, rho: fmpq, power: int, most: float) -> tuple[float, list[_Step]]:
        """About the least ln c1 for this exponent, and steps that reach it; infinite where it is not below `most`."""
        form = _Ratios(self, _double(rho), power)
        low = form.least_at_two
        below, gap = 0.0, 1e-3
        while low + below >= most or (steps := form.covered(low + gap)) is None:
            below, gap = gap, 2 * gap
            if gap > _MOST_GAP or low + below >= most:
                return math.inf, []
        for _ in range(10):
            middle = (below + gap) / 2
            found = form.covered(low + middle)
            below, gap, steps = (below, middle, found) if found is not None else (middle, gap, steps)
        return low + gap, steps


class _Ratios:
    """The bounds over (ln L)^power / L^rho, in logarithms."""

    def __init__(self, bounds: _Bounds, rho: float, power: int) -> None:
        self.exponents = bounds.exponents
        self.lasting = np.array([_double(each.theta) >= rho for each in bounds.exponents])
        first, last = (power * np.log(np.log(at)) - rho * np.log(at) for at in (_FIRST, np.maximum(_LAST, 2)))
        self.at_first, self.at_last = bounds.at_first - first, bounds.at_last - last
        self.means_at_first = bounds.means - first
        self.means, self.last = bounds.means, last

    @property
    def least_at_two(self) -> float:
        return min(float(self.at_first[:, 0].min()), float(self.means_at_first[0]))

    def covered(self, most: float) -> list[_Step] | None:
        """Steps of which both ends have at most this ratio, or None where there are none."""
        lasts = (self.at_first <= most) & self.lasting[:, None]
        end = int(np.argmax(lasts.any(axis=0)))
        if not lasts[:, end].any():
            return None
        at, found = 0, list[_Step]()
        while at < end and len(found) < _MOST_STEPS:
            fits = self.at_first[:, at] <= most
            keeps = np.vstack([fits[:, None] & (self.at_last[:, at + 1 : end + 1] <= most), self._mean(at, end, most)])
            # How far each goes: up to the last length that it keeps.
            lengths = np.where(keeps.any(axis=1), end - at - np.argmax(keeps[:, ::-1], axis=1), 0)
            row = int(np.argmax(lengths))
            if lengths[row] == 0:
                return None
            found.append((int(_FIRST[at]), self.exponents[row].theta if row < len(self.exponents) else None))
            at += int(lengths[row])
        return [*found, (int(_FIRST[end]), self.exponents[int(np.argmax(lasts[:, end]))].theta)] if at == end else None

    def _mean(self, at: int, end: int, most: float) -> Array:
        if not self.means_at_first[at] <= most:
            return np.zeros(end - at, bool)
        return np.asarray(self.means[at] - self.last[at + 1 : end + 1] <= most)


def find_steps(setting: Setting, error: Error, rho: fmpq | None, sharpest_at: int) -> tuple[fmpq, dict[str, Plain]]:
    """c2 / sigma^2 and the steps with which c1 is about least.

    Without `rho` that of which the display is least at `sharpest_at` tokens. Raises NotProvedError where it is too
    large to be proved.
    """
    if not setting.are_both(Gaussian):
        raise UsageError("a repaired form needs Gaussian tokens and queries, or tokens and queries on a box")
    bounds = _Bounds.of(setting, error, _grid(setting) | ({rho} if rho is not None else set()))
    least, best, found = math.inf, None, list[_Step]()

    def look(candidates: Iterable[fmpq]) -> None:
        """Keep the one of which the display is least."""
        nonlocal least, best, found
        for candidate in sorted(candidates, reverse=True):
            gain = _double(candidate) * math.log(sharpest_at)
            log_c1, steps = bounds.least(candidate, error.power, least + gain)
            if steps:
                least, best, found = log_c1 - gain, candidate, steps

    look([each.theta for each in bounds.exponents if each.theta > 0] if rho is None else [rho])
    if rho is None and best is not None:
        # Between its neighbours there may be a better one.
        thetas = [each.theta for each in bounds.exponents]
        at = thetas.index(best)
        low, high = thetas[max(at - 1, 0)], thetas[min(at + 1, len(thetas) - 1)]
        between = {round_down(low + (high - low) * fmpq(k, _FINER), _DIGITS) for k in range(1, _FINER)} - {fmpq(0)}
        bounds = _Bounds.of(setting, error, between, bounds)
        look(between)
    if best is not None:
        return best, _written(found)
    if rho is None:
        raise NotProvedError("no display is proved for these laws: the scores of their queries vary too much")
    raise NotProvedError(
        f"c2/sigma^2 = {format_rational(rho)} is too large for these laws; expected at most "
        f"{format_rational(round_down(_largest_theta(setting), _DIGITS))}"
    )


def least_maximum(ratios: np.ndarray[Any, Any], last: np.ndarray[Any, Any]) -> tuple[int, float]:
    """Where the last step begins, and the smallest maximum.

    The first column of a last step stands for all that follow; before it each column needs some row.
    """
    before = np.concatenate([[-math.inf], np.maximum.accumulate(ratios.min(axis=0))[:-1]])
    most = np.maximum(before, np.where(last[:, None], ratios, math.inf).min(axis=0))
    end = int(np.argmin(most))
    return end, float(most[end])


def choose_steps(ratios: np.ndarray[Any, Any], last: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """First columns and rows of ln(ratio), one column per length from 2 on, with the smallest maximum."""
    count = ratios.shape[1]
    end, least = least_maximum(ratios, last)
    most, onwards = least + _ROUNDING, np.where(last[:, None], ratios, math.inf)
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


def _grid(setting: Setting) -> set[fmpq]:
    largest = _largest_theta(setting)
    parts = [fmpq(k, _GRID) for k in range(_GRID + 1)] + [1 - fmpq(1, 2**k) for k in range(6, 11)]
    return {(largest * part * 10000).floor() / fmpq(10000) for part in parts}


def _exponents(setting: Setting, error: Error, thetas: set[fmpq]) -> list[_Exponent]:
    """Those with finite averages, in their order."""
    found = []
    for theta in sorted(thetas):
        average = weighted_average(setting, error, theta) if theta <= 1 else None
        if average is not None:
            determinant, mean = average
            size = math.log(float(arb(mean))) if mean > 0 else -math.inf
            found.append(_Exponent(theta, float(log_peak(arb(theta))) - math.log(float(arb(determinant))) / 2 + size))
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


def _written(steps: Sequence[_Step]) -> dict[str, Plain]:
    return {"steps": [
        {"from": str(start), **({} if theta is None else {"theta": format_rational(theta)})} for start, theta in steps
    ]}  # fmt: skip


def find_box_witness(
    setting: Setting, error: Error, rho: fmpq | None, sharpest_at: int
) -> tuple[fmpq, dict[str, Plain]]:
    """c2 / sigma^2, with t and the first monotone length with which c1 is about least.

    Without `rho` that of which the display is least at `sharpest_at` tokens. Raises NotProvedError where it is too
    large.
    """
    if rho is not None and rho > 1:
        raise NotProvedError("c2 is more than sigma^2, and no such rate is proved for a box; expected c2 <= sigma^2")
    found: list[tuple[float, fmpq, fmpq, int]] = []
    with working_precision(_BITS):
        bounds, always = query_box_bounds(setting, error), _short_bounds(setting, error)
        for exponent in [rho] if rho is not None else [fmpq(k, 20) for k in range(20, 0, -1)]:
            for k in range(1, 40):
                t = fmpq(k, 40)
                cost, start = _box_cost(bounds, always, exponent, t, error.power)
                found.append((cost * sharpest_at ** -_double(exponent), exponent, t, start))
    _, best, t, start = min(found, key=lambda one: one[0])
    return best, {"t": format_rational(t), "from": str(start)}


def _short_bounds(setting: Setting, error: Error) -> Callable[[int], float]:
    """What bounds the error of short prompts whatever t is, infinite where nothing does."""
    short = short_prompts(setting, error)

    @cache
    def bound(length: int) -> float:
        return min((float(each) for each in short(length)), default=math.inf)

    return bound


def _box_cost(
    bounds: BoxBounds, short: Callable[[int], float], rho: fmpq, t: fmpq, log_power: int
) -> tuple[float, int]:
    """The least c1 for this t, and the first monotone length with which it is reached."""
    moment, largest, weight = (float(x) for x in (bounds.second_moment, bounds.largest, bounds.second_weight))
    share, power = _double(t), _double(rho)
    rate = share * share / (2 * weight)
    worst, best = 0.0, (math.inf, 2)
    for length in range(2, _LONGEST_ON_BOXES):
        form = length**power / math.log(length) ** log_power
        bound = moment / (length * (1 - share) ** 2) + largest * math.exp(-rate * length)
        if rate * length >= power * (1 + 1e-9):
            best = min(best, (max(worst, bound * form), length))
            if bound * form <= worst:
                break
        worst = max(worst, min(bound, largest, short(length)) * form)
    return best
