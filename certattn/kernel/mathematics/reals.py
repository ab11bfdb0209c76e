"""Exact real numbers as certificates state them: rationals, and square roots of rationals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from flint import fmpq, fmpz


@dataclass(frozen=True, slots=True)
class Surd:
    """The irrational positive square root of a positive rational `radicand`."""

    radicand: fmpq

    def __str__(self) -> str:
        return f"sqrt({self.radicand})"


Real = fmpq | Surd

# Decimals that are written out; longer numbers stay fractions, which are as long but quick to write.
_MOST_PLACES = 20000
_MOST_DIGITS = 30
_LONGEST_DESCRIPTION = 40
_LEADING_DIGITS = 12


def real_root(radicand: fmpq) -> Real:
    """The square root of a positive rational, as a rational where it is one."""
    root_p, rest_p = radicand.p.sqrtrem()
    root_q, rest_q = radicand.q.sqrtrem()
    if rest_p == 0 and rest_q == 0:
        return fmpq(root_p, root_q)
    return Surd(radicand)


def square(value: Real) -> fmpq:
    """value^2, exactly."""
    return value.radicand if isinstance(value, Surd) else value * value


def format_rational(value: fmpq) -> str:
    """A short exact text, as certificates write numbers: a decimal where there is a short one, else p/q."""
    if value.q == 1:
        return _integer(value.p)
    if value.q.bit_length() > 4 * _MOST_PLACES:
        return str(value)
    rest, twos, fives = value.q, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > _MOST_PLACES:
        return str(value)
    digits = str(abs(value.p) * fmpz(10) ** places // value.q)
    if len(digits) > _MOST_DIGITS:
        return str(value)
    sign = "-" if value < 0 else ""
    if places - len(digits) >= 5:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e-{places - len(digits) + 1}"
    digits = digits.rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def _integer(value: fmpz) -> str:
    digits = str(abs(value))
    stripped = digits.rstrip("0")
    if len(digits) <= _MOST_DIGITS or len(stripped) > _MOST_DIGITS:
        return str(value)
    fraction = f".{stripped[1:]}" if len(stripped) > 1 else ""
    return f"{'-' if value < 0 else ''}{stripped[0]}{fraction}e{len(digits) - 1}"


def format_real(value: Real) -> str:
    """A short exact text of a rational or a root."""
    return str(value) if isinstance(value, Surd) else format_rational(value)


def describe(value: Real) -> str:
    """For statements in words: exact where that is short, else the first digits and dots."""
    text = format_real(value)
    if len(text) <= _LONGEST_DESCRIPTION:
        return text
    return f"sqrt({describe(value.radicand)})" if isinstance(value, Surd) else _leading_digits(value)


def digest(texts: Iterable[str]) -> str:
    """Stands for texts that a sentence leaves out: lists that differ have different ones (128 bits of their sha256)."""
    return f"sha256 {sha256(chr(10).join(texts).encode()).hexdigest()[:32]}"


def _leading_digits(value: fmpq) -> str:
    """The first digits of a nonzero rational, cut off: 0.0333333333333..., 3.33333333333...e-59."""
    size, sign = abs(value), "-" * (value < 0)
    exponent = len(str(size.p)) - len(str(size.q))
    if size < fmpq(10) ** exponent:
        exponent -= 1
    digits = str((size * fmpq(10) ** (_LEADING_DIGITS - 1 - exponent)).floor())
    if -5 < exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}..."
    ones, power = (exponent + 1, "") if 0 <= exponent < _LEADING_DIGITS - 1 else (1, f"e{exponent}")
    return f"{sign}{digits[:ones]}.{digits[ones:]}...{power}"
