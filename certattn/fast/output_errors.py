"""How far a stored output is from what attention is, as intervals: the largest error, in several measures.

Docs: binary64.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb, fmpq

from certattn.fast.balls import Ball, difference, row_l2_norms
from certattn.fast.units import DOWN, UNDERFLOW, UP, Floats, gamma
from certattn.kernel.errors import RefusedError

# What overflows, or is divided by 0, bounds nothing, and needs no warning.
_QUIETLY = np.errstate(all="ignore")


@dataclass(frozen=True)
class Interval:
    """low <= truth <= high."""

    low: float
    high: float

    @classmethod
    def around(cls, number: fmpq) -> Interval:
        """Doubles around a number >= 0."""
        try:
            near = int(number.p) / int(number.q)  # correctly rounded
        except OverflowError:
            raise RefusedError("a number beyond the range of binary64") from None
        return cls(math.nextafter(near, -math.inf), math.nextafter(near, math.inf))

    def ball(self) -> arb:
        """Both ends in one ball."""
        return arb(self.low).union(arb(self.high))

    def root(self) -> arb:
        """The square root, from ends >= 0."""
        return arb(self.low).sqrt().union(arb(self.high).sqrt())


@dataclass(frozen=True)
class OutputErrors:
    """The errors |o - T| of an output o, entry by entry (rows: queries): bounds from both sides."""

    output: Floats
    means: Ball
    low: Floats
    high: Floats
    off: Ball

    @classmethod
    @_QUIETLY
    def of(cls, output: Floats, means: Ball) -> OutputErrors:
        """For finite outputs in doubles, exactly."""
        off = difference(Ball(output, np.zeros_like(output)), means)
        # Where both are the same doubles nothing is rounded.
        off.radius[(output == means.middle) & (means.radius == 0)] = 0
        size = np.abs(off.middle)
        return cls(output, means, _above_zero(size - off.radius * UP), (size + off.radius) * UP, off)

    def worst(self) -> tuple[int, int]:
        """Row and column of an entry whose error is among the largest."""
        row, column = divmod(int(self.high.argmax()), self.high.shape[1])
        return row, column

    def largest(self) -> Interval:
        """max |o - T|."""
        return Interval(float(self.low.max()), float(self.high.max()))

    @_QUIETLY
    def relative(self) -> Interval:
        """max over rows of |o - T|_2 / |T|_2; 0 where both are 0, unbounded where T alone may be."""
        errors, sizes = row_l2_norms(self.off), row_l2_norms(self.means)
        low = _above_zero(errors.middle - errors.radius * UP) / ((sizes.middle + sizes.radius) * UP + UNDERFLOW)
        least = _above_zero(sizes.middle - sizes.radius * UP)
        high = np.where(least > 0, (errors.middle + errors.radius) * UP / least * UP, np.inf)
        some = self.output.any(axis=1) | self.means.middle.any(axis=1) | self.means.radius.any(axis=1)
        return _largest(np.where(some, low, 0.0), np.where(some, high, 0.0))

    @_QUIETLY
    def ulps(self, precision: int, least: int) -> Interval:
        """max |o - T| / ulp(T), of a format of so many bits whose normal numbers begin at 2^least.

        Where T is not known to be on one side of a power of two, both its neighbours' units count.
        """
        size, radius = np.abs(self.means.middle), self.means.radius
        smallest = _unit(_above_zero(size - radius * UP), precision, least)
        largest = _unit((size + radius) * UP, precision, least)
        return _largest(self.low / largest, self.high / smallest)

    @_QUIETLY
    def mean_square(self) -> Interval:
        """The mean of |o - T|^2 over all entries."""
        rows, columns = self.low.shape
        off = gamma(columns + 4)
        squares = [(side * side).sum(axis=1).tolist() for side in (self.low, self.high)]
        try:
            low, high = (math.fsum(some) / (rows * columns) for some in squares)
        except OverflowError:
            return Interval(0.0, math.inf)
        # A sum that overflows is no bound from below.
        return _rounded(low * (1 - off) if math.isfinite(low) else 0.0, high * (1 + off))

    def beyond(self, number: fmpq) -> Interval:
        """How many entries have an error above a number."""
        radius = Interval.around(number)
        # Written so that a NaN may be above.
        return Interval(float((self.low > radius.high).sum()), float((~(self.high <= radius.low)).sum()))


def _largest(low: Floats, high: Floats) -> Interval:
    """Around the largest of some numbers, with bounds of each that were rounded."""
    return _rounded(float(low.max()), float(high.max()))


def _rounded(low: float, high: float) -> Interval:
    """Around a number >= 0 whose bounds were rounded, where they may have underflowed, too."""
    return Interval(max(0.0, low * DOWN - UNDERFLOW), high * UP + UNDERFLOW)


def _above_zero(numbers: Floats) -> Floats:
    """The positive part of lower bounds, taken down for the roundings that led to them."""
    found: Floats = np.maximum(numbers, 0) * DOWN
    return found


def _unit(size: Floats, precision: int, least: int) -> Floats:
    """The unit in the last place of a number of this size."""
    # size = m 2^e with 1/2 <= m < 1; of 0 the exponent is 0, which the smallest normal number replaces.
    exponent = np.where(size > 0, np.frexp(size)[1] - 1, least)
    found: Floats = np.ldexp(1.0, np.maximum(exponent, least) - precision + 1)
    return found
