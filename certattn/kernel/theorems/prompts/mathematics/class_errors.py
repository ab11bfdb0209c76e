"""Errors of attention for every law of a class: tokens that are centred and sub-Gaussian.

Tokens x in R^d with E e^{<u, x>} <= e^{sigma^2 |u|^2 / 2} for every u. Of the tilt a = scale U z of a query only
s = sigma |a| matters, of what reads the tokens out only |V| and |V|_F. With the weights w = e^{<a, x> - Lambda(a)},
y = x - tau and 0 < eta < 1 (proofs: docs, proposition-3-1)

    E w^2 <= e^{2 s^2},      E w^2 |Vy|^2 <= sigma^2 (|V|_F^2 + 2 |V|^2 + 4 |V|^2 s^2) e^{2 s^2},
    |tau| <= 2 sigma s,      E w^2 |y|^4  <= sigma^4 (d + 4 + 4 s^2)^2 e^{2 s^2},
    E e^{eta |Vy|^2 / (2 sigma^2 |V|^2)} <= e^{(|V|_F^2 / (2 |V|^2) + 2 s^2) eta / (1 - eta)},
    E e^{eta |x|^2 / (2 sigma^2)} <= (1 - eta)^{-d/2},
    |C| <= 2 sigma^2 (1 + s^2),  tr C <= 2 sigma^2 (d + s^2)       for the tilted covariance C.

So at every query, as the mean of the weights falls short of 1 by less than t or does not,

    E |error|^2 <= min(b, (a / (1 - t)^2 + 2 b / (e t^2)) e^{2 s^2} / L)

for polynomials a and b of s^2, b of ln L too. As min(p, q) <= p^{1 - theta} q^theta, Hoelder's inequality leaves to the
average over queries the means of a and b under the weight e^{2 theta s^2}. Divided by (ln L)^n / L^rho the bound falls
in L where theta >= rho, as a / (ln L)^n and b / (ln L)^n do.

Where all tokens lie in a ball of radius R, s = R |a|, w is at most e^{2s} <= e^{slope s^2 + 1/slope}. That stands in
the place of e^{2 s^2}, with numbers a and b, for which no more of the law is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flint import arb, fmpq


class QueryMeans(Protocol):
    """Means over queries under the weight that the bound leaves to them."""

    def mean(self, polynomial: Sequence[arb]) -> arb:
        """At least the mean of sum_j c_j s^{2j}, c_j >= 0."""


class Tokens(Protocol):
    """The two polynomials in s^2 of an error: coefficients from the constant one on."""

    def kept(self) -> Sequence[fmpq]:
        """a: L e^{-2 s^2} times the mean square error while the weights' mean is kept, without (1 - t)^{-2}."""

    def always(self, log_length: arb, t: fmpq, eta: fmpq) -> Sequence[arb]:
        """b: the largest mean square error; also where the weights fall short, without their probability."""


@dataclass(frozen=True)
class Mean:
    """Of |V (tau_hat - tau)|^2: sigma^2, |V|^2 and |V|_F^2, or more."""

    variance: fmpq
    norm: fmpq
    frobenius: fmpq

    def kept(self) -> Sequence[fmpq]:
        return [self.variance * (self.frobenius + 2 * self.norm), 4 * self.variance * self.norm]

    def always(self, log_length: arb, t: fmpq, eta: fmpq) -> Sequence[arb]:
        largest = 2 * self.norm / eta * (log_length + t)
        rest = self.frobenius / (1 - eta)
        return [self.variance * (largest + rest), arb(4 * self.variance * self.norm / (1 - eta))]


@dataclass(frozen=True)
class Covariance:
    """Of |C_hat - C|_F^2: sigma^2 and d."""

    variance: fmpq
    dimension: int

    def kept(self) -> Sequence[fmpq]:
        d = self.dimension
        # (d + 4 + 4 s^2)^2 for E w^2 |y|^4, and 4 (1 + s^2) (d + s^2 + d + 2 + 4 s^2) for what C multiplies.
        of_tokens = [(d + 4) ** 2, 8 * (d + 4), 16]
        of_limit = [4 * (2 * d + 2), 4 * (2 * d + 7), 20]
        return [self.variance**2 * (p + q) for p, q in zip(of_tokens, of_limit, strict=True)]

    def always(self, log_length: arb, t: fmpq, eta: fmpq) -> Sequence[arb]:
        d = self.dimension
        largest = (2 * (1 + t + log_length) - d * arb(1 - eta).log()) / eta
        return [self.variance**2 * part for part in (largest**2 + 4 * d, arb(4 * (d + 1)), arb(4))]


@dataclass(frozen=True)
class OnBall:
    """Of tokens in a ball: a and b, for every query."""

    first: fmpq
    largest: fmpq

    @classmethod
    def mean(cls, square: fmpq, norm: fmpq) -> OnBall:
        """Of |V (tau_hat - tau)|^2: R^2 and |V|^2, or more. The tilted mean of |Vy|^2 is at most |V|^2 R^2."""
        return cls(norm * square, 4 * norm * square)

    @classmethod
    def covariance(cls, square: fmpq) -> OnBall:
        """Of |C_hat - C|_F^2: R^2. tr C and tr C_hat are at most R^2, and |y|^2 at most 4 R^2."""
        return cls(6 * square**2, 2 * square**2)

    def kept(self) -> Sequence[fmpq]:
        return [self.first]

    def always(self, log_length: arb, t: fmpq, eta: fmpq) -> Sequence[arb]:
        return [arb(self.largest)]


def class_bound(length: arb, tokens: Tokens, weighted: QueryMeans, theta: fmpq, t: fmpq, eta: fmpq) -> arb:
    """L^-theta B^{1 - theta} (A / (1 - t)^2 + 2 B / (e t^2))^theta, A and B the means of a and b."""
    log_length, power = length.log(), arb(theta)
    largest = weighted.mean(tokens.always(log_length, t, eta))
    kept = weighted.mean([arb(c) for c in tokens.kept()])
    apart = kept / (1 - t) ** 2 + 2 * largest / (t * t * arb(1).exp())
    return (power * (apart.log() - log_length) + (1 - power) * largest.log()).exp()
