"""How far a curve strays from a straight line: the largest distance, enclosed, step by step of the curve.

Over a piece of time with the middle m, the difference z(t) - l(t) of the curve from a line l is that at m, up to the
travel of the difference in the piece. The largest distance is at least that at any middle, and at most the largest of
the bounds of the pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure
from certattn.kernel.theorems.training.mathematics.validated_flow import Step, Vector


@dataclass
class Straying:
    """The largest distance between z(t) and the line from `origin` at `first` with the velocity `slope`, to `last`.

    The steps of the curve are to be met in their order; `pieces` of equal length are looked at, cut where steps end.
    """

    first: fmpq
    last: fmpq
    origin: Vector
    slope: Vector
    pieces: int
    _met: fmpq = field(init=False)
    _lower: arb = field(default_factory=lambda: arb(0))
    _upper: arb = field(default_factory=lambda: arb(0))

    def __post_init__(self) -> None:
        self._met = self.first

    def meet(self, step: Step) -> None:
        """The part of a step that is in this time; nothing where a part before it has not been met."""
        last = min(step.last, self.last)
        if not step.first <= self._met < last:
            return
        since = arb(step.first - self.first)
        arc = step.arc.minus([x + since * y for x, y in zip(self.origin, self.slope, strict=True)], self.slope)
        length = (self.last - self.first) / self.pieces
        while self._met < last:
            number = ((self._met - self.first) / length).floor() + 1
            end = min(last, self.first + number * length)
            middle, half = arb((self._met + end) / 2 - step.first), arb((end - self._met) / 2)
            at, over = arc.at(middle), arc.over(middle, half)
            self._lower = self._lower.max(l2_norm(at.centre) - at.error)
            self._upper = self._upper.max(_farthest(over))
            self._met = end

    @property
    def largest(self) -> arb:
        """The largest distance; not finite as long as a part of the time has not been met."""
        return self._lower.union(self._upper) if self._met == self.last else arb.nan()


def _farthest(difference: Enclosure) -> arb:
    return l2_norm(difference.centre) + difference.error
