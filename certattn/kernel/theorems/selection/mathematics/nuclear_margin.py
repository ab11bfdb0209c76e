"""The max-margin problem of W = K'Q, of which K and Q are both trained: the least nuclear norm, by weak duality.

    min |W|_*   subject to   <Z_j, W> >= r_j,   |W|_* the sum of the singular values,   <A, B> = tr(A'B).

Upper bound. For every K and Q of as many rows,

    |W|_* <= (|K|_F^2 + |Q|_F^2) / 2 + sum_ab |(W - K'Q)_ab|,

as |K'Q|_* = tr(U'K'QV) <= |KU|_F |QV|_F <= |K|_F |Q|_F for the singular vectors U, V of K'Q, and a matrix with one
entry c, else 0, has the nuclear norm |c|. Equality holds for W = U S V', K = S^(1/2) U' and Q = S^(1/2) V'.

Lower bound. Let lambda_j >= 0 and let no singular value of M = sum_j lambda_j Z_j exceed 1: that is, I - MM' has no
negative eigenvalue. As <M, W> <= |M|_op |W|_*, every feasible W has |W|_* >= <M, W> >= sum_j lambda_j r_j.

Tarzanagh, Li, Thrampoulidis and Oymak 2023, problem (Att-SVM) with the nuclear norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq, fmpz_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.margin_points import Direction, combination


@dataclass(frozen=True)
class NuclearMargin(Direction):
    """A direction W~, d x m of `shape` in one row, factors K and Q, and multipliers lambda_j by row.

    Z_j are the `rows`, each in one row. |q|_* <= `norm` / m for the feasible q = W~ / m.
    """

    shape: tuple[int, int]
    K: ExactMatrix
    Q: ExactMatrix
    multipliers: Mapping[int, fmpq]

    @cached_property
    def norm(self) -> fmpq:
        """A bound on |W~|_*."""
        rest = self.direction - in_one_row(self.K.T @ self.Q)
        beside = sum((abs(entry) for entry in rest.row(0)), fmpq(0))
        return (self.K.inner(self.K) + self.Q.inner(self.Q)) / 2 + beside

    @cached_property
    def combined(self) -> ExactMatrix:
        """M = sum_j lambda_j Z_j, d x m."""
        row = combination(self.rows, self.multipliers)
        return ExactMatrix(fmpz_mat(*self.shape, row.numerators.entries()), row.denominator)

    @cached_property
    def room(self) -> ExactMatrix:
        """I - MM', or I - M'M where it is smaller: both or neither have a negative eigenvalue."""
        M = self.combined
        product = M @ M.T if M.rows <= M.columns else M.T @ M
        return ExactMatrix.identity(product.rows) - product

    @cached_property
    def least(self) -> fmpq:
        """sum_j lambda_j r_j, at most |W|_* for every feasible W."""
        return sum((value * self.levels[j] for j, value in self.multipliers.items()), fmpq(0))


def in_one_row(matrix: ExactMatrix) -> ExactMatrix:
    """Its entries, row after row."""
    return ExactMatrix(fmpz_mat(1, matrix.rows * matrix.columns, matrix.numerators.entries()), matrix.denominator)
