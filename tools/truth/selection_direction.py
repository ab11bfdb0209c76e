"""Whether a certificate of `selection-direction` may be true: p_mm by trying every support, descent in doubles.

A statement is false where p_mm is another or does not exist, where a simulated step exceeds a stated bound, or where
descent has settled on other tokens. Nothing that is simulated proves it true.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import read_count, read_counts, read_number, read_point, require, require_record
from tools.truth.token_optimality import Instance, combination, require_indices

_STEPS = 300
# Of a start that is not one point, some are tried.
_TRIED = 4
# Doubles go astray by no more than this in so many steps.
_ROUNDING = 1e-9
# The flow is integrated up to a time, with an error of its own.
_LAST_TIME, _FLOW_ROUNDING = 500, 1e-7
# A token of this softmax weight is settled on.
_SETTLED = 0.9999
LOSSES = {
    "linear": lambda x: -x,
    "logistic": lambda x: float(np.logaddexp(0.0, -x)),
    "exponential": lambda x: float(np.exp(-x)),
}
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
    require_record(asserts, "asserts", {"indices"}, {"limit", "rate", *KINDS})
    indices = require_indices(instance, read_counts(asserts["indices"]))
    require(len(instance.pairs(indices)) > 0, "nothing to select from")
    starts, rule, step = _starts(instance, given["start"], folder), *_rule(given["descent"])
    require_record(witness, "witness", {"multipliers", "theorem"}, {"steps", "time", "leaps", "bits"})
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
            wrong = wrong or _contradicted_by_the_flow(instance, direction, start, indices, bounds, rate, given["loss"])
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
    bounds: list[Bound],
    rate: tuple[Fraction, ...] | None,
    loss: str,
) -> str:
    """What a simulated descent has against the statement, in words; nothing if it has nothing."""
    keys, scores = _in_doubles(instance)
    np.seterr(over="ignore", invalid="ignore")
    for k in range(_STEPS + 1):
        now = _now(instance, indices, point, direction, loss)
        if any((bound.at == k or (bound.ever and bound.at < k)) and bound.is_broken(now) for bound in bounds):
            return f"step {k}"
        angle = now["angles"]
        if angle is not None and rate is not None and k >= rate[0]:
            numerator, offset, slope = (float(x) for x in rate[1:])
            if angle > numerator / math.log(offset + slope * (k - float(rate[0]))) + _ROUNDING:
                return f"the rate at step {k}"
        gradient, weights = _gradient(keys, scores, loss, point)
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


def _contradicted_by_the_flow(
    instance: Instance,
    direction: np.ndarray[Any, Any],
    start: np.ndarray[Any, Any],
    indices: tuple[int, ...],
    bounds: list[Bound],
    rate: tuple[Fraction, ...] | None,
    loss: str,
) -> str:
    """The same of the flow, integrated by scipy."""
    keys, scores = _in_doubles(instance)
    np.seterr(over="ignore", invalid="ignore")
    times = sorted({*(each.at for each in bounds if each.at <= _LAST_TIME), Fraction(0), Fraction(_LAST_TIME)})
    field = lambda _, point: -_gradient(keys, scores, loss, point)[0]  # noqa: E731
    found = solve_ivp(field, (0, _LAST_TIME), start, "LSODA", t_eval=[float(t) for t in times], rtol=1e-10, atol=1e-12)
    for time, point in zip(times, found.y.T, strict=False):
        now = _now(instance, indices, point, direction, loss)
        held = [each for each in bounds if each.at == time or (each.ever and each.at < time)]
        if any(each.is_broken(now, _FLOW_ROUNDING) for each in held):
            return f"time {time}"
        angle = now["angles"]
        if angle is None or not np.isfinite(angle):
            continue
        if rate is not None and time >= rate[0]:
            numerator, offset, slope = (float(x) for x in rate[1:])
            if angle > numerator / math.log(offset + slope * float(time - rate[0])) + _FLOW_ROUNDING:
                return f"the rate at time {time}"
    return ""


def _in_doubles(instance: Instance) -> tuple[list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]]:
    """Keys and scores of the inputs."""
    keys = [np.array([[float(x) for x in row] for row in rows]) for rows in instance.keys]
    return keys, [np.array([float(x) for x in row]) for row in instance.scores]


def _gradient(
    keys: list[np.ndarray[Any, Any]], scores: list[np.ndarray[Any, Any]], loss: str, point: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], list[np.ndarray[Any, Any]]]:
    """grad L, and the softmax weights."""
    gradient, weights = np.zeros(len(point)), []
    for rows, gamma in zip(keys, scores, strict=True):
        logits = rows @ point
        share = np.exp(logits - logits.max())
        share /= share.sum()
        weights.append(share)
        mean = share @ gamma
        gradient -= SLOPES[loss](mean) * (rows.T @ (share * (gamma - mean)))
    return gradient / len(keys), weights


class Bound(NamedTuple):
    """Of one of KINDS at a step (or time), or `ever` from it on: at least or at most so much."""

    kind: str
    at: Fraction
    ever: bool
    is_upper: bool
    bound: float

    def is_broken(self, now: dict[str, float | None], rounding: float = _ROUNDING) -> bool:
        """Whether what is found is beyond it by more than rounding."""
        found = now[self.kind]
        if found is None or not np.isfinite(found):
            return False
        slack = rounding * max(1.0, abs(found))
        return found > self.bound + slack if self.is_upper else found < self.bound - slack


# With the ends that their bounds may have: the first one for good too.
KINDS = {
    "angles": ("at_most", "at_least"),
    "weights": ("at_least", "at_most"),
    "losses": ("at_most", "at_least"),
    "norms": ("at_least", "at_most"),
}


def _now(
    instance: Instance,
    indices: tuple[int, ...],
    point: np.ndarray[Any, Any],
    direction: np.ndarray[Any, Any],
    loss: str,
) -> dict[str, float | None]:
    """What bounds are about, at a point; None for the angle of 0."""
    length = float(np.linalg.norm(point))
    across = length * float(np.linalg.norm(direction))
    weights, gap = [], 0.0
    for keys, scores, chosen in zip(instance.keys, instance.scores, indices, strict=True):
        logits = np.array([[float(x) for x in row] for row in keys]) @ point
        share = np.exp(logits - logits.max())
        share /= share.sum()
        weights.append(float(share[chosen]))
        mean = float(share @ np.array([float(x) for x in scores]))
        gap += (LOSSES[loss](mean) - LOSSES[loss](float(scores[chosen]))) / len(instance.keys)
    angle = None if across == 0 else float(1 - point @ direction / across)
    return {"angles": angle, "weights": min(weights), "losses": gap, "norms": length}


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


def _bounds(asserts: Any, rule: str) -> list[Bound]:
    """Those that are stated."""
    found, single = [], "time" if rule == "flow" else "step"
    for kind, ends in KINDS.items():
        if kind not in asserts:
            continue
        require(isinstance(asserts[kind], list) and asserts[kind] != [], kind)
        for item in asserts[kind]:
            require(isinstance(item, dict), f"an item of {kind}")
            place = "from" if "from" in item else single
            # The other end of what tends to a limit holds at no time for good.
            end = ends[-1] if ends[-1] in item and place != "from" else ends[0]
            require_record(item, f"an item of {kind}", {place, end})
            whole = place == "step" or (place == "from" and rule != "flow")
            at = Fraction(read_count(item[place])) if place == "step" else read_number(item[place])
            require(not whole or at.denominator == 1, "no whole step")
            bound = read_number(item[end])
            require(at >= 0 and bound >= 0, "a negative number")
            found.append(Bound(kind, at, place == "from", end == "at_most", float(bound)))
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
