"""Measure `selection-on-a-head` on real heads: times, and how near the bounds of largest margins are.

    python tools/bench/selection_head.py                    the heads of the gallery of output-deviation
    python tools/bench/selection_head.py --queries 64       the first 64 queries of each

For each head: how many tokens its queries select, the head's own smallest gap over the norm of its matrix (the
identity, as these heads come with keys and queries), and bounds of the largest margin of any matrix of norm 1.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import certattn

HEADS = sorted(
    (Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data").glob(
        "layer*.npz"
    )
)
COLUMNS = (
    f"{'head':<14}{'queries':>8}{'selected':>9}{'own':>10}{'largest margin':>20}"
    f"{'generate':>10}{'check':>8}{'bytes':>9}"
)


def row(head: Path, queries: int) -> str:
    """One line of the table."""
    arrays = {name: array for name, array in np.load(head).items() if name in ("keys", "values", "queries")}
    arrays["queries"] = arrays["queries"][:queries]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "head.yaml"
        start = time.perf_counter()
        made = certattn.generate("selection-on-a-head", out, **arrays, score="value-norm", separability=["selected"])
        between = time.perf_counter()
        report = certattn.check(out)
        checked = time.perf_counter() - between
        size = out.stat().st_size
    assert report.verdict is certattn.Verdict.VERIFIED, report.reason
    asserts: Any = made.plain["asserts"]
    (stated,) = asserts["separability"]
    own = float(asserts["margin"]["at_least"]) / math.sqrt(arrays["keys"].shape[1])
    between_bounds = f"{stated['at_least']} .. {stated['at_most']}"
    selected = len(set(asserts["selected"]))
    count = len(arrays["queries"])
    return (
        f"{head.stem:<14}{count:>8}{selected:>9}{own:>10.2g}{between_bounds:>20}"
        f"{between - start:>8.2f} s{checked:>6.2f} s{size:>9}"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=512, help="the first so many of each head")
    parser.add_argument("heads", nargs="*", type=Path, default=HEADS, help=".npz files with keys, values and queries")
    options = parser.parse_args(arguments)
    print(COLUMNS)
    for head in options.heads:
        print(row(head, options.queries))
    return 0


if __name__ == "__main__":
    sys.exit(main())
