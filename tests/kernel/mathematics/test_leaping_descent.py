"""Descent enclosed in leaps, against steps one by one and against a higher precision."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, fmpq
from selection_instances import random_instance

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.enclosed_descent import descend
from certattn.kernel.mathematics.enclosure import around
from certattn.kernel.mathematics.leaping_descent import advance, leap_along
from certattn.kernel.mathematics.selection_landscape import GradientStep, landscape


@pytest.mark.parametrize("seed", range(20))
def test_the_derivative_of_the_gradient_is_that_of_differences(seed: int) -> None:
    instance, rng = random_instance(seed), np.random.default_rng(seed)
    size = instance.selection.tokens.dimension
    with working_precision(200):
        surface = landscape(instance.selection, instance.loss)
        point, way = ([arb(float(x)) for x in rng.normal(size=size)] for _ in range(2))
        found = surface.turning(surface.products(point), surface.products(way))
        small = arb(2) ** -60
        there, here = (surface.downhill([x + s * y for x, y in zip(point, way, strict=True)]) for s in (small, 0))
        for x, y, z in zip(found, there, here, strict=True):
            assert abs((y - z) / small - x) < 1e-12


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("tolerance", [fmpq(1, 10), fmpq(1, 10**4)])
def test_leaps_hold_the_descent_step_by_step(seed: int, tolerance: fmpq) -> None:
    instance, rng = random_instance(seed), np.random.default_rng(seed)
    start = [arb(float(x)) for x in rng.normal(size=instance.selection.tokens.dimension)]
    with working_precision(200):
        step = GradientStep(landscape(instance.selection, instance.loss), arb(float(rng.choice([0.1, 0.5]))))
        stops = [100, 1000]
        fine = descend(step, around(start), 2000, stops)
        if (fine[2000].error < 1e-30) is not True:
            pytest.skip("expands too much for that precision")
        leapt = leap_along(step, around(start), 2000, stops, tolerance)
        assert set(leapt) == {0, 100, 1000, 2000}
        for k in (100, 1000, 2000):
            away = sum(((x - y) ** 2 for x, y in zip(leapt[k].centre, fine[k].centre, strict=True)), arb(0)).sqrt()
            if leapt[k].error.is_finite():
                assert (away <= leapt[k].error + 1e-29) is True


def test_leaps_get_longer_and_add_no_more_than_the_tolerance_says() -> None:
    instance = random_instance(11)
    with working_precision(128):
        step = GradientStep(landscape(instance.selection, instance.loss), arb(1) / 3)
        start = around([arb(1)] * instance.selection.tokens.dimension)
        found = list(advance(step, start, 0, 10**6, fmpq(1, 1000)))
    assert len(found) < 10**4
    assert found[-1][0] == 10**6
    assert (found[-1][1].error < 0.1) is True


def test_a_leap_from_a_box_holds_the_descent_from_its_corners() -> None:
    instance = random_instance(11)
    size = instance.selection.tokens.dimension
    with working_precision(128):
        step = GradientStep(landscape(instance.selection, instance.loss), arb(1) / 3)
        ends = leap_along(step, around([arb(1, 1e-9)] * size), 2000, [], fmpq(1, 100))[2000]
        for sign in (-1, 1):
            point = descend(step, around([arb(1) + sign * arb(1e-9)] * size), 2000)[2000]
            away = sum(((x - y) ** 2 for x, y in zip(point.centre, ends.centre, strict=True)), arb(0)).sqrt()
            assert (away <= ends.error + 1e-20) is True
