"""Inputs of tokens in words."""

from __future__ import annotations

from collections.abc import Sequence

from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.theorems.selection.stated_tokens import (
    KEY_MAP,
    KEYS,
    LABELS,
    SCORES,
    TOKENS,
    VALUE_DIRECTION,
    StatedTokens,
    kkt_names,
)
from certattn.statements.given import matrices_words


def token_words(stated: StatedTokens) -> str:
    """How many inputs of how many tokens, their keys and scores with every number or its file."""
    return _counts(stated.tokens.lengths) + _words(stated.given)


def label_words(given: Values) -> str:
    return given[LABELS].words() if LABELS in given else "all 1"


def _words(given: Values) -> str:
    if KEYS in given:
        words = f"keys {matrices_words(_parts(given[KEYS]))}"
        scores = ", ".join(part.words() for part in _parts(given[SCORES])) if SCORES in given else ""
        return f"{words}, scores {scores}" if scores else words
    keys = given[KEY_MAP].words() if KEY_MAP in given else "I"
    words = f"tokens x {matrices_words(_parts(given[TOKENS]))}, keys W x with W = {keys}"
    if VALUE_DIRECTION not in given:
        return words
    return f"{words}, scores Y v'x with v = {given[VALUE_DIRECTION].words()} and labels Y {label_words(given)}"


def _parts(stated: MatrixInput | list[MatrixInput]) -> list[MatrixInput]:
    return stated if isinstance(stated, list) else [stated]


def _counts(lengths: Sequence[int]) -> str:
    inputs = counted(len(lengths), "input")
    if len(set(lengths)) == 1:
        return f"{inputs} of {counted(lengths[0], 'token')}: "
    return f"{inputs} of {', '.join(map(str, lengths))} tokens: "


def kkt_sentences(prefix: str, what: str = "p") -> dict[str, str]:
    """What is compared, for the point called `what`, by the names of the obligations."""
    sentences = (
        "the smallest multiplier",
        f"the smallest slack of the constraints at {what}",
        "the sum of multipliers times slacks",
        f"the squared norm of {what}",
    )
    return dict(zip(kkt_names(prefix), sentences, strict=True))
