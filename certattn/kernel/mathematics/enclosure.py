"""Points known up to a Euclidean distance: a centre without error, and the error as one number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb

from certattn.kernel.mathematics.balls import l2_norm


@dataclass(frozen=True)
class Enclosure:
    """The points within a Euclidean distance `error` of the centre."""

    centre: list[arb]
    error: arb

    @property
    def box(self) -> list[arb]:
        """A ball for each coordinate."""
        return [inflated(entry, self.error) for entry in self.centre]


def around(box: Sequence[arb]) -> Enclosure:
    """The smallest enclosure of a box."""
    return Enclosure([entry.mid() for entry in box], l2_norm([entry.rad() for entry in box]).upper())


def widened(box: Sequence[arb], distance: arb) -> list[arb]:
    """Balls that hold what is so near to a point of the box."""
    return [inflated(entry, distance) for entry in box]


def inflated(entry: arb, distance: arb) -> arb:
    """The ball of what is at most so far from a point of the entry."""
    return entry + distance * arb(0, 1)
