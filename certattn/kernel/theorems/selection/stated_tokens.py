"""What theorems about token selection are given: inputs of tokens, with their scores, and a chosen token of each.

And how certificates state multipliers of a max-margin point, with the obligations that make it the solution
(`mathematics.margin_points` has the theorem).

Keys (or tokens) are a list with a matrix for each input, or one matrix (such as an array file) with the rows of
all inputs one below the other, and `lengths`. Ataee Tarzanagh, Li, Zhang and Oymak 2023, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import (
    ByKey,
    Choice,
    Count,
    Field,
    Kind,
    Listing,
    Rational,
    Reading,
    Record,
    Values,
)
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Pair, Selection, Tokens, matrix_rows
from certattn.kernel.theorems.selection.mathematics.margin_points import Conditions, MaxMargin, hard_margin


@dataclass(frozen=True)
class OneOrEach(Kind[MatrixInput | list[MatrixInput]]):
    """A list with an item for each input, or one item with what belongs to all inputs, one after another."""

    item: Matrix | Vector

    @property
    def written(self) -> Sequence[Kind[Any]]:  # type: ignore[override]
        return self.item, Listing(self.item)

    def read(self, node: Node, reading: Reading) -> MatrixInput | list[MatrixInput]:
        listed = isinstance(node.value, list) and len(node.value) > 0 and self._is_item(node.value[0].value)
        return Listing(self.item).read(node, reading) if listed else self.item.read(node, reading)

    def _is_item(self, first: object) -> bool:
        """Whether this is an item by itself: a reference, or as many lists in each other."""
        if isinstance(first, list) and isinstance(self.item, Matrix):
            return len(first) > 0 and isinstance(first[0].value, list)
        return not isinstance(first, str)


KEYS = Field("keys", OneOrEach(Matrix()), "the keys of each input, one per row")
TOKENS = Field("tokens", OneOrEach(Matrix()), "the tokens of each input, one per row")
_PER_INPUT = "one query for all inputs, or one per input, a row each: W stands in the place of p then"
QUERIES = Field("queries", Matrix(), _PER_INPUT, required=False)
LENGTHS = Field("lengths", Listing(Count(1)), "tokens of each input of one matrix; one input if left out", False)
_SCORES = "the scores of the tokens, a vector for each input, or one for all of them"
SCORES = Field("scores", OneOrEach(Vector()), _SCORES)
KEY_MAP = Field("W", Matrix(), "the keys are W x; the identity if left out", required=False)
VALUE_DIRECTION = Field("v", Vector(), "the scores are Y v'x with the label Y of the input")
LABELS = Field("labels", Vector(), "the label of each input, 1 or -1; all 1 if left out", required=False)
INDICES = Field("indices", Listing(Count(0)), "the chosen token of each input, counted from 0")
# The names of `mathematics.losses`, which theorems without a loss need not import.
LOSS = Field("loss", Choice(("linear", "logistic", "exponential")), "the loss of Y f(X): -x, log(1 + e^-x) or e^-x")


def token_forms(*others: Field[Any]) -> ByKey:
    """The record of keys alone, in two forms, and `others`."""
    return ByKey({"keys": Record(KEYS, LENGTHS, QUERIES, *others), "tokens": Record(TOKENS, LENGTHS, KEY_MAP, *others)})


def scored_token_forms(*others: Field[Any]) -> ByKey:
    """The record of keys with scores, in two forms, and `others`."""
    tokens = (TOKENS, LENGTHS, KEY_MAP, VALUE_DIRECTION, LABELS)
    return ByKey({"keys": Record(KEYS, LENGTHS, QUERIES, SCORES, *others), "tokens": Record(*tokens, *others)})


@dataclass(frozen=True)
class StatedTokens:
    """Inputs of tokens, with checked shapes: as `given` states them, and as keys with scores.

    `rows` are the keys or the tokens x, as they are stated. With queries q_i, the keys of `tokens` are the k_it q_i',
    each in one row: then <k_it q_i', W> = k_it' W q_i, and what is proved of p is proved of W.
    """

    given: Values
    rows: ExactMatrix
    tokens: Tokens

    @property
    def shape(self) -> tuple[int, int]:
        """That of p, as a row, or of W."""
        columns = self.rows.columns
        return (columns, self.given[QUERIES].shape[1]) if QUERIES in self.given else (1, self.tokens.dimension)

    @property
    def variable(self) -> str:
        """The letter of what is trained."""
        return "W" if QUERIES in self.given else "p"


def read_tokens(given: Values) -> StatedTokens:
    """The inputs in a record of `token_forms` or `scored_token_forms`. Raises MalformedError."""
    rows, lengths = _stacked(given)
    if KEYS in given:
        keys = _with_queries(given[QUERIES], rows, lengths) if QUERIES in given else rows
        return StatedTokens(given, rows, Tokens(keys, lengths, _scores(given, lengths) if SCORES in given else None))
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
    if isinstance(stated, list):
        if LENGTHS in given:
            raise given.node(LENGTHS).malformed("no lengths beside a list of matrices, one per input")
        for part in stated:
            part.require_shape(None, stated[0].shape[1], "(columns as in the first input)")
        return ExactMatrix.stacked([part.load() for part in stated]), tuple(part.shape[0] for part in stated)
    rows = stated.shape[0]
    lengths = given.get(LENGTHS) or [rows]
    if sum(lengths) != rows:
        raise given.node(LENGTHS).malformed(f"lengths that sum to the {rows} rows", f"a sum of {sum(lengths)}")
    return stated.load(), tuple(lengths)


def _with_queries(stated: MatrixInput, keys: ExactMatrix, lengths: Sequence[int]) -> ExactMatrix:
    """The k_it q_i', each in one row."""
    count, size = len(lengths), stated.shape[0]
    if size not in (1, count):
        each = f", or {count}, one per input" if count > 1 else ""
        raise stated.node.malformed(f"1 row, a query for all inputs{each}", counted(size, "row"))
    asked = [i if size > 1 else 0 for i, length in enumerate(lengths) for _ in range(length)]
    return matrix_rows(keys, stated.load(), asked)


def _scores(given: Values, lengths: Sequence[int]) -> tuple[fmpq, ...]:
    stated, total = given[SCORES], sum(lengths)
    parts = stated if isinstance(stated, list) else [stated]
    sizes = [part.shape[1] for part in parts]
    if sizes not in ([total], list(lengths)):
        each = f"vectors of {', '.join(map(str, lengths))}, one per input"
        expected = f"{counted(total, 'score')} in one vector" + (f", or {each}" if len(lengths) > 1 else "")
        raise given.node(SCORES).malformed(expected, ", ".join(counted(size, "score") for size in sizes))
    return tuple(score for part in parts for score in part.load().row(0))


def read_sections(
    certificate: Certificate, given: Record | ByKey, asserts: Record, witness: Record, hint: str
) -> tuple[Values, Values, Values]:
    """The sections of a certificate, of which the witness holds `hint`. Raises MalformedError."""
    found, stated = (
        given.read(certificate.given, certificate.reading),
        asserts.read(certificate.asserts, certificate.reading),
    )
    if certificate.witness is None:
        raise certificate.asserts.malformed(f"a witness with {hint}", "no witness")
    whole = found if isinstance(found, Values) else found[1]
    return whole, stated, witness.read(certificate.witness, certificate.reading)


# -- points of the space of p, or of W


class PointKind(Kind[MatrixInput]):
    """A vector p or v, or a matrix W: a list of lists, or an array file of two extents."""

    written = (Vector(), Matrix())

    def read(self, node: Node, reading: Reading) -> MatrixInput:
        content: object = node.value
        if isinstance(content, dict) and "shape" in content:
            shape = content["shape"].value
            deep = isinstance(shape, list) and len(shape) > 1
        else:
            deep = isinstance(content, list) and len(content) > 0 and isinstance(content[0].value, list)
        return (Matrix() if deep else Vector()).read(node, reading)


LIMIT = Field("limit", PointKind(), "the max-margin point, exactly", required=False)


def read_point(stated: MatrixInput, shape: tuple[int, int], variable: str) -> ExactMatrix:
    """A point in one row, a matrix row after row. Raises MalformedError for another shape."""
    stated.require_shape(*shape, f"for {variable} of that shape")
    return ExactMatrix.row_vector([entry for row in stated.load().to_rows() for entry in row])


# -- a max-margin point

INPUT = Field("input", Count(0), "the input, counted from 0")
TOKEN = Field("token", Count(0), "the token of that input that the chosen one is compared with, counted from 0")
MULTIPLIER = Field("multiplier", Rational(above=0), "its multiplier, > 0")
# Of pairs of a chosen token and another; pairs that are left out have multiplier 0.
PAIR_MULTIPLIERS = Listing(Record(INPUT, TOKEN, MULTIPLIER))
MULTIPLIERS = Field("multipliers", PAIR_MULTIPLIERS, "multipliers of the tight constraints, a pair each")


def read_multipliers(stated: list[Values], selection: Selection) -> dict[int, fmpq]:
    """The multipliers by the position of their pair. Raises MalformedError for a pair that is none, or stated twice."""
    positions = {pair: j for j, pair in enumerate(selection.pairs)}
    found: dict[int, fmpq] = {}
    for values in stated:
        pair = Pair(values[INPUT], values[TOKEN])
        if pair not in positions:
            raise values.at.malformed("an input and a token of it other than the chosen one", f"the pair {pair}")
        if positions[pair] in found:
            raise values.at.malformed("every pair at most once", f"the pair {pair} again")
        found[positions[pair]] = values[MULTIPLIER]
    return found


def point_of(selection: Selection, stated: list[Values]) -> MaxMargin:
    """The point of stated multipliers for the chosen tokens. Raises MalformedError."""
    return hard_margin(selection.differences, read_multipliers(stated, selection))


def kkt_names(prefix: str) -> list[str]:
    """The names of the obligations of `optimal`."""
    return [f"{prefix}.{name}" for name in ("multipliers", "constraints", "complementarity", "nonzero")]


def optimal(prefix: str, found: Callable[[], Conditions], needs: Sequence[str] = ()) -> Iterator[Obligation]:
    """That the point has least norm under its constraints, and is not 0.

    All four are exact, and all belong to the witness: where one is false, these multipliers prove nothing.
    """
    multipliers, constraints, complementarity, nonzero = kkt_names(prefix)
    zero, part = fmpq(0), Part.WITNESS
    yield Obligation(multipliers, lambda: found().multiplier, ">=", zero, part, needs)
    yield Obligation(constraints, lambda: found().slack, ">=", zero, part, needs)
    yield Obligation(complementarity, lambda: found().complementarity, "<=", zero, part, needs)
    yield Obligation(nonzero, lambda: found().norm_squared, ">", zero, part, needs)
