"""Laws of tokens: their means under tilts, moments and series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import intervals
from algebra import convolve, semidefinite
from arrays import Matrix, Vector, matrix, vector
from fields import fields, kind_of, listed, refuse
from functions import cosh, exp, langevin, log, log_cosh, log_sinhc, tanh
from intervals import I, absolute, hull, iv, square, summed
from matrices import combined, identity, matmul, scaled, times, transposed
from outcomes import Rejected, Undecided
from scalars import natural, rational, squared
from vectors import dot, minus, plus


class Law:
    """A law of tokens: kind, dimension, and what the kind needs. Its parameters are checked exactly."""

    def __init__(self, node: Any, where: str = "law") -> None:
        """Read a law of docs/claims/prompts/infinite-prompt-operator.md."""
        kinds = {
            "gaussian": "mean covariance",
            "rademacher": "sizes",
            "box": "sizes",
            "sphere": "dimension radius",
            "ball": "dimension radius",
            "truncated-gaussian": "mean variances lower upper",
            "atoms": "points",
            "mixture": "components",
        }
        self.kind = kind_of(node, where, *kinds)
        may = {"atoms": "weights", "gaussian": "", "truncated-gaussian": "", "mixture": ""}
        f = fields(node, where, "kind " + kinds[self.kind], may.get(self.kind, "centre"))
        if self.kind == "gaussian":
            self.mean = vector(f["mean"], f"{where}.mean")
            self.cov = matrix(f["covariance"], f"{where}.covariance", len(self.mean), len(self.mean))
            semidefinite(self.cov, "a covariance")
            self.d = len(self.mean)
        elif self.kind in ("rademacher", "box"):
            self.sizes = vector(f["sizes"], f"{where}.sizes")
            self.d = len(self.sizes)
            refuse(min(self.sizes) < 0, f"{where}: a negative size")
        elif self.kind in ("sphere", "ball"):
            self.d, self.r2 = natural(f["dimension"], where, 1), squared(f["radius"], where)
            refuse(self.d > 10000, f"{where}: too many dimensions")
            self.b = Fraction(self.d, 2) + (self.kind == "ball")
        elif self.kind == "truncated-gaussian":
            mean = vector(f["mean"], f"{where}.mean")
            self.d = len(mean)
            rest = [vector(f[name], f"{where}.{name}", self.d) for name in ("variances", "lower", "upper")]
            self.sizes, self.centre, self.bumps = [], [], []
            for m, variance, low, high in zip(mean, *rest, strict=True):
                refuse(variance <= 0 or low >= high, f"{where}: a variance that is not positive, or an empty interval")
                c, z = (high - low) / 2, (high + low) / 2
                self.sizes.append(c)
                self.centre.append(z)
                self.bumps.append((c * c / variance, c * (m - z) / variance))
        else:
            if self.kind == "atoms":
                self.points = matrix(f["points"], f"{where}.points")
                n = len(self.points)
                self.weights = [Fraction(1, n)] * n if f["weights"] is None else vector(f["weights"], where, n)
                self.d = len(self.points[0])
            else:
                parts = [fields(c, where, "weight law") for c in listed(f["components"], where)]
                self.parts = [Law(c["law"], f"{where}.law") for c in parts]
                self.weights = [rational(c["weight"], where) for c in parts]
                self.d = self.parts[0].d
                if any(part.d != self.d for part in self.parts):
                    raise Rejected(f"{where}: components of different dimensions")
            if min(self.weights) <= 0 or sum(self.weights) != 1:
                raise Rejected(f"{where}: weights are positive and sum to exactly 1")
        if self.kind in ("rademacher", "box", "sphere", "ball"):
            self.centre = [Fraction(0)] * self.d if f["centre"] is None else vector(f["centre"], where, self.d)

    def tilted(self, a: Sequence[Any]) -> tuple[Any, list[Any]]:
        """log E e^<a,x>, and its gradient in a, the mean of the law with the density e^<a,x> / E e^<a,x>."""
        if self.kind == "gaussian":
            slope = times(self.cov, a)
            return dot(a, self.mean) + dot(a, slope) / 2, plus(self.mean, slope)
        if self.kind in ("rademacher", "box"):
            log_mgf, mean = (log_cosh, tanh) if self.kind == "rademacher" else (log_sinhc, langevin)
            scores = [c * x for c, x in zip(self.sizes, a, strict=True)]
            means = [c * mean(x) for c, x in zip(self.sizes, scores, strict=True)]
            return summed(map(log_mgf, scores)) + dot(a, self.centre), plus(self.centre, means)
        if self.kind in ("sphere", "ball"):
            whole, slope = of_sphere(self.b, self.argument(a), 1)
            means = [x * slope / whole * (self.r2 / 2) for x in a]
            return log(whole) + dot(a, self.centre), plus(self.centre, means)
        if self.kind == "truncated-gaussian":
            both = [self.bump(j, c * x, 1) for j, (c, x) in enumerate(zip(self.sizes, a, strict=True))]
            means = [c * first / mass for c, (mass, first) in zip(self.sizes, both, strict=True)]
            return summed(log(mass) for mass, _ in both) + dot(a, self.centre), plus(self.centre, means)
        if self.kind == "atoms":
            logs, centres = [dot(a, y) for y in self.points], self.points
        else:
            both = [part.tilted(a) for part in self.parts]
            logs, centres = [x for x, _ in both], [m for _, m in both]
        most = iv(max(logs, key=lambda x: iv(x).b))
        w = [exp(x - most) * p for x, p in zip(logs, self.weights, strict=True)]
        whole = summed(w)
        return log(whole) + most, [dot(w, column) / whole for column in transposed(centres)]

    def argument(self, a: Sequence[Any]) -> I:
        """R^2 |a|^2 / 4 for a sphere or a ball."""
        return summed(square(iv(x)) for x in a) * (self.r2 / 4)

    def bump(self, j: int, u: Any, top: int) -> list[I]:
        """E y^n e^(u y), n <= top, of the coordinate z + c y of a truncated Gaussian."""
        k, slope = self.bumps[j]
        mass = bump_moments(k, iv(slope), 0)[0]
        return [x / mass for x in bump_moments(k, slope + iv(u), top)]


def bump_moments(k: Fraction, slope: I, top: int) -> list[I]:
    """The integrals of y^n f(y) over [-1, 1], n <= top, f(y) = e^(b y - k y^2 / 2), b in the interval of the slope.

    f = sum t_m y^m with (m + 1) t_(m+1) = b t_m - k t_(m-1), and |t_m| 2^m is at most the value at 2 of the series with
    |b| and -k for b and k, e^(2 |b| + 2 k) < 2^(3 |b| + 3 k). So all |t_m| from m = M on sum to less than
    2^(3 |b| + 3 k - M + 1).
    """
    rest = math.ceil(3 * k) + 3 * ((absolute(slope).b >> intervals.P) + 1)
    if rest > 20000:
        raise Undecided("a large argument of the law of a truncated Gaussian")
    before, term, found = iv(0), iv(1), [iv(0)] * (top + 1)
    for m in range(intervals.P + rest):
        for n in range(m % 2, top + 1, 2):
            found[n] += term * 2 / (n + m + 1)
        before, term = term, (slope * term - before * k) / (m + 1)
    return [x + I(-4, 4) for x in found]


def of_sphere(b: Fraction, z: I, top: int) -> list[I]:
    """The derivatives of 0F1(; b; z) = sum z^k / ((b)_k k!), z >= 0, of the orders 0..top: that of order n is
    0F1(; b + n; z) / (b)_n. All terms are positive; beyond the last one they fall by half each."""
    z, found, below = hull(0, z) if z.a < 0 else z, [], Fraction(1)
    for n in range(top + 1):
        k, term, total = 0, iv(1), iv(0)
        while term.b > 1 or (b + n + k) * (k + 1) * 2**intervals.P < 2 * z.b:
            total += term
            term = term * z / ((b + n + k) * (k + 1))
            k += 1
            if k > 20000:
                raise Undecided("a large argument of the law of a sphere")
        found.append((total + hull(0, 2 * term) + I(0, 2)) / below)
        below *= b + n
    return found


def second_moments(law: Law) -> tuple[Vector, Matrix]:
    """Mean and covariance of a law, which are rational."""
    if law.kind == "gaussian":
        return law.mean, law.cov
    if law.kind in ("rademacher", "box"):
        part = 1 if law.kind == "rademacher" else Fraction(1, 3)
        return law.centre, [[c * c * part * (i == j) for j in range(law.d)] for i, c in enumerate(law.sizes)]
    if law.kind in ("sphere", "ball"):
        return law.centre, scaled(law.r2 / (2 * law.b), identity(law.d))
    if law.kind == "truncated-gaussian":
        raise Rejected("a truncated Gaussian, whose mean and covariance are not rational")
    if law.kind == "atoms":
        centres, inside = law.points, scaled(0, identity(law.d))
    else:
        both = [second_moments(part) for part in law.parts]
        centres, inside = [m for m, _ in both], combined(law.weights, [c for _, c in both])
    mean = [dot(law.weights, column) for column in transposed(centres)]
    off = [minus(m, mean) for m in centres]
    between = matmul(transposed([[w * x for x in m] for w, m in zip(law.weights, off, strict=True)]), off)
    return mean, [plus(r, s) for r, s in zip(inside, between, strict=True)]


def tilted_covariance(law: Law, a: Sequence[Any]) -> list[list[Any]]:
    """The covariance under a tilt, from second derivatives of the MGF: E x x' e^<a,x> / E e^<a,x> - mean mean'."""
    n, units, found = law.d, identity(law.d), {}
    for i, j in combinations_with_replacement(range(n), 2):
        f = series(law, a, units[j], units[i], 1, 1)
        found[i, j] = f[1][1] / f[0][0] - f[1][0] / f[0][0] * (f[0][1] / f[0][0])
    return [[found[min(i, j), max(i, j)] for j in range(n)] for i in range(n)]


def series(law: Law, b: Sequence[Any], u: Sequence[Any], v: Sequence[Any], p: int, q: int) -> list[list[Any]]:
    """The coefficients of t^i r^j, i <= p and j <= q, of E e^<b + t u + r v, x>."""
    if law.kind == "gaussian":
        gu, gv, (value, mean) = times(law.cov, u), times(law.cov, v), law.tilted(b)
        c10, c01, c20, c11, c02 = dot(u, mean), dot(v, mean), dot(u, gu) / 2, dot(u, gv), dot(v, gv) / 2
        f: list[list[Any]] = [[exp(value)] * (q + 1) for _ in range(p + 1)]
        for i in range(p + 1):  # derivatives of the exponential of a quadratic form
            for j in range(q + 1):
                if i:
                    left = c11 * f[i - 1][j - 1] if j else 0
                    f[i][j] = (c10 * f[i - 1][j] + (2 * c20 * f[i - 2][j] if i > 1 else 0) + left) / i
                elif j:
                    f[i][j] = (c01 * f[0][j - 1] + (2 * c02 * f[0][j - 2] if j > 1 else 0)) / j
        return f
    if law.kind == "mixture":
        return combined(law.weights, [series(part, b, u, v, p, q) for part in law.parts])
    if law.kind == "atoms":
        return combined(law.weights, [atom_series(y, b, u, v, p, q) for y in law.points])
    result = atom_series(law.centre, b, u, v, p, q)
    if law.kind in ("sphere", "ball"):
        return table_product(result, sphere_series(law, b, u, v, p, q))
    for j, (c, x, s, t) in enumerate(zip(law.sizes, b, u, v, strict=True)):
        h = law.bump(j, c * x, p + q) if law.kind == "truncated-gaussian" else raw_moments(law.kind, c * x, p + q)
        one = [[h[i + j] * (part_of_exp(c * s, i) * part_of_exp(c * t, j)) for j in range(q + 1)] for i in range(p + 1)]
        result = table_product(result, one)
    return result


def table_product(left: list[list[Any]], right: list[list[Any]]) -> list[list[Any]]:
    """The product of two series in t and r, cut off where they are."""
    p, q = len(left) - 1, len(left[0]) - 1
    new: list[list[Any]] = [[iv(0)] * (q + 1) for _ in range(p + 1)]
    for i in range(p + 1):
        for k in range(p + 1 - i):
            new[i + k] = plus(new[i + k], convolve(left[i], right[k], q))
    return new


def sphere_series(law: Law, b: Sequence[Any], u: Sequence[Any], v: Sequence[Any], p: int, q: int) -> list[list[Any]]:
    """The coefficients of E e^<b + t u + r v, x> about 0: Taylor's formula at R^2 |b|^2 / 4, in powers of the rest."""
    rest: list[list[Any]] = [[iv(0)] * (q + 1) for _ in range(p + 1)]
    for (i, j), x in {
        (1, 0): 2 * dot(b, u), (0, 1): 2 * dot(b, v), (2, 0): dot(u, u), (1, 1): 2 * dot(u, v), (0, 2): dot(v, v),
    }.items():  # fmt: skip
        if i <= p and j <= q:
            rest[i][j] = iv(x) * (law.r2 / 4)
    power = [[iv(int(i == j == 0)) for j in range(q + 1)] for i in range(p + 1)]
    total: list[list[Any]] = [[iv(0)] * (q + 1) for _ in range(p + 1)]
    for n, slope in enumerate(of_sphere(law.b, law.argument(b), p + q)):
        total = [plus(x, [slope * y / math.factorial(n) for y in row]) for x, row in zip(total, power, strict=True)]
        power = table_product(power, rest)
    return total


def atom_series(y: Vector, b: Sequence[Any], u: Sequence[Any], v: Sequence[Any], p: int, q: int) -> list[list[Any]]:
    """The coefficients of e^<b + t u + r v, y>."""
    size, s, t = exp(dot(b, y)), dot(u, y), dot(v, y)
    return [[size * (part_of_exp(s, i) * part_of_exp(t, j)) for j in range(q + 1)] for i in range(p + 1)]


def part_of_exp(s: Any, i: int) -> Any:
    """s^i / i!"""
    return Fraction(1) * s**i / math.factorial(i)


def raw_moments(kind: str, u: Any, top: int) -> list[I]:
    """E s^n e^(u s), n <= top, for a sign s, or s uniform on [-1, 1]: then sum_m u^m/m! [n + m even]/(n + m + 1).

    All terms have the sign of u^n. Beyond the last one, where u^2 <= (m+1)(m+2)/2, the rest is no more than twice it.
    """
    u = iv(u)
    if kind == "rademacher":
        even, odd = cosh(u), (exp(u) - exp(-u)) / 2
        return [odd if n % 2 else even for n in range(top + 1)]
    z, found = square(u), []
    for n in range(top + 1):
        m, term, total = n % 2, u if n % 2 else iv(1), iv(0)
        while term.b > 1 or term.a < -1 or (m + 1) * (m + 2) << intervals.P < 2 * z.b:
            total += term / (n + m + 1)
            term = term * z / ((m + 1) * (m + 2))
            m += 2
        found.append(total + hull(0, 4 * term) + I(-4, 4))
    return found
