"""What a class of tokens and of queries says of attention where U and V are at most so large.

For a centred sigma-sub-Gaussian law of tokens with the cumulant generating function Lambda, at a query z, with
s = sigma |U| |z| (proofs: docs, theorem-4-3)

    |tau| = |D Lambda| <= sigma min(2 s, s + s^2 + s^3 / 3),    |C| = |D^2 Lambda| <= sigma^2 (1 + s)^2,
    |D^3 Lambda| <= sigma^3 (2 + 4 s + 8 s^2 + 8 s^3).

T(z) = V tau(Uz), whose derivatives along (P, Q) in (U, V) are

    DT = Q tau + V C P z,    D^2 T = 2 Q C P z + V D^3 Lambda (Pz, Pz),

and what L tokens add to the error of tau and of C is bounded by `class_errors`. All these are polynomials of |z|, under
weights e^{c |z|^2}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.mathematics.class_errors import Tokens, class_bound

T = TypeVar("T", fmpq, arb)

# Polynomials of s, from the constant on: bounds of |tau| / sigma, |C| / sigma^2 and |D^3 Lambda| / sigma^3.
SHIFT, SPREAD, SKEW = (
    (fmpq(0), fmpq(1), fmpq(1), fmpq(1, 3)),
    (fmpq(1), fmpq(2), fmpq(1)),
    tuple(map(fmpq, (2, 4, 8, 8))),
)
# What part of the exponential moments that are left pays for a power; the best one counts.
_SHARES = tuple(fmpq(n, 64) for n in (1, 2, 4, 8, 12, 16, 24, 32, 40, 48))


# -- queries


class Queries(Protocol):
    def moment(self, power: int, rate: arb) -> arb:
        """At least E |z|^power e^{rate |z|^2}."""


@dataclass(frozen=True)
class Bounded:
    """|z| <= radius."""

    radius: fmpq

    def moment(self, power: int, rate: arb) -> arb:
        return arb(self.radius) ** power * (rate * self.radius**2).exp()


@dataclass(frozen=True)
class SubGaussian:
    """Centred and sub-Gaussian with a number of this square, in this dimension."""

    variance: fmpq
    dimension: int

    def exponential(self, rate: arb) -> arb:
        """E e^{rate |z|^2} <= (1 - 2 rho^2 rate)^{-k/2}."""
        left = 1 - 2 * self.variance * rate
        if (left > 0) is not True:
            raise NoBound(f"E e^(c |z|^2) may be infinite at c = {rate.str(5, radius=False)}: U may become too large")
        return (-left.log() * self.dimension / 2).exp()

    def moment(self, power: int, rate: arb) -> arb:
        """x^j <= j ((j - 1) / (e c))^{j - 1} (e^{c x} - 1) / c; odd powers lie between even ones by Cauchy-Schwarz."""
        if power == 0:
            return self.exponential(rate)
        if power % 2:
            return (self.moment(power - 1, rate) * self.moment(power + 1, rate)).sqrt()
        self.exponential(rate)
        j, room, found = power // 2, 1 / arb(2 * self.variance) - rate, []
        for share in _SHARES:
            c = room * share
            largest = j * ((j - 1) / (arb(1).exp() * c)) ** (j - 1)
            found.append(largest * (self.exponential(rate + c) - 1) / c)
        if j == 1 and rate == 0:
            found.append(arb(self.dimension * self.variance))
        return _least(found)


def _least(found: Sequence[arb]) -> arb:
    least = found[0]
    for other in found[1:]:
        least = least.min(other)
    return least


@dataclass(frozen=True)
class Scored:
    """`QueryMeans` of s = unit |z|, with the factor |z|^power and under e^{rate s^2}."""

    queries: Queries
    unit: arb
    power: int
    rate: fmpq

    def mean(self, polynomial: Sequence[arb]) -> arb:
        rate = self.rate * self.unit**2
        moments = (self.queries.moment(2 * j + self.power, rate) for j in range(len(polynomial)))
        return sum(
            (c * self.unit ** (2 * j) * m for j, (c, m) in enumerate(zip(polynomial, moments, strict=True))), arb(0)
        )


# -- what is known where the norms are at most so large


@dataclass(frozen=True)
class Scatter:
    """`Tokens`: of |sum p_i (y_i y_i' - C)|_F^2, y = x - tau; sigma^2 and d."""

    variance: fmpq
    dimension: int

    def kept(self) -> Sequence[fmpq]:
        d = self.dimension
        return [self.variance**2 * part for part in ((d + 4) ** 2 + 4 * d, 8 * (d + 4) + 4 * (d + 1), fmpq(20))]

    def always(self, log_length: arb, t: fmpq, eta: fmpq) -> Sequence[arb]:
        d, rest = self.dimension, 1 / (1 - eta)
        largest = 2 * (1 + t + log_length) / eta + d * rest
        parts = (largest**2 + 4 * d, 8 * largest * rest + 4 * (d + 1), arb(16 * rest**2 + 4))
        return [self.variance**2 * part for part in parts]


@dataclass(frozen=True)
class Numbers:
    """With which numbers errors are bounded; theta where queries are sub-Gaussian."""

    length: int
    t: fmpq
    eta: fmpq
    theta: fmpq | None


@dataclass(frozen=True)
class Region:
    """All (U, V) with |U| <= U and |V| <= V, for a class."""

    queries: Queries
    sigma: fmpq
    dimension: int
    U: arb
    V: arb

    def mean(self, polynomial: Sequence[fmpq], power: int) -> arb:
        """E |z|^power p(s), p >= 0 of these coefficients."""
        terms = ((n, c) for n, c in enumerate(polynomial) if c)
        unit = self.sigma * self.U
        return sum((c * unit**n * self.queries.moment(n + power, arb(0)) for n, c in terms), arb(0))

    def limit_square(self) -> arb:
        """E |tau|^2."""
        return self.sigma**2 * self.mean([fmpq(0), fmpq(0), fmpq(4)], 0).min(self.mean(squared(SHIFT), 0))

    def slope_square(self) -> arb:
        """E |DT|^2: |DT (P, Q)| <= |Q| |tau| + |V| |C| |z| |P|."""
        return self.limit_square() + self.V**2 * self.sigma**4 * self.mean(squared(SPREAD), 2)

    def bend(self) -> arb:
        """Of |D^2 T (P, Q)^2| <= 2 |C| |z| |P| |Q| + |V| |D^3 Lambda| |z|^2 |P|^2, the norm over queries."""
        mixed = self.sigma**2 * self.mean(squared(SPREAD), 2).sqrt()
        pure = self.V * self.sigma**3 * self.mean(squared(SKEW), 4).sqrt()
        return (pure + (pure**2 + 4 * mixed**2).sqrt()) / 2

    def largest_score(self) -> arb:
        """The largest s^2, where |z| is bounded."""
        return self.sigma**2 * self.U**2 * self.queries.moment(2, arb(0))

    def shortfall(self, length: int, t: fmpq) -> arb:
        """h: e^{-h} bounds the probability that the mean of the weights falls short, where |z| is bounded."""
        return length * arb(t) ** 2 * (-2 * self.largest_score()).exp() / 2

    def error_square(self, tokens: Tokens, power: int, proof: Numbers) -> arb:
        """E |z|^power |error|^2 of a mean over the tokens."""
        if proof.theta is not None:
            return self._over_queries(tokens, power, 2 * proof.theta, proof.theta, proof)
        length, t, unit = proof.length, proof.t, self.sigma * self.U
        kept = Scored(self.queries, unit, power, fmpq(2)).mean([arb(c) for c in tokens.kept()])
        always = Scored(self.queries, unit, power, fmpq(0)).mean(tokens.always(arb(length).log(), t, proof.eta))
        return kept / (length * (1 - t) ** 2) + always * (-self.shortfall(length, t)).exp()

    def bias_square(self, tokens: Tokens, power: int, proof: Numbers) -> arb:
        """E_z |z|^power |E error|^2: |E error|^2 <= E |error|^2 min(1, (e^{2 s^2} - 1) / L)."""
        theta, log_length = proof.theta, arb(proof.length).log()
        if theta is None:
            return self.error_square(tokens, power, proof) * ((2 * self.largest_score()).exp() - 1) / proof.length
        plain, raised = (self._over_queries(tokens, power + more, 4 * theta, theta, proof) for more in (0, 2))
        return ((1 - theta) * plain + 2 * theta * (self.sigma * self.U) ** 2 * raised) * (-theta * log_length).exp()

    def error_fourth(self, tokens: Tokens, power: int, proof: Numbers) -> arb:
        """E_z |z|^power (E |error|^2)^2."""
        if proof.theta is None:
            return self.error_square(tokens, 0, proof) ** 2 * self.queries.moment(power, arb(0))
        theta, t = proof.theta, proof.t
        scored, log_length = Scored(self.queries, self.sigma * self.U, power, 4 * theta), arb(proof.length).log()
        always = scored.mean(squared(tokens.always(log_length, t, proof.eta)))
        kept = scored.mean(squared([arb(c) for c in tokens.kept()]))
        apart = 2 * kept / (1 - t) ** 4 + 8 * always / (arb(1).exp() * t**2) ** 2
        return (arb(theta) * (apart.log() - 2 * log_length) + (1 - arb(theta)) * always.log()).exp()

    def _over_queries(self, tokens: Tokens, power: int, rate: fmpq, theta: fmpq, proof: Numbers) -> arb:
        scored = Scored(self.queries, self.sigma * self.U, power, rate)
        return class_bound(arb(proof.length), tokens, scored, theta, proof.t, proof.eta)


def squared(polynomial: Sequence[T]) -> list[T]:
    """The coefficients of the square."""
    found: list[Any] = [0] * (2 * len(polynomial) - 1)
    for i, left in enumerate(polynomial):
        for j, right in enumerate(polynomial):
            found[i + j] = found[i + j] + left * right
    return found
