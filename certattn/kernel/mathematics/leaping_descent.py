"""Descents enclosed in leaps: many steps at once, where one is nearly like that before.

A step leads from p to p + v(p). From a centre c it is followed along c_i = c + i g + i (i - 1)/2 b, i = 0, ..., m, any
g and b, chosen near v(c) and its derivative along g. As c_{i+1} - c_i = g + i b and c_i - c = i y_i with
y_i = g + (i - 1)/2 b, the mean-value theorem gives v(c_i) in v(c) + i H, so that

    |c_i + v(c_i) - c_{i+1}| <= |v(c) - g| + i |H - b|

for every box H of the derivatives of v at c + s y along y with 0 <= s <= m - 1, y = g + r b, 0 <= r <= (m - 2)/2. So,
where the step expands distances at most by a factor Lambda >= 1 between the c_i and the p_i,

    |p_m - c_m| <= Lambda^m (|p_0 - c| + m |v(c) - g| + m (m - 1)/2 |H - b|).

A leap of m steps after k is taken where (m - 1)/2 |H - b| <= tolerance / (k + 1000): then leaps add about the tolerance
times log(k / 1000) in all, times what the step expands. Elsewhere steps are enclosed one by one (`enclosed_descent`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosed_descent import Step, stretches
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.functions import natural_power

# A shorter leap costs more than its steps; so many of these are taken before leaps are tried again.
_SHORTEST, _STEPS = 8, 32
_EARLY = 1000
# The error may grow by this factor in a leap.
_ROOM = 2


@dataclass(frozen=True)
class Approach(ABC):
    """c, g and b as above, exact, and a bound of |v(c) - g|."""

    centre: list[arb]
    first: list[arb]
    second: list[arb]
    rounding: arb

    @abstractmethod
    def turning(self, reach: arb, bend: arb) -> list[arb]:
        """H for s in the ball `reach` and r in the ball `bend`."""

    def at(self, reach: arb, bend: arb) -> list[arb]:
        """c + s (g + r b)."""
        return [c + reach * (g + bend * b) for c, g, b in zip(self.centre, self.first, self.second, strict=True)]

    def strayed(self, reach: arb, bend: arb) -> arb:
        """A bound of |H - b|."""
        return l2_norm([abs(x - b).upper() for x, b in zip(self.turning(reach, bend), self.second, strict=True)])


class LeapingStep(Step, Protocol):
    """A step of which leaps can be taken."""

    def approach(self, centre: list[arb]) -> Approach:
        """Of a leap from there."""


def leap_along(
    step: LeapingStep, start: Enclosure, steps: int, stops: Sequence[int], tolerance: fmpq
) -> dict[int, Enclosure]:
    """Enclosures of p(k) from every point of `start`, for k = 0, k = steps and the `stops` between.

    From where a number is no longer finite, nothing is enclosed and the error is infinite.
    """
    found, k = {0: start}, 0
    wanted = sorted({steps, *(stop for stop in stops if stop <= steps)})
    for stop in wanted:
        last = found[k]
        for _, here in advance(step, found[k], k, stop, tolerance):
            last = here
        if not last.error.is_finite():
            return {**dict.fromkeys(wanted, last), **found}
        found[stop], k = last, stop
    return found


def advance(
    step: LeapingStep, start: Enclosure, first: int, last: int, tolerance: fmpq
) -> Iterator[tuple[int, Enclosure]]:
    """From p(first) to p(last), with what is enclosed on the way; no further than it is finite."""
    current, k, length = start, first, _SHORTEST
    while k < last and current.error.is_finite() is True:
        leap = None
        approach = step.approach(current.centre)
        length = min(length, last - k)
        while leap is None and length >= _SHORTEST:
            leap = _leap(step, approach, current.error, length, tolerance / (k + _EARLY))
            if leap is None:
                length = 3 * length // 4
        if leap is not None:
            current, k, length = leap, k + length, 5 * length // 4
        else:
            size, length = min(_STEPS, last - k), _SHORTEST
            for stretch in stretches(step, current, size):
                current = stretch.after
            k += size
        yield k, current


def _leap(step: Step, approach: Approach, error: arb, length: int, most: fmpq) -> Enclosure | None:
    """So many steps at once; None where the error that they add is not proved to be small."""
    reach, bend = arb(0).union(arb(length - 1)), arb(0).union(arb(length - 2) / 2)
    strayed = (fmpq(length - 1, 2) * approach.strayed(reach, bend)).upper()
    if (strayed <= most) is not True:
        return None
    last = around(approach.at(arb(length), arb(length - 1) / 2))
    total = (error + length * (approach.rounding + strayed)).upper()
    met = _ROOM * total
    factor = step.expansion(approach.at(reach, bend), met).max(arb(1))
    after = natural_power(factor, length) * total
    return Enclosure(last.centre, (after + last.error).upper()) if (after <= met) is True else None
