"""Tails of norms over Gaussian tokens by exact moments, as a search sees them: one length at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from flint import fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.document.tree import Plain
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.theorems.prompts.mathematics.norm_moments import (
    COVARIANCE_ORDERS,
    MEAN_ORDERS,
    degree_of,
    mean_of,
)
from certattn.kernel.theorems.prompts.moment_method import (
    MOMENT,
    NormMoment,
    gradient_moment,
    output_moment,
)
from certattn.kernel.theorems.prompts.random_prompts import GradientError, RandomPrompt
from certattn.provers.prompts.tail_rules import Candidate
from certattn.provers.rounding import as_float

_BITS = 64
# The fourth moment of the gradient in U takes time with the square of the number of entries.
MOST_ENTRIES = 100


@dataclass(frozen=True)
class ByMoment:
    """The norm's tail by the best of some moments: a search of `gradient_goals`, and a family of rules."""

    moments: dict[int, NormMoment]
    _known: dict[int, dict[int, float]] = field(default_factory=dict, compare=False)

    @property
    def deviation(self) -> float:
        """The root of a token's share of the mean square, at a length where prompts are long enough to have one."""
        return math.exp(self._logs(_LONG)[2] / 2) * math.sqrt(_LONG)

    def log_bound(self, eps: float, length: float) -> float:
        return self.best(eps, length).log_bound

    def best(self, eps: float, length: float) -> Candidate:
        logs = self._logs(math.ceil(length))
        log_bound, order = min((value - order * math.log(eps), order) for order, value in logs.items())
        return Candidate(min(log_bound, 0.0), {"method": MOMENT, "order": str(order)})

    def tuned(self, eps: float, length: float) -> ByMoment:
        return self

    def witness(self, eps: fmpq, length: int, log_delta: float | None = None) -> dict[str, Plain]:
        return dict(self.best(as_float(eps), length).rule)

    def _logs(self, length: int) -> dict[int, float]:
        """log E D^p by the order p; infinite where the enclosure says nothing."""
        if length not in self._known:
            variance = next(iter(self.moments.values())).variance
            degree = max(degree_of(moment.terms) for moment in self.moments.values())
            with working_precision(_BITS):
                powers = PowerSums(length, variance, degree, _BITS)
                values = {p: moment.factor * mean_of(moment.terms, powers) for p, moment in self.moments.items()}
                logs = {p: float(value.upper().log()) for p, value in values.items() if value > 0}
            self._known[length] = {p: value for p, value in logs.items() if math.isfinite(value)} or {2: math.inf}
        return self._known[length]


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


def _search(prompt: RandomPrompt, moment: Callable[[int], NormMoment], orders: Iterable[int]) -> ByMoment | None:
    try:
        first = moment(2)
    except NoBound:
        return None
    if not first.terms:
        return None
    return ByMoment({2: first, **{p: moment(p) for p in orders if p > 2}})
