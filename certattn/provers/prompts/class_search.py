"""Witnesses of repaired propositions for a class: of each step theta, and the numbers with which its bound is least.

The search asks the checker's own formula at a few lengths, with floats for the determinants of queries; what it finds
is proved by the checker.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.prompts.every_law import (
    NORMS,
    QUERY_DIMENSION,
    QUERY_SIGMA,
    U_NORM,
    ClassSetting,
    is_norm,
)
from certattn.kernel.theorems.prompts.mathematics.class_bounds import Product, Weighted
from certattn.kernel.theorems.prompts.mathematics.class_errors import OnBall, Tokens, class_bound
from certattn.kernel.theorems.prompts.propositions import Error
from certattn.provers.prompts.repaired_search import choose_steps, least_maximum
from certattn.provers.prompts.support_search import share_on_ball, slope_and_delta
from certattn.provers.rounding import round_down, round_up

_BITS = 64
_DIGITS = 3
# Exponents that are tried, as parts of the largest one, and lengths for which the other numbers are made best.
_GRID = 24
_ANCHORS = (2, 6, 18, 50, 200, 2000)
_LENGTHS = [*range(2, 40), *(round(40 * 1.12**k) for k in range(40))]
_NEARLY_SINGULAR = 1e-3
# In logits: how far a number is moved at once, and how far at most. Many dimensions leave delta and the gap little.
_MOVES = (1.0, 0.4, 0.15)
_FARTHEST = (6, 6, 45, 45)
# What a move has to take off the logarithm of the bound.
_WORTH = 1e-4


@dataclass(frozen=True)
class _Scored:
    """The eigenvalues of sigma^2 scale^2 U'U as floats, and how often each occurs: `Queries` for the search."""

    eigenvalues: np.ndarray[Any, Any]
    counts: Sequence[int]
    variance: fmpq

    def factors(self, rate: fmpq, size: fmpq) -> Product | None:
        factors = 1 - 2 * _double(self.variance) * (_double(rate) * self.eigenvalues + _double(size))
        if not factors.min() > 0:
            return None
        return [(_exactly(factor), count) for factor, count in zip(factors.tolist(), self.counts, strict=True)]


@dataclass(frozen=True)
class _Row:
    """theta, and logits of t, of eta, and of the shares of what theta leaves that delta takes, and then the gap."""

    theta: fmpq
    logits: tuple[float, ...]

    def numbers(self, largest: fmpq, variance: fmpq) -> tuple[fmpq, fmpq, fmpq, fmpq]:
        """t, eta, gap and delta, short; `largest` >= 2 sigma_nu^2 sigma^2 |scale U|^2."""
        t, eta, first, second = (_exactly(1 / (1 + math.exp(-x))) for x in self.logits)
        left = 1 - 2 * self.theta * largest
        delta, rest = left * first / (2 * variance), left * (1 - first)
        gap = rest * second / largest if largest > 0 else fmpq(1000)
        t, eta, gap, delta = (round_down(x, _DIGITS) for x in (t, eta, gap, delta))
        return t, eta, gap, delta


class _Search:
    def __init__(self, setting: ClassSetting, error: Error, tokens: Tokens) -> None:
        about = setting.about
        self.tokens, self.is_u = tokens, error is Error.GRADIENT_U
        self.variance = about[QUERY_SIGMA] ** 2
        self.queries = _Scored(*_eigenvalues(setting), self.variance)
        top = float(self.queries.eigenvalues.max())
        self.largest = round_up(2 * self.variance * _exactly(top), 12) if top > 0 else fmpq(0)

    def written(self, row: _Row) -> dict[str, Plain]:
        """The numbers of a step."""
        t, eta, gap, delta = map(format_rational, row.numbers(self.largest, self.variance))
        found: dict[str, Plain] = {"theta": format_rational(row.theta), "t": t, "eta": eta, "gap": gap}
        return {**found, "delta": delta} if self.is_u else found

    def log_bound(self, row: _Row, length: int) -> float:
        """ln of the bound, but for a constant factor."""
        t, eta, gap, delta = row.numbers(self.largest, self.variance)
        if min(t, eta, gap, delta) <= 0 or max(t, eta) >= 1:
            return math.inf
        weighted = Weighted.of(self.queries, 2 * row.theta, gap, delta if self.is_u else fmpq(0))
        if weighted is None:
            return math.inf
        bound = float(class_bound(arb(length), self.tokens, weighted, row.theta, t, eta).log())
        bound -= math.log(_double(delta)) if self.is_u else 0.0
        return bound if not math.isnan(bound) else math.inf

    def best(self, row: _Row, length: int) -> _Row:
        """The row moved to where its bound is about least: the exponents first, by which it varies most."""
        least = self.log_bound(row, length)
        for move in _MOVES:
            before = math.inf
            while least < before - _WORTH:
                before = least
                for index, sign in itertools.product((3, 2, 1, 0) if self.is_u else (3, 1, 0), (1, -1)):
                    row, least = self._along(row, least, index, sign * move, length)
        return row

    def _along(self, row: _Row, least: float, index: int, move: float, length: int) -> tuple[_Row, float]:
        """The row after as many moves of one number as pay, and its bound."""
        while abs(row.logits[index] + move) < _FARTHEST[index]:
            logits = list(row.logits)
            logits[index] += move
            moved = replace(row, logits=tuple(logits))
            found = self.log_bound(moved, length)
            if found >= least - _WORTH:
                break
            row, least = moved, found
        return row, least

    def rows(self, exponents: list[fmpq]) -> Iterator[_Row]:
        for theta in exponents:
            row = _Row(theta, (0.0, 0.0, -1.0 if self.is_u else -50.0, 0.0))
            for length in _ANCHORS:
                row = self.best(row, length)
                yield row


@dataclass(frozen=True)
class _Step:
    """The numbers of a step, as they are written, and logarithms of its bound at the lengths."""

    theta: fmpq
    written: dict[str, Plain]
    log_bounds: np.ndarray[Any, Any]


def find_class_steps(
    setting: ClassSetting, error: Error, tokens: Tokens, rho: fmpq | None, sharpest_at: int
) -> tuple[fmpq, list[Plain]]:
    """c2 / sigma^2 and the steps with which c1 is about least.

    Without `rho` that of which the display is least at `sharpest_at` tokens. Raises NotProvedError where it is too
    large to be proved.
    """
    largest = fmpq(1) if isinstance(tokens, OnBall) else _largest_exponent(setting)
    if rho is not None and (rho <= largest) is not True:
        below = "1" if isinstance(tokens, OnBall) else (
            f"{format_rational(largest)}: below 1/(4 query_sigma^2 sigma^2 |scale U|^2), and at most 1"
        )  # fmt: skip
        raise NotProvedError(
            f"c2/sigma^2 = {format_rational(rho)} is too large for this class; expected at most {below}"
        )
    grid = {round_down(largest * fmpq(k, _GRID), _DIGITS) for k in range(1, _GRID + 1)}
    thetas = sorted(grid | {fmpq(0)} | ({rho} if rho is not None else set()))
    with working_precision(_BITS):
        if isinstance(tokens, OnBall):
            steps = list(_on_ball(setting, error, tokens, thetas))
        else:
            steps = list(_on_space(setting, error, tokens, thetas))
    logs = np.log(np.array(_LENGTHS))
    bounds = np.array([step.log_bounds for step in steps]) - error.power * np.log(logs)

    def ratios(exponent: fmpq) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        return bounds + _double(exponent) * logs, np.array([step.theta >= exponent for step in steps])

    def display(exponent: fmpq) -> float:
        return least_maximum(*ratios(exponent))[1] - _double(exponent) * math.log(sharpest_at)

    best = rho if rho is not None else min((theta for theta in thetas if theta > 0), key=display)
    chosen = choose_steps(*ratios(best))
    return best, [{"from": str(_LENGTHS[at]), **steps[i].written} for at, i in chosen]


def _on_space(setting: ClassSetting, error: Error, tokens: Tokens, thetas: list[fmpq]) -> Iterator[_Step]:
    search = _Search(setting, error, tokens)
    for row in search.rows(thetas):
        yield _Step(row.theta, search.written(row), np.array([search.log_bound(row, n) for n in _LENGTHS]))


def _on_ball(setting: ClassSetting, error: Error, tokens: OnBall, thetas: list[fmpq]) -> Iterator[_Step]:
    """The bound is a number times L^-theta."""
    variance, is_u = setting.about[QUERY_SIGMA] ** 2, error is Error.GRADIENT_U
    found, t = _eigenvalues(setting), share_on_ball(tokens)
    for theta in thetas:
        slope, delta = slope_and_delta(theta, *found, variance, is_u=is_u)
        weighted = Weighted.of(_Scored(*found, variance), theta * slope, fmpq(0), delta)
        if weighted is None:
            continue
        bound = class_bound(arb(1), tokens, weighted, theta, t, fmpq(0)).log() + arb(theta) / slope
        log_bound = float(bound) - (math.log(_double(delta)) if is_u else 0.0)
        numbers = {"theta": theta, "t": t, "slope": slope, **({"delta": delta} if is_u else {})}
        written: dict[str, Plain] = {name: format_rational(x) for name, x in numbers.items()}
        yield _Step(theta, written, log_bound - _double(theta) * np.log(np.array(_LENGTHS)))


def _largest_exponent(setting: ClassSetting) -> fmpq:
    """Of a class whose limit is above 1 theta may be 1."""
    limit = limit_exponent(setting)
    return limit if _is_finite(setting, limit) else round_down(limit * fmpq(999, 1000), _DIGITS)


def limit_exponent(setting: ClassSetting) -> fmpq:
    """1/(4 query_sigma^2 sigma^2 |scale U|^2), below which theta has a finite bound; at most 1."""
    top = 4 * float(_eigenvalues(setting)[0].max()) * _double(setting.about[QUERY_SIGMA] ** 2)
    return _exactly(1 / top) if top > 1 else fmpq(1)


def _is_finite(setting: ClassSetting, theta: fmpq) -> bool:
    factors = 1 - 4 * _double(setting.about[QUERY_SIGMA] ** 2 * theta) * _eigenvalues(setting)[0]
    return bool(factors.min() > _NEARLY_SINGULAR)


def find_norm(V: ExactMatrix) -> fmpq:
    """|V| rounded up."""
    floats = np.array([[_double(x) for x in row] for row in V.to_rows()])
    found = round_up(_exactly(float(np.linalg.norm(floats, 2))), 6)
    while found > 0 and is_norm(V, found) is not True:
        found = round_up(found * fmpq(100001, 100000), 6)
    return found


def _eigenvalues(setting: ClassSetting) -> tuple[np.ndarray[Any, Any], Sequence[int]]:
    """Of sigma^2 scale^2 U'U, as far as it is known, and how often each occurs; on a ball with its radius for sigma."""
    square_of = _double(setting.squared_scale * setting.size**2)
    if setting.weights is None:
        found = np.array([_double(setting.values[NORMS][U_NORM]) ** 2, 0.0])
        return found * square_of, [setting.rank, setting.about[QUERY_DIMENSION] - setting.rank]
    U = np.array([[_double(x) for x in row] for row in setting.weights.bilinear().to_rows()])
    found = np.maximum(np.linalg.eigvalsh(U.T @ U), 0.0) * square_of
    return found, [1] * len(found)


def _exactly(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def _double(value: fmpq) -> float:
    return int(value.p) / int(value.q)
