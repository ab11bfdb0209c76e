"""Numbers of certificates to three digits, so rounded that what they say still holds; certificates have all digits."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

_DIGITS = 3
# The last keys of numbers that may be larger, and of those that may be smaller: the statement becomes a weaker one.
# P(x > exceeds) <= probability may have both larger.
_UPWARD = ("at_most", "exceeds", "probability")
_DOWNWARD = ("at_least",)
_VALUE, _RADIUS = "value", "radius"


def upward(text: str) -> str:
    """An upper bound."""
    return _rounded(text, ROUND_CEILING)


def downward(text: str) -> str:
    """A lower bound."""
    return _rounded(text, ROUND_FLOOR)


def between(bounds: Mapping[str, str]) -> str:
    """A number with a lower bound, an upper one, or both."""
    low = downward(bounds["at_least"]) if "at_least" in bounds else ""
    high = upward(bounds["at_most"]) if "at_most" in bounds else ""
    if low and high:
        return low if low == high else f"{low}..{high}"
    return f">={low}" if low else f"<={high}"


def figure(path: str, figures: Mapping[str, str]) -> str:
    """The number under this key path, of all that stand alone: three digits where its key says the direction.

    Any other stands as it is stated: a length, a rate or the end of a gap may be weaker in neither direction. A radius
    is one of an exact value only where that stands beside it.
    """
    above, _, key = path.rpartition(".")
    if key in _UPWARD or key.endswith("_at_most") or (key == _RADIUS and _beside(above, _VALUE) in figures):
        return upward(figures[path])
    if key in _DOWNWARD or key.endswith("_at_least"):
        return downward(figures[path])
    return figures[path]


def _beside(above: str, key: str) -> str:
    return f"{above}.{key}" if above else key


def _rounded(text: str, mode: str) -> str:
    numerator, _, denominator = text.partition("/")
    with localcontext(prec=_DIGITS, rounding=mode):
        try:
            return f"{Decimal(numerator) / Decimal(denominator or '1'):g}"
        except ArithmeticError:
            return text
