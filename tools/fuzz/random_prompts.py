"""Certificates about random prompts, most of them false by little, against enumeration and simulation.

    python tools/fuzz/random_prompts.py --count 20000 --seed 0

Laws of finitely many tokens are enumerated, prompt by prompt, so that tails, mean squares and how often an observed
prompt misleads are known to a dozen digits; of Gaussian tokens one is a closed form, and more are simulated, where what
is stated lies outside the simulation's error. Each certificate states slightly less than the truth, or slightly more,
with parameters drawn at random, or with those that the prover has found. A false one that verifies is printed, with the
seed and number by which it is made again, and so is a true one that is refuted; then the exit status is 1.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from certattn.kernel.decide.checker import CheckOptions, check
from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import Limits

Array = Any
# By how much, of itself, a stated number is false; and what doubles lose in the sums here.
OFF, LOST = 1e-6, 1e-9
MOST_PROMPTS = 1100  # enumerated
PROMPTS = 40_000  # simulated
LIMITS = Limits(max_bits=1024)


@dataclass(frozen=True)
class Trial:
    """A certificate of a family, and whether what it states is true."""

    family: str
    content: dict[str, Any]
    true: bool


# -- laws that are enumerated


@dataclass(frozen=True)
class Enumerated:
    """L tokens out of a few, under a tilt: every prompt, its probability and its error T_L - T."""

    stated: dict[str, Any]
    points: tuple[tuple[Fraction, ...], ...]
    masses: tuple[Fraction, ...]
    tilt: tuple[Fraction, ...]
    values: tuple[tuple[Fraction, ...], ...]
    length: int

    @cached_property
    def given(self) -> dict[str, Any]:
        given = {"law": self.stated, "tilt": texts(self.tilt), "length": str(self.length)}
        return {**given, "V": [texts(row) for row in self.values]}

    @cached_property
    def _tokens(self) -> tuple[Array, Array, Array]:
        x, p = np.array(self.points, float), np.array(self.masses, float)
        return x, p, np.exp(x @ np.array(self.tilt, float))

    @cached_property
    def prompts(self) -> tuple[Array, Array]:
        """The tokens' numbers, one row per prompt, and the probability of each."""
        k = len(self.points)
        which = np.indices((k,) * self.length).reshape(self.length, -1).T
        return which, self._tokens[1][which].prod(axis=1)

    @cached_property
    def limit(self) -> tuple[Array, Array]:
        """The tilted mean and the tilted covariance of the tokens."""
        x, p, w = self._tokens
        share = p * w / (p * w).sum()
        mean = share @ x
        return mean, (x.T * share) @ x - np.outer(mean, mean)

    @cached_property
    def weights(self) -> Array:
        w = self._tokens[2][self.prompts[0]]
        return w / w.sum(axis=1, keepdims=True)

    @cached_property
    def means(self) -> Array:
        return np.einsum("nl,nld->nd", self.weights, self._tokens[0][self.prompts[0]])

    @cached_property
    def errors(self) -> Array:
        """V (tau_L - tau), one row per prompt."""
        return (self.means - self.limit[0]) @ np.array(self.values, float).T

    @cached_property
    def covariance_errors(self) -> Array:
        """|V (C_L - C)|_F^2, of each prompt."""
        x = self._tokens[0][self.prompts[0]]
        second = np.einsum("nl,nli,nlj->nij", self.weights, x, x)
        covariances = second - np.einsum("ni,nj->nij", self.means, self.means)
        return (np.einsum("vi,nij->nvj", np.array(self.values, float), covariances - self.limit[1]) ** 2).sum((1, 2))

    def mean(self, of_prompts: Array) -> float:
        return math.fsum(self.prompts[1] * of_prompts)


def number(draw: random.Random, most: int = 2) -> Fraction:
    return Fraction(draw.randint(-4 * most, 4 * most), draw.choice((1, 2, 4)) * 4)


def texts(row: tuple[Fraction, ...]) -> list[str]:
    return [str(entry) for entry in row]


def enumerated(draw: random.Random, least: int = 1) -> Enumerated:
    d = draw.randint(1, 2)
    stated, points, masses = (signs if draw.random() < 0.25 else atoms)(draw, d)
    most = max(least, int(math.log(MOST_PROMPTS) / math.log(max(2, len(points)))))
    length = draw.randint(least, min(most, 8))
    tilt = tuple(number(draw) for _ in range(d))
    values = tuple(tuple(number(draw, 1) for _ in range(d)) for _ in range(draw.randint(1, 2)))
    return Enumerated(stated, points, masses, tilt, values, length)


Points = tuple[dict[str, Any], tuple[tuple[Fraction, ...], ...], tuple[Fraction, ...]]


def atoms(draw: random.Random, d: int) -> Points:
    k = draw.randint(2, 4)
    points = tuple(tuple(number(draw) for _ in range(d)) for _ in range(k))
    parts = [draw.randint(1, 8) for _ in range(k)]
    masses = tuple(Fraction(part, sum(parts)) for part in parts)
    return {"kind": "atoms", "points": [texts(row) for row in points], "weights": texts(masses)}, points, masses


def signs(draw: random.Random, d: int) -> Points:
    sizes = tuple(abs(number(draw)) for _ in range(d))
    corners = np.array(np.meshgrid(*[(-1, 1)] * d)).reshape(d, -1).T
    points = tuple(tuple(int(s) * c for s, c in zip(row, sizes, strict=True)) for row in corners)
    return {"kind": "rademacher", "sizes": texts(sizes)}, points, (Fraction(1, len(points)),) * len(points)


def beside(truth: float, above: bool) -> str:
    """A number by the share OFF above the truth or below it."""
    return repr(truth * (1 + OFF if above else 1 - OFF))


# -- tails


def some_rule(draw: random.Random, finite: bool) -> dict[str, str]:
    orders = ("2", "4", "6", "8", "20", "40")
    power = f"{10 ** draw.uniform(-2, 1.3):.3g}"
    rules = [
        {"rule": "cantelli"},
        {"rule": "moment", "order": draw.choice(orders)},
        {"rule": "chernoff", "lambda": power},
        {"rule": "truncated", "lambda": power, "cap": f"{10 ** draw.uniform(-1.5, 2):.3g}"},
    ]
    if finite:
        rules += [{"rule": "chernoff", "lambda": power, "order": draw.choice(orders)}, {"rule": "exact"}]
    return draw.choice(rules)


def exceeded(values: Array, draw: random.Random) -> str | None:
    """A threshold > 0 just below a value that occurs, or between two."""
    above = np.unique(np.round(values[values > 1e-4], 12))
    if len(above) == 0:
        return None
    value = float(draw.choice(list(above)))
    return f"{value * (1 - 10 ** draw.uniform(-7, -1)):.9f}"


def chance(problem: Enumerated, values: Array, eps: float) -> float | None:
    """P(value > eps); None where doubles cannot tell on which side a value lies."""
    return None if np.any(np.abs(values - eps) < LOST) else problem.mean(values > eps)


def probable(truth: float | None, above: bool) -> bool:
    return truth is not None and truth > 1e-12 and truth * (1 + OFF) < 1 and (above or truth > 0)


def direction_tail(draw: random.Random) -> Trial | None:
    problem = enumerated(draw)
    u = tuple(number(draw, 1) for _ in problem.values)
    values, true = problem.errors @ np.array(u, float), draw.random() < 0.2
    eps = exceeded(values, draw)
    truth = None if eps is None else chance(problem, values, float(eps))
    if eps is None or truth is None or not probable(truth, true):
        return None
    given, rule = problem.given, some_rule(draw, finite=True)
    if draw.random() < 0.3:
        # Of every length from this one on, this one included.
        given = {**given, "length": {"at_least": given["length"]}}
        if draw.random() < 0.5:
            starts = [problem.length, problem.length + draw.randint(1, 9)]
            rule = {"rule": "by-length", "from": list(map(str, starts)), "rules": [rule, some_rule(draw, True)]}  # type: ignore[dict-item]
            true = False
        elif true:
            return None
    item = {"direction": texts(u), "exceeds": eps, "probability": beside(truth, true)}
    return Trial("tail of a direction", _tail(given, {"directions": [item]}, {"directions": [rule]}), true)


def _tail(given: Any, asserts: Any, witness: Any) -> dict[str, Any]:
    return {"certattn": "1", "claim": "output-tail", "given": given, "asserts": asserts, "witness": witness}


def norm_tail(draw: random.Random) -> Trial | None:
    """By coordinates, by a frame of coordinates, by the mean square."""
    problem, norm = enumerated(draw), draw.choice(("l2", "linf"))
    values = np.abs(problem.errors).max(1) if norm == "linf" else np.linalg.norm(problem.errors, axis=1)
    eps = exceeded(values, draw)
    truth = None if eps is None else chance(problem, values, float(eps))
    if eps is None or truth is None or not probable(truth, False):
        return None
    many = len(problem.values)
    witness: dict[str, Any] = {"bounds": [some_rule(draw, True) for _ in range(2 * many)]}
    if draw.random() < 0.4:
        witness = {"method": "mean-square"}
    elif norm == "l2":
        shares = [draw.random() for _ in range(many)]
        levels = [f"{float(eps) * math.sqrt(s / sum(shares)) * 0.999999:.9f}" for s in shares]
        witness |= {"frame": [["1" if i == j else "0" for j in range(many)] for i in range(many)], "levels": levels}
    asserts = {"norm": {"norm": norm, "exceeds": eps, "probability": beside(truth, False)}}
    return Trial("tail of a norm", _tail(problem.given, asserts, {"norm": witness}), False)


# -- mean squares


def mean_square(draw: random.Random) -> Trial | None:
    problem, least = enumerated(draw), draw.random() < 0.5
    collision = draw.random() < 0.3
    truth = problem.mean((problem.weights**2).sum(1) if collision else (problem.errors**2).sum(1))
    if truth < 1e-6:
        return None
    method: dict[str, str] = {"method": draw.choice(("exact", "exact", "moments", "general"))}
    if method["method"] == "general":
        method |= {"t": f"{draw.uniform(0.05, 0.95):.3g}", "lambda": f"{10 ** draw.uniform(-1, 1.5):.3g}"}
    if method["method"] != "exact":
        least = False
    true = draw.random() < 0.3
    name = "at_least" if least else "at_most"
    # Above the truth an upper bound is true, and a lower one false.
    stated = {"collision" if collision else "mean_square": {name: beside(truth, true is not least)}}
    content = {"certattn": "1", "claim": "output-mean-square", "given": problem.given, "asserts": stated}
    return Trial("mean square of outputs", {**content, "witness": method}, true)


def gradient_square(draw: random.Random) -> Trial | None:
    problem, gradient, least = enumerated(draw), draw.choice("VU"), draw.random() < 0.5
    if gradient == "V":
        given, truth = problem.given, problem.mean(((problem.means - problem.limit[0]) ** 2).sum(1))
    else:
        # U = I and the query is the tilt.
        given = {**problem.given, "query": problem.given["tilt"]}
        del given["tilt"]
        truth = problem.mean(problem.covariance_errors) * float(sum(a * a for a in problem.tilt))
    if truth < 1e-6:
        return None
    true, name = draw.random() < 0.3, "at_least" if least else "at_most"
    asserts = {"gradient": gradient, "mean_square": {name: beside(truth, true is not least)}}
    content = {"certattn": "1", "claim": "gradient-mean-square", "given": given, "asserts": asserts}
    return Trial(f"mean square of the gradient in {gradient}", {**content, "witness": {"method": "exact"}}, true)


# -- Gaussian tokens


def gaussian_tail(draw: random.Random) -> Trial | None:
    """Along the score v x, x ~ N(0, 1): one token's tail is a normal one, longer prompts are simulated."""
    tilt, v, length = number(draw), number(draw), draw.choice((1, 1, 2, 3, 5, 20))
    if v == 0 or (length > 1 and tilt == 0):
        return None
    eps = f"{10 ** draw.uniform(-1.5, 0.7) * float(abs(v)):.6f}"
    across = "0" if length == 1 or draw.random() < 0.5 else "1/2"
    truth, error = gaussian_chance(tilt, (v, Fraction(across)), length, float(eps))
    slack, lower = OFF + 6 * error / max(truth, 1e-12), draw.random() < 0.4
    stated = truth * (1 + slack) if lower else truth * (1 - slack)
    if slack > 0.3 or not 1e-9 < stated < 1 - 1e-9:
        return None
    rule = some_rule(draw, finite=False)
    if lower or draw.random() < 0.3:
        rule = {"rule": "inversion", "step": f"{10 ** draw.uniform(-2, 0):.3g}", "terms": draw.choice(("20", "200"))}
    item = {"direction": ["1"], "exceeds": eps, "at_least" if lower else "probability": f"{stated:.12f}"}
    law = {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["1", "0"], ["0", "1"]]}
    given = {"law": law, "tilt": [str(tilt), "0"], "V": [[str(v), across]], "length": str(length)}
    return Trial("tail of Gaussian tokens", _tail(given, {"directions": [item]}, {"directions": [rule]}), False)


def gaussian_chance(tilt: Fraction, v: tuple[Fraction, Fraction], length: int, eps: float) -> tuple[float, float]:
    """P(<v, T_L - T> > eps) under the tilt (a, 0), and its standard error."""
    along, across = map(float, v)
    shift = float(tilt) * along
    if length == 1:
        return math.erfc((eps + shift) / math.hypot(along, across) / math.sqrt(2)) / 2, 0.0
    x, y = np.random.default_rng(length).standard_normal((2, PROMPTS, length))
    w = np.exp(float(tilt) * x)
    found = float(((w * (along * x + across * y)).sum(1) / w.sum(1) - shift > eps).mean())
    return found, math.sqrt(max(found * (1 - found), 1 / PROMPTS) / PROMPTS)


# -- what was observed


@dataclass(frozen=True)
class Misled:
    """A false bound of T_inf beside every prompt of a law: those that verify may have the chance `most` together."""

    trials: tuple[Trial, ...]
    chances: tuple[float, ...]
    most: float


def misled(draw: random.Random) -> Misled:
    """Tokens on a line; prompts that differ in their order are one."""
    stated, points, masses = atoms(draw, 1)
    problem = Enumerated(stated, points, masses, (number(draw),), ((Fraction(1),),), draw.randint(2, 7))
    limit, most, upper = float(problem.limit[0][0]), draw.choice(("0.02", "0.1", "0.3", "0.5")), draw.random() < 0.5
    below, above = min(points)[0], max(points)[0]
    support = {"tokens": {"kind": "box", "low": [str(below)], "high": [str(above)]}}
    false = f"{limit + (-OFF if upper else OFF):.9f}"
    trials, chances = [], []
    for prompt in itertools.combinations_with_replacement(range(len(points)), problem.length):
        times = Counter(prompt).values()
        orders = math.factorial(problem.length) // math.prod(map(math.factorial, times))
        given = {
            "tokens": [texts(points[k]) for k in prompt], "queries": [texts(problem.tilt)], "scale": "1",
            "probability": most, "support": support,
        }  # fmt: skip
        asserts = {"at_least": [[str(below) if upper else false]], "at_most": [[false if upper else str(above)]]}
        content = {"certattn": "1", "claim": "observed-prompt", "given": given, "asserts": asserts}
        trials.append(Trial("observed prompt", content, False))
        chances.append(orders * math.prod(float(masses[k]) for k in prompt))
    # Each side of an interval has half of it.
    return Misled(tuple(trials), tuple(chances), float(most) / 2)


# -- checking

FAMILIES: tuple[Callable[[random.Random], Trial | None], ...] = (
    direction_tail, direction_tail, norm_tail, mean_square, mean_square, gradient_square, gaussian_tail,
)  # fmt: skip


def text_of(trial: Trial) -> str:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in trial.content.items()).replace('"', "")


def verdict(trial: Trial) -> str:
    try:
        certificate = loads(text_of(trial), "made.yaml", limits=LIMITS)
        return check(certificate, CheckOptions(LIMITS)).verdict.value
    except MalformedError as error:
        raise AssertionError(f"{error}\n{text_of(trial)}") from error


def wrong(trial: Trial, found: str) -> bool:
    return found == ("refuted" if trial.true else "verified")


def run(count: int, seed: int) -> tuple[Counter[tuple[str, bool, str]], list[str]]:
    """How often each family, true or false, had each verdict; and what was wrong."""
    tally: Counter[tuple[str, bool, str]] = Counter()
    findings: list[str] = []
    for step in itertools.count():
        if tally.total() >= count:
            return tally, findings
        draw = random.Random(f"{seed} {step}")
        if step % 50 == 0:
            group = misled(draw)
            verdicts = [verdict(trial) for trial in group.trials]
            tally.update((trial.family, False, found) for trial, found in zip(group.trials, verdicts, strict=True))
            chance = math.fsum(c for c, found in zip(group.chances, verdicts, strict=True) if found == "verified")
            if chance > group.most * (1 + LOST):
                findings.append(f"number {step}: misled with chance {chance:.6g}: {text_of(group.trials[0])}")
            continue
        trial = draw.choice(FAMILIES)(draw)
        if trial is None:
            continue
        found = verdict(trial)
        tally[trial.family, trial.true, found] += 1
        if wrong(trial, found):
            findings.append(f"number {step}: {found}, though it is {trial.true}: {text_of(trial)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="certificates to check")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    start = time.perf_counter()
    tally, findings = run(chosen.count, chosen.seed)
    for (family, true, found), times in sorted(tally.items()):
        print(f"{family:<35}{'true' if true else 'false':<7}{found:<14}{times:>7}")
    print(f"\n{tally.total()} certificates in {time.perf_counter() - start:.0f} s, {len(findings)} findings")
    print("\n".join(findings))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
