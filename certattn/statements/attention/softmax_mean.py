"""`softmax-mean` in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flint import arb, fmpq

from certattn.kernel.document.schema import Values
from certattn.kernel.given.prompts import StatedPrompt
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.softmax_moments import COVARIANCES
from certattn.kernel.theorems.attention.softmax_mean import (
    COUNT,
    COVARIANCE,
    COVARIANCE_VALUE,
    EIGENVALUES,
    ENTROPY,
    LARGEST,
    LOG_NORMALISER,
    LOG_VALUE,
    MEAN,
    MEAN_VALUE,
    NO_LARGER,
    NO_SMALLER,
    RADIUS,
    SMALLEST,
    TOP,
    AssertedMoments,
)
from certattn.statements.attention.scales import forgotten_scale
from certattn.statements.given import bounds_words, matrices_words, prompt_words, score_words
from certattn.statements.wording import Answer, Statement, Wording, show

_LATEX = {of: rf"\operatorname{{Cov}}_{{q_i}}({x[0]}, {y[0]})" for of, (x, y) in COVARIANCES.items()}
# The left sides that need no article.
_DISTANCES = {
    MEAN.name: "|T(q) - value|_linf",
    COVARIANCE.name: "the largest entry of |Cov - value|",
    LOG_NORMALISER.name: "|log Z(q) - value|",
}


def statement(stated: AssertedMoments) -> Statement:
    prompt = stated.prompt
    queries = f"each of {prompt.count} queries" if prompt.count > 1 else "one query"
    score = f"e^({score_words(prompt)})"
    said = list(_said(stated))
    words = (
        f"For {queries} q and a prompt of {prompt_words(prompt)}, each token weighted by {score} / Z(q), "
        f"where Z(q) is the sum of {score} over the tokens: {'; '.join(words for words, _ in said)}."
    )
    return Statement(words, r",\qquad ".join([*(latex for _, latex in said), r"\forall i"]))


def _said(stated: AssertedMoments) -> Iterator[tuple[str, str]]:
    """What is asserted, every number in it; and the same as a formula."""
    prompt, asserts = stated.prompt, stated.asserts
    if MEAN in asserts:
        mean = asserts[MEAN]
        value = f"{mean[MEAN_VALUE].words()} up to {bounds_words(mean[RADIUS])} in every coordinate"
        yield f"the mean T(q) of the values is {value}", r"\| T(q_i) - t_i \|_\infty \le r_i"
    if COVARIANCE in asserts:
        covariance, of = asserts[COVARIANCE], stated.whose(COVARIANCE)
        value, radius = matrices_words(covariance[COVARIANCE_VALUE].parts), bounds_words(covariance[RADIUS])
        words = f"the covariance Cov of {_whose(of, prompt)} is {value} up to {radius} in every entry"
        yield words, rf"\| {_LATEX[of]} - C_i \|_{{\max}} \le \rho_i"
    if EIGENVALUES in asserts:
        yield _range(asserts[EIGENVALUES], stated.whose(EIGENVALUES), prompt)
    if LOG_NORMALISER in asserts:
        log = asserts[LOG_NORMALISER]
        words = f"log Z(q) is {log[LOG_VALUE].words()} up to {bounds_words(log[RADIUS])}"
        yield words, r"| \log Z(q_i) - z_i | \le \epsilon_i"
    if ENTROPY in asserts:
        formula = r"-\sum_j p_j(q_i) \log p_j(q_i)"
        yield _between(asserts[ENTROPY], "the entropy of these weights, in nats,", formula, "hH")
    for ends in asserts.items(TOP):
        count = ends[COUNT]
        words = "the largest of these weights" if count == 1 else f"the sum of the {count} largest of these weights"
        yield _between(ends, words, rf"\sum_{{j \le {ends[COUNT]}}} p_{{(j)}}(q_i)", "mM")


def _range(ends: Values, of: str, prompt: StatedPrompt) -> tuple[str, str]:
    words = f"every eigenvalue of the covariance of {_whose(of, prompt)}"
    return _between(ends, words, rf"\lambda({_LATEX[of]})", "ab")


def _between(ends: Values, words: str, formula: str, letters: str) -> tuple[str, str]:
    """What is at least and at most so much, in words and as a formula, whose bounds have these two letters."""
    stated = (("at least", ends.get(NO_SMALLER)), ("at most", ends.get(NO_LARGER)))
    bounds = " and ".join(f"{side} {bounds_words(bounds)}" for side, bounds in stated if bounds is not None)
    low = rf"{letters[0]}_i \le " if NO_SMALLER in ends else ""
    high = rf" \le {letters[1]}_i" if NO_LARGER in ends else ""
    return f"{words} is {bounds}", f"{low}{formula}{high}"


def _side(stated: AssertedMoments, kind: str) -> str:
    """The left side of obligations of a kind, without an article."""
    if kind in _DISTANCES:
        return _DISTANCES[kind]
    if kind in (SMALLEST, LARGEST):
        return f"{'smallest' if kind == SMALLEST else 'largest'} eigenvalue"
    part, _, _ = kind.rpartition(".")
    if part == ENTROPY.name:
        return "entropy of the weights"
    ends = stated.asserts[TOP][int(part.removeprefix(f"{TOP.name}[").removesuffix("]"))]
    return f"mass outside the top {ends[COUNT]}"


def _whose(of: str, prompt: StatedPrompt) -> str:
    """Whose covariance; with U there is no other key than the token itself."""
    keys = "the keys" if prompt.weights is None or prompt.weights.U is None else "the keys, which are the tokens"
    return {"values": "the values", "keys": keys, "values-keys": f"the values (rows) and {keys} (columns)"}[of]


def sentence(stated: AssertedMoments, name: str) -> str:
    kind, _, query = name.removesuffix("]").rpartition("[")
    article = "" if kind in _DISTANCES else "the "
    return f"{article}{_side(stated, kind)} at query {query}"


def findings(stated: AssertedMoments, obligations: Sequence[Answer]) -> list[str]:
    """The query that comes nearest to its bound, for each thing that is asserted."""
    lines = []
    for kind in stated.compared:
        slacks = [(_slack(o), o) for o in obligations if o.name.startswith(f"{kind}[")]
        found = [(slack, o) for slack, o in slacks if slack is not None]
        if found:
            slack, worst = min(found, key=lambda pair: pair[0])
            place, shown = worst.name.removeprefix(kind)[1:-1], slack.str(3, radius=False)
            lines.append(f"worst query {place}: {_side(stated, kind)} {show(worst.left)}, slack {shown}")
    return lines + forgotten_scale(stated.prompt.scale, stated.prompt.key_dimension, stated.prompt.inputs)


def _slack(obligation: Answer) -> arb | None:
    """How far the bound is from the enclosure, at least: negative where they overlap, or worse."""
    value, bound = obligation.left, obligation.right
    if not isinstance(value, arb) or not isinstance(bound, fmpq) or value.is_finite() is not True:
        return None
    with working_precision(2 * (obligation.bits or 2)):
        return (bound - value if obligation.relation == "<=" else value - bound).lower()


WORDING = Wording[AssertedMoments](statement, sentence, findings)
