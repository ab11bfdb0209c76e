"""Rounding for people: few digits, on the safe side, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from flint import arb, fmpq, fmpz

from certattn.kernel.errors import NotProvedError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

# Numbers nearer to 0 than 2^-65536 are not written out: exponentials can be smaller than memory holds digits.
_FINEST_BITS = 2**16
_LARGEST_BITS = 2**20
_FEWEST_LACKING = fmpq(1, fmpz(10) ** 20)


class TooLongError(NotProvedError):
    """A number has more digits than a certificate could hold."""


def precisions(first: int) -> Iterator[int]:
    """Precisions that a check takes by default, each twice that before."""
    while first <= DEFAULT_LIMITS.max_bits:
        yield first
        first *= 2


def upper_rational(value: arb) -> fmpq:
    """An exact upper bound of a ball. Raises NotProvedError for an unbounded one."""
    if value.is_finite() is not True:
        raise NotProvedError("the enclosure is unbounded: the inputs are too extreme for the working precision")
    upper = value.upper()
    if abs(upper) < arb(2) ** -_FINEST_BITS:
        return fmpq(1) / fmpq(2) ** _FINEST_BITS if upper > 0 else fmpq(0)
    return _exactly(upper)


def lower_rational(value: arb) -> fmpq:
    """An exact lower bound of a ball. Raises NotProvedError for an unbounded one."""
    return -upper_rational(-value)


def midpoint(value: arb) -> fmpq:
    """The middle of a ball, exactly; 0 for what is too near to it. Raises NotProvedError for none."""
    middle = value.mid()
    if not middle.is_finite():
        raise NotProvedError("the numbers are too extreme: what the search needs of them has no finite enclosure")
    return fmpq(0) if abs(middle) < arb(2) ** -_FINEST_BITS else _exactly(middle)


def round_up(value: fmpq, digits: int) -> fmpq:
    """The smallest decimal of so many significant digits that is >= value >= 0."""
    unit = last_place(value, digits)
    return (value / unit).ceil() * unit


def round_down(value: fmpq, digits: int) -> fmpq:
    """The largest decimal of so many significant digits that is <= value, for value >= 0."""
    unit = last_place(value, digits)
    return (value / unit).floor() * unit


def round_below_one(value: fmpq, digits: int) -> fmpq:
    """The largest 1 - r <= value <= 1, where r has so many digits and is 0 or no smaller than 10^-20.

    More nines than these nobody reads, and certificates would write a long fraction for them.
    """
    lacking = round_up(1 - value, digits)
    return 1 - max(lacking, _FEWEST_LACKING) if lacking != 0 else fmpq(1)


def round_nearest(value: fmpq, unit: fmpq) -> fmpq:
    """The multiple of `unit` that is about nearest."""
    return (value / unit + fmpq(1, 2)).floor() * unit


def last_place(value: fmpq, digits: int) -> fmpq:
    """The power of ten that is the last of so many significant digits of value >= 0; 1 for value 0."""
    return fmpq(10) ** (decimal_exponent(value) - digits + 1) if value != 0 else fmpq(1)


def nearest(value: arb, places: int) -> fmpq:
    """The midpoint of a ball as a decimal with so many places, about nearest."""
    return round_nearest(midpoint(value), fmpq(1, fmpz(10) ** places))


def _exactly(value: arb) -> fmpq:
    """An exact ball as a rational. Raises TooLongError for one that is too long to write."""
    mantissa, exponent = value.man_exp()
    if exponent > _LARGEST_BITS:
        raise TooLongError("the enclosure holds numbers that are too long to be written")
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def decimal_exponent(value: fmpq) -> int:
    """e with 10^e <= value < 10^(e+1). Raises ValueError for a value <= 0, which has none."""
    if value <= 0:
        raise ValueError(f"{value} is not positive")
    exponent = len(str(value.p)) - len(str(value.q))
    while fmpq(10) ** exponent > value:
        exponent -= 1
    while fmpq(10) ** (exponent + 1) <= value:
        exponent += 1
    return exponent


def as_float(value: fmpq) -> float:
    """The double next to an exact number, or about so; 0 or inf beyond their range."""
    return float(arb(value))


def doubles(matrix: ExactMatrix) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A matrix in doubles; entries are 0 or inf beyond their range."""
    rows = matrix.to_rows()
    try:
        return np.array([[float(entry.p) / float(entry.q) for entry in row] for row in rows])
    except OverflowError:
        return np.array([[as_float(entry) for entry in row] for row in rows])
