"""Upper bounds of simple functions over three sets X in R^n, as balls at the working precision.

    unit ball     |x|_2 <= 1
    unit cube     |x_k| <= 1 for every k
    unit simplex  x_k >= 0, sum x_k = 1

Of each function below its supremum over X is bounded, for a slope a, a symmetric matrix S, and an
affine map d + B x:

              |<a, x>|       |x'S x|                       |d + B x|
    ball      |a|_2          largest |eigenvalue|          see `_Symmetric.affine`
    cube      sum |a_k|      sum |S_kl|                    see `_Symmetric.affine`
    simplex   max |a_k|      max |S_kl|                    at a vertex: max_k |d + B_k|

x'S x is a convex combination of the S_kl on the simplex. The largest |eigenvalue| is at most
(tr S^p)^(1/p) for every even p, since the trace sums the p-th powers of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import NORMS, l2_norm, linf_norm

# p = 2^10: the bound exceeds the largest |eigenvalue| by a factor of at most n^(1/1024), 0.3% for n = 20.
_SQUARINGS = 10


class UnitSet(Protocol):
    """One of the sets X."""

    def reach(self, slope: Sequence[arb]) -> arb:
        """A bound of |<slope, x>|."""

    def form(self, matrix: arb_mat) -> arb:
        """A bound of |x'S x| for a symmetric matrix S."""

    def forms(self, matrices: Sequence[Sequence[arb_mat]], norm: str) -> arb:
        """A bound of the norm of the vector of the numbers sum_S |x'S x|, one for each sequence of matrices S."""

    def affine(self, offset: Sequence[arb], slopes: arb_mat, norm: str) -> arb:
        """A bound of |offset + slopes x| in this norm."""


class _Symmetric:
    """A set that contains -x with every x."""

    def reach(self, slope: Sequence[arb]) -> arb:
        raise NotImplementedError

    def form(self, matrix: arb_mat) -> arb:
        raise NotImplementedError

    def forms(self, matrices: Sequence[Sequence[arb_mat]], norm: str) -> arb:
        """Entry by entry: norms grow with the absolute values of the entries."""
        return NORMS[norm]([sum((self.form(matrix) for matrix in group), arb(0)) for group in matrices])

    def affine(self, offset: Sequence[arb], slopes: arb_mat, norm: str) -> arb:
        """linf: max_j |d_j| + sup |<B_j, x>|.  l2: the root of |d|^2 + 2 sup |<B'd, x>| + sup x'B'B x."""
        if norm == "linf":
            return linf_norm([abs(d) + self.reach(row) for d, row in zip(offset, slopes.tolist(), strict=True)])
        turned = slopes.transpose()
        along = (turned * arb_mat(len(offset), 1, list(offset))).entries()
        total = sum((d * d for d in offset), arb(0)) + 2 * self.reach(along) + self.form(turned * slopes)
        return total.nonnegative_part().sqrt()


class UnitBall(_Symmetric):
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


class UnitCube(_Symmetric):
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


class UnitSimplex:
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
