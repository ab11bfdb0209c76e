"""What tokens and queries say of attention where U and V are at most so large.

With bounds of tau, C and D^3 Lambda that are polynomials of s = sigma |U| |z| (`tilted_tokens`), attention
T(z) = V tau(Uz) has the derivatives along (P, Q) in (U, V)

    DT = Q tau + V C P z,    D^2 T = 2 Q C P z + V D^3 Lambda (Pz, Pz),

and L tokens have, by the normaliser's geometric mean (proofs: docs, theorem-4-3),

    E |N / Z|^2 <= (own + moved^2 / L) e^{2 s^2} / L,    |E N / Z|^2 <= E |N / Z|^2 (e^{weights s^2} - 1) / L.

All these are means of polynomials of |z| under weights e^{c |z|^2}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.theorems.training.tilted_tokens import Error, Polynomial, Tokens, times

# Rates of exponential weights.
_NONE, _TWO = fmpq(0), fmpq(2)
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


# -- what is known where the norms are at most so large


@dataclass(frozen=True)
class Numbers:
    """With which numbers errors are bounded; theta and eta where queries are sub-Gaussian."""

    length: int
    exponents: tuple[fmpq, fmpq] | None


@dataclass(frozen=True)
class Region:
    """All (U, V) with |U| <= U and |V| <= V."""

    queries: Queries
    tokens: Tokens
    U: arb
    V: arb

    def mean(self, polynomial: Polynomial, power: int, rate: fmpq = _NONE) -> arb:
        """E |z|^power e^{rate s^2} p(s), p >= 0 of these coefficients."""
        unit = self.tokens.sigma * self.U
        terms = ((n, c) for n, c in enumerate(polynomial) if (c == 0) is not True)
        return sum((c * unit**n * self.queries.moment(n + power, rate * unit**2) for n, c in terms), arb(0))

    def limit_square(self) -> arb:
        """E |tau|^2."""
        return _least([self.mean(times(shift, shift), 0) for shift in self.tokens.shifts])

    def slope_square(self) -> arb:
        """E |DT|^2: |DT (P, Q)| <= |Q| |tau| + |V| |C| |z| |P|."""
        return self.limit_square() + self.V**2 * self.mean(times(self.tokens.spread, self.tokens.spread), 2)

    def bend(self) -> arb:
        """Of |D^2 T (P, Q)^2| <= 2 |C| |z| |P| |Q| + |V| |D^3 Lambda| |z|^2 |P|^2, the norm over queries."""
        mixed = self.mean(times(self.tokens.spread, self.tokens.spread), 2).sqrt()
        pure = self.V * self.mean(times(self.tokens.skew, self.tokens.skew), 4).sqrt()
        return (pure + (pure**2 + 4 * mixed**2).sqrt()) / 2

    def error_square(self, error: Error, power: int, proof: Numbers, more: fmpq = _NONE) -> arb:
        """E |z|^power e^{more s^2} |error|^2, with theta at most, of two bounds, one to the power theta."""
        if proof.exponents is None:
            return self.mean(error.after(proof.length), power, _TWO) / proof.length
        theta, eta = proof.exponents
        rate, log_length = 2 * theta + more, arb(proof.length).log()
        kept = self.mean(error.after(proof.length), power, rate) / proof.length
        return between(self.mean(error.largest(log_length, eta), power, rate), kept, theta)

    def bias_square(self, error: Error, power: int, proof: Numbers) -> arb:
        """E_z |z|^power |E error|^2."""
        weights, square = self.tokens.weights, (self.tokens.sigma * self.U) ** 2
        if proof.exponents is None:
            scores = weights * square * self.queries.moment(2, arb(0))
            return self.error_square(error, power, proof) * (scores.exp() - 1) / proof.length
        theta, _ = proof.exponents
        rate = weights * theta
        plain, raised = (self.error_square(error, power + more, proof, rate) for more in (0, 2))
        shorter = (-theta * arb(proof.length).log()).exp()
        return ((1 - theta) * plain + rate * square * raised) * shorter

    def error_fourth(self, error: Error, power: int, proof: Numbers) -> arb:
        """E_z |z|^power (E |error|^2)^2."""
        if proof.exponents is None:
            return self.error_square(error, 0, proof) ** 2 * self.queries.moment(power, arb(0))
        length, (theta, eta) = proof.length, proof.exponents
        rate, largest = 4 * theta, error.largest(arb(length).log(), eta)
        kept = self.mean(times(error.after(length), error.after(length)), power, rate) / length**2
        return between(self.mean(times(largest, largest), power, rate), kept, theta)


def between(one: arb, other: arb, theta: fmpq) -> arb:
    """one^{1 - theta} other^theta, by Hoelder's inequality at least the mean of the lesser one."""
    power = arb(theta)
    return ((1 - power) * one.log() + power * other.log()).exp()
