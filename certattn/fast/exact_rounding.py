"""IEEE-754 binary64 on exact numbers: what a rounded operation returns, without performing one.

A product or sum of binary64 numbers is a rational p / 2^e; rounding it to nearest, ties to even,
is integer arithmetic. Subnormal numbers are kept, as the standard says.
"""

from __future__ import annotations

from flint import fmpq, fmpz

_PRECISION = 53
# The smallest positive number is 2^-1074.
_LOWEST = 1074
_OVERFLOW = fmpq(2) ** 1024


def to_nearest(value: fmpq) -> fmpq | None:
    """The binary64 number nearest to p / 2^e; None where that is an infinity.

    Raises ValueError for a denominator that is no power of two.
    """
    exponent = value.q.bit_length() - 1
    if value.q != fmpz(1) << exponent:
        raise ValueError(f"{value} is no fraction with a power of two below")
    size = abs(value.p)
    drop = max(size.bit_length() - _PRECISION, exponent - _LOWEST)
    if drop <= 0:
        nearest = value
    else:
        kept = size >> drop
        twice_rest, unit = 2 * (size - (kept << drop)), fmpz(1) << drop
        if twice_rest > unit or (twice_rest == unit and kept % 2 == 1):
            kept += 1
        nearest = fmpq((-kept if value.p < 0 else kept) << drop, value.q)
    return nearest if abs(nearest) < _OVERFLOW else None


def hexadecimal(value: fmpq) -> str:
    """A fraction with a power of two below, exactly, as certificates write hex floats."""
    if value == 0:
        return "0"
    exponent, size = value.q.bit_length() - 1, int(abs(value.p))
    zeros = (size & -size).bit_length() - 1
    return f"{'-' if value < 0 else ''}0x{size >> zeros:x}p{zeros - exponent}"


def is_binary64(value: fmpq) -> bool:
    """Whether a rational is a finite binary64 number."""
    exponent = value.q.bit_length() - 1
    return value.q == fmpz(1) << exponent and to_nearest(value) == value
