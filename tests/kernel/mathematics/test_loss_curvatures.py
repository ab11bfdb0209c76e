"""Bounds of the second derivatives of a loss of concrete prompts, against difference quotients."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.training.context_losses import ContextLoss, FinitePrompt, Trained, tasks_of

Array = np.ndarray


def exact(matrix: Array) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(*float(x).as_integer_ratio()) for x in row] for row in matrix])


class Prompts:
    """N prompts of L keys and values in doubles on a dyadic grid, with queries and targets; weights U, V."""

    def __init__(self, seed: int, keys: int = 2, values: int = 1, outputs: int = 1, queries: int = 2) -> None:
        rng = np.random.default_rng(seed)
        self.shapes = (keys, queries), (outputs, values)
        self.keys, self.values, self.queries, self.targets = (
            rng.integers(-64, 65, shape) / 32 for shape in ((3, 5, keys), (3, 5, values), (3, queries), (3, outputs))
        )
        self.start = rng.integers(-32, 33, keys * queries + outputs * values) / 32

    def loss(self) -> ContextLoss:
        pairs = zip(self.keys, self.values, strict=True)
        prompts = [FinitePrompt(Prompt(exact(k), exact(v), fmpq(1))) for k, v in pairs]
        return ContextLoss(prompts, tasks_of(exact(self.queries), exact(self.targets)))

    def risk(self, weights: Array) -> float:
        split = self.shapes[0][0] * self.shapes[0][1]
        U, V = weights[:split].reshape(self.shapes[0]), weights[split:].reshape(self.shapes[1])
        total = 0.0
        for keys, values, query, target in zip(self.keys, self.values, self.queries, self.targets, strict=True):
            scores = keys @ U @ query
            p = np.exp(scores - scores.max())
            total += np.sum((V @ (p @ values) / p.sum() - target) ** 2)
        return float(total) / (2 * len(self.targets))

    def slope(self, weights: Array, h: float = 1e-5) -> Array:
        steps = h * np.eye(len(weights))
        return np.array([(self.risk(weights + s) - self.risk(weights - s)) / (2 * h) for s in steps])

    def curvature(self, weights: Array, h: float = 1e-4) -> Array:
        steps = h * np.eye(len(weights))
        rows = [(self.slope(weights + s) - self.slope(weights - s)) / (2 * h) for s in steps]
        return (np.array(rows) + np.array(rows).T) / 2


WIDE = {"keys": 3, "values": 2, "outputs": 2, "queries": 2}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [{}, WIDE])
def test_second_derivatives_are_within_the_curvatures_of_a_ball(seed: int, sizes: dict[str, int]) -> None:
    prompts, rng = Prompts(seed, **sizes), np.random.default_rng(seed)
    radius = 0.05
    with working_precision(64):
        loss = prompts.loss()
        split = prompts.shapes[0][0] * prompts.shapes[0][1]
        U, V = (
            exact(w.reshape(shape))
            for w, shape in zip((prompts.start[:split], prompts.start[split:]), prompts.shapes, strict=True)
        )
        found = loss.curvatures(Trained.around(U, V), arb(radius))
        upward, downward = float(found.upward.upper()), float(found.downward.upper())
    for _ in range(6):
        away = rng.standard_normal(len(prompts.start))
        values = np.linalg.eigvalsh(prompts.curvature(prompts.start + radius * away / np.linalg.norm(away)))
        assert -downward - 1e-5 <= values[0]
        assert values[-1] <= upward + 1e-5
