"""What local convergence depends on beside the constants of every theorem (`selection_constants`).

All of it is meant for multipliers whose conditions are proved (`kkt`), and for chosen tokens that are locally
optimal: every pair of slack 0 is good, so that there is a good pair, and every bad one has delta_t > 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.selection_constants import (
    SelectionConstants,
    largest,
    largest_distance_squared,
)


@dataclass(frozen=True)
class LocalConstants(SelectionConstants):
    """At the working precision: make a new one for another."""

    @property
    def good(self) -> tuple[int, ...]:
        return self.selection.good

    @property
    def bad(self) -> tuple[int, ...]:
        return self.selection.bad

    def input_of(self, j: int) -> int:
        return self.selection.pairs[j].input

    @cached_property
    def sizes(self) -> list[fmpq]:
        """The |g_j|."""
        return [abs(gap) for gap in self.selection.gaps]

    @cached_property
    def locally_optimal_by(self) -> fmpq | None:
        """The smallest <z_t, p_mm> - 1 of a bad pair: above 0 where alpha is locally optimal; None without any."""
        slacks = [self.solution.slacks[t] for t in self.bad]
        return min(slacks) if slacks else None

    @cached_property
    def lengths(self) -> list[arb]:
        """The |z_j|."""
        rows = self.selection.differences.to_rows()
        return [arb(sum((x * x for x in row), fmpq(0))).sqrt() for row in rows]

    @cached_property
    def good_diameter(self) -> arb:
        """D_g = max |z_j - z_j'| over good pairs."""
        return arb(largest_distance_squared(self.selection.differences.take_rows(self.good))).sqrt()

    @cached_property
    def good_width(self) -> arb:
        """zeta_g, the largest zeta_j of a good pair."""
        return largest(self.widths[j] for j in self.good)

    @cached_property
    def bad_width(self) -> arb:
        """The largest zeta_t of a bad pair; 0 without any."""
        return largest([arb(0), *(self.widths[t] for t in self.bad)])

    @cached_property
    def good_length(self) -> arb:
        """The largest |z_j| of a good pair."""
        return largest(self.lengths[j] for j in self.good)

    def projected(self, row: ExactMatrix) -> ExactMatrix:
        """The part of a 1 x d row across u, exactly."""
        point = self.solution.solution
        share = (row @ point.T).entry(0, 0) / self.solution.norm_squared
        return row - point.scaled(share)
