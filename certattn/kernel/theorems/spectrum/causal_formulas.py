"""The limit law of the singular values of causal attention with random weights: its closed formulas.

alpha^2, beta^2, lambda, eta > 0, b = beta^2/lambda. There is one pair of functions n and theta > 0 on [0, 1], rho =
1/theta, with

    1/n(y) = 1 + alpha^2 int_y^1 rho + beta^2 g(y),      theta(x) = eta + alpha^2 int_0^x n + beta^2 h(x),
    g(y) = sup phi(y)^2 / int (theta phi'^2 + b n phi^2)     over phi with phi(1) = 0,
    h(x) = sup phi(x)^2 / int (phi'^2/n + b rho phi^2)       over phi with phi(0) = 0,

and the transform of the law mu is s(eta) = int mu(dx)/(x^2 + eta) = int rho. For numbers u in (0, 1) and k > alpha^2 let

    N(v) = k - (alpha^2 - beta^2) v - beta^2 v^2,      q = N(u)^2/(u (1-u)),
    R(v) = (N(v)^2 - q v (1-v))/(v - u),               a polynomial of degree 3,
    I_j = int_u^1 v^j dv/sqrt((v - u) R(v)),           C = 2 I_0 .

Where R > 0 on [u, 1], the pair is known for one lambda and one eta, and with it the transform:

    lambda = 4 beta^2/(q C),      log eta = -log C - C (alpha^2 - beta^2) - 4 beta^2 I_1,
    s = (1/(C eta) - 1 - lambda (k - alpha^2)/eta)/alpha^2 .

For another lambda' and eta' log s is another by at most

    |log eta'/eta| + (alpha^2 + beta^2)/min(eta, eta') |log lambda'/lambda| .

`docs/claims/spectrum/causal-law.md` has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

from flint import arb

from certattn.kernel.mathematics.functions import N


@dataclass(frozen=True)
class Turn(Generic[N]):
    """The numbers u and k beside alpha^2 and beta^2: v goes from 1 down to u, its value at 1/2, and back to 1."""

    alpha2: N
    beta2: N
    turn: N
    level: N

    def above(self, v: Any) -> Any:
        """N(v), also of complex v."""
        return self.level - (self.alpha2 - self.beta2) * v - self.beta2 * v * v

    @property
    def ratio(self) -> N:
        """q."""
        above: N = self.above(self.turn)
        return above * above / (self.turn * (1 - self.turn))

    def cubic(self, v: Any) -> Any:
        """R(v): N(v)^2 - N(u)^2 and v (1-v) - u (1-u) are multiples of v - u."""
        slope = self.alpha2 - self.beta2 + self.beta2 * (v + self.turn)
        return self.ratio * (v + self.turn - 1) - (self.above(v) + self.above(self.turn)) * slope

    def bernstein(self) -> list[N]:
        """Four numbers between which R is on [u, 1]: R in the Bernstein basis."""
        u, ends = self.turn, (self.cubic(self.turn), self.cubic(self.turn * 0 + 1))
        # A cubic polynomial is known by its ends and what it is at a third and two thirds of the way.
        first, second = self.cubic((2 * u + 1) / 3), self.cubic((u + 2) / 3)
        lower = (18 * first - 9 * second - 5 * ends[0] + 2 * ends[1]) / 6
        upper = (18 * second - 9 * first - 5 * ends[1] + 2 * ends[0]) / 6
        return [ends[0], lower, upper, ends[1]]

    def log_eta(self: Turn[arb], rate: arb, mean: arb) -> arb:
        """log eta, of C and I_1."""
        return -rate.log() - rate * (self.alpha2 - self.beta2) - 4 * self.beta2 * mean

    def lambda_(self, rate: N) -> N:
        """lambda, of C."""
        return 4 * self.beta2 / (self.ratio * rate)

    def transform(self, rate: N, eta: N) -> N:
        """s, of C and eta."""
        return (1 / (rate * eta) - 1 - self.lambda_(rate) * (self.level - self.alpha2) / eta) / self.alpha2
