"""What is given of prompts and queries, in words."""

from __future__ import annotations

from certattn.kernel.document.quoting import counted
from certattn.kernel.given.each_query import StatedBounds
from certattn.kernel.given.prompts import StatedPrompt
from certattn.kernel.mathematics.reals import describe


def prompt_words(prompt: StatedPrompt) -> str:
    """Tokens, weights, scale and queries of a prompt."""
    first, values = prompt.inputs
    if values is not None:
        inputs = f"keys: {first.words()}, values: {values.words()}"
    else:
        weights = f", {prompt.weights.words()}" if prompt.weights is not None else ""
        inputs = f"{first.words()}{weights}"
    queries = f", queries: {prompt.queries.words()}" if prompt.queries is not None else ""
    return f"{counted(prompt.length, 'token')} ({inputs}, scale {describe(prompt.scale)}{queries})"


def score_words(prompt: StatedPrompt) -> str:
    """The score of a token at a query q, for the form in which the prompt is given."""
    if prompt.weights is None:
        return "scale * <q, key>"
    return "scale * <U q, token>" if prompt.weights.U is not None else "scale * <Q q, K token>"


def bounds_words(bounds: StatedBounds) -> str:
    """A number for every query, or one for each."""
    if bounds.common is not None:
        return describe(bounds.common)
    return f"the stated number of each query, {bounds.vector}"
