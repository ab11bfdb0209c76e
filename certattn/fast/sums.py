"""Softmax sums over the tokens of a prompt, for many queries, as they come out of binary64.

For scores s_i = <a, k_i> of one query a and an integer K near max s_i / ln 2,

    w_i = 2^-K e^{s_i},  Z = sum w_i,  M = sum w_i v_i,  Q = sum w_i |k_i|^2,  S = sum w_i v_i x_i'

(x_i is v_i or k_i). Nothing here is proved: `enclosures` bounds what was rounded. It needs to know
how many roundings lie on any path of a sum, which is what `roundings` counts, and how many tokens
had their score raised to (K - 1000) ln 2, so that no weight underflows.

K is the largest of the blocks so far; when it grows, earlier sums are multiplied by a power of
two, exactly.
"""

from __future__ import annotations

import numpy as np

from certattn.fast.exponential import SCORE_LIMIT, exp_shifted
from certattn.fast.rows import Block, Floats, computed_squares, larger
from certattn.fast.scratch import Scratch
from certattn.kernel.errors import RefusedError

# ln 2, rounded to nearest.
LN2 = float.fromhex("0x1.62e42fefa39efp-1")
# Weights below 2^-1000 of the largest are raised to it.
DEPTH = 1000
# Rows that are added up in one product, and in one product of second moments.
_INNER = 256
_INNER_SECOND = 1024
_ONES = np.ones(_INNER)
# Doubles in a table of scores, and in a block of tokens: what is used again stays in the cache.
_TABLE = 2**15
_BLOCK = 2**19
_MOST_ROWS = 8192
_FEWEST_ROWS = 256


def block_rows(queries: int, columns: int) -> int:
    """How many tokens to take at a time, for so many queries and so many numbers per token."""
    return max(_FEWEST_ROWS, min(_MOST_ROWS, _TABLE // queries, _BLOCK // columns))


def require_reach(least: float, largest: float) -> None:
    """Raises RefusedError unless all scores are finite, and within what the exponential is proved for."""
    # Written so that a NaN refuses.
    if not (largest <= SCORE_LIMIT and least >= -SCORE_LIMIT):
        raise RefusedError(f"scores beyond +-{SCORE_LIMIT:g}, or numbers that are not finite")


class Sums:
    """What has been added up for m queries; dimensions d of keys and d_v of values.

    exponent     K (m), whole numbers
    normaliser   Z (m)
    moment       M (m x d_v)
    square       Q (m)
    second       S by query, d_v x d_v or d_v x d, for the queries in `with_second`; key_moment sum w_i k_i for them
    key_square   max |k_i|^2, as computed
    low, high    the least and the largest value by column, for many queries; for few, which this would
    value_square slow down, max |v_i|^2, as computed
    depth        additions on the longest path from the sums of one block to these
    """

    def __init__(self, queries: Floats, values: int, with_second: tuple[int, ...], second_of_keys: bool) -> None:
        if queries.dtype != np.float64:
            raise TypeError(f"queries in float64 are needed, not in {queries.dtype}")
        count, dimension = queries.shape
        self.queries = queries
        self._set_exponent(np.full(count, -np.inf))
        self.normaliser = np.zeros(count)
        self.moment = np.zeros((count, values))
        self.square = np.zeros(count)
        self.second_of_keys = second_of_keys
        self.second = {index: np.zeros((values, dimension if second_of_keys else values)) for index in with_second}
        self.key_moment = {index: np.zeros((1, dimension)) for index in (with_second if second_of_keys else ())}
        self.key_square = self.value_square = 0.0
        self.by_column = count * 4 >= values
        self.low, self.high = np.full(values, np.inf), np.full(values, -np.inf)
        self.tokens = self.clamped = self.depth = 0
        self.largest_block = 0

    @property
    def roundings(self) -> int:
        """On any path from a product to Z, M or key_moment."""
        return min(_INNER, self.largest_block) + -(-self.largest_block // _INNER) + self.depth + 8

    @property
    def second_roundings(self) -> int:
        """On any path from a product to S."""
        inner = min(_INNER_SECOND, self.largest_block)
        return inner + -(-self.largest_block // _INNER_SECOND) + self.depth + 10

    @property
    def square_roundings(self) -> int:
        """On any path from a product of a weight and a computed square to Q."""
        return self.largest_block + self.depth + 8

    def add(self, block: Block, scratch: Scratch) -> None:
        """Take a block of tokens in."""
        keys, values = block.keys, block.values
        tokens, shape = len(keys), (len(self.queries), len(keys))
        scores, weights = scratch.array("scores", *shape), scratch.array("weights", *shape)
        if len(scores) == 1:
            np.dot(keys, self.queries[0], out=scores[0])  # the faster call for one query
        else:
            np.matmul(self.queries, keys.T, out=scores)
        # After the scores: they have brought the keys into the cache, in the fastest way.
        squares = block.key_squares
        if squares is None:
            squares = computed_squares(keys, scratch.array("squares", tokens))
        largest, least = scores.max(axis=1), float(scores.min())
        require_reach(least, float(largest.max()))
        # No block has a smaller K than those before it: its weights are small instead, and no factor is needed.
        if (largest > self._top).any():
            self._rescale(np.floor(largest / LN2))
        if least < self._lowest:
            np.maximum(scores, self._floor, out=scores)
            self.clamped += tokens
        exp_shifted(scores, self._column, weights, scratch.work(*shape))
        self.normaliser += _inner_sums(weights)
        self.moment += _inner_products(weights, values)
        self.square += weights @ squares
        for index, moment in self.key_moment.items():
            moment += _inner_products(weights[index : index + 1], keys)
        for index, second in self.second.items():
            second += _second_moment(values, weights[index], keys if self.second_of_keys else values)
        self._note(block, float(squares.max()))
        self.tokens += tokens
        self.depth += 1
        self.largest_block = max(self.largest_block, tokens)

    def merge(self, other: Sums) -> None:
        """Take in what another thread, or an earlier pass, has added up."""
        self._rescale(other.exponent)
        new = power_of_two(other.exponent - self.exponent)
        self.normaliser += other.normaliser * new
        self.moment += other.moment * new[:, None]
        self.square += other.square * new
        for mine, others in ((self.second, other.second), (self.key_moment, other.key_moment)):
            for index, sums in mine.items():
                sums += others[index] * new[index]
        self.key_square = larger(self.key_square, other.key_square)
        self.value_square = larger(self.value_square, other.value_square)
        np.minimum(self.low, other.low, out=self.low)
        np.maximum(self.high, other.high, out=self.high)
        self.tokens += other.tokens
        self.clamped += other.clamped
        self.depth = max(self.depth, other.depth) + 1
        self.largest_block = max(self.largest_block, other.largest_block)

    def _rescale(self, exponent: Floats) -> None:
        """Bring the sums to the larger of both exponents."""
        if not (exponent > self.exponent).any():
            return
        common = np.maximum(self.exponent, exponent)
        old = power_of_two(self.exponent - common)
        self.normaliser *= old
        self.moment *= old[:, None]
        self.square *= old
        for table in (self.second, self.key_moment):
            for index, sums in table.items():
                sums *= old[index]
        self._set_exponent(common)

    def _set_exponent(self, exponent: Floats) -> None:
        """K, and what follows from it: the scores up to which it may stay, and below which they are raised."""
        self.exponent = exponent
        self._column = exponent[:, None]
        self._top: Floats = (exponent + 1) * LN2
        self._floor: Floats = (self._column - DEPTH) * LN2
        self._lowest = float(self._floor.max())

    def _note(self, block: Block, largest: float) -> None:
        """The largest norm of a key and the range of the values. What is not finite does not get lost."""
        self.key_square = larger(self.key_square, largest)
        if self.by_column:
            np.minimum(self.low, block.values.min(axis=0), out=self.low)
            np.maximum(self.high, block.values.max(axis=0), out=self.high)
        else:
            # Norms bound every coordinate: sharp enough for a few queries, and much faster.
            if block.values is not block.keys:
                largest = float(computed_squares(block.values).max())
            self.value_square = larger(self.value_square, largest)


def power_of_two(exponent: Floats) -> Floats:
    """2^exponent for whole numbers <= 0, exactly, but not less than 2^-1000; sums that are zero have -inf."""
    return np.ldexp(1.0, np.maximum(exponent, -DEPTH).astype(np.int64))


def _inner_sums(weights: Floats) -> Floats:
    """Row sums, in pieces of _INNER: products with ones, which are exact, are the fastest way."""
    count, tokens = weights.shape
    whole = tokens // _INNER * _INNER
    pieces = weights[:, :whole].reshape(-1, _INNER) @ _ONES[:_INNER]
    total: Floats = pieces.reshape(count, -1).sum(axis=1)
    if whole < tokens:
        total = total + weights[:, whole:] @ _ONES[: tokens - whole]
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


def _second_moment(left: Floats, weights: Floats, right: Floats) -> Floats:
    """sum w_i l_i r_i', in pieces of _INNER_SECOND rows."""
    total = np.zeros((left.shape[1], right.shape[1]))
    for first in range(0, len(weights), _INNER_SECOND):
        part = slice(first, first + _INNER_SECOND)
        total += (left[part] * weights[part, None]).T @ right[part]
    return total
