"""`attention-spectrum` in words."""

from __future__ import annotations

from certattn.kernel.decide.theorem import Sections
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.attention_spectrum import (
    APART,
    ETA,
    FROM,
    LEAST,
    PROBABILITY,
    TRANSFORM,
    WITHIN,
)
from certattn.kernel.theorems.spectrum.score_matrix import BETA, LAMBDA
from certattn.statements.spectrum.score_matrix import TYPICAL_QUERIES
from certattn.statements.wording import Statement, Wording

_SENTENCES = {
    **TYPICAL_QUERIES,
    "share": "share, how probable it is that a step fails that rests on a variance",
    "tail.above": "tail, how probable it is that another step fails",
    "tail.below": "tail, how probable it is that another step fails",
    "falls.lengths": "long queries become no more probable with more tokens",
    "falls.products": "large products of queries become no more probable with more tokens",
    "falls.normalisers": "small normalisers become no more probable with more tokens",
    "probability": "P(something is not typical, or a step fails) <= bound <= probability",
    "apart.smaller": "quarter circle laws of the smaller second moments are apart: margin >= at_least",
    "apart.larger": "quarter circle laws of the larger second moments are apart: margin >= at_least",
}


def statement(stated: Sections) -> Statement:
    given, asserts = stated.given, stated.asserts
    chance, ratio = describe(asserts[PROBABILITY]), describe(given[LAMBDA])
    near = [f"|s_M - s_mu| <= {describe(item[WITHIN])} at eta = {describe(item[ETA])}" for item in asserts[TRANSFORM]]
    far = ""
    if APART in asserts:
        far = (
            "; and the Kolmogorov distance of the empirical law of the singular values of M to every quarter circle "
            f"law, of any radius, is at least {describe(asserts[APART][LEAST])}"
        )
    words = (
        f"For every d >= {given[FROM]} with p = lambda d (lambda = {ratio}) a whole number, d queries x_i and as many "
        f"keys k_j, all independent N(0, I_p), scores S_ij = x_i.k_j/sqrt(p), beta = {describe(given[BETA])}, "
        "A = softmax(beta S) by rows, M = sqrt(d) (A - 11'/d), s_M = tr((MM' + eta)^-1)/d and s_mu the mean of "
        "1/(x^2 + eta) under the limit law mu of the singular values for these beta and lambda: except with a "
        f"probability of at most {chance}, all at once, {', '.join(near)}{far}."
    )
    events = [
        rf"\lvert s_M(-{describe(item[ETA])}) - s_\mu(-{describe(item[ETA])}) \rvert \le {describe(item[WITHIN])}"
        for item in asserts[TRANSFORM]
    ]
    if APART in asserts:
        events.append(
            rf"\inf_r \lVert F_M - F_{{\mathrm{{qc}}(r)}} \rVert_\infty \ge {describe(asserts[APART][LEAST])}"
        )
    # Gaps are where lines may break.
    latex = r",\qquad ".join([*events, rf"\mathbb P(\text{{all of this}}) \ge 1 - {chance},\quad d \ge {given[FROM]}"])
    return Statement(words, latex)


def sentence(stated: Sections, name: str) -> str:
    return _SENTENCES.get(name, "|s_M - s_mu| <= bound <= within")


def trivial(stated: Sections) -> list[str]:
    """Bounds that hold of any matrix: transforms lie between 0 and 1/eta."""
    return [
        f"transform[{index}].within is {describe(item[WITHIN])}, at least 1/eta, which holds of any matrix: it says "
        "nothing"
        for index, item in enumerate(stated.asserts.items(TRANSFORM))
        if (item[WITHIN] * item[ETA] >= 1) is True
    ]


WORDING = Wording[Sections](statement, sentence, lambda stated, answers: trivial(stated))
