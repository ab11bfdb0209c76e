"""`softmax-mean` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, fmpq

from certattn.kernel.given.prompt_inputs import StatedPrompt
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.softmax_moments import COVARIANCES
from certattn.kernel.theorems.attention.softmax_mean import (
    COVARIANCE,
    LARGEST,
    LOG_NORMALISER,
    MEAN,
    SMALLEST,
    AssertedMoments,
    Assertion,
    CovarianceAssertion,
    LogAssertion,
    MeanAssertion,
    RangeAssertion,
)
from certattn.statements.wording import Answer, Statement, Wording, show

_LATEX = {of: rf"\operatorname{{Cov}}_{{q_i}}({x[0]}, {y[0]})" for of, (x, y) in COVARIANCES.items()}
# The left sides.
_SIDES = {
    MEAN: "|T(q) - value|_linf",
    COVARIANCE: "the largest entry of |Cov - value|",
    LOG_NORMALISER: "|log Z(q) - value|",
    SMALLEST: "smallest eigenvalue",
    LARGEST: "largest eigenvalue",
}


def statement(stated: AssertedMoments) -> Statement:
    prompt = stated.prompt
    queries = f"each of {prompt.count} queries" if prompt.count > 1 else "one query"
    score = f"e^({prompt.score_words})"
    said = [_said(assertion, prompt) for assertion in stated.assertions]
    words = (
        f"For {queries} q and a prompt of {prompt.words()}, each token weighted by {score} / Z(q) "
        f"where Z(q) is the sum of {score} over the tokens: {'; '.join(words for words, _ in said)}."
    )
    return Statement(words, r",\qquad ".join([*(latex for _, latex in said), r"\forall i"]))


def _said(assertion: Assertion, prompt: StatedPrompt) -> tuple[str, str]:
    """What is asserted, every number in it; and the same as a formula."""
    if isinstance(assertion, RangeAssertion):
        return _range(assertion, prompt)
    if isinstance(assertion, CovarianceAssertion):
        value = f"{assertion.value.words()} up to {assertion.radius.words()} in every entry"
        words = f"the covariance Cov of {_whose(assertion.whose, prompt)} is {value}"
        return words, rf"\| {_LATEX[assertion.whose]} - C_i \|_{{\max}} \le \rho_i"
    if isinstance(assertion, MeanAssertion):
        value = f"{assertion.value.words()} up to {assertion.radius.words()} in every coordinate"
        return f"the mean T(q) of the values is {value}", r"\| T(q_i) - t_i \|_\infty \le r_i"
    assert isinstance(assertion, LogAssertion)
    words = f"log Z(q) is {assertion.value.words()} up to {assertion.radius.words()}"
    return words, r"| \log Z(q_i) - z_i | \le \epsilon_i"


def _range(assertion: RangeAssertion, prompt: StatedPrompt) -> tuple[str, str]:
    ends = (("at least", assertion.lower), ("at most", assertion.upper))
    bounds = " and ".join(f"{side} {bounds.words()}" for side, bounds in ends if bounds is not None)
    low = r"a_i \le " if assertion.lower is not None else ""
    high = r" \le b_i" if assertion.upper is not None else ""
    words = f"every eigenvalue of the covariance of {_whose(assertion.of, prompt)} is {bounds}"
    return words, rf"{low}\lambda({_LATEX[assertion.of]}){high}"


def _whose(of: str, prompt: StatedPrompt) -> str:
    """Whose covariance; with U there is no other key than the token itself."""
    keys = "the keys" if prompt.weights is None or prompt.weights.U is None else "the keys, which are the tokens"
    return {"values": "the values", "keys": keys, "values-keys": f"the values (rows) and {keys} (columns)"}[of]


def sentence(stated: AssertedMoments, name: str) -> str:
    kind, _, query = name.removesuffix("]").rpartition("[")
    article = "the " if kind in (SMALLEST, LARGEST) else ""
    return f"{article}{_SIDES[kind]} at query {query}"


def findings(stated: AssertedMoments, obligations: Sequence[Answer]) -> list[str]:
    """The query that comes nearest to its bound, for each thing that is asserted."""
    lines = []
    for kind in stated.compared:
        slacks = [(_slack(o), o) for o in obligations if o.name.startswith(f"{kind}[")]
        found = [(slack, o) for slack, o in slacks if slack is not None]
        if found:
            slack, worst = min(found, key=lambda pair: pair[0])
            place, shown = worst.name.removeprefix(kind), slack.str(3, radius=False)
            lines.append(f"worst query {place}: {_SIDES[kind]} {show(worst.left)}, slack {shown}")
    return lines


def _slack(obligation: Answer) -> arb | None:
    """How far the bound is from the enclosure, at least: negative where they overlap, or worse."""
    value, bound = obligation.left, obligation.right
    if not isinstance(value, arb) or not isinstance(bound, fmpq) or value.is_finite() is not True:
        return None
    with working_precision(2 * (obligation.bits or 2)):
        return (bound - value if obligation.relation == "<=" else value - bound).lower()


WORDING = Wording[AssertedMoments](statement, sentence, findings)
