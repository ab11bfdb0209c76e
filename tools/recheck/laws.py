"""Laws of tokens: their means under tilts, moments and series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import intervals
from algebra import convolve, dot, semidefinite, times, transposed
from arrays import Matrix, Vector, matrix, vector
from documents import fields, listed, one_of, rational
from functions import cosh, exp, langevin, log, log_cosh, log_sinhc, tanh
from intervals import I, hull, iv, square
from outcomes import Rejected


class Law:
    """A law of tokens: kind, dimension, and what the kind needs. Its parameters are checked exactly."""

    def __init__(self, node: Any, where: str = "law") -> None:
        """Read a law of docs/claims/prompts/infinite-prompt-operator.md."""
        kinds = {
            "gaussian": "mean covariance",
            "rademacher": "sizes",
            "box": "sizes",
            "atoms": "points",
            "mixture": "components",
        }
        self.kind = one_of(node.get("kind") if isinstance(node, dict) else None, f"{where}.kind", *kinds)
        f = fields(node, where, "kind " + kinds[self.kind], "weights" if self.kind == "atoms" else "")
        if self.kind == "gaussian":
            self.mean = vector(f["mean"], f"{where}.mean")
            self.cov = matrix(f["covariance"], f"{where}.covariance", len(self.mean), len(self.mean))
            semidefinite(self.cov, "a covariance")
            self.d = len(self.mean)
        elif self.kind in ("rademacher", "box"):
            self.sizes = vector(f["sizes"], f"{where}.sizes")
            self.d = len(self.sizes)
            if min(self.sizes) < 0:
                raise Rejected(f"{where}: a negative size")
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

    def tilted(self, a: Sequence[Any]) -> tuple[Any, list[Any]]:
        """log E e^<a,x>, and its gradient in a, the mean of the law with the density e^<a,x> / E e^<a,x>."""
        if self.kind == "gaussian":
            slope = times(self.cov, a)
            return dot(a, self.mean) + dot(a, slope) / 2, [m + g for m, g in zip(self.mean, slope, strict=True)]
        if self.kind in ("rademacher", "box"):
            log_mgf, mean = (log_cosh, tanh) if self.kind == "rademacher" else (log_sinhc, langevin)
            total = sum((log_mgf(c * x) for c, x in zip(self.sizes, a, strict=True)), start=iv(0))
            return total, [c * mean(c * x) for c, x in zip(self.sizes, a, strict=True)]
        if self.kind == "atoms":
            logs, means = [dot(a, y) for y in self.points], self.points
        else:
            both = [part.tilted(a) for part in self.parts]
            logs, means = [x for x, _ in both], [m for _, m in both]
        most = iv(max(logs, key=lambda x: iv(x).b))
        w = [exp(x - most) * p for x, p in zip(logs, self.weights, strict=True)]
        total = sum(w, start=iv(0))
        return log(total) + most, [dot(w, column) / total for column in transposed(means)]


def second_moments(law: Law) -> tuple[Vector, Matrix]:
    """Mean and covariance of a law, which are rational."""
    if law.kind == "gaussian":
        return law.mean, law.cov
    if law.kind in ("rademacher", "box"):
        part = 1 if law.kind == "rademacher" else Fraction(1, 3)
        return [Fraction(0)] * law.d, [[c * c * part * (i == j) for j in range(law.d)] for i, c in enumerate(law.sizes)]
    if law.kind == "atoms":
        both = [(y, [[Fraction(0)] * law.d] * law.d) for y in law.points]
    else:
        both = [second_moments(part) for part in law.parts]
    mean = [dot(law.weights, column) for column in transposed([m for m, _ in both])]
    cov = [
        [
            sum(w * (c[i][j] + m[i] * m[j]) for w, (m, c) in zip(law.weights, both, strict=True)) - mean[i] * mean[j]
            for j in range(law.d)
        ]
        for i in range(law.d)
    ]
    return mean, cov


def series(law: Law, b: Sequence[Any], u: Sequence[Any], v: Sequence[Any], p: int, q: int) -> list[list[Any]]:
    """The coefficients of t^i r^j, i <= p and j <= q, of E e^<b + t u + r v, x>."""
    if law.kind == "gaussian":
        gu, gv, (value, mean) = times(law.cov, u), times(law.cov, v), law.tilted(b)
        c10, c01, c20, c11, c02 = dot(u, mean), dot(v, mean), dot(u, gu) / 2, dot(u, gv), dot(v, gv) / 2
        f: list[list[Any]] = [[exp(value)] for _ in range(p + 1)]
        for i in range(p + 1):  # derivatives of the exponential of a quadratic form
            for j in range(q + 1):
                if i:
                    x = (
                        c10 * f[i - 1][j]
                        + (2 * c20 * f[i - 2][j] if i > 1 else 0)
                        + (c11 * f[i - 1][j - 1] if j else 0)
                    )
                    x = x / i
                elif j:
                    x = (c01 * f[0][j - 1] + (2 * c02 * f[0][j - 2] if j > 1 else 0)) / j
                else:
                    x = f[0][0]
                f[i][j:] = [x]
        return f
    if law.kind in ("atoms", "mixture"):
        total: list[list[Any]] = [[iv(0)] * (q + 1) for _ in range(p + 1)]
        for k, w in enumerate(law.weights):
            if law.kind == "mixture":
                part = series(law.parts[k], b, u, v, p, q)
            else:
                y = law.points[k]
                part, s, t = [], dot(u, y), dot(v, y)
                size = exp(dot(b, y))
                part = [
                    [size * (Fraction(1) * s**i * t**j / (math.factorial(i) * math.factorial(j))) for j in range(q + 1)]
                    for i in range(p + 1)
                ]
            total = [[x + w * y for x, y in zip(r, s_, strict=True)] for r, s_ in zip(total, part, strict=True)]
        return total
    result: list[list[Any]] = [[iv(int(i == j == 0)) for j in range(q + 1)] for i in range(p + 1)]
    for c, x, s, t in zip(law.sizes, b, u, v, strict=True):
        h = raw_moments(law.kind, c * x, p + q)
        part = [
            [h[i + j] * ((c * s) ** i * (c * t) ** j / (math.factorial(i) * math.factorial(j))) for j in range(q + 1)]
            for i in range(p + 1)
        ]
        new: list[list[Any]] = [[iv(0)] * (q + 1) for _ in range(p + 1)]
        for i in range(p + 1):
            for k in range(p + 1 - i):
                row = convolve(result[i], part[k], q)
                new[i + k] = [x_ + y_ for x_, y_ in zip(new[i + k], row, strict=True)]
        result = new
    return result


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
