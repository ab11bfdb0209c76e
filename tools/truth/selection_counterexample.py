"""Whether a certificate of `selection-counterexample` may be true: descent as `selection_direction_truth` judges it,
and the best tokens: scores over the fractions, max-margin points by trying every support, L_p in doubles.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import dot, read_counts, read_number, require, require_record, to_real
from tools.truth.selection_direction import SLOPES, judge_direction
from tools.truth.token_optimality import Instance, combination, require_indices

_DIGITS = 60
# L_p is computed in doubles.
_ROUNDING = 1e-12


def judge_counterexample(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """False where something speaks against it; else open."""
    require_record(asserts, "asserts", {"indices", "apart"}, {"limit", "smoothness"})
    require_record(witness, "witness", {"multipliers", "theorem", "best_multipliers"}, {"steps", "leaps", "bits"})
    direction = judge_direction(
        given,
        {key: value for key, value in asserts.items() if key in ("indices", "limit")},
        {key: value for key, value in witness.items() if key != "best_multipliers"},
        folder,
    )
    instance = Instance({key: given[key] for key in given if key not in ("loss", "descent", "start")}, folder)
    rule = given["descent"]
    require(len(instance.keys) > 1 and rule["rule"] == "gradient" and given["start"] != "every", "not of this claim")
    require(not (isinstance(given["start"], dict) and "cone" in given["start"]), "a point or a box")
    apart = read_number(asserts["apart"])
    require(apart > 0, "an angle of 0")
    best = tuple(row.index(max(row)) for row in instance.scores)
    reached = require_indices(instance, read_counts(asserts["indices"]))
    require(best != reached, "the best tokens")
    found = [direction, *_about_the_best(instance, best, apart, instance.solve(reached))]
    if "smoothness" in asserts:
        found.append(
            _about_the_step(instance, given["loss"], read_number(rule["step"]), read_number(asserts["smoothness"]))
        )
    shown = combination(instance, best, witness["best_multipliers"]) == instance.solve(best)
    wrong = next((each for each in found if each.truth is Truth.FALSE), None)
    return wrong or Judgement(Truth.OPEN, 0.0, "", direction.provable and shown)


def _about_the_best(
    instance: Instance, best: tuple[int, ...], apart: Fraction, reached: list[Fraction] | None
) -> list[Judgement]:
    found = []
    for row, index in zip(instance.scores, best, strict=True):
        others = [score for t, score in enumerate(row) if t != index]
        if others and not max(others) == min(others) < row[index]:
            found.append(Judgement(Truth.FALSE, 0.0, "scores"))
    wanted = instance.solve(best)
    if wanted is None:
        return [*found, Judgement(Truth.FALSE, 0.0, "no max-margin point of the best tokens")]
    if reached is not None:
        with mp.workdps(_DIGITS):
            square = dot(reached, reached) * dot(wanted, wanted)
            if 1 - to_real(dot(reached, wanted)) / mp.sqrt(to_real(square)) < to_real(apart):
                found.append(Judgement(Truth.FALSE, 0.0, "apart"))
    return found


def _about_the_step(instance: Instance, loss: str, step: Fraction, stated: Fraction) -> Judgement:
    """L_p of tokens x = (key, score), W = [I 0], v the last coordinate, with spectral norms; and eta L <= 1."""
    require(stated > 0, "the smoothness")
    lows = [float(min(row)) for row in instance.scores]
    steepest = max(SLOPES[loss](low) for low in lows)
    nearest = [min(max(0.0, low), float(max(row))) for low, row in zip(lows, instance.scores, strict=True)]
    bends = {"linear": lambda x, low: 0.0, "logistic": lambda x, low: 1 / (2 + 2 * np.cosh(x)),
             "exponential": lambda x, low: np.exp(-low)}  # fmt: skip
    bend = max(bends[loss](x, low) for x, low in zip(nearest, lows, strict=True))
    total = 0.0
    for keys, scores in zip(instance.keys, instance.scores, strict=True):
        rows = np.array([[float(x) for x in (*key, score)] for key, score in zip(keys, scores, strict=True)])
        norm = float(np.linalg.norm(rows, 2))
        total += bend * norm**4 + 3 * steepest * norm**3
    wrong = step * stated > 1 or float(stated) < total / len(instance.keys) * (1 - _ROUNDING)
    return Judgement(Truth.FALSE if wrong else Truth.OPEN, 0.0, "smoothness")
