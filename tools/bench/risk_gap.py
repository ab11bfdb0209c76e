"""Measure `risk-gap`: how long is long enough, beside simulated prompts, and widths at given parameters.

    python tools/bench/risk_gap.py

Sigma = I, |A|_F^2, b^2 <= sqrt(d), an excess of 0.1. `simulated` is the shortest length at which random prompts have a
gap of at most 0.1 at the parameters that were worst among those tried on the ball (A of rank 1 and d, three b): an
estimate of what cannot be improved on, no theorem.
"""

from __future__ import annotations

import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import certattn
from certattn.kernel.theorems.training.exponential_fits import weights
from certattn.kernel.theorems.training.risk_gap import _collision
from tools.gallery import training

ROOTS = {1: "1", 2: "sqrt(2)", 4: "2"}
EXCESS = 0.1
_NUMBERS = 6_000_000


def gap(A: Any, b: float, length: int, seed: int) -> float:
    """R_L - R at Sigma = I by random prompts, the task averaged exactly: 1/2 E |b tau_hat - x|^2 - |b tau - x|^2."""
    rng, size = np.random.default_rng(seed), len(A)
    count, total, done = max(400, _NUMBERS // (length * size)), 0.0, 0
    while done < count:
        batch = min(count - done, max(1, 2_000_000 // (length * size)))
        x, z = rng.normal(size=(batch, length, size)), rng.normal(size=(batch, size))
        moved = z @ A.T
        scores = np.einsum("nld,nd->nl", x, moved)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        mean = np.einsum("nl,nld->nd", weights, x)
        total += float((((b * mean - z) ** 2).sum() - ((b * moved - z) ** 2).sum()) / 2)
        done += batch
    return total / count


def worst(size: int, length: int) -> float:
    """The largest gap among parameters on the ball."""
    radius = size**0.25
    found = []
    for rank in sorted({1, size}):
        A = np.diag([radius / rank**0.5] * rank + [0.0] * (size - rank))
        found += [gap(A, b * radius, length, 7) for b in (0.6, 0.8, 1.0)]
    return max(found)


def simulated(size: int) -> int:
    """By bisection in steps of about a twentieth."""
    low, high = 2.0, 4.0
    while worst(size, int(high)) > EXCESS:
        low, high = high, 2 * high
    while high > 1.05 * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if worst(size, int(middle)) > EXCESS else (low, middle)
    return int(high)


def checked(path: Path) -> Any:
    """As in a process of its own, where nothing is known yet."""
    _collision.cache_clear()
    weights.cache_clear()
    return certattn.check(path)


def seconds(work: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def lengths(folder: Path) -> None:
    print(f"{'d':>2} {'majorant':>9} {'length':>12} {'found in':>9} {'checked in':>10}  simulated")
    for size, root in ROOTS.items():
        near = simulated(size)
        for majorant in ("table", "logistic", "power"):
            given = {"covariance": training.identity(size), "ball": {"A_squared": root, "b_squared": root}}
            path = folder / f"{size}-{majorant}.yaml"
            made, taken = seconds(
                lambda given=given, path=path, majorant=majorant: certattn.generate(
                    "risk-gap", path, given=given, excess="1/10", majorant=majorant
                )
            )
            report, checking = seconds(lambda path=path: checked(path))
            assert report.verdict is certattn.Verdict.VERIFIED
            length = int(made.plain["asserts"]["length"])
            print(f"{size:2} {majorant:>9} {length:12,} {taken:8.1f}s {checking:9.2f}s  about {near}")


def widths(folder: Path) -> None:
    """At A = I / b, b^4 = d, nearly: next to the balanced Bayes point."""
    print(f"\n{'d':>2} {'L':>6} {'gap':>9} {'rel. width':>10} {'found in':>9} {'checked in':>10}")
    for size, b in ((1, "1"), (2, "19/16"), (5, "3/2")):
        for length in (16, 256):
            inverse = str(1 / Fraction(b))
            point = {"A": training.diagonal(*[inverse] * size), "b": b}
            given = {"covariance": training.identity(size), "length": str(length), "parameters": point}
            path = folder / f"{size}-{length}.yaml"
            made, taken = seconds(
                lambda given=given, path=path: certattn.generate("risk-gap", path, given=given, digits=3)
            )
            report, checking = seconds(lambda path=path: checked(path))
            assert report.verdict is certattn.Verdict.VERIFIED
            low, high = (float(made.plain["asserts"]["gap"][side]) for side in ("at_least", "at_most"))
            print(f"{size:2} {length:6} {low:9.5f} {(high - low) / low:10.1e} {taken:8.1f}s {checking:9.2f}s")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        lengths(Path(name))
        widths(Path(name))
