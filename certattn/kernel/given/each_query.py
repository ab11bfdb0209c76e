"""What several claims state of each query: a bound, or a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq

from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.schema import Kind, Listing, Rational, Reading
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix


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
