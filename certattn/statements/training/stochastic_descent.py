"""`stochastic-descent` in words."""

from __future__ import annotations

from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.regression import COVARIANCE, START
from certattn.kernel.theorems.training.stochastic_descent import (
    BATCH,
    LENGTH,
    PROBABILITY,
    RISK,
    STEP,
    STEPS,
    StatedDescent,
)
from certattn.statements.training.given import parameters_words
from certattn.statements.wording import Statement, Wording

_SENTENCES = {
    "tube": "the probability of leaving the tube around descent on infinite prompts",
    "risk": "the largest R_L of the tube after the last step",
}


def statement(stated: StatedDescent) -> Statement:
    given, asserts = stated.given, stated.asserts
    length, steps, batch = given[LENGTH], given[STEPS], given[BATCH]
    risk, confidence = describe(asserts[RISK]), describe(1 - asserts[PROBABILITY])
    drawn = "1 prompt of L tokens that is" if batch == 1 else f"{batch:,} prompts of L tokens that are"
    each, ends = ("", "ends") if steps == 1 else ("each ", "end")
    in_all = "" if steps == 1 else f" ({steps * batch:,} in all)"
    words = (
        "Over prompts of L tokens x_i ~ N(0, Sigma) with labels <w, x_i>, for a query x ~ N(0, Sigma) and w ~ N(0, I), "
        "all independent, let R_L(A, b) be half the mean square error of the prediction b sum_i p_i <w, x_i> of "
        f"<w, x>, p the softmax of <x_i, A x>. With Sigma = {given[COVARIANCE].words()} and from "
        f"{parameters_words(given[START])}, for every L >= {length:,}, "
        f"{counted(steps, 'step')} of gradient descent with the step {describe(given[STEP])}, {each}on "
        f"the mean of the half square errors of {drawn} drawn for it "
        f"independently{in_all}, {ends} with R_L <= {risk} with probability at least "
        f"{confidence}."
    )
    latex = (
        rf"\mathbb P \bigl( R_L(\theta_{{{steps}}}) \le {risk} \bigr) \ge {confidence}, \qquad "
        rf"\theta_{{k+1}} = \theta_k - \eta\,\tfrac1B \textstyle\sum_j \nabla \ell_{{kj}}(\theta_k), \quad "
        rf"\eta = {describe(given[STEP])}, \ B = {batch}, \quad L \ge {length}"
    )
    return Statement(words, latex)


def sentence(stated: StatedDescent, name: str) -> str:
    return _SENTENCES[name]


WORDING = Wording[StatedDescent](statement, sentence)
