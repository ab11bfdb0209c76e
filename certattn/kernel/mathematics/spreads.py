"""How far tokens of a law vary at most, whatever the tilt: a matrix Gamma that bounds the covariance at every tilt.

With Gamma = A A' and y = A^+ (x - E x), every tilted covariance of y is at most I. The page of `output-tail` proves it
for each law. Who averages over queries also needs how large y is at most, and how small log E e^<alpha,y> is at least.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import log_0f1
from certattn.kernel.mathematics.laws import (
    Atoms,
    Box,
    Gaussian,
    Law,
    Mixture,
    Rademacher,
    Radial,
    Shifted,
    TruncatedGaussian,
    leaves,
)
from certattn.kernel.methods import method

_ROOT_BITS = 64


@dataclass(frozen=True)
class Spread:
    """Gamma; the square of a bound of |y|, none for Gaussian tokens; and b, if the bound below has one."""

    covariance: ExactMatrix
    squared_reach: Callable[[], arb] | None
    shape: fmpq | None = None

    def least_log_mgf(self, size: arb) -> arb:
        """Of log E e^<alpha,y>: 0 by Jensen's inequality, as y has the mean 0, or log 0F1(; b; b |alpha|^2/2)."""
        if self.squared_reach is None:
            return size**2 / 2
        return log_0f1(self.shape, self.shape * size**2 / 2) if self.shape is not None else arb(0)


@method
def spread_of(law: Law[fmpq]) -> Spread | None:
    """None for mixtures with Gaussian parts."""
    if isinstance(law, Gaussian):
        return Spread(ExactMatrix.rational(law.covariance), None)
    if isinstance(law, Shifted):
        return spread_of(law.law)
    d = law.dimension
    if isinstance(law, Rademacher):
        return Spread(_diagonal([c**2 for c in law.sizes]), lambda: arb(d), fmpq(1, 2))
    if isinstance(law, Box):
        return Spread(_diagonal([c**2 / 3 for c in law.sizes]), lambda: arb(3 * d), fmpq(3, 2))
    if isinstance(law, Radial):
        variance = law.squared_radius / (2 * law.shape)
        return Spread(ExactMatrix.identity(d).scaled(variance), lambda: arb(2 * law.shape), law.shape)
    if isinstance(law, TruncatedGaussian):
        variances = [_variance(c, k) for c, k in zip(law.sizes, law.curvatures, strict=True)]
        return Spread(_diagonal(variances), lambda: _reach(law, variances))
    weights, parts = zip(*leaves(law, fmpq(1)), strict=True)
    balls = [_enclosing(part) for part in parts]
    if None in balls:
        return None
    centred = not any(isinstance(_about_origin(part), TruncatedGaussian) for part in parts)
    return _within_ball(weights, [ball for ball in balls if ball is not None], centred)


def largest_eigenvalue(covariance: arb_mat) -> arb:
    """At least its largest eigenvalue: the root of the order 8 of the Frobenius norm of its power of that order."""
    for _ in range(3):
        covariance = covariance * covariance
    return sum((entry * entry for entry in covariance.entries()), arb(0)).upper().root(16)


def _diagonal(entries: list[fmpq]) -> ExactMatrix:
    size = len(entries)
    return ExactMatrix.rational([[entries[i] if i == j else fmpq(0) for j in range(size)] for i in range(size)])


def _variance(size: fmpq, curvature: fmpq) -> fmpq:
    """c^2 min(1/k, 1/3): of a Gaussian that is cut off, and of a box."""
    return size**2 / max(curvature, fmpq(3))


def _reach(law: TruncatedGaussian[fmpq], variances: list[fmpq]) -> arb:
    """The sum of (c_j + |E x_j|)^2 / Gamma_jj, x about the middle of the box."""
    means = law.map(arb).tilted_mean([arb(0)] * law.dimension)
    terms = zip(law.sizes, means, variances, strict=True)
    return sum(((arb(c) + abs(mean)) ** 2 / arb(variance) for c, mean, variance in terms), arb(0))


Ball = tuple[list[fmpq], fmpq]


def _about_origin(law: Law[fmpq]) -> Law[fmpq]:
    return law.law if isinstance(law, Shifted) else law


def _enclosing(law: Law[fmpq]) -> Ball | None:
    """A centre and a squared radius: all tokens are within."""
    if isinstance(law, Gaussian | Mixture):
        return None
    if isinstance(law, Shifted):
        within = _enclosing(law.law)
        return None if within is None else ([a + b for a, b in zip(law.centre, within[0], strict=True)], within[1])
    if isinstance(law, Atoms):
        centre = _mean(law.weights, law.points)
        return centre, max(_squared_distance(point, centre) for point in law.points)
    squared = law.squared_radius if isinstance(law, Radial) else sum((c**2 for c in law.sizes), fmpq(0))
    return [fmpq(0)] * law.dimension, squared


def _within_ball(weights: Sequence[fmpq], parts: list[Ball], centred: bool) -> Spread:
    """Gamma = r^2 I for a ball of radius r that holds the tokens, and y <= 1 from its centre, if that is their mean.

    The mean is in the ball: from it, y <= 2. The centre is the mean of those of the parts, if they are `centred` there.
    """
    centre = _mean(weights, [at for at, _ in parts])
    squared = max(_joined(_squared_distance(at, centre), radius) for at, radius in parts)
    return Spread(ExactMatrix.identity(len(centre)).scaled(squared), lambda: arb(1 if centred else 4))


def _mean(weights: Sequence[fmpq], points: Sequence[Sequence[fmpq]]) -> list[fmpq]:
    return [sum((w * x for w, x in zip(weights, column, strict=True)), fmpq(0)) for column in zip(*points, strict=True)]


def _joined(left: fmpq, right: fmpq) -> fmpq:
    """At least (sqrt(left) + sqrt(right))^2, itself where one of them is 0."""
    product = left * right
    if product == 0:
        return left + right
    root = (product.p * product.q << 2 * _ROOT_BITS).isqrt() + 1
    return left + right + 2 * fmpq(root, product.q << _ROOT_BITS)


def _squared_distance(left: Sequence[fmpq], right: Sequence[fmpq]) -> fmpq:
    return sum(((a - b) ** 2 for a, b in zip(left, right, strict=True)), fmpq(0))
