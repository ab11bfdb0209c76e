"""The max-margin problem over the rationals: a point and multipliers, and the numbers that say whether they solve it.

    min |p|   subject to   <z_j, p> >= r_j,   with levels r_j that are 1, or 0 where a constraint is relaxed.

Theorem (Karush, Kuhn, Tucker; the problem is convex). If p = sum_j lambda_j z_j, lambda_j >= 0, every <z_j, p> >= r_j
and sum_j lambda_j (<z_j, p> - r_j) = 0, then p is the one point of least norm that satisfies the constraints: for
any feasible q, <p, q> = sum lambda_j <z_j, q> >= sum lambda_j r_j = sum lambda_j <z_j, p> = |p|^2, so that
|q|^2 >= |p|^2 + |q - p|^2.

Nothing here decides: `MaxMargin` only computes the numbers of these conditions, exactly.
Ataee Tarzanagh, Li, Zhang and Oymak 2023, problem (Att-SVM).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq, fmpz_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix


@dataclass(frozen=True)
class MaxMargin:
    """The point p = sum_j lambda_j z_j of stated multipliers: z_j the rows of `rows`, r_j the `levels`.

    `multipliers` holds the lambda_j that are not 0, by row. Everything said of p as the solution holds only where
    the conditions of the theorem above are proved.
    """

    rows: ExactMatrix
    multipliers: Mapping[int, fmpq]
    levels: tuple[fmpq, ...]

    @cached_property
    def solution(self) -> ExactMatrix:
        """p, 1 x d."""
        active = sorted(self.multipliers)
        weights = ExactMatrix.row_vector([self.multipliers[j] for j in active])
        return weights @ self.rows.take_rows(active)

    @cached_property
    def products(self) -> tuple[fmpq, ...]:
        """The <z_j, p>."""
        column = self.rows @ self.solution.T
        return tuple(column.entry(j, 0) for j in range(column.rows))

    @cached_property
    def norm_squared(self) -> fmpq:
        """|p|^2."""
        return (self.solution @ self.solution.T).entry(0, 0)

    def margin(self) -> arb:
        """Xi = 1 / |p|, at the working precision; not finite where p is 0."""
        return 1 / arb(self.norm_squared).sqrt()

    @cached_property
    def slacks(self) -> tuple[fmpq, ...]:
        """The <z_j, p> - r_j: none is negative where p is feasible."""
        return tuple(product - level for product, level in zip(self.products, self.levels, strict=True))

    @cached_property
    def smallest_multiplier(self) -> fmpq:
        """min_j lambda_j over the stated ones."""
        return min(self.multipliers.values())

    @cached_property
    def smallest_slack(self) -> fmpq:
        return min(self.slacks)

    @cached_property
    def complementarity(self) -> fmpq:
        """sum_j lambda_j (<z_j, p> - r_j): 0 where only tight constraints have multipliers."""
        return sum((value * self.slacks[j] for j, value in self.multipliers.items()), fmpq(0))

    @cached_property
    def tight(self) -> tuple[int, ...]:
        """The rows with <z_j, p> = r_j: of level 1, the neighbours in the sense of the paper."""
        return tuple(j for j, slack in enumerate(self.slacks) if slack == 0)


def hard_margin(rows: ExactMatrix, multipliers: Mapping[int, fmpq]) -> MaxMargin:
    """The problem with every level 1."""
    return MaxMargin(rows, multipliers, (fmpq(1),) * rows.rows)


def on_support(rows: ExactMatrix, support: Sequence[int]) -> MaxMargin | None:
    """The problem with every level 1, and the multipliers that make the rows of `support` tight and are 0 elsewhere.

    They solve Z Z' lambda = (1, ..., 1)' for the rows Z of the support; None where these are linearly dependent.
    """
    tight = rows.take_rows(support)
    gram = tight @ tight.T
    try:
        solved = gram.numerators.solve(fmpz_mat(len(support), 1, [gram.denominator] * len(support)))
    except ZeroDivisionError:
        return None
    return hard_margin(rows, {j: solved[k, 0] for k, j in enumerate(support)})
