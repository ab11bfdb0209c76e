"""`training-convergence` in words."""

from __future__ import annotations

from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.regression import COVARIANCE, LOWER, START, UPPER, exact_regression
from certattn.kernel.theorems.training.shifted_risk import RISK as SHIFTED_RISK
from certattn.kernel.theorems.training.shifted_risk import SHIFT
from certattn.kernel.theorems.training.training_convergence import (
    AT,
    AT_MOST,
    INVARIANT,
    LENGTH,
    LIMIT,
    RADIUS,
    RATE,
    RISK,
    RISKS,
    SIGN,
    SIGNS,
    StatedTraining,
)
from certattn.statements.training.given import SHIFT_LATEX, SHIFT_SENTENCE, parameters_words, shift_words
from certattn.statements.wording import Statement, Wording

_SENTENCES = {
    "enclosed": "the time witness.enclosed until which the run is enclosed, against asserts.from",
    "rate": "the rate that is proved",
    "length": "the bound on the length",
    "limit.shift": f"{SHIFT_SENTENCE}, F = T Sigma^-1 - I",
}


def statement(stated: StatedTraining) -> Statement:
    asserts = stated.asserts
    time, begins, step = _time(stated), describe(stated.begins), stated.step
    risk, rate = describe(asserts[RISK]), describe(asserts[RATE])
    later = time if stated.begins == 0 else f"({time} - {begins})"
    if step is not None:
        rule = f"gradient descent (A, b) -> (A, b) - eta grad R(A, b) with eta = {describe(step)}"
        fall, half = f"(1 - 2 eta c)^{later}", f"(1 - 2 eta c)^({later}/2)"
        latex = [rf"R(\theta_k) \le {risk}\,(1 - 2 \eta c)^{{{later}}}"]
    else:
        rule = "the gradient flow (A, b)' = -grad R(A, b)"
        fall, half = f"e^(-2c {later})", f"e^(-c {later})"
        latex = [rf"R(\theta(t)) \le {risk}\,e^{{-2c {later}}}"]
    words = [
        f"For R(A, b) = 1/2 tr(E Sigma E'), E = b Sigma A - I, with Sigma = {stated.given[COVARIANCE].words()}, "
        f"{rule} from {parameters_words(stated.given[START])} at {time} = 0 has "
        f"R <= {risk} {fall} for all {time} >= {begins}, c = {rate}"
    ]
    latex.append(rf"{time} \ge {begins}, \ c = {rate}")
    if LENGTH in asserts:
        length = describe(asserts[LENGTH])
        words.append(
            f"its path from {time} = {begins} on is no longer than {length}, and (A, b) is within {length} {half} "
            "of its limit"
        )
    if LIMIT in asserts:
        words += _limit_words(stated, asserts[LIMIT])
        latex.append(r"\theta \to (\Sigma^{-1}/b_\infty, b_\infty)")
        if SHIFT in asserts[LIMIT]:
            shifted = describe(asserts[LIMIT][SHIFT][SHIFTED_RISK])
            latex.append(rf"{SHIFT_LATEX} = {shifted}, \quad F = T \Sigma^{{-1}} - I")
    words += [f"R <= {describe(one[AT_MOST])} at {time} = {describe(one[AT])}" for one in asserts.items(RISKS)]
    return Statement("; ".join(words) + ".", r",\qquad ".join(latex))


def _time(stated: StatedTraining) -> str:
    return "t" if stated.step is None else "k"


def _limit_words(stated: StatedTraining, limit: Values) -> list[str]:
    """Which zero of R is reached."""
    sign = ">" if limit[SIGN] == SIGNS[0] else "<"
    words = f"b {sign} 0 for all {_time(stated)} >= {describe(stated.begins)}, and (A, b) converges to "
    if stated.step is not None:
        words += f"a Bayes point A = Sigma^-1/b, b {sign} 0"
    else:
        words += (
            f"the Bayes point A = Sigma^-1/b, b {sign} 0, b^2 = (sqrt(delta^2 + 4 tr Sigma^-2) - delta)/2, "
            f"delta = |A(0)|_F^2 - b(0)^2 = {describe(stated.start.invariant())}"
        )
    found = [words]
    if INVARIANT in limit:
        lower, upper = (describe(limit[INVARIANT][bound]) for bound in (LOWER, UPPER))
        found.append(f"there {lower} <= |A|_F^2 - b^2 <= {upper}")
    if RADIUS in limit:
        found.append(
            f"this point is within {describe(limit[RADIUS])} of {parameters_words(limit)} (Euclidean distance)"
        )
    if SHIFT in limit:
        found.append(f"in the limit, over the infinite prompt and {shift_words(limit[SHIFT])}")
    return found


def sentence(stated: StatedTraining, name: str) -> str:
    at = f"at {_time(stated)} = {describe(stated.enclosed)}"
    if name == "inside":
        return _inside(stated, at)
    if name == "step":
        return f"eta beta, beta a bound on the second derivatives of R where R is no larger than {at}"
    if name == "limit.sign":
        return f"b {at}"
    if name == "limit.point":
        return "the distance from the Bayes point" + ("" if stated.step is None else "s that are possible")
    if name.startswith("limit.invariant."):
        side = "least" if name.endswith("lower") else "most"
        return "|A|_F^2 - b^2" if stated.step is None else f"what |A|_F^2 - b^2 is at {side}"
    if name.startswith("risk"):
        time = stated.begins if name == "risk" else stated.asserts[RISKS][int(name[len("risks[") : -1])][AT]
        risk = f"R at {_time(stated)} = {describe(time)}"
        return risk if time <= stated.enclosed else f"the bound on {risk}"
    return _SENTENCES[name]


def _inside(stated: StatedTraining, at: str) -> str:
    """Of two conditions that do, the one that is compared; both where only the enclosed run says which."""
    risk = f"2R {at}, below tr Sigma"
    invariant = "|A|_F^2 - b^2" + ("" if stated.step is None else " + 2 eta R")
    last = stated.start.invariant()
    if stated.step is not None:
        if stated.enclosed != 0:
            return f"{risk}, or {invariant} there, below 0"
        last += 2 * stated.step * exact_regression(stated.covariance).risk(stated.start)
    return f"{invariant} {at}" if last < 0 else risk


WORDING = Wording[StatedTraining](statement, sentence)
