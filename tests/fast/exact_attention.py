"""Softmax sums, means and covariances of doubles by Arb at 400 bits: what enclosures are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from certattn.fast.balls import Ball
from certattn.fast.enclosures import Enclosures
from certattn.fast.rows import Block, StoredRows
from certattn.fast.sums import A, Plan, Scratch, Wanted, sweep
from certattn.fast.tight import SplitQuery, TightEnclosures, TightlyWanted
from certattn.kernel.mathematics.balls import working_precision

Floats = NDArray[np.float64]
BITS = 400


def exact(array: Any) -> arb_mat:
    """A matrix of doubles, exactly; a vector as a row."""
    return arb_mat([[arb(x) for x in row] for row in np.atleast_2d(np.asarray(array, np.float64)).tolist()])


@dataclass(frozen=True)
class Truth:
    """At 400 bits: scores, weights e^s, their sum, and means under them."""

    scores: list[arb]
    weights: list[arb]
    normaliser: arb
    keys: arb_mat
    values: arb_mat

    @classmethod
    def of(cls, keys: Any, values: Any, query: Any, tail: Any = 0.0) -> Truth:
        with working_precision(BITS):
            effective = exact(query) + exact(np.zeros(np.shape(query)) + tail)
            matrix = exact(keys)
            scores = (matrix * effective.transpose()).entries()
            weights = [score.exp() for score in scores]
            return cls(scores, weights, sum(weights, arb(0)), matrix, exact(values))

    def _weighted(self) -> arb_mat:
        return arb_mat([[weight / self.normaliser for weight in self.weights]])

    def mean(self) -> list[arb]:
        with working_precision(BITS):
            return (self._weighted() * self.values).entries()

    def covariance(self, *, with_keys: bool = False) -> list[list[arb]]:
        with working_precision(BITS):
            right = self.keys if with_keys else self.values
            share = self._weighted()
            means, others = share * self.values, share * right
            tall = arb_mat([[p * x for x in row] for p, row in zip(share.entries(), self.values.tolist(), strict=True)])
            return (tall.transpose() * right - means.transpose() * others).tolist()


def worst(ball: Ball, truth: Any) -> float:
    """The largest |middle - truth| / radius of all entries: more than 1 is a false enclosure.

    An error of 0 counts 0, whatever the radius.
    """
    middles, radii = np.ravel(ball.middle).tolist(), np.ravel(ball.radius).tolist()
    entries = truth if isinstance(truth, list) else [truth]
    flat = [x for row in entries for x in (row if isinstance(row, list) else [row])]
    largest = 0.0
    with working_precision(BITS):
        for middle, radius, entry in zip(middles, radii, flat, strict=True):
            off = abs(arb(middle) - entry)
            if off == 0:
                continue
            ratio = float((off / arb(radius)).upper())
            # A NaN is worse than everything.
            largest = max(largest, ratio) if ratio == ratio else float("inf")
    return largest


def worst_of_normaliser(found: tuple[Any, Ball], truth: arb) -> float:
    """The same for 2^K z of one query."""
    exponent, ball = found
    with working_precision(BITS):
        return worst(ball, truth / arb(2) ** int(np.ravel(exponent)[0]))


def stored(array: Any, dtype: str | None = None) -> StoredRows:
    return StoredRows(np.asarray(array), dtype or np.asarray(array).dtype.name)


def swept(keys: Any, values: Any, queries: Any, radius: Any = 0.0, threads: int = 1, **options: Any) -> Enclosures:
    """Enclosures of the default tier; the same array as keys and values stays one."""
    first = stored(keys)
    wanted = Wanted(np.atleast_2d(np.asarray(queries, np.float64)), **options)
    sums = sweep([(first, first if values is keys else stored(values))], wanted, threads)
    return Enclosures(sums, np.broadcast_to(np.asarray(radius, np.float64), len(wanted.queries)))


def swept_tightly(keys: Any, values: Any, query: Any, tail: Any = None, radius: float = 0.0, threads: int = 1) -> Any:
    """Enclosures of the tight tier for one query."""
    first = stored(keys)
    head = np.asarray(query, np.float64)
    cut = SplitQuery.of(head, np.zeros_like(head) if tail is None else tail, radius)
    return TightEnclosures(sweep([(first, first if values is keys else stored(values))], TightlyWanted(cut), threads))


def one_by_one(plan: Plan[A], keys: Floats, values: Floats) -> A:
    """Sums over blocks of one token each: every addition is one of the longest path."""
    sums, scratch = plan.empty(values.shape[1]), Scratch()
    for index in range(len(keys)):
        part = slice(index, index + 1)
        key = keys[part]
        sums.add(Block(key, key if values is keys else values[part]), scratch)
    return sums
