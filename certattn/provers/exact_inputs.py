"""What a Python program may pass for what certificates write: exact numbers, texts, lists and mappings of them."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from flint import fmpq, fmpz

from certattn.kernel.document.numbers import RATIONAL_FORMS, NumberError, parse_rational
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import describe, format_rational

# Numbers of an array that stand in the certificate itself.
_MOST_INLINE = 2**16

Number = str | int | Fraction | Decimal | fmpq


_MOST_SHOWN = 40


def exact(value: Any, what: str) -> Plain:
    """The value as certificates write it: texts stay, exact numbers become texts. Raises UsageError.

    Exact are int, Fraction, Decimal, flint's fmpz and fmpq, and arrays, whose floats are the numbers that their bits
    mean. A float by itself is refused: whether 0.1 means one tenth or the double next to it, its text must say.
    """
    if isinstance(value, str):
        return value
    if getattr(value, "ndim", 0) and hasattr(value, "__array__"):
        return _array(value, what)
    if isinstance(value, list | tuple):
        return [exact(item, f"{what}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, dict):
        return {key_text(key, what): exact(item, f"{what}.{key}") for key, item in value.items()}
    return _number(value, what)


def exact_text(value: Any, what: str) -> str:
    """The same for what is one text or number."""
    plain = exact(value, what)
    if isinstance(plain, str):
        return plain
    raise UsageError(f"{what} is a {type(value).__name__}, expected a text or an exact number")


def _array(value: Any, what: str) -> Plain:
    """Nested lists of the exact numbers of an array. Raises UsageError for what has none."""
    import numpy as np

    array = np.asarray(value)
    if np.ma.isMaskedArray(value) or array.dtype.kind not in "fiuO" or array.dtype.itemsize > 8:
        kind = "masked" if np.ma.isMaskedArray(value) else f"of the type {array.dtype}"
        raise UsageError(f"{what} is an array {kind}, expected one of integers, or of floats of at most 64 bits")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        place = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
        raise UsageError(f"{what}{list(place)} is {array[place]}, expected a finite number")
    if array.size > _MOST_INLINE:
        raise UsageError(
            f"{what} is an array of the shape {array.shape}, expected at most {_MOST_INLINE} numbers where a "
            "certificate writes them out"
        )
    return exact(array.tolist(), what) if array.dtype.kind == "O" else _lists(array.tolist(), what)


def _lists(value: Any, what: str) -> Plain:
    if isinstance(value, list):
        return [_lists(item, f"{what}[{index}]") for index, item in enumerate(value)]
    return _double(value) if isinstance(value, float) else exact(value, what)


def _double(value: float) -> str:
    """The number that its bits mean: a decimal where that is as short as Python's own, else a hex float."""
    short = Decimal(repr(value))
    if short == Decimal(value):
        return format_rational(fmpq(*value.as_integer_ratio()))
    return value.hex()


def _number(value: Any, what: str) -> str:
    if isinstance(value, fmpq | fmpz):
        return format_rational(fmpq(value))
    if isinstance(value, Rational) and not isinstance(value, bool):
        return format_rational(fmpq(int(value.numerator), int(value.denominator)))
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)  # not as a fraction, which could be very long
    if isinstance(value, Real) and not isinstance(value, bool):
        if isinstance(value, float) and math.isfinite(value) and Decimal(repr(float(value))) == Decimal(value):
            return _double(float(value))  # such as 0.5, which is the same number in decimals and in bits
        raise UsageError(f"{what} is the float {_in_other_words(float(value))}")
    raise UsageError(
        f"{what} is {_shown(value)}, expected an exact number (a text, int, Fraction, Decimal, fmpq), "
        "a text, or a list or dict of these"
    )


def _in_other_words(value: float) -> str:
    """A float, and how to write what was meant."""
    if value.is_integer():
        return f"{value!r}, expected an exact number: write {int(value)}"
    if not math.isfinite(value):
        return f"{value!r}, expected an exact number"
    return (
        f"{value!r}, which may mean a decimal or a binary number; expected an exact one: write '{value!r}' for the "
        f"decimal, or ({value!r}).hex() for the double (floats in arrays are those doubles)"
    )


def key_text(key: Any, what: str) -> str:
    if isinstance(key, str):
        return key
    raise UsageError(f"{what} has the key {_shown(key)}, expected keys that are texts")


def _shown(value: object) -> str:
    return " ".join(repr(value).split())[:60]


def exact_number(value: int | float) -> fmpq:
    """A number of an array, exactly: of a double, what its bits say."""
    return fmpq(*value.as_integer_ratio())


def exact_rational(value: Any, what: str) -> fmpq:
    """The number that a text or an exact number means. Raises UsageError."""
    try:
        return parse_rational(exact_text(value, what).strip(), DEFAULT_LIMITS)
    except NumberError as error:
        hint = number_hint(exact_text(value, what).strip())
        raise UsageError(f"{what}: {error}, expected {RATIONAL_FORMS}" + (f"; {hint}" if hint else "")) from None


_PERCENTAGE = re.compile(r"\s*([^\s%]+)\s*%\s*")


def out_of_hundred(text: str) -> str:
    """The number that a percentage means, as certificates write it; any other text as it is."""
    match = _PERCENTAGE.fullmatch(text)
    if match is None:
        return text
    try:
        return format_rational(parse_rational(match[1], DEFAULT_LIMITS) / 100)
    except NumberError:
        return text


def number_hint(text: str) -> str:
    """What to write for a number that other programs would read; "" where that is not clear."""
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity", ".nan", ".inf"):
        return "only finite numbers can be stated"
    for spelt in (
        out_of_hundred(text),
        text.lstrip("+"),
        text.replace("_", ""),
        re.sub(r"^([+-]?)\.", r"\g<1>0.", text).lstrip("+"),
        f"{text}0",
    ):
        with suppress(NumberError):
            parse_rational(spelt, DEFAULT_LIMITS)
            return f"write {spelt}" if len(spelt) <= _MOST_SHOWN else ""
    return ""


def positive(value: Any, what: str) -> fmpq:
    """The same for a number above 0. Raises UsageError."""
    found = exact_rational(value, what)
    if found > 0:
        return found
    raise UsageError(f"{what} is {describe(found)}, expected a positive number")


def did_you_mean(word: str, known: Collection[str], likeness: float = 0.6) -> str:
    """A question to follow a word that is not known, or nothing."""
    near = difflib.get_close_matches(word, known, 1, likeness)
    return f" (did you mean {near[0]}?)" if near else ""


def require_one_of(words: Collection[str], value: str, what: str) -> None:
    """Raises UsageError for a value that is none of the words."""
    if value not in words:
        raise UsageError(f"{what} is {value!r}{did_you_mean(value, words)}, expected one of {', '.join(words)}")


def require_within(least: int, most: int, value: int, what: str) -> None:
    """Raises UsageError for a number that is not from `least` to `most`."""
    if not least <= value <= most:
        raise UsageError(f"{what} is {value}, expected {least} to {most}")


def require_states(states: Collection[str], known: Collection[str]) -> None:
    """Raises UsageError for names of what cannot be stated."""
    for name in states:
        if name not in known:
            raise UsageError(f"{name!r} is nothing to state; expected {', '.join(known)}")
