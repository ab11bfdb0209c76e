"""One pass over the tokens of a prompt: blocks, threads, and the guards in each of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from certattn.fast.guards import require_sound_arithmetic
from certattn.fast.rows import Block, Floats, StoredRows, blocks
from certattn.fast.scratch import Scratch
from certattn.fast.sums import Sums, block_rows
from certattn.kernel.decide.floating_point import set_default

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
            jobs = [_Job(keys, values, first, last, size) for first, last in shares]
            if len(jobs) == 1:
                workers[0].add(jobs[0])
            else:
                list(pool.map(_Worker.add_in_thread, workers, jobs))
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


@dataclass(frozen=True)
class _Job:
    """Tokens first:last of a chunk, in blocks of `size`."""

    keys: StoredRows
    values: StoredRows
    first: int
    last: int
    size: int


class _Worker(Generic[A]):
    """What one thread adds up, and its scratch."""

    def __init__(self, wanted: Plan[A]) -> None:
        self._wanted = wanted
        self._scratch = Scratch()
        self.sums: A | None = None

    def add_in_thread(self, job: _Job) -> None:
        # Threads inherit how the one that starts them rounds, which may not be the one that was tried.
        set_default()
        require_sound_arithmetic()
        self.add(job)

    def add(self, job: _Job) -> None:
        # Sums of sums: no path through them is long, however many chunks there are.
        sums = self._wanted.empty(job.values.shape[1])
        # What is not finite is noticed afterwards, and refused.
        with np.errstate(all="ignore"):
            for block in blocks(job.keys, job.values, job.first, job.last, job.size):
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
