"""The constants that theorems on gradient descent for token selection are stated with.

For chosen tokens alpha with the max-margin point p_mm = sum_j lambda_j z_j (`max_margin`), a convex decreasing loss l
and f_i(G) = l(gamma_i - G) - l(gamma_i), gamma_i the score of the chosen token:

    c_i = f_i'(0),   M1_i = max |l'|,   M0_i = max l''   on the hull of the scores of input i,
    D_i = largest distance of two keys,   Gamma_i = largest difference of two scores,   g_i^min = smallest good gap,
    Xi = 1 / |p_mm|,   u = Xi p_mm,   b_j = <z_j, u>,   delta_j = b_j - Xi,
    z_j^perp = z_j - b_j u,   zeta_j = |z_j^perp|,
    w_* = exp sum_j m_j log(c_j g_j / m_j)   with m_j = lambda_j / sum lambda,
    a = min_i c_i g_i^min,
    B_F = sum_i D_i^2 Gamma_i (M1_i / 8 + M0_i Gamma_i / 16) >= |Hess F| everywhere.

Minima and maxima range over the inputs with good tokens, B_F over the inputs of more than one token. A good token has
a smaller score than the chosen one. What local convergence depends on is meant for chosen tokens that are locally
optimal: every pair of slack 0 is good, so that there is a good pair, and every bad one has delta_t > 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS, Number
from certattn.kernel.mathematics.losses import Loss
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.kernel.theorems.selection.mathematics.path_bound import log_weight


@dataclass(frozen=True)
class SelectionConstants:
    """At the working precision: make a new one for another. What is said of p_mm holds where KKT is proved."""

    selection: Selection
    loss: Loss
    solution: MaxMargin

    # -- scores and losses

    @property
    def several(self) -> tuple[int, ...]:
        """The inputs of more than one token."""
        return tuple(self.selection.pairs_of)

    @cached_property
    def _hulls(self) -> dict[int, tuple[fmpq, fmpq]]:
        """The smallest and the largest score of the inputs of more than one token."""
        scores = self.selection.tokens.scores_of
        return {i: (min(scores(i)), max(scores(i))) for i in self.several}

    @cached_property
    def scores(self) -> dict[int, arb]:
        """The gamma_i."""
        return {i: arb(self.selection.score(i)) for i in self.several}

    @cached_property
    def slopes(self) -> dict[int, arb]:
        """The c_i."""
        return {i: self.loss.slope(score, BALLS) for i, score in self.scores.items()}

    @cached_property
    def steepest(self) -> dict[int, arb]:
        """The M1_i."""
        return {i: self.loss.slope(arb(low), BALLS) for i, (low, _) in self._hulls.items()}

    @cached_property
    def bends(self) -> dict[int, arb]:
        """The M0_i."""
        return {i: self.loss.largest_curvature(arb(low), arb(high), BALLS) for i, (low, high) in self._hulls.items()}

    @cached_property
    def score_ranges(self) -> dict[int, fmpq]:
        """The Gamma_i."""
        return {i: high - low for i, (low, high) in self._hulls.items()}

    @cached_property
    def diameters_squared(self) -> dict[int, fmpq]:
        """The D_i^2."""
        return {i: largest_distance_squared(self.selection.tokens.keys_of(i)) for i in self.several}

    @cached_property
    def smallest_gaps(self) -> dict[int, fmpq]:
        """The g_i^min of the inputs with good tokens."""
        gaps = {i: [self.selection.gaps[j] for j in positions] for i, positions in self.selection.pairs_of.items()}
        return {i: min(gap for gap in found if gap > 0) for i, found in gaps.items() if max(found) > 0}

    @cached_property
    def least_gain(self) -> arb:
        """a."""
        return least(self.slopes[i] * gap for i, gap in self.smallest_gaps.items())

    @cached_property
    def gains(self) -> dict[int, arb]:
        """The c_j g_j of the good pairs."""
        pairs, gaps = self.selection.pairs, self.selection.gaps
        return {j: self.slopes[pairs[j].input] * gaps[j] for j in self.selection.good}

    @cached_property
    def curvature_bound(self) -> arb:
        """B_F."""
        squares, ranges = self.diameters_squared, self.score_ranges
        return arb(curvature_bound([(squares[i], ranges[i], self.steepest[i], self.bends[i]) for i in self.several]))

    # -- the max-margin point

    @cached_property
    def margin(self) -> arb:
        """Xi."""
        return self.solution.margin()

    @cached_property
    def direction(self) -> list[arb]:
        """u."""
        return [entry * self.margin for entry in self.solution.solution.row(0)]

    @cached_property
    def heights(self) -> list[arb]:
        """The b_j, of every pair."""
        return [self.margin * product for product in self.solution.products]

    @cached_property
    def slacks(self) -> list[arb]:
        """The delta_j, exactly 0 for neighbours."""
        return [self.margin * slack for slack in self.solution.slacks]

    @cached_property
    def across(self) -> ExactMatrix:
        """The z_j^perp = z_j - <z_j, p> / |p|^2 p, exactly, one per row; zeros where p is 0."""
        rows, solution = self.selection.differences, self.solution
        if solution.norm_squared == 0:
            return ExactMatrix.zero(rows.rows, rows.columns)
        column = ExactMatrix.rational([[product] for product in solution.products])
        return rows - (column @ solution.solution).scaled(1 / solution.norm_squared)

    @cached_property
    def widths(self) -> list[arb]:
        """The zeta_j."""
        return [arb(sum((x * x for x in row), fmpq(0))).sqrt() for row in self.across.to_rows()]

    @cached_property
    def log_weight(self) -> arb:
        """log w_*: not finite where a support token is not good."""
        multipliers = self.solution.multipliers
        total, masses = sum(multipliers.values(), fmpq(0)), [self.gains.get(j, arb.nan()) for j in multipliers]
        return arb(log_weight(masses, [value / total for value in multipliers.values()], BALLS))

    @cached_property
    def concentration(self) -> arb:
        """w_*."""
        return self.log_weight.exp()

    # -- for local convergence

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
    def good_length(self) -> arb:
        """The largest |z_j| of a good pair."""
        return largest(self.lengths[j] for j in self.good)


def curvature_bound(inputs: Iterable[tuple[Number, Number, Number, Number]]) -> Number:
    """sum_i D_i^2 Gamma_i (M1_i / 8 + M0_i Gamma_i / 16), from D_i^2, Gamma_i, M1_i and M0_i."""
    return sum([square * scores * (steepest / 8 + bend * scores / 16) for square, scores, steepest, bend in inputs])


def largest_distance_squared(rows: ExactMatrix) -> fmpq:
    """max |x_s - x_t|^2 over two rows."""
    table = (rows @ rows.T).to_rows()
    size = range(rows.rows)
    return max(table[s][s] + table[t][t] - 2 * table[s][t] for s in size for t in size)


def least(values: Iterable[arb]) -> arb:
    """The smallest ball; of none, one that decides nothing."""
    found = list(values)
    return reduce(arb.min, found) if found else arb.nan()


def largest(values: Iterable[arb]) -> arb:
    """The largest ball; of none, one that decides nothing."""
    found = list(values)
    return reduce(arb.max, found) if found else arb.nan()
