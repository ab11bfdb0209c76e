"""One pass over the tokens of a prompt: blocks, threads, and the guards in each of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from certattn.kernel.arithmetic.binary64.guards import require_sound_arithmetic
from certattn.kernel.arithmetic.binary64.rows import Floats, StoredRows, blocks
from certattn.kernel.arithmetic.binary64.sums import Scratch, Sums, block_rows

# Less than this is not worth a second thread.
_MULTIPLICATIONS_PER_THREAD = 2**22


@dataclass(frozen=True)
class Wanted:
    """What to add up: for which queries (m x d) also second moments, of values with values or with keys."""

    queries: Floats
    with_second: tuple[int, ...] = ()
    second_of_keys: bool = False


def sweep(chunks: Iterable[tuple[StoredRows, StoredRows]], wanted: Wanted, threads: int = 0) -> Sums:
    """The sums over all tokens; chunks of paired keys and values, one after the other.

    threads: how many share each chunk; 0 for one per processor. The matrix products should run in
    one thread each. Raises GuardError or RefusedError.
    """
    require_sound_arithmetic()
    workers: list[_Worker] = []
    with ThreadPoolExecutor(threads or processors(), initializer=require_sound_arithmetic) as pool:
        for keys, values in chunks:
            tokens, columns = keys.shape[0], keys.shape[1] + values.shape[1]
            size = min(block_rows(len(wanted.queries), columns), tokens)
            shares = _shares(tokens, tokens * columns * len(wanted.queries), threads or processors())
            while len(workers) < len(shares):
                workers.append(_Worker(wanted, values.shape[1]))
            jobs = [(worker, keys, values, share, size) for worker, share in zip(workers, shares, strict=False)]
            if len(jobs) == 1:
                _add(jobs[0])
            else:
                list(pool.map(_add, jobs))
    if not workers:
        raise ValueError("a prompt without tokens")
    total = workers[0].sums
    for worker in workers[1:]:
        total.merge(worker.sums)
    return total


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """What one thread adds up, and its scratch."""

    def __init__(self, wanted: Wanted, outputs: int) -> None:
        self._wanted, self._outputs = wanted, outputs
        self.sums = self.empty()
        self._scratch: Scratch | None = None

    def empty(self) -> Sums:
        return Sums(self._wanted.queries, self._outputs, self._wanted.with_second, self._wanted.second_of_keys)

    def scratch(self, tokens: int) -> Scratch:
        if self._scratch is None or self._scratch.tokens < tokens:
            self._scratch = Scratch(len(self._wanted.queries), tokens)
        return self._scratch


def _add(job: tuple[_Worker, StoredRows, StoredRows, tuple[int, int], int]) -> None:
    worker, keys, values, (start, stop), size = job
    scratch = worker.scratch(size)
    # Sums of sums: no path through them is long, however many chunks there are.
    sums = worker.empty()
    # What is not finite is noticed afterwards, and refused.
    with np.errstate(all="ignore"):
        for block in blocks(keys, values, start, stop, size):
            sums.add(block, scratch)
    worker.sums.merge(sums)


def _shares(tokens: int, multiplications: int, threads: int) -> list[tuple[int, int]]:
    """Contiguous ranges of tokens, one for each thread that is worth starting."""
    count = max(1, min(threads, tokens, multiplications // _MULTIPLICATIONS_PER_THREAD))
    edges = [tokens * index // count for index in range(count + 1)]
    return list(pairwise(edges))
