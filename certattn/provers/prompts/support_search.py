"""Of a class whose laws live on a ball: for each theta the other numbers of a step, whatever the length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq

from certattn.extras import require_extras
from certattn.kernel.theorems.prompts.mathematics.class_errors import OnBall
from certattn.provers.rounding import as_float, round_down

Array = np.ndarray[Any, Any]
_DIGITS = 4


def share_on_ball(tokens: OnBall) -> fmpq:
    """The t of which a / (1 - t)^2 + 2 b / (e t^2) is least."""
    odds = (2 * as_float(tokens.largest / tokens.first) / math.e) ** (1 / 3)
    return _short(odds / (1 + odds))


def slope_and_delta(
    theta: fmpq, eigenvalues: Array, counts: Sequence[int], variance: fmpq, *, is_u: bool
) -> tuple[fmpq, fmpq]:
    """With which e^{theta / slope} times the mean over queries is about least; delta is 0 but for the gradient in U."""
    power, twice = as_float(theta), 2 * as_float(variance)
    scores, often = twice * power * eigenvalues, np.array(counts)
    top = max(float(scores.max()), 1e-9)

    def numbers(logits: Array) -> tuple[float, float]:
        """The shares of 1 that they take, of the largest eigenvalue."""
        first, second = 1 / (1 + np.exp(-logits))
        return (1 - second * is_u) * first / top, second * is_u / twice

    def cost(logits: Array) -> float:
        slope, delta = numbers(logits)
        left = 1 - slope * scores - twice * delta
        if not left.min() > 0:
            return math.inf
        return power / slope - float(often @ np.log(left)) / 2 - (math.log(delta) if is_u else 0.0)

    require_extras("certificates for every law on a ball", "search")
    from scipy.optimize import minimize

    slope, delta = numbers(minimize(cost, np.zeros(2), method="Nelder-Mead").x)
    return _short(slope) if power > 0 else fmpq(1), _short(delta) if is_u else fmpq(0)


def _short(value: float) -> fmpq:
    return round_down(fmpq(*value.as_integer_ratio()), _DIGITS)
