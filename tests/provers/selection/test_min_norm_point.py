"""The nearest point of a hull by Wolfe's algorithm, against exact distances, and what it says of degenerate hulls."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from certattn.provers.selection.min_norm_point import MinNormPoint, min_norm_point

Array = np.ndarray[Any, Any]


def nearest(points: Array, gap: float = 1e-9, most_steps: int = 1000) -> MinNormPoint[int]:
    def lowest(direction: Array) -> tuple[int, Array]:
        index = int((points @ direction).argmin())
        return index, points[index]

    return min_norm_point(lowest, points.mean(axis=0), gap, most_steps)


@pytest.mark.parametrize("seed", range(20))
def test_distances_agree_with_trying_all_sets_of_points(seed: int, tool: Callable[[str], ModuleType]) -> None:
    opinion = tool("truth.selection_on_a_head")
    rng = np.random.default_rng(seed)
    points = rng.integers(-6, 7, (7, 3)) + (np.array([3, 0, 0]) if seed % 2 else 0)
    found = nearest(points.astype(float))
    square = float(opinion._distance_squared(tuple(tuple(Fraction(int(x)) for x in point) for point in points)))
    assert found.point @ found.point == pytest.approx(square, rel=1e-6, abs=1e-12)
    assert found.is_zero is (square == 0)
    assert min(found.weights.values()) > 0
    assert sum(found.weights.values()) == pytest.approx(1)
    mean = sum(weight * points[name] for name, weight in found.weights.items())
    assert np.allclose(mean, found.point, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_many_points_in_many_dimensions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(2000, 30)) + np.ones(30)
    found = nearest(points, gap=1e-3)
    assert float((points @ found.point).min()) >= (1 - 1e-3) * float(found.point @ found.point) > 0


@pytest.mark.parametrize(
    ("points", "square"),
    [
        ([[3.0, 4.0]], 25.0),
        ([[0.0, 0.0], [1.0, 1.0]], 0.0),
        ([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], 2.0),
        ([[1.0, -1.0], [1.0, 0.0], [1.0, 1.0]], 1.0),
        ([[-1.0, 0.0], [2.0, 0.0], [5.0, 0.0]], 0.0),
        ([[1e8, 0.0], [1e-8, 1.0]], 1.0),
    ],
    ids=["one", "origin", "equal", "on a line", "through 0", "far apart"],
)
def test_degenerate_hulls(points: list[list[float]], square: float) -> None:
    found = nearest(np.array(points))
    assert found.point @ found.point == pytest.approx(square, abs=1e-9)


def test_it_stops_after_so_many_steps() -> None:
    rng = np.random.default_rng(0)
    found = nearest(rng.normal(size=(500, 20)) + 1.0, gap=1e-12, most_steps=3)
    assert len(found.weights) <= 4
