"""Means over random prompts of tokens that are finitely many, in doubles: a second opinion.

A product of weighted sums, f_j a number for every token, is sorted by which of its factors take the same token:

    E prod_j sum_i p_i f_j(x_i) = sum over partitions of L (L-1) .. (L-b+1) / Gamma(k) int prod_blocks Psi phi^(L-b) dt

with Psi = E (lambda w)^size (product of the block's f) e^(-lambda w), by the trapezoid rule in t = log lambda. Matrices
are taken entry by entry, which the checker does not do.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tools.truth import random_prompts
from tools.truth.random_prompts import Array, Points

_STEP = 0.05
_MOST_TOKENS = 5_000
# What doubles are trusted with, relative to the largest error of a token.
MARGIN = 1e-11


def is_finite(law: random_prompts.Law) -> bool:
    return all(isinstance(part, Points) for _, part in law)


@dataclass(frozen=True)
class FiniteMeans:
    """L tokens, weighted by the tilt; z = V y, y = x - tau."""

    law: random_prompts.Law
    tilt: tuple[float, ...]
    values: Array
    length: int

    @cached_property
    def _tokens(self) -> tuple[Array, Array]:
        return random_prompts._all_nodes(self.law)

    @property
    def fits(self) -> bool:
        """Whether doubles can say it."""
        masses, tokens = self._tokens
        scores = tokens @ np.array(self.tilt)
        return len(masses) <= _MOST_TOKENS and bool(np.ptp(scores) < 60) and self.length < 10**9

    @cached_property
    def _weights(self) -> Array:
        return np.exp(self._tokens[1] @ np.array(self.tilt) - random_prompts.log_mgf(self.law, self.tilt))

    @cached_property
    def _grid(self) -> tuple[Array, Array, Array]:
        """lambda, e^(-lambda w), and log phi."""
        w, size = self._weights, math.log(self.length)
        t = np.arange(-size - math.log(w.max()) - 22, 5 - size - math.log(w.min()), _STEP)
        rates = np.exp(t)
        outer = np.outer(rates, w)
        small = np.expm1(-outer) @ self._tokens[0]
        decays = np.exp(-outer)
        plain = np.maximum(decays @ self._tokens[0], 1e-300)
        return rates, decays, np.where(small > -0.5, np.log1p(np.maximum(small, -0.9)), np.log(plain))

    def _sum(self, degree: int, blocks: Sequence[Array]) -> float:
        """One partition: a number for every token in every block, its size already a power of lambda w."""
        rates, decays, logs = self._grid
        if len(blocks) > self.length:
            return 0.0
        value = np.exp((self.length - len(blocks)) * logs) * rates**degree
        for block in blocks:
            value = value * (decays @ (self._tokens[0] * block))
        return math.perm(self.length, len(blocks)) * float(value.sum()) * _STEP / math.factorial(degree - 1)

    def product(self, *factors: Array) -> float:
        """E prod_j sum_i p_i f_j(x_i)."""
        w = self._weights
        return sum(
            self._sum(len(factors), [math.prod([w * factors[j] for j in block], start=np.ones(len(w)))
                                     for block in blocks])
            for blocks in partitions(list(range(len(factors))))
        )  # fmt: skip

    @cached_property
    def away(self) -> Array:
        """y, a row for every token."""
        return np.asarray(self._tokens[1] - random_prompts.tilted_mean(self.law, self.tilt))

    def mean_square(self) -> float:
        return sum(self.product(z, z) for z in (self.away @ self.values.T).T)

    def mean(self) -> list[float]:
        return [self.product(z) for z in (self.away @ self.values.T).T]

    def collision(self) -> float:
        return self._sum(2, [self._weights**2])

    def covariance_error(self) -> float:
        """E |V (C_L - C)|_F^2, entry by entry."""
        y, z = self.away, self.away @ self.values.T
        C = np.einsum("i,i,ij,ik->jk", self._tokens[0], self._weights, z, y)
        total = 0.0
        for j, k in itertools.product(range(z.shape[1]), range(y.shape[1])):
            u, v = z[:, j], y[:, k]
            M = u * v - C[j, k]
            total += self.product(M, M) - 2 * self.product(M, u, v) + self.product(u, u, v, v)
        return total

    def size(self) -> float:
        """The largest |y| or |z|^2 or so: what cancels is not larger."""
        return float(1 + (self.away**2).sum(axis=1).max() + ((self.away @ self.values.T) ** 2).sum(axis=1).max())

    def falling(self) -> tuple[float, float]:
        """Upper bounds of the mean square and the collision probability for every length from this one on."""
        if self.length < 3:
            return math.inf, math.inf
        rates, _, logs = self._grid
        masses, w = self._tokens[0], self._weights

        def inverse(tokens: int, degree: int) -> float:
            return float((np.exp(tokens * logs) * rates**degree).sum()) * _STEP / math.factorial(degree - 1)

        squares = masses * w**2
        z2 = ((self.away @ self.values.T) ** 2).sum(axis=1)
        by_score: dict[float, float] = {}
        for score, mass, square in zip(np.round(np.log(w), 9), masses, masses * z2, strict=True):
            both = by_score.setdefault(float(score), np.zeros(2))
            by_score[float(score)] = both + np.array([mass, square])
        sizes = sum(math.exp(2 * score) * math.sqrt(mass * square) for score, (mass, square) in by_score.items())
        first = self.length * inverse(self.length - 1, 2)
        pairs = 6 * self.length**2 * sizes**2 * inverse(self.length - 2, 4)
        return first * float(squares @ z2) + pairs, first * float(squares.sum())


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    *rest, last = items
    for blocks in partitions(rest):
        for index in range(len(blocks)):
            yield [*blocks[:index], [*blocks[index], last], *blocks[index + 1 :]]
        yield [*blocks, [last]]


def finite_means(law: Any, tilt: Sequence[float], values: Array, length: int) -> FiniteMeans | None:
    """Of a law in doubles, where it is finite and doubles can say it."""
    if not is_finite(law):
        return None
    found = FiniteMeans(law, tuple(map(float, tilt)), values, length)
    return found if found.fits else None
