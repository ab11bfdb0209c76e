"""Witnesses of repaired propositions: exponents for Gaussian laws, t and a first length for boxes.

The search runs in floats on the formulas that the checker evaluates; what it finds is proved by the checker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.arithmetic.every_length import log_peak
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.functions import BALLS
from certattn.kernel.arithmetic.laws import Box, Gaussian
from certattn.kernel.arithmetic.query_gaussians import has_positive_eigenvalues, trace
from certattn.kernel.arithmetic.reals import format_rational
from certattn.kernel.claims.proposition_inputs import Error, Setting
from certattn.kernel.claims.repaired_display import BoxRepaired, weighted_average
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError

_BITS = 64
# Exponents that are tried, as parts of the largest one; and what of the largest one is stated by default.
_GRID = 50
_SHARE = fmpq(3, 4)
_LONGEST = 20000
# c1 may be larger than the search's least by this factor, then by its square, ...
_GROWTH = 1.02
_TRIES = 600


def best_exponent(setting: Setting) -> fmpq:
    """c2 / sigma^2 to state where none is asked for: most of the largest exponent that can be proved."""
    if isinstance(setting.law.law, Box):
        return fmpq(1)
    return max((_largest_theta(setting) * _SHARE * 1000).floor() / fmpq(1000), fmpq(1, 1000))


@dataclass(frozen=True)
class _Exponent:
    """ln of the bound at length L is `log_constant` - theta ln(L - 1)."""

    theta: fmpq
    log_constant: float

    def log_ratio(self, length: int, rho: float) -> float:
        """ln of the bound over ln L / L^rho."""
        decay = float(self.theta.p) / float(self.theta.q) * math.log(length - 1)
        return self.log_constant - decay + rho * math.log(length) - math.log(math.log(length))


def find_steps(setting: Setting, error: Error, rho: fmpq) -> dict[str, Plain]:
    """The steps with which c1 is about least. Raises NotProvedError where c2 is too large to be proved."""
    if not (isinstance(setting.law.law, Gaussian) and isinstance(setting.queries.law, Gaussian)):
        raise UsageError("a repaired form is for Gaussian tokens and queries, or tokens and queries on a box")
    exponents = _exponents(setting, error, rho)
    last = [exponent for exponent in exponents if exponent.theta >= rho]
    if not last:
        raise NotProvedError(
            f"c2 = rho sigma^2 with rho = {format_rational(rho)} is too large for these laws; expected rho below "
            f"{format_rational(_largest_theta(setting))}"
        )
    if all(exponent.log_constant == -math.inf for exponent in exponents):
        return _written([(2, last[0].theta)])
    exact = float(rho.p) / float(rho.q)
    most = min(exponent.log_ratio(2, exact) for exponent in exponents)
    for _ in range(_TRIES):
        steps = _greedy(exponents, last, exact, most + 1e-9)
        if steps is not None:
            return _written(steps)
        most += math.log(_GROWTH)
    return _written([(2, last[0].theta)])


def _greedy(
    exponents: Sequence[_Exponent], last: Sequence[_Exponent], rho: float, most: float
) -> list[tuple[int, fmpq]] | None:
    """Steps under which ln(ratio) <= most: from each length the exponent that lasts longest; None if there are none."""
    length, steps = 2, list[tuple[int, fmpq]]()
    while length <= _LONGEST:
        final = [exponent for exponent in last if exponent.log_ratio(length, rho) <= most]
        if final:
            return [*steps, (length, min(final, key=lambda exponent: exponent.log_ratio(length, rho)).theta)]
        lasting = {exponent: _lasts(exponent, length, rho, most) for exponent in exponents}
        best = max(lasting, key=lambda exponent: lasting[exponent])
        if lasting[best] == length:
            return None
        steps.append((length, best.theta))
        length = lasting[best]
    return None


def _lasts(exponent: _Exponent, length: int, rho: float, most: float) -> int:
    """The first length from here on at which the exponent does not do, or the longest that is looked at."""
    while length <= _LONGEST and exponent.log_ratio(length, rho) <= most:
        length += 1
    return length


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
                    _Exponent(theta, float(log_peak(arb(theta), BALLS)) - math.log(float(arb(determinant))) / 2 + size)
                )
    return found


def _largest_theta(setting: Setting) -> fmpq:
    """About the largest theta <= 1 with 2 theta |M| < 1, from below."""
    M = (setting.U.T @ setting.covariance @ setting.U @ setting.query_covariance).scaled(2 * setting.squared_scale)
    low, high = fmpq(0), fmpq(1)
    one = ExactMatrix.identity(M.rows)
    if trace(M) == 0 or has_positive_eigenvalues(one - M):
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
        for k in range(1, 40):
            t = fmpq(k, 40)
            cost, start = _box_cost(setting, error, rho, t)
            found.append((cost, t, start))
    _, t, start = min(found, key=lambda one: one[0])
    return {"t": format_rational(t), "from": str(start)}


def _box_cost(setting: Setting, error: Error, rho: fmpq, t: fmpq) -> tuple[float, int]:
    """The least c1 for this t, and the first monotone length with which it is reached."""
    bounds = BoxRepaired(setting, error, fmpq(1), fmpq(1), rho, t, 2).bounds()
    moment, largest, weight = (float(x) for x in (bounds.second_moment, bounds.largest, bounds.second_weight))
    share, power = float(t.p) / float(t.q), float(rho.p) / float(rho.q)
    rate = share * share / (2 * weight)
    worst, best = 0.0, (math.inf, 2)
    for length in range(2, _LONGEST):
        form = length**power / math.log(length)
        bound = moment / (length * (1 - share) ** 2) + largest * math.exp(-rate * length)
        if rate * length >= power * (1 + 1e-9):
            best = min(best, (max(worst, bound * form), length))
            if bound * form <= worst:
                break
        worst = max(worst, min(bound, largest) * form)
    return best
