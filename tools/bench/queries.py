#!/usr/bin/env python3
"""Measure how a check grows: with the queries of one certificate, and with the certificates of one folder.

    python tools/bench/queries.py                                  1,000 to 100,000 queries
    python tools/bench/queries.py --queries 1000000 --arithmetic arb
    python tools/bench/queries.py --certificates 1000 10000 --jobs 2

The prompt has four tokens in the plane, so that what is measured is what each query costs apart from them: reading,
naming, deciding, reporting. A folder holds copies of one tiny certificate. For every size the table has the seconds
and the processor's, the same divided by the size, and the most memory that one process held: of the worker for
queries, of the command itself for certificates. The last line has the two costs of the largest size as multiples of
those of the first: what grows in proportion has at most 1 there, as what a check costs anyway counts for less.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TOKENS = np.array([[0.0, 0.0], [1.0, 0.5], [-0.5, 1.0], [0.25, -1.0]])
RADIUS = "1e-9"
TINY = """certattn: 1
claim: softmax-mean
given: {keys: [[0], [0]], values: [[0], [1]], scale: 1, queries: [[1]]}
asserts: {mean: {value: [[1/2]], radius: 0}}
"""
# Printed by the process that runs the command: what it has used itself, and its workers.
_USAGE = """
import resource, sys
from certattn.__main__ import main
sys.argv[0] = "certattn"
try:
    sys.exit(main())
finally:
    for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(whose)
        print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
"""


@dataclass(frozen=True)
class Spent:
    """What a check of so many queries or certificates took: seconds, processor seconds, bytes."""

    size: int
    clock: float
    processor: float
    memory: int

    @property
    def each(self) -> float:
        """Processor seconds for one."""
        return self.processor / self.size


def write_queries(folder: Path, count: int) -> Path:
    """A certificate of the softmax means at so many queries, in array files."""
    queries = np.random.default_rng(count).standard_normal((count, 2)).astype(np.float32).astype(np.float64)
    weights = np.exp(queries @ TOKENS.T)
    means = weights @ TOKENS / weights.sum(axis=1, keepdims=True)
    references = {}
    for name, array in (("tokens", TOKENS), ("queries", queries), ("means", means)):
        path = folder / f"{name}.npy"
        np.save(path, array)
        digest, shape = hashlib.sha256(path.read_bytes()).hexdigest(), list(array.shape)
        references[name] = f"{{file: {path.name}, sha256: {digest}, dtype: float64, shape: {shape}}}"
    path = folder / "certificate.yaml"
    path.write_text(
        f"certattn: 1\nclaim: softmax-mean\n"
        f"given: {{tokens: {references['tokens']}, scale: 1, queries: {references['queries']}}}\n"
        f"asserts: {{mean: {{value: {references['means']}, radius: {RADIUS}}}}}\n"
    )
    return path


def write_copies(folder: Path, count: int) -> Path:
    """A folder of so many tiny certificates, a thousand in each of its own."""
    for first in range(0, count, 1000):
        part = folder / f"{first:09}"
        part.mkdir()
        for index in range(first, min(first + 1000, count)):
            (part / f"{index:09}.yaml").write_text(TINY)
    return folder


def check(path: Path, size: int, whose_memory: int, *options: str) -> Spent:
    """What `certattn check` takes. Raises where something is not verified."""
    command = [sys.executable, "-c", _USAGE, "check", str(path), *options]
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=_ROOT)
    clock = time.perf_counter() - start
    if done.returncode != 0:
        raise RuntimeError(f"{path} is not verified: {done.stderr}")
    used = [line.split() for line in done.stderr.splitlines()[-2:]]
    memory = int(used[whose_memory][1]) * (1 if sys.platform == "darwin" else 1024)
    return Spent(size, clock, sum(float(seconds) for seconds, _ in used), memory)


_ROOT = Path(__file__).resolve().parents[2]
_COMMAND, _WORKERS = 0, 1


def table(found: Sequence[Spent], what: str) -> str:
    """A table in Markdown, and how the costs of one have grown."""
    lines = [f"| {what} | seconds | processor seconds | ms each | MB |", "|--:|--:|--:|--:|--:|"]
    for spent in found:
        shown = f"{spent.clock:.2f} | {spent.processor:.2f} | {1000 * spent.each:.3f} | {spent.memory / 1e6:.0f}"
        lines.append(f"| {spent.size:,} | {shown} |")
    seconds, memory = growth(found)
    grown = f"{seconds:.2f} in processor seconds, {memory:.2f} in memory"
    return "\n".join([*lines, "", f"one of the most as a multiple of one of the fewest: {grown}"])


def growth(found: Sequence[Spent]) -> tuple[float, float]:
    """Processor seconds and memory for one of the largest size, as multiples of those of the first."""
    first, last = found[0], found[-1]
    return last.each / first.each, (last.memory / last.size) / (first.memory / first.size)


def measured(sizes: Sequence[int], write: Callable[[Path, int], Path], whose: int, *options: str) -> list[Spent]:
    """A check for each size, in a temporary folder."""
    found = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            found.append(check(write(Path(folder), size), size, whose, *options))
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure how a check grows with queries, or with certificates.")
    parser.add_argument("--queries", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--certificates", type=int, nargs="+", help="measure folders of so many instead")
    parser.add_argument("--arithmetic", choices=("auto", "arb"), default="auto", help="for queries")
    parser.add_argument("--jobs", type=int, default=1, help="for certificates")
    options = parser.parse_args(arguments)
    if options.certificates:
        found = measured(options.certificates, write_copies, _COMMAND, "--jobs", str(options.jobs))
        print(table(found, "certificates"))
    else:
        arithmetic = ("--arithmetic", options.arithmetic, "--timeout", "3600", "--memory", "16G")
        print(table(measured(options.queries, write_queries, _WORKERS, *arithmetic), "queries"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
