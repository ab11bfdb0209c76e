"""Orthonormal bases of the span of the rows of an exact matrix, and the parts of vectors along it and beside it."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, arb_mat

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.selection_landscape import inner


class Frame:
    """An orthonormal basis of the span L of the rows of an exact matrix: Gram and Schmidt, of independent rows.

    Attributes: `rank` is exact; `rows` are not finite where the precision does not tell independent rows apart.
    """

    def __init__(self, table: ExactMatrix) -> None:
        reduced, _, self.rank = table.numerators.transpose().rref()
        chosen = [next(j for j in range(table.rows) if reduced[i, j] != 0) for i in range(self.rank)]
        self.rows: list[list[arb]] = []
        for j in chosen:
            row = [arb(entry) for entry in table.row(j)]
            rest = self.beside(row)
            length = l2_norm(rest)
            self.rows.append([entry / length for entry in rest])

    def along(self, vector: Sequence[arb]) -> list[arb]:
        """The coordinates of its part along L."""
        return [inner(row, vector) for row in self.rows]

    def distance(self, vector: Sequence[arb]) -> arb:
        """Of a vector across u: 0 where L is all that is across u."""
        return arb(0) if self.rank == len(vector) - 1 else l2_norm(self.beside(vector))

    def beside(self, vector: Sequence[arb]) -> list[arb]:
        """Its part orthogonal to L."""
        rest = list(vector)
        for row in self.rows:
            share = inner(row, rest)
            rest = [x - share * y for x, y in zip(rest, row, strict=True)]
        return rest

    def lengths(self, vectors: arb_mat) -> list[tuple[arb, arb]]:
        """Of the rows, vectors across u: the lengths of both parts, as above, all at once."""
        if self.rank == 0:
            return [(arb(0), self.distance(row)) for row in vectors.tolist()]
        rows = arb_mat(self.rows)
        along = vectors * rows.transpose()
        inside = [l2_norm(row) for row in along.tolist()]
        if self.rank == vectors.ncols() - 1:
            return [(length, arb(0)) for length in inside]
        return list(zip(inside, map(l2_norm, (vectors - along * rows).tolist()), strict=True))
