"""Moments of norms of the errors of softmax means and covariances of Gaussian tokens: gradient-tail.md, (3) and (4).

Traces and forms of powers of Lambda = D - p p', D = diag(p), come from generating functions, by the determinant and
the inverse of a matrix changed by one of rank 1: with A = (1 - t D)^-1 and r = 1 + t p'A p,

    sum_n t^n tr Lambda^n / n = -log det A^-1 - log r,      sum_n t^n z'Lambda^n z = z'A z - t (z'A p)^2 / r.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from algebra import convolve
from arrays import Matrix, Vector
from fields import fields, one_of, refuse
from matrices import around, combined, matmul, times, trace, transposed
from scalars import natural
from vectors import dot
from weight_means import collisions

Monomial = tuple[tuple[int, int], ...]


def order_of(node: Any, most: int) -> int:
    """The order of the method `moment`."""
    f = fields(node, "witness", "method order", "from")
    one_of(f["method"], "method", "moment")
    p = natural(f["order"], "order", 2, most)
    refuse(p % 2, "order: even")
    return p


class Sums:
    """A polynomial in S_kj = sum_i p_i^k z_i^j, by its monomials of sorted (k, j); S_10 = 1."""

    def __init__(self, terms: dict[Monomial, Any] | None = None) -> None:
        self.terms = {m: x for m, x in (terms or {}).items() if x}

    @classmethod
    def one(cls, k: int, j: int = 0, factor: Any = Fraction(1)) -> Sums:
        """A multiple of S_kj."""
        return cls({() if (k, j) == (1, 0) else ((k, j),): factor})

    def __add__(self, other: Any) -> Sums:
        found = dict(self.terms)
        for m, x in (other if isinstance(other, Sums) else Sums.one(1, 0, other)).terms.items():
            found[m] = found.get(m, Fraction(0)) + x
        return Sums(found)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Sums:
        found: dict[Monomial, Any] = {}
        for m, x in self.terms.items():
            for n, y in (other if isinstance(other, Sums) else Sums.one(1, 0, other)).terms.items():
                both = tuple(sorted(m + n))
                found[both] = found.get(both, Fraction(0)) + x * y
        return Sums(found)

    __rmul__ = __mul__


def exponential(f: Sequence[Any]) -> list[Any]:
    """e^f of a series without constant: n e_n = sum_k k f_k e_(n-k)."""
    found: list[Any] = [Fraction(1)]
    for n in range(1, len(f)):
        found.append(sum((Fraction(k, n) * f[k] * found[n - k] for k in range(1, n + 1)), start=Sums()))
    return found


def powers_of_lambda(top: int) -> tuple[list[Sums], list[Sums]]:
    """tr Lambda^n and z'Lambda^n z for n from 0 to `top`, but for n = 0."""
    steps = range(top + 1)
    less = [Sums(), *(Sums.one(n + 1, 0, Fraction(-1)) for n in range(1, top + 1))]  # 1 - r
    inverse, logs = [Sums.one(1)], [Sums()]  # 1/r, and log r by n l_n = n r_n - sum_(0<k<n) k l_k r_(n-k)
    for n in steps[1:]:
        inverse.append(sum((less[k] * inverse[n - k] for k in range(1, n + 1)), start=Sums()))
        late = (less[n - k] * logs[k] * Fraction(k, n) for k in range(1, n))
        logs.append(sum(late, start=less[n] * Fraction(-1)))
    bent = [Sums.one(n + 1, 1) for n in steps]
    square = [Sums(), *convolve(convolve(bent, bent, top), inverse, top)]
    traces = [Sums.one(n) + logs[n] * Fraction(-n) if n else Sums() for n in steps]
    return traces, [Sums.one(n, 2) + square[n] * Fraction(-1) if n else Sums() for n in steps]


def without_scores(polynomial: Sums, v: Fraction) -> Sums:
    """A polynomial of the same mean without z, by E z_i f = v E df/dz_i."""
    known: dict[Monomial, Sums] = {}

    def of(m: Monomial) -> Sums:
        """Of one product of sums: the first z in it goes."""
        if m not in known:
            at = next((i for i, (_, j) in enumerate(m) if j), None)
            known[m] = Sums({m: Fraction(1)}) if at is None else every(derived(*m[at], m[:at] + m[at + 1 :])) * v
        return known[m]

    def every(f: Sums) -> Sums:
        """Of all terms."""
        return sum((of(m) * x for m, x in f.terms.items()), start=Sums())

    return every(polynomial)


def derived(k: int, j: int, rest: Monomial) -> Sums:
    """sum_i d/dz_i (p_i^k z_i^(j-1) f) for a product f of sums."""

    def sloped(n: int, m: int) -> Iterator[tuple[int, int, int, int, Any]]:
        """sum_i p_i^k z_i^(j-1) d/dz_i S_nm: as factor times S_(a,b) S_(c,d)."""
        yield k + n, j + m - 1, 1, 0, n
        yield k + 1, j - 1, n, m, -n
        if m:
            yield k + n, j + m - 2, 1, 0, m

    whole = Sums({rest: Fraction(1)})
    found = (Sums.one(k, j - 1, k) + Sums.one(k + 1, j - 1, -k)) * whole
    if j > 1:
        found += Sums.one(k, j - 2, j - 1) * whole
    for i, (n, m) in enumerate(rest):
        others = Sums({rest[:i] + rest[i + 1 :]: Fraction(1)})
        for a, b, c, d, factor in sloped(n, m):
            found += Sums.one(a, b, factor) * Sums.one(c, d) * others
    return found


class Split:
    """Tokens of N(0, Gamma) by their scores: b = Gamma a and R = Gamma - b b'/v, a a multiple of `base`."""

    def __init__(self, cov: Matrix, base: Vector, square: Fraction) -> None:
        moved = times(cov, base)
        self.v = square * dot(base, moved)
        self.share = square / self.v if self.v else Fraction(0)  # b b'/v = share moved moved'
        self.moved, self.rest = moved, [
            [x - self.share * moved[i] * y for x, y in zip(row, moved, strict=True)] for i, row in enumerate(cov)
        ]  # fmt: skip
        self.twice = self.share / self.v if self.v else Fraction(0)  # b b'/v^2 = twice moved moved'


def power(x: Sums, n: int) -> Sums:
    """x^n"""
    return math.prod([x] * n, start=Sums.one(1))


def mean_moment(split: Split, V: Matrix, order: int, L: int) -> Any:
    """E |V (tau_L - tau)|^p, p even."""
    K, shift, half = around(V, split.rest), times(V, split.moved), order // 2
    spread, off = Sums.one(2), Sums.one(1, 1) + -split.v
    f, grown, along = [Sums()], K, shift  # K^n and K^(n-1) V b
    for n in range(1, half + 1):
        one = spread * (trace(grown) / n) + off * off * (split.twice * dot(along, shift))
        f.append(one * power(spread, n - 1) * Fraction(2 ** (n - 1)))
        grown, along = matmul(grown, K), times(K, along)
    return mean(exponential(f)[half] * Fraction(math.factorial(half)), split.v, L)


def covariance_moment(split: Split, V: Matrix, order: int, L: int) -> Any:
    """E |V (C_L - Gamma)|_F^p, p = 2 or 4."""
    d = len(split.rest)
    traces, forms = powers_of_lambda(order)
    traces[1], forms[1] = traces[1] + Fraction(-1), forms[1] + -split.v
    entries = [[[row[r] * (c == j) for c in range(d)] for r in range(d)] for row in V for j in range(d)]  # V'e_i e_j'
    total = Sums()
    for weight, form in weighted(entries, order):
        double = combined([1, 1], [form, transposed(form)])  # 2F
        step, along, grown, f = matmul(double, split.rest), times(double, split.moved), double, [Sums()]
        for n in range(1, order + 1):
            A, B = trace(matmul(grown, split.rest)) / (2 * n), split.twice * dot(split.moved, along) / 2
            f.append(traces[n] * A + forms[n] * B)
            grown, along = matmul(step, grown), times(step, along)
        total += exponential(f)[order] * (weight * math.factorial(order))
    return mean(total, split.v, L)


def weighted(entries: list[Matrix], order: int) -> Iterator[tuple[Fraction, Matrix]]:
    """|x|^p = sum of weights times <f, x>^p over the entries, p = 2 or 4, and their sums and differences."""
    for entry in entries:
        yield Fraction(1) if order == 2 else Fraction(4 - len(entries), 3), entry
    if order == 4:
        for one, other in itertools.combinations(entries, 2):
            for sign in (1, -1):
                yield Fraction(1, 6), combined([1, sign], [one, other])


def mean(polynomial: Sums, v: Fraction, L: int) -> Any:
    """The mean over the scores."""
    terms = without_scores(polynomial, v).terms
    E = collisions(v, L, max((sum(k for k, _ in m) for m in terms), default=0))
    return sum((x * E(*(k for k, _ in m)) if m else x for m, x in terms.items()), start=Fraction(0))
