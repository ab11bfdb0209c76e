"""Bounds of the mean square of gradients' errors for tokens of any law, from moments under tilts.

With w = exp(<a, x> - Lambda(a)), E w = 1, y = x - tau, C the tilted covariance, and over a prompt of L tokens

    Z = sum w_i / L,   N = sum w_i y_i / L,   S = sum w_i (y_i y_i' - C) / L:
    tau_L - tau = N / Z,      C_L - C = S / Z - N N' / Z^2.

For 0 < t < 1, where Z >= 1 - t nothing is left of Z but 1 - t; elsewhere everything is a mean of what one token
contributes, and the other tokens alone make Z small, with a probability of at most

    rho = e^{lambda L (1-t)} (1 - lambda + lambda^2 R_2 / 2)^(L-1),    R_2 = E w^2,  lambda > 0,

by e^-x <= 1 - x + x^2/2 for x >= 0. The proofs stand in `docs/claims/prompts/gradient-mean-square.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb

from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.laws import Law, Vector, dot
from certattn.kernel.theorems.prompts.mathematics.mean_square import quadratic
from certattn.kernel.theorems.prompts.mathematics.series import weighted_moments

Rows = Sequence[Vector]


def frobenius(left: Rows, right: Rows) -> arb:
    """sum_ij left_ij right_ij."""
    return sum([dot(x, y) for x, y in zip(left, right, strict=True)], arb(0))


def multiplied(left: Rows, right: Rows) -> list[list[arb]]:
    """left right for a symmetric `right`."""
    return [[dot(row, column) for column in right] for row in left]


@dataclass(frozen=True)
class TiltedMoments:
    """Moments of a token's deviation y = x - tau from the tilted mean, weighted by powers of w."""

    law: Law[arb]
    tilt: Vector
    unit: Rows
    values: Rows

    @cached_property
    def centre(self) -> list[arb]:
        """tau(a)."""
        return self.law.tilted_mean(self.tilt)

    def second(self, k: int) -> list[list[arb]]:
        """E w^k y y'."""
        size = range(len(self.unit))
        found = {(i, j): self._pair(k, self.unit[i], self.unit[j], 1)[1][1] for i in size for j in size if i <= j}
        return [[found[min(i, j), max(i, j)] for j in size] for i in size]

    def fourth(self, k: int, left: Rows, right: Rows) -> arb:
        """E w^k |A y|^2 |B y|^2 for matrices of the rows `left` and `right`."""
        return sum([4 * self._pair(k, u, v, 2)[2][2] for u in left for v in right], arb(0))

    @cached_property
    def doubled(self) -> arb:
        """R_2 = E w^2 = e^{Lambda(2a) - 2 Lambda(a)}."""
        log_mgf = self.law.log_mgf
        return (log_mgf([2 * a for a in self.tilt]) - 2 * log_mgf(self.tilt)).exp()

    def _pair(self, k: int, u: Vector, v: Vector, order: int) -> list[list[arb]]:
        return weighted_moments(self.law, self.tilt, self.centre, k, u, v, order)


def small_normaliser(doubled: arb, t: arb, rate: arb, length: int) -> arb:
    """rho, at least the probability that L - 1 weights sum to less than L (1 - t)."""
    return (rate * length * (1 - t) + (length - 1) * quadratic(rate, doubled).log()).exp()


@dataclass(frozen=True)
class SquareParts:
    """What a bound is made of: with Z >= 1 - t the root mean square is at most
    sqrt(first) / (1 - t) + sqrt(second) / (1 - t)^2, and elsewhere the mean square is at most rho times `unlikely`.
    """

    first: arb
    second: arb
    unlikely: arb
    doubled: arb

    def bound(self, t: arb, rate: arb, length: int) -> arb:
        likely = root(self.first) / (1 - t) + root(self.second) / ((1 - t) * (1 - t))
        rho = small_normaliser(self.doubled, t, rate, length)
        return likely * likely + rho * self.unlikely


def mean_parts(moments: TiltedMoments, length: int) -> SquareParts:
    """Of |tau_L - tau|^2: first E w^2 |y|^2 / L, second 0, unlikely L E|y|^2."""
    return SquareParts(
        first=frobenius(moments.second(2), moments.unit) / length,
        second=0 * moments.doubled,
        unlikely=length * frobenius(moments.second(0), moments.unit),
        doubled=moments.doubled,
    )


def covariance_parts(moments: TiltedMoments, length: int) -> SquareParts:
    """Of |V (C_L - C)|_F^2: first E w^2 |V (y y' - C)|_F^2 / L, second E |V N|^2 |N|^2 of the mean N = sum w_i y_i / L,

    unlikely (|V C|_F + sqrt(L) (E|V y|^4 E|y|^4)^(1/4))^2.
    """
    V, unit = moments.values, moments.unit
    covariance, spread = multiplied(V, moments.second(1)), moments.second(2)
    moved = multiplied(V, spread)
    square = frobenius(covariance, covariance)
    first = moments.fourth(2, V, unit) - 2 * frobenius(moved, covariance) + square * moments.doubled
    pairs = frobenius(moved, V) * frobenius(spread, unit) + 2 * frobenius(moved, moved)
    second = moments.fourth(4, V, unit) + (length - 1) * pairs
    fourths = moments.fourth(0, V, V) * moments.fourth(0, unit, unit)
    unlikely = root(square) + root(length * root(fourths))
    return SquareParts(first / length, second / length**3, unlikely * unlikely, moments.doubled)
