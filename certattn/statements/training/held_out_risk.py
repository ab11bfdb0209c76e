"""`held-out-risk` in words."""

from __future__ import annotations

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.held_out_risk import (
    AT,
    AT_LEAST,
    AT_MOST,
    LARGEST,
    PROBABILITY,
    StatedRisk,
)
from certattn.statements.training.given import parameters_words, prompts_words
from certattn.statements.wording import Statement, Wording

_SENTENCES = {
    "largest.labels": "no observed label is larger than given.largest in absolute value: the largest",
    "largest.targets": "no target is larger than given.largest in absolute value: the largest",
    "at_least": "the p-value of the losses if the risk were at or below at_least <= probability / 2",
    "at_most": "the p-value of the losses if the risk were at or above at_most <= probability / 2",
}


def statement(stated: StatedRisk) -> Statement:
    given, asserts = stated.held_out.given, stated.asserts
    ends = [(AT_LEAST, "at least", r"\ge"), (AT_MOST, "at most", r"\le")]
    confidence, chance = describe(1 - given[PROBABILITY]), describe(given[PROBABILITY])
    where = " and ".join(f"{words} {describe(asserts[end])}" for end, words, _ in ends if end in asserts)
    bounded = (
        f", labels and targets have absolute values of at most {describe(given[LARGEST])} with certainty"
        if LARGEST in given
        else ""
    )
    alone = stated.held_out.prompts.count == 1
    chosen = f"parameters, {'bound, ' if LARGEST in given else ''}probability and the number of prompts"
    both = AT_LEAST in asserts and AT_MOST in asserts
    rule = "both ends are no sharper than those" if both else "the end is no sharper than that"
    words = (
        f"At confidence {confidence}, the risk R = 1/2 E (b sum_i p_i y_i - t)^2 of attention with "
        f"{parameters_words(given[AT])} is {where}, where p is the softmax of <x_i, A x> over the tokens x_i of a "
        "prompt with labels y_i, for its query x and target t; if prompts have different laws, R is the average over "
        f"them. Observed: {prompts_words(stated.held_out.prompts)}. Assumed, and no part of the proof: "
        f"{'the prompt is' if alone else 'the prompts are'} drawn independently (within a prompt anything may depend "
        f"on anything){bounded}, and {chosen} were chosen without looking at them. Proved: {rule} of a rule that is "
        f"fixed beforehand, and over the drawing of the prompts that rule fails with probability at most {chance}."
    )
    latex = rf"\text{{at confidence }} {confidence}: \quad " + r",\quad ".join(
        rf"\tfrac12 \mathbb E \bigl( b \textstyle\sum_i p_i y_i - t \bigr)^2 {relation} {describe(asserts[end])}"
        for end, _, relation in ends
        if end in asserts
    )
    return Statement(words, latex)


def sentence(stated: StatedRisk, name: str) -> str:
    return _SENTENCES[name]


WORDING = Wording[StatedRisk](statement, sentence)
