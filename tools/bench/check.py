"""What checking costs, as ratios of whole processes measured in turn in one run.

    python tools/bench/check.py [--runs 9]

Medians are printed; the pairs A B A B ... make a ratio hold when the machine's speed drifts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "certificates"
HEAD = GALLERY / "attention" / "output-deviation" / "layer0-head6.yaml"
DATA = GALLERY / "attention" / "output-deviation" / "data" / "layer0-head6.npz"
SMALL = GALLERY / "prompts" / "infinite-prompt-operator" / "gaussian-d1.yaml"

CERTATTN = [sys.executable, "-m", "certattn"]
IMPORTS = [sys.executable, "-c", "import click, yaml, numpy, flint"]

NUMPY = f"""
import numpy as np
a = np.load({str(DATA)!r})
k, v, q = (a[n].astype(float) for n in ("keys", "values", "queries"))
s = q @ k.T / 32 ** 0.5
w = np.exp(s - s.max(1, keepdims=True))
t = w @ v / w.sum(1, keepdims=True)
c = (v - v.mean(0)).T @ (k - k.mean(0)) / len(k)
print(np.linalg.norm(t - v.mean(0) - q @ c.T / 32 ** 0.5, axis=1).max())
"""

NAIVE = f"""
import numpy as np
from flint import arb, arb_mat, ctx
ctx.prec = 256
a = np.load({str(DATA)!r})
k, v, q = (arb_mat([[arb(float(x)) for x in r] for r in a[n]]) for n in ("keys", "values", "queries"))
s = q * k.transpose() * (1 / arb(32).sqrt())
w = arb_mat([[x.exp() for x in r] for r in s.tolist()])
t = w * v
z = [sum(r, arb(0)) for r in w.tolist()]
print([[x / z for x in r] for r, z in zip(t.tolist(), z)][0][0])
"""


def seconds(command: Sequence[str]) -> float:
    """Wall time of a process, from start to end."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return time.perf_counter() - start


def compare(first: Sequence[str], second: Sequence[str], runs: int) -> tuple[float, float, float]:
    """Median seconds of both commands and the median ratio first / second, after one warm-up each."""
    seconds(first), seconds(second)
    pairs = [(seconds(first), seconds(second)) for _ in range(runs)]
    ratios = [a / b for a, b in pairs]
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(ratios),
    )


def phases(path: Path) -> dict[str, float]:
    """Milliseconds of each phase of a check, as the report tells them."""
    command = [*CERTATTN, "check", str(path), "--format", "json"]
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    return {name: spent / 1e6 for name, spent in json.loads(output)["reports"][0]["nanoseconds"].items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    print(f"{os.cpu_count()} processors, {runs} runs each, medians of whole processes\n")
    with tempfile.TemporaryDirectory() as folder:
        generate = [*CERTATTN, "generate", "output-deviation", str(DATA), "--scale", "1/sqrt(32)", "--data", "copy"]
        table = (
            ("check small", [*CERTATTN, "check", str(SMALL)], "import click, yaml, numpy, flint", IMPORTS),
            ("check head", [*CERTATTN, "check", str(HEAD)], "plain numpy script", [sys.executable, "-c", NUMPY]),
            ("check head", [*CERTATTN, "check", str(HEAD)], "naive Arb script", [sys.executable, "-c", NAIVE]),
            ("generate head", [*generate, "-o", f"{folder}/h.yaml"], "check head", [*CERTATTN, "check", str(HEAD)]),
        )
        print(f"{'A':<16}{'B':<36}{'A':>9}{'B':>9}{'A/B':>8}")
        for name, first, against, second in table:
            a, b, ratio = compare(first, second, runs)
            print(f"{name:<16}{against:<36}{a:>7.3f} s{b:>7.3f} s{ratio:>8.2f}")
    print(f"\n{'certificate':<52}{'whole process':>14}  phases in the worker")
    for path in sorted(GALLERY.rglob("*.yaml")):
        whole = statistics.median(seconds([*CERTATTN, "check", str(path)]) for _ in range(min(runs, 3)))
        spent = phases(path)
        shares = ", ".join(f"{name} {ms:.1f} ms" for name, ms in spent.items())
        parsing = 100 * spent["parsing"] / 1e3 / whole
        print(f"{path.relative_to(GALLERY)!s:<60}{whole:>12.3f} s  {shares}; parsing {parsing:.1f}% of the process")


if __name__ == "__main__":
    main()
