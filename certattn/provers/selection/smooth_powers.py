"""The point of least norm |p|_l under <z_j, p> >= r_j for 1 < l < infinity, in doubles.

Newton's method for sum |p_k|^l / l - mu sum log(<z_j, p> - r_j), with mu that falls: the multipliers are mu over the
slacks. The Hessian of the first sum is diagonal. It begins at the point of least Euclidean norm, made longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.theorems.selection.mathematics.margin_points import combination
from certattn.kernel.theorems.selection.max_margin import MarginProblem
from certattn.provers.rounding import as_float
from certattn.provers.selection.quadratic_program import NotSeparableError, near_multipliers

Array = np.ndarray[Any, Any]

# How mu falls, and to where; steps for each, and how small a step may become.
_FALL, _LAST, _NEWTON, _SHORTEST, _CLOSE = 0.2, 1e-12, 50, 1e-12, 1e-6
# Entries nearer to 0 have the derivatives of what is so far from it.
_NEAR_ZERO = 1e-9


@dataclass(frozen=True)
class Found:
    """A point and multipliers, whose combination has any length."""

    point: Array
    multipliers: Array


def size_in_doubles(point: Array, exponent: fmpq | None) -> float:
    """|p|_l, the largest |p_k| for l = None."""
    sizes = np.abs(point)
    largest = float(sizes.max())
    if exponent is None or largest == 0:
        return largest
    power = as_float(exponent)
    return largest * float(np.sum((sizes / largest) ** power) ** (1 / power))


def least_power(problem: MarginProblem, A: Array, room: float, exponent: float) -> Found | None:
    """For rows A, which are those of the problem but for a factor. Relaxed constraints are kept by `room` at least.

    None where no point inside of the constraints is found.
    """
    wanted = np.array([as_float(level) for level in problem.levels]) + room * np.array(
        [as_float(1 - level) for level in problem.levels]
    )
    sizes, relaxed = np.linalg.norm(A, axis=1), wanted != 1
    # Relaxed constraints that leave no room inside of them, or little, are met with less of it.
    for inside in (1e-2, 1e-5, _NEAR_ZERO) if relaxed.any() else (0.0,):
        start = _inside(problem, [room + inside * float(size) for size in sizes])
        found = None if start is None else _descended(A, wanted, start, exponent)
        if found is not None:
            return found
    return None


def _inside(problem: MarginProblem, beyond: list[float]) -> Array | None:
    """The point of least Euclidean norm that is so far beyond relaxed constraints."""
    pairs = zip(problem.levels, beyond, strict=True)
    levels = [level if level != 0 else fmpq(*more.as_integer_ratio()) for level, more in pairs]
    try:
        multipliers, _ = near_multipliers(problem.rows, levels)
    except NotSeparableError:
        return None
    return np.array([as_float(entry) for entry in combination(problem.rows, multipliers).row(0)])


def _descended(A: Array, wanted: Array, start: Array, exponent: float) -> Found | None:
    margin = float((A @ start)[wanted == 1].min())
    point = start * (1.5 / margin)
    length = float(np.linalg.norm(point))
    # In units in which the point has about the length 1.
    A, point = A * length, point / length
    if (A @ point - wanted).min() <= 0:
        return None
    mu = 1.0
    while mu > _LAST:
        mu *= _FALL
        for _ in range(_NEWTON):
            step, decrease = _step(A, wanted, point, exponent, mu)
            part = _shortened(A, wanted, point, step, decrease, exponent, mu)
            point = point + part * step
            if part < _SHORTEST or decrease < mu * _CLOSE:
                break
    slacks = A @ point - wanted
    return Found(point * length, mu / slacks / length)


def _shortened(
    A: Array, wanted: Array, point: Array, step: Array, decrease: float, exponent: float, mu: float
) -> float:
    """Which part of the step lowers the value by a fair part of what is promised; 0 where none does."""
    part, value = 1.0, _value(A, wanted, point, exponent, mu)
    while _value(A, wanted, point + part * step, exponent, mu) > value - part * decrease / 4:
        part /= 2
        if part < _SHORTEST:
            return 0.0
    return part


def _value(A: Array, wanted: Array, point: Array, exponent: float, mu: float) -> float:
    slacks = A @ point - wanted
    if slacks.min() <= 0:
        return np.inf
    sizes = np.sqrt(point**2 + _NEAR_ZERO**2)
    return float((sizes**exponent).sum() / exponent - mu * np.log(slacks).sum())


def _step(A: Array, wanted: Array, point: Array, exponent: float, mu: float) -> tuple[Array, float]:
    """Newton's step, and by how much it promises to lower the value, times 2."""
    slacks, sizes = A @ point - wanted, np.sqrt(point**2 + _NEAR_ZERO**2)
    gradient = sizes ** (exponent - 2) * point - mu * (A / slacks[:, None]).sum(axis=0)
    bent = sizes ** (exponent - 2) + (exponent - 2) * sizes ** (exponent - 4) * point**2 + 1e-14
    weighed = A * (np.sqrt(mu) / slacks)[:, None]
    if len(wanted) < len(point):
        inner = np.eye(len(wanted)) + (weighed / bent) @ weighed.T
        step = -gradient / bent + (weighed.T @ np.linalg.solve(inner, weighed @ (gradient / bent))) / bent
    else:
        step = -np.linalg.lstsq(np.diag(bent) + weighed.T @ weighed, gradient)[0]
    return step, float(-gradient @ step)
