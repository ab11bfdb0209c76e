"""The grammar of exact numbers.

    integer    12   -3
    fraction   -7/3                   positive denominator
    decimal    0.1  -2.5e-3           one tenth is one tenth, not a double; exponents have at most six digits
    hex float  0x1.8p-3               exactly what a C program prints with %a
    surd       sqrt(2)  1/sqrt(32)    only where a field allows it; sqrt of a positive rational

Leading zeros, plus signs, underscores, `nan`, `inf` and everything that YAML would
otherwise turn into numbers, booleans or dates are not numbers here.
"""

from __future__ import annotations

import re

from flint import fmpq, fmpz

from certattn.kernel.document.quoting import quote
from certattn.kernel.limits import Limits
from certattn.kernel.mathematics.reals import Real, real_root

_INTEGER = r"(?:0|[1-9][0-9]*)"
_FRACTION = re.compile(rf"(-?{_INTEGER})(?:/({_INTEGER}))?", re.ASCII)
_DECIMAL = re.compile(rf"(-?)({_INTEGER})(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?", re.ASCII)
_HEX = re.compile(r"(-?)0x([0-9a-fA-F]+)(?:\.([0-9a-fA-F]+))?p([+-]?[0-9]+)", re.ASCII)
_COUNT = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
# What begins with too many digits for a count, or has an exponent.
_MORE_THAN_COUNT = re.compile(r"[0-9]{19}|[0-9]+\.?[0-9]*[eE]", re.ASCII)
_EXPONENT_DIGITS = 6
_SURD = re.compile(r"(1/)?sqrt\(([^()]*)\)", re.ASCII)

RATIONAL_FORMS = "an exact number: integer, p/q, decimal such as 0.1 or 2.5e-3, or hex float such as 0x1.8p-3"
_SURD_HINT = "write 2/sqrt(3) as sqrt(4/3); instead of a minus sign, change the signs of what it multiplies"
REAL_FORMS = RATIONAL_FORMS + ", or sqrt(p/q) or 1/sqrt(p/q)"
# What counts something fits into 64 bits, with its sign: 18 digits always do.
MOST_COUNT = 10**18 - 1
_COUNT_HINT = "write at most 18 digits, without point or exponent, so that counts fit into 64 bits"


class NumberError(ValueError):
    """The text is not a number of the grammar, or is over a limit. The message says why, `hint` what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def parse_rational(text: str, limits: Limits) -> fmpq:
    """The exact value of an integer, fraction, decimal or hex float."""
    if len(text) > limits.max_digits:
        found = f"a number of {len(text)} characters; the limit is {limits.max_digits}"
        raise NumberError(found, "raise --max-digits")
    if match := _FRACTION.fullmatch(text):
        denominator = fmpz(match[2] or "1")
        if denominator == 0:
            raise NumberError(f"{quote(text)}, a division by zero")
        return fmpq(fmpz(match[1]), denominator)
    if match := _DECIMAL.fullmatch(text):
        sign, whole, fraction, exponent = match[1], match[2], match[3] or "", match[4] or "0"
        digits = fmpz(sign + whole + fraction)
        return _scale(digits, 10, _exponent(exponent, limits) - len(fraction))
    if match := _HEX.fullmatch(text):
        sign, whole, fraction = match[1], match[2], match[3] or ""
        digits = fmpz(int(sign + whole + fraction, 16))
        return _scale(digits, 2, _exponent(match[4], limits) - 4 * len(fraction))
    raise NumberError(quote(text))


def parse_real(text: str, limits: Limits) -> Real:
    """Like `parse_rational`, and the square roots `sqrt(r)` and `1/sqrt(r)`, r > 0."""
    match = _SURD.fullmatch(text)
    if match is None and "sqrt(" in text:
        raise NumberError(quote(text), _SURD_HINT)
    if match is None:
        return parse_rational(text, limits)
    radicand = parse_rational(match[2], limits)
    if radicand <= 0:
        raise NumberError(f"{quote(text)}, the root of a number that is not positive")
    if match[1]:
        radicand = 1 / radicand
    return real_root(radicand)


def parse_count(text: str, limits: Limits) -> int:
    """A plain integer that counts something: of at most 18 digits, whatever the limits are."""
    if _COUNT.fullmatch(text) is None:
        raise NumberError(quote(text), _COUNT_HINT if _MORE_THAN_COUNT.match(text) else "")
    return int(text)


def _exponent(text: str, limits: Limits) -> int:
    # Length first: converting a million-digit exponent is itself the attack.
    if len(text.lstrip("+-")) > _EXPONENT_DIGITS:
        raise NumberError(f"the exponent {quote(text)}, of more than {_EXPONENT_DIGITS} digits")
    if abs(int(text)) > limits.max_exponent:
        raise NumberError(f"the exponent {quote(text)}; the limit is {limits.max_exponent}", "raise --max-exponent")
    return int(text)


def _scale(digits: fmpz, base: int, exponent: int) -> fmpq:
    power = fmpz(base) ** abs(exponent)
    return fmpq(digits * power) if exponent >= 0 else fmpq(digits, power)
