"""Softmax sums over the tokens of a prompt, for many queries, as they come out of binary64.

For scores s_i = <a, k_i> of one query a and an integer K near max s_i / ln 2,

    w_i = 2^-K e^{s_i},   Z = sum w_i,   M = sum w_i v_i,   E = sum w_i |k_i|,   S = sum w_i v_i x_i'

(x_i is v_i or k_i). Nothing here is proved: `enclosures` bounds what was rounded. It needs to know
how many roundings lie on any path of a sum, which is what `roundings` counts, and how many tokens
had their score raised to (K - 1000) ln 2, so that no weight underflows.

K is the largest of the blocks so far; when it grows, earlier sums are multiplied by a power of
two, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from certattn.kernel.arithmetic.binary64.exponential import SCORE_LIMIT, Work, exp_shifted
from certattn.kernel.arithmetic.binary64.rows import Block, Floats
from certattn.kernel.arithmetic.binary64.units import UNDERFLOW, UNIT
from certattn.kernel.errors import RefusedError

LN2 = math.log(2.0)
# Weights below 2^-1000 of the largest are raised to it.
DEPTH = 1000
# Rows that are added up in one product, and in one product of second moments.
_INNER = 128
_INNER_SECOND = 1024
# Doubles in a table of scores, and in a block of tokens: what is used again stays in the cache.
_TABLE = 2**16
_BLOCK = 2**17
_MOST_ROWS = 8192
_FEWEST_ROWS = 256


def block_rows(queries: int, columns: int) -> int:
    """How many tokens to take at a time, for so many queries and so many numbers per token."""
    return max(_FEWEST_ROWS, min(_MOST_ROWS, _TABLE // queries, _BLOCK // columns))


def norm_bounds(rows: Floats, out: Floats | None = None) -> Floats:
    """Upper bounds of the Euclidean norms of the rows."""
    dimension = rows.shape[1]
    squares: Floats = np.vecdot(rows, rows, out=out)
    squares += 4 * dimension * UNDERFLOW
    np.sqrt(squares, out=squares)
    squares *= 1 + (dimension + 8) * 1.01 * UNIT + 2.0**-45
    return squares


@dataclass
class Scratch:
    """Arrays that one thread uses again and again for m queries and up to k tokens."""

    queries: int
    tokens: int
    scores: Floats = field(init=False)
    weights: Floats = field(init=False)
    norms: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.scores = np.empty(self.queries * self.tokens)
        self.weights = np.empty(self.queries * self.tokens)
        self.norms = np.empty(self.tokens)
        self._work: dict[int, Work] = {}

    def tables(self, tokens: int) -> tuple[Floats, Floats, Work]:
        """Scores, weights and the exponential's room for m queries and this many tokens."""
        shape = (self.queries, tokens)
        if tokens not in self._work:
            self._work = {tokens: Work(shape)}
        size = self.queries * tokens
        return self.scores[:size].reshape(shape), self.weights[:size].reshape(shape), self._work[tokens]


class Sums:
    """What has been added up for m queries; dimensions d of keys and d_v of values.

    exponent  K (m), whole numbers           normaliser  Z (m)
    moment    M (m x d_v)                    drift       E (m)
    second    S by query, d_v x d_v or d_v x d, for the queries in `with_second`; key_moment sum w_i k_i for them
    key_norm  max |k_i|, rounded up          low, high   least and largest value, by column or over all
    depth     additions on the longest path from the sums of one block to these
    """

    def __init__(self, queries: Floats, values: int, with_second: tuple[int, ...], second_of_keys: bool) -> None:
        count, dimension = queries.shape
        self.queries = queries
        self.exponent = np.full(count, -np.inf)
        self.normaliser = np.zeros(count)
        self.moment = np.zeros((count, values))
        self.drift = np.zeros(count)
        self.second_of_keys = second_of_keys
        self.second = {index: np.zeros((values, dimension if second_of_keys else values)) for index in with_second}
        self.key_moment = {index: np.zeros((1, dimension)) for index in (with_second if second_of_keys else ())}
        self.key_norm = 0.0
        self.low, self.high = np.full(values, np.inf), np.full(values, -np.inf)
        self.tokens = self.clamped = self.depth = 0
        self.largest_block = 0

    @property
    def roundings(self) -> int:
        """On any path from a product to Z, M or E."""
        return min(_INNER, self.largest_block) + -(-self.largest_block // _INNER) + self.depth + 8

    @property
    def second_roundings(self) -> int:
        """On any path from a product to S."""
        inner = min(_INNER_SECOND, self.largest_block)
        return inner + -(-self.largest_block // _INNER_SECOND) + self.depth + 10

    @property
    def drift_roundings(self) -> int:
        return self.largest_block + self.depth + 8

    def add(self, block: Block, scratch: Scratch, norms: Floats | None = None) -> None:
        """Take a block of tokens in. `norms`: upper bounds of |k_i| where they are known."""
        keys, values = block.keys, block.values
        tokens = len(keys)
        scores, weights, work = scratch.tables(tokens)
        if len(scores) == 1:
            np.dot(keys, self.queries[0], out=scores[0])  # the faster call for one query
        else:
            np.matmul(self.queries, keys.T, out=scores)
        # After the scores: they have brought the keys into the cache, in the fastest way.
        if norms is None:
            norms = norm_bounds(keys, scratch.norms[:tokens])
        largest, least = scores.max(axis=1), float(scores.min())
        # Written so that a NaN refuses.
        if not (float(largest.max()) <= SCORE_LIMIT and least >= -SCORE_LIMIT):
            raise RefusedError(f"scores beyond +-{SCORE_LIMIT:g}, or numbers that are not finite")
        exponent = np.floor(largest / LN2)
        floor = (exponent - DEPTH) * LN2
        if least < floor.max():
            np.maximum(scores, floor[:, None], out=scores)
            self.clamped += tokens
        exp_shifted(scores, exponent[:, None], weights, work)
        new = self._rescale(exponent)
        self.normaliser += _inner_sums(weights) * new
        self.moment += _inner_products(weights, values) * new[:, None]
        self.drift += (weights @ norms) * new
        for index, moment in self.key_moment.items():
            moment += _inner_products(weights[index : index + 1], keys) * new[index]
        for index, second in self.second.items():
            right = keys if self.second_of_keys else values
            for first in range(0, tokens, _INNER_SECOND):
                part = slice(first, first + _INNER_SECOND)
                second += ((values[part] * weights[index, part, None]).T @ right[part]) * new[index]
        self._note(block, norms)
        self.tokens += tokens
        self.depth += 1
        self.largest_block = max(self.largest_block, tokens)

    def merge(self, other: Sums) -> None:
        """Take in what another thread has added up."""
        new = self._rescale(other.exponent)
        self.normaliser += other.normaliser * new
        self.moment += other.moment * new[:, None]
        self.drift += other.drift * new
        for mine, others in ((self.second, other.second), (self.key_moment, other.key_moment)):
            for index, sums in mine.items():
                sums += others[index] * new[index]
        self.key_norm = float(np.maximum(self.key_norm, other.key_norm))
        np.minimum(self.low, other.low, out=self.low)
        np.maximum(self.high, other.high, out=self.high)
        self.tokens += other.tokens
        self.clamped += other.clamped
        self.depth = max(self.depth, other.depth) + 1
        self.largest_block = max(self.largest_block, other.largest_block)

    def _rescale(self, exponent: Floats) -> Floats:
        """Bring the sums to the larger of both exponents; the factors that sums in `exponent` take."""
        common = np.maximum(self.exponent, exponent)
        # Of the first block the old sums are zeros, and their exponent is -inf.
        old = np.ldexp(1.0, np.maximum(self.exponent - common, -DEPTH).astype(np.int64))
        new = np.ldexp(1.0, np.maximum(exponent - common, -DEPTH).astype(np.int64))
        self.exponent = common
        if (old != 1).any():
            self.normaliser *= old
            self.moment *= old[:, None]
            self.drift *= old
            for table in (self.second, self.key_moment):
                for index, sums in table.items():
                    sums *= old[index]
        return new

    def _note(self, block: Block, norms: Floats) -> None:
        """The largest norm of a key and the range of the values."""
        # max and min give NaN on to whoever looks: nothing that is not finite gets lost.
        largest = norms.max()
        self.key_norm = float(np.maximum(self.key_norm, largest))
        if len(self.queries) * 4 >= block.values.shape[1]:
            low, high = block.values.min(axis=0), block.values.max(axis=0)
        else:
            # Norms bound every coordinate: sharp enough for a few queries, and much faster.
            high = largest if block.values is block.keys else norm_bounds(block.values).max()
            low = -high
        np.minimum(self.low, low, out=self.low)
        np.maximum(self.high, high, out=self.high)


def _inner_sums(weights: Floats) -> Floats:
    """Row sums, in pieces of _INNER."""
    whole = weights.shape[1] // _INNER * _INNER
    total: Floats = weights[:, :whole].reshape(len(weights), -1, _INNER).sum(axis=2).sum(axis=1)
    if whole < weights.shape[1]:
        total = total + weights[:, whole:].sum(axis=1)
    return total


def _inner_products(weights: Floats, values: Floats) -> Floats:
    """weights @ values, in pieces of _INNER rows."""
    count, tokens = weights.shape
    whole = tokens // _INNER * _INNER
    total = np.zeros((count, values.shape[1]))
    if whole:
        left = weights[:, :whole].reshape(count, -1, _INNER).transpose(1, 0, 2)
        right = values[:whole].reshape(-1, _INNER, values.shape[1])
        total = np.matmul(left, right).sum(axis=0)
    if whole < tokens:
        total = total + weights[:, whole:] @ values[whole:]
    return total
