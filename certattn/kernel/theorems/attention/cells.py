"""Over a region of queries: how it is cut into cells, and how far T(q) is from an affine map, or from T'(q), over each.

Exact numbers and balls in, exact numbers and balls out: no certificate is known here, and nothing is decided. Three
parts: regions and their cells, the deviation over a cell, and the difference of two softmax means over a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import NORMS, scale_ball, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import exp_tail
from certattn.kernel.mathematics.operator import AffineMap
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.attention.quadratic_forms import moments
from certattn.kernel.theorems.attention.unit_sets import BALL, CUBE, SIMPLEX, ClippedCube, UnitSet

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


@dataclass(frozen=True)
class Deviation:
    """T - T_inf for a prompt whose keys are multiplied with the stated queries, and an affine T_inf.

    `times` are positive factors of the softmax weights, one for each token; None for 1.
    """

    prompt: Prompt
    limit: AffineMap
    times: Sequence[fmpq] | None = None

    @cached_property
    def _keys(self) -> ExactMatrix:
        return self.prompt.keys.centred(self.prompt.keys.take_rows([0]))

    @cached_property
    def _mean(self) -> ExactMatrix:
        return self.prompt.values.mean_row()

    @cached_property
    def _values(self) -> ExactMatrix:
        return self.prompt.values.centred(self._mean)

    @property
    def is_constant(self) -> bool:
        """Whether all values are the same, so that T is."""
        return self._values.is_zero() is True

    def at(self, query: ExactMatrix) -> list[arb]:
        """T(q) - T_inf(q) for a query, 1 x d."""
        return self._off(query, self._output(self._weights(query)))

    def _weights(self, query: ExactMatrix) -> list[arb]:
        scores = _balls(self._keys @ query.T, scale_ball(self.prompt.scale)).entries()
        powers = [score.exp() for score in scores]
        if self.times is not None:
            powers = [power * count for power, count in zip(powers, self.times, strict=True)]
        total = sum(powers, arb(0))
        return [power / total for power in powers]

    def _output(self, weights: list[arb]) -> list[arb]:
        """T less the mean of the values."""
        return (arb_mat(1, len(weights), weights) * _balls(self._values, arb(1))).entries()

    def _off(self, query: ExactMatrix, output: list[arb]) -> list[arb]:
        (infinite,) = self.limit.from_point(self._mean, query)
        return [x - y for x, y in zip(output, infinite, strict=True)]

    def over(self, cell: Cell, norm: str) -> CellBound:
        """The deviation at the centre of a cell, and a bound of it over the cell."""
        unit, local = cell.unit, self.expand(cell)
        reaches = [unit.reach(tilt) for tilt in local.tilts]
        tails = [exp_tail(reach) for reach in reaches]
        growing = [[w * tail for w, tail in zip(local.weights, tails, strict=True)]]
        excess = [2 * tail - 1 for tail in tails]
        resting = [[abs(x) * more for x, more in zip(row, excess, strict=True)] for row in local.weighed]
        growth, curves, rests = moments(local.tilts, reaches, growing, local.weighed, resting)
        rho = unit.forms(curves, rests, norm) / 2
        eta = unit.form(growth.matrix(0))
        theta = eta / (eta + 1)
        slopes = local.slope - local.limit_slope
        first = unit.affine(local.offset, slopes, norm) + rho
        last = unit.affine(local.offset, slopes - local.slope * theta, norm) + (1 - theta) * rho
        return CellBound(NORMS[norm](local.offset), first.max(last))

    def expand(self, cell: Cell) -> Expansion:
        """The prompt as the centre of a cell sees it."""
        scale = scale_ball(self.prompt.scale)
        weights = self._weights(cell.centre)
        tilts = _balls(self._keys @ cell.directions.T, scale)
        values = _balls(self._values, arb(1))
        mean_tilt, output = (arb_mat(1, len(weights), weights) * tilts).entries(), self._output(weights)
        around = [[x - mean for x, mean in zip(row, mean_tilt, strict=True)] for row in tilts.tolist()]
        weighed = [
            [w * (v - mean) for w, v in zip(weights, column, strict=True)]
            for column, mean in zip(values.transpose().tolist(), output, strict=True)
        ]
        limit_slope = table_of_balls(self.limit.matrix @ cell.directions.T, scale_ball(self.limit.scale))
        return Expansion(
            weights,
            around,
            weighed,
            self._off(cell.centre, output),
            arb_mat(weighed) * arb_mat(around),
            arb_mat(limit_slope),
        )


def _balls(matrix: ExactMatrix, factor: arb) -> arb_mat:
    """factor * matrix."""
    return arb_mat(matrix.numerators) * (factor / matrix.denominator)


# -- the difference of two softmax means over a cell
#
# T and T' are two such means of the same query, of other keys and values. With a prime for what belongs to T', put
# d = T'(c) - T(c), B = W' - W, 1 - theta = 1 / E e^u and 1 - theta' = 1 / E' e^{u'}. Then
#
#     T'(q) - T(q) = d + (1 - theta) (B x + E'[y' phi(u')] - E[y phi(u)]) + (theta - theta') (W' x + E'[y' phi(u')]).
#
# The two remainders are subtracted before they are bounded: one moment over the tokens of both, those of T with the
# sign -. So is theta - theta', which is at most |E' phi(u') - E phi(u)|. Where a token of T' is about one of T, with
# factors f' and f of phi(u') and phi(u), what both have beyond the second order is at most the smaller of
#
#     |f'| (gamma' - 1/2) u'^2 + |f| (gamma - 1/2) u^2,
#     |f' - f| (gamma' - 1/2) u'^2 + |f| tau max(gamma, gamma') (u^2 + u'^2) / 2       with tau >= |u' - u|.
#
# Proof: docs/claims/attention/cache-error.md.


@dataclass(frozen=True)
class Difference:
    """T' - T, of two prompts with outputs of the same dimension, both relative to one constant vector.

    `partners` has for each of the first tokens of T' one of T, each of them once; it helps where they are alike.
    """

    first: Deviation
    second: Deviation
    partners: Sequence[int]

    @classmethod
    def of(cls, prompt: Prompt, other: Prompt, times: Sequence[fmpq], partners: Sequence[int] = ()) -> Difference:
        """How far the softmax mean over `other`, whose tokens count so many times, is from that over `prompt`."""
        origin = constant(prompt.values.mean_row(), prompt.keys.columns)
        return cls(Deviation(other, origin, times), Deviation(prompt, origin), partners)

    def at(self, query: ExactMatrix) -> list[arb]:
        """T'(q) - T(q) for a query, 1 x d."""
        return [x - y for x, y in zip(self.first.at(query), self.second.at(query), strict=True)]

    def over(self, cell: Cell, norm: str) -> CellBound:
        """Its size at the centre of a cell, and a bound of it over the cell."""
        unit, first, second = cell.unit, self.first.expand(cell), self.second.expand(cell)
        tilts = first.tilts + second.tilts
        reaches = [unit.reach(tilt) for tilt in tilts]
        tails = [exp_tail(reach) for reach in reaches]
        pairs = [(c, len(first.weights) + j) for c, j in enumerate(self.partners)]
        moves = [unit.reach([x - y for x, y in zip(tilts[c], tilts[j], strict=True)]) for c, j in pairs]
        # Of the one, of the other, and of the first less the second; phi has the "values" 1.
        none, own = [arb(0)] * len(first.weights), [arb(0)] * len(second.weights)
        growing = [[w * tail for w, tail in zip(none + second.weights, tails, strict=True)]]
        alone = [[abs(y) * tail for y, tail in zip(x + own, tails, strict=True)] for x in first.weighed]
        normalisers = [first.weights + [-w for w in second.weights]]
        apart = [x + [-y for y in z] for x, z in zip(first.weighed, second.weighed, strict=True)]
        rests = [[_beyond(row, tails, pairs, moves) for row in rows] for rows in (normalisers, apart)]
        growth, *both, whole = moments(tilts, reaches, growing, normalisers, rests[0], apart, rests[1], alone)
        eta = unit.form(growth.matrix(0))
        delta = unit.forms(both[0], both[1], "linf") / 2
        rho, rho_first = unit.forms(both[2], both[3], norm) / 2, unit.forms(whole, whole, norm) / 2
        offset = [x - y for x, y in zip(first.offset, second.offset, strict=True)]
        slopes, rest = first.slope - second.slope, 1 / (eta + 1)
        most = unit.affine(offset, slopes, norm) + rho
        least = unit.affine(offset, slopes * rest, norm) + rest * rho
        moved = delta * (unit.affine([arb(0)] * len(offset), first.slope, norm) + rho_first)
        return CellBound(NORMS[norm](offset), most.max(least) + moved)


def _beyond(
    row: Sequence[arb], tails: Sequence[arb], pairs: Sequence[tuple[int, int]], moves: Sequence[arb]
) -> list[arb]:
    """For factors of the phi(u) of all tokens, twice those of their u^2 that bound what is beyond the second order."""
    found = [abs(factor) * (2 * tail - 1) for factor, tail in zip(row, tails, strict=True)]
    for (c, j), move in zip(pairs, moves, strict=True):
        both = abs(row[j]) * move * tails[c].max(tails[j])
        # Factors of the second have the sign -.
        one = abs(row[c] + row[j]) * (2 * tails[c] - 1) + both
        if one + both < found[c] + found[j]:
            found[c], found[j] = one, both
    return found


def constant(value: ExactMatrix, dimension: int) -> AffineMap:
    """The map of queries of this dimension that is 1 x d everywhere."""
    return AffineMap(ExactMatrix.zero(value.columns, dimension), value, fmpq(1))
