"""`full-batch-descent` in words."""

from __future__ import annotations

from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.full_batch_descent import PROMPTS, StatedDescent
from certattn.kernel.theorems.training.regression import COVARIANCE, START
from certattn.kernel.theorems.training.stochastic_descent import PROBABILITY, RISK, STEP, STEPS
from certattn.statements.training.given import parameters_words
from certattn.statements.wording import Statement, Wording

_SENTENCES = {
    "tube": "the probability of leaving the tube around descent on the risk of infinite prompts",
    "after": "the last step of the tube",
    "gentle": "the step times the largest second derivative in the ball where the run has settled",
    "near": "how far a run comes that has settled",
    "risk": "the largest risk of infinite prompts after the last step",
}


def statement(stated: StatedDescent) -> Statement:
    given, asserts = stated.given, stated.asserts
    steps, prompts = given[STEPS], given[PROMPTS]
    risk, confidence = describe(asserts[RISK]), describe(1 - asserts[PROBABILITY])
    drawn = "1 prompt" if prompts == 1 else f"{prompts:,} prompts"
    words = (
        "Over prompts of L tokens x_i ~ N(0, Sigma) with labels <w, x_i>, for a query x ~ N(0, Sigma) and w ~ N(0, I), "
        "all independent, let R_L(A, b) be half the mean square error of the prediction b sum_i p_i <w, x_i> of "
        f"<w, x>, p the softmax of <x_i, A x>. Of {drawn}, or more, the queries, the w and "
        "sequences of tokens are drawn once, and prompts of L tokens have the first L. With Sigma = "
        f"{given[COVARIANCE].words()} and from {parameters_words(given[START])}, with probability at least "
        f"{confidence}, for every L from some length on, which may depend on what was drawn, {counted(steps, 'step')} "
        f"of gradient descent with the step {describe(given[STEP])}, {'' if steps == 1 else 'each '}on the mean of the "
        f"half square errors of all these prompts of L tokens, {'ends' if steps == 1 else 'end'} with R_L <= {risk}."
    )
    latex = (
        rf"\mathbb P \bigl( \exists L_0 \ \forall L \ge L_0 \colon R_L(\theta_{{{steps}}}) \le {risk} \bigr) "
        rf"\ge {confidence}, \qquad "
        rf"\theta_{{k+1}} = \theta_k - \eta\,\tfrac1N \textstyle\sum_j \nabla \ell_j(\theta_k), \quad "
        rf"\eta = {describe(given[STEP])}, \ N \ge {prompts}"
    )
    return Statement(words, latex)


def sentence(stated: StatedDescent, name: str) -> str:
    return _SENTENCES[name]


WORDING = Wording[StatedDescent](statement, sentence)
