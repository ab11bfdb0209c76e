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

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import prod
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from certattn.fast.exponential import DEPTH, LN2, SCORE_LIMIT, Work, exp_shifted, require_reach
from certattn.fast.rows import Block, StoredRows, blocks, computed_squares, larger
from certattn.fast.units import Floats, require_sound_arithmetic
from certattn.kernel.decide.floating_point import set_default

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

    def add(
        self,
        block: Block,
        scratch: Scratch,
        hidden: NDArray[np.bool_] | None = None,
        change: Callable[[Floats], None] | None = None,
    ) -> None:
        """Take a block of tokens in.

        hidden: a row for each query, with the tokens that it does not see. change: what is done to scores, in place.
        """
        keys, values = block.keys, block.values
        tokens, shape = len(keys), (len(self.queries), len(keys))
        scores, weights = scratch.array("scores", *shape), scratch.array("weights", *shape)
        if len(scores) == 1:
            np.dot(keys, self.queries[0], out=scores[0])  # the faster call for one query
        else:
            np.matmul(self.queries, keys.T, out=scores)
        # After the scores: they have brought the keys into the cache, in the fastest way.
        squares = computed_squares(keys, scratch.array("squares", tokens))
        if change is not None:
            change(scores)
        if hidden is not None:
            # What is not seen gets a score that changes nothing, and then the weight 0.
            np.copyto(scores, np.maximum(self._column * LN2, -SCORE_LIMIT), where=hidden)
        largest, least = scores.max(axis=1), float(scores.min())
        require_reach(least, float(largest.max()))
        # No block has a smaller K than those before it: its weights are small instead, and no factor is needed.
        if (largest > self._top).any():
            self._rescale(np.floor(largest / LN2))
        if least < self._lowest:
            np.maximum(scores, self._floor, out=scores)
            self.clamped += tokens
        exp_shifted(scores, self._column, weights, scratch.work(*shape))
        if hidden is not None:
            weights[hidden] = 0
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


@dataclass(frozen=True)
class Wanted:
    """What to add up: for which queries (m x d) also second moments, of values with values or with keys."""

    queries: Floats
    with_second: tuple[int, ...] = ()
    second_of_keys: bool = False

    @property
    def multiplications(self) -> int:
        return len(self.queries)

    def rows(self, columns: int) -> int:
        return block_rows(len(self.queries), columns)

    def empty(self, outputs: int) -> Sums:
        return Sums(self.queries, outputs, self.with_second, self.second_of_keys)


# -- one pass over the tokens of a prompt: blocks, threads, and the guards in each of them

# Less than this is not worth a second thread.
_MULTIPLICATIONS_PER_THREAD = 2**22


class Accumulator(Protocol):
    """What is added up over tokens."""

    def add(self, block: Block, scratch: Scratch) -> None:
        """Take a block of tokens in."""

    def merge(self, other: Self) -> None:
        """Take in what has been added up elsewhere."""


A = TypeVar("A", bound=Accumulator)
A_co = TypeVar("A_co", bound=Accumulator, covariant=True)


class Plan(Protocol[A_co]):
    """What to add up."""

    @property
    def multiplications(self) -> int:
        """About how many for each number of a token."""

    def rows(self, columns: int) -> int:
        """How many tokens to take at a time, for so many numbers per token."""

    def empty(self, outputs: int) -> A_co:
        """Nothing added up yet, for values of this dimension."""


def sweep(chunks: Iterable[tuple[StoredRows, StoredRows]], wanted: Plan[A], threads: int = 0) -> A:
    """The sums over all tokens; chunks of paired keys and values, one after the other.

    threads: how many share each chunk; 0 for one per processor. The matrix products should run in
    one thread each. Raises GuardError or RefusedError.
    """
    require_sound_arithmetic()
    threads = threads or processors()
    workers: list[_Worker[A]] = []
    with ThreadPoolExecutor(threads) as pool:
        for keys, values in chunks:
            tokens = keys.shape[0]
            if tokens != values.shape[0]:
                raise ValueError(f"{tokens} keys and {values.shape[0]} values")
            if tokens == 0:
                continue
            columns = keys.shape[1] + (0 if values is keys else values.shape[1])
            size = min(wanted.rows(columns), tokens)
            shares = _shares(tokens, tokens * columns * wanted.multiplications, threads)
            while len(workers) < len(shares):
                workers.append(_Worker(wanted))
            if len(shares) == 1:
                workers[0].add(keys, values, shares[0], size)
            else:
                jobs = [partial(worker.add_in_thread, keys, values, size=size) for worker in workers]
                list(pool.map(lambda job, share: job(share), jobs, shares))
    found = [worker.sums for worker in workers if worker.sums is not None]
    if not found:
        raise ValueError("a prompt without tokens")
    for sums in found[1:]:
        found[0].merge(sums)
    return found[0]


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker(Generic[A]):
    """What one thread adds up, and its scratch."""

    def __init__(self, wanted: Plan[A]) -> None:
        self._wanted = wanted
        self._scratch = Scratch()
        self.sums: A | None = None

    def add_in_thread(self, keys: StoredRows, values: StoredRows, share: tuple[int, int], size: int) -> None:
        # Threads inherit how the one that starts them rounds, which may not be the one that was tried.
        set_default()
        require_sound_arithmetic()
        self.add(keys, values, share, size)

    def add(self, keys: StoredRows, values: StoredRows, share: tuple[int, int], size: int) -> None:
        """Some of the tokens of a chunk, in blocks of `size`."""
        # Sums of sums: no path through them is long, however many chunks there are.
        sums = self._wanted.empty(values.shape[1])
        # What is not finite is noticed afterwards, and refused.
        with np.errstate(all="ignore"):
            for block in blocks(keys, values, *share, size):
                sums.add(block, self._scratch)
        if self.sums is None:
            self.sums = sums
        else:
            self.sums.merge(sums)


def _shares(tokens: int, multiplications: int, threads: int) -> list[tuple[int, int]]:
    """Contiguous ranges of tokens, one for each thread that is worth starting."""
    count = max(1, min(threads, tokens, multiplications // _MULTIPLICATIONS_PER_THREAD))
    edges = [tokens * index // count for index in range(count + 1)]
    return list(pairwise(edges))


# -- arrays that are used again and again, so that nothing is allocated for a block of tokens

# Doubles from which on an array gets pages of its own, and doubles in a huge page.
_LARGE = 2**16
_HUGE_PAGE = 2**18
# From this size on numpy asks for huge pages.
_ASKED_FOR = 2**19
# Blocks have one size, and the last of a share another.
_MOST_SHAPES = 32


class Scratch:
    """Arrays by name; not to be shared between threads. What they hold is anybody's until it is written."""

    def __init__(self) -> None:
        self._buffers: dict[str, Floats] = {}
        self._arrays: dict[tuple[str, tuple[int, ...]], Floats] = {}
        self._ones: Floats = np.ones((0, 1))
        self._work: dict[tuple[int, ...], Work] = {}

    def array(self, name: str, *shape: int) -> Floats:
        """The array of this name, in this shape; what was taken under this name before is overwritten."""
        if (name, shape) in self._arrays:
            return self._arrays[name, shape]
        size = prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = _room(size)
            self._arrays.clear()
        if len(self._arrays) >= _MOST_SHAPES:
            self._arrays.clear()
        return self._arrays.setdefault((name, shape), buffer[:size].reshape(shape))

    def ones(self, size: int) -> Floats:
        """A column of ones, not to be written to."""
        if len(self._ones) < size:
            self._ones = np.ones((size, 1))
        return self._ones[:size]

    def work(self, *shape: int) -> Work:
        """The exponential's room for arrays of this shape."""
        if shape not in self._work:
            self._work = {shape: Work(shape)}
        return self._work[shape]


def _room(size: int) -> Floats:
    """An array; a large one lies in a huge page where there are such, so that the cache can hold it as a whole."""
    if size < _LARGE:
        return np.empty(size)
    room: Floats = np.empty(size + _ASKED_FOR + _HUGE_PAGE)
    start = -(room.__array_interface__["data"][0] // room.itemsize) % _HUGE_PAGE
    return room[start : start + size]
