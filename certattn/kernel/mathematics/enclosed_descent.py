"""Descents of any rule, enclosed.

A step is computed for centres c_k without error but for rounding, c_{k+1} = step(c_k) + rho_k with |rho_k| <= r, and
the distance of the true p_k from c_k is carried along by the mean-value theorem: where the step expands distances at
most by a factor Lambda >= 1 between c_j and p_j,

    |p_{j+1} - c_{j+1}| <= Lambda |p_j - c_j| + r,     so that     |p_m - c_m| <= Lambda^m (|p_0 - c_0| + m r).

Lambda is taken over a box that holds c_0, ..., c_{m-1} and, around each, every point as far away as that bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flint import arb, fmpq

from certattn.kernel.mathematics.enclosure import Enclosure, around, inflated
from certattn.kernel.mathematics.functions import natural_power

# So many steps are carried along at once where their factor allows it.
_BLOCK = 32
# Within a block the error may double where it is small, and grow by a little where it is that of a start box.
_NARROW = fmpq(1, 1000)
_LITTLE_ROOM = fmpq(17, 16)


class Step(Protocol):
    """One step of descent."""

    def of(self, point: list[arb]) -> list[arb]:
        """Where the step leads."""

    def expansion(self, box: list[arb]) -> arb:
        """A bound of how much the step expands distances in the box."""


def descend(step: Step, start: Enclosure, steps: int, stops: Sequence[int] = ()) -> dict[int, Enclosure]:
    """Enclosures of p(k) from every point of `start`, for k = 0, k = steps and the `stops` between.

    From where a number is no longer finite, nothing is enclosed and the error is infinite.
    """
    current = start
    found = {0: current}
    wanted = sorted({steps, *(stop for stop in stops if stop <= steps)})
    before = 0
    for stop in wanted:
        while before < stop:
            length = min(_BLOCK, stop - before)
            current = _block(step, current, length)
            if not current.error.is_finite():
                return {**dict.fromkeys(wanted, current), **found}
            before += length
        found[stop] = current
    return found


def _block(step: Step, start: Enclosure, length: int) -> Enclosure:
    """So many steps from an enclosure."""
    trail, rounding = [start.centre], arb(0)
    for _ in range(length):
        image = around(step.of(trail[-1]))
        trail.append(image.centre)
        rounding = rounding.max(image.error)
    error = start.error
    done = 0
    while done < length:
        size = length - done
        while (grown := _carried(step, trail[done : done + size], error, rounding)) is None:
            size //= 2
        error, done = grown, done + size
    return Enclosure(trail[-1], error)


def _carried(step: Step, centres: list[list[arb]], error: arb, rounding: arb) -> arb | None:
    """The error after a step from each of the centres; None where their factor is not proved to suffice."""
    sum_of_errors = error + len(centres) * rounding
    # Of a single step, the error before it is all that is met.
    room = 2 if (error < _NARROW) is True else _LITTLE_ROOM
    met = error if len(centres) == 1 else (room * sum_of_errors).upper()
    box = [inflated(_hull([centre[k] for centre in centres]), met) for k in range(len(centres[0]))]
    factor = step.expansion(box).max(arb(1))
    after = (natural_power(factor, len(centres)) * sum_of_errors).upper()
    return after if len(centres) == 1 or (after <= met) is True else None


def _hull(entries: list[arb]) -> arb:
    # Rows of exact numbers: the ends of their hull are among them.
    return min(entries).union(max(entries))
