"""Tail bounds of the softmax output through moments of one token: Cantelli, even moments, Chernoff.

With weights w = exp(<a, x> - Lambda(a)), E w = 1, and tau the tilted mean, for a direction v of tokens

    { <v, tau_L - tau> > eps } = { sum_i Y_i > 0 },   Y_i = w_i (<v, x_i - tau> - eps),   E Y = -eps,

where tau_L is the softmax mean of L independent tokens: the normaliser drops out. All rules bound
P(sum D_i > L eps) for D = Y + eps, E D = 0. Generic in the number type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import factorial

from certattn.kernel.mathematics.functions import Functions, Number, exp_remainder
from certattn.kernel.mathematics.laws import Atoms, Box, Law, Rademacher, Vector, dot
from certattn.kernel.theorems.prompts.mathematics.mgf_series import mgf_series
from certattn.kernel.theorems.prompts.mathematics.power_series import Series, linear_exponential, power, product
from certattn.kernel.theorems.prompts.mathematics.supports import BoundedPart, support_function


@dataclass(frozen=True)
class Summand:
    """Y for one direction: the law, the tilt a, the direction v, eps, and how to compute."""

    law: Law
    tilt: Vector
    direction: Vector
    eps: Number
    fn: Functions

    @cached_property
    def log_mgf(self) -> Number:
        """Lambda(a)."""
        return self.law.log_mgf(self.tilt, self.fn)

    @cached_property
    def mean(self) -> Number:
        """<v, tau>."""
        return dot(self.direction, self.law.tilted_mean(self.tilt, self.fn))

    def power_mean(self, k: int) -> Number:
        """E Y^k / k! = e^{-k Lambda(a)} [t^k] E e^{<k a + t v, x>} e^{-t (<v, tau> + eps)}."""
        fn = self.fn
        moments = mgf_series(self.law, [k * a for a in self.tilt], self.direction, k, fn)
        shift = linear_exponential(-(self.mean + self.eps), k, fn)
        return fn.exp(-k * self.log_mgf) * product(moments, shift)[k]

    def centred_series(self, order: int) -> Series:
        """E D^j / j! for j = 0..order: the coefficients of e^{t eps} times those of Y."""
        powers = [self.power_mean(k) for k in range(order + 1)]
        return product(powers, linear_exponential(self.eps, order, self.fn))

    def variance(self) -> Number:
        """v = E D^2 = E Y^2 - eps^2."""
        return 2 * self.power_mean(2) - self.eps * self.eps

    def at(self, token: Vector) -> Number:
        """D = w (<v, x - tau> - eps) + eps for the token x."""
        weight = self.fn.exp(dot(self.tilt, token) - self.log_mgf)
        return weight * (dot(self.direction, token) - self.mean - self.eps) + self.eps

    def largest(self, part: Rademacher | Box, slope: Number) -> Number:
        """A bound of D on signs or a box, by y <= e^{slope y - 1} / slope for any slope > 0.

        D = w y + eps with y = <v, x - tau> - eps, and <a, x> + slope <v, x> <= h(a + slope v).
        """
        fn = self.fn
        reach = support_function(part, [a + slope * v for a, v in zip(self.tilt, self.direction, strict=True)], fn)
        return fn.exp(reach - slope * (self.mean + self.eps) - 1 - self.log_mgf) / slope + self.eps


def cantelli(variance: Number, eps: Number, length: int) -> Number:
    """P(sum D_i >= L eps) <= v / (v + L eps^2)."""
    return variance / (variance + length * eps * eps)


def moment_bound(series: Sequence[Number], eps: Number, length: int) -> Number:
    """E (sum D_i)^p / (L eps)^p for even p, with E (sum D_i)^p / p! = [t^p] (sum_j E D^j t^j / j!)^L."""
    order = len(series) - 1
    found = power(series, length)[order]
    for k in range(1, order + 1):
        found = found * k / (length * eps)
    return found


def bounded_exponential(series: Sequence[Number], slope: Number, largest: Number, fn: Functions) -> Number:
    """E e^{slope D} <= sum_{j<p} slope^j E D^j/j! + slope^p E D^p phi_p(slope b) for D <= b and even p.

    e^y = sum_{j<p} y^j/j! + y^p phi_p(y), where phi_p increases and y^p >= 0. For p = 2 this is
    Bennett's bound.
    """
    order = len(series) - 1
    total = series[0]
    for j in range(1, order):
        total = total + slope**j * series[j]
    return total + slope**order * series[order] * exp_remainder(order, slope * largest, fn) * factorial(order)


def chernoff(exponential: Number, length: int) -> Number:
    """P(sum Y_i > 0) <= (E e^{slope Y})^L."""
    return exponential**length


# How the slope in `Summand.largest` is searched for: factors, from coarse to fine, and the steps at each.
_FACTORS = ((1 << 8, 1), (1 << 4, 1), (4, 1), (2, 1), (3, 2), (5, 4), (9, 8), (17, 16))
_STEPS = 12


def bound_of_summands(summand: Summand, parts: Sequence[BoundedPart]) -> Number:
    """D <= this for every token of these parts: exactly for atoms, else about the best of the bounds `largest`."""
    found = [
        reduce(summand.fn.maximum, [summand.at(point) for point in part.points])
        if isinstance(part, Atoms)
        else least_largest(summand, part)
        for part in parts
    ]
    return reduce(summand.fn.maximum, found)


def least_largest(summand: Summand, part: Rademacher | Box) -> Number:
    """The bound `largest` at about its best slope; any slope gives a bound. The logarithm has one minimum."""
    fn = summand.fn
    slope = fn.ratio(1, 1)
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
