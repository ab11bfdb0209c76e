"""`output-mean-square` in words."""

from __future__ import annotations

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.mean_squares import NOTHING
from certattn.kernel.theorems.prompts.output_mean_square import (
    COLLISION,
    MEAN,
    MEAN_SQUARE,
    RADIUS,
    VALUE,
    AveragedPrompt,
    StatedMeanSquare,
)
from certattn.statements.prompts.random_prompts import by_ranges, lengths_latex, prompt_words
from certattn.statements.ranges import range_latex, range_words
from certattn.statements.wording import Statement, Wording

_QUANTITIES = {"mean_square": "E|T_L - T|^2", "collision": "q = E sum p_i^2"}
_SIDES = {"at_least": "at least the stated bound", "at_most": "at most the stated bound"}
_BOUNDS = {"at_least": "a lower bound on ", "at_most": "an upper bound on "}
_SENTENCES = {
    "t": "t, the fraction of its mean below which a normaliser is treated apart, is below 1",
    "mean": "|E(T_L - T) - value|_linf <= radius",
}


def statement(stated: StatedMeanSquare) -> Statement:
    prompt, asserts = stated.prompt, stated.asserts
    over = " and the query" if isinstance(prompt, AveragedPrompt) else ""
    words, latex = [], []
    if MEAN_SQUARE in asserts:
        bounds = asserts[MEAN_SQUARE]
        words.append(f"the mean of |T_L - T|^2 over the prompt{over} is {range_words(bounds)}")
        latex.append(range_latex(bounds, r"\mathbb E |T_L - T|^2"))
    if MEAN in asserts:
        value, radius = asserts[MEAN][VALUE].load(), describe(asserts[MEAN][RADIUS])
        words.append(f"the mean of T_L - T is {value} up to {radius} in every coordinate")
        latex.append(r"\| \mathbb E(T_L - T) - y \|_\infty \le " + radius)
    if COLLISION in asserts:
        bounds = asserts[COLLISION]
        words.append(f"the mean of sum p_i^2 is {range_words(bounds)}")
        latex.append(range_latex(bounds, r"\mathbb E \sum_i p_i^2"))
    return Statement(
        f"For {prompt_words(prompt)}: with p the softmax weights of the prompt, T_L = sum p_i V x_i and T = V tau its "
        f"infinite-prompt limit, {', and '.join(words)}.",
        r",\qquad ".join(latex) + lengths_latex(prompt),
    )


def sentence(stated: StatedMeanSquare, name: str) -> str:
    if name in _SENTENCES:
        return _SENTENCES[name]
    quantity, side = name.split(".")
    enclosure = stated.bounds.ranges.get(quantity, NOTHING)
    if (enclosure.lower if side == "at_least" else enclosure.upper) is None:
        return f"{_QUANTITIES[quantity]} is {_SIDES[side]}"
    what = "" if enclosure.exact else _BOUNDS[side]
    return f"{by_ranges(stated.method.starts)}{what}{_QUANTITIES[quantity]} ({stated.method.name}) is {_SIDES[side]}"


WORDING = Wording[StatedMeanSquare](statement, sentence)
