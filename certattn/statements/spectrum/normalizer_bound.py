"""`normalizer-bound` in words."""

from __future__ import annotations

from collections.abc import Iterator

from certattn.kernel.decide.theorem import Sections
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.normalizer_bound import (
    COUNT,
    DISTANCE,
    DRAWN,
    ENTROPY,
    LEAST,
    MEAN_SQUARE,
    POSITIVE,
    PROBABILITY,
    SECOND,
    STABLE_RANK,
    TOP,
)
from certattn.kernel.theorems.spectrum.score_matrix import MOST, score_matrix
from certattn.statements.spectrum.score_matrix import TYPICAL, random_attention_words
from certattn.statements.wording import Statement, Wording

_BOUNDS = {MEAN_SQUARE: ("E W_2^2", r"\mathbb E\, W_2^2"), DISTANCE: ("E W_2", r"\mathbb E\, W_2")}
_SENTENCES = {
    "finite": "p > 12 beta^2, so E t^4 is finite",
    "mean_square": "E W_2^2 <= bound <= at_most",
    "distance": "E W_2 <= bound^(1/2) <= at_most",
    **TYPICAL,
    "drawn.stable_rank": "E m_2(T) < (1 - theta)^2 (at_most - 1)",
    "drawn.top": "E m_2(T) < (1 - theta)^2 (d at_most^2 / count - 1)",
    "drawn.entropy": "beta^2/2 < (1 - theta) (log d - at_least)",
    "drawn.probability": "P(normalisers are low, or something is exceeded) <= bound <= probability",
}


def statement(stated: Sections) -> Statement:
    head = random_attention_words(stated.given, score_matrix(stated.given))
    asserted = [
        (*_BOUNDS[field], describe(stated.asserts[field][MOST])) for field in _BOUNDS if field in stated.asserts
    ]
    latex = [rf"{formula} \le {most}" for _, formula, most in asserted]
    said = []
    if asserted:
        bounds = [f"{words} <= {most}" for words, _, most in asserted]
        said.append(
            "for the distance W_2 between the empirical laws of the singular values of sqrt(d) (A - 11'/d) and of T Pi"
            f", {' and '.join(bounds)}"
        )
    if DRAWN in stated.asserts:
        drawn = stated.asserts[DRAWN]
        events, chance = list(_events(drawn)), describe(drawn[PROBABILITY])
        said.append(
            f"except with a probability of at most {chance}, all at once, {', '.join(words for words, _ in events)}"
        )
        latex += [formula for _, formula in events]
        latex.append(rf"\mathbb P(\text{{all of this}}) \ge 1 - {chance}")
    return Statement(f"{head}: {'; and '.join(said)}.", r",\qquad ".join(latex))


def _events(drawn: Values) -> Iterator[tuple[str, str]]:
    """What is stated of A, in words and LaTeX."""
    if SECOND in drawn:
        most = describe(drawn[SECOND][POSITIVE])
        # The square is that of the whole number, which may be a fraction.
        words = f"sigma_2(A) <= {most} and sigma_1(A)^2 <= 1 + ({most})^2 for the two largest singular values of A"
        yield words, rf"\sigma_2(A) \le {most},\quad \sigma_1(A)^2 \le 1 + ({most})^2"
    if STABLE_RANK in drawn:
        most = describe(drawn[STABLE_RANK][MOST])
        yield (
            f"the stable rank |A|_F^2/sigma_1(A)^2 of A is at most {most}",
            rf"\lVert A \rVert_F^2/\sigma_1(A)^2 \le {most}",
        )
    if ENTROPY in drawn:
        least = describe(drawn[ENTROPY][LEAST])
        yield (
            f"the mean over the rows of A of their entropies, in nats, is at least {least}",
            rf"\frac1d \sum_i H(A_i) \ge {least}",
        )
    for item in drawn.items(TOP):
        count, most = item[COUNT], describe(item[POSITIVE])
        of = "the largest weight" if count == 1 else f"the sum of the {count} largest weights"
        yield (
            f"the mean over the rows of A of {of} is at most {most}",
            rf"\frac1d \sum_i \sum_{{j \le {count}}} A_{{i(j)}} \le {most}",
        )


def sentence(stated: Sections, name: str) -> str:
    return _SENTENCES[name.partition("[")[0]]


WORDING = Wording[Sections](statement, sentence)
