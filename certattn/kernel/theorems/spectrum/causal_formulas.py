"""The limit law of the singular values of causal attention with random weights: its closed formulas.

alpha^2, beta^2, lambda, eta > 0, b = beta^2/lambda. There is one pair of functions n and theta > 0 on [0, 1], rho =
1/theta, with

    1/n(y) = 1 + alpha^2 int_y^1 rho + beta^2 g(y),      theta(x) = eta + alpha^2 int_0^x n + beta^2 h(x),
    g(y) = sup phi(y)^2 / int (theta phi'^2 + b n phi^2)     over phi with phi(1) = 0,
    h(x) = sup phi(x)^2 / int (phi'^2/n + b rho phi^2)       over phi with phi(0) = 0,

and the transform of the law mu is s(eta) = int mu(dx)/(x^2 + eta) = int rho. For u in (0, 1) and k > alpha^2 let

    N(v) = k - (alpha^2 - beta^2) v - beta^2 v^2,      q = N(u)^2/(u (1-u)),
    R(v) = (N(v)^2 - q v (1-v))/(v - u),               a polynomial of degree 3,
    I_j = int_u^1 v^j dv/sqrt((v - u) R(v)),           C = 2 I_0 .

Where R > 0 on [u, 1], the pair is known for one lambda and one eta, and with it the transform:

    lambda = 4 beta^2/(q C),      log eta = -log C - C (alpha^2 - beta^2) - 4 beta^2 I_1,
    s = (1/(C eta) - 1 - lambda (k - alpha^2)/eta)/alpha^2 .

For another lambda' and eta' log s is another by at most

    |log eta'/eta| + (alpha^2 + beta^2)/min(eta, eta') |log lambda'/lambda| .

mu has the moments that the expansion of s in t = 1/eta has as coefficients: s = t - m_2 t^2 + m_4 t^3 - ..., whose
terms follow from those of the pair, polynomials, by

    n = 1/(1 + alpha^2 int_y^1 rho + beta^2 c/(1 + a c)),        a = int_0^x (b n - rho a^2),
    rho = t/(1 + t (alpha^2 int_0^x n + lambda a/(1 + a c))),    c = int_y^1 (rho - b n c^2) .

`docs/claims/spectrum/causal-law.md` has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

from flint import arb, arb_poly, fmpq, fmpq_poly

from certattn.kernel.mathematics.functions import N
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers

# Polynomials in the place, of exact numbers or balls; and power series in t with such coefficients, cut off somewhere.
Poly = Any
Series = list[Any]


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


# -- moments


def moments(law: LawNumbers[N], count: int) -> list[N]:
    """m_2, m_4, ..., so many: every time round, one more term of each of the four series is right."""
    b = law.pole
    kind: Any = fmpq_poly if isinstance(law.alpha2, fmpq) else arb_poly
    zero: Poly = kind([0])
    unit: Poly = kind([1])
    rest: Series = [zero] * count
    n, rho, a, c = [unit, zero, *rest], [zero, unit, *rest], [zero, zero, *rest], [zero, zero, *rest]
    for _ in range(count):
        g = _times(c, _inverse(_times(a, c), unit))
        n = _inverse([p * law.alpha2 + q * law.beta2 for p, q in zip(_from(rho, unit), g, strict=True)], unit)
        a = _up_to([p * b + q * -1 for p, q in zip(n, _times(rho, _times(a, a)), strict=True)])
        h = _times(a, _inverse(_times(a, c), unit))
        above: Series = [p * law.alpha2 + q * law.lambda_ for p, q in zip(_up_to(n), h, strict=True)]
        rho = [zero, *_inverse([zero, *above[:-1]], unit)[:-1]]
        c = _from([p + q * -b for p, q in zip(rho, _times(n, _times(c, c)), strict=True)], unit)
    return [p.integral()(unit)[0] * (-1) ** k for k, p in enumerate(rho[2:], start=1)]


def _up_to(series: Series) -> Series:
    """int_0^x of each coefficient."""
    return [p.integral() for p in series]


def _from(series: Series, unit: Poly) -> Series:
    """int_y^1 of each coefficient."""
    return [p.integral()(unit) + p.integral() * -1 for p in series]


def _times(left: Series, right: Series) -> Series:
    """The product, cut off where they are."""
    found = []
    for n in range(len(left)):
        total = left[0] * right[n]
        for k in range(1, n + 1):
            total = total + left[k] * right[n - k]
        found.append(total)
    return found


def _inverse(series: Series, unit: Poly) -> Series:
    """1/(1 + f) of a series f without constant term."""
    found = [unit]
    for n in range(1, len(series)):
        total = series[1] * found[n - 1]
        for k in range(2, n + 1):
            total = total + series[k] * found[n - k]
        found.append(total * -1)
    return found
