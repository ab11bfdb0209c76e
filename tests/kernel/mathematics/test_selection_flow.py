"""The flow of token selection, against an integrator in doubles, its own definition, and starts of a box."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from selection_instances import random_instance

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.selection_flow import SelectionFlow, flow
from certattn.kernel.mathematics.selection_landscape import landscape
from certattn.kernel.mathematics.validated_flow import value_at


def field(instance) -> SelectionFlow:
    return SelectionFlow(landscape(instance.selection, instance.loss), arb(1) / 3)


def velocity(instance, point: np.ndarray) -> np.ndarray:
    return -instance.gradient(point) / 3


def runge_kutta(instance, point: np.ndarray, time: float, pieces: int) -> np.ndarray:
    """Of order 4, in doubles."""
    h = time / pieces
    for _ in range(pieces):
        a = velocity(instance, point)
        b = velocity(instance, point + h / 2 * a)
        c = velocity(instance, point + h / 2 * b)
        d = velocity(instance, point + h * c)
        point = point + h / 6 * (a + 2 * b + 2 * c + d)
    return point


@pytest.mark.parametrize("seed", range(5))
def test_enclosures_hold_what_another_integrator_finds(seed: int) -> None:
    instance, rng = random_instance(seed), np.random.default_rng(seed)
    start = np.round(rng.normal(size=instance.selection.tokens.dimension), 2)
    times = [fmpq(1, 3), fmpq(10)]
    with working_precision(64):
        found = flow(field(instance), around([arb(float(x)) for x in start]), times)
        assert set(found) == set(times)
        for time, enclosed in found.items():
            truth = runge_kutta(instance, start, float(time.p) / float(time.q), 200)
            assert np.linalg.norm([float(x) for x in enclosed.centre] - truth) <= float(enclosed.error) + 1e-5
            assert enclosed.error < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_every_start_of_a_box_stays_in_the_enclosures(seed: int) -> None:
    instance, rng = random_instance(seed), np.random.default_rng(seed)
    start = rng.normal(size=instance.selection.tokens.dimension)
    with working_precision(64):
        box = around([arb(float(x), 0.001) for x in start])
        (enclosed,) = flow(field(instance), box, [fmpq(2)]).values()
        for _ in range(2):
            end = runge_kutta(instance, start + rng.uniform(-0.001, 0.001, start.size), 2, 100)
            assert np.linalg.norm([float(x) for x in enclosed.centre] - end) <= float(enclosed.error) + 1e-7
    assert enclosed.error < 0.1


@pytest.mark.parametrize("order", [3, 8, 15])
def test_what_the_polynomial_leaves_over_is_bounded(order: int) -> None:
    """|V(p(t)) - p'(t)| <= e t^n, both sides by kernel formulas at points, V also in doubles."""
    for seed in range(5):
        instance, rng = random_instance(seed), np.random.default_rng(seed)
        start = [arb(float(x)) for x in rng.normal(size=instance.selection.tokens.dimension)]
        with working_precision(400):
            found, duration = field(instance), arb(1) / 4
            path = found.coefficients(start, order)
            (bound,) = found.excess(path, duration)
            change = [[(k + 1) * x for x in row] for k, row in enumerate(path[1:])]
            for t in (duration / 100, duration / 2, duration):
                place = value_at(path, t)
                slope = [found.size * x for x in found.landscape.downhill(place)]
                there = np.array([float(x) for x in place])
                assert [float(x) for x in slope] == pytest.approx(velocity(instance, there))
                for x, y in zip(slope, value_at(change, t), strict=True):
                    assert abs(x - y) <= bound * t**order


def test_distances_grow_no_faster_than_stated() -> None:
    for seed in range(20):
        instance, rng = random_instance(seed), np.random.default_rng(seed)
        point = rng.normal(size=instance.selection.tokens.dimension)
        with working_precision(64):
            rate = field(instance).expansion(Enclosure([arb(float(x)) for x in point], arb(1) / 1000))
        assert -np.linalg.eigvalsh(instance.hessian(point))[0] / 3 <= float(rate) + 1e-6


def test_power_series_are_as_long_as_before() -> None:
    before, instance = ctx.cap, random_instance(0)
    field(instance).coefficients([arb(1)] * instance.selection.tokens.dimension, 12)
    assert ctx.cap == before


@pytest.mark.parametrize("bad", [arb.nan(), arb.pos_inf()])
def test_from_what_is_not_finite_nothing_is_enclosed(bad: arb) -> None:
    instance = random_instance(0)
    start = Enclosure([arb(1)] * instance.selection.tokens.dimension, bad)
    (found,) = flow(field(instance), start, [fmpq(1)]).values()
    assert found.error.is_finite() is False
