"""Measure how sharp `regularization-path` is, and how fast `token-optimality` goes through all selections.

    python tools/bench/selection_path.py                 100 random instances of the path, at margin times R = 40
    python tools/bench/selection_path.py --instances 20
    python tools/bench/selection_path.py --enumerations  10,000 selections and fewer

The path is compared with minimisers found by scipy, which share no code with the prover: the logarithm of the excess
loss is minimised over angles on the sphere, from several starts.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import certattn

Array = np.ndarray[Any, Any]
REACH = 40
LOSSES = ("linear", "logistic", "exponential")


@dataclass(frozen=True)
class Instance:
    """Random keys and scores in which the first token of every input is the best one."""

    keys: list[Array]
    scores: list[Array]
    loss: str

    def given(self) -> dict[str, Any]:
        return {
            "keys": [[[str(Fraction(x)) for x in row] for row in keys.tolist()] for keys in self.keys],
            "scores": [[str(Fraction(x)) for x in scores.tolist()] for scores in self.scores],
            "loss": self.loss,
        }

    def log_excess(self, p: Array) -> float:
        """log sum_i (l(gamma_i0 - G_i) - l(gamma_i0)), without cancellation."""
        total = 0.0
        for keys, scores in zip(self.keys, self.scores, strict=True):
            powers = np.exp(np.minimum((keys[1:] - keys[0]) @ p, 700))
            drop = float(powers @ (scores[0] - scores[1:])) / (1 + float(powers.sum()))
            total += _excess(self.loss, float(scores[0]), drop)
        return float(np.log(total))


def _excess(loss: str, score: float, drop: float) -> float:
    if loss == "linear":
        return drop
    if loss == "logistic":
        return float(np.log1p(np.expm1(drop) / (1 + np.exp(score))))
    return float(np.exp(-score) * np.expm1(drop))


def random_instance(rng: np.random.Generator) -> Instance:
    """1 to 3 inputs of 2 to 5 tokens in dimension 2 to 6, with coordinates and scores that are short binary numbers."""
    count, dimension = int(rng.integers(1, 4)), int(rng.integers(2, 7))
    lengths = [int(rng.integers(2, 6)) for _ in range(count)]
    keys = [np.round(rng.normal(size=(length, dimension)) * 64) / 64 for length in lengths]
    scores = []
    for length in lengths:
        others = np.round(rng.uniform(-1, 0.75, size=length - 1) * 64) / 64
        scores.append(np.concatenate([[1.0], others]))
    return Instance(keys, scores, LOSSES[int(rng.integers(3))])


def numeric_cosine(instance: Instance, direction: Array, radius: float, starts: int, rng: np.random.Generator) -> float:
    """The cosine of the best point that scipy finds on the sphere |p| = R, around the direction and at random."""
    unit = direction / np.linalg.norm(direction)

    def objective(x: Array) -> float:
        return instance.log_excess(radius * x / np.linalg.norm(x))

    best_value, best = np.inf, unit
    for k in range(starts):
        start = unit if k == 0 else unit + rng.normal(size=len(unit)) * 0.3
        found = minimize(objective, start, method="BFGS", options={"gtol": 1e-10})
        if found.fun < best_value:
            best_value, best = float(found.fun), found.x / np.linalg.norm(found.x)
    return float(best @ unit)


def path_ratios(instances: int, seed: int = 0) -> list[float]:
    """(certified 1 - cos) / (computed 1 - cos) for random instances that can be separated."""
    rng = np.random.default_rng(seed)
    found: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        while len(found) < instances:
            instance = random_instance(rng)
            ratio = _ratio(instance, Path(folder) / "path.yaml", rng)
            if ratio is not None:
                found.append(ratio)
    return found


def _ratio(instance: Instance, path: Path, rng: np.random.Generator) -> float | None:
    try:
        certificate = certattn.generate(
            "regularization-path", path, given=instance.given(), indices=[0] * len(instance.keys)
        )
    except certattn.CertattnError:
        return None  # it cannot be separated
    if certattn.check(path).verdict is not certattn.Verdict.VERIFIED:
        raise SystemExit(f"not verified: {path.read_text()}")
    plain: Any = certificate.plain
    stated = plain["asserts"]["path"][0]
    direction = np.zeros(instance.keys[0].shape[1])
    for item in plain["witness"]["multipliers"]:
        keys = instance.keys[int(item["input"])]
        direction += float(Fraction(item["multiplier"])) * (keys[0] - keys[int(item["token"])])
    true = 1 - numeric_cosine(instance, direction, float(Fraction(stated["radius"])), 3, rng)
    # On a symmetric instance p_R is on the ray itself: there is nothing to compare with in doubles.
    return float(1 - Fraction(stated["cosine"])) / true if true > 1e-9 else None


def path_table(instances: int) -> list[str]:
    ratios = path_ratios(instances)
    quantiles = [f"{np.quantile(ratios, q):.3f}" for q in (0.1, 0.5, 0.9, 1)]
    return [
        f"certified (1 - cos) / computed (1 - cos) at margin * R = {REACH}, {len(ratios)} random instances:",
        f"  median {statistics.median(ratios):.3f}; quantiles 10%, 50%, 90%, 100%: {', '.join(quantiles)}",
    ]


# -- all selections

SHAPES = ((4, 10, 2), (4, 10, 3), (8, 3, 10), (13, 2, 16), (4, 10, 40))


def enumeration_table() -> list[str]:
    lines = ["inputs  tokens  dimension  selections  locally optimal  generate s  check s"]
    for shape in SHAPES:
        lines.append(_enumeration(*shape))
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def _enumeration(count: int, length: int, dimension: int) -> str:
    rng = np.random.default_rng(1)
    given = {
        "keys": rng.integers(-99, 100, size=(count, length, dimension)).tolist(),
        "scores": rng.integers(0, 100, size=(count, length)).tolist(),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.yaml"
        before = time.perf_counter()
        certificate = certattn.generate("token-optimality", path, given=given, enumerate_all=True)
        between = time.perf_counter()
        verdict = certattn.check(path).verdict
        after = time.perf_counter()
    plain: Any = certificate.plain
    listed = plain["asserts"]["all_locally_optimal"]
    optimal = len(listed) if isinstance(listed, list) else 0
    numbers = (count, length, dimension, length**count, optimal)
    return "  ".join(map(str, numbers)) + f"  {between - before:.1f}  {after - between:.2f}  {verdict.value}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("--enumerations", action="store_true", help="time the enumeration of all selections instead")
    arguments = parser.parse_args()
    print("\n".join(enumeration_table() if arguments.enumerations else path_table(arguments.instances)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
