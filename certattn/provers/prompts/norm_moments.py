"""Tails of norms by exact moments, as a search sees them: at one length, or from one length on by ranges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from flint import fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.document.tree import Plain
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts.mean_squares import least_mean_square
from certattn.kernel.theorems.prompts.moment_method import (
    NormMoment,
    gradient_moment,
    output_moment,
)
from certattn.kernel.theorems.prompts.random_prompts import GradientError, RandomPrompt
from certattn.kernel.theorems.prompts.tail_rules import COVARIANCE_ORDERS, MEAN_ORDERS, MOMENT
from certattn.provers.prompts.tail_lengths import SPARE, starts_of
from certattn.provers.prompts.tail_rules import Candidate, Rule
from certattn.provers.rounding import as_float

_BITS = 64
# A mean square at some lengths takes no time: a bound of it has less to spare, and more ranges.
_SPARE = 0.005
# The fourth moment of the gradient in U takes time with the square of the number of entries.
MOST_ENTRIES = 100


LogMeanSquare = Callable[[int], float]


@dataclass(frozen=True)
class MeanSquare:
    """{method: mean-square} for a norm of the output: E|T_L - T|^2 / eps^2, from the logarithm of the mean.

    For every length from one on `falling` is that of a bound that falls.
    """

    log_mean_square: LogMeanSquare
    falling: LogMeanSquare | None = None

    @property
    def deviation(self) -> float:
        return math.exp(min(self.log_mean_square(1), 600) / 2)

    def best(self, eps: float, length: float) -> Candidate:
        tokens = max(math.floor(length), 1)
        log = self.log_mean_square(tokens)
        if self.falling is not None:
            log = min(log + SPARE, self.falling(tokens))
        return Candidate(min(log - 2 * math.log(eps), 0.0), {"method": "mean-square"})

    def onwards(self, eps: float, length: int, log_most: float) -> Rule:
        assert self.falling is not None
        starts = starts_of(self.log_mean_square, self.falling, length, log_most + 2 * math.log(eps))
        return {"method": "mean-square", **ranges(starts if len(starts) > 1 else [])}


def ranges(starts: Sequence[int]) -> Rule:
    """What a witness says of ranges that begin there."""
    return {"from": list(map(str, starts))} if starts else {}


@dataclass(frozen=True)
class ByMoment:
    """The norm's tail by the best of some moments: a search of `gradient_goals`, and a family of rules.

    For every length from one on `falling` is the logarithm of a bound of the mean square that falls.
    """

    moments: dict[int, NormMoment]
    falling: LogMeanSquare | None = None
    _known: dict[tuple[int, int], float] = field(default_factory=dict, compare=False)

    @property
    def deviation(self) -> float:
        """The root of a token's share of the mean square, at a length where prompts are long enough to have one."""
        return math.exp(self._log(2, _LONG) / 2) * math.sqrt(_LONG)

    def log_bound(self, eps: float, length: float) -> float:
        return self.best(eps, length).log_bound

    def best(self, eps: float, length: float) -> Candidate:
        order, log_bound = self._best(eps, math.ceil(length))
        return Candidate(min(log_bound, 0.0), {"method": MOMENT, "order": str(order)})

    def _best(self, eps: float, length: int) -> tuple[int, float]:
        """The best order and its bound, with something to spare where there are ranges.

        log E D^p is convex in p: past the best order bounds grow.
        """
        spare = 0.0 if self.falling is None else SPARE / 2
        best, least = 2, math.inf
        for order in self.moments:
            log_bound = self._log(order, length) + order * (spare - math.log(eps))
            if not log_bound < least:
                break
            best, least = order, log_bound
        return best, least

    def tuned(self, eps: float, length: float) -> ByMoment:
        return self

    def witness(self, eps: fmpq, length: int, log_delta: float | None = None) -> dict[str, Plain]:
        threshold = as_float(eps)
        rule = self.best(threshold, length).rule if log_delta is None else self.onwards(threshold, length, log_delta)
        return dict(rule)

    def onwards(self, eps: float, length: int, log_most: float) -> Rule:
        assert self.falling is not None
        falling, (order, _) = self.falling, self._best(eps, length)
        starts = starts_of(
            lambda tokens: self._log(order, tokens) - order * math.log(eps),
            lambda tokens: falling(tokens) - 2 * math.log(eps),
            length,
            log_most,
        )
        return {"method": MOMENT, "order": str(order), **ranges(starts)}

    def _log(self, order: int, length: int) -> float:
        """log E D^p; infinite where the enclosure says nothing."""
        if (order, length) not in self._known:
            with working_precision(_BITS):
                value = self.moments[order].at(length)
                found = float(value.upper().log()) if value > 0 else math.inf
            self._known[order, length] = found if math.isfinite(found) else math.inf
        return self._known[order, length]


# Where a token's share of the mean square is read off.
_LONG = 10_000


def by_moments_of_gradient(error: GradientError) -> ByMoment | None:
    """The search by moments, or None where there is none."""
    if error.gradient == "V":
        return by_moments_of_output(error.prompt_without_values)
    if error.prompt.dimension * error.prompt.output_dimension > MOST_ENTRIES:
        return _search(error.prompt, lambda p: gradient_moment(error, p), COVARIANCE_ORDERS[:1])
    return _search(error.prompt, lambda p: gradient_moment(error, p), COVARIANCE_ORDERS)


def by_moments_of_output(prompt: RandomPrompt) -> ByMoment | None:
    """The same of the output's l2 norm."""
    return _search(prompt, lambda p: output_moment(prompt, p), MEAN_ORDERS)


def log_mean_squares(prompt: RandomPrompt) -> tuple[LogMeanSquare, LogMeanSquare]:
    """The logarithm of the mean square at a length, and of its bound from a length on."""

    @cache
    def log_of(length: int, onwards: bool) -> float:
        try:
            with working_precision(DEFAULT_LIMITS.start_bits):
                found = least_mean_square(replace(prompt, length=length, onwards=onwards)).upper()
        except NoBound:
            return math.inf
        return (float(found.log()) if found > 0 else -math.inf) if found.is_finite() else math.inf

    return lambda length: log_of(length, False), lambda length: log_of(length, True)


def exact_is_sharper(prompt: RandomPrompt) -> bool:
    """Whether exact mean squares are worth ranges of lengths: they are below the bound that falls, and known."""
    exact, falling = log_mean_squares(prompt)
    return math.isfinite(exact(prompt.length)) and exact(prompt.length) + _SPARE < falling(prompt.length)


def starts_of_mean_square(prompt: RandomPrompt) -> list[int]:
    """Where ranges begin that bound the mean square from its length on by little more than it is there.

    Raises NotProvedError.
    """
    exact, falling = log_mean_squares(prompt)
    return starts_of(exact, falling, prompt.length, exact(prompt.length) + _SPARE)


def _search(prompt: RandomPrompt, moment: Callable[[int], NormMoment], orders: Iterable[int]) -> ByMoment | None:
    try:
        first = moment(2)
    except NoBound:
        return None
    if not first.terms:
        return None
    falling = log_mean_squares(prompt)[1] if prompt.onwards else None
    return ByMoment({2: first, **{p: moment(p) for p in orders if p > 2}}, falling)
