"""A descent: its rule, and where it starts.

L is the average of the losses of n inputs, so that a step eta on L is h = eta / n on their sum F. Of local convergence,
let W_k be the sum of the good weights at p_k (`gradient_weights`), m_k = h_k W_k the move of a step h_k on F, and
sigma_k = m_0 + ... + m_{k-1}.

    gradient     p - h grad F             theta_- h P_k <= m_k <= theta_+ h P_k
    flow         dp/dt = -h grad F        moves are infinitely small, k is time, and theta_- h P <= d sigma/dt
    normalised   p - s grad F / |grad F|  s / (max |z_j| + e) <= m_k <= s / (Xi - pull)
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.selection_descent import GradientStep, NormalisedStep, Step
from certattn.kernel.mathematics.selection_landscape import Landscape
from certattn.kernel.theorems.selection.mathematics.gradient_weights import NearbyWeights, decaying_sum

GRADIENT, NORMALISED, FLOW = "gradient", "normalised", "flow"
# The kinds of start: one that is enclosed as a box, and two that are no boxes.
ENCLOSED, CONE, EVERY = "box", "cone", "every"


@dataclass(frozen=True)
class Rule:
    """A rule of descent for n inputs; `step` is eta or s, and None of the flow.

    Where `near` holds from p_0 on, with a level P_k <= P e^{-rate sigma_k}, its methods bound the moves.
    """

    kind: str
    step: fmpq | None
    inputs: int

    @property
    def discrete(self) -> bool:
        """Whether it goes in steps."""
        return self.step is not None

    @property
    def unit(self) -> fmpq:
        """What a step, or a unit of time, is on the sum F of the losses: eta / n, s, or 1 / n."""
        if self.step is None:
            return fmpq(1, self.inputs)
        return self.step if self.kind == NORMALISED else self.step / self.inputs

    def size(self) -> arb:
        """h = eta / n, or s; 0 for the flow."""
        return arb(self.unit if self.discrete else 0)

    def on(self, landscape: Landscape) -> Step:
        """One step there."""
        return (NormalisedStep if self.kind == NORMALISED else GradientStep)(landscape, self.size())

    def longest_move(self, near: NearbyWeights) -> arb:
        """A bound of every move m_k; 0 for the flow."""
        if self.kind == NORMALISED:
            return self.unit / near.forward
        return self.unit * near.high * near.level if self.discrete else arb(0)

    def squares(self, move: arb, rate: arb) -> tuple[arb, arb]:
        """(a, b) with m_0^2 + ... + m_{k-1}^2 <= a + b sigma_k for every k, `move` bounding every m_k."""
        if self.kind == NORMALISED:
            return arb(0), move
        return (move * decaying_sum(rate, move, BALLS) if self.discrete else arb(0)), arb(0)

    def least_total(self, near: NearbyWeights, elapsed: fmpq) -> arb:
        """A lower bound of sigma_k for k = `elapsed`."""
        if self.kind == NORMALISED:
            return self.unit * elapsed / (near.constants.good_length + near.error)
        return arb(0)

    def pace(self, near: NearbyWeights, rate: arb) -> arb:
        """c >= 0 with 1/P_k >= 1/P_0 + c k for every k: 1/P_{k+1} >= e^{rate m_k} / P_k, m_k >= h theta_- P_k.

        Of normalised steps P_k falls faster than that, which <p_k, u> grows with by itself.
        """
        return arb(0) if self.kind == NORMALISED else rate * near.low * self.unit


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
class Start:
    """Where descent starts: in a box between two corners, which may be equal; or else in a cone; or else anywhere."""

    box: tuple[ExactMatrix, ExactMatrix] | None = None
    cone: Cone | None = None

    @property
    def kind(self) -> str:
        """Enclosed, a cone or every."""
        if self.box is not None:
            return ENCLOSED
        return EVERY if self.cone is None else CONE

    def balls(self) -> list[arb]:
        """The box at the working precision."""
        assert self.box is not None
        return [arb(low).union(arb(high)) for low, high in zip(*(end.row(0) for end in self.box), strict=True)]

    def is_point(self) -> bool:
        return self.box is not None and self.box[0] == self.box[1]

    def is_origin(self) -> bool:
        return self.is_point() and self.box is not None and self.box[0].is_zero()
