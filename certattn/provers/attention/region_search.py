"""Search for a subdivision of a region over which a small bound can be proved, and for a query that deviates much.

The worst cell is cut first, until the cells are used up, or the bound is small enough, or no smaller one
is possible to speak of. All in doubles: the kernel carries out the bisections and bounds the cells anew.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention.cells import (
    Ball,
    Bisection,
    Box,
    BoxPiece,
    Deviation,
    Difference,
    Hull,
    Piece,
    SimplexPiece,
    box_pieces,
    simplex_pieces,
)
from certattn.provers.attention.region_floats import (
    Array,
    FloatDeviation,
    FloatDifference,
    coarse,
    first_largest,
    in_doubles,
    number,
    table,
)

# A bound this close to a deviation that occurs is as good as the best one.
_CLOSE = 1.001
# Bounds in doubles and in balls differ by far less, and so do doubles of different machines.
_ROUNDING = 1e-9
_CLIMBS = 60
_GRID = 2**24
_INSIDE = 2.0**-20

Region = Ball | Box | Hull
Suspect = Array | tuple[fmpq, ...] | None


@dataclass
class _Node:
    """A piece of the region, or what it was cut into."""

    piece: Piece
    upper: float
    bending: Array
    meets: bool = True
    bisection: Bisection | None = None
    halves: list[_Node] = field(default_factory=list)


@dataclass(frozen=True)
class Found:
    """A subdivision as witnesses write it, and the query of the largest deviation that was met.

    `upper` is about what is proved with it; `suspect` is a query, the weights of one for a hull, or None for
    the middle of the region.
    """

    bisections: list[Bisection | None]
    upper: float
    lower: float
    suspect: list[fmpq] | None

    def words(self) -> str:
        return " ".join("." if b is None else "-".join(str(end) for end in b) for b in self.bisections)


def search(region: Region, deviation: Deviation | Difference, norm: str, cells: int, enough: float | None) -> Found:
    """At most `cells` cells; `enough` is a bound that need not be gone below, None for the smallest."""
    # What is too large for doubles becomes inf or nan, and that is no bound.
    with np.errstate(all="ignore"):
        return _Search(region, in_doubles(deviation, norm), cells, enough).run()


class _Search:
    def __init__(
        self, region: Region, deviation: FloatDeviation | FloatDifference, cells: int, enough: float | None
    ) -> None:
        self.region, self.deviation, self.cells, self.enough = region, deviation, cells, enough
        self.suspect: Suspect = None
        self.lower = self._size(table(region.middle())[0])

    def run(self) -> Found:
        self._climb()
        root = whole = self._node(self._whole())
        if not self._good(root.upper):
            if isinstance(self.region, Ball):
                # Boxes do not beat a ball before every axis can be cut.
                dimension = self.region.centre.columns
                if self.cells >= 2**dimension:
                    root = self._node(box_pieces(dimension, [None])[0])
            root.upper = self._cut(root)
        # Uncut, the box around a ball is written as the ball itself.
        best = min(whole, root if root.halves else whole, key=lambda node: node.upper)
        return Found(list(_preorder(best)), best.upper, self.lower, self._exact())

    def _whole(self) -> Piece:
        if isinstance(self.region, Ball):
            return None
        if isinstance(self.region, Box):
            return box_pieces(self.region.lower.columns, [None])[0]
        return simplex_pieces(self.region.points.rows, [None])[0]

    def _good(self, upper: float) -> bool:
        if self.enough is not None:
            return upper <= self.enough * (1 - _ROUNDING)
        return upper <= self.lower * _CLOSE

    def _cut(self, root: _Node) -> float:
        """Cut the worst cell, again and again; the bound that is reached."""
        order = itertools.count()
        # Cells whose bounds differ by rounding alone are cut in the order in which they were met.
        waiting = [(-coarse(root.upper), next(order), root)]
        while self._can_be_cut(root) and not self._good(-waiting[0][0]) and len(waiting) < self.cells:
            _, _, worst = heapq.heappop(waiting)
            assert worst.piece is not None
            worst.bisection = self._where(worst)
            worst.halves = [self._node(half) for half in worst.piece.split(worst.bisection)]
            for node in worst.halves:
                if node.meets:
                    heapq.heappush(waiting, (-coarse(node.upper), next(order), node))
        return -waiting[0][0]

    def _can_be_cut(self, node: _Node) -> bool:
        """Not a ball as it is, and not a hull of one point."""
        return node.piece is not None and not (isinstance(self.region, Hull) and self.region.points.rows == 1)

    def _node(self, piece: Piece) -> _Node:
        if isinstance(self.region, Ball) and isinstance(piece, BoxPiece) and not piece.meets_ball():
            return _Node(piece, 0.0, np.zeros((1, 1)), meets=False)
        cell = self.region.cell(piece)
        bound = self.deviation.over(cell)
        query = table(cell.centre)[0] + bound.highest @ table(cell.directions)
        self._meet(query, piece.corners[int(bound.highest.argmax())] if isinstance(piece, SimplexPiece) else query)
        return _Node(piece, bound.upper if np.isfinite(bound.upper) else np.inf, bound.bending)

    def _where(self, node: _Node) -> Bisection:
        """The axis along which, or the edge between whose ends, the tokens are furthest apart."""
        spread = np.diag(node.bending)
        if isinstance(node.piece, SimplexPiece):
            apart = spread[:, None] + spread[None, :] - 2 * node.bending
            edges = [(i, j) for j in range(len(spread)) for i in range(j)]
            return edges[first_largest(np.array([apart[edge] for edge in edges]))]
        axis = first_largest(spread)
        if isinstance(self.region, Box):
            moving = [axis for axis, half in enumerate(self.region.halves()) if half > 0] or [0]
            axis = moving[axis]
        return (axis,)

    # -- a query that deviates much

    def _size(self, query: Array) -> float:
        affine = self.deviation.at(query)
        return self.deviation.size(affine.offset)

    def _meet(self, query: Array, suspect: Suspect) -> bool:
        """Whether the deviation is larger there, by more than rounding."""
        size = self._size(query)
        if size > self.lower * (1 + _ROUNDING):
            self.suspect, self.lower = suspect, size
            return True
        return False

    def _climb(self) -> None:
        """From the middle to the query that is best to first order, as long as it is better."""
        query = table(self.region.middle())[0]
        for _ in range(_CLIMBS):
            affine = self.deviation.at(query)
            uphill = affine.gradient() if self.deviation.norm == "l2" else affine.gradient_of_largest()
            query, suspect = self._furthest(uphill if uphill.any() else self._best_axis())
            if not self._meet(query, suspect):
                return

    def _best_axis(self) -> Array:
        """Where the slope vanishes, as at the mean of an empirical law: the axis whose end deviates the most."""
        identity = np.eye(self.region.middle().columns)
        axes = [*identity, *-identity]
        sizes = np.array([self._size(self._furthest(axis)[0]) for axis in axes])
        return np.asarray(axes[first_largest(sizes)])

    def _furthest(self, direction: Array) -> tuple[Array, Suspect]:
        region = self.region
        if isinstance(region, Ball):
            length = float(np.linalg.norm(direction)) or 1.0
            query = table(region.centre)[0] + number(region.radius) * direction / length
            return query, query
        if isinstance(region, Box):
            query = np.where(direction > 0, table(region.upper)[0], table(region.lower)[0])
            return query, query
        points = table(region.points)
        heights = points @ direction
        best = first_largest(heights - heights.min())
        return points[best], tuple(fmpq(int(i == best)) for i in range(len(points)))

    def _exact(self) -> list[fmpq] | None:
        """The query as certificates write it, in the region exactly; None for its middle."""
        region, suspect = self.region, self.suspect
        if suspect is None or isinstance(region, Hull):
            return list(suspect) if suspect is not None else None
        middle = region.middle()
        halves = region.halves() if isinstance(region, Box) else [region.radius] * middle.columns
        gaps = np.asarray(suspect) - table(middle)[0]
        shares = [gap / number(half) if half else 0.0 for gap, half in zip(gaps, halves, strict=True)]
        if isinstance(region, Ball):
            shares = list(np.array(shares) / max(1.0, (1 + _INSIDE) * float(np.linalg.norm(shares))))
        rounded = [fmpq(round(min(1.0, max(-1.0, share)) * _GRID), _GRID) for share in shares]
        moved = ExactMatrix.row_vector([share * half for share, half in zip(rounded, halves, strict=True)])
        query = middle + moved
        return query.row(0) if region.contains(query) else None


def _preorder(node: _Node) -> Iterator[Bisection | None]:
    waiting = [node]
    while waiting:
        here = waiting.pop()
        yield here.bisection
        waiting += reversed(here.halves)
