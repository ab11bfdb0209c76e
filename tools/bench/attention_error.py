"""What `certattn.testing` costs beside a reference in plain numpy, on the same arrays in the same process.

    python tools/bench/attention_error.py            every shape
    python tools/bench/attention_error.py --few      small ones

The reference is blocked as the enclosures are, in float64 and with as many threads. Times are the best of a few runs,
one after the other in turns; memory is what the process has gained at its peak.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from certattn.fast.sums import processors
from certattn.testing import attention_error

_BLOCK = 256


@dataclass(frozen=True)
class Shape:
    heads: int
    queries: int
    tokens: int
    d: int
    causal: bool
    dtype: str = "float16"
    runs: int = 3


SHAPES = (
    Shape(8, 1024, 1024, 64, causal=False),
    Shape(8, 1024, 1024, 64, causal=True),
    Shape(1, 1024, 32768, 128, causal=False),
    Shape(1, 32768, 32768, 128, causal=True, runs=1),
)
FEW = (Shape(2, 256, 256, 64, causal=True, runs=1),)


def reference(q: NDArray[Any], k: NDArray[Any], v: NDArray[Any], causal: bool) -> NDArray[np.float64]:
    """Attention in float64, in blocks of queries."""
    keys, values, scale = k.astype(np.float64), v.astype(np.float64), q.shape[-1] ** -0.5
    output = np.empty((*q.shape[:2], v.shape[2]))

    def block(place: tuple[int, int]) -> None:
        head, first = place
        part = slice(first, min(first + _BLOCK, q.shape[1]))
        seen = part.stop if causal else keys.shape[1]
        scores = (q[head, part].astype(np.float64) * scale) @ keys[head, :seen].T
        if causal:
            scores[np.arange(part.start, part.stop)[:, None] < np.arange(seen)] = -np.inf
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        output[head, part] = scores @ values[head, :seen] / scores.sum(axis=1, keepdims=True)

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(processors()) as pool:
        list(pool.map(block, [(h, i) for h in range(len(q)) for i in range(0, q.shape[1], _BLOCK)]))
    return output


def measure(shape: Shape) -> str:
    rng = np.random.default_rng(0)
    sizes = ((shape.heads, shape.queries), (shape.heads, shape.tokens), (shape.heads, shape.tokens))
    q, k, v = (rng.standard_normal((*size, shape.d)).astype(shape.dtype) for size in sizes)
    output = reference(q, k, v, shape.causal).astype(shape.dtype)
    best = [float("inf")] * 2
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(shape.runs):
        start = time.perf_counter()
        found = attention_error(output, q, k, v, causal=shape.causal)
        middle = time.perf_counter()
        reference(q, k, v, shape.causal)
        best = [min(pair) for pair in zip(best, (middle - start, time.perf_counter() - middle), strict=True)]
    gained = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    ulps = found.max_ulps
    name = f"{shape.heads} x {shape.queries} x {shape.tokens}, d = {shape.d}{', causal' if shape.causal else ''}"
    times = f"{best[0]:8.3f} s {best[1]:8.3f} s {best[0] / best[1]:7.2f}"
    return f"{name:<40}{times}{ulps.upper - ulps.lower:12.1e}{gained:9.0f} MB"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--few", action="store_true", help="small shapes")
    print(f"{'heads x queries x keys':<40}{'proved':>10} {'numpy':>10} {'ratio':>7}{'ulps apart':>12}{'memory':>12}")
    for shape in FEW if parser.parse_args(arguments).few else SHAPES:
        print(measure(shape), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
