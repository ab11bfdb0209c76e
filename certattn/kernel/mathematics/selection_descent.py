"""Gradient descent on the loss of token selection, enclosed.

A step is p -> p - h grad F, with h = eta / n for a step eta on L = L_alpha + F / n, or p -> p - s grad F / |grad F|.
It is computed for centres c_k without error but for rounding, c_{k+1} = step(c_k) + rho_k with |rho_k| <= r, and the
distance of the true p_k from c_k is carried along by the mean-value theorem: where the step expands distances at
most by a factor Lambda >= 1 between c_j and p_j,

    |p_{j+1} - c_{j+1}| <= Lambda |p_j - c_j| + r,     so that     |p_m - c_m| <= Lambda^m (|p_0 - c_0| + m r).

Lambda is taken over a box that holds c_0, ..., c_{m-1} and, around each, every point as far away as that bound. The
second derivatives of F are bounded below by something that vanishes as tokens are selected, so Lambda is close to 1
where interval arithmetic alone would inflate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure, around, inflated
from certattn.kernel.mathematics.functions import Number, natural_power
from certattn.kernel.mathematics.selection_landscape import Landscape, Point, inner

# So many steps are carried along at once where their factor allows it.
_BLOCK = 32
# Within a block the error may double where it is small, and grow by a little where it is that of a start box.
_NARROW = fmpq(1, 1000)
_LITTLE_ROOM = fmpq(17, 16)


class Step(Protocol):
    """One step of descent."""

    def of(self, point: Point) -> Point:
        """Where the step leads."""

    def expansion(self, box: Point) -> Number:
        """A bound of how much the step expands distances in the box."""


@dataclass(frozen=True)
class GradientStep:
    """p - h grad F."""

    landscape: Landscape
    size: Number

    def of(self, point: Point) -> Point:
        return [x + self.size * y for x, y in zip(point, self.landscape.downhill(point), strict=True)]

    def expansion(self, box: Point) -> Number:
        """|I - h Hess F| <= max(1 + h N, h M - 1), as -N <= Hess F <= M."""
        upward, downward = self.landscape.curvatures(box)
        return self.landscape.fn.maximum(1 + self.size * downward, self.size * upward - 1)


@dataclass(frozen=True)
class NormalisedStep:
    """p - s grad F / |grad F|; not finite where the gradient may vanish."""

    landscape: Landscape
    size: Number

    def of(self, point: Point) -> Point:
        downhill = self.landscape.downhill(point)
        factor = self.size / self._length(downhill)
        return [x + factor * y for x, y in zip(point, downhill, strict=True)]

    def expansion(self, box: Point) -> Number:
        """|I - s / |v| (I - v v' / |v|^2) Hess F| <= 1 + s max(M, N) / |v| with v = -grad F."""
        upward, downward = self.landscape.curvatures(box)
        length = self._length(self.landscape.downhill(box))
        return 1 + self.size * self.landscape.fn.maximum(upward, downward) / length

    def _length(self, downhill: Point) -> Number:
        return self.landscape.fn.sqrt(inner(downhill, downhill))


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


def shortfall(found: Enclosure, direction: Sequence[arb]) -> arb:
    """1 - cos angle(p, u) for the points p enclosed, u the unit vector `direction`; not finite where p may be 0.

    No p is further than asin(s) from the direction of the centre c, s = error / |c|. So the cosines differ by at
    most s sin angle(c, u) + 1 - sqrt(1 - s^2).
    """
    length = l2_norm(found.centre)
    along = inner(direction, found.centre)
    across = l2_norm([x - along * y for x, y in zip(found.centre, direction, strict=True)])
    turned = found.error / length
    turn = turned * across / length + turned * turned / (1 + (1 - turned * turned).sqrt())
    return inflated(1 - along / length, turn.upper())


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
