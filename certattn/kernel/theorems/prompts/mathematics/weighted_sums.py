"""Tail bounds of the softmax output and of the softmax covariance through moments of one token.

With weights w = exp(<a, x> - Lambda(a)), E w = 1, and tau the tilted mean, for a direction v of tokens

    { <v, tau_L - tau> > eps } = { sum_i Y_i > 0 },   Y_i = w_i (<v, x_i - tau> - eps),   E Y = -eps,

where tau_L is the softmax mean of L independent tokens: the normaliser drops out. All rules (Cantelli, even moments,
Chernoff) bound P(sum D_i > L eps) for D = Y + eps, E D = 0.

With deviations y = x - tau, the tilted covariance C, and Z = sum w_i / L, S = sum w_i (y_i y_i' - C) / L over a prompt,
for directions u and v of tokens

    { <u, S v> / Z > eps } = { sum_i Y_i > 0 },   Y_i = w_i (<u, y_i> <v, y_i> - <u, C v> - eps),   E Y = -eps.

So the same rules apply to this Y as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import factorial

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import exp_remainder, natural_power, root
from certattn.kernel.mathematics.laws import (
    Atoms,
    Box,
    Law,
    Rademacher,
    Radial,
    Shifted,
    TruncatedGaussian,
    Vector,
    dot,
    leaves,
)
from certattn.kernel.theorems.prompts.mathematics.series import (
    Series,
    linear_exponential,
    logarithm,
    mgf_series,
    power,
    product,
    weighted_moments,
)

# -- laws of bounded support, part by part: points, boxes or their corners, balls or their spheres

Region = Rademacher[arb] | Box[arb] | Radial[arb] | TruncatedGaussian[arb] | Shifted[arb]
BoundedPart = Region | Atoms[arb]


def bounded_parts(law: Law[arb]) -> list[BoundedPart] | None:
    """The laws that a law is mixed from; None if one of them has no bounded support."""
    parts = [part for _, part in leaves(law, arb(1))]
    bounded = [
        part for part in parts if isinstance(part, Rademacher | Box | Radial | TruncatedGaussian | Shifted | Atoms)
    ]
    return bounded if len(bounded) == len(parts) else None


def support_function(law: Region, tilt: Vector) -> arb:
    """h(a) = max <a, x> over the support: sum c_j |a_j| of signs or boxes, R |a| of a ball; <a, m> more about m."""
    if isinstance(law, Radial):
        return root(law.squared_radius * sum((natural_power(a, 2) for a in tilt), arb(0)))
    if isinstance(law, Shifted):
        return dot(tilt, law.centre) + support_function(law.law, tilt)
    return dot(law.sizes, [abs(a) for a in tilt])


# -- summands


@dataclass(frozen=True)
class Summand:
    """Y for one direction: the law, the tilt a, the direction v, eps, and how to compute."""

    law: Law[arb]
    tilt: Vector
    direction: Vector
    eps: arb

    @cached_property
    def log_mgf(self) -> arb:
        """Lambda(a)."""
        return self.law.log_mgf(self.tilt)

    @cached_property
    def mean(self) -> arb:
        """<v, tau>."""
        return dot(self.direction, self.law.tilted_mean(self.tilt))

    def power_mean(self, k: int) -> arb:
        """E Y^k / k! = e^{-k Lambda(a)} [t^k] E e^{<k a + t v, x>} e^{-t (<v, tau> + eps)}."""
        moments = mgf_series(self.law, [k * a for a in self.tilt], self.direction, k)
        shift = linear_exponential(-(self.mean + self.eps), k)
        return (-k * self.log_mgf).exp() * product(moments, shift)[k]

    def centred_series(self, order: int) -> Series:
        """E D^j / j! for j = 0..order: the coefficients of e^{t eps} times those of Y."""
        powers = [self.power_mean(k) for k in range(order + 1)]
        return product(powers, linear_exponential(self.eps, order))

    def variance(self) -> arb:
        """v = E D^2 = E Y^2 - eps^2."""
        return 2 * self.power_mean(2) - self.eps * self.eps

    def at(self, token: Vector) -> arb:
        """D = w (<v, x - tau> - eps) + eps for the token x."""
        weight = (dot(self.tilt, token) - self.log_mgf).exp()
        return weight * (dot(self.direction, token) - self.mean - self.eps) + self.eps

    def largest(self, part: Region, slope: arb | fmpq) -> arb:
        """A bound of D on a region, by y <= e^{slope y - 1} / slope for any slope > 0.

        D = w y + eps with y = <v, x - tau> - eps, and <a, x> + slope <v, x> <= h(a + slope v).
        """
        reach = support_function(part, [a + slope * v for a, v in zip(self.tilt, self.direction, strict=True)])
        return (reach - slope * (self.mean + self.eps) - 1 - self.log_mgf).exp() / slope + self.eps


@dataclass(frozen=True)
class ProductMoments:
    """E w^k (<u, y> <v, y>)^j for j <= k, computed once for every k."""

    law: Law[arb]
    tilt: Vector
    u: Vector
    v: Vector
    _known: dict[int, list[arb]] = field(default_factory=dict)

    def powers(self, k: int) -> list[arb]:
        """The means for j = 0..k."""
        if k not in self._known:
            centre = self.law.tilted_mean(self.tilt)
            table = weighted_moments(self.law, self.tilt, centre, k, self.u, self.v, k)
            self._known[k] = [factorial(j) ** 2 * table[j][j] for j in range(k + 1)]
        return self._known[k]

    @property
    def covariance(self) -> arb:
        """<u, C v> = E w <u, y> <v, y>."""
        return self.powers(1)[1]


@dataclass(frozen=True)
class ProductSummand(Summand):
    """Y for <u, y> <v, y> where `sign` is 1, and for its negative where `sign` is -1."""

    moments: ProductMoments
    sign: int

    @property
    def covariance(self) -> arb:
        """<u, C v>, with the sign."""
        return self.sign * self.moments.covariance

    def power_mean(self, k: int) -> arb:
        """E Y^k / k!: the coefficient of t^k in the product of two series."""
        powers = [self.sign**j * value / factorial(j) for j, value in enumerate(self.moments.powers(k))]
        return product(powers, linear_exponential(-(self.covariance + self.eps), k))[k]

    def at(self, token: Vector) -> arb:
        """D for the token x."""
        weight = (dot(self.tilt, token) - self.log_mgf).exp()
        y = [x - c for x, c in zip(token, self.centre, strict=True)]
        output = self.sign * dot(self.moments.u, y) * dot(self.moments.v, y)
        return weight * (output - self.covariance - self.eps) + self.eps

    def largest(self, part: Region, slope: arb | fmpq) -> arb:
        """A bound of D = Y + eps on a region, for any slope > 0.

        With c = u + v (u - v for the sign -1) the product is at most <c, y>^2 / 4, and x^2 <= 4 e^{slope |x| - 2} /
        slope^2; what is subtracted from it, where it is negative, has at most the largest weight.
        """
        joint = [x + self.sign * y for x, y in zip(self.moments.u, self.moments.v, strict=True)]
        centre = dot(joint, self.centre)
        up, down = ((self._reach(part, [s * slope * x for x in joint]) - s * slope * centre - 2).exp() for s in (1, -1))
        heaviest = self._reach(part, [0 * x for x in joint]).exp()
        rest = (-(self.covariance + self.eps)).max(0 * self.eps) * heaviest
        return up.max(down) / (slope * slope) + rest + self.eps

    @cached_property
    def centre(self) -> list[arb]:
        """tau(a)."""
        return self.law.tilted_mean(self.tilt)

    def _reach(self, part: Region, shift: Vector) -> arb:
        """max <a + shift, x> - Lambda(a) over the part."""
        return support_function(part, [a + s for a, s in zip(self.tilt, shift, strict=True)]) - self.log_mgf


def product_summand(moments: ProductMoments, sign: int, eps: arb) -> ProductSummand:
    return ProductSummand(moments.law, moments.tilt, moments.u, eps, moments, sign)


# -- rules


def cantelli(variance: arb, eps: arb, length: int) -> arb:
    """P(sum D_i >= L eps) <= v / (v + L eps^2)."""
    return variance / (variance + length * eps * eps)


def moment_bound(series: Sequence[arb], eps: arb, length: int) -> arb:
    """E (sum D_i)^p / (L eps)^p for even p, with E (sum D_i)^p / p! = [t^p] (sum_j E D^j t^j / j!)^L."""
    order = len(series) - 1
    found = power(series, length)[order]
    for k in range(1, order + 1):
        found = found * k / (length * eps)
    return found


def moment_terms(series: Sequence[arb], eps: arb) -> list[arb]:
    """c_1, ..., c_(p/2) with E (sum D_i)^p / (L eps)^p = sum_k c_k L^(k - p) for every L, as E D = 0.

    With g = log f, f = sum_j E D^j t^j / j!, it is p! [t^p] f^L = p! [t^p] e^(L g), and g begins with t^2.
    """
    order = len(series) - 1
    logarithms = logarithm([0 * eps + 1, 0 * eps, *series[2:]])
    found, powers = [], logarithms
    for k in range(1, order // 2 + 1):
        found.append(powers[order] * factorial(order) / (factorial(k) * eps**order))
        powers = product(powers, logarithms)
    return found


def bounded_exponential(series: Sequence[arb], slope: arb, largest: arb) -> arb:
    """E e^{slope D} <= sum_{j<p} slope^j E D^j/j! + slope^p E D^p phi_p(slope b) for D <= b and even p.

    e^y = sum_{j<p} y^j/j! + y^p phi_p(y), where phi_p increases and y^p >= 0. For p = 2 this is
    Bennett's bound.
    """
    order = len(series) - 1
    total = series[0]
    for j in range(1, order):
        total = total + slope**j * series[j]
    return total + slope**order * series[order] * exp_remainder(order, slope * largest) * factorial(order)


def chernoff(exponential: arb, length: int) -> arb:
    """P(sum Y_i > 0) <= (E e^{slope Y})^L."""
    return exponential**length


# How the slope in `Summand.largest` is searched for: factors, from coarse to fine, and the steps at each.
_FACTORS = ((1 << 8, 1), (1 << 4, 1), (4, 1), (2, 1), (3, 2), (5, 4), (9, 8), (17, 16))
_STEPS = 12


def bound_of_summands(summand: Summand, parts: Sequence[BoundedPart]) -> arb:
    """D <= this for every token of these parts: exactly for atoms, else about the best of the bounds `largest`."""
    found = [
        reduce(arb.max, [summand.at(point) for point in part.points])
        if isinstance(part, Atoms)
        else least_largest(summand, part)
        for part in parts
    ]
    return reduce(arb.max, found)


def least_largest(summand: Summand, part: Region) -> arb:
    """The bound `largest` at about its best slope; any slope gives a bound. The logarithm has one minimum."""
    slope = fmpq(1)
    best = summand.largest(part, slope)
    for p, q in _FACTORS:
        for numerator, denominator in ((p, q), (q, p)):
            for _ in range(_STEPS):
                candidate = slope * numerator / denominator
                found = summand.largest(part, candidate)
                if not found < best:
                    break
                slope, best = candidate, found
    return best


def atoms_exponential(summand: ProductSummand, slope: arb) -> arb:
    """E e^{slope Y} of atoms, a finite sum."""
    law = summand.law
    if not isinstance(law, Atoms):
        raise TypeError(f"{type(law).__name__} has no atoms")
    terms = [
        weight * (slope * (summand.at(point) - summand.eps)).exp()
        for weight, point in zip(law.weights, law.points, strict=True)
    ]
    first, *rest = terms
    return sum(rest, first)
