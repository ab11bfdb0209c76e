"""Scales, matrices of attention, and softmax means over a prompt that is given."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import intervals
from arrays import Matrix, Vector, matrix, vector
from fields import optional, refuse
from functions import exp, log
from intervals import I, absolute, clip, hull, iv, largest, root, summed
from matrices import identity, matmul, times, transposed
from outcomes import Rejected
from scalars import ROOT, rational, squared
from vectors import dot, integers, norm2


def scale_of(node: Any) -> tuple[Fraction, int]:
    """A scale as its square and its sign: a rational number that is not 0, or sqrt(p/q), or 1/sqrt(p/q)."""
    if isinstance(node, str) and ROOT.fullmatch(node):
        return squared(node, "scale"), 1
    value = Fraction(1) if node is None else rational(node, "scale")
    refuse(value == 0, "scale: 0")
    return value * value, 1 if value > 0 else -1


def rational_root(x: Fraction) -> Fraction | None:
    """The square root where it is rational."""
    p, q = math.isqrt(x.numerator), math.isqrt(x.denominator)
    return Fraction(p, q) if (p * p, q * q) == (x.numerator, x.denominator) else None


def scale_iv(scale: tuple[Fraction, int]) -> Any:
    """The scale: a rational number, or an interval around the root."""
    exact = rational_root(scale[0])
    return scale[1] * (root(scale[0]) if exact is None else exact)


def bilinear(g: dict[str, Any], d: int | None = None) -> tuple[Matrix, Matrix]:
    """U = K'Q and V of `given`, identities where left out, for tokens of dimension d."""
    refuse(g["U"] is not None and (g["K"] is not None or g["Q"] is not None), "given: U beside K or Q")
    V = identity(d or 0) if g["V"] is None else matrix(g["V"], "given.V", None, d)
    if g["U"] is not None:
        return matrix(g["U"], "given.U", d), V
    K = identity(d or 0) if g["K"] is None else matrix(g["K"], "given.K", None, d)
    return (transposed(K) if g["Q"] is None else matmul(transposed(K), matrix(g["Q"], "given.Q", len(K)))), V


class Prompt:
    """Keys and values of a prompt in one of its three forms, as integers over one denominator each."""

    def __init__(self, g: dict[str, Any]) -> None:
        """Read keys and values, or tokens with matrices."""
        self.act: Matrix | None = None  # what is applied to a stated query: Q or U
        if g["tokens"] is None:
            if any(g[key] is not None for key in "KQUV") or g["keys"] is None or g["values"] is None:
                raise Rejected("given: keys and values, or tokens with matrices")
            keys, values = matrix(g["keys"], "given.keys"), matrix(g["values"], "given.values")
            refuse(len(keys) != len(values), "given: another number of keys than of values")
            d = len(keys[0])
            n = d + len(values[0])
            self.U, self.V = [row[:d] for row in identity(n)], identity(n)[d:]
        else:
            if g["keys"] is not None or g["values"] is not None:
                raise Rejected("given: tokens beside keys or values")
            tokens = matrix(g["tokens"], "given.tokens")
            d = len(tokens[0])
            self.U, self.V = bilinear(g, d)
            if g["U"] is not None:
                self.act, keys = self.U, tokens
            else:
                K = optional(matrix, g["K"], "given.K", None, d)
                self.act = optional(matrix, g["Q"], "given.Q", d if K is None else len(K))
                keys = tokens if K is None else [times(K, x) for x in tokens]
            values = tokens if g["V"] is None else [times(self.V, x) for x in tokens]
        self.scale = scale_of(g["scale"])
        self.keys, self.dk = integers(keys)
        self.values, self.dv = integers(values)
        self.dim = len(self.act[0]) if self.act else len(self.keys[0])

    @classmethod
    def of(cls, keys: Matrix, values: Matrix, scale: tuple[Fraction, int]) -> Prompt:
        """Keys and values that have been read."""
        prompt = cls.__new__(cls)
        prompt.act, prompt.scale, prompt.dim = None, scale, len(keys[0])
        prompt.keys, prompt.dk = integers(keys)
        prompt.values, prompt.dv = integers(values)
        return prompt

    def some(self, tokens: Sequence[int]) -> Prompt:
        """Some of the tokens alone."""
        seen = copy.copy(self)
        seen.keys, seen.values = [self.keys[j] for j in tokens], [self.values[j] for j in tokens]
        return seen

    def acted(self, q: Vector) -> Vector:
        """The query as the keys see it."""
        return times(self.act, q) if self.act else q

    def sorted(self, q: Vector) -> list[int]:
        """The tokens from the largest score to the smallest: exactly, as scores are integers times one number."""
        (row,), _ = integers([self.acted(q)])
        return sorted(range(len(self.keys)), key=lambda i: -self.scale[1] * dot(self.keys[i], row))

    def softmax(self, q: Vector, seen: int | None = None) -> tuple[list[I], Any]:
        """e^(a_i - a_r) for all tokens, a_i their scores and r the one of the largest, and a_r."""
        (row,), d = integers([self.acted(q)])
        raw = [dot(k, row) for k in self.keys[:seen]]
        top = max(raw) if self.scale[1] > 0 else min(raw)
        factor = iv(scale_iv(self.scale) * Fraction(1, d * self.dk))
        exact = rational_root(self.scale[0])
        if exact is None:
            extra = max(abs(n - top) for n in raw).bit_length()  # the factor is tiny, and multiplied by large integers
            big = (d * self.dk) << extra
            wide = math.isqrt(
                (self.scale[0].numerator << (2 * intervals.P + 2 * extra + 64)) // self.scale[0].denominator
            )
            low, high = wide, wide + 2  # s 2^(P + extra + 32)
            ends = [((n - top) * low, (n - top) * high) for n in raw]
            scores = [I(min(e) // (big << 32), -(-max(e) // (big << 32))) for e in ends]
        else:
            scores = [iv(exact * self.scale[1] * Fraction(n - top, d * self.dk)) for n in raw]
        return [exp(x) for x in scores], (factor if exact is None else exact * self.scale[1] / (d * self.dk)) * top


PROMPT = "tokens keys values K Q U V scale"


def means(w: list[I], columns: list[list[int]], d: int) -> list[Any]:
    """The means of columns of integers over d under weights w > 0 that are not normalised.

    They are exact where all weights are the same, and where a column is constant.
    """
    equal = all(x.a == x.b == w[0].a for x in w)
    low, spread = [x.a for x in w], max(x.b - x.a for x in w)
    whole = summed(w)
    found: list[Any] = []
    for column in columns:
        seen = column[: len(w)]
        least, most = min(seen), max(seen)
        if equal or least == most:
            found.append(Fraction(sum(seen), len(w) * d))
            continue
        s, error = dot(low, seen), spread * len(w)  # weights are by `spread` larger than their lower ends at most
        found.append(I((s + error * min(least, 0)) // d, -(-(s + error * max(most, 0)) // d)) / whole)
    return found


def entropy(w: list[I]) -> Any:
    """-sum p log p, term by term, for p = w / sum w; exactly 0 for one token."""
    if len(w) == 1:
        return Fraction(0)
    whole, third = summed(w), Fraction(1, 3)
    terms = []
    for p in (clip(x / whole, 0, 1) for x in w):
        # -log falls; -p log p is between 0 and 3/8, and rises up to p = 1/e.
        if p.a > 0:
            terms.append(p * -log(p))
        else:
            top = I(p.b, p.b)
            terms.append(hull(0, top * -log(top)) if p.b <= iv(third).a else hull(0, Fraction(3, 8)))
    return clip(summed(terms), 0)


def mass(w: list[I], tokens: Sequence[int]) -> Any:
    """What these tokens have of the weights; exactly where it is all of them, or where all weights are the same."""
    if len(tokens) == len(w) or all(x.a == x.b == w[0].a for x in w):
        return Fraction(len(tokens), len(w))
    return clip(summed(w[i] for i in tokens) / summed(w), 0, 1)


def one_for_each(node: Any, where: str, n: int) -> Vector:
    """One number for all, or a vector with one for each."""
    return [rational(node, where)] * n if isinstance(node, str) else vector(node, where, n)


def length_of(y: Sequence[Any], norm: str) -> I:
    """|y| in l2 or linf."""
    return root(norm2(y)) if norm == "l2" else largest([absolute(x) for x in y])
