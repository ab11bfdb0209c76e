"""Laws of tokens through their log-moment-generating function.

    Lambda(a) = log E exp <a, x>        tau(a) = grad Lambda(a), the tilted mean

Infinite-prompt attention of a law mu is T[mu](z) = V tau(U z), U = K'Q (Boursier and Boyer 2026,
section 2). A certificate states a law by exact numbers; the formulas are those of its balls, `law.map(arb)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import N, langevin, log_0f1, log_cosh, log_sinhc, natural_power, ratios_0f1

Vector = Sequence[arb]
Lift = Callable[[fmpq], arb]


def dot(left: Vector, right: Vector) -> arb:
    """<left, right> of equally long, nonempty vectors."""
    first, *rest = (x * y for x, y in zip(left, right, strict=True))
    return sum(rest, first)


@dataclass(frozen=True)
class Gaussian(Generic[N]):
    """N(mean, covariance), the covariance positive semidefinite and possibly singular."""

    mean: Sequence[N]
    covariance: Sequence[Sequence[N]]

    @property
    def dimension(self) -> int:
        return len(self.mean)

    def log_mgf(self: Gaussian[arb], tilt: Vector) -> arb:
        """<a, m> + a'Gamma a / 2."""
        return dot(tilt, self.mean) + dot(tilt, [dot(row, tilt) for row in self.covariance]) / 2

    def tilted_mean(self: Gaussian[arb], tilt: Vector) -> list[arb]:
        """m + Gamma a."""
        return [m + dot(row, tilt) for m, row in zip(self.mean, self.covariance, strict=True)]

    def map(self: Gaussian[fmpq], lift: Lift) -> Gaussian[arb]:
        return Gaussian([lift(m) for m in self.mean], [[lift(c) for c in row] for row in self.covariance])


@dataclass(frozen=True)
class Rademacher(Generic[N]):
    """Independent signs: x_j is +c_j or -c_j, each with probability one half."""

    sizes: Sequence[N]

    @property
    def dimension(self) -> int:
        return len(self.sizes)

    def log_mgf(self: Rademacher[arb], tilt: Vector) -> arb:
        """sum log cosh(c_j a_j)."""
        return sum((log_cosh(c * a) for c, a in zip(self.sizes, tilt, strict=True)), arb(0))

    def tilted_mean(self: Rademacher[arb], tilt: Vector) -> list[arb]:
        """c_j tanh(c_j a_j)."""
        return [c * (c * a).tanh() for c, a in zip(self.sizes, tilt, strict=True)]

    def map(self: Rademacher[fmpq], lift: Lift) -> Rademacher[arb]:
        return Rademacher([lift(c) for c in self.sizes])


@dataclass(frozen=True)
class Box(Generic[N]):
    """Uniform on the box of the half-widths c_j: x_j uniform on [-c_j, c_j]."""

    sizes: Sequence[N]

    @property
    def dimension(self) -> int:
        return len(self.sizes)

    def log_mgf(self: Box[arb], tilt: Vector) -> arb:
        """sum log( sinh(c_j a_j) / (c_j a_j) )."""
        return sum((log_sinhc(c * a) for c, a in zip(self.sizes, tilt, strict=True)), arb(0))

    def tilted_mean(self: Box[arb], tilt: Vector) -> list[arb]:
        """c_j (coth(c_j a_j) - 1/(c_j a_j))."""
        return [c * langevin(c * a) for c, a in zip(self.sizes, tilt, strict=True)]

    def map(self: Box[fmpq], lift: Lift) -> Box[arb]:
        return Box([lift(c) for c in self.sizes])


@dataclass(frozen=True)
class Radial(Generic[N]):
    """Uniform on the sphere of a radius R in R^d, or with `solid` on the ball.

    The ball has the law of d coordinates of the sphere in R^(d + 2). With b = d/2 for the sphere, d/2 + 1 for the ball,
    E e^{<a, x>} = 0F1(; b; z), z = R^2 |a|^2 / 4. The radius may be the root of a rational: R^2 is one.
    """

    squared_radius: N
    dimension: int
    solid: bool

    @property
    def shape(self) -> fmpq:
        """b."""
        return fmpq(self.dimension + 2 * self.solid, 2)

    def argument(self: Radial[arb], tilt: Vector) -> arb:
        """z."""
        return self.squared_radius * sum((natural_power(a, 2) for a in tilt), arb(0)) / 4

    def log_mgf(self: Radial[arb], tilt: Vector) -> arb:
        """log 0F1(; b; z)."""
        return log_0f1(self.shape, self.argument(tilt))

    def tilted_mean(self: Radial[arb], tilt: Vector) -> list[arb]:
        """a R^2 / 2 times the derivative of log 0F1(; b; z)."""
        _, slope = ratios_0f1(self.shape, self.argument(tilt), 1)
        return [self.squared_radius / 2 * slope * a for a in tilt]

    def map(self: Radial[fmpq], lift: Lift) -> Radial[arb]:
        return Radial(lift(self.squared_radius), self.dimension, self.solid)


@dataclass(frozen=True)
class TruncatedGaussian(Generic[N]):
    """x_j = c_j y_j, independent, of densities in proportion to e^{-k_j y^2/2 + l_j y} on [-1, 1].

    About a centre they are those of `truncated_gaussian`. A tilt a adds c a to l.
    """

    sizes: Sequence[N]
    curvatures: Sequence[N]
    slopes: Sequence[N]

    @property
    def dimension(self) -> int:
        return len(self.sizes)

    def moments(self: TruncatedGaussian[arb], tilt: Vector, top: int) -> list[list[arb]]:
        """For every coordinate the integrals of y^n e^{-k y^2/2 + (l + c a) y} over [-1, 1], n = 0..top."""
        # Imported here: the other laws are used without it.
        from certattn.kernel.mathematics.truncated_normals import truncated_normal_moments

        coordinates = zip(self.sizes, self.curvatures, self.slopes, tilt, strict=True)
        return [truncated_normal_moments(k, slope + c * a, top) for c, k, slope, a in coordinates]

    def log_mgf(self: TruncatedGaussian[arb], tilt: Vector) -> arb:
        """sum log of these integrals for n = 0, over those without a tilt."""
        pairs = zip(self.moments(tilt, 0), self.moments([0 * a for a in tilt], 0), strict=True)
        return sum(((tilted / plain).log() for (tilted,), (plain,) in pairs), arb(0))

    def tilted_mean(self: TruncatedGaussian[arb], tilt: Vector) -> list[arb]:
        """c_j E y under the tilt."""
        return [c * first / mass for c, (mass, first) in zip(self.sizes, self.moments(tilt, 1), strict=True)]

    def map(self: TruncatedGaussian[fmpq], lift: Lift) -> TruncatedGaussian[arb]:
        sizes, curvatures, slopes = ([lift(x) for x in row] for row in (self.sizes, self.curvatures, self.slopes))
        return TruncatedGaussian(sizes, curvatures, slopes)


@dataclass(frozen=True)
class Shifted(Generic[N]):
    """The law of m + x for x of one of these laws, m the centre."""

    law: Rademacher[N] | Box[N] | Radial[N] | TruncatedGaussian[N]
    centre: Sequence[N]

    @property
    def dimension(self) -> int:
        return self.law.dimension

    def log_mgf(self: Shifted[arb], tilt: Vector) -> arb:
        """<a, m> + Lambda(a)."""
        return dot(tilt, self.centre) + self.law.log_mgf(tilt)

    def tilted_mean(self: Shifted[arb], tilt: Vector) -> list[arb]:
        """m + tau(a)."""
        return [m + entry for m, entry in zip(self.centre, self.law.tilted_mean(tilt), strict=True)]

    def map(self: Shifted[fmpq], lift: Lift) -> Shifted[arb]:
        return Shifted(self.law.map(lift), [lift(m) for m in self.centre])


def truncated_gaussian(
    means: Sequence[N], variances: Sequence[N], lower: Sequence[N], upper: Sequence[N]
) -> Shifted[N]:
    """N(m, s^2) on [z - c, z + c], coordinate by coordinate: about z with k = (c/s)^2 and l = c (m - z) / s^2."""
    ends = list(zip(lower, upper, strict=True))
    middles, sizes = [(high + low) / 2 for low, high in ends], [(high - low) / 2 for low, high in ends]
    curvatures = [c * c / v for c, v in zip(sizes, variances, strict=True)]
    slopes = [c * (m - z) / v for c, v, m, z in zip(sizes, variances, means, middles, strict=True)]
    return Shifted(TruncatedGaussian(sizes, curvatures, slopes), middles)


@dataclass(frozen=True)
class Atoms(Generic[N]):
    """The point y_k with probability w_k."""

    points: Sequence[Sequence[N]]
    weights: Sequence[N]

    @property
    def dimension(self) -> int:
        return len(self.points[0])

    def shares(self: Atoms[arb], tilt: Vector) -> list[arb]:
        """w_k e^{<a, y_k>}: the weights under the tilt, up to a factor."""
        return [w * dot(tilt, y).exp() for w, y in zip(self.weights, self.points, strict=True)]

    def log_mgf(self: Atoms[arb], tilt: Vector) -> arb:
        """log sum w_k e^{<a, y_k>}."""
        return sum(self.shares(tilt), arb(0)).log()

    def tilted_mean(self: Atoms[arb], tilt: Vector) -> list[arb]:
        """sum w_k e^{<a, y_k>} y_k / sum w_k e^{<a, y_k>}."""
        return _average(self.shares(tilt), self.points)

    def map(self: Atoms[fmpq], lift: Lift) -> Atoms[arb]:
        return Atoms([[lift(y) for y in point] for point in self.points], [lift(w) for w in self.weights])


@dataclass(frozen=True)
class Mixture(Generic[N]):
    """A token is drawn from component r with probability pi_r."""

    components: Sequence[Law[N]]
    weights: Sequence[N]

    @property
    def dimension(self) -> int:
        return self.components[0].dimension

    def log_mgf(self: Mixture[arb], tilt: Vector) -> arb:
        """log sum pi_r e^{Lambda_r(a)}."""
        parts = [law.log_mgf(tilt) for law in self.components]
        return sum((w * part.exp() for w, part in zip(self.weights, parts, strict=True)), arb(0)).log()

    def tilted_mean(self: Mixture[arb], tilt: Vector) -> list[arb]:
        """sum pi_r e^{Lambda_r(a)} tau_r(a) / sum pi_r e^{Lambda_r(a)}."""
        return _average(self.shares(tilt), [law.tilted_mean(tilt) for law in self.components])

    def shares(self: Mixture[arb], tilt: Vector) -> list[arb]:
        """pi_r e^{Lambda_r(a) - Lambda_1(a)}: the weights under the tilt, up to a factor.

        Divided by e^{Lambda_1(a)}, the exponents stay small where components agree.
        """
        parts = [law.log_mgf(tilt) for law in self.components]
        return [w * (part - parts[0]).exp() for w, part in zip(self.weights, parts, strict=True)]

    def map(self: Mixture[fmpq], lift: Lift) -> Mixture[arb]:
        return Mixture([law.map(lift) for law in self.components], [lift(w) for w in self.weights])


# A probability law on R^d.
Law = Gaussian[N] | Rademacher[N] | Box[N] | Radial[N] | TruncatedGaussian[N] | Shifted[N] | Atoms[N] | Mixture[N]


def leaves(law: Law[N], weight: N) -> Iterator[tuple[N, Law[N]]]:
    """The laws that a law is mixed from, none a mixture itself, with their probabilities."""
    if isinstance(law, Mixture):
        for share, component in zip(law.weights, law.components, strict=True):
            yield from leaves(component, share * weight)
    else:
        yield weight, law


def _average(shares: Vector, points: Sequence[Vector]) -> list[arb]:
    total = sum(shares, arb(0))
    return [dot(shares, column) / total for column in zip(*points, strict=True)]
