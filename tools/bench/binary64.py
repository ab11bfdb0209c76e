"""What enclosures in binary64 cost, as ratios to plain numpy measured in turn in one run, and how wide they are.

    python tools/bench/binary64.py [--runs 21] [--largest 1000000] [--no-peers] [--peer-python PROGRAM] [--busy]

Plain numpy is `s = X @ a; w = np.exp(s - s.max()); w.sum(); w @ X`, with one thread for matrix
products. Medians are printed; the pairs A B A B ... make a ratio hold when the machine's speed
drifts. The radius is the largest of the mean's, over the norm of the mean.

Peers enclose the same mean of 10,000 tokens of dimension 16: python-flint, mpmath.iv, and codac or
intvalpy, of which `--peer-python` names an interpreter that can import one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
DIMENSION = 64
PEER_TOKENS, PEER_DIMENSION = 10_000, 16


@dataclass(frozen=True)
class Row:
    """Median seconds of plain numpy and of an enclosure, the median ratio, and how wide it is."""

    name: str
    plain: float
    enclosed: float
    ratio: float
    radius: float

    def __str__(self) -> str:
        times = f"{self.plain * 1e3:9.2f} {self.enclosed * 1e3:9.2f} {self.ratio:8.2f}"
        return f"{self.name:46} {times}  {self.radius:.1e}"


# With `--busy` the processor time of this thread: on a busy machine others' work does not count.
CLOCK = time.perf_counter
HEADER = f"{'':46} {'numpy ms':>9} {'ours ms':>9} {'ratio':>8}  radius"


def compare(name: str, plain: Callable[[], Any], enclosed: Callable[[], Any], runs: int) -> Row:
    """`enclosed` returns (middle, radius)."""
    plain()
    middle, radius = enclosed()
    pairs = [(_seconds(plain), _seconds(enclosed)) for _ in range(runs)]
    width = float(abs(radius).max()) / _norm(middle)
    ratio = statistics.median(second / first for first, second in pairs)
    return Row(name, *(statistics.median(column) for column in zip(*pairs, strict=True)), ratio, width)


def _seconds(call: Callable[[], Any]) -> float:
    start = CLOCK()
    call()
    return CLOCK() - start


def _norm(middle: np.ndarray) -> float:
    import numpy as np

    return float(np.linalg.norm(middle, 2) if middle.ndim == 2 else np.linalg.norm(middle))


# -- plain numpy


def mean(tokens: np.ndarray, query: np.ndarray) -> Any:
    import numpy as np

    scores = tokens @ query
    weights = np.exp(scores - scores.max())
    return weights @ tokens / weights.sum()


def means(tokens: np.ndarray, queries: np.ndarray) -> Any:
    import numpy as np

    scores = queries @ tokens.T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ tokens / weights.sum(axis=1, keepdims=True)


def covariance(tokens: np.ndarray, query: np.ndarray) -> Any:
    import numpy as np

    scores = tokens @ query
    weights = np.exp(scores - scores.max())
    normaliser = weights.sum()
    middle = weights @ tokens / normaliser
    return tokens.T @ (tokens * weights[:, None]) / normaliser - np.outer(middle, middle)


# -- ours


def enclosures(tokens: Any, queries: np.ndarray, threads: int = 1, with_second: tuple[int, ...] = ()) -> Any:
    import numpy as np

    from certattn.fast.enclosures import Enclosures
    from certattn.fast.sums import Wanted, sweep

    sums = sweep([(tokens, tokens)], Wanted(queries, with_second), threads)
    return Enclosures(sums, np.zeros(len(queries)))


def enclosed_mean(tokens: Any, queries: np.ndarray, threads: int = 1) -> Any:
    ball = enclosures(tokens, queries, threads).mean()
    return ball.middle, ball.radius


def enclosed_means(tokens: Any, queries: np.ndarray) -> Any:
    """The radius of the worst query, over the norm of its own mean."""
    import numpy as np

    ball = enclosures(tokens, queries).mean()
    return np.ones(1), (ball.radius.max(axis=1) / np.linalg.norm(ball.middle, axis=1)).max()


def enclosed_covariance(tokens: Any, queries: np.ndarray) -> Any:
    ball = enclosures(tokens, queries, with_second=(0,)).covariance(0)
    return ball.middle, ball.radius


def enclosed_tightly(tokens: Any, queries: np.ndarray, threads: int = 1) -> Any:
    import numpy as np

    from certattn.fast.sums import sweep
    from certattn.fast.tight import SplitQuery, TightEnclosures, TightlyWanted

    query = SplitQuery.of(queries[0], np.zeros_like(queries[0]), 0.0)
    ball = TightEnclosures(sweep([(tokens, tokens)], TightlyWanted(query), threads)).mean()
    return ball.middle, ball.radius


def own_rows(runs: int, largest: int) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    queries = rng.standard_normal((512, DIMENSION)) / DIMENSION**0.5
    for size, count in ((10_000, runs * 5), (100_000, runs), (1_000_000, max(3, runs // 3))):
        if size <= largest:
            rows_of(rng.standard_normal((size, DIMENSION)), queries, count)


def rows_of(array: np.ndarray, queries: np.ndarray, runs: int) -> None:
    from certattn.fast.rows import StoredRows

    tokens = StoredRows(array, "float64")
    one, size = queries[:1], len(array)

    def show(way: str, plain: Callable[[], Any], enclosed: Callable[[], Any], count: int = runs) -> None:
        print(compare(f"n = {size:,}, {way}", plain, enclosed, max(3, count)), flush=True)

    def plain() -> Any:
        return mean(array, one[0])

    show("default", plain, lambda: enclosed_mean(tokens, one))
    if size > 10_000:
        show("default, 2 threads", plain, lambda: enclosed_mean(tokens, one, 2))
        show("tight", plain, lambda: enclosed_tightly(tokens, one))
        show("tight, 2 threads", plain, lambda: enclosed_tightly(tokens, one, 2))
    else:
        show("512 queries", lambda: means(array, queries), lambda: enclosed_means(tokens, queries), runs // 15)
    if size <= 100_000:
        show("covariance", lambda: covariance(array, one[0]), lambda: enclosed_covariance(tokens, one), runs // 3)


# -- peers: the mean of the same tokens as lists of Python's floats


def peer_data(tokens: int) -> tuple[list[list[float]], list[float]]:
    import random

    generator = random.Random(0)
    rows = [[generator.gauss(0, 1) for _ in range(PEER_DIMENSION)] for _ in range(tokens)]
    return rows, [generator.gauss(0, 1) / 4 for _ in range(PEER_DIMENSION)]


def with_flint(tokens: int) -> tuple[float, float]:
    """Seconds and the largest radius of the mean, over its norm."""
    from flint import arb, arb_mat, ctx

    ctx.prec = 53
    rows, query = peer_data(tokens)
    start = time.perf_counter()
    matrix = arb_mat([[arb(x) for x in row] for row in rows])
    weights = [score.exp() for score in (matrix * arb_mat([[arb(x)] for x in query])).entries()]
    normaliser = sum(weights, arb(0))
    found = [entry / normaliser for entry in (arb_mat([weights]) * matrix).entries()]
    spent = time.perf_counter() - start
    return spent, _width([float(x.mid()) for x in found], [float(x.rad()) for x in found])


def with_mpmath(tokens: int) -> tuple[float, float]:
    from mpmath import iv

    rows, query = peer_data(tokens)
    start = time.perf_counter()
    entries = [[iv.mpf(x) for x in row] for row in rows]
    tilt = [iv.mpf(x) for x in query]
    weights = [iv.exp(sum((x * a for x, a in zip(row, tilt, strict=True)), iv.mpf(0))) for row in entries]
    normaliser = sum(weights, iv.mpf(0))
    found = [
        sum((w * row[j] for w, row in zip(weights, entries, strict=True)), iv.mpf(0)) / normaliser
        for j in range(PEER_DIMENSION)
    ]
    spent = time.perf_counter() - start
    return spent, _width([float(x.mid) for x in found], [float(x.delta) / 2 for x in found])


def with_codac(tokens: int) -> tuple[float, float]:
    from codac import Interval, exp

    rows, query = peer_data(tokens)
    start = time.perf_counter()
    entries = [[Interval(x) for x in row] for row in rows]
    tilt = [Interval(x) for x in query]
    weights = []
    for row in entries:
        score = Interval(0.0)
        for x, a in zip(row, tilt, strict=True):
            score += x * a
        weights.append(exp(score))
    normaliser = Interval(0.0)
    sums = [Interval(0.0) for _ in tilt]
    for weight, row in zip(weights, entries, strict=True):
        normaliser += weight
        for j, x in enumerate(row):
            sums[j] += weight * x
    found = [total / normaliser for total in sums]
    spent = time.perf_counter() - start
    return spent, _width([x.mid() for x in found], [x.rad() for x in found])


def with_intvalpy(tokens: int) -> tuple[float, float]:
    import intvalpy

    rows, query = peer_data(tokens)
    start = time.perf_counter()
    entries = [[intvalpy.Interval(x, x) for x in row] for row in rows]
    weights = [intvalpy.exp(sum(x * a for x, a in zip(row, query, strict=True))) for row in entries]
    normaliser = sum(weights[1:], weights[0])
    found = [
        sum(w * row[j] for w, row in zip(weights, entries, strict=True)) / normaliser for j in range(PEER_DIMENSION)
    ]
    spent = time.perf_counter() - start
    return spent, _width([float(x.mid) for x in found], [float(x.rad) for x in found])


def _width(middles: list[float], radii: list[float]) -> float:
    return max(radii) / sum(x * x for x in middles) ** 0.5


# How many tokens each encloses in about a second; the rest is scaled.
PEERS: dict[str, tuple[Callable[[int], tuple[float, float]], int]] = {
    "python-flint": (with_flint, PEER_TOKENS),
    "mpmath.iv": (with_mpmath, 250),
    "codac": (with_codac, 2500),
    "intvalpy": (with_intvalpy, 250),
}


def peer_rows(runs: int, other: str) -> None:
    import numpy as np

    from certattn.fast.rows import StoredRows

    rows, query = peer_data(PEER_TOKENS)
    array, queries = np.array(rows), np.array([query])
    tokens = StoredRows(array, "float64")
    name = f"n = {PEER_TOKENS:,}, d = {PEER_DIMENSION}"
    row = compare(f"{name}, default", lambda: mean(array, queries[0]), lambda: enclosed_mean(tokens, queries), runs * 5)
    print(row)
    for peer, (_, count) in PEERS.items():
        python = other if peer in ("codac", "intvalpy") else sys.executable
        command = [python, str(Path(__file__).resolve()), "--peer", peer]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            print(f"{name}, {peer}: not measured ({reason})")
            continue
        seconds, radius = map(float, done.stdout.split())
        scaled = seconds * PEER_TOKENS / count
        said = "" if count == PEER_TOKENS else f" (from {count:,} tokens)"
        print(Row(f"{name}, {peer}{said}", row.plain, scaled, scaled / row.plain, radius), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--largest", type=int, default=1_000_000, help="most tokens")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument(
        "--peer-python", default=sys.executable, help="an interpreter that can import codac or intvalpy"
    )
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--busy", action="store_true", help="measure processor time; says nothing of 2 threads")
    options = parser.parse_args(arguments)
    if options.busy:
        globals()["CLOCK"] = time.thread_time
    if options.peer:
        call, count = PEERS[options.peer]
        print(*call(count))
        return 0
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        # Read when numpy is imported: begin again.
        again = [sys.executable, __file__, *(sys.argv[1:] if arguments is None else arguments)]
        return subprocess.run(again, env={**os.environ, **ONE_THREAD}, check=False).returncode
    print(HEADER)
    own_rows(options.runs, options.largest)
    if not options.no_peers:
        peer_rows(options.runs, options.peer_python)
    return 0


if __name__ == "__main__":
    sys.exit(main())
