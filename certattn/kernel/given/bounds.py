"""Bounds that several claims state: of one number a range, for each query a bound or a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Relation, Side, Tier
from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.schema import Field, Kind, Listing, Rational, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

AT_LEAST = Field("at_least", Rational(), "a lower bound", required=False)
AT_MOST = Field("at_most", Rational(), "an upper bound", required=False)
BOUNDS: Sequence[tuple[Field[fmpq], Relation]] = ((AT_LEAST, ">="), (AT_MOST, "<="))


def some_bound(stated: Values) -> None:
    """The rule of a range. Raises MalformedError where nothing bounds the number."""
    if AT_LEAST not in stated and AT_MOST not in stated:
        raise stated.at.malformed("at_least or at_most, or both", "no bound")


# Of a number that may be negative, and of one that is not: a negative bound of that would say nothing.
SIGNED = Record(AT_LEAST, AT_MOST, rules=[some_bound])
NONNEGATIVE = Record(
    Field("at_least", Rational(minimum=0), "a lower bound", required=False),
    Field("at_most", Rational(minimum=0), "an upper bound", required=False),
    rules=[some_bound],
)


def within(
    name: str,
    number: Side,
    stated: Values,
    part: Part = Part.STATEMENT,
    needs: Sequence[str] = (),
    fast: Mapping[Tier, Side] | None = None,
) -> Iterator[Obligation]:
    """That a number keeps the stated bounds: an obligation for each. `fast` has the number as tiers enclose it."""
    for field, relation in BOUNDS:
        if field in stated:
            bound = stated[field]
            by_tier = {tier: (side, bound) for tier, side in (fast or {}).items()}
            yield Obligation(f"{name}.{field.name}", number, relation, bound, part, needs, by_tier)


# -- for each query


@dataclass(frozen=True)
class StatedBounds:
    """One bound for every query (`common`), or a vector with one for each (`each`)."""

    common: fmpq | None
    each: MatrixInput | None

    def require_count(self, queries: int) -> None:
        """Refuse a vector of another length than the number of queries."""
        if self.each is not None and self.each.shape[1] != queries:
            expected = f"one number, or {queries} numbers, one per query"
            raise self.each.node.malformed(expected, f"{self.each.shape[1]} numbers")

    def at(self, query: int) -> fmpq:
        """The bound for a query."""
        return self.common if self.common is not None else self.vector.entry(0, query)

    @cached_property
    def vector(self) -> ExactMatrix:
        """The numbers of all queries, where each has its own."""
        assert self.each is not None
        return self.each.load()


@dataclass(frozen=True)
class Bounds(Kind[StatedBounds]):
    """A number for every query, or a vector with a number for each; `minimum` bounds the one number."""

    minimum: int | None = None

    def read(self, node: Node, reading: Reading) -> StatedBounds:
        if isinstance(node.value, str):
            return StatedBounds(Rational(self.minimum).read(node, reading), None)
        return StatedBounds(None, Vector().read(node, reading))

    @property
    def written(self) -> Sequence[Kind[Any]]:  # type: ignore[override]
        return Rational(self.minimum), Vector()


@dataclass(frozen=True)
class StatedMatrices:
    """A matrix for each query: listed one by one, or the rows of all in one matrix."""

    node: Node
    parts: list[MatrixInput]
    listed: bool

    def require_shape(self, queries: int, rows: int, columns: int) -> None:
        """Refuse another number of matrices, or matrices of another shape."""
        if not self.listed:
            why = f"({queries} matrices of {rows} x {columns}, one below the other)" if queries > 1 else "(one query)"
            self.parts[0].require_shape(queries * rows, columns, why)
            return
        if len(self.parts) != queries:
            raise self.node.malformed(f"{queries} matrices, one per query", f"a list of {len(self.parts)}")
        for part in self.parts:
            part.require_shape(rows, columns, "like each of these matrices")

    def entries(self, query: int, rows: int) -> list[fmpq]:
        """The entries of the matrix of a query, row by row; it has so many rows."""
        whole, first = (self._loaded[query], 0) if self.listed else (self._loaded[0], query * rows)
        return [entry for i in range(first, first + rows) for entry in whole.row(i)]

    @cached_property
    def _loaded(self) -> list[ExactMatrix]:
        return [part.load() for part in self.parts]


class Matrices(Kind[StatedMatrices]):
    """A list of matrices, or one matrix that holds their rows one below the other."""

    _listing = Listing(Matrix())
    written = (Matrix(), _listing)

    def read(self, node: Node, reading: Reading) -> StatedMatrices:
        if _is_matrix_list(node):
            return StatedMatrices(node, self._listing.read(node, reading), listed=True)
        return StatedMatrices(node, [Matrix().read(node, reading)], listed=False)


def _is_matrix_list(node: Node) -> bool:
    """Whether the first item is a matrix by itself: a reference, or a list of lists."""
    if not isinstance(node.value, list) or not node.value:
        return False
    first = node.value[0].value
    return isinstance(first, dict) or (isinstance(first, list) and len(first) > 0 and isinstance(first[0].value, list))
