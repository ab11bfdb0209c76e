"""Measure which random descents `selection-direction` certifies, and how sharp its bounds are at step 100,000.

    python tools/bench/selection_runs.py                          175 descents from random points, then 100 others
    python tools/bench/selection_runs.py --seed 20 --count 175    the first of these only
    python tools/bench/selection_runs.py --seed 20 --count 24 --rule flow
    python tools/bench/selection_runs.py --seed 20 --count 24 --box 1/100 --at 1000
    python tools/bench/selection_runs.py --degenerate               ten inputs of 100 tokens in dimension 64, with ties

Keys, scores and the start are standard normal, on a grid of 1/64; at most 4 inputs, 6 tokens and dimension 6, the
logistic loss, eta = 1. Truth is the descent computed in doubles: it contracts, so that their rounding does not grow.
Of a box it is the largest angle at some of its points. The flow is computed by scipy.
The tokens of largest weight at its last step are `best`, `local` (locally optimal, and not the best), or `other`: not
separable or not locally optimal, where no theorem can hold.

A certificate is asked for a bound at step 1,000,000, which no enclosed step reaches. What its theorem says of step
100,000 (--at), which it does not enclose either unless it has to, is compared with the truth there; and if the theorem
is `tube`, so is what it says the angle is at least, which is left out elsewhere. Of the flow and of boxes the bound
that it states there is, enclosed or not.

The degenerate data, of seed 1 unless --seed says another, the first two from 0 by normalised steps of 1, the others by
those of 1/100 and from the point 10 along p_mm where nothing else is said:

    copies           every token twice, the second one of a lower score: the chosen ones cannot be separated
    grid             entries -1, 0 and 1, standard normal scores
    others-copied    every token twice but the best ones, which are first along some direction
    five-copies      of each input the nearest neighbour of such a best token five times
    grid-best        entries -1, 0 and 1; such a token has the best score
    grid-cone        the same with the second best score, from the point 200 along p_mm
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq
from scipy.integrate import solve_ivp

import certattn
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import LOSSES
from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.theorems.selection.mathematics.margin_points import hard_margin
from certattn.kernel.theorems.selection.mathematics.selection_constants import FLOW, GRADIENT, NORMALISED
from certattn.kernel.theorems.selection.selection_direction import read
from certattn.provers.selection.active_set import NotSeparableError
from certattn.provers.selection.prospects import TokensInDoubles, prospect
from certattn.provers.selection.quadratic_program import max_margin_multipliers

Array = np.ndarray[Any, Any]
RUNS = ((20, 175), (21, 100))
STEPS = 100_000
GRID = 64
# Of a box, so many of its corners are followed.
SAMPLES = 8
ASKED = "1000000"
MOST_INPUTS, MOST_TOKENS, MOST_DIMENSIONS = 4, 6, 6


@dataclass(frozen=True)
class Descent:
    """A rule, its step, half the width of the start box, and the step (or time) at which bounds are compared."""

    rule: str
    step: fmpq
    radius: fmpq
    at: int

    @property
    def is_stated(self) -> bool:
        """Whether the bound at this very step is asked for, and not what a theorem says of it."""
        return self.rule == FLOW or self.radius > 0


@dataclass(frozen=True)
class Instance:
    """Keys n x T x d, scores n x T and the start, in multiples of 1/64."""

    keys: Array
    scores: Array
    start: Array

    def given(self, descent: Descent) -> dict[str, Any]:
        exact = lambda table, by=0: np.vectorize(lambda x: str(fmpq(int(x), GRID) + by))(table).tolist()  # noqa: E731
        ends = {"lower": exact(self.start, -descent.radius), "upper": exact(self.start, descent.radius)}
        return {
            "keys": exact(self.keys),
            "scores": exact(self.scores),
            "loss": "logistic",
            "descent": {"rule": descent.rule, **({} if descent.rule == FLOW else {"step": str(descent.step)})},
            "start": ends if descent.radius else exact(self.start),
        }


def instances(seed: int, count: int) -> list[Instance]:
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        shape = int(rng.integers(1, MOST_INPUTS + 1)), int(rng.integers(2, MOST_TOKENS + 1))
        dimension = int(rng.integers(2, MOST_DIMENSIONS + 1))
        draw = lambda *size: np.round(rng.standard_normal(size) * GRID).astype(int)  # noqa: E731
        found.append(Instance(draw(*shape, dimension), draw(*shape), draw(dimension)))
    return found


def computed(found: Sequence[Instance], descent: Descent) -> list[Array]:
    """Where these descents are in the end, in doubles: all at once, padded to one size. Of a box, from some points."""
    size = len(found), MOST_INPUTS, MOST_TOKENS
    keys, scores, start = np.zeros((*size, MOST_DIMENSIONS)), np.zeros(size), np.zeros((len(found), MOST_DIMENSIONS))
    absent, inputs = np.full(size, -np.inf), np.zeros((len(found), MOST_INPUTS))
    absent[:, :, 0] = 0
    for a, each in enumerate(found):
        n, tokens, dimension = each.keys.shape
        keys[a, :n, :tokens, :dimension], scores[a, :n, :tokens] = each.keys / GRID, each.scores / GRID
        start[a, :dimension], absent[a, :n, :tokens], inputs[a, :n] = each.start / GRID, 0, 1 / n
    if descent.radius:
        rng = np.random.default_rng(0)
        corners = np.sign(rng.standard_normal((SAMPLES, *start.shape))) * float(descent.radius)
        start = (start + corners * (keys.any((1, 2)) != 0)).reshape(-1, MOST_DIMENSIONS)
        keys, scores, absent, inputs = (
            np.tile(x, (SAMPLES, *[1] * (x.ndim - 1))) for x in (keys, scores, absent, inputs)
        )
    point = start.copy()

    def downhill(point: Array, which: slice = slice(None)) -> tuple[Array, Array]:
        """-grad L over e^m, and m: differences of keys with the heaviest token, so that nothing underflows."""
        table = keys[which]
        logits = (table @ point[:, None, :, None])[..., 0] + absent[which]
        chosen = logits.argmax(2)[:, :, None]
        logits -= np.take_along_axis(logits, chosen, 2)
        shares = np.exp(logits)
        total = shares.sum(2, keepdims=True)
        mean = (shares * scores[which]).sum(2, keepdims=True) / total
        np.put_along_axis(logits, chosen, -np.inf, 2)
        most = np.where(inputs[which][:, :, None] > 0, logits, -np.inf).max((1, 2), keepdims=True)
        weights = (
            inputs[which][:, :, None] / (1 + np.exp(mean)) / total * np.exp(logits - most) * (scores[which] - mean)
        )
        apart = table - np.take_along_axis(table, chosen[..., None], 2)
        return (weights[..., None] * apart).sum((1, 2)), most[:, 0]

    if descent.rule == FLOW:
        for a in range(len(point)):

            def field(_: float, p: Array, a: int = a) -> Array:
                slope, most = downhill(p[None], slice(a, a + 1))
                return np.asarray((slope * np.exp(most))[0])

            point[a] = solve_ivp(field, (0, descent.at), point[a], "LSODA", rtol=1e-9, atol=1e-11).y[:, -1]
    else:
        for _ in range(descent.at):
            slope, most = downhill(point)
            lengths = np.linalg.norm(slope, axis=1, keepdims=True) if descent.rule == NORMALISED else np.exp(-most)
            point = point + float(descent.step.p) / float(descent.step.q) / lengths * slope
    ends = point.reshape(-1, len(found), MOST_DIMENSIONS)
    return [ends[:, a, : each.start.size] for a, each in enumerate(found)]


def kind(instance: Instance, ends: Array) -> tuple[str, float]:
    """Of the tokens of largest weight at the ends: what they are, and the largest 1 - cos angle with their p_mm."""
    end = ends[0]
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
    across = np.linalg.norm(ends - np.outer(ends @ direction, direction), axis=1) / np.linalg.norm(ends, axis=1)
    sines = across.max()
    return "local" if selection.bad else "best", float(sines**2 / (1 + np.sqrt(1 - sines**2)))


@dataclass(frozen=True)
class Outcome:
    """What `generate` made of an instance: the theorem, the steps that are enclosed first, the bounds at the end."""

    theorem: str
    steps: int
    bound: float
    seconds: float
    lower: float = np.nan


def certified(instance: Instance, descent: Descent, most_steps: int, seconds: int) -> Outcome | str:
    """The outcome, checked; or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        out, before = Path(folder) / "direction.yaml", time.process_time()
        signal.signal(signal.SIGALRM, _too_late)
        signal.alarm(seconds)
        try:
            given, asked = instance.given(descent), [str(descent.at)] if descent.is_stated else [ASKED]
            made = certattn.generate("selection-direction", out, given=given, most_steps=most_steps, angles=asked)
        except certattn.NotProvedError as error:
            return str(error)
        except TimeoutError:
            return f"not within {seconds} s"
        finally:
            signal.alarm(0)
        spent = time.process_time() - before
        assert certattn.check(out).verdict is certattn.Verdict.VERIFIED
        problem = read(made)
        if descent.is_stated:
            bound = float(problem.bounds[0].bound.p) / float(problem.bounds[0].bound.q) if problem.bounds else np.nan
            return Outcome(problem.theorem.name, int(problem.enclosed.floor()), bound, spent)
        with working_precision(int(str(made.plain["witness"].get("bits", 128)))):
            rate = problem.conclusion.rate
            assert rate is not None
            elapsed, both = fmpq(descent.at) - problem.enclosed, problem.conclusion.both
            bound = float(rate().at(elapsed).upper())
            lower = float(both().least_angle(elapsed).lower()) if both is not None else np.nan
        return Outcome(problem.theorem.name, int(problem.enclosed.floor()), bound, spent, lower)


def _too_late(*_: object) -> None:
    raise TimeoutError


def table(seed: int, count: int, descent: Descent, most_steps: int, seconds: int) -> None:
    found = instances(seed, count)
    ends = computed(found, descent)
    rows = []
    for number, (instance, end) in enumerate(zip(found, ends, strict=True)):
        sort, truth = kind(instance, end)
        outcome = certified(instance, descent, most_steps, seconds)
        rows.append((sort, truth, outcome))
        said = outcome if isinstance(outcome, str) else f"{outcome.theorem} {outcome.steps} {outcome.seconds:.1f} s"
        ratio = "" if isinstance(outcome, str) else f" {outcome.bound / truth:.3g} times {truth:.2g}"
        if not isinstance(outcome, str) and outcome.lower == outcome.lower:
            ratio += f", at least {outcome.lower / truth:.3g} times"
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
    below = [outcome.lower / truth for truth, outcome in proved if outcome.lower == outcome.lower]
    if below:
        print(f"  lower over truth: {len(below)}, median {np.median(below):.3g}, smallest {min(below):.3g}")


def _summary(what: str, values: Sequence[float]) -> None:
    if values:
        middle, late = np.quantile(values, [0.5, 0.9])
        print(f"  {what}: {len(values)}, median {middle:.3g}, 90% {late:.3g}, largest {max(values):.3g}")


def fmpq_of(text: str) -> fmpq:
    return fmpq(*map(int, text.split("/")))


# Inputs, tokens of each, dimension; how far along p_mm descents start.
_DEGENERATE = 10, 100, 64
_NEAR, _FAR = 10, 200


def degenerate(kind: str, seed: int) -> Instance:
    """The data of this kind, as above."""
    inputs, tokens, dimension = _DEGENERATE
    rng, every = np.random.default_rng(seed), np.arange(inputs)
    draw = lambda *size: np.round(rng.standard_normal(size) * GRID).astype(int)  # noqa: E731
    on_grid = kind.startswith("grid")
    keys = rng.integers(-1, 2, (inputs, tokens, dimension)) * GRID if on_grid else draw(inputs, tokens, dimension)
    scores, start, half = draw(inputs, tokens), np.zeros(dimension, dtype=int), tokens // 2
    if kind == "copies":
        keys[:, half:], scores[:, half:] = keys[:, :half], scores[:, :half] - 1
    if kind in ("copies", "grid"):
        return Instance(keys, scores, start)
    along = rng.standard_normal(dimension)
    chosen = (keys[:, :half] @ along).argmax(1)
    if kind == "others-copied":
        copied = np.tile(np.arange(half), (inputs, 1))
        copied[every, chosen] = (chosen + 1) % half
        keys[:, half:] = keys[every[:, None], copied]
        scores[:, half:] = scores[every[:, None], copied] - 1
    else:
        chosen = (keys @ along).argmax(1)
    scores[every, chosen] = scores.max(1) + GRID // 8
    if kind == "grid-cone":
        scores[every, (chosen + 1) % tokens] = scores[every, chosen] + GRID // 8
    found = prospect(_in_doubles(Instance(keys, scores, start)), LOSSES["logistic"], tuple(map(int, chosen)))
    assert found is not None
    start = np.round(GRID * (_FAR if kind == "grid-cone" else _NEAR) * found.direction).astype(int)
    if kind == "five-copies":
        ahead = (keys[every, chosen][:, None] - keys) @ found.solution
        ahead[every, chosen] = np.inf
        nearest = ahead.argmin(1)
        # Over the four that are ahead of least.
        ahead[every, chosen] = -np.inf
        for slot in np.argsort(-ahead, axis=1)[:, :4].T:
            keys[every, slot], scores[every, slot] = keys[every, nearest], scores[every, nearest]
    return Instance(keys, scores, start)


def _in_doubles(instance: Instance) -> TokensInDoubles:
    inputs, tokens, dimension = instance.keys.shape
    keys = ExactMatrix.rational([[fmpq(int(x), GRID) for x in row] for row in instance.keys.reshape(-1, dimension)])
    scores = tuple(fmpq(int(x), GRID) for x in instance.scores.ravel())
    return TokensInDoubles(Tokens(keys, (tokens,) * inputs, scores))


KINDS = ("copies", "grid", "others-copied", "five-copies", "grid-best", "grid-cone")


def degenerate_table(seed: int, kinds: Sequence[str]) -> None:
    """How long each takes to generate from an array file, and what comes of it."""
    for kind_, rule in product(kinds, (GRADIENT, NORMALISED)):
        short = rule == NORMALISED and kind_ not in ("copies", "grid")
        descent, data = Descent(rule, fmpq(1, 100) if short else fmpq(1), fmpq(0), STEPS), degenerate(kind_, seed)
        with tempfile.TemporaryDirectory() as folder:
            arrays, out = Path(folder) / "data.npz", Path(folder) / "direction.yaml"
            np.savez(arrays, keys=data.keys.reshape(-1, data.start.size) / GRID, scores=data.scores.ravel() / GRID)
            held = {name: {"file": str(arrays), "array": name} for name in ("keys", "scores")}
            given = {**data.given(descent), **held, "lengths": [str(data.keys.shape[1])] * len(data.keys)}
            before = time.process_time()
            try:
                made = certattn.generate("selection-direction", out, given=given, angles=[ASKED])
                spent, before = time.process_time() - before, time.process_time()
                assert certattn.check(out).verdict is certattn.Verdict.VERIFIED
                witness, checked = made.plain["witness"], time.process_time() - before
                said = f"{witness['theorem']['name']} at step {witness.get('steps', 0)}, checked in {checked:.1f} s"
            except certattn.NotProvedError as error:
                spent, said = time.process_time() - before, f"none: {error}"
        print(f"{kind_:<14} {rule:<11} step {descent.step!s:<6} {spent:5.1f} s  {said}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="one set of descents instead of both")
    parser.add_argument("--count", type=int, default=RUNS[0][1], help="how many of that seed")
    parser.add_argument("--most-steps", type=int, default=STEPS, help="enclosed steps that are tried of each")
    parser.add_argument("--seconds", type=int, default=60, help="after how many seconds a search is given up")
    parser.add_argument("--rule", choices=(GRADIENT, NORMALISED, FLOW), default=GRADIENT)
    parser.add_argument("--step", type=fmpq_of, default=fmpq(1), help="eta, or the length of normalised steps")
    parser.add_argument("--box", type=fmpq_of, default=fmpq(0), help="half the width of a box of starts")
    parser.add_argument("--at", type=int, default=STEPS, help="the step or time at which bounds are compared")
    parser.add_argument("--degenerate", nargs="*", choices=KINDS, help="data with ties instead; all kinds by default")
    options = parser.parse_args(arguments)
    if options.degenerate is not None:
        degenerate_table(options.seed or 1, options.degenerate or KINDS)
        return 0
    descent = Descent(options.rule, options.step, options.box, options.at)
    for seed, count in RUNS if options.seed is None else ((options.seed, options.count),):
        table(seed, count, descent, options.most_steps, options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
