"""`normalizer-bound` in words."""

from __future__ import annotations

from certattn.kernel.decide.theorem import Sections
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.normalizer_bound import DISTANCE, MEAN_SQUARE
from certattn.kernel.theorems.spectrum.score_matrix import MOST, score_matrix
from certattn.statements.spectrum.score_matrix import TYPICAL, random_attention_words
from certattn.statements.wording import Statement, Wording

_BOUNDS = {MEAN_SQUARE: ("E W_2^2", r"\mathbb E\, W_2^2"), DISTANCE: ("E W_2", r"\mathbb E\, W_2")}
_SENTENCES = {
    "finite": "p > 12 beta^2, so E t^4 is finite",
    "mean_square": "E W_2^2 <= bound <= at_most",
    "distance": "E W_2 <= bound^(1/2) <= at_most",
    **TYPICAL,
}


def statement(stated: Sections) -> Statement:
    asserted = [
        (*_BOUNDS[field], describe(stated.asserts[field][MOST])) for field in _BOUNDS if field in stated.asserts
    ]
    bounds = [f"{words} <= {most}" for words, _, most in asserted]
    words = (
        f"{random_attention_words(stated.given, score_matrix(stated.given))}: for the distance W_2 between the "
        f"empirical laws of the singular values of sqrt(d) (A - 11'/d) and of T Pi, {' and '.join(bounds)}."
    )
    return Statement(words, r",\qquad ".join(rf"{latex} \le {most}" for _, latex, most in asserted))


WORDING = Wording[Sections](statement, lambda stated, name: _SENTENCES[name])
