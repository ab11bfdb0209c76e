"""The point of least norm in the convex hull of very many points, of which only the lowest in a direction is asked for.

Wolfe's algorithm (Finding the nearest point in a polytope, 1976) in doubles: points are taken in one at a time, the
lowest in the direction of the current point, and left out again where an affine combination would need them negative.
What it finds is a guess; weak duality makes bounds of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

Vector = np.ndarray[Any, Any]
Name = TypeVar("Name", bound=Hashable)

# Squares below this part of the largest point's count as 0.
_NOTHING = 1e-24
# Weights below this are left out.
_NO_WEIGHT = 1e-12
_RIDGE = 1e-13


@dataclass(frozen=True)
class MinNormPoint(Generic[Name]):
    """A point of the hull, and the weights > 0 of the points that it is a mean of."""

    point: Vector
    weights: dict[Name, float]
    is_zero: bool


def min_norm_point(
    lowest: Callable[[Vector], tuple[Name, Vector]], first: Vector, gap: float, most_steps: int
) -> MinNormPoint[Name]:
    """A point x with min_j <z_j, x> >= (1 - gap) |x|^2, or one that is about 0, or what there is after so many steps.

    lowest: the name and the point z_j of the smallest product with a vector. `first` is any direction to begin with.
    """
    name, point = lowest(first)
    names, points, weights = [name], [point], np.ones(1)
    largest = float(point @ point)
    x = point
    for _ in range(most_steps):
        square = float(x @ x)
        if square <= _NOTHING * largest:
            break
        name, point = lowest(x)
        largest = max(largest, float(point @ point))
        if float(point @ x) >= (1 - gap) * square or name in names:
            break
        names, points, weights = [*names, name], [*points, point], np.append(weights, 0.0)
        names, points, weights = _corrected(names, points, weights)
        x = weights @ np.array(points)
    found = dict(zip(names, weights.tolist(), strict=True))
    return MinNormPoint(x, found, float(x @ x) <= _NOTHING * largest)


def _corrected(names: list[Name], points: list[Vector], weights: Vector) -> tuple[list[Name], list[Vector], Vector]:
    """The point of least norm in the hull of fewer and fewer of these points, until none would be negative."""
    while True:
        target = _affine_weights(np.array(points))
        if float(target.min()) > _NO_WEIGHT:
            return names, points, target
        falling = target <= _NO_WEIGHT
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(falling, weights / np.maximum(weights - target, 1e-300), np.inf)
        step = min(1.0, float(steps.min()))
        weights = np.maximum((1 - step) * weights + step * target, 0.0)
        kept = weights > _NO_WEIGHT
        kept[int(np.argmin(steps))] = False
        if not kept.any():
            kept[int(np.argmax(weights))] = True
        names = [name for name, keep in zip(names, kept, strict=True) if keep]
        points = [point for point, keep in zip(points, kept, strict=True) if keep]
        weights = weights[kept] / weights[kept].sum()


def _affine_weights(points: Vector) -> Vector:
    """The weights, of sum 1 and any sign, of the point of least norm in the affine hull."""
    gram = points @ points.T
    # <p_i, p_j> + c: the same minimiser, and invertible where the points are affinely independent.
    size = float(np.trace(gram)) / len(gram) or 1.0
    table = gram + size
    table[np.diag_indices(len(gram))] += _RIDGE * size
    solved: Vector = np.linalg.solve(table, np.ones(len(gram)))
    return np.asarray(solved / solved.sum())
