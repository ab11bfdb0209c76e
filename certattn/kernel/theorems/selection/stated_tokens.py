"""What theorems about token selection are given: inputs of tokens, with their scores, and a chosen token of each.

Keys (or tokens) are a list with a matrix for each input, or one matrix (such as an array file) with the rows of
all inputs one below the other, and `lengths`. Ataee Tarzanagh, Li, Zhang and Oymak 2023, section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import ByKey, Choice, Count, Field, Kind, Listing, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.given.each_query import Matrices
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Selection, Tokens


class ScoreVectors(Kind[list[MatrixInput]]):
    """A vector of scores for each input, or one vector with those of all inputs one after another."""

    _listing = Listing(Vector())
    written = (Vector(), _listing)

    def read(self, node: Node, reading: Reading) -> list[MatrixInput]:
        listed = isinstance(node.value, list) and node.value and not isinstance(node.value[0].value, str)
        return self._listing.read(node, reading) if listed else [Vector().read(node, reading)]


KEYS = Field("keys", Matrices(), "the keys of each input, one per row")
TOKENS = Field("tokens", Matrices(), "the tokens of each input, one per row")
LENGTHS = Field("lengths", Listing(Count(1)), "tokens of each input of one matrix; one input if left out", False)
SCORES = Field("scores", ScoreVectors(), "the scores of the tokens, a vector for each input, or one for all of them")
KEY_MAP = Field("W", Matrix(), "the keys are W x; the identity if left out", required=False)
VALUE_DIRECTION = Field("v", Vector(), "the scores are Y v'x with the label Y of the input")
LABELS = Field("labels", Vector(), "the label of each input, 1 or -1; all 1 if left out", required=False)
INDICES = Field("indices", Listing(Count(0)), "the chosen token of each input, counted from 0")
# The names of `mathematics.losses`, which theorems without a loss need not import.
LOSS = Field("loss", Choice(("linear", "logistic", "exponential")), "the loss of Y f(X): -x, log(1 + e^-x) or e^-x")


def token_forms(*others: Field[Any]) -> ByKey:
    """The record of keys alone, in two forms, and `others`."""
    return ByKey({"keys": Record(KEYS, LENGTHS, *others), "tokens": Record(TOKENS, LENGTHS, KEY_MAP, *others)})


def scored_token_forms(*others: Field[Any]) -> ByKey:
    """The record of keys with scores, in two forms, and `others`."""
    tokens = (TOKENS, LENGTHS, KEY_MAP, VALUE_DIRECTION, LABELS)
    return ByKey({"keys": Record(KEYS, LENGTHS, SCORES, *others), "tokens": Record(*tokens, *others)})


@dataclass(frozen=True)
class StatedTokens:
    """Inputs of tokens, with checked shapes: as `given` states them, and as keys with scores.

    `rows` are the keys or the tokens x, as they are stated.
    """

    given: Values
    rows: ExactMatrix
    tokens: Tokens


def read_tokens(given: Values) -> StatedTokens:
    """The inputs in a record of `token_forms` or `scored_token_forms`. Raises MalformedError."""
    rows, lengths = _stacked(given)
    if KEYS in given:
        return StatedTokens(given, rows, Tokens(rows, lengths, _scores(given, lengths) if SCORES in given else None))
    keys, scores = rows, None
    if KEY_MAP in given:
        given[KEY_MAP].require_shape(None, rows.columns, "for tokens of that dimension")
        keys = rows @ given[KEY_MAP].load().T
    if VALUE_DIRECTION in given:
        given[VALUE_DIRECTION].require_length(rows.columns, "a token")
        signs = label_of_rows(read_labels(given, len(lengths)), lengths)
        column = rows @ given[VALUE_DIRECTION].load().T
        scores = tuple(sign * column.entry(row, 0) for row, sign in enumerate(signs))
    return StatedTokens(given, rows, Tokens(keys, lengths, scores))


def read_selection(stated: StatedTokens, values: Values) -> Selection:
    """A chosen token of each input, as INDICES of `values` state it. Raises MalformedError."""
    return selection_at(stated, values[INDICES], values.node(INDICES))


def selection_at(stated: StatedTokens, indices: list[int], node: Node) -> Selection:
    """The same from indices that stand at `node`."""
    tokens = stated.tokens
    if len(indices) != tokens.count:
        raise node.malformed(f"{counted(tokens.count, 'index')}, one per input", f"{len(indices)}")
    for i, (index, length) in enumerate(zip(indices, tokens.lengths, strict=True)):
        if index >= length:
            expected = f"the index of one of the {counted(length, 'token')} of input {i}, counted from 0"
            raise node.malformed(expected, f"{index}")
    selection = Selection(tokens, tuple(indices))
    if not selection.pairs:
        at = stated.given.node(KEYS if KEYS in stated.given else TOKENS)
        raise at.malformed("an input of more than one token", "nothing to select from")
    return selection


def read_labels(given: Values, count: int) -> list[fmpq]:
    """The label of each of `count` inputs, 1 or -1; all 1 if left out. Raises MalformedError."""
    if LABELS not in given:
        return [fmpq(1)] * count
    stated = given[LABELS]
    stated.require_length(count, "the list of inputs")
    labels = stated.load().row(0)
    for label in labels:
        if abs(label) != 1:
            raise stated.node.malformed("labels 1 or -1", f"{label}")
    return labels


def label_of_rows(labels: Sequence[fmpq], lengths: Sequence[int]) -> list[fmpq]:
    """The label of the input of each row, where the tokens of all inputs stand one below the other."""
    return [label for label, length in zip(labels, lengths, strict=True) for _ in range(length)]


def _stacked(given: Values) -> tuple[ExactMatrix, tuple[int, ...]]:
    """The rows of all inputs, and how many each has."""
    stated = given[KEYS] if KEYS in given else given[TOKENS]
    parts = stated.parts
    if stated.listed:
        if LENGTHS in given:
            raise given.node(LENGTHS).malformed("no lengths beside a list of matrices, one per input")
        for part in parts:
            part.require_shape(None, parts[0].shape[1], "(columns as in the first input)")
        return ExactMatrix.stacked([part.load() for part in parts]), tuple(part.shape[0] for part in parts)
    rows = parts[0].shape[0]
    counts = given.get(LENGTHS)
    lengths = (rows,) if counts is None else tuple(counts)
    if sum(lengths) != rows:
        raise given.node(LENGTHS).malformed(f"lengths that sum to the {rows} rows", f"a sum of {sum(lengths)}")
    return parts[0].load(), lengths


def _scores(given: Values, lengths: Sequence[int]) -> tuple[fmpq, ...]:
    parts, total = given[SCORES], sum(lengths)
    if len(parts) == 1 and parts[0].shape[1] == total:
        return tuple(parts[0].load().row(0))
    if len(parts) != len(lengths):
        expected = f"{counted(total, 'score')} in one vector, or {counted(len(lengths), 'vector')}, one per input"
        raise given.node(SCORES).malformed(expected, counted(len(parts), "vector"))
    for part, length in zip(parts, lengths, strict=True):
        if part.shape[1] != length:
            raise part.node.malformed(f"{counted(length, 'score')}, one per token of the input", f"{part.shape[1]}")
    return tuple(score for part in parts for score in part.load().row(0))
