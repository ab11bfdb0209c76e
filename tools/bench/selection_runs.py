"""Measure which random descents `selection-direction` certifies, and how sharp its bounds are at step 100,000.

    python tools/bench/selection_runs.py                          175 descents from random points, then 100 others
    python tools/bench/selection_runs.py --seed 20 --count 175    the first of these only

Keys, scores and the start are standard normal, on a grid of 1/64; at most 4 inputs, 6 tokens and dimension 6, the
logistic loss, eta = 1. Truth is the descent computed in doubles: it contracts, so that their rounding does not grow.
The tokens of largest weight at its last step are `best`, `local` (locally optimal, and not the best), or `other`: not
separable or not locally optimal, where no theorem can hold.

A certificate is asked for a bound at step 1,000,000, which no enclosed step reaches. What its theorem says of step
100,000, which it does not enclose either unless it has to, is compared with the truth there.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq

import certattn
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.theorems.selection.mathematics.margin_points import hard_margin
from certattn.kernel.theorems.selection.selection_direction import read
from certattn.provers.selection.active_set import NotSeparableError
from certattn.provers.selection.quadratic_program import max_margin_multipliers

Array = np.ndarray[Any, Any]
RUNS = ((20, 175), (21, 100))
STEPS = 100_000
GRID = 64
ASKED = "1000000"
MOST_INPUTS, MOST_TOKENS, MOST_DIMENSIONS = 4, 6, 6


@dataclass(frozen=True)
class Instance:
    """Keys n x T x d, scores n x T and the start, in multiples of 1/64."""

    keys: Array
    scores: Array
    start: Array

    def given(self) -> dict[str, Any]:
        exact = lambda table: np.vectorize(lambda x: str(fmpq(int(x), GRID)))(table).tolist()  # noqa: E731
        return {
            "keys": exact(self.keys),
            "scores": exact(self.scores),
            "loss": "logistic",
            "descent": {"rule": "gradient", "step": "1"},
            "start": exact(self.start),
        }


def instances(seed: int, count: int) -> list[Instance]:
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        shape = int(rng.integers(1, MOST_INPUTS + 1)), int(rng.integers(2, MOST_TOKENS + 1))
        dimension = int(rng.integers(2, MOST_DIMENSIONS + 1))
        draw = lambda *size: np.round(rng.standard_normal(size) * GRID).astype(int)  # noqa: E731
        found.append(Instance(draw(*shape, dimension), draw(*shape), draw(dimension)))
    return found


def computed(found: Sequence[Instance], steps: int) -> list[Array]:
    """Where these descents are after so many steps, in doubles: all at once, padded to one size."""
    size = len(found), MOST_INPUTS, MOST_TOKENS
    keys, scores, start = np.zeros((*size, MOST_DIMENSIONS)), np.zeros(size), np.zeros((len(found), MOST_DIMENSIONS))
    absent, inputs = np.full(size, -np.inf), np.zeros((len(found), MOST_INPUTS))
    absent[:, :, 0] = 0
    for a, each in enumerate(found):
        n, tokens, dimension = each.keys.shape
        keys[a, :n, :tokens, :dimension], scores[a, :n, :tokens] = each.keys / GRID, each.scores / GRID
        start[a, :dimension], absent[a, :n, :tokens], inputs[a, :n] = each.start / GRID, 0, 1 / n
    rows = keys.reshape(len(found), -1, MOST_DIMENSIONS)
    columns, point = rows.transpose(0, 2, 1).copy(), start
    for _ in range(steps):
        logits = (rows @ point[:, :, None]).reshape(size) + absent
        shares = np.exp(logits - logits.max(2, keepdims=True))
        shares /= shares.sum(2, keepdims=True)
        mean = (shares * scores).sum(2)
        weights = (inputs / (1 + np.exp(mean)))[:, :, None] * shares * (scores - mean[:, :, None])
        point = point + (columns @ weights.reshape(len(found), -1, 1))[:, :, 0]
    return [end[: each.start.size] for end, each in zip(point, found, strict=True)]


def kind(instance: Instance, end: Array) -> tuple[str, float]:
    """Of the tokens of largest weight at the end: what they are, and 1 - cos of the angle with their p_mm."""
    inputs, tokens, dimension = instance.keys.shape
    exact = [[fmpq(int(x), GRID) for x in row] for row in instance.keys.reshape(-1, dimension)]
    scores = tuple(fmpq(int(x), GRID) for x in instance.scores.ravel())
    indices = tuple(int(t) for t in (instance.keys @ end).argmax(1))
    selection = Selection(Tokens(ExactMatrix.rational(exact), (tokens,) * inputs, scores), indices)
    try:
        solution = hard_margin(selection.differences, max_margin_multipliers(selection.differences))
    except NotSeparableError:
        return "other", np.nan
    if any(solution.slacks[t] == 0 for t in selection.bad):
        return "other", np.nan
    direction = np.array([float(x.p) / float(x.q) for x in solution.solution.row(0)])
    direction /= np.linalg.norm(direction)
    across = np.linalg.norm(end - (end @ direction) * direction) / np.linalg.norm(end)
    return "local" if selection.bad else "best", float(across**2 / (1 + np.sqrt(1 - across**2)))


@dataclass(frozen=True)
class Outcome:
    """What `generate` made of an instance: the theorem, the steps that are enclosed first, and the bound at the end."""

    theorem: str
    steps: int
    bound: float
    seconds: float


def certified(instance: Instance, most_steps: int, seconds: int) -> Outcome | str:
    """The outcome, checked; or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        out, before = Path(folder) / "direction.yaml", time.process_time()
        signal.signal(signal.SIGALRM, _too_late)
        signal.alarm(seconds)
        try:
            given = instance.given()
            made = certattn.generate("selection-direction", out, given=given, most_steps=most_steps, angles=[ASKED])
        except certattn.NotProvedError as error:
            return str(error)
        except TimeoutError:
            return f"not within {seconds} s"
        finally:
            signal.alarm(0)
        spent = time.process_time() - before
        assert certattn.check(out).verdict is certattn.Verdict.VERIFIED
        problem = read(made)
        with working_precision(int(made.plain["witness"].get("bits", 128))):
            rate = problem.conclusion.rate
            assert rate is not None
            bound = float(rate().at(fmpq(STEPS - problem.steps)).upper())
        return Outcome(problem.theorem.name, problem.steps, bound, spent)


def _too_late(*_: object) -> None:
    raise TimeoutError


def table(seed: int, count: int, most_steps: int, seconds: int, first: int = 0) -> None:
    found = instances(seed, count)
    ends = computed(found, STEPS)
    rows = []
    for number, (instance, end) in enumerate(zip(found, ends, strict=True)):
        if number < first:
            continue
        sort, truth = kind(instance, end)
        outcome = certified(instance, most_steps, seconds)
        rows.append((sort, truth, outcome))
        said = outcome if isinstance(outcome, str) else f"{outcome.theorem} {outcome.steps} {outcome.seconds:.1f} s"
        ratio = "" if isinstance(outcome, str) else f" {outcome.bound / truth:.3g} times {truth:.2g}"
        print(f"{number:>4} {sort:<6} {said}{ratio}", flush=True)
    print(f"\nseed {seed}: {len(rows)} descents, at most {most_steps} steps")
    for sort in ("best", "local", "other"):
        made = [outcome for each, _, outcome in rows if each == sort]
        print(f"  {sort:<6} {sum(isinstance(outcome, Outcome) for outcome in made):>4} of {len(made)}")
    proved = [(truth, outcome) for _, truth, outcome in rows if isinstance(outcome, Outcome)]
    print(f"  all    {len(proved):>4} of {len(rows)}")
    _summary("seconds", [outcome.seconds for _, outcome in proved])
    for name in sorted({outcome.theorem for _, outcome in proved}):
        _summary(f"bound over truth, {name}", [o.bound / truth for truth, o in proved if o.theorem == name])
    _summary("bound over truth", [outcome.bound / truth for truth, outcome in proved])


def _summary(what: str, values: Sequence[float]) -> None:
    if values:
        middle, late = np.quantile(values, [0.5, 0.9])
        print(f"  {what}: {len(values)}, median {middle:.3g}, 90% {late:.3g}, largest {max(values):.3g}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="one set of descents instead of both")
    parser.add_argument("--count", type=int, default=RUNS[0][1], help="how many of that seed")
    parser.add_argument("--most-steps", type=int, default=STEPS, help="enclosed steps that are tried of each")
    parser.add_argument("--seconds", type=int, default=60, help="after how many seconds a search is given up")
    options = parser.parse_args(arguments)
    for seed, count in RUNS if options.seed is None else ((options.seed, options.count),):
        table(seed, count, options.most_steps, options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
