"""`regression-risk` in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.schema import Field, Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.regression import COVARIANCE, A, B, Parameters, exact_regression
from certattn.kernel.theorems.training.regression_risk import (
    ALONG,
    AT,
    BAYES,
    ENDPOINT,
    GRADIENT,
    INVARIANT,
    PREDICTION,
    PREDICTIONS,
    QUERY,
    RADIUS,
    RISK,
    SADDLE,
    SECOND,
    SECOND_DERIVATIVE,
    STATIONARY,
    TASK,
    TRACE,
    RiskAtPoint,
)
from certattn.kernel.theorems.training.shifted_risk import RISK as SHIFTED_RISK
from certattn.kernel.theorems.training.shifted_risk import SHIFT
from certattn.statements.training.given import SHIFT_LATEX, SHIFT_SENTENCE, parameters_words, shift_words
from certattn.statements.wording import Answer, Outcome, Statement, Wording, cut

_SHOWN = 4
_SENTENCES = {
    "risk": "R = 1/2 tr(E Sigma E')",
    "gradient.A": "dR/dA = b Sigma E Sigma",
    "gradient.b": "dR/db = tr(A'Sigma E Sigma)",
    "invariant": "invariant = |A|_F^2 - b^2",
    "second_derivative": "value = |D Sigma^(1/2)|_F^2 + 2 h tr(H'Sigma E Sigma), D = h Sigma A + b Sigma H",
    "stationary": "b Sigma A = I",
    "stationary.A": "tr(Sigma^2 A) = 0",
    "stationary.b": "b = 0",
    "endpoint.A": "|A* - A| <= radius in every entry",
    "endpoint.b": "|b* - b| <= radius",
    "endpoint.trace": "trace = tr(Sigma^-2)",
    "shift": f"{SHIFT_SENTENCE}, F = b T A - I",
}
_STATIONARY_WORDS = {
    BAYES: "b Sigma A = I, so <w, x> is predicted for every w and x, and R = 0",
    SADDLE: "the gradient of R vanishes and its second derivatives take both signs: a saddle, where R = tr(Sigma)/2",
}
_LATEX: dict[Field[Any], str] = {
    RISK: r"\tfrac12 \operatorname{tr}(E \Sigma E^\top) = NUMBER, \quad E = b \Sigma A - I",
    GRADIENT: r"\nabla R(A, b) = (G, g)",
    INVARIANT: r"\|A\|_F^2 - b^2 = NUMBER",
    SECOND_DERIVATIVE: r"\nabla^2 R(A, b)[(H, h)] = q",
    STATIONARY: "",
    PREDICTIONS: r"b\, w_i^\top \Sigma A x_i = v_i",
    ENDPOINT: r"A_* = \Sigma^{-1} / b_*, \quad b_*^4 + \delta b_*^2 = \operatorname{tr} \Sigma^{-2}",
    SHIFT: rf"{SHIFT_LATEX} = NUMBER, \quad F = b T A - I",
}
_STATIONARY_LATEX = {BAYES: r"b \Sigma A = I", SADDLE: r"b = 0, \quad \operatorname{tr}(\Sigma^2 A) = 0"}


def statement(stated: RiskAtPoint) -> Statement:
    given, asserts = stated.given, stated.asserts
    head = (
        f"For in-context regression with tokens and query of N(0, Sigma), Sigma = {given[COVARIANCE].words()}, labels "
        f"<w, x_i> and w ~ N(0, I), at {parameters_words(given[AT])}, where attention over the infinite prompt "
        "predicts b w'Sigma A x for <w, x> with the risk R(A, b) = 1/2 E (b w'Sigma A x - <w, x>)^2:"
    )
    latex = [
        _STATIONARY_LATEX[asserts[STATIONARY]]
        if field is STATIONARY
        else shown.replace("NUMBER", _number(asserts, field) if "NUMBER" in shown else "")
        for field, shown in _LATEX.items()
        if field in asserts
    ]
    return Statement(f"{head} {'; '.join(_asserted_words(asserts, stated.at))}.", r",\qquad ".join(latex))


def _number(asserts: Values, field: Field[Any]) -> str:
    return describe(asserts[SHIFT][SHIFTED_RISK] if field is SHIFT else asserts[field])


def _asserted_words(asserts: Values, at: Parameters) -> list[str]:
    """A piece for each assertion."""
    words = []
    if RISK in asserts:
        words.append(f"R = {describe(asserts[RISK])}")
    if GRADIENT in asserts:
        slope = asserts[GRADIENT]
        words.append(f"dR/dA = {slope[A].words()} and dR/db = {describe(slope[B])}")
    if INVARIANT in asserts:
        words.append(f"|A|_F^2 - b^2 = {describe(asserts[INVARIANT])}")
    if SECOND_DERIVATIVE in asserts:
        second = asserts[SECOND_DERIVATIVE]
        H, h = second[ALONG][A].words(), describe(second[ALONG][B])
        words.append(f"the second derivative of R along H = {H}, h = {h} is {describe(second[SECOND])}")
    if STATIONARY in asserts:
        words.append(_STATIONARY_WORDS[asserts[STATIONARY]])
    predictions = asserts.get(PREDICTIONS) or []
    words += cut(map(_prediction_words, predictions), _SHOWN, "{} more predictions are as stated")
    if ENDPOINT in asserts:
        words += _endpoint_words(asserts[ENDPOINT], at)
    if SHIFT in asserts:
        words.append(shift_words(asserts[SHIFT]))
    return words


def _prediction_words(prediction: Values) -> str:
    inputs: tuple[MatrixInput, MatrixInput] = (prediction[TASK], prediction[QUERY])
    w, x = (matrix.words() for matrix in inputs)
    return f"the prediction at w = {w}, x = {x} is {describe(prediction[PREDICTION])}"


def _endpoint_words(endpoint: Values, at: Parameters) -> list[str]:
    sign, delta = "positive" if at.b > 0 else "negative", describe(at.invariant())
    words = [
        f"the point (A*, b*) with b* Sigma A* = I, |A*|_F^2 - b*^2 = {delta} as here and b* {sign} is "
        f"{parameters_words(endpoint)} up to {describe(endpoint[RADIUS])} in every entry of A and in b"
    ]
    if TRACE in endpoint:
        rest = f" + ({delta}) b*^2" if at.invariant() != 0 else ""
        words.append(f"b*^4{rest} = tr(Sigma^-2) = {describe(endpoint[TRACE])}")
    return words


def sentence(stated: RiskAtPoint, name: str) -> str:
    if name.startswith("predictions["):
        index = name.removeprefix("predictions[").removesuffix("]")
        return f"value {index} = b w'Sigma A x"
    return _SENTENCES[name]


def findings(stated: RiskAtPoint, decided: Sequence[Answer]) -> list[str]:
    if any(o.name == "stationary" and o.outcome is Outcome.REFUTED for o in decided):
        return [f"no Bayes point: the risk there is {describe(exact_regression(stated.covariance).risk(stated.at))}"]
    return []


WORDING = Wording[RiskAtPoint](statement, sentence, findings)
