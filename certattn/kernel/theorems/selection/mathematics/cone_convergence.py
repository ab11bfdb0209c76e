"""Descent from every point of a cone converges to the max-margin direction: Theorem F, the paper's third in numbers.

The starts are p with angle(p, u) at most that of cosine 1 - mu, and |p| >= R: then x = <p, u> >= X = (1 - mu) R and
|p^| <= tau_0 x with tau_0 = sqrt(1/(1 - mu)^2 - 1). For a slope tau > tau_0 with delta_t > tau zeta_t for every bad
pair and b_j > tau zeta_j for every good one, on the cone x >= X, |p^| <= tau x

    P(p) <= sum over good j of c_j g_j e^{-(b_j - tau zeta_j) X},  r_t(p) <= e^{-nu_t X},  nu_t = delta_t - tau zeta_t,

and Lemma 3 holds with these bounds. With xi = Xi - sum kappa_t b_t r_t, moves at most m, q_P = chi Xi^2 and
kappa = (1/w) sum over good j of c_j g_j e^{-delta_j X} - 1, descent stays in that cone and goes to infinity in the
direction u if

    kappa / (2 tau xi) + zeta_g sqrt(a) + d Lambda(q_P) + sum kappa_t zeta_t r_t Lambda(nu_t xi) < (tau - tau_0) X,

where the squares of moves sum to at most a + b sigma, and zeta_g^2 b / 2 is added to kappa. Ataee Tarzanagh, Li, Zhang
and Oymak 2023, Theorem 3, which names neither mu nor R. The proof: docs/claims/selection/selection-direction.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.theorems.selection.mathematics.descent_rules import MoveRule
from certattn.kernel.theorems.selection.mathematics.gradient_weights import NearbyWeights, decaying_sum, progress
from certattn.kernel.theorems.selection.mathematics.local_constants import LocalConstants
from certattn.kernel.theorems.selection.mathematics.selection_constants import least


@dataclass(frozen=True)
class Cone:
    """The p with <p, u> >= (1 - opening) |p| and |p| >= norm; 0 <= opening < 1."""

    opening: fmpq
    norm: fmpq

    @property
    def distance(self) -> fmpq:
        """X = (1 - mu) R: every <p, u> is at least this."""
        return (1 - self.opening) * self.norm

    def slope(self) -> arb:
        """tau_0 = sqrt(1/(1 - mu)^2 - 1): every |p^| is at most this times <p, u>."""
        return BALLS.sqrt(arb(1 / (1 - self.opening) ** 2 - 1))


@dataclass(frozen=True)
class ConeConvergence:
    """Theorem F from every point of `cone`, inside the wider one of tangent `slope` = tau."""

    constants: LocalConstants
    rule: MoveRule
    cone: Cone
    slope: fmpq

    @cached_property
    def distance(self) -> arb:
        return arb(self.cone.distance)

    @cached_property
    def approaches(self) -> list[arb]:
        """The b_j - tau zeta_j of the good pairs."""
        return [self.constants.heights[j] - self.slope * self.constants.widths[j] for j in self.constants.good]

    @cached_property
    def retreats(self) -> dict[int, arb]:
        """The nu_t = delta_t - tau zeta_t of the bad pairs."""
        return {t: self.constants.slacks[t] - self.slope * self.constants.widths[t] for t in self.constants.bad}

    @cached_property
    def narrowness(self) -> arb:
        """The smallest b_j - tau zeta_j and nu_t: the wider cone is narrow enough where it is positive."""
        return least([*self.approaches, *self.retreats.values()])

    @cached_property
    def near(self) -> NearbyWeights:
        """Lemma 3 on the wider cone."""
        gains = [self.constants.gains[j] for j in self.constants.good]
        level = arb(0)
        for gain, approach in zip(gains, self.approaches, strict=True):
            level += gain * (-approach * self.distance).exp()
        reaches = {t: (-retreat * self.distance).exp() for t, retreat in self.retreats.items()}
        return NearbyWeights(self.constants, level, reaches)

    @cached_property
    def move(self) -> arb:
        """The bound of every move."""
        longest: arb = self.rule.longest_move(self.near)
        return longest

    @cached_property
    def progress(self) -> arb:
        """chi of Lemma 4."""
        k = self.constants
        found: arb = progress(self.near.spread, self.near.error, self.move, k.good_diameter, k.margin)
        return found

    @cached_property
    def rate(self) -> arb:
        """q_P = chi Xi^2."""
        return self.progress * self.constants.margin**2

    @cached_property
    def excess(self) -> arb:
        """kappa >= 0 (Jensen's inequality), with what the squares of moves add per unit of sigma."""
        k, total = self.constants, arb(-1)
        for j in k.good:
            total += k.gains[j] / k.concentration * (-k.slacks[j] * self.distance).exp()
        return total.nonnegative_part() + k.good_width**2 * self._squares[1] / 2

    @cached_property
    def _squares(self) -> tuple[arb, arb]:
        return self.rule.squares(self.move, self.rate, BALLS)

    @cached_property
    def deviation(self) -> arb:
        """How far descent may stray from the narrower cone's side: below `room` where the theorem holds."""
        k, near = self.constants, self.near
        lasting = self.excess / (2 * self.slope * near.forward)
        lateral = k.good_width * BALLS.sqrt(self._squares[0]) + near.spread * self._sum(self.rate)
        bad = near.total({t: k.widths[t] * self._sum(nu * near.forward) for t, nu in self.retreats.items()})
        return lasting + lateral + bad

    def _sum(self, rate: arb) -> arb:
        total: arb = decaying_sum(rate, self.move, BALLS)
        return total

    @cached_property
    def room(self) -> arb:
        """(tau - tau_0) X."""
        return (self.slope - self.cone.slope()) * self.distance
