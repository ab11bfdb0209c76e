"""Upper bounds of simple functions over three sets X in R^n, as balls at the working precision.

    unit ball     |x|_2 <= 1
    unit cube     |x_k| <= 1 for every k
    unit simplex  x_k >= 0, sum x_k = 1

Of each function below its supremum over X is bounded, for a slope a, a symmetric matrix S, and an
affine map d + B x:

              |<a, x>|       |x'S x|                       |d + B x|
    ball      |a|_2          largest |eigenvalue|          see `UnitSet.affine`
    cube      sum |a_k|      sum |S_kl|                    see `UnitSet.affine`
    simplex   max |a_k|      max |S_kl|                    at a vertex: max_k |d + B_k|

x'S x is a convex combination of the S_kl on the simplex. Of vectors of quadratic forms see `UnitSet.forms`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import NORMS, l2_norm, linf_norm
from certattn.kernel.theorems.attention.quadratic_forms import QuadraticForms, spectral_bound


class UnitSet(ABC):
    """One of the sets X. The bounds that stand here hold for every set, and are for those with -x for every x."""

    @abstractmethod
    def reach(self, slope: Sequence[arb]) -> arb:
        """A bound of |<slope, x>|."""

    @abstractmethod
    def form(self, matrix: arb_mat) -> arb:
        """A bound of |x'S x| for a symmetric matrix S."""

    @abstractmethod
    def forms(self, curves: QuadraticForms, rests: QuadraticForms, norm: str) -> arb:
        """A bound of the norm of the vector of the numbers |x'C_j x| + |x'R_j x|."""

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
        return spectral_bound(matrix)

    def forms(self, curves: QuadraticForms, rests: QuadraticForms, norm: str) -> arb:
        """In l2 the forms are taken together, which for many outputs is both sharper and faster than one by one.

        In linf those of larger Frobenius norm come first, since most of the others then do not matter.
        """
        if norm == "l2":
            together = curves.over_ball() + rests.over_ball()
            if not curves.is_small:
                return together
            return together.min(l2_norm([self._sum(curves, rests, j) for j in range(curves.count)]))
        largest = arb(0)
        sizes = [curve + rest for curve, rest in zip(curves.norms(), rests.norms(), strict=True)]
        for j in sorted(range(len(sizes)), key=lambda j: -sizes[j].mid()):
            if (sizes[j] <= largest) is not True:
                largest = largest.max(self._sum(curves, rests, j))
        return largest

    def _sum(self, curves: QuadraticForms, rests: QuadraticForms, j: int) -> arb:
        """|p| + |q| is the larger of |p + q| and |p - q|."""
        curve, rest = curves.matrix(j), rests.matrix(j)
        return self.form(curve + rest).max(self.form(curve - rest))


class UnitCube(UnitSet):
    def reach(self, slope: Sequence[arb]) -> arb:
        return sum((abs(entry) for entry in slope), arb(0))

    def form(self, matrix: arb_mat) -> arb:
        return sum((abs(entry) for entry in matrix.entries()), arb(0))

    def forms(self, curves: QuadraticForms, rests: QuadraticForms, norm: str) -> arb:
        """In l2 also over the ball of radius n^(1/2), which holds the cube: each time the smaller bound holds."""
        entries = [curve + rest for curve, rest in zip(curves.sizes(), rests.sizes(), strict=True)]
        if norm != "l2":
            return NORMS[norm](entries)
        apart = [l2_norm(both.sizes()).min(both.size * both.over_ball()) for both in (curves, rests)]
        return l2_norm(entries).min(apart[0] + apart[1])


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

    def forms(self, curves: QuadraticForms, rests: QuadraticForms, norm: str) -> arb:
        """The vector is, at most, a convex combination of the vectors of the |C_kl| + |R_kl|."""
        pairs = [(curves.matrix(j).entries(), rests.matrix(j).entries()) for j in range(curves.count)]
        entries = [[abs(c) + abs(r) for c, r in zip(*pair, strict=True)] for pair in pairs]
        return linf_norm([NORMS[norm](vector) for vector in zip(*entries, strict=True)])

    def affine(self, offset: Sequence[arb], slopes: arb_mat, norm: str) -> arb:
        """A norm of an affine map is convex."""
        vertices = slopes.transpose().tolist()
        return linf_norm([NORMS[norm]([d + b for d, b in zip(offset, row, strict=True)]) for row in vertices])


BALL, CUBE, SIMPLEX = UnitBall(), UnitCube(), UnitSimplex()
