"""The excess loss, its derivatives and bounds of them, and enclosed descent, against doubles and mpmath."""

from __future__ import annotations

import random

import numpy as np
import pytest
from flint import arb, fmpq
from selection_instances import random_instance

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.selection_descent import GradientStep, NormalisedStep, descend, shortfall
from certattn.kernel.mathematics.selection_landscape import landscape
from certattn.kernel.theorems.selection.mathematics.margin_points import hard_margin
from certattn.kernel.theorems.selection.mathematics.selection_constants import SelectionConstants

SEEDS = range(60)


def balls(point) -> list[arb]:
    return [arb(float(x)) for x in point]


@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_and_their_bounds(seed: int) -> None:
    instance = random_instance(seed)
    rng = np.random.default_rng(seed)
    with working_precision(100):
        surface = landscape(instance.selection, instance.loss)
        unsolved = hard_margin(instance.selection.differences, {0: fmpq(1)})
        everywhere = float(SelectionConstants(instance.selection, instance.loss, unsolved).curvature_bound)
        for scale in (0.1, 1, 4):
            point = scale * rng.normal(size=instance.selection.tokens.dimension)
            assert float(surface.excess(balls(point))) == pytest.approx(instance.excess(point), abs=1e-10)
            downhill = [float(x) for x in surface.downhill(balls(point))]
            assert downhill == pytest.approx(-instance.gradient(point), abs=1e-10)
            eigenvalues = np.linalg.eigvalsh(instance.hessian(point))
            upward, downward = (float(x) for x in surface.curvatures(balls(point)))
            assert eigenvalues[-1] <= upward + 1e-6
            assert -eigenvalues[0] <= downward + 1e-6
            assert max(abs(eigenvalues)) <= everywhere + 1e-6


def test_the_third_cumulant_is_at_most_an_eighth() -> None:
    """|E (g - G)(a - abar)^2| <= Gamma D^2 / 8, also where it is nearly met."""
    rng = np.random.default_rng(0)
    largest = 0.0
    for _ in range(20000):
        size = int(rng.integers(2, 5))
        weights = rng.dirichlet(np.full(size, 0.7))
        g, a = rng.integers(0, 2, size=size).astype(float), rng.uniform(size=size)
        a[:2] = 0, 1
        largest = max(largest, abs(weights @ ((g - weights @ g) * (a - weights @ a) ** 2)))
    assert 0.09 < largest <= 0.125


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("step", [GradientStep, NormalisedStep])
def test_enclosures_hold_what_is_computed_at_a_higher_precision(seed: int, step) -> None:
    instance = random_instance(seed)
    start = [fmpq(random.Random(seed).randint(-20, 20), 10) for _ in range(instance.selection.tokens.dimension)]
    steps = 150 if step is GradientStep else 12
    with working_precision(400):
        fine = descend(
            step(landscape(instance.selection, instance.loss), arb(1) / 7), around([arb(x) for x in start]), steps
        )
    with working_precision(64):
        coarse = descend(
            step(landscape(instance.selection, instance.loss), arb(1) / 7), around([arb(x) for x in start]), steps, [5]
        )
    assert set(coarse) == {0, 5, steps}
    with working_precision(400):
        for x, y in zip(coarse[steps].box, fine[steps].box, strict=True):
            assert x.contains(y.mid())
    assert fine[steps].error < 1e-60


@pytest.mark.parametrize("seed", range(30))
def test_boxes_hold_the_descent_from_every_point_tried(seed: int) -> None:
    instance = random_instance(seed)
    rng = np.random.default_rng(seed)
    dimension = instance.selection.tokens.dimension
    lower = rng.normal(size=dimension)
    upper = lower + 0.02 * rng.uniform(size=dimension)
    h = float(rng.choice([0.1, 1.0, 5.0]))
    with working_precision(64):
        step = GradientStep(landscape(instance.selection, instance.loss), arb(h))
        start = around([arb(x).union(arb(y)) for x, y in zip(lower, upper, strict=True)])
        stops = [1, 3, 10, 30]
        found = descend(step, start, 30, stops)
    corners = [lower, upper, *(lower + rng.uniform(size=dimension) * (upper - lower) for _ in range(6))]
    for corner in corners:
        point = corner.copy()
        for k in range(1, 31):
            point = point - h * instance.gradient(point)
            if k in stops and found[k].error.is_finite():
                distance = np.linalg.norm(point - np.array([float(x) for x in found[k].centre]))
                assert distance <= float(found[k].error) + 1e-9


def test_where_the_gradient_may_vanish_nothing_is_enclosed() -> None:
    instance = random_instance(3)
    with working_precision(64):
        step = NormalisedStep(landscape(instance.selection, instance.loss), arb(1))
        found = descend(step, around([arb(0, 30)] * instance.selection.tokens.dimension), 40, [20])
    assert not found[20].error.is_finite()
    assert not found[40].error.is_finite()
    assert found[0].error.is_finite()


@pytest.mark.parametrize("seed", range(40))
def test_the_shortfall_holds_that_of_every_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    centre, error = rng.normal(size=3), float(rng.uniform()) ** 2
    with working_precision(64):
        found = shortfall(Enclosure(balls(centre), arb(error)), balls(direction))
    if not found.is_finite():
        assert error >= np.linalg.norm(centre)
        return
    for _ in range(200):
        away = rng.normal(size=3)
        point = centre + error * away / np.linalg.norm(away)
        value = 1 - point @ direction / np.linalg.norm(point)
        assert float(found.lower()) - 1e-12 <= value <= float(found.upper()) + 1e-12


def test_points_on_the_way_are_those_of_shorter_runs() -> None:
    instance = random_instance(11)
    with working_precision(64):
        step = GradientStep(landscape(instance.selection, instance.loss), arb(1) / 3)
        start = around([arb(1)] * instance.selection.tokens.dimension)
        long = descend(step, start, 100, [1, 33, 64])
        for k in (1, 33, 64):
            short = descend(step, start, k)[k]
            assert all(x.overlaps(y) for x, y in zip(short.box, long[k].box, strict=True))
