"""Measure the claims about random score matrices: checks of moments, smallest sizes, and explicit bounds.

    python tools/bench/moments.py           a table for people
    python tools/bench/moments.py --json    one JSON object per row

Each row is one certificate: made in a folder of its own, and checked in this process.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import certattn
from certattn.kernel.theorems.spectrum.score_matrix import walk_sums


@dataclass(frozen=True)
class Row:
    """One certificate: seconds to make and to check it, and what it says in a few words."""

    name: str
    generate_seconds: float
    check_seconds: float
    verdict: str
    finding: str


RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "moments to order 8, d = 1000": ("finite-moments", {"beta": "1/2", "d": 1000}),
    "smallest d, order 4, beta = 1": ("finite-moments", {"beta": "1", "orders": [4], "within": "0.05"}),
    "smallest d, order 6, beta = 1/2": ("finite-moments", {"beta": "1/2", "orders": [6], "within": "0.05"}),
    "smallest d, order 8, beta = 1/2": ("finite-moments", {"beta": "1/2", "orders": [8], "within": "0.05"}),
    "normaliser, beta = 1/2, d = 1000": ("normalizer-bound", {"beta": "1/2", "d": 1000}),
    "normaliser, beta = 1, d = 10000": ("normalizer-bound", {"beta": "1", "d": 10000}),
    "equivalence, beta = 1/2, d = 1000": (
        "universality-bound",
        {"given": {"beta": "1/2", "eta": "1", "lambda": "1", "d": "1000"}},
    ),
}


def measure(name: str) -> Row:
    """Make and check one certificate; walks are summed anew."""
    claim, inputs = RUNS[name]
    walk_sums.cache_clear()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.yaml"
        start = time.perf_counter()
        certattn.generate(claim, path, **inputs)
        made = time.perf_counter() - start
        walk_sums.cache_clear()
        start = time.perf_counter()
        report = certattn.check(path)
        checked = time.perf_counter() - start
        return Row(name, made, checked, report.verdict.value, finding_of(certattn.load(path).plain["asserts"]))


def finding_of(asserts: Any) -> str:
    """The number that a row is about."""
    if "smallest" in asserts:
        return f"order {asserts['smallest'][0]['order']}: ratio at most {asserts['ratios'][0]['at_most']}"
    if "ratios" in asserts:
        return f"ratio of order {asserts['ratios'][-1]['order']} at most {asserts['ratios'][-1]['at_most']}"
    key = "mean_square" if "mean_square" in asserts else "equivalence"
    return f"{key} at most {asserts[key]['at_most']}"


def rows(names: tuple[str, ...] = tuple(RUNS)) -> Iterator[Row]:
    for name in names:
        yield measure(name)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object per row")
    options = parser.parse_args(arguments)
    for row in rows():
        if options.json:
            print(json.dumps(asdict(row)))
        else:
            times = f"{row.generate_seconds:7.2f} s  {row.check_seconds:7.3f} s"
            print(f"{row.name:36} {times}  {row.verdict:10} {row.finding}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
