"""Steps of descent on infinite prompts that are worth a try: for the claims about drawn prompts."""

from __future__ import annotations

from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training import regression as task
from certattn.kernel.theorems.training.descent_tube import Point
from certattn.provers.rounding import round_down

DRAWN_RISK, CHANCE = "3/20", "1/20"
# Steps are these shares of one over the largest curvature at the Bayes point, and as many as reach it nearly.
_SHARES = (fmpq(2), fmpq(3, 2), fmpq(1), fmpq(2, 3), fmpq(2, 5))
_MOST_STEPS = 64
# Descent on infinite prompts has this share of the risk at its end, or a little less.
_LEFT, _CHOICES = fmpq(1, 2), 2


def steps_near(at: Point, covariance: ExactMatrix, start: task.Parameters) -> list[fmpq]:
    """By the curvature at the Bayes point of the start's balance, which descent nearly keeps; `at` is any point."""
    bayes = at.problem.at(task.bayes_point(covariance, start.invariant(), (start.b >= 0) is True))
    curvature = float(bayes.steepness) ** 2
    return [round_down(share * fmpq(*(1 / curvature).as_integer_ratio()), 2) for share in _SHARES]


def counts(start: Point, step: fmpq, risk: fmpq) -> list[int]:
    """So many steps leave some of the risk to chance."""
    found, point = [], start
    for count in range(1, _MOST_STEPS + 1):
        point = point.after(step)
        if (point.error * point.error / 2 < risk * _LEFT) is True:
            found.append(count)
        if len(found) == _CHOICES:
            break
    return found
