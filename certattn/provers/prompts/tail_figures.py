"""The figure of a certificate of `output-tail`: its bound at other lengths, and simulated prompts beside it."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.theorems.prompts.ball_of_queries import BallOfQueries
from certattn.kernel.theorems.prompts.output_tail import AT_MOST, DIRECTION, NORM_NAME, StatedTails, read
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.kernel.theorems.prompts.tail_rules import EXCEEDS
from certattn.provers.figures import Target
from certattn.provers.prompts.prompt_simulation import Quantile, errors, farthest_over_ball, quantile
from certattn.provers.prompts.tail_directions import family_of
from certattn.provers.prompts.tail_goals import Goal, goals_of, mean_square_goal, moment_goal, over_ball_goal
from certattn.provers.prompts.tail_inversion import inversion_of
from certattn.provers.prompts.tail_plot import Curve, Figure, draw
from certattn.provers.prompts.tail_search import MOST_TOKENS, smallest_eps
from certattn.provers.rounding import as_float, doubles

Array = np.ndarray[Any, Any]

# By the word for its kind.
_TOKENS = {
    "gaussian": "Gaussian tokens",
    "mixture": "tokens of a mixture",
    "rademacher": "tokens of random signs",
    "box": "tokens uniform on a box",
    "sphere": "tokens uniform on a sphere",
    "truncated-gaussian": "truncated Gaussian tokens",
    "ball": "tokens uniform on a ball",
    "atoms": "tokens of a finite set",
}

# The lengths that are shown: so many times shorter and longer than the certificate's, and how many of them.
_SPREAD, _LENGTHS, _SIMULATED = 30, 5, 5
# A curve need not be finer than its line is thick.
_CURVE = 0.02
# From one length to the next, a threshold is at most so many times as large as L^(-1/2) says, mostly.
_NEAR = 1.15
# Prompts to draw, numbers to draw for one length at most, and tokens beyond the quantile that it takes.
_PROMPTS, _MOST_NUMBERS, _LEAST_BEYOND = 4_000, 4_000_000, 10


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the bound of a certificate's only direction, or else of its norm, against the length."""
    problem = read(certificate)
    draw(figure_of(problem), path)


def figure_of(problem: StatedTails) -> Figure:
    prompt, direction, norm = problem.prompt, None, None
    if problem.directions:
        stated = problem.directions[0]
        if AT_MOST not in stated:
            raise UsageError("a picture shows a bound from above, and this certificate states at_least alone")
        direction = doubles(stated[DIRECTION].load())[0]
    else:
        assert problem.norm is not None
        stated = problem.norm.stated
        norm = stated[NORM_NAME]
    length, eps, delta = prompt.length, stated[EXCEEDS], stated[AT_MOST]
    goal = _goal_of(problem, norm)
    goal = goal.tuned(as_float(eps), float(length))
    counts = _lengths(length)
    bounds = _bounds(goal, counts, math.log(as_float(delta)))
    at = "largest " if isinstance(prompt, BallOfQueries) else ""
    simulated = _simulated(prompt, counts, as_float(delta), direction, norm)
    return Figure(
        Curve([at for at, _ in bounds], [eps for _, eps in bounds], simulated),
        (length, as_float(eps)),
        {
            None: r"deviation $\langle u, T_L - T \rangle$",
            "l2": rf"{at}deviation $|T_L - T|_2$",
            "linf": rf"{at}deviation $|T_L - T|_\infty$",
        }[norm],
        f"{as_float(delta):g}",
        f"{_TOKENS[prompt.law.kind]}, dimension {prompt.dimension}",
        _method(problem, norm),
    )


def _method(problem: StatedTails, norm: str | None) -> str:
    """How the certificate proves its bound: the curve is of the method that it has."""
    if norm is None:
        return "by inversion" if problem.rules[0].name == "inversion" else "by the rules"
    assert problem.norm is not None
    if problem.norm.over_ball is not None:
        return "for every query"
    if problem.norm.order is not None:
        return "by a moment"
    return "by the rules" if problem.norm.rules is not None else "by the mean square"


def _goal_of(problem: StatedTails, norm: str | None) -> Goal:
    method = _method(problem, norm)
    if method == "by the mean square":
        return mean_square_goal(problem.prompt, norm)
    if method == "by a moment":
        return moment_goal(problem.prompt, norm)
    if isinstance(problem.prompt, BallOfQueries):
        return over_ball_goal(problem.prompt, [], norm)
    named = [stated[DIRECTION].load().row(0) for stated in problem.directions[:1]]
    family = inversion_of if method == "by inversion" else family_of
    (goal,) = goals_of(problem.prompt, [[str(entry) for entry in row] for row in named], norm, family)
    return goal


def _lengths(length: int) -> list[int]:
    low, high = max(length / _SPREAD, 10.0), min(max(length, 10.0) * _SPREAD, float(MOST_TOKENS))
    return sorted({round(count) for count in np.geomspace(low, high, _LENGTHS)})


def _bounds(goal: Goal, counts: list[int], log_delta: float) -> list[tuple[int, float]]:
    """The smallest threshold that the rules give at each length."""
    found: list[tuple[int, float]] = []
    for count in counts:
        # Bounds fall about as L^(-1/2): from the one before the next is near.
        last, eps = found[-1] if found else (1, 3 * goal.target.deviation)
        bound = cache(partial(_log_bound, goal, count))
        try:
            unit = eps * math.sqrt(last / count)
            found.append((count, smallest_eps(bound, log_delta, unit, _CURVE, _NEAR if found else 2.0)))
        except NotProvedError:
            continue
    return found


def _log_bound(goal: Goal, count: int, eps: float) -> float:
    return goal.target.log_bound(eps, count)


def _simulated(
    prompt: RandomPrompt, counts: list[int], delta: float, direction: Array | None, norm: str | None
) -> list[tuple[int, Quantile]]:
    """Quantiles at the lengths at which enough prompts can be drawn."""
    found = []
    for count in counts[:: max(1, len(counts) // _SIMULATED)]:
        prompts = min(max(_PROMPTS, math.ceil(2 * _LEAST_BEYOND / delta)), _MOST_NUMBERS // count)
        if isinstance(prompt, BallOfQueries):
            found += _simulated_over_ball(prompt, count, delta, norm or "l2")
        elif prompts * delta >= _LEAST_BEYOND:
            sample = deviations(errors(prompt, count, prompts), direction, norm)
            found.append((count, quantile(sample, delta)))
    return found


def _simulated_over_ball(prompt: BallOfQueries, count: int, delta: float, norm: str) -> list[tuple[int, Quantile]]:
    """The quantile where an ascent over queries takes no more than seconds, of fewer prompts."""
    prompts = math.ceil(2 * _LEAST_BEYOND / 5 / delta)
    if prompts * count * prompt.dimension > _MOST_NUMBERS / 4:
        return []
    return [(count, quantile(farthest_over_ball(prompt, count, prompts, norm), delta))]


def deviations(sample: Array, direction: Array | None, norm: str | None) -> Array:
    """One number per prompt: the error along a direction, or its norm."""
    if direction is not None:
        return np.asarray(sample @ direction)
    return np.asarray(np.linalg.norm(sample, axis=1) if norm == "l2" else np.abs(sample).max(axis=1))
