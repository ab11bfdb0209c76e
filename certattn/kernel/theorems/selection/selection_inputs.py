"""What the claims about token selection are given: keys and scores, or tokens with W, v and labels.

Keys (or tokens) are a list with a matrix for each input, or one matrix (such as an array file) with the rows of
all inputs one below the other, and `lengths`. Ataee Tarzanagh, Li, Zhang and Oymak 2023, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import fmpq

from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import ByKey, Choice, Count, Field, Kind, Listing, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.given.bounds import Matrices, StatedMatrices
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import LOSSES
from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.theorems.selection.mathematics.paper_smoothness import PaperData, data_of_keys


class ScoreVectors(Kind[list[MatrixInput]]):
    """A vector of scores for each input, or one vector with those of all inputs one after another."""

    _listing = Listing(Vector())
    written = (Vector(), _listing)

    def read(self, node: Node, reading: Reading) -> list[MatrixInput]:
        listed = isinstance(node.value, list) and node.value and not isinstance(node.value[0].value, str)
        return self._listing.read(node, reading) if listed else [Vector().read(node, reading)]


KEYS = Field("keys", Matrices(), "the keys of each input, one per row")
TOKENS = Field("tokens", Matrices(), "the tokens of each input, one per row")
LENGTHS = Field(
    "lengths",
    Listing(Count(1)),
    "tokens of each input, where keys or tokens are one matrix; one input if left out",
    False,
)
SCORES = Field("scores", ScoreVectors(), "the scores of the tokens, a vector for each input, or one for all of them")
KEY_MAP = Field("W", Matrix(), "the keys are W x; the identity if left out", required=False)
VALUE_DIRECTION = Field("v", Vector(), "the scores are Y v'x with the label Y of the input")
LABELS = Field("labels", Vector(), "the label of each input, 1 or -1; all 1 if left out", required=False)
INDICES = Field("indices", Listing(Count(0)), "the chosen token of each input, counted from 0")
LOSS = Field("loss", Choice(tuple(LOSSES)), "the loss of Y f(X): -x, log(1 + e^-x) or e^-x")


def token_forms(*others: Field[Any]) -> ByKey:
    """The record of keys alone, in two forms, and `others`."""
    return ByKey({"keys": Record(KEYS, LENGTHS, *others), "tokens": Record(TOKENS, LENGTHS, KEY_MAP, *others)})


def scored_token_forms(*others: Field[Any]) -> ByKey:
    """The record of keys with scores, in two forms, and `others`."""
    return ByKey(
        {
            "keys": Record(KEYS, LENGTHS, SCORES, *others),
            "tokens": Record(TOKENS, LENGTHS, KEY_MAP, VALUE_DIRECTION, LABELS, *others),
        }
    )


@dataclass(frozen=True)
class StatedTokens:
    """Inputs of tokens, with checked shapes. `words` describe keys and scores with every number or its file.

    `rows` are the keys or the tokens x, as they are stated."""

    node: Node
    tokens: Tokens
    words: str
    rows: ExactMatrix


def read_tokens(form: str, given: Values) -> StatedTokens:
    """The inputs in a record of `token_forms` or `scored_token_forms`. Raises MalformedError."""
    field = KEYS if form == "keys" else TOKENS
    stated, node = given[field], given.node(field)
    rows, lengths = _stacked(stated, given, node)
    scores = None
    if form == "keys":
        keys, words = rows, f"keys {stated.words()}"
        if SCORES in given:
            scores, words = _scores(given, lengths), f"{words}, scores {_score_words(given)}"
        return StatedTokens(node, Tokens(keys, lengths, scores), _counts(lengths) + words, rows)
    keys, words = rows, f"tokens x {stated.words()}, keys W x with W = "
    weights = given.get(KEY_MAP)
    if weights is not None:
        weights.require_shape(None, rows.columns, "for tokens of that dimension")
        keys = rows @ weights.load().T
    words += "I" if weights is None else weights.words()
    if VALUE_DIRECTION in given:
        direction = given[VALUE_DIRECTION]
        direction.require_length(rows.columns, "a token")
        labels = read_labels(given, len(lengths))
        scores = _label_scores(rows, direction.load(), labels, lengths)
        words += f", scores Y v'x with v = {direction.words()} and labels Y {label_words(given)}"
    return StatedTokens(node, Tokens(keys, lengths, scores), _counts(lengths) + words, rows)


def paper_data(form: str, given: Values, tokens: Tokens) -> PaperData:
    """The X_i, W and v of the paper behind checked tokens; of keys with scores, the simplest that give these."""
    inputs = range(tokens.count)
    if form == "keys":
        return data_of_keys([tokens.keys_of(i) for i in inputs], [tokens.scores_of(i) for i in inputs])
    rows, lengths = _stacked(given[TOKENS], given, given.node(TOKENS))
    weights = given.get(KEY_MAP)
    stacked = Tokens(rows, lengths)
    key_map = ExactMatrix.identity(rows.columns) if weights is None else weights.load()
    return PaperData(tuple(stacked.keys_of(i) for i in inputs), given[VALUE_DIRECTION].load(), key_map)


def read_selection(stated: StatedTokens, indices: list[int], node: Node) -> Selection:
    """A chosen token of each input; `node` is where `indices` stand. Raises MalformedError."""
    tokens = stated.tokens
    if len(indices) != tokens.count:
        raise node.malformed(f"{counted(tokens.count, 'index')}, one per input", f"{len(indices)}")
    for i, (index, length) in enumerate(zip(indices, tokens.lengths, strict=True)):
        if index >= length:
            expected = f"the index of one of the {counted(length, 'token')} of input {i}, counted from 0"
            raise node.malformed(expected, f"{index}")
    selection = Selection(tokens, tuple(indices))
    if not selection.pairs:
        raise stated.node.malformed("an input of more than one token", "nothing to select from")
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


def label_words(given: Values) -> str:
    return given[LABELS].words() if LABELS in given else "all 1"


def _stacked(stated: StatedMatrices, given: Values, node: Node) -> tuple[ExactMatrix, tuple[int, ...]]:
    """The rows of all inputs, and how many each has."""
    parts = stated.parts
    if stated.listed:
        if LENGTHS in given:
            raise given.node(LENGTHS).malformed("no lengths beside a list of matrices, one per input")
        for part in parts:
            part.require_shape(None, parts[0].shape[1], "(columns as in the first input)")
        return ExactMatrix.stacked([part.load() for part in parts]), tuple(part.shape[0] for part in parts)
    rows = parts[0].shape[0]
    stated_lengths = given.get(LENGTHS)
    lengths = (rows,) if stated_lengths is None else tuple(stated_lengths)
    if sum(lengths) != rows:
        raise given.node(LENGTHS).malformed(f"lengths that sum to the {rows} rows", f"a sum of {sum(lengths)}")
    return parts[0].load(), lengths


def _scores(given: Values, lengths: tuple[int, ...]) -> tuple[fmpq, ...]:
    parts, node = given[SCORES], given.node(SCORES)
    if len(parts) == 1 and parts[0].shape[1] == sum(lengths):
        return tuple(parts[0].load().row(0))
    if len(parts) != len(lengths):
        expected = (
            f"{counted(sum(lengths), 'score')} in one vector, or {counted(len(lengths), 'vector')}, one per input"
        )
        raise node.malformed(expected, counted(len(parts), "vector"))
    for part, length in zip(parts, lengths, strict=True):
        if part.shape[1] != length:
            raise part.node.malformed(f"{counted(length, 'score')}, one per token of the input", f"{part.shape[1]}")
    return tuple(score for part in parts for score in part.load().row(0))


def _score_words(given: Values) -> str:
    return ", ".join(part.words() for part in given[SCORES])


def _label_scores(
    rows: ExactMatrix, direction: ExactMatrix, labels: list[fmpq], lengths: tuple[int, ...]
) -> tuple[fmpq, ...]:
    """gamma_it = Y_i v'x_it."""
    column = rows @ direction.T
    signs = [label for label, length in zip(labels, lengths, strict=True) for _ in range(length)]
    return tuple(sign * column.entry(row, 0) for row, sign in enumerate(signs))


def _counts(lengths: tuple[int, ...]) -> str:
    """How many inputs, of how many tokens."""
    if len(set(lengths)) == 1:
        return f"{counted(len(lengths), 'input')} of {counted(lengths[0], 'token')}: "
    return f"{counted(len(lengths), 'input')} of {', '.join(map(str, lengths))} tokens: "
