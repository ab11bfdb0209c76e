"""The law that Gaussian equivalence gives the singular values of softmax attention: its closed formulas.

Hayase, Collins and Karakida (AISTATS 2026, arXiv 2510.06685): for queries and keys with independent N(0, 1) entries, d
tokens and d_qk = lambda d, the singular values of sqrt(d) (A - 11'/d), A = softmax(beta Q K'/sqrt(d_qk)) by rows, have
the limit law of those of alpha Z/sqrt(d) + beta Q K'/sqrt(d d_qk). With the sign of a fair coin it is the symmetric law
nu of the free cumulants

    kappa_2 = alpha^2 + beta^2,    kappa_2n = beta^2n / lambda^(n-1)    for n >= 2,

mu is the law of |x| under nu. With b = beta^2/lambda and v = b w^2, the inverse function of its Stieltjes transform is

    K(w) = 1/w + alpha^2 w + beta^2 w/(1 - v),

z = K(w) is the equation P(w; z) = 0 of degree 4, and K' has the sign of the cubic polynomial h on the real line.

`docs/claims/spectrum/equivalent-law.md` has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from flint import acb, arb

from certattn.kernel.mathematics.functions import N, exp_remainder, natural_power, root

# Of softmax: beyond, alpha^2 has more digits than can be handled.
LARGEST_BETA = 1000


@dataclass(frozen=True)
class LawNumbers(Generic[N]):
    """alpha^2, beta^2 and lambda, all positive: exact, or as balls."""

    alpha2: N
    beta2: N
    lambda_: N

    @property
    def variance(self) -> N:
        """m_2 = alpha^2 + beta^2."""
        return self.alpha2 + self.beta2

    @property
    def pole(self) -> N:
        """b = beta^2/lambda: K has poles where b w^2 = 1."""
        return self.beta2 / self.lambda_

    @property
    def share(self) -> N:
        """alpha^2/(alpha^2 + beta^2): the share of the variance that is not linear in the scores."""
        return self.alpha2 / self.variance

    @property
    def fourth_excess(self) -> N:
        """m_4 - 2 m_2^2 = beta^4/lambda, which is 0 for quarter circle laws."""
        return self.beta2 * self.pole

    @property
    def relative_excess(self) -> N:
        """m_4/m_2^2 - 2, the same at every scale."""
        return self.fourth_excess / (self.variance * self.variance)

    def inverse(self: LawNumbers[arb], w: arb) -> arb:
        """K(w)."""
        return 1 / w + self.alpha2 * w + self.beta2 * w / (1 - self.pole * w * w)

    def inverse_slope(self: LawNumbers[arb], w: arb) -> arb:
        """K'(w)."""
        v = self.pole * w * w
        return self.alpha2 - 1 / (w * w) + self.beta2 * (1 + v) / ((1 - v) * (1 - v))

    def quartic(self: LawNumbers[arb], z: acb) -> list[acb]:
        """The coefficients of P(w; z) = w (1 - v) (z - K(w)), the constant one first."""
        b = self.pole
        return [z * 0 - 1, z, acb(b - self.variance), -(z * b), acb(self.alpha2 * b)]

    def critical(self) -> list[N]:
        """The coefficients of h(v) = -(1-v)^2 + lambda rho v (1-v)^2 + lambda v (1+v), the constant one first.

        rho = alpha^2/beta^2. h(v) = w^2 (1-v)^2 K'(w) where v = b w^2.
        """
        slope = self.alpha2 / self.pole
        return [slope * 0 - 1, 2 + slope + self.lambda_, self.lambda_ - 1 - 2 * slope, slope]

    def discriminant(self) -> N:
        """The discriminant of h over lambda, with s = lambda rho: for lambda < 1 positive where the support has a gap.

        8 (1-s)^3 - 3 lambda (5 s^2 + 26 s + 5) + 6 lambda^2 (1-s) + lambda^3.
        """
        s, rest, lambda_ = self.critical()[3], 1 - self.critical()[3], self.lambda_
        quadratic = (5 * s + 26) * s + 5
        return 8 * rest * rest * rest + lambda_ * (lambda_ * (lambda_ + 6 * rest) - 3 * quadratic)

    def primitive(self: LawNumbers[arb], w: acb) -> acb:
        """Phi(w), a primitive of w K'(w) in the lower half plane, with principal logarithms.

        1 + alpha^2 w^2/2 + lambda v/(1-v) - log w + (lambda/2) (log(1 - sqrt(b) w) + log(1 + sqrt(b) w)).
        """
        v = self.pole * w * w
        square_root = root(self.pole) * w
        logarithms = self.lambda_ * ((1 - square_root).log() + (1 + square_root).log()) / 2 - w.log()
        return 1 + self.alpha2 * w * w / 2 + self.lambda_ * v / (1 - v) + logarithms

    def largest_square(self: LawNumbers[arb]) -> arb:
        """u_0, the largest |G|^2: the positive root of alpha^2 b u^2 + (m_2 - b) u - 1."""
        half = self.variance - self.pole
        return 2 / (half + root(half * half + 4 * self.alpha2 * self.pole))

    def cumulants(self, count: int) -> list[N]:
        """kappa_2, kappa_4, ..., so many: the coefficients of C(w) = w K(w) - 1 in w^2, w^4, ..."""
        found = [self.variance]
        for n in range(1, count):
            found.append((self.beta2 if n == 1 else found[-1]) * self.pole)
        return found

    def moments(self, count: int) -> list[N]:
        """m_2, m_4, ..., so many: m_2n = [w^2n] (1 + C(w))^(2n+1) / (2n+1), by Lagrange inversion."""
        return _moments(self.cumulants(count), count)


def _moments(cumulants: list[N], count: int) -> list[N]:
    series = [cumulants[0] * 0 + 1]
    series.extend(cumulants)
    square = _times(series, series)
    power, found = series, []
    for n in range(1, count + 1):
        power = _times(power, square)
        found.append(power[n] / (2 * n + 1))
    return found


def _times(left: list[N], right: list[N]) -> list[N]:
    """The product of two power series, cut off where they are."""
    found = []
    for n in range(len(left)):
        total = left[0] * right[n]
        for k in range(1, n + 1):
            total = total + left[k] * right[n - k]
        found.append(total)
    return found


# -- the two parts of softmax's variance, and where their ratio reaches a number


def energy_ratio(square: arb) -> arb:
    """rho(x) = alpha^2/beta^2 = (e^x - 1 - x)/x at x = beta^2 > 0: it grows from 0 without bound."""
    return square * exp_remainder(2, square)


def nonlinear_energy(square: arb) -> arb:
    """alpha^2 = e^x - 1 - x at x = beta^2."""
    return square * energy_ratio(square)


def ratio_of_share(share: arb) -> arb:
    """The rho at which alpha^2/(alpha^2 + beta^2) is a number below 1."""
    return share / (1 - share)


def place_of_double_root(t: arb, lambda_: arb) -> arb:
    """(1-t)^3 - lambda (1 + 3t), which falls from 1 - lambda at t = 0: h can have the double root 1/t where it is 0."""
    return natural_power(1 - t, 3) - lambda_ * (1 + 3 * t)


def critical_ratio(t: arb) -> arb:
    """rho_c = (3v+1)/(v-1)^3 at v = 1/t: below it h has two roots beyond 1, and the support has a gap."""
    return t * t * (3 + t) / natural_power(1 - t, 3)
