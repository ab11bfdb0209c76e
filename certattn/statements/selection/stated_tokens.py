"""Inputs of tokens in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.stated_tokens import (
    KEY_MAP,
    KEYS,
    LABELS,
    QUERIES,
    SCORES,
    TOKENS,
    VALUE_DIRECTION,
    StatedTokens,
    kkt_names,
)
from certattn.statements.given import matrices_words


@dataclass(frozen=True)
class Trained:
    """What is trained, in words: the vector p, or the matrix W where there are queries."""

    variable: str

    @property
    def is_matrix(self) -> bool:
        return self.variable == "W"

    @property
    def solution(self) -> str:
        return f"{self.variable}_mm"

    def product(self, key: str) -> str:
        """<k, p>, or k'Wq."""
        if not self.is_matrix:
            return f"<{key}, p>"
        return f"{f'({key})' if ' ' in key else key}' W q_i"

    def norm(self, of: str) -> str:
        return f"|{of}|_F" if self.is_matrix else f"|{of}|"

    @property
    def angles(self) -> str:
        """What angles are, where that needs to be said."""
        return " (angles of matrices are those of the inner product tr(A'B))" if self.is_matrix else ""

    def said(self, words: str) -> str:
        """A sentence about p_mm, p_R or a neighbour of them, about W where that is meant."""
        return words.replace("p_", "W_") if self.is_matrix else words


def point_words(point: ExactMatrix, shape: tuple[int, int]) -> str:
    """A point, which stands in one row, in its own shape."""
    entries, (rows, columns) = point.row(0), shape
    return str(ExactMatrix.rational([entries[i * columns : (i + 1) * columns] for i in range(rows)]))


def token_words(stated: StatedTokens) -> str:
    """How many inputs of how many tokens, their keys and scores with every number or its file."""
    return _counts(stated.tokens.lengths) + _words(stated.given)


def label_words(given: Values) -> str:
    return given[LABELS].words() if LABELS in given else "all 1"


def _words(given: Values) -> str:
    if KEYS in given:
        words = f"keys {matrices_words(_parts(given[KEYS]))}"
        scores = matrices_words(_parts(given[SCORES])) if SCORES in given else ""
        words = f"{words}, scores {scores}" if scores else words
        return f"{words}, {_query_words(given[QUERIES])}" if QUERIES in given else words
    keys = given[KEY_MAP].words() if KEY_MAP in given else "I"
    words = f"tokens x {matrices_words(_parts(given[TOKENS]))}, keys W x with W = {keys}"
    if VALUE_DIRECTION not in given:
        return words
    return f"{words}, scores Y v'x with v = {given[VALUE_DIRECTION].words()} and labels Y {label_words(given)}"


def _query_words(queries: MatrixInput) -> str:
    one = queries.shape[0] == 1
    return f"the one query q_i = {queries.words()}" if one else f"queries q_i, the rows of {queries.words()}"


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
