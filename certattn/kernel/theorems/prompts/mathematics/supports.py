"""Boxes and balls: which points lie in them, and how large a linear function is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from flint import fmpq, fmpz

from certattn.kernel.mathematics.exact_matrix import ExactMatrix


@dataclass(frozen=True)
class Extreme:
    """rational + sqrt(squared): the largest value of a linear function."""

    rational: fmpq
    squared: fmpq


class Region(Protocol):
    """A set of points."""

    @property
    def dimension(self) -> int: ...

    def margin(self, points: ExactMatrix) -> fmpq:
        """A number that is >= 0 exactly where all rows of `points` lie in the set."""
        ...

    def largest(self, row: list[fmpq]) -> Extreme:
        """The largest <row, x> for x in the set."""
        ...


@dataclass(frozen=True)
class BoxRegion:
    """low_j <= x_j <= high_j for every j."""

    low: list[fmpq]
    high: list[fmpq]

    @property
    def dimension(self) -> int:
        return len(self.low)

    def margin(self, points: ExactMatrix) -> fmpq:
        """How far the points stay from what bounds a coordinate, at least."""
        columns, size = points.numerators.transpose().tolist(), points.denominator
        ends = zip(columns, self.low, self.high, strict=True)
        return min(min(fmpq(min(x), size) - low, high - fmpq(max(x), size)) for x, low, high in ends)

    def largest(self, row: list[fmpq]) -> Extreme:
        ends = zip(row, self.low, self.high, strict=True)
        return Extreme(sum((max(entry * low, entry * high) for entry, low, high in ends), fmpq(0)), fmpq(0))


@dataclass(frozen=True)
class BallRegion:
    """|x - centre| <= radius."""

    centre: list[fmpq]
    radius: fmpq

    @property
    def dimension(self) -> int:
        return len(self.centre)

    def margin(self, points: ExactMatrix) -> fmpq:
        """The squared radius minus the largest squared distance from the centre."""
        gaps = points.centred(ExactMatrix.row_vector(self.centre))
        farthest = max(sum((x * x for x in row), fmpz(0)) for row in gaps.numerators.tolist())
        return self.radius * self.radius - fmpq(farthest, gaps.denominator * gaps.denominator)

    def largest(self, row: list[fmpq]) -> Extreme:
        at_centre = sum((x * y for x, y in zip(row, self.centre, strict=True)), fmpq(0))
        return Extreme(at_centre, self.radius * self.radius * sum((x * x for x in row), fmpq(0)))
