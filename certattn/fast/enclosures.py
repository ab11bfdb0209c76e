"""From sums in binary64 to enclosures: what was rounded, bounded a priori.

Every weight that was computed, v_i, belongs to a true weight W_i = 2^-K e^{s_i}. With
|computed score - s_i| <= delta_i and an exponential of relative error eps,

    |W_i - v_i| <= beta(delta_i) v_i,    beta = z / (1 - z),  z = e^delta (1 + eps) - 1,

or, where a score was raised, |W_i - v_i| <= 2^-998; omega bounds the sum of all these, and of what
was lost where a sum was rescaled by less than it should have been. beta is convex, so a chord bounds
it, and B >= sum beta(delta_i) v_i follows from E >= sum v_i |k_i|, and E^2 <= Z Q from Cauchy and
Schwarz. Docs: binary64.md has the statements and their proofs under the names that are used here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certattn.fast.balls import Ball
from certattn.fast.exponential import LARGEST_SCORE_ERROR, beta, relative_error, score_errors
from certattn.fast.rows import norm_bound, norm_bounds
from certattn.fast.sums import Sums
from certattn.fast.units import DOWN, LARGEST, UNDERFLOW, UNIT, UP, Floats, gamma, require_rounding_to_nearest
from certattn.kernel.errors import RefusedError


class Enclosures:
    """Enclosures for the queries of `sums`, whose true values differ by at most `query_radius` in norm.

    query_radius: (m) doubles; |a_true - a|_2 <= query_radius, row by row.
    slack: (m) doubles, if scores were changed: how much farther from the true ones they may be since.
    Raises RefusedError where the bounds say nothing.
    """

    def __init__(self, sums: Sums, query_radius: Floats, slack: Floats | None = None) -> None:
        require_rounding_to_nearest()
        self.sums = sums
        dimension, outputs = sums.queries.shape[1], sums.moment.shape[1]
        with np.errstate(over="ignore"):
            query_norm = norm_bounds(sums.queries)
        self.key_norm = norm_bound(sums.key_square, dimension)
        self.low, self.high = sums.low, sums.high
        if not sums.by_column:
            self.high = np.full(outputs, norm_bound(sums.value_square, outputs))
            self.low = -self.high
        self.size: Floats = np.maximum(np.abs(self.low), np.abs(self.high))
        scales = np.array([self.key_norm, query_norm.max(), query_radius.max(), self.size.max()])
        # Written so that a NaN refuses.
        if not bool((scales <= LARGEST).all() and (query_radius >= 0).all()):
            raise RefusedError("numbers that are too large, or not finite")
        tokens = sums.tokens + 1
        # Everything that underflow can take away, in all sums together.
        self.underflow = 64 * UNDERFLOW * tokens * (dimension + outputs) * float(1 + scales.sum())
        # Scores that were raised, and sums that were rescaled by less than they should have been.
        self.omega = (2.0**-998 * sums.clamped + 2.0**-990 * tokens) * UP
        self._g = gamma(sums.roundings)

        slope, shift = score_errors(dimension, query_norm, query_radius, self.key_norm)
        shift = shift if slack is None else (shift + slack) * UP
        delta = (slope * self.key_norm + shift) * UP
        if not float(delta.max()) <= LARGEST_SCORE_ERROR:
            raise RefusedError("scores that are too large for their rounding errors to be small")
        eps = relative_error()
        least = beta(0.0, eps)
        self.beta: Floats = beta(delta, eps)
        chord = (self.beta - least) / delta * UP

        self.upper: Floats = (sums.normaliser * (1 + self._g) + self.underflow) * UP
        lower = (sums.normaliser * (1 - self._g)) * DOWN - (self.underflow + self.omega) * UP
        square = sums.square * (1 + gamma(sums.square_roundings)) + self.underflow
        # A computed square is too small by the factor 1 - gamma(dimension), and by what underflowed.
        self.square: Floats = (square * (1 + gamma(dimension + 8)) + 4 * dimension * UNDERFLOW * self.upper) * UP
        drift = np.sqrt(self.square * self.upper) * UP
        error = (least * self.upper + chord * (slope * drift + shift * self.upper)) * UP
        # e^delta <= 2 enlarges what omega allows for.
        self.error: Floats = (error + 2 * self.omega) * UP
        self.lower: Floats = lower * DOWN
        self.rest: Floats = (self.lower - self.error) * DOWN
        # The rounding of these differences is covered as long as little is taken away.
        if not bool((self.rest >= self.upper / 2).all()):
            raise RefusedError("weights whose errors are as large as they are")

    def mean(self) -> Ball:
        """sum p_i v_i for the true softmax weights p_i: |computed - truth| <= rho + shift."""
        middle, rho = self._rounded_mean(self.sums.moment, self.size)
        return Ball(middle, (rho + self._shift((self.high - self.low) * UP)) * UP)

    def normaliser(self) -> tuple[Floats, Ball]:
        """(K, z): the normaliser is 2^K z."""
        g = self._g
        radius = (g * self.upper + self.error + self.underflow + self.omega) * UP
        return self.sums.exponent, Ball(self.sums.normaliser, radius)

    def covariance(self, index: int) -> Ball:
        """sum p_i (v_i - m)(v_i - m)' for the query `index`, where second moments of values were added up."""
        if self.sums.second_of_keys:
            raise ValueError("these sums hold second moments of values with keys")
        squares = np.maximum(np.diagonal(self.sums.second[index]), 0)
        slack = self.underflow + self.omega * self.size * self.size
        spread = np.sqrt((squares * (1 + 2 * gamma(self.sums.second_roundings)) + slack) * UP) * UP
        values = self._values(index, spread)
        return self._covariance(index, values, values)

    def cross_covariance(self, index: int) -> Ball:
        """sum p_i (v_i - m_v)(k_i - m_k)', d_v x d, where second moments of values with keys were added up."""
        if not self.sums.second_of_keys:
            raise ValueError("these sums hold second moments of values with values")
        values = self._values(index, np.sqrt(self.upper[index] * UP) * self.size * UP + UNDERFLOW)
        return self._covariance(index, values, self._keys(index))

    def _rounded_mean(self, moment: Floats, size: Floats, of: slice | int = slice(None)) -> tuple[Floats, Floats]:
        """A computed mean, and its distance from the mean for the computed weights.

        moment: sum w_i y_i (rows: queries), size: max |y_i| by column.
        """
        normaliser, upper, lower = (array[of, ..., None] for array in (self.sums.normaliser, self.upper, self.lower))
        middle: Floats = moment / normaliser
        near = (1 + 2 * UNIT) * np.abs(middle)
        of_moment = (self._g * upper + self.omega) * size + self.underflow
        of_normaliser = self._g * upper + self.underflow + self.omega
        rho = of_moment / lower + near * (of_normaliser / lower) + 2 * UNIT * np.abs(middle) + UNDERFLOW
        return middle, rho * UP

    def _shift(self, width: Floats, of: slice | int = slice(None)) -> Floats:
        """How far a mean moves when the computed weights become the true ones; width: max - min by column."""
        shift: Floats = (self.error / self.rest)[of, ..., None] * width * UP
        return shift

    def _values(self, index: int, spread: Floats) -> _Factor:
        width = (self.high - self.low) * UP
        mean, rho = self._rounded_mean(self.sums.moment[index], self.size, index)
        return _Factor(mean, rho, self._shift(width, index), spread, self.size, width)

    def _keys(self, index: int) -> _Factor:
        """|k_ij| <= |k_i| <= R serves for the size of a coordinate, and sum v_i k_ij^2 <= Q."""
        sums = self.sums
        size = np.full(sums.queries.shape[1], self.key_norm)
        mean, rho = self._rounded_mean(sums.key_moment[index][0], size, index)
        spread = np.full_like(size, np.sqrt(self.square[index]) * UP + UNDERFLOW)
        return _Factor(mean, rho, self._shift(2 * size, index), spread, size, 2 * size)

    def _covariance(self, index: int, left: _Factor, right: _Factor) -> Ball:
        """The difference of a second moment and a product of means."""
        sums = self.sums
        g = gamma(sums.second_roundings)
        lower, upper, rest = self.lower[index], self.upper[index], self.rest[index]
        quotient = sums.second[index] / sums.normaliser[index]
        product = np.outer(left.mean, right.mean)
        spreads = np.outer(left.spread, right.spread)
        sizes = np.outer(left.size, right.size)
        of_second = (g * spreads + self.underflow + self.omega * sizes) / lower
        of_normaliser = (g * upper + self.underflow + self.omega) / lower
        radius = of_second + (1 + 2 * UNIT) * np.abs(quotient) * of_normaliser
        radius += 4 * UNIT * (np.abs(quotient) + np.abs(product)) + 4 * UNDERFLOW
        radius += np.outer(np.abs(left.mean), right.rho) + np.outer(left.rho, np.abs(right.mean))
        radius += np.outer(left.rho, right.rho)
        # True weights for computed ones: |sum v_i b_i (f_i - f)| <= 2 max|b| Z sigma sigma', and
        # sigma^2 <= spread^2 / Z; then the means move too.
        radius += 2 * self.beta[index] / rest * spreads
        radius += np.outer(left.shift, right.shift)
        radius += 4 * self.omega / rest * np.outer(left.width, right.width)
        return Ball(quotient - product, radius * UP)


@dataclass(frozen=True)
class _Factor:
    """One side of a covariance, coordinate by coordinate: its computed mean, how far that is from the
    mean for the computed weights (rho), how far this moves for the true ones (shift), and upper bounds
    of sqrt(sum v_i y_i^2) (spread), max |y_i| (size) and max y_i - min y_i (width)."""

    mean: Floats
    rho: Floats
    shift: Floats
    spread: Floats
    size: Floats
    width: Floats
