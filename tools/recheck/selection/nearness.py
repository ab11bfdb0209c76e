"""Steps 5 to 8 of docs/claims/selection/joint-max-margin.md: how near minimisers are to a stated head and attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import intervals
from functions import exp, log
from intervals import I, absolute, clip, iv, largest, root, smallest, square, summed
from matrices import scaled, times, transposed
from outcomes import Undecided
from vectors import dot, minus, norm2


@dataclass(frozen=True)
class Pairs:
    """Of every input: the chosen row of Y x, and for each other token w, z and its softmax weight."""

    chosen: list[list[Any]]
    w: list[list[list[Any]]]
    z: list[list[list[Any]]]
    s: list[list[Any]]


def size(v: Sequence[Any]) -> Any:
    """|v|, to as many digits as its largest entry is known."""
    most = largest([absolute(iv(x)) for x in v])
    return most * root(norm2([iv(x) / most for x in v])) if most.a > 0 else root(norm2(v))


def sign(x: Any) -> bool:
    """Whether x is positive, or proved not to be."""
    x = iv(x)
    if x.a <= 0 < x.b:
        raise Undecided("a sign")
    return x.a > 0


def mean(weights: Sequence[Any], rows: list[list[Any]], like: Sequence[Any]) -> list[Any]:
    """sum of weights times rows; zeros without rows"""
    return times(transposed(rows), weights) if rows else [iv(0) for _ in like]


def farthest(m: Any, h: Any, s: Any) -> I:
    """The largest x with m x^2 / 2 <= h x + s."""
    return (h + root(square(h) + 2 * m * s)) / m


def off(pull: list[Any], k: Any, x: Sequence[Any]) -> Any:
    """|pull - k x|"""
    return size(minus(pull, scaled(k, [list(x)])[0]))


class Near:
    """D, the e_i and D' for v and p with |v|^2 = r^2 - spare and so on; G_i >= -floor at minimisers."""

    def __init__(self, loss: str, norms: Any, hats: Any, spare: Any, pairs: Pairs, floors: list[Any]) -> None:
        self.loss, (r, self.R), (self.v, self.p) = loss, norms, hats
        self.spare, self.of, self.n = [clip(iv(x), low=0) for x in spare], pairs, range(len(pairs.chosen))
        self.g = [[dot(w, self.v) for w in rows] for rows in pairs.w]
        self.wide = [largest([iv(0), *(size(w) for w in rows)]) for rows in pairs.w]
        self.deep = [largest([iv(0), *(size(z) for z in rows)]) for rows in pairs.z]
        self.gamma = [iv(dot(row, self.v)) for row in pairs.chosen]
        self.G = [iv(dot(s, g)) for s, g in zip(pairs.s, self.g, strict=True)]
        self.moved = [mean(s, w, self.v) for s, w in zip(pairs.s, pairs.w, strict=True)]
        self.rest = [summed(s) for s in pairs.s]
        self.rows = rows = [minus(x, y) for x, y in zip(pairs.chosen, self.moved, strict=True)]
        self.m = [self.slope(c - G) for c, G in zip(self.gamma, self.G, strict=True)]
        pull = mean(self.m, pairs.chosen, self.v)
        k = size(pull) / r
        lost = summed(m * (G + f) for m, G, f in zip(self.m, self.G, floors, strict=True))
        self.D = farthest(k, off(pull, k, self.v), k * self.spare[0] / 2 + lost)
        self.far_by(lambda row: self.D * size(row))
        pull = mean(self.m, rows, self.v)
        self.k = size(pull) / r
        self.off_v, self.reach = off(pull, self.k, self.v), None
        self.z = [[minus(x, mean(s, z, self.p)) for x in z] for s, z in zip(pairs.s, pairs.z, strict=True)]
        turns = zip(pairs.s, self.g, self.z, strict=True)
        self.turn = [mean([x * y for x, y in zip(s, g, strict=True)], z, self.p) for s, g, z in turns]
        for _ in range(4):
            self.attend()
            self.narrow_head()
            self.narrow_attention()
        self.attend()

    def far_by(self, bound: Callable[[Sequence[Any]], I]) -> None:
        """By how much products with v can differ from those with the stated head."""
        self.far = [[bound(w) for w in rows] for rows in self.of.w]
        self.far_top, self.far_moved, self.far_here = (
            [bound(x) for x in xs] for xs in (self.of.chosen, self.moved, self.rows)
        )

    def slope(self, y: Any) -> I:
        """-l'(y)"""
        return exp(-y) if self.loss == "exponential" else exp(-y) / (1 + exp(-y))

    def gaps(self, i: int) -> tuple[I, I]:
        """The least and the largest g of input i at a minimiser."""
        pairs = list(zip(self.g[i], self.far[i], strict=True))
        return smallest([g - x for g, x in pairs]), largest([g + x for g, x in pairs])

    def good(self, i: int) -> bool:
        """Whether the chosen token of input i has the largest score at every minimiser."""
        return not self.g[i] or sign(self.gaps(i)[0])

    def share(self, i: int) -> I:
        """The most weight on other tokens, between p and its hat."""
        return largest([self.e[i], self.rest[i]])

    def attend(self) -> None:
        """The e_i, and how far softmax weights can be from their hats."""
        total = iv(0)
        for i in self.n:
            if not self.good(i):
                total += exp(self.G[i] + self.far_here[i] - self.gamma[i])
                continue
            power = exp(self.far_top[i] - self.gamma[i])
            rise = power * (exp(self.G[i] + self.far_moved[i]) - 1)
            total += rise if self.loss == "exponential" else log(1 + rise / (1 + power))
        total = clip(total, low=0)
        self.e, self.change, self.cost = [iv(0) for _ in self.n], [iv(0) for _ in self.n], {}
        for i in (i for i in self.n if self.g[i]):
            self.e[i] = iv(1)
            # More than that bounds no weight, and has no exponential here.
            if self.good(i) and total.a < intervals.P << intervals.P:
                power = exp(self.gamma[i] + self.far_top[i])
                rise = power * total if self.loss == "exponential" else (exp(total) - 1) * (1 + power)
                self.cost[i] = log(1 + rise)
                self.e[i] = smallest([1, self.cost[i] / self.gaps(i)[0]])
            turned = None if self.reach is None else 2 * self.deep[i] * self.reach
            if turned is not None and turned.a < intervals.P << intervals.P:
                self.e[i] = smallest([self.e[i], self.rest[i] * exp(turned)])
            changes = [self.e[i] + self.rest[i], summed(largest([s, self.e[i]]) for s in self.of.s[i])]
            self.change[i] = smallest(changes if turned is None else [*changes, self.share(i) * turned])

    def narrow_head(self) -> None:
        """D, from the loss under the same attention."""
        least, weights, slopes, kept = self.k, [], [], Fraction(31, 32)
        powers = [self.change[i] * largest([iv(0), *(absolute(iv(g)) for g in self.g[i])]) for i in self.n]
        furthest = [largest([iv(0), *self.far[i]]) for i in self.n]
        for i in self.n:
            most = [self.m[i] * exp(powers[i])]
            if i in self.cost:
                most.append(self.slope(self.gamma[i] - self.cost[i] - self.e[i] * furthest[i]))
            slopes.append(smallest(most))
            away = powers[i] + self.far_here[i] + self.change[i] * furthest[i]
            weight = self.m[i] * exp(-away)
            if self.loss == "logistic":
                weight = weight / (1 + exp(away - self.gamma[i] + self.G[i]))
            weights.append(weight * kept)
            least -= weight * square(self.change[i] * self.wide[i]) * (kept / (1 - kept))
        if not sign(least):
            return
        dual, longest = metric(least, weights, self.rows)
        h = self.off_v / root(least)
        for i in self.n:
            there = dual(self.rows[i])
            h += smallest([self.m[i] * (exp(powers[i]) - 1), self.m[i] + slopes[i]]) * there
            h += slopes[i] * self.change[i] * largest([iv(0), *map(dual, self.of.w[i])])
        radius = farthest(iv(1), h, self.k * self.spare[0] / 2)
        self.D = smallest([self.D, radius * longest])
        self.far_by(lambda row: smallest([self.D * size(row), radius * dual(row)]))

    def narrow_attention(self) -> None:
        """D', from the loss under the same head, where it is convex enough in p."""
        pull, bend, weights, convex = [iv(0) for _ in self.p], iv(0), [], []
        several = [i for i in self.n if self.g[i]]
        for i in several:
            pull = [a + self.m[i] * b for a, b in zip(pull, self.turn[i], strict=True)]
            low, high = self.gaps(i)
            found = (1 - self.share(i)) * low - self.share(i) * high
            if self.good(i) and sign(found):
                weight = self.slope(self.gamma[i] + self.far_top[i]) * found * (1 - self.share(i))
                weights += [(weight * s, self.deep[i]) for s in self.of.s[i]]
                convex.append(i)
            else:
                low, high = smallest([low, 0]), largest([high, 0])
                bend += exp(high + self.far_top[i] - self.gamma[i]) * (high - low) * square(self.deep[i])
        along = size(pull) / self.R
        if not sign(along - bend):
            return
        still, spare = off(pull, along, self.p), along * self.spare[1] / 2
        bounds = [] if self.reach is None else [self.reach]
        bounds.append(farthest(along - bend, still + self.uncertain(several, size), spare))
        for n in range(-6, 1) if convex == several else ():
            radius = Fraction(2) ** n
            here = [w * exp(-2 * deep * radius) for w, deep in weights]
            dual, longest = metric(along, here, [z for i in convex for z in self.of.z[i]])
            h = still / root(along) + self.uncertain(several, dual)
            found = farthest(iv(1), h, spare) * longest
            if sign(radius - found):
                bounds.append(found)
                break
        self.reach = smallest(bounds)

    def uncertain(self, inputs: list[int], long: Callable[[Sequence[Any]], I]) -> I:
        """How far the pull at the stated attention can be from that under the stated head."""
        total = iv(0)
        for i in inputs:
            power = exp(self.far_here[i])
            terms = zip(self.of.s[i], self.far[i], self.z[i], strict=True)
            lever = summed(s * far * long(z) for s, far, z in terms)
            total += self.m[i] * ((power - 1) * long(self.turn[i]) + power * lever)
        return total


def metric(least: I, weights: list[Any], rows: list[Any]) -> tuple[Callable[[Sequence[Any]], I], I]:
    """For |x|_H^2 = least |x|^2 + sum of weights times squared products with rows: a bound of <x, row> / |x|_H as a
    function of the row, and of |x| / |x|_H. By H = least LL', L with a positive diagonal."""
    n = len(rows[0])
    L: list[list[I]] = [[iv(0) for _ in range(n)] for _ in range(n)]
    ratios = [w / least for w in weights]
    for j in range(n):
        for k in range(j + 1):
            entry = summed(w * x[j] * x[k] for w, x in zip(ratios, rows, strict=True)) + int(j == k)
            entry -= dot(L[j][:k], L[k][:k]) if k else 0
            L[j][k] = root(largest([entry, iv(1)])) if j == k else entry / L[k][k]

    def solved(row: Sequence[Any]) -> list[I]:
        """L^-1 row"""
        found: list[I] = []
        for j in range(n):
            found.append((iv(row[j]) - (dot(L[j][:j], found) if j else 0)) / L[j][j])
        return found

    units = [solved([iv(int(j == k)) for j in range(n)]) for k in range(n)]
    trace = summed(norm2(x) for x in units)
    return lambda row: size(solved(row)) / root(least), smallest([root(trace), 1]) / root(least)


def cosine(point: Sequence[Any], u: Sequence[Any], distance: Any) -> I | None:
    """The least cosine with u of what is so near to the point; None where that is too far. |u|^2 may be any number."""
    along = iv(dot(point, u)) / size(u)
    part = dot(point, u) / norm2(u)
    across = size(minus(point, [part * x for x in u]))
    if not sign(along - distance):
        return None
    return 1 / root(1 + square((across + distance) / (along - distance)))
