"""Measure `theorem-4-3`: certified lengths, and how far apart the runs of some laws of the class really are.

    python tools/bench/theorem_4_3.py              every start of those below
    python tools/bench/theorem_4_3.py NAME ...     some of them, such as bounded-small
    python tools/bench/theorem_4_3.py --drawn N    N drawn laws of two or three atoms, at drawn lengths

For a distance of 0.1 at time 1 the shortest length is found for losses that are smooth, convex and quadratic: of every
sigma-sub-Gaussian law of tokens in the plane, of Gaussian tokens of covariance sigma^2 I, and of independent signs of
the size sigma. `simulated` is the largest distance of two simulated flows at the length of quadratic losses, up to
2,000 tokens, of the stated law or of some of the class: of one-dimensional tokens, the query 1 and the square loss, by
sums over all prompts of tokens with two or three values, and by a sample of Gaussian prompts. Times are of the
processor, in one process. Of drawn laws the simulated distance is held against the one that is certified at its length.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lgamma
from pathlib import Path
from typing import Any

import numpy as np

import certattn
from certattn.kernel.errors import NotProvedError
from certattn.provers.commands import DoubtWarning

Array = np.ndarray[Any, Any]
BOUNDED, SUB_GAUSSIAN = {"query_radius": 1}, {"query_dimension": 2, "query_sigma": 1}
# Queries, sigma, the mean loss of the output 0, and the norms of the start.
STARTS: dict[str, tuple[dict[str, int], str, str, str]] = {
    "bounded-small": (BOUNDED, "1/4", "1/2", "1/2"),
    "bounded-half-weak": (BOUNDED, "1/2", "1/8", "1/4"),
    "bounded-half": (BOUNDED, "1/2", "1/2", "1/4"),
    "bounded-half-half": (BOUNDED, "1/2", "1/2", "1/2"),
    "bounded-half-unit": (BOUNDED, "1/2", "1/2", "1"),
    "bounded-unit": (BOUNDED, "1", "1/8", "1/4"),
    "bounded-unit-unit": (BOUNDED, "1", "1/8", "1"),
    "sub-gaussian-small": (SUB_GAUSSIAN, "1/4", "1/2", "1/2"),
    "sub-gaussian-unit": (SUB_GAUSSIAN, "1/4", "1/2", "1"),
    "sub-gaussian-half": (SUB_GAUSSIAN, "1/2", "1/8", "1/4"),
}


@dataclass(frozen=True)
class Prompts:
    """Kinds of prompts of one-dimensional tokens: how probable each is, its tokens, and how often each occurs."""

    chances: Array
    tokens: Array
    counts: Array

    @classmethod
    def infinite(cls, atoms: Sequence[float], weights: Sequence[float]) -> Prompts:
        return cls(np.ones(1), np.array(atoms)[None], np.array(weights)[None])

    @classmethod
    def finite(cls, atoms: Sequence[float], weights: Sequence[float], length: int) -> Prompts:
        """Every prompt of L tokens of two or three atoms."""
        first = np.arange(length + 1)
        pairs = [(i, length - i) for i in first]
        if len(atoms) == 3:
            pairs = [(i, j, length - i - j) for i in first for j in range(length + 1 - i)]  # type: ignore[misc]
        counts, logs = np.array(pairs, dtype=float), np.array([lgamma(n + 1) for n in range(length + 1)])
        chances = np.exp(logs[length] - logs[counts.astype(int)].sum(axis=1) + counts @ np.log(weights))
        return cls(chances, np.array(atoms)[None], counts)

    def moments(self, tilt: float) -> tuple[Array, Array]:
        """Of the tilted tokens: means and variances."""
        scores = tilt * self.tokens
        weights = self.counts * np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        means = (weights * self.tokens).sum(axis=1)
        return means, (weights * self.tokens**2).sum(axis=1) - means**2


@dataclass(frozen=True)
class Case:
    """One of the things that a task may draw."""

    chance: float
    prompts: Prompts
    query: float
    target: float


Slope = Callable[[Array, float], Array]


def of_square(output: Array, target: float) -> Array:
    """The derivative of 1/2 (output - target)^2."""
    found: Array = output - target
    return found


def gradient(cases: Sequence[Case], at: Array, slope: Slope) -> Array:
    """Of the risk in (U, V), of attention in one dimension."""
    U, V = at
    found = np.zeros(2)
    for case in cases:
        means, variances = case.prompts.moments(U * case.query)
        pushed = case.chance * case.prompts.chances * slope(V * means, case.target)
        found += [pushed @ (V * variances * case.query), pushed @ means]
    return found


def flow(cases: Sequence[Case], start: Sequence[float], until: float, steps: int, slope: Slope = of_square) -> Array:
    """Gradient flow by the classical method of Runge and Kutta: where it is after each step."""
    at, h = np.array(start, dtype=float), until / steps
    path = [at]
    for _ in range(steps):
        one = -gradient(cases, at, slope)
        two = -gradient(cases, at + h / 2 * one, slope)
        three = -gradient(cases, at + h / 2 * two, slope)
        four = -gradient(cases, at + h * three, slope)
        at = at + h / 6 * (one + 2 * two + 2 * three + four)
        path.append(at)
    return np.array(path)


def descent(cases: Sequence[Case], start: Sequence[float], step: float, steps: int, slope: Slope = of_square) -> Array:
    """The iterates of gradient descent."""
    path = [np.array(start, dtype=float)]
    for _ in range(steps):
        path.append(path[-1] - step * gradient(cases, path[-1], slope))
    return np.array(path)


def apart(one: Array, other: Array) -> float:
    """The largest distance of two paths."""
    return float(np.linalg.norm(one - other, axis=1).max())


# Centred laws that are sub-Gaussian with 1, nearly: atoms and weights.
LAWS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "signs": ((-1.0, 1.0), (0.5, 0.5)),
    "two atoms": ((-0.6, 1.4), (0.7, 0.3)),
    "much mass at 0": ((-2.0, 0.0, 2.0), (0.06, 0.88, 0.06)),
}


def worst(sigma: float, loss: float, norm: float, length: int, only: str = "") -> tuple[str, float]:
    """The law whose runs are farthest apart, of all or of those of a name, and how far."""
    found = {}
    target, start = (2 * loss) ** 0.5, (norm, norm)
    for name, (atoms, weights) in LAWS.items():
        if only not in ("", name):
            continue
        scaled = [sigma * atom for atom in atoms]
        if len(atoms) == 3 and length > 400:
            continue
        runs = [Prompts.finite(scaled, weights, length), Prompts.infinite(scaled, weights)]
        found[name] = apart(*(flow([Case(1, each, 1, target)], start, 1, 40) for each in runs))
    if only in LAWS:
        return only, found[only]
    rng, count = np.random.default_rng(0), max(2_000_000 // length, 2_000)
    sampled = sigma * rng.normal(size=(count // 2, length))
    tokens = np.concatenate([sampled, -sampled])
    drawn = Prompts(np.full(len(tokens), 1 / len(tokens)), tokens, np.ones_like(tokens))
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    alone = Prompts.infinite(sigma * nodes, weights / weights.sum())
    found["Gaussian"] = apart(*(flow([Case(1, each, 1, target)], start, 1, 40) for each in (drawn, alone)))
    name = max(found, key=lambda law: found[law])
    return name, found[name]


def tokens_of(kind: str, sigma: str) -> dict[str, Any]:
    """What a certificate states of tokens in the plane."""
    if kind == "class":
        return {"dimension": 2, "sigma": sigma}
    if kind == "signs":
        return {"law": {"kind": "rademacher", "sizes": [sigma, sigma]}}
    square = str(Fraction(sigma) ** 2)
    return {"law": {"kind": "gaussian", "mean": [0, 0], "covariance": [[square, 0], [0, square]]}}


def measured(name: str, kind: str) -> str:
    queries, sigma, loss, norm = STARTS[name]
    given = {"class": {**tokens_of(kind, sigma), **queries}, "start": {"U": norm, "V": norm}, "time": 1}
    lengths, began = [], time.process_time()
    for shape in ("smooth", "convex", "quadratic"):
        with tempfile.TemporaryDirectory() as folder:
            try:
                losses = {"smoothness": 1, "shape": shape, "at_zero": loss}
                found = certattn.generate("theorem-4-3", Path(folder) / "c.yaml", given={**given, "loss": losses})
                lengths.append(int(found.plain["given"]["length"]))  # type: ignore[arg-type,call-overload,index]
            except NotProvedError:
                lengths.append(0)
    took = time.process_time() - began
    law, distance = ("", 0.0)
    if 0 < lengths[-1] <= 2_000 and queries is BOUNDED:
        only = {"class": "", "Gaussian": "Gaussian", "signs": "signs"}[kind]
        law, distance = worst(*(float(Fraction(each)) for each in (sigma, loss, norm)), lengths[-1], only)
    shown = " ".join(f"{length:>20,}" for length in lengths)
    return f"{name:20} {kind:10} {shown}   {distance:.2g} ({law})   {took:.1f} s"


def drawn(count: int) -> str:
    """How near runs of drawn instances come to what is certified of them: the largest ratio, and how many exceed it."""
    rng, ratios, unproved = np.random.default_rng(7), [], 0
    while len(ratios) + unproved < count:
        atoms = int(rng.integers(2, 4))
        points = [Fraction(int(n), 16) for n in rng.choice(np.arange(-16, 17), atoms, replace=False)]
        shares = [int(n) for n in rng.integers(1, 8, atoms)]
        weights = [Fraction(share, sum(shares)) for share in shares]
        mean = sum(w * x for w, x in zip(weights, points, strict=True))
        points = [x - mean for x in points]
        u, v, query, until = (Fraction(int(n), 8) for n in rng.integers(1, 9, 4))
        length, target = int(rng.integers(2, 25)), Fraction(int(rng.integers(-19, 20)), 16)
        law = {"kind": "atoms", "points": [[str(x)] for x in points], "weights": list(map(str, weights))}
        shape = str(rng.choice(["quadratic", "convex", "smooth"]))
        given = {
            "class": {"law": law, "query_radius": str(query)}, "start": {"U": str(u), "V": str(v)}, "time": str(until),
            "loss": {"smoothness": 1, "shape": shape, "at_zero": str(target**2 / 2)}, "length": length,
        }  # fmt: skip
        try:
            with tempfile.TemporaryDirectory() as folder:
                found = certattn.generate("theorem-4-3", Path(folder) / "c.yaml", given=given, pieces=8)
        except NotProvedError:
            unproved += 1
            continue
        start = (float(u) * rng.choice([-1, 1]), float(v) * rng.choice([-1, 1]))
        x, p = list(map(float, points)), list(map(float, weights))
        prompts = (Prompts.finite(x, p, length), Prompts.infinite(x, p))
        runs = [flow([Case(1, each, float(query), float(target))], start, float(until), 20) for each in prompts]
        ratios.append(apart(*runs) / float(found.numbers["distance"]))
    over = sum(ratio > 1 for ratio in ratios)
    return f"{count:,} drawn, {unproved:,} not certified; at most {max(ratios):.3f} of what is; {over} exceed it"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--drawn", type=int, metavar="N")
    stated = parser.parse_args(arguments)
    names = stated.names or list(STARTS)
    warnings.simplefilter("ignore", DoubtWarning)
    if stated.drawn:
        print(drawn(stated.drawn))
        return
    print(f"{'start':20} {'tokens':10} {'smooth':>20} {'convex':>20} {'quadratic':>20}   simulated (law)   time")
    for name in names:
        for kind in ("class", "Gaussian", "signs"):
            print(measured(name, kind), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
