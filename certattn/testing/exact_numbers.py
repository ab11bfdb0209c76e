"""The exact numbers that are meant by numbers of Python, numpy and others: bounds, scales and soft caps."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.document.numbers import NumberError, parse_real
from certattn.kernel.errors import UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import Real
from certattn.provers.exact_inputs import out_of_hundred

Bound = float | str | Fraction

_NONE = (NumberError, ValueError, TypeError, OverflowError, ZeroDivisionError, AttributeError)


def exact_bound(bound: Bound, what: str) -> Fraction:
    """Of a float the decimal that it is written as, and of a text also a percentage. Raises UsageError."""
    try:
        text = out_of_hundred(bound) if isinstance(bound, str) else bound
        exact = _value(str(text) if isinstance(text, float | np.floating) else text)
    except _NONE:
        exact = Fraction(-1)
    if exact < 0:
        raise UsageError(f"{what} is {bound!r}, expected a number >= 0")
    return exact


def exact_cap(cap: Any, what: str) -> Fraction:
    """Of a float its value. Raises UsageError."""
    try:
        exact = _value(cap)
    except _NONE:
        exact = Fraction(0)
    if exact <= 0:
        raise UsageError(f"{what} is {cap!r}, expected a number > 0")
    return exact


def exact_scale(scale: Any) -> Real | None:
    """Of a float its value, of a text what certificates read. Raises UsageError."""
    if scale is None:
        return None
    try:
        if isinstance(scale, str):
            exact = parse_real(scale, DEFAULT_LIMITS)
        else:
            value = _value(scale)
            exact = fmpq(value.numerator, value.denominator)
        if exact == 0:
            raise NumberError("0")
        return exact
    except _NONE:
        raise UsageError(
            f"scale is {scale!r}, expected a number other than 0, or a text such as '1/sqrt(64)'"
        ) from None


def _value(number: Any) -> Fraction:
    """Of a number of any library, or of a text; a truth value is none."""
    plain = number.item() if hasattr(number, "item") else number
    if isinstance(plain, bool):
        raise TypeError("a truth value")
    if isinstance(plain, fmpq):
        return Fraction(int(plain.p), int(plain.q))
    # What numpy has beyond doubles is no number of Python's.
    return Fraction(*plain.as_integer_ratio()) if hasattr(plain, "as_integer_ratio") else Fraction(plain)
