"""Max-margin problems over the rationals: the point of stated multipliers, and what makes it the solution.

    min |p|   subject to   <z_j, p> >= r_j,   with levels r_j that are 1, or 0 where a constraint is relaxed.

Theorem (Karush, Kuhn, Tucker; the problem is convex). If p = sum_j lambda_j z_j, lambda_j >= 0, every <z_j, p> >= r_j
and sum_j lambda_j (<z_j, p> - r_j) = 0, then p is the one point of least norm that satisfies the constraints: for
any feasible q, <p, q> = sum lambda_j <z_j, q> >= sum lambda_j r_j = sum lambda_j <z_j, p> = |p|^2, so that
|q|^2 >= |p|^2 + |q - p|^2.

Gordan's and Farkas' argument. If mu_j >= 0, sum mu_j z_j = 0 and sum mu_j r_j > 0, then no p has <z_j, p> >= r_j for
all j, as this would give 0 = sum mu_j <z_j, p> >= sum mu_j r_j > 0.

How far points of a small loss may be from the direction u = p_mm / |p_mm| of the solution with every level 1, margin
Xi = 1 / |p_mm| and shares lambda^_j = lambda_j / sum lambda: for masses m_j > 0 of all pairs, the inequality of the
weighted means gives

    sum_j m_j e^{-<z_j, p>} >= w e^{-Xi <p, u>},     w = exp(sum_j lambda^_j log(m_j / lambda^_j)).

If F(p) >= (1 - F(p)/a) sum_j m_j e^{-<z_j, p>} and F(p) <= F < a, it follows that

    Xi <p, u> >= log(w (1/F - 1/a)).

Ataee Tarzanagh, Li, Zhang and Oymak 2023, problem (Att-SVM).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix


def combination(rows: ExactMatrix, weights: Mapping[int, fmpq]) -> ExactMatrix:
    """sum_j w_j z_j, 1 x d, of rows z_j and the weights w_j that are not 0."""
    active = sorted(weights)
    return ExactMatrix.row_vector([weights[j] for j in active]) @ rows.take_rows(active)


def total_level(levels: Sequence[fmpq], weights: Mapping[int, fmpq]) -> fmpq:
    """sum_j w_j r_j, of the weights that are not 0."""
    return sum((weight * levels[j] for j, weight in weights.items()), fmpq(0))


class Conditions(NamedTuple):
    """What the theorem of Karush, Kuhn and Tucker asks of, and the squared norm; of one point, or the worst of some."""

    multiplier: fmpq
    slack: fmpq
    complementarity: fmpq
    norm_squared: fmpq


class MaxMargin:
    """The point p = sum_j lambda_j z_j of stated multipliers: z_j the rows of `rows`, r_j the `levels`.

    `multipliers` holds the lambda_j that are not 0, by row. Everything said of p as the solution holds only where
    the conditions of the theorem above are proved.

    Attributes: `solution` is p, 1 x d; `products` are the <z_j, p>; `slacks` the <z_j, p> - r_j, of which none is
    negative where p is feasible; `complementarity` is sum_j lambda_j (<z_j, p> - r_j).
    """

    def __init__(self, rows: ExactMatrix, multipliers: Mapping[int, fmpq], levels: tuple[fmpq, ...]) -> None:
        self.rows, self.multipliers, self.levels = rows, multipliers, levels
        self.solution = combination(rows, multipliers)
        self.products = (rows @ self.solution.T).T.row(0)
        self.norm_squared = self.solution.inner(self.solution)
        self.slacks = [product - level for product, level in zip(self.products, levels, strict=True)]
        self.complementarity = sum((value * self.slacks[j] for j, value in multipliers.items()), fmpq(0))

    def margin(self) -> arb:
        """Xi = 1 / |p|, at the working precision; not finite where p is 0."""
        return 1 / arb(self.norm_squared).sqrt()

    @property
    def tight(self) -> tuple[int, ...]:
        """The rows with <z_j, p> = r_j: of level 1, the neighbours in the sense of the paper."""
        return tuple(j for j, slack in enumerate(self.slacks) if slack == 0)

    @property
    def conditions(self) -> Conditions:
        """The smallest multiplier and slack, complementarity in size, and |p|^2."""
        multiplier, slack = min(self.multipliers.values()), min(self.slacks)
        return Conditions(multiplier, slack, abs(self.complementarity), self.norm_squared)


def hard_margin(rows: ExactMatrix, multipliers: Mapping[int, fmpq]) -> MaxMargin:
    """The problem with every level 1."""
    return MaxMargin(rows, multipliers, (fmpq(1),) * rows.rows)


@dataclass(frozen=True)
class Direction:
    """A direction p~, 1 x d: z_j are the rows of `rows`, r_j the `levels`.

    Where m = min over r_j = 1 of <z_j, p~> is > 0, and <z_j, p~> >= 0 where r_j = 0, the point q = p~ / m is feasible.
    """

    rows: ExactMatrix
    levels: tuple[fmpq, ...]
    direction: ExactMatrix

    @cached_property
    def products(self) -> tuple[fmpq, ...]:
        """The <z_j, p~>."""
        return tuple((self.rows @ self.direction.T).T.row(0))

    @cached_property
    def margin(self) -> fmpq:
        """m, the smallest <z_j, p~> of the constraints that are not relaxed."""
        return min(product for product, level in zip(self.products, self.levels, strict=True) if level != 0)

    @cached_property
    def smallest_relaxed(self) -> fmpq | None:
        """The smallest <z_j, p~> of the relaxed constraints; None if no constraint is relaxed."""
        relaxed = [product for product, level in zip(self.products, self.levels, strict=True) if level == 0]
        return min(relaxed, default=None)


class Contradiction:
    """Weights mu_j by row that are to show that no p satisfies the constraints; `total` is sum mu_j r_j."""

    def __init__(self, rows: ExactMatrix, levels: tuple[fmpq, ...], weights: Mapping[int, fmpq]) -> None:
        self.rows, self.weights = rows, weights
        self.total = total_level(levels, weights)

    @property
    def largest_entry(self) -> fmpq:
        """The largest |entry| of sum mu_j z_j."""
        return max(abs(entry) for entry in combination(self.rows, self.weights).row(0))


def log_weight(masses: Mapping[int, arb], multipliers: Mapping[int, fmpq]) -> arb:
    """log w, over the pairs with multipliers lambda_j > 0; not finite where one of them has no mass."""
    total = sum(multipliers.values(), fmpq(0))
    shares = {j: value / total for j, value in multipliers.items()}
    return sum((share * (masses.get(j, arb.nan()) / share).log() for j, share in shares.items()), arb(0))


def least_progress(log_w: arb, excess: arb, least: arb) -> arb:
    """log(w (1/F - 1/a)), which bounds Xi <p, u> from below; it grows as F falls."""
    return log_w + (1 / excess - 1 / least).log()
