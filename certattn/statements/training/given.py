"""What the claims about training are given, in words."""

from __future__ import annotations

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe, digest
from certattn.kernel.theorems.training.regression import A, B
from certattn.kernel.theorems.training.shifted_risk import QUERY, RISK, TASKS
from certattn.kernel.theorems.training.shifted_risk import TOKENS as SHIFTED_TOKENS
from certattn.kernel.theorems.training.stated_prompts import LABELS, QUERIES, TARGETS, TOKENS, StatedPrompts

_SHOWN_LENGTHS = 16
# Of the covariances T, Q and W of tokens, query and tasks at test time.
SHIFT_SENTENCE = "risk at test time = 1/2 tr(W F Q F')"
SHIFT_LATEX = r"\tfrac12 \operatorname{tr}(W F Q F^\top)"


def parameters_words(values: Values) -> str:
    """A and b: the numbers where few are written out."""
    return f"A = {values[A].words()} and b = {describe(values[B])}"


def shift_words(shift: Values) -> str:
    """The laws at test time, all three of them, and the risk."""
    T, Q = (shift[field].words() if field in shift else "Sigma" for field in (SHIFTED_TOKENS, QUERY))
    W = shift[TASKS].words() if TASKS in shift else "I"
    return (
        f"at test time, with tokens of N(0, T), T = {T}, the query x of N(0, Q), Q = {Q}, and w ~ N(0, W), W = {W}, "
        f"the risk 1/2 E (b w'T A x - <w, x>)^2 is {describe(shift[RISK])}"
    )


def prompts_words(prompts: StatedPrompts) -> str:
    """How many, how long, and where their numbers stand."""
    given = prompts.given
    labels = f", labels: {given[LABELS].words()}" if LABELS in given else ""
    return (
        f"{counted(prompts.count, 'prompt')} of {_length_words(prompts)} (tokens: {given[TOKENS].words()}{labels}, "
        f"queries: {given[QUERIES].words()}, targets: {given[TARGETS].words()})"
    )


def _length_words(prompts: StatedPrompts) -> str:
    shortest, longest = min(prompts.lengths), max(prompts.lengths)
    if shortest == longest:
        return counted(shortest, "token")
    if prompts.count <= _SHOWN_LENGTHS:
        return f"{', '.join(map(str, prompts.lengths))} tokens in this order"
    return f"{shortest} to {longest} tokens, each as long as is stated ({digest(map(str, prompts.lengths))})"
