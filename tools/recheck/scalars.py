"""Exact numbers as the texts of a certificate write them: the grammar of docs/format.md."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from outcomes import Rejected

MAX_DIGITS, MAX_EXPONENT = 10_000, 20_000
NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:/(0|[1-9][0-9]*)|((?:\.[0-9]+)?)(?:[eE]([+-]?[0-9]{1,6}))?)")
HEX = re.compile(r"(-?)0x([0-9a-fA-F]+)(?:\.([0-9a-fA-F]+))?p([+-]?[0-9]{1,6})")
COUNT = re.compile(r"0|[1-9][0-9]{0,17}")
ROOT = re.compile(r"(1/)?sqrt\((.*)\)")


def rational(text: object, what: str = "a number") -> Fraction:
    """The exact number that a scalar is, by the grammar of docs/format.md. Rejects everything else."""
    if not isinstance(text, str) or len(text) > MAX_DIGITS:
        raise Rejected(f"{what}: expected a number, found {str(text)[:40]!r}")
    if m := HEX.fullmatch(text):
        sign, whole, part, power = m.groups()
        if abs(int(power)) > MAX_EXPONENT:
            raise Rejected(f"{what}: exponent of {text[:40]!r} is too large")
        value = Fraction(int(whole + (part or ""), 16), 16 ** len(part or "")) * Fraction(2) ** int(power)
        return -value if sign else value
    if not (m := NUMBER.fullmatch(text)):
        raise Rejected(f"{what}: expected a number, found {text[:40]!r}")
    sign, whole, below, part, power = m.groups()
    if below is not None:
        if below == "0":
            raise Rejected(f"{what}: division by zero in {text[:40]!r}")
        value = Fraction(int(whole), int(below))
    else:
        if abs(int(power or 0)) > MAX_EXPONENT:
            raise Rejected(f"{what}: exponent of {text[:40]!r} is too large")
        digits = part[1:] if part else ""
        value = Fraction(int(whole + digits), 10 ** len(digits)) * Fraction(10) ** int(power or 0)
    return -value if sign else value


def squared(node: Any, where: str) -> Fraction:
    """The square of a number >= 0 that may be written as sqrt(p/q) or 1/sqrt(p/q)."""
    if isinstance(node, str) and (m := ROOT.fullmatch(node)):
        value = positive(m[2], f"{where}: what the root is of")
        return Fraction(value.denominator, value.numerator) if m[1] else value
    value = rational(node, where)
    if value < 0:
        raise Rejected(f"{where}: expected a number >= 0, found {str(node)[:40]!r}")
    return value * value


def natural(text: object, what: str, least: int = 0, most: int = 10**18) -> int:
    """A count: digits only, between two bounds."""
    if not isinstance(text, str) or not COUNT.fullmatch(text) or not least <= int(text) <= most:
        raise Rejected(f"{what}: expected an integer from {least} to {most}, found {str(text)[:40]!r}")
    return int(text)


def positive(node: Any, where: str, least: int = 0) -> Fraction:
    """A number above `least`."""
    value = rational(node, where)
    if value <= least:
        raise Rejected(f"{where}: expected a number above {least}, found {node[:40]!r}")
    return value


def probability(node: Any, where: str) -> Fraction:
    """A number between 0 and 1."""
    value = positive(node, where)
    if value >= 1:
        raise Rejected(f"{where}: expected a number below 1, found {node[:40]!r}")
    return value
