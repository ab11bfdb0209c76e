"""Gradient descent on the loss of token selection: its steps, and the direction that it has come to.

A step is p -> p - h grad F, with h = eta / n for a step eta on L = L_alpha + F / n, or p -> p - s grad F / |grad F|.
The second derivatives of F are bounded below by something that vanishes as tokens are selected, so the factor by which
a step expands distances (`enclosed_descent`) is close to 1 where interval arithmetic alone would inflate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosed_descent import Step as Step
from certattn.kernel.mathematics.enclosed_descent import descend as descend
from certattn.kernel.mathematics.enclosure import Enclosure, inflated
from certattn.kernel.mathematics.functions import Number
from certattn.kernel.mathematics.selection_landscape import Landscape, Point, inner


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
