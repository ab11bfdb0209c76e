"""Over a region of queries: how it is cut into cells, and how far T(q) is from an affine map over each.

Exact numbers and balls in, exact numbers and balls out: no certificate is known here, and nothing is decided. Three
parts: suprema of simple functions over unit sets, regions and their cells, and the deviation over a cell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import NORMS, l2_norm, linf_norm, scale_ball, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import exp_tail
from certattn.kernel.mathematics.operator import AffineMap
from certattn.kernel.mathematics.softmax import Prompt

# -- unit sets
#
# Upper bounds of simple functions over three sets X in R^n, as balls at the working precision.
#
#     unit ball     |x|_2 <= 1
#     unit cube     |x_k| <= 1 for every k
#     unit simplex  x_k >= 0, sum x_k = 1
#
# Of each function below its supremum over X is bounded, for a slope a, a symmetric matrix S, and an
# affine map d + B x:
#
#               |<a, x>|       |x'S x|                       |d + B x|
#     ball      |a|_2          largest |eigenvalue|          see `UnitSet.affine`
#     cube      sum |a_k|      sum |S_kl|                    see `UnitSet.affine`
#     simplex   max |a_k|      max |S_kl|                    at a vertex: max_k |d + B_k|
#
# x'S x is a convex combination of the S_kl on the simplex. The largest |eigenvalue| is at most
# (tr S^p)^(1/p) for every even p, since the trace sums the p-th powers of all of them.

# p = 2^10: the bound exceeds the largest |eigenvalue| by a factor of at most n^(1/1024), 0.3% for n = 20.
_SQUARINGS = 10


class UnitSet(ABC):
    """One of the sets X. The bounds that stand here hold for every set, and are for those with -x for every x."""

    @abstractmethod
    def reach(self, slope: Sequence[arb]) -> arb:
        """A bound of |<slope, x>|."""

    @abstractmethod
    def form(self, matrix: arb_mat) -> arb:
        """A bound of |x'S x| for a symmetric matrix S."""

    def forms(self, matrices: Sequence[Sequence[arb_mat]], norm: str) -> arb:
        """A bound of the norm of the vector of the numbers sum_S |x'S x|, one for each sequence of matrices S.

        Entry by entry: norms grow with the absolute values of the entries.
        """
        return NORMS[norm]([sum((self.form(matrix) for matrix in group), arb(0)) for group in matrices])

    def affine(self, offset: Sequence[arb], slopes: arb_mat, norm: str) -> arb:
        """A bound of |offset + slopes x| in this norm.

        linf: max_j |d_j| + sup |<B_j, x>|.  l2: the root of |d|^2 + 2 sup |<B'd, x>| + sup x'B'B x.
        """
        if norm == "linf":
            return linf_norm([abs(d) + self.reach(row) for d, row in zip(offset, slopes.tolist(), strict=True)])
        turned = slopes.transpose()
        along = (turned * arb_mat(len(offset), 1, list(offset))).entries()
        total = sum((d * d for d in offset), arb(0)) + 2 * self.reach(along) + self.form(turned * slopes)
        return total.nonnegative_part().sqrt()


class UnitBall(UnitSet):
    def reach(self, slope: Sequence[arb]) -> arb:
        return l2_norm(slope)

    def form(self, matrix: arb_mat) -> arb:
        """(tr S^p)^(1/p), p = 2^10."""
        for _ in range(_SQUARINGS):
            matrix = matrix * matrix
        bound = sum((matrix[k, k] for k in range(matrix.nrows())), arb(0))
        for _ in range(_SQUARINGS):
            bound = bound.nonnegative_part().sqrt()
        return bound


class UnitCube(UnitSet):
    def reach(self, slope: Sequence[arb]) -> arb:
        return sum((abs(entry) for entry in slope), arb(0))

    def form(self, matrix: arb_mat) -> arb:
        return sum((abs(entry) for entry in matrix.entries()), arb(0))


@dataclass(frozen=True)
class ClippedCube(UnitCube):
    """The x of the unit cube for which z = middle + halves * x, entry by entry, lies in the unit ball.

    An affine map of x is one of z, so the smaller of two bounds holds: over the cube, over the ball.
    """

    middle: tuple[fmpq, ...]
    halves: tuple[fmpq, ...]

    def affine(self, offset: Sequence[arb], slopes: arb_mat, norm: str) -> arb:
        """d + B x = (d - B (middle / halves)) + (B / halves) z."""
        rows = [[b / half for b, half in zip(row, self.halves, strict=True)] for row in slopes.tolist()]
        moved = [
            d - sum((b * m for b, m in zip(row, self.middle, strict=True)), arb(0))
            for d, row in zip(offset, rows, strict=True)
        ]
        return super().affine(offset, slopes, norm).min(UnitBall().affine(moved, arb_mat(rows), norm))


class UnitSimplex(UnitSet):
    def reach(self, slope: Sequence[arb]) -> arb:
        return linf_norm(slope)

    def form(self, matrix: arb_mat) -> arb:
        return linf_norm(matrix.entries())

    def forms(self, matrices: Sequence[Sequence[arb_mat]], norm: str) -> arb:
        """The vector is, at most, a convex combination of the vectors of the sums |S_kl|."""
        entries = [[[abs(entry) for entry in matrix.entries()] for matrix in group] for group in matrices]
        sums = [[sum(column, arb(0)) for column in zip(*group, strict=True)] for group in entries]
        return linf_norm([NORMS[norm](vector) for vector in zip(*sums, strict=True)])

    def affine(self, offset: Sequence[arb], slopes: arb_mat, norm: str) -> arb:
        """A norm of an affine map is convex."""
        vertices = slopes.transpose().tolist()
        return linf_norm([NORMS[norm]([d + b for d, b in zip(offset, row, strict=True)]) for row in vertices])


BALL, CUBE, SIMPLEX = UnitBall(), UnitCube(), UnitSimplex()


# -- regions and their cells
#
# Regions of queries and how they are cut into cells, exactly.
#
#     ball   |q - centre|_2 <= radius
#     box    lower_j <= q_j <= upper_j for every j; an interval may be a point
#     hull   the convex combinations of stated points
#
# A cell is the set of all c + sum_k x_k g_k with x in a unit set: centre c, directions g_k. Cells come
# from bisections, which are carried out here, so that together they cover the region whatever a
# witness says. Bisections act on unit pieces, which do not depend on where the region lies:
#
#     a box in [-1, 1]^d     is cut in the middle of an axis
#     a simplex of weights   is cut in the middle of an edge: its other points stay, and the middle takes
#                            the place of one end, then of the other
#
# A ball is one cell as long as it is not cut; then it is its bounding box, and pieces outside are dropped.

# One bisection: (axis,), or the two ends of an edge. None: a cell.
Bisection = tuple[int, ...]
P = TypeVar("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Cell:
    """The queries centre + sum_k x_k directions_k, x in the unit set; more than the region's own at most.

    `inside`: the centre is a query of the region.
    """

    centre: ExactMatrix
    directions: ExactMatrix
    unit: UnitSet
    inside: bool


@dataclass(frozen=True)
class BoxPiece:
    """The z in [-1, 1]^d with |z_j - middle_j| <= halves_j."""

    middle: tuple[fmpq, ...]
    halves: tuple[fmpq, ...]

    def split(self, bisection: Bisection) -> tuple[BoxPiece, BoxPiece]:
        (axis,) = bisection
        half = self.halves[axis] / 2
        halves = _replaced(self.halves, axis, half)
        first, second = (_replaced(self.middle, axis, self.middle[axis] + side) for side in (-half, half))
        return BoxPiece(first, halves), BoxPiece(second, halves)

    def meets_ball(self) -> bool:
        """Whether some z of it has |z|_2 <= 1. The one nearest to 0 has |z_j| = max(|middle_j| - halves_j, 0)."""
        gaps = [max(abs(m) - half, fmpq(0)) for m, half in zip(self.middle, self.halves, strict=True)]
        return _square(gaps) <= 1

    def centred_in_ball(self) -> bool:
        return _square(self.middle) <= 1


@dataclass(frozen=True)
class SimplexPiece:
    """The convex combinations of rows of weights, each of them >= 0 and of sum 1."""

    corners: tuple[tuple[fmpq, ...], ...]

    def split(self, bisection: Bisection) -> tuple[SimplexPiece, SimplexPiece]:
        """Of the weights of both ends the smaller one can be taken for the middle, twice."""
        i, j = bisection
        middle = tuple((x + y) / 2 for x, y in zip(self.corners[i], self.corners[j], strict=True))
        return SimplexPiece(_replaced(self.corners, i, middle)), SimplexPiece(_replaced(self.corners, j, middle))


def pieces(whole: P, bisections: Sequence[Bisection | None], split: Callable[[P, Bisection], tuple[P, P]]) -> list[P]:
    """The leaves of a tree of bisections, written down from the root, first half first; None stands for a leaf.

    Raises ValueError where the list does not end with the last leaf.
    """
    waiting, found = [whole], []
    for bisection in bisections:
        if not waiting:
            raise ValueError("goes on after the last cell")
        piece = waiting.pop()
        if bisection is None:
            found.append(piece)
        else:
            waiting += reversed(split(piece, bisection))
    if waiting:
        raise ValueError("ends before the last cell")
    return found


def box_pieces(dimension: int, bisections: Sequence[Bisection | None]) -> list[BoxPiece]:
    """The leaves of [-1, 1]^d."""
    whole = BoxPiece((fmpq(0),) * dimension, (fmpq(1),) * dimension)
    return pieces(whole, bisections, BoxPiece.split)


def ball_pieces(dimension: int, bisections: Sequence[Bisection | None]) -> list[BoxPiece | None]:
    """The leaves of [-1, 1]^d that meet the unit ball; None for the ball as it is."""
    if list(bisections) == [None]:
        return [None]
    return [piece for piece in box_pieces(dimension, bisections) if piece.meets_ball()]


def simplex_pieces(count: int, bisections: Sequence[Bisection | None]) -> list[SimplexPiece]:
    """The leaves of the simplex of so many weights."""
    corners = tuple(tuple(fmpq(int(i == j)) for j in range(count)) for i in range(count))
    return pieces(SimplexPiece(corners), bisections, SimplexPiece.split)


Piece = BoxPiece | SimplexPiece | None


@dataclass(frozen=True)
class Ball:
    """|q - centre|_2 <= radius."""

    centre: ExactMatrix
    radius: fmpq

    def middle(self) -> ExactMatrix:
        """A query of the region, 1 x d."""
        return self.centre

    def contains(self, query: ExactMatrix) -> bool:
        return _square((query - self.centre).row(0)) <= self.radius * self.radius

    def cell(self, piece: Piece) -> Cell:
        if piece is None:
            directions = ExactMatrix.identity(self.centre.columns).scaled(self.radius)
            return Cell(self.centre, directions, BALL, inside=True)
        assert isinstance(piece, BoxPiece)
        centre = self.centre + ExactMatrix.row_vector(piece.middle).scaled(self.radius)
        unit = ClippedCube(piece.middle, piece.halves)
        return Cell(centre, _diagonal(piece.halves).scaled(self.radius), unit, piece.centred_in_ball())


@dataclass(frozen=True)
class Box:
    """lower_j <= q_j <= upper_j for every j."""

    lower: ExactMatrix
    upper: ExactMatrix

    def middle(self) -> ExactMatrix:
        """A query of the region, 1 x d."""
        return (self.lower + self.upper).scaled(fmpq(1, 2))

    def halves(self) -> list[fmpq]:
        """Half the length of each interval."""
        return (self.upper - self.lower).scaled(fmpq(1, 2)).row(0)

    def contains(self, query: ExactMatrix) -> bool:
        gaps = (query - self.lower).row(0) + (self.upper - query).row(0)
        return all(gap >= 0 for gap in gaps)

    def cell(self, piece: Piece) -> Cell:
        assert isinstance(piece, BoxPiece)
        halves = self.halves()
        moved = [m * half for m, half in zip(piece.middle, halves, strict=True)]
        sides = [h * half for h, half in zip(piece.halves, halves, strict=True)]
        # Intervals that are points need no direction, but a cell has at least one.
        moving = [axis for axis, side in enumerate(sides) if side > 0] or [0]
        return Cell(
            self.middle() + ExactMatrix.row_vector(moved), _diagonal(sides).take_rows(moving), CUBE, inside=True
        )


@dataclass(frozen=True)
class Hull:
    """The convex combinations of the rows of `points`."""

    points: ExactMatrix

    def middle(self) -> ExactMatrix:
        """A query of the region, 1 x d."""
        return self.points.mean_row()

    def at(self, weights: ExactMatrix) -> ExactMatrix:
        """The combination with these weights, 1 x points."""
        return weights @ self.points

    def cell(self, piece: Piece) -> Cell:
        assert isinstance(piece, SimplexPiece)
        vertices = ExactMatrix.rational(piece.corners) @ self.points
        centre = vertices.mean_row()
        return Cell(centre, vertices.centred(centre), SIMPLEX, inside=True)


def is_combination(weights: Sequence[fmpq]) -> bool:
    """Whether numbers are the weights of a convex combination."""
    return all(weight >= 0 for weight in weights) and sum(weights, fmpq(0)) == 1


def _diagonal(entries: Sequence[fmpq]) -> ExactMatrix:
    size = range(len(entries))
    return ExactMatrix.rational([[entries[i] if i == j else fmpq(0) for j in size] for i in size])


def _square(entries: Sequence[fmpq]) -> fmpq:
    return sum((entry * entry for entry in entries), fmpq(0))


def _replaced(entries: tuple[T, ...], index: int, entry: T) -> tuple[T, ...]:
    return (*entries[:index], entry, *entries[index + 1 :])


# -- the deviation over a cell
#
# How far T(q) is from an affine map over a whole cell of queries, as balls at the working precision.
#
# A cell is the set of all q = c + sum_k x_k g_k with x in a unit set X. With the softmax weights w of
# the query c, E the average under w, y = v - E v, a_k = s <k - E k, g_k> and u = <a, x> (so E y = E a = 0)
#
#     T(q) - T_inf(q) = d + B x + (1 - theta) E[y phi(u)] - theta W x,      phi(u) = e^u - 1 - u,
#
# where d = T(c) - T_inf(c), W = E[y a'], B = W less the slope of T_inf, and 1 - theta = 1 / E e^u with
# E e^u = 1 + E phi(u) >= 1. Let t >= |u| over the cell and gamma(t) = (e^t - 1 - t) / t^2. Then
#
#     0 <= phi(u) <= gamma(t) u^2      and      |phi(u) - u^2/2| <= (gamma(t) - 1/2) u^2,
#
# which bounds theta by eta / (1 + eta), eta = sup x'E[gamma(t) a a'] x, and the entries of E[y phi(u)] by
# rho_j = (sup |x'E[y_j a a'] x| + sup x'E[|y_j| (2 gamma(t) - 1) a a'] x) / 2. The norm of the sum is convex
# in theta, so it is largest at one of its two ends. Proof: docs/claims/attention/output-deviation.md.

# Products of coordinates held in memory at once: about 100 bytes each.
_PRODUCTS_AT_ONCE = 2**18


@dataclass(frozen=True)
class CellBound:
    """`centre` encloses |T(c) - T_inf(c)|, `upper` a bound of |T(q) - T_inf(q)| for every q of the cell."""

    centre: arb
    upper: arb


@dataclass(frozen=True)
class Expansion:
    """T - T_inf around the centre c of a cell: d as `offset`, W as `slope`, that of T_inf as `limit_slope`.

    `weights` are the w; `tilts` has a row a for each token, `weighed` a row of the w y_j for each output.
    """

    weights: list[arb]
    tilts: list[list[arb]]
    weighed: list[list[arb]]
    offset: list[arb]
    slope: arb_mat
    limit_slope: arb_mat

    def moments(self, factors: Sequence[Sequence[arb]]) -> list[arb_mat]:
        """sum f a a' over the tokens, for each row of factors f, one number for each token."""
        size, count = len(self.tilts[0]), len(self.tilts)
        pairs = [(k, m) for k in range(size) for m in range(k, size)]
        found = arb_mat(len(factors), len(pairs))
        step = max(1, _PRODUCTS_AT_ONCE // len(pairs))
        for start in range(0, count, step):
            tilts = self.tilts[start : start + step]
            products = [row[k] * row[m] for row in tilts for k, m in pairs]
            some = [entry for factor in factors for entry in factor[start : start + step]]
            found = found + arb_mat(len(factors), len(tilts), some) * arb_mat(len(tilts), len(pairs), products)
        places = {pair: place for place, pair in enumerate(pairs)}
        order = [places[min(k, m), max(k, m)] for k in range(size) for m in range(size)]
        return [arb_mat(size, size, [row[place] for place in order]) for row in found.tolist()]


@dataclass(frozen=True)
class Deviation:
    """T - T_inf for a prompt whose keys are multiplied with the stated queries, and an affine T_inf."""

    prompt: Prompt
    limit: AffineMap

    @cached_property
    def _keys(self) -> ExactMatrix:
        return self.prompt.keys.centred(self.prompt.keys.take_rows([0]))

    @cached_property
    def _mean(self) -> ExactMatrix:
        return self.prompt.values.mean_row()

    @cached_property
    def _values(self) -> ExactMatrix:
        return self.prompt.values.centred(self._mean)

    def over(self, cell: Cell, norm: str) -> CellBound:
        """The deviation at the centre of a cell, and a bound of it over the cell."""
        unit, local = cell.unit, self.expand(cell)
        tails = [exp_tail(unit.reach(tilt)) for tilt in local.tilts]
        factors = [[w * tail for w, tail in zip(local.weights, tails, strict=True)]]
        for row in local.weighed:
            factors += [row, [abs(x) * (2 * tail - 1) for x, tail in zip(row, tails, strict=True)]]
        growth, *curves = local.moments(factors)
        rho = unit.forms(list(zip(curves[::2], curves[1::2], strict=True)), norm) / 2
        eta = unit.form(growth)
        theta = eta / (eta + 1)
        slopes = local.slope - local.limit_slope
        first = unit.affine(local.offset, slopes, norm) + rho
        last = unit.affine(local.offset, slopes - local.slope * theta, norm) + (1 - theta) * rho
        return CellBound(NORMS[norm](local.offset), first.max(last))

    def expand(self, cell: Cell) -> Expansion:
        """The prompt as the centre of a cell sees it."""
        scale = scale_ball(self.prompt.scale)
        weights = _softmax(_balls(self._keys @ cell.centre.T, scale).entries())
        tilts = _balls(self._keys @ cell.directions.T, scale)
        values = _balls(self._values, arb(1))
        average = arb_mat(1, len(weights), weights)
        mean_tilt, output = (average * tilts).entries(), (average * values).entries()
        around = [[x - mean for x, mean in zip(row, mean_tilt, strict=True)] for row in tilts.tolist()]
        weighed = [
            [w * (v - mean) for w, v in zip(weights, column, strict=True)]
            for column, mean in zip(values.transpose().tolist(), output, strict=True)
        ]
        (infinite,) = self.limit.from_point(self._mean, cell.centre)
        limit_slope = table_of_balls(self.limit.matrix @ cell.directions.T, scale_ball(self.limit.scale))
        return Expansion(
            weights,
            around,
            weighed,
            [x - y for x, y in zip(output, infinite, strict=True)],
            arb_mat(weighed) * arb_mat(around),
            arb_mat(limit_slope),
        )


def _balls(matrix: ExactMatrix, factor: arb) -> arb_mat:
    """factor * matrix."""
    return arb_mat(matrix.numerators) * (factor / matrix.denominator)


def _softmax(scores: Sequence[arb]) -> list[arb]:
    powers = [score.exp() for score in scores]
    total = sum(powers, arb(0))
    return [power / total for power in powers]
