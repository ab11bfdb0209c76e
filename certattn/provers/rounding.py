"""Rounding for people: few digits, on the safe side, exactly."""

from __future__ import annotations

from flint import arb, fmpq, fmpz

from certattn.kernel.errors import NotProvedError


def upper_rational(value: arb) -> fmpq:
    """An exact upper bound of a ball. Raises NotProvedError for an unbounded one."""
    if value.is_finite() is not True:
        raise NotProvedError("the enclosure is unbounded: the inputs are too extreme for the working precision")
    mantissa, exponent = value.upper().man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def round_up(value: fmpq, digits: int) -> fmpq:
    """The smallest decimal of so many significant digits that is >= value >= 0."""
    if value == 0:
        return value
    exponent = _decimal_exponent(value) - digits + 1
    unit = fmpq(10) ** exponent
    return (value / unit).ceil() * unit


def lower_rational(value: arb) -> fmpq:
    """An exact lower bound of a ball. Raises NotProvedError for an unbounded one."""
    return -upper_rational(-value)


def round_down(value: fmpq, digits: int) -> fmpq:
    """The largest decimal of so many significant digits that is <= value, for value >= 0."""
    if value == 0:
        return value
    unit = fmpq(10) ** (_decimal_exponent(value) - digits + 1)
    return (value / unit).floor() * unit


def nearest(value: arb, places: int) -> fmpq:
    """The midpoint of a ball as a decimal with so many places, about nearest."""
    mantissa, exponent = value.mid().man_exp()
    scaled = fmpq(mantissa) * fmpq(2) ** int(exponent) * fmpz(10) ** places
    return fmpq((scaled + fmpq(1, 2)).floor(), fmpz(10) ** places)


def _decimal_exponent(value: fmpq) -> int:
    """e with 10^e <= value < 10^(e+1)."""
    exponent = len(str(value.p)) - len(str(value.q))
    while fmpq(10) ** exponent > value:
        exponent -= 1
    while fmpq(10) ** (exponent + 1) <= value:
        exponent += 1
    return exponent
