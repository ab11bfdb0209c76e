"""Norms in words."""

from __future__ import annotations

from collections.abc import Callable

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.selection.mathematics.margin_norms import PowerNorm


def norm_words(norm: str | PowerNorm, variable: str) -> tuple[str, Callable[[str], str]]:
    """What the norm is, and how it is written of something."""
    entry = f"|{variable}_k|" if variable != "W" else "|W_ab|"
    if not isinstance(norm, PowerNorm):
        return "the nuclear norm", lambda what: f"|{what}|_*"
    if norm.exponent is None:
        return f"the largest {entry}", lambda what: f"|{what}|_infinity"
    if norm.exponent == 1:
        return f"the sum of all {entry}", lambda what: f"|{what}|_1"
    return f"(sum {entry}^l)^(1/l) with l = {describe(norm.exponent)}", lambda what: f"|{what}|_l"


def least_norm_words(norm: str | PowerNorm, variable: str) -> str:
    """The norm of the variable, named and defined."""
    what, size = norm_words(norm, variable)
    if not isinstance(norm, PowerNorm):
        return f"{what} {size(variable)}"
    if norm.exponent is None or norm.exponent == 1:
        return f"{size(variable)}, {what},"
    return f"{size(variable)} = {what}"
