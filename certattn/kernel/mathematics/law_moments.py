"""Second, third and fourth moments of a law of tokens; G = V'V is a quadratic form.

    tilted_covariance(law, a) = C(a), the covariance of the law tilted by a
    third_cumulant(law, a, c) = the derivative of C at a in the direction c
    fourth(law, c, G)  = E ((x - c)'G(x - c))^2 under the law itself: E|V(x - c)|^4

Formulas of laws over balls.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from flint import arb

from certattn.kernel.mathematics.functions import (
    langevin,
    langevin_ratio,
    langevin_ratio_slope,
    natural_power,
    ratios_0f1,
)
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
    Vector,
    dot,
)

Form = Sequence[Vector]


def form(G: Form, x: Vector) -> arb:
    """x'G x."""
    return dot(x, apply(G, x))


def apply(G: Form, x: Vector) -> list[arb]:
    """G x."""
    return [dot(row, x) for row in G]


def minus(x: Vector, y: Vector) -> list[arb]:
    return [a - b for a, b in zip(x, y, strict=True)]


def product_trace(G: Form, C: Form) -> arb:
    """tr G C for symmetric G and C: the sum of products of entries."""
    return sum((dot(left, right) for left, right in zip(G, C, strict=True)), arb(0))


def tilted_covariance(law: Law[arb], tilt: Vector) -> list[list[arb]]:
    """C(a), which is the derivative of tau at a."""
    if isinstance(law, Gaussian):
        return [list(row) for row in law.covariance]
    if isinstance(law, Rademacher | Box | TruncatedGaussian):
        variances = _variances(law, tilt)
        return [[x if i == j else x * 0 for j in range(len(variances))] for i, x in enumerate(variances)]
    if isinstance(law, Radial):
        slope, curvature, _ = _radial_slopes(law, tilt)
        return [[curvature * x * y + slope * (i == j) for j, y in enumerate(tilt)] for i, x in enumerate(tilt)]
    if isinstance(law, Shifted):
        return tilted_covariance(law.law, tilt)
    mean = law.tilted_mean(tilt)
    if isinstance(law, Atoms):
        return _weighted(law.shares(tilt), [_square(minus(y, mean)) for y in law.points])
    if isinstance(law, Mixture):
        # Total covariance: within the components, and between them.
        within = [tilted_covariance(part, tilt) for part in law.components]
        between = [_square(minus(part.tilted_mean(tilt), mean)) for part in law.components]
        return _weighted(law.shares(tilt), [_sum(x, y) for x, y in zip(within, between, strict=True)])
    raise TypeError(f"no second moment of {type(law).__name__}")


def _variances(law: Rademacher[arb] | Box[arb] | TruncatedGaussian[arb], tilt: Vector) -> list[arb]:
    """Of the independent coordinates, tilted."""
    if isinstance(law, TruncatedGaussian):
        return [central[2] for _, central in _about_means(law, tilt, 2)]
    pairs = zip(law.sizes, tilt, strict=True)
    if isinstance(law, Box):
        return [c * c * box_variance(c * a) for c, a in pairs]
    return [c * c * (1 - natural_power((c * a).tanh(), 2)) for c, a in pairs]


def third_cumulant(law: Law[arb], tilt: Vector, c: Vector) -> list[list[arb]]:
    """E <c, x - tau(a)> (x - tau(a))(x - tau(a))' under the tilt: the derivative of C at a in the direction c."""
    if isinstance(law, Gaussian):
        return [[entry * 0 for entry in row] for row in law.covariance]
    if isinstance(law, Rademacher | Box | TruncatedGaussian):
        thirds = _third_moments(law, tilt)
        return [[c[i] * x if i == j else x * 0 for j in range(len(thirds))] for i, x in enumerate(thirds)]
    if isinstance(law, Radial):
        return _radial_third(law, tilt, c)
    if isinstance(law, Shifted):
        return third_cumulant(law.law, tilt, c)
    mean = law.tilted_mean(tilt)
    if isinstance(law, Atoms):
        return _weighted(law.shares(tilt), [_cube(minus(y, mean), c) for y in law.points])
    if isinstance(law, Mixture):
        parts = [_third_about(part, tilt, mean, c) for part in law.components]
        return _weighted(law.shares(tilt), parts)
    raise TypeError(f"no third moment of {type(law).__name__}")


def _third_about(law: Law[arb], tilt: Vector, centre: Vector, c: Vector) -> list[list[arb]]:
    """E <c, x - z>(x - z)(x - z)' under the tilt.

    With e = tau(a) - z it is K(c) + C c e' + e c'C + <c, e> (C + e e').
    """
    off = minus(law.tilted_mean(tilt), centre)
    C = tilted_covariance(law, tilt)
    Cc = apply(C, c)
    mixed = [[x * e + f * y for y, e in zip(Cc, off, strict=True)] for x, f in zip(Cc, off, strict=True)]
    even = [[dot(c, off) * entry for entry in row] for row in _sum(C, _square(off))]
    return _sum(third_cumulant(law, tilt, c), _sum(mixed, even))


def _third_moments(law: Rademacher[arb] | Box[arb] | TruncatedGaussian[arb], tilt: Vector) -> list[arb]:
    """Of the independent coordinates, tilted and about their means."""
    if isinstance(law, TruncatedGaussian):
        return [central[3] for _, central in _about_means(law, tilt, 3)]
    pairs = zip(law.sizes, tilt, strict=True)
    if isinstance(law, Box):
        return [natural_power(c, 3) * box_third(c * a) for c, a in pairs]
    return [natural_power(c, 3) * sign_third((c * a).tanh()) for c, a in pairs]


def _about_means(law: TruncatedGaussian[arb], tilt: Vector, top: int) -> list[tuple[arb, list[arb]]]:
    """Of the coordinates, tilted: the mean m, and E (x - m)^n = sum_i C(n, i) (-m)^(n - i) E x^i, n = 0..top."""
    found = []
    for c, (mass, *rest) in zip(law.sizes, law.moments(tilt, top), strict=True):
        raw = [arb(1), *(natural_power(c, n) * moment / mass for n, moment in enumerate(rest, 1))]
        powers = [natural_power(-raw[1], n) for n in range(top + 1)]
        central = [sum((comb(n, i) * powers[n - i] * raw[i] for i in range(n + 1)), arb(0)) for n in range(top + 1)]
        found.append((raw[1], central))
    return found


def sign_third(t: arb) -> arb:
    """-2 t (1 - t^2), the third central moment of a sign of mean t."""
    return -2 * t * (1 - natural_power(t, 2))


def box_third(x: arb) -> arb:
    """2 coth x / sinh^2 x - 2/x^3, the third central moment of [-1, 1] tilted by x: the derivative of `box_variance`.

    With L = coth x - 1/x = x R and L' = 1 - L^2 - 2R it is L'' = -2 L L' - 2 R'.
    """
    return -2 * (langevin(x) * box_variance(x) + langevin_ratio_slope(x))


def _cube(x: Vector, c: Vector) -> list[list[arb]]:
    """<c, x> x x'."""
    return [[dot(c, x) * entry for entry in row] for row in _square(x)]


def _square(x: Vector) -> list[list[arb]]:
    """x x'."""
    return [[a * b for b in x] for a in x]


def _sum(left: Form, right: Form) -> list[list[arb]]:
    return [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]


def _weighted(shares: Vector, forms: Sequence[Form]) -> list[list[arb]]:
    """sum_r pi_r M_r / sum_r pi_r."""
    total = sum(shares)
    return [[dot(shares, entries) / total for entries in zip(*rows, strict=True)] for rows in zip(*forms, strict=True)]


def box_variance(x: arb) -> arb:
    """1/x^2 - 1/sinh^2 x, the variance of [-1, 1] tilted by x: the derivative of coth x - 1/x, 1/3 at 0."""
    return 1 - natural_power(langevin(x), 2) - 2 * langevin_ratio(x)


def fourth(law: Law[arb], centre: Vector, G: Form) -> arb:
    """E ((x - c)'G(x - c))^2."""
    if isinstance(law, Gaussian):
        return _gaussian_fourth(law.covariance, minus(law.mean, centre), G)
    if isinstance(law, Rademacher):
        return _product_fourth([(c**2, 0 * c, c**4) for c in law.sizes], centre, G)
    if isinstance(law, Box):
        return _product_fourth([(c**2 / 3, 0 * c, c**4 / 5) for c in law.sizes], centre, G)
    if isinstance(law, TruncatedGaussian):
        found = _about_means(law, [0 * c for c in law.sizes], 4)
        off = minus(centre, [mean for mean, _ in found])
        return _product_fourth([(m2, m3, m4) for _, (_, _, m2, m3, m4) in found], off, G)
    if isinstance(law, Radial):
        return _radial_fourth(law, centre, G)
    if isinstance(law, Shifted):
        return fourth(law.law, minus(centre, law.centre), G)
    if isinstance(law, Atoms):
        return dot(law.weights, [natural_power(form(G, minus(y, centre)), 2) for y in law.points])
    if isinstance(law, Mixture):
        return dot(law.weights, [fourth(part, centre, G) for part in law.components])
    raise TypeError(f"no fourth moment of {type(law).__name__}")


def _gaussian_fourth(covariance: Form, d: Vector, G: Form) -> arb:
    """(tr G Gamma + d'G d)^2 + 2 tr G Gamma G Gamma + 4 d'G Gamma G d for x - c ~ N(d, Gamma)."""
    GC = [[dot(row, column) for column in zip(*covariance, strict=True)] for row in G]
    CG = list(zip(*GC, strict=True))
    size = product_trace(G, covariance) + form(G, d)
    return natural_power(size, 2) + 2 * product_trace(GC, CG) + 4 * form(covariance, apply(G, d))


def _radial_slopes(law: Radial[arb], tilt: Vector) -> tuple[arb, arb, arb]:
    """The derivatives of log 0F1(; b; z) of the orders 1, 2, 3 times h, h^2, h^3, where dz/da = h a and h = R^2 / 2."""
    _, first, second, third = ratios_0f1(law.shape, law.argument(tilt), 3)
    h = law.squared_radius / 2
    bend = second - natural_power(first, 2)
    return h * first, h * h * bend, natural_power(h, 3) * (third - first * second - 2 * first * bend)


def _radial_third(law: Radial[arb], tilt: Vector, c: Vector) -> list[list[arb]]:
    """f2 (c a' + a c' + <a, c> I) + f3 <a, c> a a' with these derivatives."""
    _, bend, third = _radial_slopes(law, tilt)
    along = dot(tilt, c)
    mixed = [[s * d + g * t for t, d in zip(tilt, c, strict=True)] for s, g in zip(tilt, c, strict=True)]
    rest = [[third * along * entry for entry in row] for row in _square(tilt)]
    return _sum([[bend * (x + along * (i == j)) for j, x in enumerate(row)] for i, row in enumerate(mixed)], rest)


def _radial_fourth(law: Radial[arb], c: Vector, G: Form) -> arb:
    """E x_i x_j = m_2 [i = j] and E x_i x_j x_k x_l = m_4 times the sum over the three pairings; odd moments vanish.

    m_2 = R^2 / (2b) and m_4 = R^4 / (4 b (b + 1)).
    """
    b, size = law.shape, law.squared_radius
    m2, m4 = size / (2 * b), natural_power(size, 2) / (4 * b * (b + 1))
    trace, constant = sum((row[j] for j, row in enumerate(G)), arb(0)), form(G, c)
    pure = m4 * (natural_power(trace, 2) + 2 * product_trace(G, G))
    linear = m2 * sum((natural_power(entry, 2) for entry in apply(G, c)), arb(0))
    return pure + natural_power(constant, 2) + 4 * linear + 2 * constant * m2 * trace


def _product_fourth(moments: Sequence[tuple[arb, arb, arb]], c: Vector, G: Form) -> arb:
    """Independent coordinates of mean 0 and moments (m_2, m_3, m_4).

    E(x'G x)^2 = (sum G_jj m_2j)^2 + 2 sum G_ij^2 m_2i m_2j + sum G_jj^2 (m_4j - 3 m_2j^2), and
    E(x'Gx - 2c'Gx + c'Gc)^2 = E(x'Gx)^2 + 4 E(c'Gx)^2 + (c'Gc)^2 + 2 c'Gc E x'Gx - 4 sum G_jj (Gc)_j m_3j.
    """
    second = [m2 for m2, _, _ in moments]
    trace = sum((row[j] * m2 for j, (row, m2) in enumerate(zip(G, second, strict=True))), arb(0))
    pure = natural_power(trace, 2)
    for i, row in enumerate(G):
        pure += natural_power(row[i], 2) * (moments[i][2] - 3 * natural_power(second[i], 2))
        pure += 2 * sum(natural_power(row[j], 2) * second[i] * second[j] for j in range(len(row)))
    linear = sum(natural_power(entry, 2) * m2 for entry, m2 in zip(apply(G, c), second, strict=True))
    skewed = sum(row[j] * x * m3 for j, (row, x, (_, m3, _)) in enumerate(zip(G, apply(G, c), moments, strict=True)))
    constant = form(G, c)
    return pure + 4 * linear + natural_power(constant, 2) + 2 * constant * trace - 4 * skewed
