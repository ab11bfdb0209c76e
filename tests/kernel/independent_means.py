"""What enclosures are compared with: the definitions, summed and integrated by mpmath far beyond the balls.

Nothing here comes from the kernel but the description of a law. A truth is a number with an error of
its own; an enclosure is right if it meets the interval of that error, which is far below its radius.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from flint import arb, ctx, fmpq
from mpmath import mp, mpf

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
)

# Bits of the sums below. The Langevin function at 1e-300 cancels 2,000 bits; 400 good ones must be left.
BITS = 4000
TRUTH_BITS = 400


def real(value: fmpq) -> mpf:
    """A rational at mpmath's precision."""
    return mpf(int(value.p)) / mpf(int(value.q))


def reals(values: Sequence[fmpq]) -> list[mpf]:
    return [real(value) for value in values]


def contains(enclosure: arb, truth: mpf, good_bits: int = TRUTH_BITS) -> bool:
    """Whether an enclosure meets truth * (1 +- 2^-good_bits); a truth of 0 must be inside exactly.

    A NaN says nothing, so it is not wrong: `is_sharp` is what must fail of it.
    """
    if enclosure.is_finite() is not True:
        return True
    before = ctx.prec
    ctx.prec = good_bits + 100
    try:
        sign, mantissa, exponent, _ = truth._mpf_
        middle = arb(((-1) ** sign * int(mantissa), int(exponent)))
        return bool((middle * arb(1, arb((1, -good_bits)))).overlaps(enclosure))
    finally:
        ctx.prec = before


def is_sharp(enclosure: arb, bits: int) -> bool:
    """Whether an enclosure says something: `bits` relative bits are right, or it is exact."""
    return bool(enclosure.is_finite() and (enclosure.is_exact() or enclosure.rel_accuracy_bits() >= bits))


def moments(law: Law, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
    """E e^{<a,x>} and E x e^{<a,x>} of a law with rational parameters, from the definition."""
    if isinstance(law, Gaussian):
        return _gaussian(law, tilt)
    if isinstance(law, Rademacher):
        sizes = reals(law.sizes)
        corners = [[s * c for s, c in zip(signs, sizes, strict=True)] for signs in product((1, -1), repeat=len(sizes))]
        return _sum([mpf(1) / len(corners)] * len(corners), corners, tilt)
    if isinstance(law, Box):
        return _box(reals(law.sizes), tilt)
    if isinstance(law, Radial):
        return _radial(law, tilt)
    if isinstance(law, TruncatedGaussian):
        return _truncated(law, tilt)
    if isinstance(law, Shifted):
        centre, (mass, first) = reals(law.centre), moments(law.law, tilt)
        size = mp.exp(mp.fdot(centre, tilt))
        return size * mass, [size * (f + m * mass) for f, m in zip(first, centre, strict=True)]
    if isinstance(law, Atoms):
        return _sum(reals(law.weights), [reals(point) for point in law.points], tilt)
    assert isinstance(law, Mixture)
    mass, first = mpf(0), [mpf(0)] * len(tilt)
    for weight, part in zip(reals(law.weights), law.components, strict=True):
        m, f = moments(part, tilt)
        mass += weight * m
        first = [old + weight * new for old, new in zip(first, f, strict=True)]
    return mass, first


def _radial(law: Radial, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
    """By mpmath's Bessel functions; sums over points of circles and disks are in the tests of series."""
    square, b = reals([law.squared_radius])[0], mpf(law.dimension) / 2 + law.solid
    z = square * mp.fdot(tilt, tilt) / 4
    slope = mp.hyp0f1(b + 1, z) / b * square / 2
    return mp.hyp0f1(b, z), [slope * a for a in tilt]


def _truncated(law: TruncatedGaussian, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
    """By error functions, far out by those that do not cancel there; `tests` compare them with quadrature."""
    masses, means = [], []
    for c, k, slope, a in zip(reals(law.sizes), reals(law.curvatures), reals(law.slopes), tilt, strict=True):
        mass, first = truncated_integrals(k, slope + c * a)
        masses.append(mass / truncated_integrals(k, slope)[0])
        means.append(c * first / mass)
    mass = mp.fprod(masses)
    return mass, [mass * mean for mean in means]


def truncated_integrals(k: mpf, slope: mpf) -> tuple[mpf, mpf]:
    """Over [-1, 1] of e^{-k y^2/2 + l y}, and of y times that: l times the first less what is at the ends, over k."""
    if slope < 0:
        mass, first = truncated_integrals(k, -slope)
        return mass, -first
    with mp.extraprec(64 + 8 * int(mp.log(2 + abs(slope) / k + 1 / k, 2))):
        root = mp.sqrt(2 * k)
        low, high = (slope - k) / root, (slope + k) / root
        # Of erfc of both signs one is near 2: then their difference is that of two small numbers from it.
        share = mp.erfc(low) - mp.erfc(high) if low > 0 else 2 - mp.erfc(-low) - mp.erfc(high)
        mass = mp.exp(slope**2 / (2 * k)) * mp.sqrt(mp.pi / (2 * k)) * share
        return mass, (slope * mass - mp.exp(slope - k / 2) + mp.exp(-slope - k / 2)) / k


def tilted_mean(law: Law, tilt: Sequence[mpf]) -> list[mpf]:
    mass, first = moments(law, tilt)
    return [entry / mass for entry in first]


def log_mgf(law: Law, tilt: Sequence[mpf]) -> mpf:
    return mp.log(moments(law, tilt)[0])


def inner(left: Sequence[mpf], right: Sequence[mpf]) -> mpf:
    return mp.fsum(x * y for x, y in zip(left, right, strict=True))


def _sum(weights: list[mpf], points: list[list[mpf]], tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
    shares = [w * mp.exp(inner(tilt, point)) for w, point in zip(weights, points, strict=True)]
    return mp.fsum(shares), [mp.fsum(s * x for s, x in zip(shares, c, strict=True)) for c in zip(*points, strict=True)]


def _gaussian(law: Gaussian, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
    """Gaussian moments by regression of x_j on <a,x>; `tests` compare the one-dimensional case with quadrature.

    y = <a,x> is N(k, v); E e^y = e^{k + v/2} and E y e^y = (k + v) e^{k + v/2};
    x_j = m_j + (c_j / v) (y - k) + noise that does not depend on y.
    """
    mean, rows = reals(law.mean), [reals(row) for row in law.covariance]
    shared = [inner(row, tilt) for row in rows]
    k, v = inner(mean, tilt), inner(shared, tilt)
    mass = mp.exp(k + v / 2)
    slopes = [c / v if v != 0 else mpf(0) for c in shared]
    return mass, [m * mass + slope * v * mass for m, slope in zip(mean, slopes, strict=True)]


def _box(sizes: list[mpf], tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
    """Coordinate by coordinate: the integrals of e^{ax} and x e^{ax} over [-c, c], divided by 2c."""
    masses, means = [], []
    for c, a in zip(sizes, tilt, strict=True):
        if c == 0 or a == 0:
            masses.append(mpf(1))
            means.append(mpf(0))
            continue
        up, down = mp.exp(c * a), mp.exp(-c * a)
        zeroth = (up - down) / a
        first = c * (up + down) / a - (up - down) / a**2  # by parts
        masses.append(zeroth / (2 * c))
        means.append(first / zeroth)
    mass = mp.fprod(masses)
    return mass, [mass * mean for mean in means]
