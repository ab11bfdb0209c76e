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
    read, started = prompt(given), time.process_time()
    with working_precision(_BITS):
        found = bounds_of(read, Method(method, parameters), ("mean_square",)).ranges["mean_square"].upper
        assert found is not None
        return found(), time.process_time() - started


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
    """Queries N(0, I), Gamma = g I."""
    print(f"\n{'g':>4} {'L':>9} {'exact':>12} {'rel. width':>10} {'seconds':>8} {'integral':>9}")
    for g, length in (("1/4", 100), ("1/4", 10_000), ("1/4", 1_000_000), ("1", 100), ("1", 10_000)):
        law = f"{{kind: gaussian, mean: [0, 0], covariance: [[{g}, 0], [0, {g}]]}}"
        queries = "{mean: [0, 0], covariance: [[1, 0], [0, 1]]}"
        given = f"{{law: {law}, queries: {queries}, length: {length}}}"
        (bound, _), (exact, seconds) = upper(given, "integral"), upper(given, "exact")
        width = float(exact.rad() / exact.mid())
        print(f"{g:>4} {length:9} {float(exact):12.5g} {width:10.0e} {seconds:8.1f} {float(bound / exact):9.3f}")


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
