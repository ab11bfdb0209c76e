"""Measure `output-mean-square`: widths and times of the exact enclosure, and bounds against simulation.

    python tools/bench/mean_square.py

Gaussian tokens, K = Q = V = I in the plane. `ratio` is a bound over the exact value, `simulated` the mean square of
random prompts with its 99.9% interval where prompts are short enough to be drawn.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from certattn.kernel.given.weight_fits import fitted_value
from certattn.kernel.mathematics.exponential_fits import weights
from certattn.provers.weight_fits import fits
from flint import arb, fmpq

from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts.output_mean_square import Method, bounds_of, read_given
from certattn.provers.prompts.output_mean_square import general_parameters

LENGTHS = (100, 1000, 10_000, 1_000_000)
_TOKENS = 4_000_000
_BITS = 64
_QUANTILE = 3.2905


def prompt(given: str) -> Any:
    text = f"certattn: 1\nclaim: output-mean-square\ngiven: {given}\nasserts: {{}}\n"
    return read_given(loads(text, Path("bench.yaml")))


def upper(given: str, method: str, **parameters: fmpq) -> tuple[arb, float]:
    """The upper bound of the mean square, and seconds."""
    read, started = prompt(given), time.perf_counter()
    with working_precision(_BITS):
        found = bounds_of(read, Method(method, parameters), ("mean_square",)).ranges["mean_square"].upper
        assert found is not None
        return found(), time.perf_counter() - started


def simulated(s: float, length: int) -> str:
    """The mean square of random prompts, d = 2, tilt (s, 0)."""
    count = min(20_000, _TOKENS // length)
    if count < 100:
        return "-"
    rng = np.random.default_rng(length)
    squares = []
    for _ in range(count):
        x = rng.normal(size=(length, 2))
        weights = np.exp(s * x[:, 0])
        squares.append((((weights @ x) / weights.sum() - [s, 0.0]) ** 2).sum())
    error = _QUANTILE * np.std(squares) / count**0.5
    return f"{np.mean(squares):.5g} +- {error:.2g}"


def one_query() -> None:
    print(f"{'L':>9} {'s':>4} {'exact':>12} {'rel. width':>10} {'seconds':>8} {'logistic':>9}  simulated")
    for length in LENGTHS:
        for s in ("1/2", "1", "3/2", "2"):
            law = "{kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1]]}"
            given = f"{{law: {law}, tilt: [{s}, 0], length: {length}}}"
            exact, seconds = upper(given, "exact")
            closed, _ = upper(given, "logistic")
            size = fmpq(*(int(part) for part in f"{s}/1".split("/")[:2]))
            shown = simulated(float(size.p) / float(size.q), length)
            width = float(exact.rad() / exact.mid())
            numbers = f"{float(exact):12.5g} {width:10.1e} {seconds:8.2f} {float(closed / exact):9.3f}"
            print(f"{length:9} {s:>4} {numbers}  {shown}")


def over_queries() -> None:
    """v is exponential of mean 1/2: the exact average is one integral, by Simpson's rule over exact enclosures."""
    print(f"\nqueries N(0, I), Gamma = I/4\n{'L':>9} {'exact':>12} {'rel. width':>10} {'seconds':>8} {'integral':>9}")
    for length in LENGTHS:
        law = "{kind: gaussian, mean: [0, 0], covariance: [[1/4, 0], [0, 1/4]]}"
        queries = "{mean: [0, 0], covariance: [[1, 0], [0, 1]]}"
        given = f"{{law: {law}, queries: {queries}, length: {length}}}"
        bound, _ = upper(given, "integral")
        averaged = prompt(given)
        with working_precision(_BITS):
            witness = fits(averaged.logistic(), length, 1e-3)
            weights.cache_clear()
            start = time.perf_counter()
            found = fitted_value(averaged.fitted(witness))
            seconds = time.perf_counter() - start
        exact, steps = 0.0, 40
        for index in range(steps + 1):
            v = fmpq(index, 4)
            # |z|^2 = 4 v: the query (2 sqrt(v), 0), with the root folded into the scale.
            point = (
                f"{{law: {law}, query: [2, 0], scale: sqrt({v}), length: {length}}}"
                if index
                else (f"{{law: {law}, query: [0, 0], length: {length}}}")
            )
            weight = (1 if index in (0, steps) else 4 if index % 2 else 2) / 12
            exact += weight * 2 * np.exp(-index / 2) * float(upper(point, "exact")[0])
        width = float(found.rad() / found.mid())
        assert abs(float(found.mid()) - exact) < float(found.rad()) + 1e-4 * exact
        print(f"{length:9} {exact:12.5g} {width:10.1e} {seconds:8.2f} {float(bound) / exact:9.3f}")


def finite_scores() -> None:
    """Atoms and signs: the bounds by moments and for any law over the exact value."""
    print(f"\n{'tokens':>14} {'L':>9} {'exact':>12} {'rel. width':>10} {'seconds':>8} {'moments':>9} {'general':>9}")
    atoms = "{kind: atoms, points: [[0, 1], [1, -1], [3, 2], [0, 2]], weights: [1/2, 1/4, 1/8, 1/8]}"
    for name, law, tilt in (
        ("four atoms", atoms, "[1, 1/2]"),
        ("signs, d = 2", "{kind: rademacher, sizes: [1, 1]}", "[1, 1/2]"),
        ("signs, d = 4", "{kind: rademacher, sizes: [1, 1, 1, 1]}", "[1, 1, 1, 1]"),
        ("signs, d = 10", f"{{kind: rademacher, sizes: {[1] * 10}}}", f"[{', '.join(f'1/{k}' for k in range(2, 12))}]"),
    ):  # fmt: skip
        for length in LENGTHS:
            given = f"{{law: {law}, tilt: {tilt}, length: {length}}}"
            exact, seconds = upper(given, "exact")
            moments, _ = upper(given, "moments")
            with working_precision(_BITS):
                parameters = general_parameters(prompt(given), {})
            general, _ = upper(given, "general", **parameters)
            numbers = f"{float(exact):12.5g} {float(exact.rad() / exact.mid()):10.1e} {seconds:8.2f}"
            print(f"{name:>14} {length:9} {numbers} {float(moments / exact):9.5f} {float(general / exact):9.3f}")


if __name__ == "__main__":
    one_query()
    finite_scores()
    over_queries()
