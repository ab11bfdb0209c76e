"""Numbers stated to lie in a range, in words and as formulas."""

from __future__ import annotations

from certattn.kernel.document.schema import Values
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST
from certattn.kernel.mathematics.reals import describe


def range_words(stated: Values) -> str:
    """Such as "at least 1 and at most 2"."""
    there = [field for field in (AT_LEAST, AT_MOST) if field in stated]
    return " and ".join(f"{field.name.replace('_', ' ')} {describe(stated[field])}" for field in there)


def range_latex(stated: Values, quantity: str) -> str:
    """Such as 1 <= x <= 2, as a formula."""
    low = rf"{describe(stated[AT_LEAST])} \le " if AT_LEAST in stated else ""
    high = rf" \le {describe(stated[AT_MOST])}" if AT_MOST in stated else ""
    return f"{low}{quantity}{high}"


def range_sentence(number: str, name: str) -> str:
    """What the obligation of this name, of one of the bounds, compares."""
    which = name.rpartition(".")[2]
    return f"{number} {'>=' if which == AT_LEAST.name else '<='} {which}"
