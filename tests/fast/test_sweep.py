"""However the tokens are cut into chunks, threads and blocks, the enclosures contain the truth."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from exact_attention import Truth, stored, worst, worst_of_normaliser

from certattn.fast import sums, tight
from certattn.fast.balls import Ball
from certattn.fast.enclosures import Enclosures
from certattn.fast.rows import StoredRows
from certattn.fast.sums import Scratch, Wanted, block_rows
from certattn.fast.tight import SplitQuery, TightEnclosures, TightlyWanted
from certattn.kernel.errors import RefusedError

RNG = np.random.default_rng(0)
TOKENS = 700
# Later tokens weigh more, so that K grows, by more than a block can reach down.
KEYS = np.sort(RNG.standard_normal((TOKENS, 2)) * 300, axis=0)
VALUES = RNG.standard_normal((TOKENS, 3))
QUERIES = np.array([[1.0, 1.0], [-1.0, 0.5], [0.0, 0.0]])
TRUTHS = [Truth.of(KEYS, VALUES, query) for query in QUERIES]
MEANS = [truth.mean() for truth in TRUTHS]
CROSS = TRUTHS[2].covariance(with_keys=True)


def chunks(count: int, *, reverse: bool = False) -> Iterator[tuple[StoredRows, StoredRows]]:
    """The tokens in pieces of several sizes, with empty ones among them."""
    edges = sorted({0, TOKENS, *RNG.integers(0, TOKENS, count - 1).tolist()})
    pieces = [slice(*pair) for pair in itertools.pairwise(edges)]
    for piece in pieces[::-1] if reverse else pieces:
        yield stored(KEYS[piece]), stored(VALUES[piece])
        yield stored(KEYS[:0]), stored(VALUES[:0])


def set_blocks(rows: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sums, tight):
        monkeypatch.setattr(module, "_FEWEST_ROWS", rows)
        monkeypatch.setattr(module, "_MOST_ROWS", rows)
    # However few they are, threads get their share.
    monkeypatch.setattr(sums, "_MULTIPLICATIONS_PER_THREAD", 1 if threads > 1 else 2**40)


@pytest.mark.parametrize("rows", [1, 7, 64, 1000])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("pieces", [1, 5])
def test_every_cut(rows: int, threads: int, pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    set_blocks(rows, threads, monkeypatch)
    for reverse in (False, True):
        wanted = Wanted(QUERIES, (2,), second_of_keys=True)
        total = sums.sweep(chunks(pieces, reverse=reverse), wanted, threads)
        assert total.tokens == TOKENS
        found = Enclosures(total, np.zeros(3))
        means, (exponents, z) = found.mean(), found.normaliser()
        for index, truth in enumerate(TRUTHS):
            assert worst(Ball(means.middle[index], means.radius[index]), MEANS[index]) <= 1
            one = exponents[index], Ball(z.middle[index], z.radius[index])
            assert worst_of_normaliser(one, truth.normaliser) <= 1
        assert worst(found.cross_covariance(2), CROSS) <= 1
        for index in (0, 1):
            wanted_tightly = TightlyWanted(SplitQuery.of(QUERIES[index], np.zeros(2), 0.0))
            tightly = TightEnclosures(sums.sweep(chunks(pieces, reverse=reverse), wanted_tightly, threads))
            assert worst(tightly.mean(), MEANS[index]) <= 1
            assert worst_of_normaliser(tightly.normaliser(), TRUTHS[index].normaliser) <= 1


def test_threads_share_what_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sums._shares(10, 10**9, 3) == [(0, 3), (3, 6), (6, 10)]
    assert sums._shares(2, 10**9, 3) == [(0, 1), (1, 2)]
    assert sums._shares(10**6, 100, 8) == [(0, 10**6)]
    assert sums.processors() >= 1
    # Where the system does not say what this process may use.
    monkeypatch.delattr(sums.os, "sched_getaffinity", raising=False)
    assert sums.processors() >= 1


def test_chunks_may_share_one_buffer() -> None:
    """As a file is read piece by piece."""
    buffer = np.empty((100, 2)), np.empty((100, 3))

    def pieces() -> Iterator[tuple[StoredRows, StoredRows]]:
        for first in range(0, TOKENS, 100):
            buffer[0][...], buffer[1][...] = KEYS[first : first + 100], VALUES[first : first + 100]
            yield stored(buffer[0]), stored(buffer[1])

    for threads in (1, 2):
        found = Enclosures(sums.sweep(pieces(), Wanted(QUERIES[:1]), threads), np.zeros(1))
        assert worst(found.mean(), MEANS[0]) <= 1


@pytest.mark.parametrize("threads", [1, 2])
def test_a_thread_that_refuses_is_heard(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    set_blocks(100, threads, monkeypatch)
    keys = KEYS.copy()
    keys[-1] = 1e6
    with pytest.raises(RefusedError, match="scores beyond"):
        sums.sweep([(stored(keys), stored(VALUES))], Wanted(QUERIES[:1]), threads)


@pytest.mark.parametrize("plan", [Wanted(QUERIES[:1]), TightlyWanted(SplitQuery.of(QUERIES[0], np.zeros(2), 0.0))])
def test_prompts_that_are_none(plan: Any) -> None:
    empty = stored(KEYS[:0]), stored(VALUES[:0])
    for nothing in ([], [empty], [empty, empty]):
        with pytest.raises(ValueError, match="without tokens"):
            sums.sweep(nothing, plan)
    with pytest.raises(ValueError, match="700 keys and 699 values"):
        sums.sweep([(stored(KEYS), stored(VALUES[1:]))], plan)


@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e300])
def test_nothing_is_warned_of(bad: float) -> None:
    """What is not finite is refused, in words; numpy has nothing to add."""
    keys, values = KEYS.copy(), VALUES.copy()
    values[3] = bad
    tight_plan = TightlyWanted(SplitQuery.of(QUERIES[0], np.zeros(2), 0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for threads in (1, 2):
            with pytest.raises(RefusedError):
                Enclosures(sums.sweep([(stored(keys), stored(values))], Wanted(QUERIES), threads), np.zeros(3))
            with pytest.raises(RefusedError):
                sums.sweep([(stored(values), stored(values))], Wanted(QUERIES[:1, [0, 0, 1]]), threads)
            with pytest.raises(RefusedError):
                sums.sweep([(stored(keys), stored(values))], tight_plan, threads)
        with pytest.raises(RefusedError):
            Enclosures(sums.sweep([(stored(keys), stored(VALUES))], Wanted(np.full((1, 2), bad))), np.zeros(1))
        with pytest.raises(RefusedError):
            SplitQuery.of(np.full(2, bad), np.zeros(2), 0.0)


def test_blocks_fit_the_cache_and_are_not_too_small() -> None:
    assert block_rows(1, 256) == 2048
    assert block_rows(1, 1) == block_rows(1, 64) == 8192
    assert block_rows(10**6, 64) == block_rows(1, 10**6) == 256
    assert TightlyWanted(SplitQuery.of(np.ones(1), np.zeros(1), 0.0)).rows(64) == 1024


def test_scratch_is_used_again() -> None:
    scratch = Scratch()
    first = scratch.array("a", 3, 5)
    assert scratch.array("a", 3, 5) is first
    assert np.shares_memory(scratch.array("a", 15), first)
    assert not np.shares_memory(scratch.array("b", 3, 5), first)
    larger = scratch.array("a", 2**17)
    assert not np.shares_memory(larger, first)
    assert np.shares_memory(scratch.array("a", 3, 5), larger)
    assert larger.__array_interface__["data"][0] % 2**21 == 0
    for size in range(1, 100):
        assert scratch.array("a", size).shape == (size,)
    assert scratch.work(4) is scratch.work(4)
    assert scratch.work(4) is not scratch.work(5)
