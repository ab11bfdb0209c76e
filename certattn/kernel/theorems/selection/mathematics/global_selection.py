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

The bound of F(p_k) falls, so that those of the chosen tokens' weights and of |p_k| that it gives hold ever after.

In the flow h = 0, and h k is the time. The proofs stand in docs/claims/selection/selection-direction.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from flint import arb, fmpq

from certattn.kernel.theorems.selection.mathematics.margin_points import least_progress
from certattn.kernel.theorems.selection.mathematics.selection_constants import Rule, SelectionConstants, largest, least


def excursions(
    k: SelectionConstants, excess: arb, norm: arb, selected: arb, overshoots: tuple[arb, arb]
) -> tuple[arb, arb]:
    """J, and what may replace it where F_0 <= a / 2; from F_0, N_0, s_0, and rho_0 and rho."""
    first, overshoot = overshoots
    share = (1 - overshoot) * selected * k.margin
    progress = (k.concentration * selected / excess).log()
    plain = norm - progress / k.margin + (first + excess / k.least_gain) / share
    return plain, norm - least_progress(k.log_weight, excess, k.least_gain) / k.margin + first / share


def logarithm(k: SelectionConstants, excess: arb, selected: arb, overshoot: arb, unit: arb) -> tuple[arb, arb]:
    """w_* s_0 / F_0 and w_* s_0 r, the start and the slope of what Xi |p_k| is at least the logarithm of."""
    pull = k.margin * selected
    slope = k.concentration * selected * unit * (1 - overshoot) * (pull * pull)
    return k.concentration * selected / excess, slope


class GlobalBasin:
    """Theorem A at one point, `excess` being F_0 and `norm` N_0: its bounds hold where its conditions are proved.

    Attributes: `threshold` is a*; `selected` s_0: every chosen token has at least this softmax weight, now and later;
    `bend` K_2: |Hess F| <= K_2 F where F <= F_0; `overshoot` rho; `numerator` Xi J with what may replace J where that
    is proved to hold and smaller: 1 - cos angle(p_k, p_mm) <= numerator / log(start + slope k).
    """

    def __init__(self, constants: SelectionConstants, rule: Rule, excess: arb, norm: arb) -> None:
        k, loss, smallest = constants, constants.loss, constants.smallest_gaps
        self.constants, self.inputs, self.excess = constants, rule.inputs, excess
        self.threshold = least(loss.excess(k.scores[i], arb(gap)) for i, gap in smallest.items())
        # The f_i^{-1}(F_0).
        gaps = {i: loss.inverse_excess(k.scores[i], excess) for i in smallest}
        self.selected = selected_at(k, excess)
        bends = []
        for i, gap in gaps.items():
            score, most = k.scores[i], gap.min(arb(k.score_ranges[i]))
            steepest = loss.slope(score - most)
            curvature = loss.largest_curvature(score - most, score)
            bends.append(k.diameters_squared[i] * (steepest + curvature * most) / k.slopes[i])
        self.bend = largest(bends)
        first = rule.size() * self.bend * excess / 2
        self.overshoot = first.min(rule.size() * k.curvature_bound / 2)
        plain, refined = excursions(k, excess, norm, self.selected, (first, self.overshoot))
        # J is >= 0, as cosines are at most 1.
        excursion = (plain.min(refined) if (excess <= k.least_gain / 2) is True else plain).max(arb(0))
        self.numerator = k.margin * excursion
        self.start, self.slope = logarithm(k, excess, self.selected, self.overshoot, arb(rule.unit))

    def argument(self, elapsed: fmpq) -> arb:
        """Of the logarithm, so many steps (or so long) after the point."""
        return self.start + self.slope * elapsed

    def numbers(self, elapsed: fmpq) -> tuple[arb, arb, arb]:
        """Those of the bound from so many steps (or so long) after the point on: numerator, start and slope."""
        return self.numerator, self.argument(elapsed), self.slope

    def bound(self, elapsed: fmpq) -> arb:
        """numerator / log(argument); 2, the largest value of all, where the logarithm is not positive."""
        if (self.argument(elapsed) <= 1) is True:
            return arb(2)
        return (self.numerator / self.argument(elapsed).log()).min(arb(2))

    def excess_at(self, elapsed: fmpq) -> arb:
        """An upper bound of F for every k from `elapsed` after the point on: 1 / (1 / F_0 + r k)."""
        return 1 / (1 / self.excess + self.slope / (self.constants.concentration * self.selected) * elapsed)

    def loss_gap(self, elapsed: fmpq) -> arb:
        """The same of L less its limit."""
        return self.excess_at(elapsed) / self.inputs

    def least_weight(self, elapsed: fmpq) -> arb:
        """A lower bound of every chosen token's softmax weight then: s at F."""
        return selected_at(self.constants, self.excess_at(elapsed))

    def least_norm(self, elapsed: fmpq) -> arb:
        """A lower bound of |p| then: log(w_* s / F) / Xi, which decreases with F."""
        k, excess = self.constants, self.excess_at(elapsed)
        return (k.concentration * selected_at(k, excess) / excess).log() / k.margin


def selected_at(k: SelectionConstants, excess: arb) -> arb:
    """s = 1 - max_i f_i^{-1}(F) / g_i^min, a lower bound of every chosen token's softmax weight where F is `excess`."""
    smallest = k.smallest_gaps
    return 1 - largest(k.loss.inverse_excess(k.scores[i], excess) / gap for i, gap in smallest.items())


def kept(k: SelectionConstants, step: arb) -> arb:
    """1 - h B_F / 2."""
    return 1 - step * k.curvature_bound / 2


def lasting(k: SelectionConstants, step: arb, excess: arb, odds: Mapping[int, arb]) -> arb:
    """Of Theorem A2, a lower bound of every chosen token's softmax weight, now and later; S_i = `odds` by input."""
    loss = step * excess / (8 * kept(k, step))
    return least(1 / (1 + each * (k.diameters_squared[i] * loss).exp()) for i, each in odds.items())


def excess_after(k: SelectionConstants, step: arb, excess: arb, weight: arb, elapsed: arb) -> arb:
    """Of Theorem A2, an upper bound of F after the time h k, `weight` being `lasting`."""
    pull = k.margin * weight
    return 1 / (1 / excess + elapsed * kept(k, step) * (pull * pull))


def norm_after(k: SelectionConstants, step: arb, excess: arb, norm: arb, elapsed: arb) -> arb:
    """Of Theorem A2, an upper bound of |p| after the time h k."""
    return norm + (elapsed * excess / kept(k, step)).sqrt()
