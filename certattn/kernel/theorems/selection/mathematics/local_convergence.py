"""Descent converges to the max-margin direction of a locally optimal selection: Theorems D and F.

Theorem D: from one point. A trial (`LocalTrial`) names numbers that a prover found; `LocalConvergence` computes the
sides of the conditions under which they prove that p_k -> infinity in the direction u, and the bound

    tan angle(p_k, u) <= (|q| + E + sqrt(B^2 + 2 kappa (x_k - x_0 + E_u) / Xi)) / x_k.

Theorem F, the paper's third in numbers: from every point of a cone. The starts are p with angle(p, u) at most that of
cosine 1 - mu, and |p| >= R: then x = <p, u> >= X = (1 - mu) R and |p^| <= tau_0 x with tau_0 = sqrt(1/(1 - mu)^2 - 1).
For a slope tau > tau_0 with delta_t > tau zeta_t for every bad pair and b_j > tau zeta_j for every good one, on the
cone x >= X, |p^| <= tau x

    P(p) <= sum over good j of c_j g_j e^{-(b_j - tau zeta_j) X},  r_t(p) <= e^{-nu_t X},  nu_t = delta_t - tau zeta_t,

and Lemma 3 holds with these bounds. With xi = Xi - sum kappa_t b_t r_t, moves at most m, q_P = chi Xi^2 and
kappa = (1/w) sum over good j of c_j g_j e^{-delta_j X} - 1, descent stays in that cone and goes to infinity in the
direction u if

    kappa / (2 tau xi) + zeta_g sqrt(a) + d Lambda(q_P) + sum kappa_t zeta_t r_t Lambda(nu_t xi) < (tau - tau_0) X,

where the squares of moves sum to at most a + b sigma, and zeta_g^2 b / 2 is added to kappa. Ataee Tarzanagh, Li, Zhang
and Oymak 2023, Theorem 3, which names neither mu nor R.

Notation and proofs: docs/claims/selection/selection-direction.md. Nothing here decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.theorems.selection.mathematics.descents import Cone, Rule
from certattn.kernel.theorems.selection.mathematics.gradient_weights import NearbyWeights, decaying_sum, progress
from certattn.kernel.theorems.selection.mathematics.selection_constants import SelectionConstants, largest, least


@dataclass(frozen=True)
class LocalTrial:
    """The numbers of a proof: hints, which can only make it fail.

    `reference` is any vector: its part across u is q. lambda_t = `fractions[t]` delta_t Xi for a bad token t,
    0 < fraction < 1. `inflation` is Omega, `setback` E_u, `progress` chi and `move` the bound of a step's move.
    Good tokens of slack at most `near` are counted with the neighbours.
    """

    reference: ExactMatrix
    fractions: dict[int, fmpq]
    inflation: fmpq
    setback: fmpq
    progress: fmpq
    move: fmpq
    near: fmpq


@dataclass(frozen=True)
class LocalConvergence:
    """Theorem D from the point p_0 = `start`, a ball for every coordinate: what is enclosed holds at all its points."""

    constants: SelectionConstants
    rule: Rule
    start: list[arb]
    trial: LocalTrial

    # -- the point

    @cached_property
    def distance(self) -> arb:
        """x_0 = <p_0, u>."""
        point = self.constants.solution.solution.row(0)
        return _product(point, self.start) * self.constants.margin

    @cached_property
    def reference(self) -> ExactMatrix:
        """q: the part of the reference across u, exactly."""
        solution, row = self.constants.solution, self.trial.reference
        return row - solution.solution.scaled((row @ solution.solution.T).entry(0, 0) / solution.norm_squared)

    @cached_property
    def offset(self) -> arb:
        """y_0 = |p_0^ - q|, where p_0^ is the part of p_0 across u."""
        point = self.constants.solution.solution.row(0)
        share = _product(point, self.start) / self.constants.solution.norm_squared
        reference = self.reference.row(0)
        return l2_norm([p - share * m - q for p, m, q in zip(self.start, point, reference, strict=True)])

    @cached_property
    def level(self) -> arb:
        """P_0 = sum over good j of c_j g_j e^{-<z_j, p_0>}."""
        rows, total = self.constants.selection.differences, arb(0)
        for j, strength in self.constants.gains.items():
            total += strength * (-_product(rows.row(j), self.start)).exp()
        return total

    # -- the table of Theorem D

    @cached_property
    def rate(self) -> arb:
        """q_P = chi Xi^2: P_k <= P_0 e^{-q_P sigma_k}."""
        return self.trial.progress * self.constants.margin**2

    @cached_property
    def move(self) -> arb:
        return arb(self.trial.move)

    @cached_property
    def _tilts(self) -> list[fmpq]:
        """The <z_j^, q>, exactly."""
        column = self.constants.across @ self.reference.T
        return [column.entry(j, 0) for j in range(column.rows)]

    def _share(self, j: int, distance: arb | fmpq) -> arb:
        """c_j g_j / w e^{-delta_j x - <z_j^, q>} of a good token j."""
        k = self.constants
        return k.gains[j] / k.concentration * (-k.slacks[j] * distance - self._tilts[j]).exp()

    @cached_property
    def _lasting(self) -> list[int]:
        return [j for j in self.constants.good if self.constants.solution.slacks[j] <= self.trial.near]

    @cached_property
    def closest(self) -> arb:
        """x_0 - E_u: no x_k is smaller."""
        return self.distance - self.trial.setback

    @cached_property
    def excess(self) -> arb:
        """kappa: what the neighbours' part of Phi(q)/w - 1 and the squares of moves add per unit of sigma_k.

        The neighbours' part is >= 0 (Jensen's inequality), whatever its ball holds.
        """
        neighbours = sum((self._share(j, self.closest) for j in self._lasting), arb(0)) - 1
        return neighbours.nonnegative_part() + self.constants.good_width**2 * self._squares[1] / 2

    @cached_property
    def _squares(self) -> tuple[arb, arb]:
        return self.rule.squares(self.move, self.rate)

    @cached_property
    def width(self) -> arb:
        """B = sqrt(y_0^2 + 2 K + zeta_g^2 a): the part of |p_k^ - q| that does not grow."""
        k, fading = self.constants, arb(0)
        for j in k.good:
            if j not in self._lasting:
                fading += self._share(j, self.closest) * self._sum(k.slacks[j] * k.margin)
        square = self.offset**2 + 2 * fading + k.good_width**2 * self._squares[0]
        return BALLS.sqrt(square)

    def _sum(self, rate: arb) -> arb:
        return arb(decaying_sum(rate, self.move, BALLS))

    @cached_property
    def first_reaches(self) -> dict[int, arb]:
        """The r~_t = exp(-delta_t x_0 - <z_t^, q> + zeta_t B + zeta_t^2 kappa / (2 lambda_t))."""
        k, found = self.constants, {}
        for t in k.bad:
            exponent = self.trial.fractions[t] * k.slacks[t] * k.margin
            lateral = k.widths[t] * self.width + k.widths[t] ** 2 * self.excess / (2 * exponent)
            found[t] = (-k.slacks[t] * self.distance - self._tilts[t] + lateral).exp()
        return found

    @cached_property
    def fades(self) -> dict[int, arb]:
        """The Lambda_t = Lambda(delta_t Xi - lambda_t)."""
        k = self.constants
        return {t: self._sum((1 - self.trial.fractions[t]) * k.slacks[t] * k.margin) for t in k.bad}

    @cached_property
    def near(self) -> NearbyWeights:
        """Lemma 3 with the bounds that hold along the whole run: P_0 and r_t = Omega r~_t."""
        reaches = {t: self.trial.inflation * reach for t, reach in self.first_reaches.items()}
        return NearbyWeights(self.constants, self.level, reaches)

    # -- the sides of the conditions

    @cached_property
    def longest_move(self) -> arb:
        """What the trial's move has to bound."""
        return self.rule.longest_move(self.near)

    @cached_property
    def proved_progress(self) -> arb:
        """chi of Lemma 4: what the trial's progress must not exceed."""
        k = self.constants
        return arb(progress(self.near.spread, self.near.error, self.move, k.good_diameter, k.margin))

    @cached_property
    def spread_total(self) -> arb:
        """E_s = d Lambda(q_P)."""
        return self.near.spread * self._sum(self.rate)

    @cached_property
    def contraction(self) -> arb:
        """S = zeta_bad E_s + sum of kappa_t beta_t r~_t Lambda_t, beta_t = max_s (delta_s b_t + zeta_s zeta_t)."""
        k, near = self.constants, self.near
        # zeta_bad is the largest zeta_t, 0 without any bad token.
        total = largest([arb(0), *(k.widths[t] for t in k.bad)]) * self.spread_total
        for t, reach in self.first_reaches.items():
            beta = largest(k.slacks[s] * k.heights[t] + k.widths[s] * k.widths[t] for s in k.bad)
            total += near.kappas[t] * beta * reach * self.fades[t]
        return total

    @cached_property
    def drift(self) -> arb:
        """sum of kappa_t b_t r_t Lambda_t: what E_u has to bound."""
        return self.near.total({t: self.constants.heights[t] * fade for t, fade in self.fades.items()})

    # -- what follows: tan angle(p_k, u) <= C/x + sqrt(A/x^2 + G/x) for x = x_k

    @cached_property
    def lateral(self) -> arb:
        """C = |q| + E, E = E_s + sum of kappa_t zeta_t r_t Lambda_t."""
        widths = self.constants.widths
        total = self.spread_total + self.near.total({t: widths[t] * fade for t, fade in self.fades.items()})
        return l2_norm([arb(entry) for entry in self.reference.row(0)]) + total

    @cached_property
    def growth(self) -> arb:
        """G = 2 kappa / Xi."""
        return 2 * self.excess / self.constants.margin

    @cached_property
    def square(self) -> arb:
        """A = B^2 - 2 kappa (x_0 - E_u) / Xi."""
        return self.width**2 - self.growth * self.closest

    def pace(self, elapsed: fmpq) -> tuple[arb, arb]:
        """(b, c) with Xi x_k >= log(b + c (k - k0)) for k >= k0, k0 being `elapsed` after p_0."""
        weight, pace = self.constants.concentration, self.rule.pace(self.near, self.rate)
        return weight * (1 / self.level + pace * elapsed), weight * pace

    def farthest(self, elapsed: fmpq) -> arb:
        """A lower bound of x_k for every k from `elapsed` after p_0 on; positive under the conditions."""
        margin = self.constants.margin
        advanced = self.closest + margin * self.rule.least_total(self.near, elapsed)
        return arb(advanced.max(self.pace(elapsed)[0].log() / margin))

    def tangent(self, elapsed: fmpq) -> arb:
        """A bound of tan angle(p_k, u) for every k from `elapsed` after p_0 on.

        Of x = x_k only a lower bound is known. In v = 1/x the bound is C v + sqrt(A v^2 + G v), and A v^2 + G v
        increases on (0, 1/x] where 2 A/x + G >= 0; where this is not proved, A is replaced by max(A, 0), with which
        it does.
        """
        inverse, square = 1 / self.farthest(elapsed), self.square
        if (2 * square * inverse + self.growth >= 0) is not True:
            square = square.max(arb(0))
        return self.lateral * inverse + BALLS.sqrt(square * inverse**2 + self.growth * inverse)


@dataclass(frozen=True)
class ConeConvergence:
    """Theorem F from every point of `cone`, inside the wider one of tangent `slope` = tau."""

    constants: SelectionConstants
    rule: Rule
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
        return self.rule.longest_move(self.near)

    @cached_property
    def progress(self) -> arb:
        """chi of Lemma 4."""
        k = self.constants
        return arb(progress(self.near.spread, self.near.error, self.move, k.good_diameter, k.margin))

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
        return self.rule.squares(self.move, self.rate)

    @cached_property
    def deviation(self) -> arb:
        """How far descent may stray from the narrower cone's side: below `room` where the theorem holds."""
        k, near = self.constants, self.near
        lasting = self.excess / (2 * self.slope * near.forward)
        lateral = k.good_width * BALLS.sqrt(self._squares[0]) + near.spread * self._sum(self.rate)
        bad = near.total({t: k.widths[t] * self._sum(nu * near.forward) for t, nu in self.retreats.items()})
        return lasting + lateral + bad

    def _sum(self, rate: arb) -> arb:
        return arb(decaying_sum(rate, self.move, BALLS))

    @cached_property
    def room(self) -> arb:
        """(tau - tau_0) X."""
        return (self.slope - self.cone.slope()) * self.distance


def _product(row: list[fmpq], point: list[arb]) -> arb:
    return sum((entry * x for entry, x in zip(row, point, strict=True)), arb(0))
