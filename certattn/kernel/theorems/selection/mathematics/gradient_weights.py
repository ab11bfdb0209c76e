"""Near the limit, the gradient of a softmax loss is that of the good tokens alone, up to factors close to 1.

For chosen tokens alpha put (see `token_selection`) E_j = e^{-<z_j, p>}, and with c_i = -l'(gamma_{i alpha_i})

    P(p) = sum over good j of c_j g_j E_j,     -grad F(p) = sum_j omega_j z_j,

where F = sum_i f_i(G_i) is n times the excess loss. With x = <p, u>, u the max-margin direction, put
r_t(p) = E_t e^{Xi x} for a bad token t. Lemma 3: where P(p) <= P and r_t(p) <= r_t, the weights of the good tokens are
omega_j = c_j g_j E_j (1 + eta_j) with theta_- <= 1 + eta_j <= theta_+, and those of the bad ones are at most
kappa_t r_t(p) in units of W = sum of the good weights. Every factor of theta_- has to be positive.

The functions below are generic in the number type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb

from certattn.kernel.mathematics.functions import BALLS, Functions, Number, exp_remainder
from certattn.kernel.theorems.selection.mathematics.selection_constants import SelectionConstants, largest, least


def input_factors(
    slope: Number, curvature: Number, gap: Number, level: Number, reach: Number, bad_gap: Number
) -> list[Number]:
    """The factors of theta_- at one input: 1 - P e, 1 - P/(c g), 1 - M0 P R^g / c, with e = 1/(c g) + R.

    c is the slope -l' at the chosen score, M0 the largest curvature of the loss on the scores, g the smallest gap of
    a good token, P the level, R = sum r_t / w and R^g = sum |g_t| r_t / w over the bad tokens of the input.
    """
    return [
        1 - level * (1 / (slope * gap) + reach),
        1 - level / (slope * gap),
        1 - curvature * level * bad_gap / slope,
    ]


def smallest_weight(factors: Sequence[Number], fn: Functions) -> Number:
    """theta_- at one input: (1 - P e) min(1 - P/(c g), 1 - M0 P R^g / c)."""
    chosen, above, below = factors
    return chosen * minimum(above, below, fn)


def largest_weight(
    slope: Number, curvature: Number, gap: Number, level: Number, bad_gap: Number, fn: Functions
) -> Number:
    """theta_+ at one input: max(1 + M0 P / c^2, 1 + P R^g / g)."""
    return 1 + level * fn.maximum(curvature / (slope * slope), bad_gap / gap)


def bad_weight(
    slope: Number, curvature: Number, steepest: Number, size: Number, good: Number, bad_gap: Number, fn: Functions
) -> Number:
    """min(M1, c + M0 G) max(|g_t| + G, R) for G = P/c and R = P R^g: kappa_t is this over theta_- w.

    G bounds the good tokens' part of gamma_{i alpha} - gamma'softmax; it is 0 for an input without good tokens.
    """
    return minimum(steepest, slope + curvature * good, fn) * fn.maximum(size + good, bad_gap)


def spread_of_means(low: Number, high: Number, diameter: Number) -> Number:
    """(r - 1)/4 D for r = theta_+/theta_-: how far the means of points of diameter D under both weights are apart.

    Two probability vectors whose ratio lies within a factor r of itself have total variation distance at most
    (sqrt r - 1)/(sqrt r + 1) <= (r - 1)/4.
    """
    return (high / low - 1) * diameter / 4


def progress(spread: Number, error: Number, move: Number, diameter: Number, margin: Number) -> Number:
    """chi of Lemma 4: a step that moves sum of weights * step = m multiplies P by at most e^{-chi Xi^2 m}.

    chi = 1 - d/Xi - (1 + d/Xi) e/Xi - D^2/8 m (1 + e/Xi)^2.
    """
    apart, off = spread / margin, error / margin
    return 1 - apart - (1 + apart) * off - diameter * diameter / 8 * move * (1 + off) * (1 + off)


def decaying_sum(rate: Number, move: Number, fn: Functions) -> Number:
    """Lambda(s) = m / (1 - e^{-s m}), 1/s for m = 0: at least sum_k m_k e^{-s (m_0 + ... + m_{k-1})} for 0 <= m_k <= m.

    For s > 0. For small s m it is written as 1 / (s phi(-s m)) with phi(y) = (e^y - 1)/y, which loses no digits.
    """
    if fn.is_large(rate * move):
        return move / (1 - fn.exp(-rate * move))
    return 1 / (rate * exp_remainder(1, -rate * move, fn))


def minimum(x: Number, y: Number, fn: Functions) -> Number:
    return -fn.maximum(-x, -y)


@dataclass(frozen=True)
class NearbyWeights:
    """Lemma 3 where P(p) <= `level` and r_t(p) <= `reaches[t]` for every bad pair t, with the constants of a selection.

    What is said of the weights holds only where every factor of theta_- is proved to be positive.
    """

    constants: SelectionConstants
    level: arb
    reaches: Mapping[int, arb]

    @cached_property
    def _sums(self) -> dict[int, tuple[arb, arb]]:
        """R_i = sum r_t / w and R_i^g = sum |g_t| r_t / w of the inputs."""
        k = self.constants
        found = dict.fromkeys(k.several, (arb(0), arb(0)))
        for t, reach in self.reaches.items():
            i, share = k.input_of(t), reach / k.concentration
            total, weighted = found[i]
            found[i] = (total + share, weighted + k.sizes[t] * share)
        return found

    @cached_property
    def _factors(self) -> dict[int, list[arb]]:
        k = self.constants
        return {
            i: input_factors(k.slopes[i], k.bends[i], gap, self.level, *self._sums[i])
            for i, gap in k.smallest_gaps.items()
        }

    @cached_property
    def smallest_factor(self) -> arb:
        """The smallest factor of theta_- over the inputs with good tokens."""
        return least(factor for factors in self._factors.values() for factor in factors)

    @cached_property
    def low(self) -> arb:
        """theta_-: the good weights are at least this times c_j g_j E_j."""
        return least(smallest_weight(factors, BALLS) for factors in self._factors.values())

    @cached_property
    def high(self) -> arb:
        """theta_+: they are at most this times c_j g_j E_j."""
        k = self.constants
        return largest(
            largest_weight(k.slopes[i], k.bends[i], gap, self.level, self._sums[i][1], BALLS)
            for i, gap in k.smallest_gaps.items()
        )

    @cached_property
    def kappas(self) -> dict[int, arb]:
        """kappa_t: the weight of a bad token t is at most kappa_t r_t W in size."""
        k, found = self.constants, {}
        for t in self.reaches:
            i = k.input_of(t)
            good = self.level / k.slopes[i] if i in k.smallest_gaps else arb(0)
            bad = self.level * self._sums[i][1]
            weight = bad_weight(k.slopes[i], k.bends[i], k.steepest[i], k.sizes[t], good, bad, BALLS)
            found[t] = weight / (self.low * k.concentration)
        return found

    @cached_property
    def spread(self) -> arb:
        """d: the mean of the good z_j under the weights omega_j is within d of that under c_j g_j E_j."""
        return arb(spread_of_means(self.low, self.high, self.constants.good_diameter))

    @cached_property
    def error(self) -> arb:
        """e: the bad tokens contribute at most e W to the gradient, in norm."""
        return self.total(self.constants.lengths)

    @cached_property
    def forward(self) -> arb:
        """Xi - sum of kappa_t b_t r_t: the progress along u is at least this, per W."""
        return self.constants.margin - self.total(self.constants.heights)

    def total(self, factors: Mapping[int, arb] | Sequence[arb]) -> arb:
        """sum of kappa_t r_t factor_t over the bad tokens."""
        return sum((self.kappas[t] * factors[t] * reach for t, reach in self.reaches.items()), arb(0))
