"""The W of least nuclear norm under <Z_j, W> >= r_j, in doubles, and what of it proves bounds on that norm.

Alternating directions (ADMM) for min |X|_* + [s >= 0] with X = W and s = A W - r: in X singular values are cut, in W a
linear system is solved whose matrix is the same in every step. The multipliers of s = A W - r, divided by the largest
singular value of their combination, bound the norm from below: the bounds say when to stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.nuclear_margin import NuclearMargin
from certattn.kernel.theorems.selection.max_margin import MarginProblem
from certattn.provers.rounding import as_float, last_place, round_nearest

Array = np.ndarray[Any, Any]

# More digits than doubles have are not found.
MOST_DIGITS = 12
# What relaxed constraints exceed 0 by at least, times the norms of their rows; how well the upper and the lower bound
# are to agree, and the most steps. First nothing, and more where that leaves no feasible point.
_ROOM = ((0.0, 1e-8, 4_000), (1e-7, 1e-6, 20_000), (1e-4, 1e-3, 20_000))
_STEPS, _EVERY, _OVER, _UNEVEN = 60_000, 25, 1.6, 5.0
# After so many steps rho stays as it is, without which they do not converge.
_ADAPTED = 500
# Where so many steps find no feasible point, the constraints may contradict each other.
_PATIENCE = 3_000
# Singular values below this, relative to the largest, are left to the rest W - K'Q.
_SMALL = 1e-11
# By how much the multipliers' combination stays below 1.
_BELOW = (1e-9, 1e-7, 1e-5)


@dataclass
class _Bounds:
    """The best that was found: a feasible point and its norm, multipliers and their bound."""

    point: Array | None = None
    norm: float = np.inf
    multipliers: Array | None = None
    least: float = 0.0

    @property
    def apart(self) -> float:
        return self.norm / self.least - 1 if self.least > 0 else np.inf


def least_nuclear_norm(
    problem: MarginProblem, digits: int, direction: ExactMatrix | None = None, patient: bool = False
) -> NuclearMargin | None:
    """A feasible direction near that of a solution, or the stated one, with factors and multipliers.

    None where no point is found that is feasible: the patient look for one until the end.
    """
    A = np.array([[as_float(entry) for entry in row] for row in problem.rows.to_rows()])
    levels = np.array([as_float(level) for level in problem.levels])
    scale = float(np.linalg.norm(A, axis=1).max())
    digits = min(digits, MOST_DIGITS)
    for room, apart, steps in _ROOM if np.any(levels == 0) else ((0.0, 1e-8, _STEPS),):
        found = _alternating(A / scale, levels, problem.shape, (room, apart, steps, steps if patient else _PATIENCE))
        if found.multipliers is None or found.point is None:
            continue
        chosen = _rounded_row(found.point / scale, digits) if direction is None else direction
        multipliers = _multipliers(problem, A, found.multipliers, digits)
        near = NuclearMargin(
            problem.rows, problem.levels, chosen, problem.shape, *_factors(chosen, problem.shape, digits), multipliers
        )
        feasible = near.margin > 0 and (near.smallest_relaxed or 0) >= 0
        if (feasible or direction is not None) and near.least > 0 and near.room.negative_signs() == 0:
            return near
    return None


def _alternating(A: Array, levels: Array, shape: tuple[int, int], limits: tuple[float, float, int, int]) -> _Bounds:
    room, apart, steps, patience = limits
    count, size = A.shape
    wanted = np.where(levels > 0, levels, room * np.linalg.norm(A, axis=1))
    solve = _system(A)
    X, U, s, u, rho, best = np.zeros(size), np.zeros(size), np.zeros(count), np.zeros(count), 1.0, _Bounds()
    for step in range(1, steps + 1):
        W = solve(X - U + A.T @ (wanted + s - u))
        rest = A @ W - wanted
        over_W, over_s = _OVER * W + (1 - _OVER) * X, _OVER * rest + (1 - _OVER) * s
        left, values, right = np.linalg.svd((over_W + U).reshape(shape), full_matrices=False)
        X_before, s_before = X, s
        X = ((left * np.maximum(values - 1 / rho, 0)) @ right).ravel()
        s = np.maximum(over_s + u, 0)
        U, u = U + over_W - X, u + over_s - s
        if step % _EVERY:
            continue
        _look(best, A, levels, shape, (X, W), np.maximum(-u, 0))
        if best.apart < apart or (best.point is None and step >= patience):
            break
        # Steps of both kinds are to be of one size.
        primal = np.hypot(np.linalg.norm(W - X), np.linalg.norm(rest - s))
        dual = rho * float(np.linalg.norm(X - X_before + A.T @ (s - s_before)))
        if step < _ADAPTED and not dual / _UNEVEN <= primal <= dual * _UNEVEN:
            factor = 2.0 if primal > dual else 0.5
            rho, U, u = rho * factor, U / factor, u / factor
    return best


def _system(A: Array) -> Any:
    """(I + A'A)^-1 b, by the smaller of two inverses."""
    count, size = A.shape
    if count >= size:
        whole = np.linalg.inv(np.eye(size) + A.T @ A)
        return lambda b: whole @ b
    part = np.linalg.inv(np.eye(count) + A @ A.T)
    return lambda b: b - A.T @ (part @ (A @ b))


def _look(
    best: _Bounds, A: Array, levels: Array, shape: tuple[int, int], points: tuple[Array, ...], multipliers: Array
) -> None:
    """Keep what is better than the best so far."""
    size = float(np.linalg.norm((multipliers @ A).reshape(shape), 2))
    if size > 0 and multipliers @ levels / size > best.least:
        best.multipliers, best.least = multipliers, float(multipliers @ levels / size)
    for point in points:
        products = A @ point
        margin = float(products[levels > 0].min())
        if margin <= 0 or products.min() < 0:
            continue
        norm = float(np.linalg.svd(point.reshape(shape), compute_uv=False).sum()) / margin
        if norm < best.norm:
            best.point, best.norm = point / margin, norm


def _rounded(values: Array, digits: int) -> list[fmpq]:
    """To the last of so many digits of the largest."""
    numbers = [fmpq(*float(value).as_integer_ratio()) for value in values.ravel()]
    unit = last_place(max(map(abs, numbers)), digits)
    return [round_nearest(number, unit) for number in numbers]


def _rounded_row(point: Array, digits: int) -> ExactMatrix:
    return ExactMatrix.row_vector(_rounded(point, digits))


def _factors(direction: ExactMatrix, shape: tuple[int, int], digits: int) -> tuple[ExactMatrix, ExactMatrix]:
    """S^(1/2) U' and S^(1/2) V', rounded, for W~ = U S V'."""
    W = np.array([as_float(entry) for entry in direction.row(0)]).reshape(shape)
    left, values, right = np.linalg.svd(W, full_matrices=False)
    kept = values > _SMALL * values[0]
    roots = np.sqrt(values[kept])[:, None]
    return _matrix(roots * left.T[kept], digits), _matrix(roots * right[kept], digits)


def _matrix(values: Array, digits: int) -> ExactMatrix:
    rounded, width = _rounded(values, digits), values.shape[1]
    return ExactMatrix.rational([rounded[i : i + width] for i in range(0, len(rounded), width)])


def _multipliers(problem: MarginProblem, A: Array, found: Array, digits: int) -> Mapping[int, fmpq]:
    """Rounded, with a combination of which no singular value exceeds 1, where that is proved."""
    size, kept = float(np.linalg.norm((found @ A).reshape(problem.shape), 2)), dict[int, fmpq]()
    for below in _BELOW:
        rounded = _rounded(found * ((1 - below) / size), digits)
        kept = {row: value for row, value in enumerate(rounded) if value > 0}
        nothing = ExactMatrix.zero(1, problem.rows.columns)
        none = ExactMatrix.zero(1, 1)
        tried = NuclearMargin(problem.rows, problem.levels, nothing, problem.shape, none, none, kept)
        if tried.room.negative_signs() == 0:
            break
    return kept
