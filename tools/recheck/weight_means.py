"""Means over softmax weights of random scores: Gaussian ones, and of finitely many tokens."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import intervals
from algebra import partitions
from arrays import Matrix, Vector
from decisions import below
from functions import exp, log, pi
from intervals import I, clip, ends_of, hull, iv, largest, plus_minus, root, smallest, square, summed
from laws import Law
from matrices import times, transposed
from outcomes import NotCovered, NotProved, Rejected
from vectors import dot, minus, norm2, plus


def collisions(v: Any, L: int, degree: int = 8) -> Callable[..., Any]:
    """E P_k1 P_k2 ..., P_k the sums of k-th powers of softmax weights of L scores of variance v, K = sum k <= `degree`.

    By (3) of
    docs/claims/prompts/output-mean-square.md a sum, over partitions of the k, of falling factorials of L times
    integrals of Psi_k1(t) ... phi(t)^(L-b)/(K-1)!, by the trapezoid rule with the errors of that page. What is left
    out on the right is bounded otherwise: x^k e^-x <= ((k+m)/e)^(k+m) x^-m, so that
    Psi_k(t) <= ((k+m)/e)^(k+m) e^(-mt) E w^-m; E w^-m = e^(m(m+1)v/2); the other factors are at most (k/e)^k and 1.
    """
    if L == 1 or (isinstance(v, Fraction) and v == 0):
        return lambda *ks: Fraction(1, L ** (sum(ks) - len(ks)))
    x, P = iv(v), intervals.P
    if x.b > 25 << P or x.a * 1000 < 1 << P:
        raise NotCovered("moments of softmax weights for scores of variance beyond 25, or below 0.001")
    size, sd = x.about(), math.sqrt(x.about())
    steps = 8 if degree <= 8 else 16  # what a step loses grows with 1/cos(3/2)^K
    ratio = 2 ** max(0, math.ceil(-math.log2(sd / 2 * 8)))
    fine = steps * ratio
    h, d = Fraction(1, steps), Fraction(1, fine)
    wide = math.sqrt(1.4 * P + 60)
    low = -math.ceil(math.log(L) + 0.36 * P + 12)
    high = math.ceil(sd * math.sqrt(1.4 * P) + size + 6 + P / 48)
    ends = math.floor(-size / 2 - wide * sd), math.ceil(wide * sd)
    nodes = range(ends[0] * fine, ends[1] * fine + 1)
    rho = [exp(-square(d * n + x / 2) / (2 * x)) * d / root(2 * pi() * x) for n in nodes]
    grid = {n: exp(iv(d * n)) for n in range(low * fine + nodes[0], high * fine + nodes[-1] + 1)}
    z2 = smallest([square(end + x / 2) for end in ends])  # the squared distance of the ends from the mean
    left_out = 2 * (1 + d / root(x)) * exp(-ends_of(z2)[0] / (2 * x))
    beta = min(Fraction(3, 2), Fraction(int(2 * math.pi * sd * sd / float(d) * 1000), 1000))
    cosine = 1 - iv(beta) ** 2 / 2 + iv(beta) ** 4 / 24 - iv(beta) ** 6 / 720  # a lower bound of cos(beta), above 0
    strip = 2 * exp(iv(beta * beta) / (2 * x)) / (exp(2 * pi() * (beta / d)) - 1)
    cos_out = iv(Fraction(707, 10000))  # below cos(3/2) = 0.070737...
    table: dict[int, list[I]] = {}

    def psi(k: int) -> list[I]:
        """Psi_k at all outer nodes."""
        if k not in table:
            # y^k e^-y falls beyond y = k; from y = 2 P on it is at most (2 P)^k e^(-2 P).
            if k * math.log(2 * P) > 1.2 * P:
                raise NotCovered("moments of softmax weights of a large degree")
            e = {n: exp(iv(d * n * k) - y) if y.a < (P * 2) << P else I(0, 1) for n, y in grid.items()}
            most = iv(Fraction(k)) ** k * exp(iv(-k)) if k else iv(1)
            error = strip * (most / cosine**k) + left_out * most
            lows, highs = [y.a for y in rho], [y.b for y in rho]
            found = []
            for t in range(low * steps, high * steps + 1):
                part = [e[t * ratio + n] for n in nodes]
                a, b = dot(lows, [y.a for y in part]) >> P, -(-dot(highs, [y.b for y in part]) >> P)
                found.append(I(max(a - error.b, 0), b + error.b))
            table[k] = found
        return table[k]

    @cache
    def powers(n: int) -> list[I]:
        """phi^n at all outer nodes; phi is at most 1."""
        return [clip(y, None, 1) ** n for y in psi(0)]

    @cache
    def mean(*ks: int) -> I:
        """One mean."""
        K, total = sum(ks), iv(0)
        for sizes, count in classes_of(ks).items():
            b = len(sizes)
            if b > L:
                continue
            s = iv(0)
            for parts in zip(powers(L - b), *(psi(k) for k in sizes), strict=True):
                s += math.prod(parts[1:], start=parts[0])
            s = s * h
            # one exponential: a large one times one that is rounded to 2^-P would be large
            grown = exp(x * Fraction(sum(k * k - k for k in sizes), 2) + K * (low - h))
            s += hull(0, grown * h / (1 - exp(iv(-K * h))))
            others = math.prod((iv(Fraction(k)) ** k * exp(iv(-k)) for k in sizes[1:]), start=iv(1))
            best = None
            for m in range(1, 200):
                k = sizes[0] + m
                edge = exp(log(iv(k)) * k - k - iv(m * (high + h)) + x * Fraction(m * (m + 1), 2))
                edge = edge * others * h / (1 - exp(iv(-m * h)))
                if best is not None and edge.b > best.b:
                    break
                best = edge
            s += hull(0, best)
            off = 2 / (cos_out**K * (exp(2 * pi() * (Fraction(3, 2) / h)) - 1))
            below(off, 1, "the step of the trapezoid rule")
            s = I((s / (1 + off)).a, (s / (1 - off)).b)
            total += s * (count * math.perm(L, b)) / math.factorial(K - 1)
        return clip(total, Fraction(1, L ** (K - len(ks))), 1)

    return mean


def classes_of(ks: Sequence[int]) -> Counter[tuple[int, ...]]:
    """How many partitions of the k have classes of these sums, sorted."""
    found = Counter[tuple[int, ...]]()
    for partition in partitions(len(ks)):
        sizes = [0] * (max(partition) + 1)
        for k, c in zip(ks, partition, strict=True):
            sizes[c] += k
        found[tuple(sorted(sizes))] += 1
    return found


def logistic(v: Any, L: int) -> I:
    """An upper bound of E P_2 for scores of variance v."""
    return 1 / (1 + (L - 1) * exp(-iv(v)))


def exactly(E: Callable[..., Any], S: Any, B: Any) -> Any:
    """The mean square of an output with S = tr V Gamma V' and B = |V b|^2."""
    return E(2) * (S + B) - 6 * (E(3) - E(2, 2)) * B


def tokens_of(law: Law) -> list[tuple[Fraction, Vector]]:
    """Every token with its probability, of a law of atoms and signs."""
    if law.kind == "atoms":
        return list(zip(law.weights, law.points, strict=True))
    if law.kind == "rademacher":
        if law.d > 10:
            raise NotCovered("signs in more than 10 dimensions")
        every = itertools.product((1, -1), repeat=law.d)
        return [
            (Fraction(1, 2**law.d), plus(law.centre, [s * c for s, c in zip(signs, law.sizes, strict=True)]))
            for signs in every
        ]
    if law.kind == "mixture":
        return [(w * m, x) for w, part in zip(law.weights, law.parts, strict=True) for m, x in tokens_of(part)]
    raise Rejected("the method is for Gaussian tokens, or for atoms, signs and their mixtures")


class FiniteMeans:
    """Means over prompts of L of finitely many tokens, by docs/claims/prompts/output-mean-square.md.

    f_1, f_2 .. are numbers for every token. The mean of prod_j sum_i p_i f_j(x_i) is a sum over the partitions of the
    factors; matrices are taken entry by entry. With the step 1/8 the trapezoid sum of (lambda Z)^k e^(-lambda Z) is off
    by one and the same share of Gamma(k) at most, whatever Z between L w_min and L w_max is.
    """

    def __init__(self, law: Law, tilt: Sequence[Any], base: Vector, L: int) -> None:
        """Tokens of equal <base, x> have equal weights."""
        self.L, (value, tau) = L, law.tilted(tilt)
        both = tokens_of(law)
        self.masses, points = [m for m, _ in both], [x for _, x in both]
        self.y = [minus(x, tau) for x in points]
        groups: dict[Any, list[int]] = {}
        for i, x in enumerate(points):
            groups.setdefault(dot(base, x), []).append(i)
        self.groups = list(groups.values())
        scores = [iv(dot(tilt, points[members[0]])) - value for members in self.groups]
        self.w = [exp(x) for x in scores]
        self.most, self.least = exp(largest(scores)) * L, exp(smallest(scores)) * L
        self.h, P = Fraction(1, 8), intervals.P
        low = -math.ceil(8 * (largest(scores).about() + math.log(L) + 0.36 * P + 12))
        high = math.ceil(8 * (-smallest(scores).about() - math.log(L) + math.log(1.4 * P)))
        if (high - low) * len(self.groups) > 200_000:
            raise NotCovered("so many different scores, or scores so far apart")
        self.ends = exp(iv(low * self.h)), exp(iv(high * self.h))
        self.rates = [exp(iv(self.h * n)) for n in range(low, high + 1)]
        # lambda w, and e^(-lambda w), in rows by lambda
        self.sizes = [[rate * w for w in self.w] for rate in self.rates]
        self.decays = [[exp(-x) if x.a < (P * 2) << P else I(0, 1) for x in row] for row in self.sizes]
        self.phi = self.psi(0, [Fraction(1)] * len(self.masses))

    def psi(self, k: int, f: Sequence[Any]) -> list[I]:
        """E (lambda w)^k f e^(-lambda w) at all nodes."""
        parts = [summed(iv(self.masses[i] * f[i]) for i in members) for members in self.groups]
        return [dot(parts, row) for row in self.weighted(k)]

    @cache  # noqa: B019 - one object a check
    def weighted(self, k: int) -> list[list[I]]:
        """(lambda w)^k e^(-lambda w), in rows by lambda."""
        rows = zip(self.sizes, self.decays, strict=True)
        return [[x**k * e for x, e in zip(row, decay, strict=True)] for row, decay in rows]

    @cache  # noqa: B019 - one object a check
    def powers(self, n: int) -> list[I]:
        """phi^n at all nodes; phi is at most 1."""
        return [clip(x, 0, 1) ** n for x in self.phi]

    def part(self, k: int, blocks: Sequence[Sequence[I]]) -> I:
        """What blocks of different tokens give, not yet corrected for the error."""
        b = len(blocks)
        if b > self.L:
            return iv(0)
        total = summed(math.prod(row[1:], start=row[0]) for row in zip(self.powers(self.L - b), *blocks, strict=True))
        return total * math.perm(self.L, b) * (self.h / math.factorial(k - 1))

    def product(self, *factors: Sequence[Any]) -> I:
        """The mean of a product of weighted sums, not yet corrected."""
        total, known = iv(0), {}
        for partition in partitions(len(factors)):
            blocks = []
            for c in range(max(partition) + 1):
                block = tuple(j for j, which in enumerate(partition) if which == c)
                if block not in known:
                    each = zip(*(factors[j] for j in block), strict=True)
                    known[block] = self.psi(len(block), [math.prod(row[1:], start=row[0]) for row in each])
                blocks.append(known[block])
            total += self.part(len(factors), blocks)
        return total

    def error(self, k: int, n: int | None = None) -> I:
        """The share; Gamma(k, x) / Gamma(k) = e^-x (1 + x + .. + x^(k-1)/(k-1)!). Of n tokens in the place of L."""
        first, last = (end * side for end, side in zip(self.ends, (self.most, self.least), strict=True))
        if n is not None:
            first, last = first * Fraction(n, self.L), last * Fraction(n, self.L)
        off = 2 / (iv(Fraction(707, 10000)) ** k * (exp(2 * pi() * (Fraction(3, 2) / self.h)) - 1))
        off += first**k * self.h / (exp(iv(k * self.h)) - 1)
        below(k, last, "the last node")
        return off + exp(-last) * summed(last**i / math.factorial(i) for i in range(k))

    def corrected(self, k: int, total: I, n: int | None = None) -> I:
        """A mean that is not negative."""
        return clip(total / (1 + plus_minus(self.error(k, n))), 0)

    def mean_square(self, V: Matrix) -> I:
        """E|T_L - T|^2"""
        return self.corrected(2, summed(self.product(z, z) for z in self.outputs(V)))

    def outputs(self, V: Matrix) -> Matrix:
        """V y, a row for every coordinate."""
        return transposed([times(V, y) for y in self.y])

    def collision(self) -> I:
        """E sum p_i^2"""
        return self.corrected(2, self.part(2, [self.psi(2, [Fraction(1)] * len(self.masses))]))

    def mean(self, V: Matrix) -> list[I]:
        """E(T_L - T): the mean of its absolute value is at most the root of the mean square."""
        ones, off = [Fraction(1)] * len(self.masses), plus_minus(self.error(2) * root(self.mean_square(V)))
        return [self.product(z, ones) + off for z in self.outputs(V)]

    def covariance(self, V: Matrix) -> I:
        """E|V (C_L - C)|_F^2"""
        z, y = self.outputs(V), transposed(self.y)
        w = [iv(0)] * len(self.masses)
        for weight, members in zip(self.w, self.groups, strict=True):
            for i in members:
                w[i] = weight * self.masses[i]
        two, three, four = iv(0), iv(0), iv(0)
        for u, v in itertools.product(z, y):
            both = [s * t for s, t in zip(u, v, strict=True)]
            M = [x - dot(w, both) for x in both]
            two, three = two + self.product(M, M), three + self.product(M, u, v)
            four += self.product(u, u, v, v)
        two, four = self.corrected(2, two), self.corrected(4, four)
        return clip(two - 2 * three + four + plus_minus(self.error(3) * (two + four)), 0)

    def falling(self, V: Matrix) -> tuple[I, I]:
        """Bounds of the mean square and the collision probability for every length from L on."""
        if self.L < 3:
            raise NotProved("moments: for three tokens and more")

        def inverse(n: int, k: int) -> I:
            """E Z^-k for n tokens."""
            total = summed(phi * rate**k for phi, rate in zip(self.powers(n), self.rates, strict=True))
            return self.corrected(k, total * (self.h / math.factorial(k - 1)), n)

        second, spread, sizes = iv(0), iv(0), iv(0)
        for w, members in zip(self.w, self.groups, strict=True):
            mass = sum(self.masses[i] for i in members)
            size = summed(norm2(times(V, self.y[i])) * self.masses[i] for i in members)
            second, spread = second + square(w) * mass, spread + square(w) * size
            sizes += square(w) * root(size * mass)
        once = inverse(self.L - 1, 2) * self.L
        return once * spread + square(sizes) * inverse(self.L - 2, 4) * (6 * self.L**2), once * second
