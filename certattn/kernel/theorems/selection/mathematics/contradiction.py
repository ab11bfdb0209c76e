"""Linear constraints that contradict each other, and the weights that show it.

Gordan's and Farkas' argument: if mu_j >= 0, sum mu_j z_j = 0 and sum mu_j r_j > 0, then no p has <z_j, p> >= r_j for
all j, as this would give 0 = sum mu_j <z_j, p> >= sum mu_j r_j > 0.

Nothing here decides: `Contradiction` only computes these numbers, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix


@dataclass(frozen=True)
class Contradiction:
    """Weights mu_j by row: z_j the rows of `rows`, r_j the `levels`."""

    rows: ExactMatrix
    levels: tuple[fmpq, ...]
    weights: Mapping[int, fmpq]

    @cached_property
    def smallest_weight(self) -> fmpq:
        """min_j mu_j over the stated ones."""
        return min(self.weights.values())

    @cached_property
    def largest_entry(self) -> fmpq:
        """The largest |entry| of sum mu_j z_j."""
        active = sorted(self.weights)
        combination = ExactMatrix.row_vector([self.weights[j] for j in active]) @ self.rows.take_rows(active)
        return max(abs(entry) for entry in combination.row(0))

    @cached_property
    def total(self) -> fmpq:
        """sum_j mu_j r_j."""
        return sum((weight * self.levels[j] for j, weight in self.weights.items()), fmpq(0))
