"""Joint moments of two linear forms under tilts: E e^{<a + t u + r v, x>} as a power series in t and r.

Its coefficient of t^i r^j is E[e^{<a,x>} <u,x>^i <v,x>^j] / (i! j!). Series are tables, row i for t^i, cut off
at one order in t and in r. Each formula is generic in its number type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from certattn.kernel.mathematics.functions import Functions, Number, natural_power
from certattn.kernel.mathematics.laws import Atoms, Box, Gaussian, Law, Mixture, Rademacher, Vector, dot
from certattn.kernel.theorems.prompts.mathematics.mgf_series import sign_coefficient, uniform_coefficient
from certattn.kernel.theorems.prompts.mathematics.power_series import linear_exponential

Table = list[list[Number]]
_Coordinate = Callable[[Number, Number, int, Functions], Number]


def pair_product(left: Sequence[Vector], right: Sequence[Vector]) -> Table:
    """The product of two series of one order, to that order."""
    order = len(left)
    return [[_coefficient(left, right, i, j) for j in range(order)] for i in range(order)]


def _coefficient(left: Sequence[Vector], right: Sequence[Vector], i: int, j: int) -> Number:
    backwards = [row[: j + 1][::-1] for row in right[: i + 1][::-1]]
    first, *rest = (dot(row[: j + 1], other) for row, other in zip(left[: i + 1], backwards, strict=True))
    return sum(rest, first)


def pair_series(law: Law, tilt: Vector, u: Vector, v: Vector, order: int, fn: Functions) -> Table:
    """The coefficients of t^i r^j, i, j = 0..order, of E e^{<tilt + t u + r v, x>}."""
    if isinstance(law, Gaussian):
        return _gaussian(law, tilt, u, v, order, fn)
    if isinstance(law, Rademacher):
        return _independent(law.sizes, sign_coefficient, tilt, u, v, order, fn)
    if isinstance(law, Box):
        return _independent(law.sizes, uniform_coefficient, tilt, u, v, order, fn)
    if isinstance(law, Atoms):
        return _atoms(law, tilt, u, v, order, fn)
    if isinstance(law, Mixture):
        parts = [pair_series(part, tilt, u, v, order, fn) for part in law.components]
        return [[dot(law.weights, [part[i][j] for part in parts]) for j in range(order + 1)] for i in range(order + 1)]
    raise TypeError(f"no moment-generating function of {type(law).__name__}")


def _gaussian(law: Gaussian, tilt: Vector, u: Vector, v: Vector, order: int, fn: Functions) -> Table:
    """e^Q, Q = Lambda(a) + t mu_u + r mu_v + (t^2 c_uu + 2 t r c_uv + r^2 c_vv)/2, mu the tilted means.

    By df/dr = (dQ/dr) f and df/dt = (dQ/dt) f: the first row, then row after row.
    """
    mean = law.tilted_mean(tilt, fn)
    moved = [dot(row, v) for row in law.covariance]
    mu_u, mu_v, c_uv, c_vv = dot(u, mean), dot(v, mean), dot(u, moved), dot(v, moved)
    c_uu = dot(u, [dot(row, u) for row in law.covariance])
    rows = [[fn.exp(law.log_mgf(tilt, fn))]]
    for j in range(1, order + 1):
        value = mu_v * rows[0][j - 1]
        rows[0].append((value + c_vv * rows[0][j - 2] if j > 1 else value) / j)
    for i in range(1, order + 1):
        row = []
        for j in range(order + 1):
            value = mu_u * rows[i - 1][j]
            if i > 1:
                value = value + c_uu * rows[i - 2][j]
            if j > 0:
                value = value + c_uv * rows[i - 1][j - 1]
            row.append(value / i)
        rows.append(row)
    return rows


def _independent(
    sizes: Vector, coefficient: _Coordinate, tilt: Vector, u: Vector, v: Vector, order: int, fn: Functions
) -> Table:
    """The product over coordinates: of (t u + r v)^n the coefficient of t^i r^j is C(n, i) u^i v^j."""
    factors = []
    for c, a, x, y in zip(sizes, tilt, u, v, strict=True):
        line = [coefficient(c * a, c, n, fn) for n in range(2 * order + 1)]
        factors.append(
            [
                [
                    math.comb(i + j, i) * natural_power(x, i) * natural_power(y, j) * line[i + j]
                    for j in range(order + 1)
                ]
                for i in range(order + 1)
            ]
        )
    return reduce(pair_product, factors)


def _atoms(law: Atoms, tilt: Vector, u: Vector, v: Vector, order: int, fn: Functions) -> Table:
    """sum_k w_k e^{<a, y_k>} e^{t <u, y_k>} e^{r <v, y_k>}."""
    shares = [w * fn.exp(dot(tilt, y)) for w, y in zip(law.weights, law.points, strict=True)]
    first = [linear_exponential(dot(u, y), order, fn) for y in law.points]
    second = [linear_exponential(dot(v, y), order, fn) for y in law.points]
    return [
        [dot(shares, [x[i] * y[j] for x, y in zip(first, second, strict=True)]) for j in range(order + 1)]
        for i in range(order + 1)
    ]


def weighted_moments(
    law: Law, tilt: Vector, centre: Vector, k: int, u: Vector, v: Vector, order: int, fn: Functions
) -> Table:
    """E[w^k <u, x - c>^i <v, x - c>^j] / (i! j!) for w = e^{<a, x> - Lambda(a)}, i, j = 0..order."""
    scale = fn.exp(-k * law.log_mgf(tilt, fn))
    left = linear_exponential(-dot(u, centre), order, fn)
    right = linear_exponential(-dot(v, centre), order, fn)
    shift = [[scale * x * y for y in right] for x in left]
    return pair_product(pair_series(law, [k * a for a in tilt], u, v, order, fn), shift)
