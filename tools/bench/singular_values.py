"""Measure `singular-values`: checks beside LAPACK's SVD in the same run, radii, and the sharper arithmetic.

    OPENBLAS_NUM_THREADS=1 python tools/bench/singular_values.py             d = 200, 500, 1000 by both arithmetics
    OPENBLAS_NUM_THREADS=1 python tools/bench/singular_values.py --large     d = 2000, and what d = 4000 takes

Weights are drawn as for the gallery, beta = 1/2 and d_qk = d. `check` is the matrix from its weights, LAPACK's hint and
the proof; `svd` is LAPACK's SVD with vectors of the same matrix, best of the runs.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from flint import fmpq

from certattn.fast import singular_values as in_doubles
from certattn.fast.attention_matrix import attention_matrix
from certattn.kernel.mathematics import attention_matrix as in_arb
from certattn.kernel.mathematics import singular_values as exact
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real, real_root
from tools.gallery.singular_values import weights

T = TypeVar("T")
_BITS = 64


@dataclass(frozen=True)
class Row:
    """Seconds and the largest radius of a singular value."""

    size: int
    svd: float
    check: float
    radius: float
    sharp_check: float | None = None
    sharp_radius: float | None = None

    @property
    def ratio(self) -> float:
        return self.check / self.svd

    def __str__(self) -> str:
        line = f"d = {self.size}: svd {self.svd:.2f} s, check {self.check:.2f} s ({self.ratio:.1f} times), "
        line += f"radius {self.radius:.1e}"
        if self.sharp_check is not None:
            line += f"; in integers {self.sharp_check:.1f} s, radius {self.sharp_radius:.1e}"
        return line


def measure(size: int, runs: int, *, sharp: bool) -> Row:
    """Attention over `size` tokens, d_qk = d."""
    queries, keys = (weights(f"bench {which} {size}", size, size) for which in ("queries", "keys"))
    scale = real_root(fmpq(1, 4 * size * 2**40))
    left, right = queries.astype(float), keys.astype(float)
    with working_precision(96):
        dense = attention_matrix(left, right, scale, centred=True, causal=False)
        svd = min(timed(lambda: np.linalg.svd(dense.values, full_matrices=False))[0] for _ in range(runs))
        check, found = min(
            (timed(lambda: _in_doubles(left, right, scale)) for _ in range(runs)), key=lambda pair: pair[0]
        )
        row = Row(size, svd, check, float(found.radius(1)))
    if not sharp:
        return row
    with working_precision(_BITS):
        seconds, sharper = timed(lambda: _in_integers(queries, keys, scale))
    return Row(size, svd, check, row.radius, seconds, float(sharper.radius(1)))


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds, and what came out."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def _in_doubles(queries: Any, keys: Any, scale: Real) -> exact.SingularValues:
    return in_doubles.enclose(attention_matrix(queries, keys, scale, centred=True, causal=False), None, len(keys) - 1)


def _in_integers(queries: Any, keys: Any, scale: Real) -> exact.SingularValues:
    tables = [ExactMatrix.dyadic(*table.shape, table.ravel().tolist(), 0) for table in (queries, keys)]
    matrix = exact.FixedPoint.rounded(in_arb.attention_matrix(*tables, scale, centred=True, causal=False), _BITS)
    if matrix is None:
        raise ValueError("an enclosure that is not finite")
    return exact.enclose(matrix, in_doubles.lapack_factors(matrix), len(keys) - 1)


def peak_memory() -> float:
    """The largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 500, 1000])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--large", action="store_true", help="d = 2000 in doubles, and an estimate for d = 4000")
    options = parser.parse_args(arguments)
    if options.large:
        row = measure(2000, 1, sharp=False)
        print(row)
        used = peak_memory()
        print(f"peak memory {used:.2f} GB; d = 4000 takes about {8 * row.check:.0f} s and {4 * used:.1f} GB")
        return 0
    for size in options.sizes:
        print(measure(size, options.runs, sharp=True), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
