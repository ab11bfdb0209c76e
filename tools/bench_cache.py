#!/usr/bin/env python3
"""Measure what `certattn check --cache` takes and saves: without a cache, with an empty one, with a full one.

    python tools/bench_cache.py                        the gallery
    python tools/bench_cache.py certificates/max-margin --runs 3

Seconds by the clock and processor seconds of whole commands with their workers. Each run goes through all three, so
that they meet the same machine; the medians of the ratios within runs are printed. Other programs disturb processor
seconds little.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Spent:
    """Seconds of one command."""

    clock: float
    processor: float


def check(path: Path, home: Path, *options: str) -> tuple[Spent, str]:
    """What a check takes, and its last line. Raises where one certificate is not verified."""
    command = [sys.executable, "-m", "certattn", "check", str(path), "--no-config", "--format", "github", *options]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "XDG_CACHE_HOME": str(home)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.stderr:
        raise RuntimeError(f"the cache was not used: {done.stderr}")
    return Spent(clock, spent), done.stdout.splitlines()[-1]


def one_run(path: Path) -> tuple[dict[str, Spent], str]:
    """The three checks, one after the other, with a cache of their own."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        found = {"none": check(path, home)[0], "empty": check(path, home, "--cache")[0]}
        found["full"], said = check(path, home, "--cache")
        if "earlier" not in said:
            raise RuntimeError(f"nothing was looked up: {said}")
        return found, said


def table(runs: list[dict[str, Spent]]) -> str:
    """A table in Markdown: medians of seconds, and of ratios to the check without a cache of the same run."""
    lines = ["| cache | seconds | none = 1 | processor seconds | none = 1 |", "|---|---|---|---|---|"]
    for name in ("none", "empty", "full"):
        clock = statistics.median(run[name].clock for run in runs)
        processor = statistics.median(run[name].processor for run in runs)
        ratios = (
            statistics.median(run[name].clock / run["none"].clock for run in runs),
            statistics.median(run[name].processor / run["none"].processor for run in runs),
        )
        lines.append(f"| {name} | {clock:.2f} | {ratios[0]:.3f} | {processor:.2f} | {ratios[1]:.3f} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure what a cache of results takes and saves.")
    parser.add_argument("path", nargs="?", type=Path, default=ROOT / "certificates", help="what is checked")
    parser.add_argument("--runs", type=int, default=1, help="how often all three are measured")
    options = parser.parse_args(arguments)
    found = [one_run(options.path) for _ in range(options.runs)]
    print(table([run for run, _ in found]))
    print(f"\n{found[-1][1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
