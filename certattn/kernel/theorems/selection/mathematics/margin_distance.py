"""How far a feasible point is from the solution of a max-margin problem, without the solution.

    min |p|   subject to   <z_j, p> >= r_j,   with levels r_j that are 1, or 0 where a constraint is relaxed

For a direction p~ with m = min over r_j = 1 of <z_j, p~> > 0, and <z_j, p~> >= 0 where r_j = 0, the point q = p~ / m
is feasible. For every lambda >= 0 and every feasible p

    |p|^2 >= 2 <p, sum lambda_j z_j> - |sum lambda_j z_j|^2 >= D = 2 sum lambda_j r_j - |sum lambda_j z_j|^2,

and the solution p_mm has |q|^2 >= |p_mm|^2 + |q - p_mm|^2, as every point between p_mm and q is feasible and none is
nearer to 0. So |q - p_mm|^2 <= |q|^2 - D.

Nothing here decides: `MarginDistance` only computes these numbers, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq, fmpz

from certattn.kernel.mathematics.exact_matrix import ExactMatrix


@dataclass(frozen=True)
class MarginDistance:
    """A direction p~, 1 x d, and multipliers lambda_j by row; z_j are the rows of `rows`, r_j the `levels`."""

    rows: ExactMatrix
    levels: tuple[fmpq, ...]
    direction: ExactMatrix
    multipliers: Mapping[int, fmpq]

    @cached_property
    def products(self) -> tuple[fmpq, ...]:
        """The <z_j, p~>."""
        column = self.rows @ self.direction.T
        return tuple(column.entry(j, 0) for j in range(column.rows))

    @cached_property
    def margin(self) -> fmpq:
        """m, the smallest <z_j, p~> of the constraints that are not relaxed."""
        return min(product for product, level in zip(self.products, self.levels, strict=True) if level != 0)

    @cached_property
    def smallest_relaxed(self) -> fmpq | None:
        """The smallest <z_j, p~> of the relaxed constraints; None if no constraint is relaxed."""
        return min(
            (product for product, level in zip(self.products, self.levels, strict=True) if level == 0), default=None
        )

    @cached_property
    def norm_squared(self) -> fmpq:
        """|q|^2, at least |p_mm|^2. The margin is not 0."""
        return (self.direction @ self.direction.T).entry(0, 0) / self.margin**2

    @cached_property
    def dual_value(self) -> fmpq:
        """D, at most |p_mm|^2."""
        active = sorted(self.multipliers)
        weights = ExactMatrix.row_vector([self.multipliers[j] for j in active])
        point = weights @ self.rows.take_rows(active)
        total = sum((self.multipliers[j] * self.levels[j] for j in active), fmpq(0))
        return 2 * total - (point @ point.T).entry(0, 0)

    @cached_property
    def distance_squared(self) -> fmpq:
        """|q|^2 - D, at least |q - p_mm|^2."""
        return self.norm_squared - self.dual_value

    @cached_property
    def squares(self) -> tuple[fmpq, ...]:
        """The |z_j|^2."""
        denominator = self.rows.denominator**2
        return tuple(
            fmpq(sum((entry * entry for entry in entries), fmpz(0)), denominator)
            for entries in self.rows.numerators.tolist()
        )

    def looseness(self, j: int, gap: fmpq, radius: fmpq) -> fmpq:
        """s |s| - |z_j|^2 radius^2 with s = <z_j, q> - r_j - gap.

        It is >= 0 if and only if s >= |z_j| radius, and then <z_j, p> >= r_j + gap for every p within `radius` of q.
        Where it is > 0, this holds with >.
        """
        slack = self.products[j] / self.margin - self.levels[j] - gap
        return slack * abs(slack) - self.squares[j] * radius**2
