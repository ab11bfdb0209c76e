"""Tail bounds of the entries of a softmax-weighted covariance, through moments of one token.

With weights w = exp(<a, x> - Lambda(a)), E w = 1, deviations y = x - tau from the tilted mean, the tilted covariance
C, and Z = sum w_i / L, S = sum w_i (y_i y_i' - C) / L over a prompt, for directions u and v of tokens

    { <u, S v> / Z > eps } = { sum_i Y_i > 0 },   Y_i = w_i (<u, y_i> <v, y_i> - <u, C v> - eps),   E Y = -eps.

So the rules of `weighted_sums` apply to this Y as well. Generic in the number type.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import factorial

from certattn.kernel.mathematics.functions import Functions, Number
from certattn.kernel.mathematics.laws import Atoms, Box, Law, Rademacher, Vector, dot
from certattn.kernel.theorems.prompts.mathematics.pair_series import weighted_moments
from certattn.kernel.theorems.prompts.mathematics.power_series import linear_exponential, product
from certattn.kernel.theorems.prompts.mathematics.supports import support_function
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import Summand


@dataclass(frozen=True)
class ProductMoments:
    """E w^k (<u, y> <v, y>)^j for j <= k, computed once for every k."""

    law: Law
    tilt: Vector
    u: Vector
    v: Vector
    fn: Functions
    _known: dict[int, list[Number]] = field(default_factory=dict)

    def powers(self, k: int) -> list[Number]:
        """The means for j = 0..k."""
        if k not in self._known:
            centre = self.law.tilted_mean(self.tilt, self.fn)
            table = weighted_moments(self.law, self.tilt, centre, k, self.u, self.v, k, self.fn)
            self._known[k] = [factorial(j) ** 2 * table[j][j] for j in range(k + 1)]
        return self._known[k]

    @property
    def covariance(self) -> Number:
        """<u, C v> = E w <u, y> <v, y>."""
        return self.powers(1)[1]


@dataclass(frozen=True)
class ProductSummand(Summand):
    """Y for <u, y> <v, y> where `sign` is 1, and for its negative where `sign` is -1."""

    moments: ProductMoments
    sign: int

    @property
    def covariance(self) -> Number:
        """<u, C v>, with the sign."""
        return self.sign * self.moments.covariance

    def power_mean(self, k: int) -> Number:
        """E Y^k / k!: the coefficient of t^k in the product of two series."""
        powers = [self.sign**j * value / factorial(j) for j, value in enumerate(self.moments.powers(k))]
        return product(powers, linear_exponential(-(self.covariance + self.eps), k, self.fn))[k]

    def at(self, token: Vector) -> Number:
        """D for the token x."""
        weight = self.fn.exp(dot(self.tilt, token) - self.log_mgf)
        y = [x - c for x, c in zip(token, self.centre, strict=True)]
        output = self.sign * dot(self.moments.u, y) * dot(self.moments.v, y)
        return weight * (output - self.covariance - self.eps) + self.eps

    def largest(self, part: Rademacher | Box, slope: Number) -> Number:
        """A bound of D = Y + eps on signs or a box, for any slope > 0.

        With c = u + v (u - v for the sign -1) the product is at most <c, y>^2 / 4, and x^2 <= 4 e^{slope |x| - 2} /
        slope^2; what is subtracted from it, where it is negative, has at most the largest weight.
        """
        fn = self.fn
        joint = [x + self.sign * y for x, y in zip(self.moments.u, self.moments.v, strict=True)]
        centre = dot(joint, self.centre)
        up, down = (fn.exp(self._reach(part, [s * slope * x for x in joint]) - s * slope * centre - 2) for s in (1, -1))
        heaviest = fn.exp(self._reach(part, [0 * x for x in joint]))
        rest = fn.maximum(-(self.covariance + self.eps), 0 * self.eps) * heaviest
        return fn.maximum(up, down) / (slope * slope) + rest + self.eps

    @cached_property
    def centre(self) -> list[Number]:
        """tau(a)."""
        return self.law.tilted_mean(self.tilt, self.fn)

    def _reach(self, part: Rademacher | Box, shift: Vector) -> Number:
        """max <a + shift, x> - Lambda(a) over the part."""
        return support_function(part, [a + s for a, s in zip(self.tilt, shift, strict=True)], self.fn) - self.log_mgf


def product_summand(moments: ProductMoments, sign: int, eps: Number) -> ProductSummand:
    return ProductSummand(moments.law, moments.tilt, moments.u, eps, moments.fn, moments, sign)


def atoms_exponential(summand: ProductSummand, slope: Number) -> Number:
    """E e^{slope Y} of atoms, a finite sum."""
    law, fn = summand.law, summand.fn
    if not isinstance(law, Atoms):
        raise TypeError(f"{type(law).__name__} has no atoms")
    terms = [
        weight * fn.exp(slope * (summand.at(point) - summand.eps))
        for weight, point in zip(law.weights, law.points, strict=True)
    ]
    first, *rest = terms
    return sum(rest, first)
