"""`gradient-mean-square` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from certattn.kernel.theorems.prompts.gradient_mean_square import MEAN_SQUARE, StatedGradientError
from certattn.statements.prompts.random_prompts import FORMULAS, by_ranges, error_words, lengths_latex
from certattn.statements.ranges import range_latex, range_words
from certattn.statements.wording import Answer, Statement, Wording, show

_SENTENCES = {
    ("at_least", True): "the mean square is at least",
    ("at_most", True): "the mean square is at most",
    ("at_least", False): "the {} lower bound on the mean square is at least",
    ("at_most", False): "the {} bound on the mean square is at most",
}


def statement(stated: StatedGradientError) -> Statement:
    error, bounds = stated.error, stated.bounds
    latex = range_latex(bounds, rf"\mathbb E\, {FORMULAS[error.gradient]}^2")
    return Statement(
        f"{error_words(error)} the mean of D^2 is {range_words(bounds)}.", latex + lengths_latex(error.prompt)
    )


def sentence(stated: StatedGradientError, name: str) -> str:
    if name == "t":
        return "t, the fraction of its mean below which a normaliser is treated apart, is below 1"
    side = name.removeprefix(f"{MEAN_SQUARE.name}.")
    words = _SENTENCES[side, _is_exact(stated)].format(stated.method.name)
    return f"{by_ranges(stated.method.starts)}{words} the stated bound"


def _is_exact(stated: StatedGradientError) -> bool:
    """Whether the enclosed number is the mean square, and not only a bound of it."""
    return stated.method.name == "exact" and not stated.method.starts


def findings(stated: StatedGradientError, obligations: Sequence[Answer]) -> list[str]:
    found = [o.left for o in obligations[:1] if _is_exact(stated) and isinstance(o.left, arb)]
    return [f"mean square: {show(value)}" for value in found if value.is_finite() is True]


WORDING = Wording[StatedGradientError](statement, sentence, findings)
