"""Steps 5 to 8 of docs/claims/selection/joint-max-margin.md: how near minimisers are to a stated head and attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
        self.long = [[size(w) for w in rows] for rows in pairs.w]
        self.gamma = [iv(dot(row, self.v)) for row in pairs.chosen]
        self.top = [size(row) for row in pairs.chosen]
        self.G = [iv(dot(s, g)) for s, g in zip(pairs.s, self.g, strict=True)]
        moved = [mean(s, w, self.v) for s, w in zip(pairs.s, pairs.w, strict=True)]
        self.moved, self.rest = [size(x) for x in moved], [summed(s) for s in pairs.s]
        rows = [minus(x, y) for x, y in zip(pairs.chosen, moved, strict=True)]
        self.here = [size(x) for x in rows]
        self.m = [self.slope(c - G) for c, G in zip(self.gamma, self.G, strict=True)]
        pull = mean(self.m, pairs.chosen, self.v)
        k = size(pull) / r
        lost = summed(m * (G + f) for m, G, f in zip(self.m, self.G, floors, strict=True))
        self.D = farthest(k, off(pull, k, self.v), k * self.spare[0] / 2 + lost)
        pull = mean(self.m, rows, self.v)
        k = size(pull) / r
        self.attend()
        for _ in range(2):
            h = off(pull, k, self.v) + summed(self.turned(i) for i in self.n if pairs.w[i])
            self.D = smallest([self.D, farthest(k, h, k * self.spare[0] / 2)])
            self.attend()

    def slope(self, y: Any) -> I:
        """-l'(y)"""
        return exp(-y) if self.loss == "exponential" else exp(-y) / (1 + exp(-y))

    def gaps(self, i: int) -> tuple[I, I]:
        """The least and the largest g of input i at a minimiser."""
        low = [g - self.D * x for g, x in zip(self.g[i], self.long[i], strict=True)]
        return smallest(low), largest([g + self.D * x for g, x in zip(self.g[i], self.long[i], strict=True)])

    def good(self, i: int) -> bool:
        """Whether the chosen token of input i has the largest score at every minimiser."""
        return not self.g[i] or sign(self.gaps(i)[0])

    def attend(self) -> None:
        """The e_i."""
        self.A = iv(0)
        for i in self.n:
            if not self.good(i):
                self.A += exp(self.G[i] + self.D * self.here[i] - self.gamma[i])
                continue
            power = exp(self.D * self.top[i] - self.gamma[i])
            rise = power * (exp(self.G[i] + self.D * self.moved[i]) - 1)
            self.A += rise if self.loss == "exponential" else log(1 + rise / (1 + power))
        self.A = clip(self.A, low=0)
        self.e = [iv(1) if not self.good(i) else self.cost(i) / self.gaps(i)[0] if self.g[i] else iv(0) for i in self.n]

    def cost(self, i: int) -> I:
        """An upper bound of G_i, for a good input."""
        power = exp(self.gamma[i] + self.D * self.top[i])
        return log(1 + (power * self.A if self.loss == "exponential" else (exp(self.A) - 1) * (1 + power)))

    def turned(self, i: int) -> I:
        """How far m r of input i can be from its hat, for v^ and the attention of a minimiser."""
        change, widest = self.e[i] + self.rest[i], largest(self.long[i])
        power = exp(change * largest([absolute(iv(g)) for g in self.g[i]]))
        most, bounds = self.m[i] * power, [self.m[i] * (power - 1) * self.here[i]]
        if self.good(i):
            most = smallest([most, self.slope(self.gamma[i] - self.cost(i) - self.e[i] * self.D * widest)])
            bounds.append((most + self.m[i]) * self.here[i])
        return smallest(bounds) + most * change * widest

    def reach(self) -> I | None:
        """D', where the loss is convex enough in p."""
        pull, h, bend = [iv(0) for _ in self.p], iv(0), iv(0)
        for i in self.n:
            if not self.g[i]:
                continue
            s, z = self.of.s[i], self.of.z[i]
            centred = [minus(x, mean(s, z, self.p)) for x in z]
            turn = mean([a * b for a, b in zip(s, self.g[i], strict=True)], centred, self.p)
            pull = [a + self.m[i] * b for a, b in zip(pull, turn, strict=True)]
            power = exp(self.D * self.here[i])
            lever = summed(a * b * size(c) for a, b, c in zip(s, self.long[i], centred, strict=True))
            h += self.m[i] * ((power - 1) * size(turn) + power * self.D * lever)
            low, high = self.gaps(i)
            share = largest([self.e[i], self.rest[i]])
            if not (self.good(i) and sign((1 - share) * low - share * high)):
                low, high = smallest([low, 0]), largest([high, 0])
                power = exp(high + self.D * self.top[i] - self.gamma[i])
                bend += power * (high - low) * square(largest([size(x) for x in z]))
        k = size(pull) / self.R
        return farthest(k - bend, off(pull, k, self.p) + h, k * self.spare[1] / 2) if sign(k - bend) else None


def cosine(point: Sequence[Any], u: Sequence[Any], distance: Any) -> I | None:
    """The least cosine with u of what is so near to the point; None where that is too far. |u|^2 may be any number."""
    along = iv(dot(point, u)) / size(u)
    part = dot(point, u) / norm2(u)
    across = size(minus(point, [part * x for x in u]))
    if not sign(along - distance):
        return None
    return 1 / root(1 + square((across + distance) / (along - distance)))
