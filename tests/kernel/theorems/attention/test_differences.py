"""The difference of two softmax means over a cell: no query of it has more than the bound, and copies have nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.attention.cells import Ball, Box, Cell, Difference, Hull, box_pieces, simplex_pieces
from certattn.provers.attention.region_floats import in_doubles, table

Array = np.ndarray[Any, Any]
SCALE = fmpq(1, 2)


def exact(array: Array) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(round(x * 2**20), 2**20) for x in row] for row in np.atleast_2d(array)])


def mean(keys: Array, values: Array, times: Array, queries: Array) -> Array:
    scores = queries @ keys.T / 2
    weights = np.exp(scores - scores.max(1, keepdims=True)) * times
    return np.asarray(weights @ values / weights.sum(1, keepdims=True))


def cache_of(kind: str, rng: Any, keys: Array, values: Array) -> tuple[Array, Array, Array, list[int]]:
    """Keys, values, multiplicities, and which token each stands for."""
    if kind == "quantised":
        near = (array + 0.02 * rng.normal(size=array.shape) for array in (keys, values))
        return *near, np.ones(len(keys)), list(range(len(keys)))
    if kind == "evicted":
        kept = np.sort(rng.choice(len(keys), len(keys) // 2, replace=False))
        return keys[kept], values[kept], np.ones(len(kept)), [int(j) for j in kept]
    return rng.normal(size=(3, keys.shape[1])), rng.normal(size=(3, values.shape[1])), np.array([1, 2.5, 0.5]), []


def cells(rng: Any, centre: Array, radius: fmpq) -> list[tuple[Cell, Array]]:
    """Cells of each kind, and points of their unit sets."""
    d, points = len(centre), rng.normal(size=(600, len(centre)))
    ball = Ball(exact(centre), radius)
    box = Box(exact(centre - float(radius)), exact(centre + float(radius)))
    corners = centre + float(radius) * rng.normal(size=(3, d))
    clipped = box_pieces(d, [(0,), None, None])[1]
    z = rng.uniform(-1, 1, size=(2000, d))
    z[:, 0] = (z[:, 0] + 1) / 2
    inside = z[(z**2).sum(1) <= 1]
    inside[:, 0] = 2 * inside[:, 0] - 1
    return [
        (ball.cell(None), points / np.linalg.norm(points, axis=1, keepdims=True)),
        (ball.cell(clipped), inside),
        (box.cell(box_pieces(d, [None])[0]), np.vstack([np.sign(points), rng.uniform(-1, 1, size=(300, d))])),
        (Hull(exact(corners)).cell(simplex_pieces(3, [None])[0]), rng.dirichlet([0.4] * 3, size=600)),
    ]


@pytest.mark.parametrize("kind", ["quantised", "evicted", "anything"])
@pytest.mark.parametrize("radius", [fmpq(1, 20), fmpq(1, 3), fmpq(1)])
@pytest.mark.parametrize("seed", range(3))
def test_no_query_of_a_cell_has_more(kind: str, radius: fmpq, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d, width = (int(x) for x in rng.integers([2, 1, 1], [30, 5, 4]))
    keys, values = rng.normal(size=(n, d)), rng.normal(size=(n, width))
    own_keys, own_values, times, partners = cache_of(kind, rng, keys, values)
    prompts = [Prompt(exact(k), exact(v), SCALE) for k, v in ((keys, values), (own_keys, own_values))]
    stated = Difference.of(*prompts, [fmpq(round(2 * t), 2) for t in times], partners)
    for cell, points in cells(rng, rng.normal(size=d), radius):
        queries = table(cell.centre) + points @ table(cell.directions)
        off = mean(own_keys, own_values, times, queries) - mean(keys, values, np.ones(n), queries)
        for norm, order in (("l2", 2), ("linf", np.inf)):
            with working_precision(64):
                bound = float(stated.over(cell, norm).upper)
            assert np.linalg.norm(off, order, axis=1).max() <= bound * (1 + 1e-5) + 1e-5
            assert abs(in_doubles(stated, norm).over(cell).upper - bound) <= 0.01 * bound + 1e-9


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_a_copy_has_nothing(norm: str) -> None:
    rng = np.random.default_rng(5)
    prompt = Prompt(exact(rng.normal(size=(20, 3))), exact(rng.normal(size=(20, 2))), SCALE)
    stated = Difference.of(prompt, prompt, [fmpq(3)] * 20, range(20))
    for cell, _ in cells(rng, rng.normal(size=3), fmpq(1)):
        with working_precision(64):
            assert float(stated.over(cell, norm).upper) < 1e-12


def test_bounds_grow_with_what_a_cache_changes() -> None:
    """Ten times nearer to the original is about ten times less, over a whole ball."""
    rng = np.random.default_rng(6)
    keys, values, noise = rng.normal(size=(40, 4)), rng.normal(size=(40, 3)), rng.normal(size=(40, 7))
    prompt, found = Prompt(exact(keys), exact(values), SCALE), []
    for step in (0.01, 0.001):
        other = Prompt(exact(keys + step * noise[:, :4]), exact(values + step * noise[:, 4:]), SCALE)
        difference = Difference.of(prompt, other, [fmpq(1)] * 40, range(40))
        with working_precision(64):
            found.append(float(difference.over(Ball(exact(np.zeros(4)), fmpq(1)).cell(None), "l2").upper))
    assert 8 < found[0] / found[1] < 12
