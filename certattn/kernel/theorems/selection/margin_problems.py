"""The three max-margin problems of `max-margin`, read into rows z_j and levels r_j.

    tokens     min |p|     subject to  <k_{i alpha_i} - k_it, p> >= 1              (keys, or tokens with W)
    matrices   min |W|_F   subject to  (k_{i alpha_i} - k_it)' W q_i >= 1          (keys with queries)
    labels     min |v|     subject to  Y_i x_i'v >= 1                              (points with labels)

In the first two a constraint is a pair (i, t) of an input and another token than the chosen one, and inputs may be
relaxed: their constraints are >= 0. In the second <z, W> = sum z_ab W_ab with z = (k_{i alpha_i} - k_it) q_i'.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq, fmpz_mat

from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import ByKey, Count, Field, Kind, Listing, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Pair, Selection
from certattn.kernel.theorems.selection.kkt import INPUT, TOKEN
from certattn.kernel.theorems.selection.mathematics.margin_rows import labelled_rows, matrix_rows
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    KEYS,
    LENGTHS,
    StatedTokens,
    read_labels,
    read_selection,
    read_tokens,
    token_forms,
)

RELAXED = Field("relaxed", Listing(Count(0)), "inputs whose constraints are >= 0, counted from 0", required=False)
QUERIES = Field("queries", Matrix(), "one query for all inputs, or one per input, a row each")
POINTS = Field("points", Matrix(), "the labelled points, one per row")
POINT_LABELS = Field("labels", Vector(), "the label of each point, 1 or -1")
POINT = Field("point", Count(0), "the point, counted from 0")

GIVEN = ByKey(
    {
        "points": Record(POINTS, POINT_LABELS),
        "queries": Record(KEYS, LENGTHS, QUERIES, INDICES, RELAXED),
        "pairs": token_forms(INDICES, RELAXED),
    }
)


@dataclass(frozen=True)
class MarginProblem:
    """min |p| subject to <z_j, p> >= r_j: z_j the rows of `rows`, r_j the `levels`.

    `constraints` name the rows: a Pair, or the number of a labelled point. `shape` is that of p, `variable` its
    letter. `tokens` are the inputs whose tokens are selected, and None of labelled points.
    """

    rows: ExactMatrix
    levels: tuple[fmpq, ...]
    constraints: tuple[Pair | int, ...]
    shape: tuple[int, int]
    variable: str
    given: Values
    tokens: StatedTokens | None = None

    @cached_property
    def positions(self) -> dict[Pair | int, int]:
        """The row of each constraint."""
        return {constraint: j for j, constraint in enumerate(self.constraints)}


def read_problem(form: str, given: Values) -> MarginProblem:
    """The problem in a record of GIVEN. Raises MalformedError."""
    if form == "points":
        points = given[POINTS].load()
        rows = labelled_rows(points, read_labels(given, points.rows))
        count = points.rows
        return MarginProblem(rows, (fmpq(1),) * count, tuple(range(count)), (1, points.columns), "v", given)
    stated = read_tokens("keys" if form == "queries" else form, given)
    selection = read_selection(stated, given[INDICES], given.node(INDICES))
    relaxed = _relaxed(given, selection)
    levels = tuple(fmpq(0) if pair.input in relaxed else fmpq(1) for pair in selection.pairs)
    rows, shape, variable = selection.differences, (1, stated.tokens.dimension), "p"
    if form == "queries":
        queries = _queries(given, stated.tokens.count)
        asked = [pair.input if queries.rows > 1 else 0 for pair in selection.pairs]
        rows, shape, variable = matrix_rows(rows, queries, asked), (rows.columns, queries.columns), "W"
    return MarginProblem(rows, levels, selection.pairs, shape, variable, given, stated)


def _relaxed(given: Values, selection: Selection) -> frozenset[int]:
    if RELAXED not in given:
        return frozenset()
    node, stated, count = given.node(RELAXED), given[RELAXED], selection.tokens.count
    if len(set(stated)) < len(stated):
        raise node.malformed("every input at most once")
    if max(stated) >= count:
        raise node.malformed(f"some of the {counted(count, 'input')}, counted from 0", f"{max(stated)}")
    if all(pair.input in stated for pair in selection.pairs):
        raise node.malformed("an input of more than one token that is not relaxed", "none: p = 0 solves this problem")
    return frozenset(stated)


def _queries(given: Values, count: int) -> ExactMatrix:
    stated = given[QUERIES]
    if stated.shape[0] not in (1, count):
        expected = "1 query for all inputs" + (f", or {counted(count, 'query')}, one per input" if count > 1 else "")
        raise stated.node.malformed(expected, counted(stated.shape[0], "query"))
    return stated.load()


# -- how constraints are stated


class Constraints(Kind[list[Values]]):
    """Constraints by name, each with `others`: an input and a token of it, or a point."""

    def __init__(self, *others: Field[Any]) -> None:
        forms = {"point": Record(POINT, *others), "input": Record(INPUT, TOKEN, *others)}
        self._listing = Listing(ByKey(forms))
        self.written = (self._listing,)

    def read(self, node: Node, reading: Reading) -> list[Values]:
        return [values for _, values in self._listing.read(node, reading)]


def read_rows(stated: list[Values], problem: MarginProblem) -> list[int]:
    """The rows of these constraints. Raises MalformedError for one that is none, or stated twice."""
    rows: dict[int, None] = {}
    for values in stated:
        constraint = values[POINT] if POINT in values else Pair(values[INPUT], values[TOKEN])
        if constraint not in problem.positions:
            pairs = isinstance(problem.constraints[0], Pair)
            expected = "an input and a token of it other than the chosen one" if pairs else "the number of a point"
            raise values.at.malformed(expected, f"{constraint}")
        if problem.positions[constraint] in rows:
            raise values.at.malformed("every constraint at most once", f"{constraint} again")
        rows[problem.positions[constraint]] = None
    return list(rows)


class PointKind(Kind[MatrixInput]):
    """A vector p or v, or a matrix W."""

    written = (Vector(), Matrix())

    def read(self, node: Node, reading: Reading) -> MatrixInput:
        kind = Matrix() if _is_matrix(node) else Vector()
        return kind.read(node, reading)


def _is_matrix(node: Node) -> bool:
    """Whether this is a list of lists, or an array file of two extents."""
    content: object = node.value
    if isinstance(content, dict) and "shape" in content:
        shape = content["shape"].value
        return isinstance(shape, list) and len(shape) > 1
    return isinstance(content, list) and len(content) > 0 and isinstance(content[0].value, list)


def read_point(stated: MatrixInput, problem: MarginProblem) -> ExactMatrix:
    """A point of the problem in one row, a matrix row after row. Raises MalformedError."""
    letter = f"for {problem.variable} of that shape"
    stated.require_shape(*problem.shape, letter)
    point = stated.load()
    entries = point.numerators.entries()
    return ExactMatrix(fmpz_mat(1, len(entries), entries), point.denominator)
