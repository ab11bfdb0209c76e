"""Measure `selection-direction`: enclosed steps a second, and which descents are certified.

    python tools/bench/selection_descent.py                      steps a second, and the authors' two examples
    python tools/bench/selection_descent.py --instances 100      random local instances from 3 p_mm, eta = 1
    python tools/bench/selection_descent.py --instances 100 --most-steps 100000

Every random point is tried with two selections: the one that 3 p_mm is built from, and the best tokens. No point may
be certified for both.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

import certattn
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.enclosed_descent import descend
from certattn.kernel.mathematics.enclosure import around
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import LOSSES
from certattn.kernel.mathematics.selection_landscape import GradientStep, landscape
from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.theorems.selection.mathematics.margin_points import hard_margin
from certattn.provers.selection.active_set import NotSeparableError
from certattn.provers.selection.quadratic_program import max_margin_multipliers

Array = np.ndarray[Any, Any]
BITS = 64
# Inputs, tokens of each, dimension.
SIZES = ((2, 2, 2), (4, 5, 4))
AUTHORS = [[["-0.1", "1"], ["1", "0"], ["0", "0"]]]
STARTS = ("1", "0.5", "0", "-0.5", "-1", "-1.5")


def random_tokens(inputs: int, tokens: int, dimension: int, rng: np.random.Generator) -> Tokens:
    """Keys and scores on a grid."""
    keys = np.round(rng.standard_normal((inputs * tokens, dimension)) * 64)
    scores = np.round(rng.standard_normal(inputs * tokens) * 64)
    table = ExactMatrix.rational([[fmpq(int(x), 64) for x in row] for row in keys])
    return Tokens(table, (tokens,) * inputs, tuple(fmpq(int(x), 64) for x in scores))


def separable(inputs: int, tokens: int, dimension: int) -> tuple[Selection, list[arb]]:
    """Random tokens whose best ones can be selected all at once, and 3 p_mm."""
    rng = np.random.default_rng(0)
    while True:
        found = random_tokens(inputs, tokens, dimension, rng)
        selection = Selection(found, tuple(_argmax(found.scores_of(i)) for i in range(inputs)))
        try:
            solution = hard_margin(selection.differences, max_margin_multipliers(selection.differences))
        except NotSeparableError:
            continue
        return selection, [3 * arb(x) for x in solution.solution.row(0)]


def steps_a_second(inputs: int, tokens: int, dimension: int, steps: int) -> tuple[float, arb]:
    """How many steps of descent with eta = 1 are enclosed in a second, at 64 bits; and the error at the end."""
    with working_precision(BITS):
        selection, start = separable(inputs, tokens, dimension)
        step = GradientStep(landscape(selection, LOSSES["logistic"]), arb(1) / inputs)
        before = time.perf_counter()
        end = descend(step, around(start), steps)[steps]
        return steps / (time.perf_counter() - before), end.error


def _argmax(scores: list[fmpq]) -> int:
    return scores.index(max(scores))


def steps_table(steps: int = 20_000) -> None:
    """Print the speed of enclosed descent, and how far off the last point may be."""
    print(f"{'inputs':>7}{'tokens':>7}{'d':>4}{'steps a second':>16}{'error after':>13}{'of them':>8}")
    for inputs, tokens, dimension in SIZES:
        pace, error = steps_a_second(inputs, tokens, dimension, steps)
        print(f"{inputs:>7}{tokens:>7}{dimension:>4}{pace:>16,.0f}{error.str(2, radius=False):>13}{steps:>8}")


def authors_table() -> None:
    """Print at which step the descents on the authors' single input are certified."""
    print(f"{'start':>12}{'token':>7}{'steps':>7}{'theorem':>9}{'generate':>10}{'check':>9}")
    globally = {"keys": AUTHORS, "scores": [["1", "0.9", "0.9"]]}
    for second in STARTS:
        _row({**globally, "start": ["0", second]}, 0)
    _row({"keys": AUTHORS, "scores": [["1", "0.9", "0"]], "start": ["4", "0"]}, 1)


def _row(given: dict[str, Any], token: int) -> None:
    made, spent, report, checked = settle({"loss": "logistic", "descent": descent("1"), **given}, [token], 1000)
    assert report is not None
    assert report.verdict is certattn.Verdict.VERIFIED
    witness: Any = made
    start = f"({', '.join(given['start'])})"
    steps, name = witness.get("steps", "0"), witness["theorem"]["name"]
    print(f"{start:>12}{token:>7}{steps:>7}{name:>9}{spent:>8.2f} s{checked:>7.2f} s")


def descent(step: str) -> dict[str, str]:
    return {"rule": "gradient", "step": step}


def settle(given: dict[str, Any], indices: list[int], most_steps: int) -> tuple[Any, float, Any, float]:
    """The witness of a certificate and its report, None where none is found; and the seconds for either."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "direction.yaml"
        start = time.perf_counter()
        try:
            made = certattn.generate("selection-direction", out, given=given, indices=indices, most_steps=most_steps)
        except certattn.NotProvedError:
            return None, time.perf_counter() - start, None, 0.0
        between = time.perf_counter()
        report = certattn.check(out)
        return made.plain["witness"], between - start, report, time.perf_counter() - between


# -- random local instances


def random_local(rng: np.random.Generator) -> tuple[dict[str, Any], Selection]:
    """Random keys, scores and locally optimal tokens, of at most 4 inputs, 6 tokens and dimension 6; and 3 p_mm."""
    while True:
        inputs, count, dimension = (int(n) for n in (rng.integers(1, 5), rng.integers(2, 7), rng.integers(2, 7)))
        tokens = random_tokens(inputs, count, dimension, rng)
        selection = Selection(tokens, tuple(int(rng.integers(count)) for _ in range(inputs)))
        try:
            solution = hard_margin(selection.differences, max_margin_multipliers(selection.differences))
        except NotSeparableError:
            continue
        if not selection.bad or any(j in selection.bad for j in solution.tight):
            # Globally optimal, or not locally optimal.
            continue
        start = [3 * round(float(x.p) / float(x.q) * 2**20) for x in solution.solution.row(0)]
        rows = [tokens.keys_of(i).to_rows() for i in range(inputs)]
        return {
            "keys": [[[str(x) for x in row] for row in table] for table in rows],
            "scores": [[str(x) for x in tokens.scores_of(i)] for i in range(inputs)],
            "loss": "logistic",
            "descent": descent("1"),
            "start": [str(Fraction(x, 2**20)) for x in start],
        }, selection


def local_table(instances: int, most_steps: int, seed: int = 0) -> tuple[int, int]:
    """Print how many random local instances are certified from 3 p_mm; and how many for two selections: none."""
    rng, found, twice, steps = np.random.default_rng(seed), 0, 0, []
    start = time.perf_counter()
    for _ in range(instances):
        given, selection = random_local(rng)
        indices = list(selection.indices)
        witness, _, report, _ = settle(given, indices, most_steps)
        proved = report is not None and report.verdict is certattn.Verdict.VERIFIED
        found += proved
        if proved:
            steps.append(int(witness.get("steps", "0")))
        best = [_argmax(selection.tokens.scores_of(i)) for i in range(selection.tokens.count)]
        _, _, other, _ = settle(given, best, min(most_steps, 200))
        twice += proved and best != indices and other is not None and other.verdict is certattn.Verdict.VERIFIED
    spent = time.perf_counter() - start
    print(f"{found} of {instances} random local instances certified from 3 p_mm within {most_steps} steps")
    if steps:
        print(f"median number of enclosed steps {int(np.median(steps))}, largest {max(steps)}; {spent:.0f} s in all")
    print(f"points certified for two selections: {twice}")
    return found, twice


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=0, help="random local instances; none by default")
    parser.add_argument("--most-steps", type=int, default=2000, help="enclosed steps that are tried of each")
    parser.add_argument("--steps", type=int, default=20_000, help="steps to take the time of")
    options = parser.parse_args(arguments)
    steps_table(options.steps)
    authors_table()
    if options.instances:
        return int(local_table(options.instances, options.most_steps)[1] > 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
