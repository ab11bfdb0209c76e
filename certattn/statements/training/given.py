"""What the claims about training are given, in words."""

from __future__ import annotations

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.context_losses import LABELS, QUERIES, TARGETS, TOKENS, StatedPrompts
from certattn.kernel.theorems.training.regression import A, B

_SHOWN_LENGTHS = 16


def parameters_words(values: Values) -> str:
    """A and b: the numbers where few are written out."""
    return f"A = {values[A].words()} and b = {describe(values[B])}"


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
    return f"{shortest} to {longest} tokens, each as long as is stated"
