"""Rules of descent, as far as local convergence depends on them: how far one step moves, and how fast moves add up.

Let W_k be the sum of the good weights at p_k (`gradient_weights`), m_k = h_k W_k the move of a step h_k on F, and
sigma_k = m_0 + ... + m_{k-1}.

    gradient     p - h grad F             theta_- h P_k <= m_k <= theta_+ h P_k
    flow         dp/dt = -h grad F        moves are infinitely small, k is time, and theta_- h P <= d sigma/dt
    normalised   p - s grad F / |grad F|  s / (max |z_j| + e) <= m_k <= s / (Xi - pull)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from flint import fmpq

from certattn.kernel.mathematics.functions import Functions, Number
from certattn.kernel.theorems.selection.mathematics.gradient_weights import NearbyWeights, decaying_sum


class MoveRule(Protocol):
    """A rule of descent. In its methods, `near` holds from p_0 on, with a level P_k <= P e^{-rate sigma_k}."""

    @property
    def moves(self) -> bool:
        """Whether there are steps; False for the flow."""

    def longest_move(self, near: NearbyWeights) -> Number:
        """A bound of every move m_k; 0 for the flow."""

    def squares(self, move: Number, rate: Number, fn: Functions) -> tuple[Number, Number]:
        """(a, b) with m_0^2 + ... + m_{k-1}^2 <= a + b sigma_k for every k, `move` bounding every m_k."""

    def least_total(self, near: NearbyWeights, elapsed: fmpq) -> Number:
        """A lower bound of sigma_k for k = `elapsed`."""

    def pace(self, near: NearbyWeights, rate: Number) -> Number:
        """c >= 0 with 1/P_k >= 1/P_0 + c k for every k."""


@dataclass(frozen=True)
class GradientRule:
    """Steps of size h on F."""

    size: fmpq
    moves = True

    def longest_move(self, near: NearbyWeights) -> Number:
        return self.size * near.high * near.level

    def squares(self, move: Number, rate: Number, fn: Functions) -> tuple[Number, Number]:
        return move * decaying_sum(rate, move, fn), 0 * move

    def least_total(self, near: NearbyWeights, elapsed: fmpq) -> Number:
        return 0 * near.level

    def pace(self, near: NearbyWeights, rate: Number) -> Number:
        # 1/P_{k+1} >= e^{rate m_k} / P_k >= (1 + rate h theta_- P_k) / P_k
        return rate * near.low * self.size


@dataclass(frozen=True)
class FlowRule:
    """A gradient flow dp/dt = -h grad F with h = `size`: the limit of small steps, `elapsed` being time."""

    size: fmpq
    moves = False

    def longest_move(self, near: NearbyWeights) -> Number:
        return 0 * near.level

    def squares(self, move: Number, rate: Number, fn: Functions) -> tuple[Number, Number]:
        return 0 * rate, 0 * rate

    def least_total(self, near: NearbyWeights, elapsed: fmpq) -> Number:
        return 0 * near.level

    def pace(self, near: NearbyWeights, rate: Number) -> Number:
        return rate * near.low * self.size


@dataclass(frozen=True)
class NormalisedRule:
    """Steps of length s along -grad F."""

    size: fmpq
    moves = True

    def longest_move(self, near: NearbyWeights) -> Number:
        return self.size / near.forward

    def squares(self, move: Number, rate: Number, fn: Functions) -> tuple[Number, Number]:
        return 0 * move, move

    def least_total(self, near: NearbyWeights, elapsed: fmpq) -> Number:
        return self.size * elapsed / (near.constants.good_length + near.error)

    def pace(self, near: NearbyWeights, rate: Number) -> Number:
        # P_k falls faster than that, which <p_k, u> grows with by itself.
        return 0 * near.level
