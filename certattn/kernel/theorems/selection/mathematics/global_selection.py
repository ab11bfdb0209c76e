"""Theorem A and its corollaries: descent to a globally optimal selection.

With the constants of `selection_constants`, all g_j > 0, and upper bounds F_0 of the excess loss and N_0 of the norm
at a point p_0, put

    a* = min_i f_i(g_i^min),     s_0 = 1 - max_i f_i^{-1}(F_0) / g_i^min,
    K_2 = max_i D_i^2 (M1^_i + M0^_i G^_i) / c_i,     G^_i = min(Gamma_i, f_i^{-1}(F_0)),
    rho_0 = h K_2 F_0 / 2,     rho = min(rho_0, h B_F / 2),

M1^_i and M0^_i being the largest -l' and l'' on [gamma_i - G^_i, gamma_i].

Theorem A. If F_0 < a* and rho < 1, then for all k, with r = h (1 - rho) Xi^2 s_0^2,

    1 / F(p_k) >= 1 / F_0 + r k,     Xi |p_k| >= log(w_* s_0 / F(p_k)),     1 - cos angle(p_k, p_mm) <= J / |p_k|,
    J = N_0 - log(w_* s_0 / F_0) / Xi + (rho_0 + F_0 / a) / ((1 - rho) s_0 Xi),

and where F_0 <= a / 2 the same with N_0 - log(w_* (1/F_0 - 1/a)) / Xi + rho_0 / ((1 - rho) s_0 Xi) in the place of J.

Theorem A2. Where the g_j of each input are equal, <z_j, z_j'> >= 0 for pairs of different inputs and h B_F < 2, then
from any p_0, with lasting = min_i 1 / (1 + S_i(p_0) e^{D_i^2 h F_0 / (8 (1 - h B_F / 2))}),

    1 / F(p_k) >= 1 / F_0 + k h (1 - h B_F / 2) Xi^2 lasting^2,     |p_k| <= N_0 + sqrt(k h F_0 / (1 - h B_F / 2)).

In the flow h = 0, and h k is the time. The proofs stand in docs/claims/selection/selection-direction.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import arb

from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.theorems.selection.mathematics.path_bound import least_progress
from certattn.kernel.theorems.selection.mathematics.selection_constants import SelectionConstants, largest, least


@dataclass(frozen=True)
class GlobalBasin:
    """Theorem A at one point: `excess` is F_0, `norm` N_0, `step` h.

    Its bounds hold where its conditions are proved.
    """

    constants: SelectionConstants
    step: arb
    excess: arb
    norm: arb

    @cached_property
    def threshold(self) -> arb:
        """a*."""
        scores, excess = self.constants.scores, self.constants.loss.excess
        return least(excess(scores[i], arb(gap), BALLS) for i, gap in self.constants.smallest_gaps.items())

    @cached_property
    def _largest_gaps(self) -> dict[int, arb]:
        """The f_i^{-1}(F_0)."""
        scores, inverse = self.constants.scores, self.constants.loss.inverse_excess
        return {i: inverse(scores[i], self.excess, BALLS) for i in self.constants.smallest_gaps}

    @cached_property
    def selected(self) -> arb:
        """s_0: every chosen token has at least this softmax weight, now and later."""
        gaps = self.constants.smallest_gaps
        return 1 - largest(value / gaps[i] for i, value in self._largest_gaps.items())

    @cached_property
    def bend(self) -> arb:
        """K_2: |Hess F| <= K_2 F where F <= F_0."""
        found = []
        constants = self.constants
        for i, value in self._largest_gaps.items():
            score, gap = constants.scores[i], value.min(arb(constants.score_ranges[i]))
            steepest = constants.loss.slope(score - gap, BALLS)
            curvature = constants.loss.largest_curvature(score - gap, score, BALLS)
            found.append(constants.diameters_squared[i] * (steepest + curvature * gap) / constants.slopes[i])
        return largest(found)

    @cached_property
    def first_overshoot(self) -> arb:
        """rho_0."""
        return self.step * self.bend * self.excess / 2

    @cached_property
    def overshoot(self) -> arb:
        """rho."""
        return self.first_overshoot.min(self.step * self.constants.curvature_bound / 2)

    @cached_property
    def excursion(self) -> arb:
        """J, or what replaces it where that is proved to hold and smaller; >= 0, as cosines are at most 1."""
        found = self.plain_excursion
        if (self.excess <= self.constants.least_gain / 2) is True:
            found = found.min(self.refined_excursion)
        return found.max(arb(0))

    @property
    def plain_excursion(self) -> arb:
        """J."""
        progress = (self.constants.concentration * self.selected / self.excess).log()
        error = self.first_overshoot + self.excess / self.constants.least_gain
        return self.norm - progress / self.constants.margin + error / self._share

    @property
    def refined_excursion(self) -> arb:
        """What may replace J where F_0 <= a / 2."""
        progress: arb = least_progress(self.constants.log_weight, self.excess, self.constants.least_gain, BALLS)
        return self.norm - progress / self.constants.margin + self.first_overshoot / self._share

    @property
    def _share(self) -> arb:
        """(1 - rho) s_0 Xi."""
        return (1 - self.overshoot) * self.selected * self.constants.margin

    @cached_property
    def numerator(self) -> arb:
        """Xi J: 1 - cos angle(p_k, p_mm) <= Xi J / log(start + slope k)."""
        return self.constants.margin * self.excursion

    @cached_property
    def start(self) -> arb:
        """w_* s_0 / F_0."""
        return self.constants.concentration * self.selected / self.excess

    def slope(self, unit: arb) -> arb:
        """w_* s_0 r: `unit` is h, or 1 for a unit of time of the flow."""
        pull = self.constants.margin * self.selected
        return self.constants.concentration * self.selected * unit * (1 - self.overshoot) * (pull * pull)


@dataclass(frozen=True)
class EqualScores:
    """Theorem A2 from one point: `odds` are the S_i there, by input."""

    constants: SelectionConstants
    step: arb
    excess: arb
    norm: arb
    odds: dict[int, arb]

    @property
    def _kept(self) -> arb:
        """1 - h B_F / 2."""
        return 1 - self.step * self.constants.curvature_bound / 2

    @cached_property
    def lasting(self) -> arb:
        """A lower bound of every chosen token's softmax weight, now and later."""
        loss = self.step * self.excess / (8 * self._kept)
        squares = self.constants.diameters_squared
        return least(1 / (1 + odds * (squares[i] * loss).exp()) for i, odds in self.odds.items())

    def excess_after(self, elapsed: arb) -> arb:
        """An upper bound of F after the time h k."""
        pull = self.constants.margin * self.lasting
        return 1 / (1 / self.excess + elapsed * self._kept * (pull * pull))

    def norm_after(self, elapsed: arb) -> arb:
        """An upper bound of |p| after the time h k."""
        return self.norm + (elapsed * self.excess / self._kept).sqrt()
