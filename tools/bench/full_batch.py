"""Measure `full-batch-descent`: certified numbers of prompts beside simulated ones.

    python tools/bench/full_batch.py              every row of those below
    python tools/bench/full_batch.py NAME ...     some of them, such as line-tenth

`simulated` is the smallest number of infinitely long prompts, to a tenth, with which 4,000 runs of the same steps keep
the statement, and `factor` the certified number over it. Times are of the processor.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench.risk_transfer import LINE
from tools.bench.training import asserted, timed
from tools.truth.reading import read_covariance, read_number, read_table
from tools.truth.stochastic_descent import ends

CHANCE, RUNS, GROWTH, LARGEST = "0.05", 4000, 1.1, 3000
SKEW = [["1", "1/4"], ["1/4", "3/4"]]
FARTHER = [["1", "1/2"], ["1/2", "5/4"]]


def _identity(size: int) -> list[list[str]]:
    return [["1" if i == j else "0" for j in range(size)] for i in range(size)]


# Sigma, the factor of A = alpha I and b = alpha, the risk, and what else is stated.
ROWS: dict[str, tuple[list[list[str]], str, str, dict[str, str]]] = {
    "line": (LINE, "1/2", "0.15", {}),
    "line-two-steps": (LINE, "1/2", "0.15", {"step": "1/2", "steps": "2"}),
    "line-tenth": (LINE, "1/2", "0.1", {}),
    "line-four-steps": (LINE, "1/2", "0.1", {"step": "2/5", "steps": "4"}),
    "line-eight-steps": (LINE, "1/2", "0.1", {"step": "1/5", "steps": "8"}),
    "line-rare": (LINE, "1/2", "0.1", {"probability": "0.01"}),
    "line-small-risk": (LINE, "1/2", "0.02", {}),
    "line-any-risk": (LINE, "1/2", "1e-6", {}),
    "line-far": (LINE, "1/4", "0.15", {}),
    "line-near": (LINE, "3/4", "0.05", {}),
    "two": (_identity(2), "1/2", "0.3", {}),
    "two-three-steps": (_identity(2), "1/2", "0.3", {"step": "2/5", "steps": "3"}),
    "two-small-risk": (_identity(2), "1/2", "0.1", {}),
    "four": (_identity(4), "1/2", "0.6", {}),
    "four-small-risk": (_identity(4), "1/2", "0.3", {}),
    "skew": (SKEW, "1/2", "0.3", {}),
    "farther": (FARTHER, "1/2", "0.3", {}),
}


def row(name: str, folder: Path) -> str:
    """One line of the table. Raises AssertionError where what was found does not verify."""
    covariance, alpha, risk, others = ROWS[name]
    start = {"A": [[alpha if x != "0" else "0" for x in r] for r in _identity(len(covariance))], "b": alpha}
    stated = {"covariance": covariance, "start": start, **others}
    chance = stated.pop("probability", CHANCE)
    found = timed("full-batch-descent", folder, given=stated, risk=risk, probability=chance)
    given: Any = found.certificate.plain["given"]
    bounds = {key: float(Fraction(str(value))) for key, value in asserted(found.certificate).items()}
    prompts, truth = int(given["prompts"]), smallest(given, bounds["risk"], bounds["probability"], folder)
    return (
        f"{name:18} {risk:>5} {chance:>5} {given['step']:>5} {given['steps']:>3} {prompts:6,} {truth:9} "
        f"{prompts / truth:7.1f} {found.found:8.2f} s {found.checked:8.2f} s"
    )


def smallest(given: Any, risk: float, chance: float, folder: Path) -> int:
    """So many prompts keep the statement in simulated runs."""
    covariance, A = (
        tuple(tuple(float(x) for x in r) for r in table)
        for table in (read_covariance(given["covariance"], folder), read_table(given["start"]["A"], folder))
    )
    b, step = float(read_number(given["start"]["b"])), float(Fraction(str(given["step"])))
    prompts = 4
    while prompts < LARGEST:
        risks = ends(covariance, A, b, step, int(given["steps"]), prompts, again=True, most=RUNS)
        if len(risks) == 1 or np.mean(risks > risk) <= chance:
            break
        prompts = int(prompts * GROWTH) + 1
    return prompts


def main(arguments: Sequence[str]) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*ROWS, []])
    names = parser.parse_args(arguments).names or list(ROWS)
    print(f"{'row':18} {'risk':>5} {'delta':>5} {'step':>5} {'K':>3} {'N':>6} simulated  factor   found in checked in")
    with tempfile.TemporaryDirectory() as parent:
        for name in names:
            print(row(name, Path(parent)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
