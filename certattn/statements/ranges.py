"""Numbers stated to lie in a range, in words and as formulas."""

from __future__ import annotations

from certattn.kernel.document.schema import Values
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST
from certattn.kernel.mathematics.reals import Real, describe, format_real


def range_words(stated: Values) -> str:
    """Of what has the bounds of a section."""
    return between(stated.get(AT_LEAST), stated.get(AT_MOST))


def between(low: Real | None, high: Real | None) -> str:
    """Such as "at least 1 and at most 2"; the number itself where both bounds are the same."""
    if low is not None and high is not None and format_real(low) == format_real(high):
        return describe(low)
    ends = (("at least", low), ("at most", high))
    return " and ".join(f"{side} {describe(bound)}" for side, bound in ends if bound is not None)


def range_latex(stated: Values, quantity: str) -> str:
    """Such as 1 <= x <= 2, as a formula."""
    low = rf"{describe(stated[AT_LEAST])} \le " if AT_LEAST in stated else ""
    high = rf" \le {describe(stated[AT_MOST])}" if AT_MOST in stated else ""
    return f"{low}{quantity}{high}"


def range_sentence(number: str, name: str) -> str:
    """What the obligation of this name, of one of the bounds, compares."""
    which = name.rpartition(".")[2]
    return f"{number} {'>=' if which == AT_LEAST.name else '<='} {which}"
