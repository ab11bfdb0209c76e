"""Whether a certificate of `selection-direction` may be true: p_mm by trying every support, descent in doubles.

A statement is false where p_mm is another or does not exist, where a simulated step exceeds a stated bound, or where
descent has settled on other tokens. Nothing that is simulated proves it true.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import read_count, read_counts, read_number, read_point, require, require_record
from tools.truth.token_optimality import Instance, combination, require_indices

_STEPS = 300
# Of a start that is not one point, some are tried.
_TRIED = 4
# Doubles go astray by no more than this in so many steps.
_ROUNDING = 1e-9
# A token of this softmax weight is settled on.
_SETTLED = 0.9999
SLOPES = {
    "linear": lambda x: 1.0,
    "logistic": lambda x: math.exp(-np.logaddexp(0.0, x)),
    "exponential": lambda x: float(np.exp(-x)),
}


def judge_direction(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """False where something speaks against it; else open."""
    require(isinstance(given, dict) and {"loss", "descent", "start"} <= set(given), "given")
    instance = Instance({key: given[key] for key in given if key not in ("loss", "descent", "start")}, folder)
    require(isinstance(given["loss"], str) and given["loss"] in SLOPES, "the loss")
    require_record(asserts, "asserts", {"indices"}, {"limit", "angles", "rate"})
    indices = require_indices(instance, read_counts(asserts["indices"]))
    require(len(instance.pairs(indices)) > 0, "nothing to select from")
    starts, rule, step = _starts(instance, given["start"], folder), *_rule(given["descent"])
    require_record(witness, "witness", {"multipliers", "theorem"}, {"steps", "leaps", "bits"})
    solution = instance.solve(indices)
    limit = read_point(asserts["limit"], instance.shape, folder) if "limit" in asserts else solution
    bounds, rate = _bounds(asserts, rule), _rate(asserts)
    if solution is None or limit != solution:
        return Judgement(Truth.FALSE, 0.0, "p_mm")
    shown = combination(instance, indices, witness["multipliers"]) == solution
    wrong = ""
    direction = np.array([float(x) for x in solution])
    for start in starts:
        if rule == "flow":
            found = _angle(start, direction)
            if Fraction(0) in bounds and found is not None and found > float(bounds[Fraction(0)]) + _ROUNDING:
                wrong = "the start"
        else:
            wrong = wrong or _contradiction(
                instance, indices, direction, start, (rule, step), bounds, rate, given["loss"]
            )
    return Judgement(Truth.FALSE if wrong else Truth.OPEN, 0.0, wrong, shown)


def _contradiction(
    instance: Instance,
    indices: tuple[int, ...],
    direction: np.ndarray[Any, Any],
    point: np.ndarray[Any, Any],
    rule: tuple[str, float],
    bounds: dict[Fraction, Fraction],
    rate: tuple[Fraction, ...] | None,
    loss: str,
) -> str:
    """What a simulated descent has against the statement, in words; nothing if it has nothing."""
    keys = [np.array([[float(x) for x in row] for row in rows]) for rows in instance.keys]
    np.seterr(over="ignore", invalid="ignore")
    scores = [np.array([float(x) for x in row]) for row in instance.scores]
    for k in range(_STEPS + 1):
        angle = _angle(point, direction)
        if angle is not None:
            if k in bounds and angle > float(bounds[Fraction(k)]) + _ROUNDING:
                return f"step {k}"
            if rate is not None and k >= rate[0]:
                numerator, offset, slope = (float(x) for x in rate[1:])
                if angle > numerator / math.log(offset + slope * (k - float(rate[0]))) + _ROUNDING:
                    return f"the rate at step {k}"
        gradient, weights = np.zeros(len(point)), []
        for rows, gamma in zip(keys, scores, strict=True):
            logits = rows @ point
            share = np.exp(logits - logits.max())
            share /= share.sum()
            weights.append(share)
            mean = share @ gamma
            gradient -= SLOPES[loss](mean) * (rows.T @ (share * (gamma - mean)))
        gradient /= len(keys)
        length = np.linalg.norm(gradient)
        if not np.isfinite(length):
            return ""
        if length == 0:
            # Too small for doubles: descent by such steps stands still, and by normalised ones goes on unseen.
            if rule[0] == "normalised":
                return ""
            continue
        point = point - rule[1] * (gradient / length if rule[0] == "normalised" else gradient)
    settled = [int(share.argmax()) for share in weights]
    if all(share.max() > _SETTLED for share in weights) and settled != list(indices):
        return "another selection"
    return ""


def _angle(point: np.ndarray[Any, Any], direction: np.ndarray[Any, Any]) -> float | None:
    """1 - cos; None at 0."""
    length = np.linalg.norm(point) * np.linalg.norm(direction)
    return None if length == 0 else float(1 - point @ direction / length)


def _starts(instance: Instance, stated: Any, folder: Path) -> list[np.ndarray[Any, Any]]:
    dimension = len(instance.keys[0][0])
    rng = np.random.default_rng(0)
    if stated == "every":
        return [3 * rng.normal(size=dimension) for _ in range(_TRIED)]
    if isinstance(stated, dict) and "file" not in stated:
        require_record(stated, "start", {"lower", "upper"})
        lower, upper = (read_point(stated[name], instance.shape, folder) for name in ("lower", "upper"))
        require(all(low <= high for low, high in zip(lower, upper, strict=True)), "an empty box")
        ends = [np.array([float(x) for x in end]) for end in (lower, upper)]
        return ends + [ends[0] + rng.uniform(size=dimension) * (ends[1] - ends[0]) for _ in range(_TRIED)]
    return [np.array([float(x) for x in read_point(stated, instance.shape, folder)])]


def _rule(stated: Any) -> tuple[str, float]:
    require(isinstance(stated, dict) and stated.get("rule") in ("gradient", "normalised", "flow"), "the rule")
    if stated["rule"] == "flow":
        require_record(stated, "descent", {"rule"})
        return "flow", 0.0
    require_record(stated, "descent", {"rule", "step"})
    step = read_number(stated["step"])
    require(step > 0, "a step that is not positive")
    return stated["rule"], float(step)


def _bounds(asserts: Any, rule: str) -> dict[Fraction, Fraction]:
    """The least bound of each step (or time)."""
    if "angles" not in asserts:
        return {}
    require(isinstance(asserts["angles"], list) and asserts["angles"] != [], "angles")
    found: dict[Fraction, Fraction] = {}
    for item in asserts["angles"]:
        key = "time" if rule == "flow" else "step"
        require_record(item, "an angle", {key, "at_most"})
        at = read_number(item["time"]) if rule == "flow" else Fraction(read_count(item["step"]))
        bound = read_number(item["at_most"])
        require(at >= 0 and bound >= 0, "a negative number")
        found[at] = min(bound, found.get(at, bound))
    return found


def _rate(asserts: Any) -> tuple[Fraction, ...] | None:
    if "rate" not in asserts:
        return None
    rate = asserts["rate"]
    require_record(rate, "rate", {"form", "from", "numerator", "offset", "slope"})
    require(rate["form"] == "logarithm", "the form of the rate")
    found = tuple(read_number(rate[name]) for name in ("from", "numerator", "offset", "slope"))
    require(found[0] >= 0 and found[1] >= 0 and found[2] > 1 and found[3] > 0, "the numbers of a rate")
    return found
