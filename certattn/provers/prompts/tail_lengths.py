"""Rules for every length from one on: range by range, and then a rule whose bound falls with the length.

Ranges are those of caps, or lengths at which a moment is known exactly: E f(T_L - T)/L falls with L.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from certattn.kernel.errors import NotProvedError
from certattn.provers.prompts.tail_rules import Candidate, Family, Rule, Several, Truncated

# Of a range of lengths: the last over the first, from a short one to the longest that is tried.
_RATIOS = (1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 3.0, 5.0, 10.0)
_MOST_RANGES = 40
# By so much a rule that holds for ever has to be better: of moments the kernel counts positive terms only.
_MARGIN = 0.02


# A bound by exact moments of order p at one length has this to spare p/2 times, in its logarithm: it buys long ranges,
# for a length that is so much longer.
SPARE = 0.02
# What the kernel's enclosures may differ from floats by.
_ROUNDING = 1e-6
_LONGEST_RANGE = 1e9


def starts_of(
    log_bound: Callable[[int], float], log_falling: Callable[[int], float], first: int, log_most: float
) -> list[int]:
    """Where ranges begin: each as long as its first length allows, up to where a bound that falls will do.

    Raises NotProvedError where no ranges keep the bounds at most e^log_most.
    """
    starts, most = [first], log_most - _ROUNDING
    while log_falling(starts[-1]) > most:
        at = starts[-1]
        spare = most - log_bound(at)
        after = math.floor(at * min(math.exp(min(spare, 100.0)), _LONGEST_RANGE)) + 1
        if after <= at or len(starts) == _MOST_RANGES:
            raise NotProvedError("no ranges of lengths were found that prove it: expected a larger threshold")
        starts.append(after)
    return starts


@runtime_checkable
class Ranged(Protocol):
    """A family whose own rule for every length from one on is not that for one."""

    def onwards(self, eps: float, length: int, log_most: float) -> Rule: ...


def for_every_length(family: Family, eps: float, length: int, log_most: float) -> Rule:
    """A rule by length whose bounds are at most e^log_most, as far as there is one."""
    if isinstance(family, Ranged):
        return family.onwards(eps, length, log_most)
    capped = [each for each in family.families if isinstance(each, Truncated)] if isinstance(family, Several) else []
    if not isinstance(family, Several) or not capped:
        return family.best(eps, float(length)).rule
    falling = Several([each for each in family.families if each not in capped])
    starts, rules, at = list[int](), list[Rule](), length
    while True:
        for_ever = falling.best(eps, float(at))
        if for_ever.log_bound <= log_most - _MARGIN or len(rules) == _MOST_RANGES:
            break
        last, found = _range(capped[0], eps, at, log_most)
        starts, rules, at = [*starts, at], [*rules, found.rule], last + 1
    if not rules:
        return for_ever.rule
    return {"rule": "by-length", "from": [*map(str, starts), str(at)], "rules": [*rules, for_ever.rule]}


def _range(capped: Truncated, eps: float, first: int, log_most: float) -> tuple[int, Candidate]:
    """The last length of a range that begins there, and its rule: the longest range that keeps the bound."""
    best: tuple[int, Candidate] | None = None
    for ratio in _RATIOS:
        last = max(int(first * ratio), first)
        found = capped.best(eps, float(first), float(last))
        if best is not None and found.log_bound > log_most:
            break
        best = last, found
    assert best is not None
    return best
