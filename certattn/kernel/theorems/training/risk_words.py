"""What `regression-risk` states, in words and as formulas."""

from __future__ import annotations

from certattn.kernel.document.fields import Values
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.mathematics.regression import Parameters
from certattn.kernel.theorems.training.regression_inputs import COVARIANCE, A, B, parameters_words
from certattn.kernel.theorems.training.risk_assertions import (
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
    Problem,
)

_SHOWN = 4


def words_of(given: Values, asserts: Values, at: Parameters) -> list[str]:
    """How the statement begins, then a piece for each assertion."""
    words = [
        f"For in-context regression with tokens and query of N(0, Sigma), Sigma = {given[COVARIANCE].words()}, labels "
        f"<w, x_i> and w ~ N(0, I), at {parameters_words(given[AT])}, where attention over the infinite prompt "
        "predicts b w'Sigma A x for <w, x> with the risk R(A, b) = 1/2 E (b w'Sigma A x - <w, x>)^2:"
    ]
    if RISK in asserts:
        words.append(f"R = {describe(asserts[RISK])}")
    if GRADIENT in asserts:
        stated = asserts[GRADIENT]
        words.append(f"dR/dA = {stated[A].words()} and dR/db = {describe(stated[B])}")
    if INVARIANT in asserts:
        words.append(f"|A|_F^2 - b^2 = {describe(asserts[INVARIANT])}")
    if SECOND_DERIVATIVE in asserts:
        second = asserts[SECOND_DERIVATIVE]
        H, h = second[ALONG][A].words(), describe(second[ALONG][B])
        words.append(f"the second derivative of R along H = {H}, h = {h} is {describe(second[SECOND])}")
    if STATIONARY in asserts:
        words.append(_STATIONARY_WORDS[asserts[STATIONARY]])
    predictions = asserts.get(PREDICTIONS) or []
    words += [_prediction_words(stated) for stated in predictions[:_SHOWN]]
    if len(predictions) > _SHOWN:
        words.append(f"{len(predictions) - _SHOWN} more predictions are as stated")
    if ENDPOINT in asserts:
        words += _endpoint_words(asserts[ENDPOINT], at)
    return words


_STATIONARY_WORDS = {
    BAYES: "b Sigma A = I, so <w, x> is predicted for every w and x, and R = 0",
    SADDLE: "the gradient of R vanishes and its second derivatives take both signs: a saddle, where R = tr(Sigma)/2",
}


def _prediction_words(stated: Values) -> str:
    inputs: tuple[MatrixInput, MatrixInput] = (stated[TASK], stated[QUERY])
    w, x = (matrix.words() for matrix in inputs)
    return f"the prediction at w = {w}, x = {x} is {describe(stated[PREDICTION])}"


def _endpoint_words(stated: Values, at: Parameters) -> list[str]:
    sign, delta = "positive" if at.b > 0 else "negative", describe(at.invariant())
    words = [
        f"the point (A*, b*) with b* Sigma A* = I, |A*|_F^2 - b*^2 = {delta} as here and b* {sign} is "
        f"{parameters_words(stated)} up to {describe(stated[RADIUS])} in every entry of A and in b"
    ]
    if TRACE in stated:
        rest = f" + ({delta}) b*^2" if at.invariant() != 0 else ""
        words.append(f"b*^4{rest} = tr(Sigma^-2) = {describe(stated[TRACE])}")
    return words


def latex_of(problem: Problem) -> list[str]:
    latex = []
    if problem.risk is not None:
        latex.append(r"\tfrac12 \operatorname{tr}(E \Sigma E^\top) = r, \quad E = b \Sigma A - I")
    if problem.gradient is not None:
        latex.append(r"\nabla R(A, b) = (G, g)")
    if problem.invariant is not None:
        latex.append(r"\|A\|_F^2 - b^2 = \delta")
    if problem.second_derivative is not None:
        latex.append(r"\nabla^2 R(A, b)[(H, h)] = q")
    if problem.stationary is not None:
        latex.append(
            r"b \Sigma A = I" if problem.stationary == BAYES else r"b = 0, \quad \operatorname{tr}(\Sigma^2 A) = 0"
        )
    if problem.predictions:
        latex.append(r"b\, w_i^\top \Sigma A x_i = v_i")
    if problem.endpoint is not None:
        latex.append(r"A_* = \Sigma^{-1} / b_*, \quad b_*^4 + \delta b_*^2 = \operatorname{tr} \Sigma^{-2}")
    return latex
