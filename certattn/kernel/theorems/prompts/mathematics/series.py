"""Moments of linear forms under tilts, as power series: E e^{<a + t u + r v, x>} in t and r.

Its coefficient of t^i r^j is E[e^{<a,x>} <u,x>^i <v,x>^j] / (i! j!), so one series holds all moments under the tilt a.
Series in one variable are lists of the coefficients of 1, r, ..., r^q, series in two are tables, row i for t^i; both
are cut off, and what is computed of them is exact arithmetic of polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import natural_power, ratios_0f1
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

Series = list[arb]
Table = list[Series]
_Coordinate = Callable[[arb, arb, int], arb]


def product(left: Sequence[arb], right: Sequence[arb]) -> Series:
    """The product of two series of one length, to that length."""
    return pair_product([left], [right])[0]


def power(series: Sequence[arb], exponent: int) -> Series:
    """series^exponent for an exponent >= 1, by repeated squaring."""
    result: Series | None = None
    square = list(series)
    while True:
        if exponent % 2 == 1:
            result = square if result is None else product(result, square)
        exponent //= 2
        if exponent == 0:
            assert result is not None
            return result
        square = product(square, square)


def logarithm(series: Sequence[arb]) -> Series:
    """The formal logarithm of a series that begins with 1, by f' = g' f."""
    found = [0 * series[0]]
    for n in range(1, len(series)):
        rest = [k * found[k] * series[n - k] for k in range(1, n)]
        found.append(series[n] - sum(rest, 0 * series[0]) / n)
    return found


def linear_exponential(slope: arb, order: int) -> Series:
    """e^{slope t}."""
    found = [(0 * slope).exp()]
    for n in range(1, order + 1):
        found.append(found[-1] * slope / n)
    return found


def pair_product(left: Sequence[Vector], right: Sequence[Vector]) -> Table:
    """The product of two tables of one size, to that size."""
    return [[_coefficient(left, right, i, j) for j in range(len(left[0]))] for i in range(len(left))]


def _coefficient(left: Sequence[Vector], right: Sequence[Vector], i: int, j: int) -> arb:
    backwards = [row[: j + 1][::-1] for row in right[: i + 1][::-1]]
    first, *rest = (dot(row[: j + 1], other) for row, other in zip(left[: i + 1], backwards, strict=True))
    return sum(rest, first)


def mgf_series(law: Law[arb], tilt: Vector, direction: Vector, order: int) -> Series:
    """The coefficients of 1, r, ..., r^order of E e^{<tilt + r direction, x>}."""
    return _series(law, tilt, direction, direction, (0, order))[0]


def pair_series(law: Law[arb], tilt: Vector, u: Vector, v: Vector, order: int) -> Table:
    """The coefficients of t^i r^j, i, j = 0..order, of E e^{<tilt + t u + r v, x>}."""
    return _series(law, tilt, u, v, (order, order))


def _series(law: Law[arb], tilt: Vector, u: Vector, v: Vector, orders: tuple[int, int]) -> Table:
    """The same for i = 0..p and j = 0..q, `orders` = (p, q)."""
    if isinstance(law, Gaussian):
        return _gaussian(law, tilt, u, v, orders)
    if isinstance(law, Rademacher):
        return _independent(_lines(law.sizes, sign_coefficient, tilt, sum(orders)), u, v, orders)
    if isinstance(law, Box):
        return _independent(_lines(law.sizes, uniform_coefficient, tilt, sum(orders)), u, v, orders)
    if isinstance(law, TruncatedGaussian):
        return _independent(_truncated_lines(law, tilt, sum(orders)), u, v, orders)
    if isinstance(law, Radial):
        return _radial(law, tilt, u, v, orders)
    if isinstance(law, Shifted):
        centre = _atoms(Atoms([law.centre], [arb(1)]), tilt, u, v, orders)
        return pair_product(centre, _series(law.law, tilt, u, v, orders))
    if isinstance(law, Atoms):
        return _atoms(law, tilt, u, v, orders)
    if isinstance(law, Mixture):
        parts = [_series(part, tilt, u, v, orders) for part in law.components]
        return [[dot(law.weights, column) for column in zip(*rows, strict=True)] for rows in zip(*parts, strict=True)]
    raise TypeError(f"no moment-generating function of {type(law).__name__}")


def _gaussian(law: Gaussian[arb], tilt: Vector, u: Vector, v: Vector, orders: tuple[int, int]) -> Table:
    """e^Q, Q = Lambda(a) + t mu_u + r mu_v + (t^2 c_uu + 2 t r c_uv + r^2 c_vv)/2, mu the tilted means.

    By df/dr = (dQ/dr) f and df/dt = (dQ/dt) f: the first row, then row after row.
    """
    p, q = orders
    mean = law.tilted_mean(tilt)
    moved = [dot(row, v) for row in law.covariance]
    mu_u, mu_v, c_uv, c_vv = dot(u, mean), dot(v, mean), dot(u, moved), dot(v, moved)
    c_uu = dot(u, [dot(row, u) for row in law.covariance])
    rows = [[law.log_mgf(tilt).exp()]]
    for j in range(1, q + 1):
        value = mu_v * rows[0][j - 1]
        rows[0].append((value + c_vv * rows[0][j - 2] if j > 1 else value) / j)
    for i in range(1, p + 1):
        row = []
        for j in range(q + 1):
            value = mu_u * rows[i - 1][j]
            if i > 1:
                value = value + c_uu * rows[i - 2][j]
            if j > 0:
                value = value + c_uv * rows[i - 1][j - 1]
            row.append(value / i)
        rows.append(row)
    return rows


def _radial(law: Radial[arb], tilt: Vector, u: Vector, v: Vector, orders: tuple[int, int]) -> Table:
    """F(z + Q) = sum_n F^(n)(z) Q^n / n! for F = 0F1(; b; .), Q = R^2 / 4 (|a + t u + r v|^2 - |a|^2)."""
    p, q = orders
    quarter = law.squared_radius / 4
    terms = {
        (1, 0): 2 * dot(tilt, u), (0, 1): 2 * dot(tilt, v),
        (2, 0): dot(u, u), (1, 1): 2 * dot(u, v), (0, 2): dot(v, v),
    }  # fmt: skip
    Q = [[quarter * terms.get((i, j), arb(0)) for j in range(q + 1)] for i in range(p + 1)]
    power = [[arb(int(i == j == 0)) for j in range(q + 1)] for i in range(p + 1)]
    found = [[arb(0)] * (q + 1) for _ in range(p + 1)]
    for n, ratio in enumerate(ratios_0f1(law.shape, law.argument(tilt), p + q)):
        share = ratio / math.factorial(n)
        found = [[x + share * y for x, y in zip(*rows, strict=True)] for rows in zip(found, power, strict=True)]
        power = pair_product(power, Q)
    size = law.log_mgf(tilt).exp()
    return [[size * x for x in row] for row in found]


def _lines(sizes: Vector, of: _Coordinate, tilt: Vector, order: int) -> list[Series]:
    """The coefficients of 1, t, ..., t^n of E e^{(a + t) x} for every coordinate."""
    return [[of(c * a, c, n) for n in range(order + 1)] for c, a in zip(sizes, tilt, strict=True)]


def _truncated_lines(law: TruncatedGaussian[arb], tilt: Vector, order: int) -> list[Series]:
    """c^n / n! times the integrals of the law, over the one of n = 0 without a tilt."""
    found, plain = law.moments(tilt, order), law.moments([0 * a for a in tilt], 0)
    return [
        [natural_power(c, n) * moment / (math.factorial(n) * mass) for n, moment in enumerate(line)]
        for c, line, (mass,) in zip(law.sizes, found, plain, strict=True)
    ]


def _independent(lines: Sequence[Series], u: Vector, v: Vector, orders: tuple[int, int]) -> Table:
    """The product over coordinates: of (t u + r v)^n the coefficient of t^i r^j is C(n, i) u^i v^j."""
    p, q = orders
    factors = []
    for line, x, y in zip(lines, u, v, strict=True):
        left, right = ([natural_power(h, n) for n in range(order + 1)] for h, order in ((x, p), (y, q)))
        factors.append(
            [[math.comb(i + j, i) * left[i] * right[j] * line[i + j] for j in range(q + 1)] for i in range(p + 1)]
        )
    return reduce(pair_product, factors)


def sign_coefficient(x: arb, h: arb, n: int) -> arb:
    """Of t^n in cosh(x + t h): h^n/n! times cosh x for even n, sinh x for odd n."""
    up, down = x.exp(), (-x).exp()
    return natural_power(h, n) * (up + down if n % 2 == 0 else up - down) / (2 * math.factorial(n))


def uniform_coefficient(x: arb, h: arb, n: int) -> arb:
    """Of t^n in sinh(x + t h)/(x + t h): h^n/n! times the average of s^n e^{s x} over s in [-1, 1].

    That average is 1F2((n+1)/2; 1/2, (n+3)/2; x^2/4) / (n+1) for even n, and
    x 1F2((n+2)/2; 3/2, (n+4)/2; x^2/4) / (n+2) for odd n: series of positive terms, no cancellation.
    """
    first, half = (n + 1, 1) if n % 2 == 0 else (n + 2, 3)
    average = (x * x / 4).hypgeom([fmpq(first, 2)], [fmpq(half, 2), fmpq(first + 2, 2)]) / first
    return natural_power(h, n) * (average if n % 2 == 0 else x * average) / math.factorial(n)


def _atoms(law: Atoms[arb], tilt: Vector, u: Vector, v: Vector, orders: tuple[int, int]) -> Table:
    """sum_k w_k e^{<a, y_k>} e^{t <u, y_k>} e^{r <v, y_k>}."""
    p, q = orders
    shares = law.shares(tilt)
    first = [linear_exponential(dot(u, y), p) for y in law.points]
    second = [linear_exponential(dot(v, y), q) for y in law.points]
    return [
        [dot(shares, [x[i] * y[j] for x, y in zip(first, second, strict=True)]) for j in range(q + 1)]
        for i in range(p + 1)
    ]


def weighted_moments(law: Law[arb], tilt: Vector, centre: Vector, k: int, u: Vector, v: Vector, order: int) -> Table:
    """E[w^k <u, x - c>^i <v, x - c>^j] / (i! j!) for w = e^{<a, x> - Lambda(a)}, i, j = 0..order."""
    scale = (-k * law.log_mgf(tilt)).exp()
    left = linear_exponential(-dot(u, centre), order)
    right = linear_exponential(-dot(v, centre), order)
    shift = [[scale * x * y for y in right] for x in left]
    return pair_product(pair_series(law, [k * a for a in tilt], u, v, order), shift)
