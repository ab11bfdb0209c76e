"""`universality-bound` in words."""

from __future__ import annotations

from flint import fmpq

from certattn.kernel.decide.theorem import Sections
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.score_matrix import BETA, MOST
from certattn.kernel.theorems.spectrum.universality_bound import (
    CONCENTRATION,
    DEVIATION,
    EQUIVALENCE,
    ETA,
    LINEARISATION,
    QUERIES,
    UNIVERSALITY,
    random_scores,
)
from certattn.statements.ranges import range_latex, range_sentence, range_words
from certattn.statements.spectrum.score_matrix import TYPICAL_QUERIES, random_attention_words
from certattn.statements.wording import Statement, Wording

_LATEX = {
    UNIVERSALITY: r"\lvert \mathbb E_K s_T(-\eta) - \mathbb E_Z s_N(-\eta) \rvert",
    CONCENTRATION: r"\mathbb P(\lvert s_T(-\eta) - \mathbb E s_T(-\eta) \rvert \ge DEVIATION)",
    LINEARISATION: r"\mathbb E \lVert \Sigma - \Sigma_{\mathrm{lin}} \rVert_F^2",
    EQUIVALENCE: r"\lvert \mathbb E s_{\sqrt d A_\perp}(-\eta) - \mathbb E s_Y(-\eta) \rvert",
}
_FINITE = "p > {} beta^2, so the means that are needed are finite"
_OF_RANDOM = {
    **TYPICAL_QUERIES,
    "universality.finite": _FINITE.format(12),
    "universality": "E |E[s_T | X] - E[s_N | X]| <= bound <= at_most",
    "concentration": "P(|s_T - E s_T| >= deviation) <= 2 exp(-d eta^2 deviation^2) <= at_most",
    "linearisation.finite": _FINITE.format(4),
    "linearisation.at_least": range_sentence("E |Sigma - Sigma_lin|_F^2", "at_least"),
    "linearisation.at_most": range_sentence("E |Sigma - Sigma_lin|_F^2", "at_most"),
    "equivalence.finite": _FINITE.format(12),
    "equivalence": "|E s_M - E s_Y| <= bound <= at_most",
}
_OF_GIVEN = {
    "universality": "|E s_T - E s_N| <= bound <= at_most",
    "concentration": "P(|s_T - E s_T| >= deviation) <= 2 exp(-2 d eta^2 deviation^2) <= at_most",
}


def statement(stated: Sections) -> Statement:
    asserts = stated.asserts
    latex = [range_latex(asserts[field], formula) for field, formula in _LATEX.items() if field in asserts]
    shown = r",\qquad ".join(latex)
    if CONCENTRATION in asserts:
        shown = shown.replace("DEVIATION", describe(asserts[CONCENTRATION][DEVIATION]))
    return Statement(f"{_words(stated.given, asserts)}.", shown)


def sentence(stated: Sections, name: str) -> str:
    return (_OF_GIVEN if QUERIES in stated.given else _OF_RANDOM)[name]


def _words(given: Values, asserts: Values) -> str:
    scores, eta = random_scores(given), describe(given[ETA])
    found = []
    if scores is None:
        d, p = given[QUERIES].shape
        head = (
            f"For the d = {d} queries x_i in dimension p = {p} that are the rows of X = {given[QUERIES].words()}, as "
            "many keys k_j, independent N(0, I_p), scores S_ij = x_i.k_j/sqrt(p), "
            f"beta = {describe(given[BETA])} and the matrix T of the entries (exp(beta S_ij - beta^2 |x_i|^2/(2p)) - "
            "1)/sqrt(d)"
        )
        difference, over = "|E s_T - E s_N|", "over keys, the queries being fixed"
    else:
        head = random_attention_words(given, scores)
        difference, over = "E |E[s_T | X] - E[s_N | X]|, X the queries,", "over queries and keys"
    head += (
        f", with s_M = tr((MM' + eta)^-1)/d for d x d matrices M, eta = {eta}, and N with independent Gaussian columns "
        "of the covariance Sigma/d that those of T have given the queries, Sigma_ij = exp(beta^2 x_i.x_j/p) - 1: "
    )
    if UNIVERSALITY in asserts:
        found.append(f"{difference} is at most {describe(asserts[UNIVERSALITY][MOST])}")
    if CONCENTRATION in asserts:
        stated = asserts[CONCENTRATION]
        found.append(f"P(|s_T - E s_T| >= {describe(stated[DEVIATION])}) <= {describe(stated[MOST])}, {over}")
    if LINEARISATION in asserts:
        found.append(
            "E |Sigma - Sigma_lin|_F^2 with Sigma_lin = alpha^2 I + beta^2 XX'/p, alpha^2 = exp(beta^2) - 1 - beta^2, "
            f"is finite and {range_words(asserts[LINEARISATION])}"
        )
    if EQUIVALENCE in asserts:
        found.append(
            "|E s_M - E s_Y| for M = sqrt(d) (A - 11'/d) and Y = (alpha Z + beta S)/sqrt(d), Z of independent N(0, 1), "
            f"alpha^2 = exp(beta^2) - 1 - beta^2, is at most {describe(asserts[EQUIVALENCE][MOST])}"
        )
    return head + "; ".join(found)


def trivial(stated: Sections) -> list[str]:
    """Bounds that hold of any matrix: what is compared lies between 0 and 1/eta, and a probability below 1."""
    most = {UNIVERSALITY: 1 / stated.given[ETA], EQUIVALENCE: 1 / stated.given[ETA], CONCENTRATION: fmpq(1)}
    return [
        f"{field.name}.at_most is at least {describe(largest)}, which holds of any matrix: it says nothing"
        for field, largest in most.items()
        if field in stated.asserts and (stated.asserts[field][MOST] >= largest) is True
    ]


WORDING = Wording[Sections](statement, sentence, lambda stated, answers: trivial(stated))
