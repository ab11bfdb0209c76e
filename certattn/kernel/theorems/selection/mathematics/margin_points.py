"""Max-margin problems over the rationals: the point of stated multipliers, and what makes it the solution.

    min |p|   subject to   <z_j, p> >= r_j,   with levels r_j that are 1, or 0 where a constraint is relaxed.

Theorem (Karush, Kuhn, Tucker; the problem is convex). If p = sum_j lambda_j z_j, lambda_j >= 0, every <z_j, p> >= r_j
and sum_j lambda_j (<z_j, p> - r_j) = 0, then p is the one point of least norm that satisfies the constraints: for
any feasible q, <p, q> = sum lambda_j <z_j, q> >= sum lambda_j r_j = sum lambda_j <z_j, p> = |p|^2, so that
|q|^2 >= |p|^2 + |q - p|^2.

Gordan's and Farkas' argument. If mu_j >= 0, sum mu_j z_j = 0 and sum mu_j r_j > 0, then no p has <z_j, p> >= r_j for
all j, as this would give 0 = sum mu_j <z_j, p> >= sum mu_j r_j > 0.

Ataee Tarzanagh, Li, Zhang and Oymak 2023, problem (Att-SVM).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix


def combination(rows: ExactMatrix, weights: Mapping[int, fmpq]) -> ExactMatrix:
    """sum_j w_j z_j, 1 x d, of rows z_j and the weights w_j that are not 0."""
    active = sorted(weights)
    return ExactMatrix.row_vector([weights[j] for j in active]) @ rows.take_rows(active)


class Conditions(NamedTuple):
    """What the theorem of Karush, Kuhn and Tucker asks of, and the squared norm; of one point, or the worst of some."""

    multiplier: fmpq
    slack: fmpq
    complementarity: fmpq
    norm_squared: fmpq

    def joined(self, other: Conditions) -> Conditions:
        """The worse of both."""
        return Conditions(
            min(self.multiplier, other.multiplier),
            min(self.slack, other.slack),
            max(self.complementarity, other.complementarity),
            min(self.norm_squared, other.norm_squared),
        )


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
        return combination(self.rows, self.multipliers)

    @cached_property
    def products(self) -> tuple[fmpq, ...]:
        """The <z_j, p>."""
        return tuple((self.rows @ self.solution.T).T.row(0))

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
    def complementarity(self) -> fmpq:
        """sum_j lambda_j (<z_j, p> - r_j): 0 where only tight constraints have multipliers."""
        return sum((value * self.slacks[j] for j, value in self.multipliers.items()), fmpq(0))

    @cached_property
    def tight(self) -> tuple[int, ...]:
        """The rows with <z_j, p> = r_j: of level 1, the neighbours in the sense of the paper."""
        return tuple(j for j, slack in enumerate(self.slacks) if slack == 0)

    @cached_property
    def conditions(self) -> Conditions:
        """The smallest multiplier and slack, complementarity in size, and |p|^2."""
        multiplier, slack = min(self.multipliers.values()), min(self.slacks)
        return Conditions(multiplier, slack, abs(self.complementarity), self.norm_squared)


def hard_margin(rows: ExactMatrix, multipliers: Mapping[int, fmpq]) -> MaxMargin:
    """The problem with every level 1."""
    return MaxMargin(rows, multipliers, (fmpq(1),) * rows.rows)


@dataclass(frozen=True)
class Contradiction:
    """Weights mu_j by row that are to show that no p satisfies the constraints."""

    rows: ExactMatrix
    levels: tuple[fmpq, ...]
    weights: Mapping[int, fmpq]

    @cached_property
    def largest_entry(self) -> fmpq:
        """The largest |entry| of sum mu_j z_j."""
        return max(abs(entry) for entry in combination(self.rows, self.weights).row(0))

    @cached_property
    def total(self) -> fmpq:
        """sum_j mu_j r_j."""
        return sum((weight * self.levels[j] for j, weight in self.weights.items()), fmpq(0))
