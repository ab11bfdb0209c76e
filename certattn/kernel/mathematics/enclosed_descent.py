"""Descents of any rule, enclosed.

A step is computed for centres c_k without error but for rounding, c_{k+1} = step(c_k) + rho_k with |rho_k| <= r, and
the distance of the true p_k from c_k is carried along by the mean-value theorem: where the step expands distances at
most by a factor Lambda >= 1 between c_j and p_j,

    |p_{j+1} - c_{j+1}| <= Lambda |p_j - c_j| + r,     so that     |p_m - c_m| <= Lambda^m (|p_0 - c_0| + m r).

Lambda is taken over a box that holds c_0, ..., c_{m-1} and, around each, every point as far away as that bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from flint import arb, fmpq

from certattn.kernel.mathematics.enclosure import Enclosure
from certattn.kernel.mathematics.functions import natural_power

# So many steps are carried along at once where their factor allows it.
_BLOCK = 32
# Within a block the error may double where it is small, and grow by a little where it is that of a start box.
_NARROW = fmpq(1, 1000)
_LITTLE_ROOM = fmpq(17, 16)


class Step(Protocol):
    """One step of descent."""

    def of(self, point: list[arb]) -> Enclosure:
        """Where the step leads."""

    def expansion(self, box: list[arb], distance: arb) -> arb:
        """A bound of how much the step expands distances among what is so near to the box."""


@dataclass(frozen=True)
class Stretch:
    """Some steps: p_j is within `error` of each of the centres, and the step expands distances there by `factor`.

    `after` is where the last of these steps leads.
    """

    centres: list[list[arb]]
    error: arb
    factor: arb
    after: Enclosure


def descend(step: Step, start: Enclosure, steps: int, stops: Sequence[int] = ()) -> dict[int, Enclosure]:
    """Enclosures of p(k) from every point of `start`, for k = 0, k = steps and the `stops` between.

    From where a number is no longer finite, nothing is enclosed and the error is infinite.
    """
    current = start
    found = {0: current}
    wanted = sorted({steps, *(stop for stop in stops if stop <= steps)})
    before = 0
    for stop in wanted:
        for stretch in stretches(step, current, stop - before):
            current = stretch.after
        if not current.error.is_finite():
            return {**dict.fromkeys(wanted, current), **found}
        found[stop], before = current, stop
    return found


def every_point(step: Step, start: Enclosure, steps: int) -> Iterator[Enclosure]:
    """Enclosures of p(0), ..., p(steps - 1), one after the other; the last is infinite where not all are enclosed."""
    left, last = steps, start
    for stretch in stretches(step, start, steps):
        for centre in stretch.centres:
            yield Enclosure(centre, stretch.error)
        left, last = left - len(stretch.centres), stretch.after
    if left > 0:
        yield Enclosure(last.centre, arb.pos_inf())


def stretches(step: Step, start: Enclosure, steps: int, block: int = _BLOCK) -> Iterator[Stretch]:
    """So many steps, at most `block` at once; the last stretch is that after which nothing is enclosed."""
    current, left, most = start, steps, block
    while left > 0 and current.error.is_finite() is True:
        trail, rounding = [current.centre], arb(0)
        for _ in range(min(block, left)):
            image = step.of(trail[-1])
            trail.append(image.centre)
            rounding = rounding.max(image.error)
        done, left = 0, left - len(trail) + 1
        while done < len(trail) - 1 and current.error.is_finite() is True:
            size = min(most, len(trail) - 1 - done)
            while (carried := _carried(step, trail[done : done + size + 1], current.error, rounding)) is None:
                size //= 2
            yield carried
            current, done = carried.after, done + size
            # Where a factor was too large it is so for a while: the next are no more than twice as many.
            most = min(block, 2 * size) if (current.error < _NARROW) is True else block


def _carried(step: Step, trail: list[list[arb]], error: arb, rounding: arb) -> Stretch | None:
    """The stretch along all centres but the last; None where their factor is not proved to suffice."""
    *centres, last = trail
    sum_of_errors = error + len(centres) * rounding
    # Of a single step, the error before it is all that is met.
    room = 2 if (error < _NARROW) is True else _LITTLE_ROOM
    met = error if len(centres) == 1 else (room * sum_of_errors).upper()
    hull = [_hull([centre[k] for centre in centres]) for k in range(len(last))]
    factor = step.expansion(hull, met).max(arb(1))
    after = (natural_power(factor, len(centres)) * sum_of_errors).upper()
    if len(centres) > 1 and (after <= met) is not True:
        return None
    return Stretch(centres, met, factor, Enclosure(last, after))


def _hull(entries: list[arb]) -> arb:
    # Rows of exact numbers: the ends of their hull are among them.
    return min(entries).union(max(entries))
