"""`gradient-tail` in words."""

from __future__ import annotations

from collections.abc import Sequence

from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.gradient_tail import StatedGradientTail
from certattn.kernel.theorems.prompts.tail_rules import EXCEEDS, PROBABILITY
from certattn.statements.prompts.random_prompts import (
    CONDITIONS,
    FORMULAS,
    by_ranges,
    error_words,
    lengths_latex,
    probability_words,
)
from certattn.statements.wording import Answer, Statement, Wording

_REACHES = {
    "V": "the sum of the squared levels, against exceeds^2",
    "U": "scale^2 |z|^2 times the sum of (e_ij + a_i b_j)^2, against exceeds^2",
}


def statement(stated: StatedGradientTail) -> Statement:
    error = stated.error
    eps, delta = describe(stated.asserts[EXCEEDS]), describe(stated.asserts[PROBABILITY])
    words = f"{error_words(error)} the probability that D > {eps} is at most {delta}."
    latex = rf"\mathbb P({FORMULAS[error.gradient]} > {eps}) \le {delta}"
    return Statement(words, latex + lengths_latex(error.prompt))


def sentence(stated: StatedGradientTail, name: str) -> str:
    if name == "probability" and stated.order is not None:
        return f"{by_ranges(stated.starts)}E D^{stated.order} / exceeds^{stated.order} <= probability"
    if name == "probability":
        return f"the sum of {counted(len(stated.rules), 'one-sided bound')} <= probability"
    if name == "exceeds":
        return _REACHES[stated.error.gradient]
    where, what = name.split(".")
    return f"{where}: {CONDITIONS[what]}"


def findings(stated: StatedGradientTail, obligations: Sequence[Answer]) -> list[str]:
    return [words for o in obligations for words in probability_words(o)]


WORDING = Wording[StatedGradientTail](statement, sentence, findings)
