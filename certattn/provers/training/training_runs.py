"""Flow and descent on the regression risk in doubles: where a certificate had better begin, and what is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.regression import Parameters
from certattn.provers.rounding import doubles

Array = np.ndarray[Any, Any]

# A step of the classical Runge-Kutta method is so large beside the largest second derivative: near the minimum, or,
# of what is drawn, wherever the point is.
_CAUTION = 0.5


@dataclass(frozen=True)
class Point:
    """A time of the flow or a number of steps, A, b, and the risk there."""

    time: float
    A: Array
    b: float
    risk: float


class FloatRun:
    """The flow, or descent with a step, in doubles."""

    def __init__(
        self, covariance: ExactMatrix, start: Parameters, step: fmpq | None = None, *, drawn: bool = False
    ) -> None:
        self._covariance = doubles(covariance)
        self._largest = float(np.linalg.eigvalsh(self._covariance)[-1])
        self._start = doubles(start.A), float(start.b.p) / float(start.b.q)
        self._drawn = drawn
        self._step = None if step is None else float(step.p) / float(step.q)

    def points(self, most_steps: int) -> Iterator[Point]:
        """The start and what follows, at most so many steps; it ends where numbers are no longer finite."""
        (A, b), time = self._start, 0.0
        for _ in range(most_steps + 1):
            point = Point(time, A, b, self.risk(A, b))
            if not np.isfinite(point.risk):
                return
            yield point
            if self._step is None:
                h = self._step_of_flow(point)
                A, b, time = *self._runge_kutta(A, b, h), time + h
            else:
                dA, db = self._velocity(A, b)
                A, b, time = A + self._step * dA, b + self._step * db, time + 1

    def _step_of_flow(self, point: Point) -> float:
        near = self._largest**3 * (float((point.A * point.A).sum()) + point.b**2) + 1e-300
        # The error E = b S A - I adds at most |S E S|_F, and half of |E S^(1/2)|_F^2 is the risk.
        far = self._largest**1.5 * math.sqrt(2 * point.risk) if self._drawn else 0.0
        return _CAUTION / (near + far)

    def risk(self, A: Array, b: float) -> float:
        error = b * self._covariance @ A - np.eye(len(A))
        return float(((error @ self._covariance) * error).sum()) / 2

    def _velocity(self, A: Array, b: float) -> tuple[Array, float]:
        S = self._covariance
        residual = S @ (b * S @ A - np.eye(len(A))) @ S
        return -b * residual, -float((A * residual).sum())

    def _runge_kutta(self, A: Array, b: float, h: float) -> tuple[Array, float]:
        k1 = self._velocity(A, b)
        k2 = self._velocity(A + h / 2 * k1[0], b + h / 2 * k1[1])
        k3 = self._velocity(A + h / 2 * k2[0], b + h / 2 * k2[1])
        k4 = self._velocity(A + h * k3[0], b + h * k3[1])
        return (
            A + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]),
            b + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]),
        )


def first_where(run: FloatRun, good: Callable[[Point], bool], most_steps: int) -> Point | None:
    """The first point that is good; tried where the risk has fallen a little since the last trial."""
    tried = np.inf
    # A descent may diverge.
    with np.errstate(over="ignore", invalid="ignore"):
        for point in run.points(most_steps):
            if point.risk < 0.98 * tried:
                tried = point.risk
                if good(point):
                    return point
    return None
