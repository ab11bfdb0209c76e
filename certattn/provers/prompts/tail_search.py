"""Given two of the threshold eps, the probability delta and the length L of a tail bound, find the third.

A bound is a function of (eps, L) that falls in both; its logarithm comes from rules in floats. The
functions here know nothing of rules: they look for the point at which the bound passes log delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from certattn.kernel.errors import NotProvedError

# Lengths are sought up to here, thresholds within these factors of the unit.
MOST_TOKENS = 10**12
_NEAREST, _FARTHEST = 2.0**-60, 2.0**60
# Found to so many digits: a little finer than what is stated.
_PRECISION = 2e-5
_STEPS = 200

LogBound = Callable[[float], float]


def passing(
    log_bound: LogBound,
    log_delta: float,
    start: float,
    lowest: float,
    highest: float,
    precision: float = _PRECISION,
    factor: float = 2.0,
) -> float | None:
    """The least x with log_bound(x) <= log delta for a falling function, a little above; None if beyond `highest`.

    The bracket is found by multiples of `factor` from `start`, then narrowed in log x: by the secant of
    log(-log bound), which is close to straight, and by halves where that does not help.
    """
    x = min(max(start, lowest), highest)
    falls = log_bound(x) <= log_delta
    low = high = x
    while (log_bound(low if falls else high) <= log_delta) is falls:
        if falls:
            high = low
            if low <= lowest:
                return lowest
            low = max(low / factor, lowest)
        else:
            low = high
            if high >= highest:
                return None
            high = min(high * factor, highest)
    return _narrowed(log_bound, log_delta, low, high, precision)


def _narrowed(log_bound: LogBound, log_delta: float, low: float, high: float, precision: float) -> float:
    def distance(x: float) -> float:
        return math.log(max(-log_bound(x), 1e-9)) - math.log(-log_delta)

    left, right = math.log(low), math.log(high)
    below, above = distance(low), distance(high)
    for step in range(_STEPS):
        if right - left <= precision:
            break
        share = below / (below - above) if below < above else 0.5
        if step % 3 == 2:
            share = 0.5
        # A little beyond the secant, so that both ends of the bracket close in.
        x = left + (right - left) * min(max(share, 0.02), 0.98)
        found = distance(math.exp(x))
        if found >= 0:
            right, above = x, found
        else:
            left, below = x, found
    return math.exp(right)


def smallest_eps(
    log_bound: LogBound, log_delta: float, unit: float, precision: float = _PRECISION, factor: float = 2.0
) -> float:
    """The least eps with log_bound(eps) <= log delta. `unit` is a threshold of about the right size."""
    found = passing(log_bound, log_delta, unit, unit * _NEAREST, unit * _FARTHEST, precision, factor)
    if found is None:
        raise NotProvedError("no rule gives that probability at any threshold; expected a longer prompt")
    return found


def smallest_length(log_bound: LogBound, log_delta: float, start: float = 100.0, most: float = MOST_TOKENS) -> int:
    """The least number of tokens with log_bound(length) <= log delta, sought from `start`."""
    found = passing(log_bound, log_delta, start, 1.0, float(most))
    if found is None:
        raise NotProvedError(
            f"that probability is proved for no length up to {most:.0e}: expected a larger threshold or probability"
        )
    length = math.ceil(found * (1 - _PRECISION))
    return length if log_bound(float(length)) <= log_delta else math.ceil(found)
