"""Descents from every point of a box, against points followed at a higher precision, and against a ball of starts."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, arb_mat
from selection_instances import random_instance

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.bundled_descent import Bundle, Expansion, bundle, carried_along, every_one, identity
from certattn.kernel.mathematics.enclosed_descent import descend
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.losses import LOSSES
from certattn.kernel.mathematics.selection_landscape import GradientStep, Landscape, landscape, narrow_shares


def exact(point) -> list[arb]:
    return [arb(float(x)) for x in point]


def cube(point, radius: float) -> list[arb]:
    return [arb(float(x), radius) for x in point]


@pytest.mark.parametrize("name", LOSSES)
def test_jerks_are_differences_of_curvatures(name: str) -> None:
    with working_precision(200):
        small, loss = arb(2) ** -60, LOSSES[name]
        for x in (arb(-3), arb(0), arb(1) / 3, arb(5)):
            assert abs((loss.curvature(x) - loss.curvature(x + small)) / small - loss.jerk(x)) < 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_second_derivatives_are_bounded_for_every_way(seed: int) -> None:
    instance, rng = random_instance(seed), np.random.default_rng(seed)
    size = instance.selection.tokens.dimension
    with working_precision(200):
        surface, small = landscape(instance.selection, instance.loss), arb(2) ** -50
        point, table = rng.normal(size=size), 0.1 * rng.normal(size=(size, 2 * size))
        bends = surface.bends(exact(point), arb_mat([exact(row) for row in table]))
        for _ in range(20):
            way, share = table @ rng.uniform(-1, 1, 2 * size), rng.uniform()
            here = [x + share * y for x, y in zip(exact(point), exact(way), strict=True)]
            left, middle, right = (
                surface.downhill([x + s * y for x, y in zip(here, exact(way), strict=True)]) for s in (-small, 0, small)
            )
            for x, y, z, bend in zip(left, middle, right, bends, strict=True):
                assert (bend + arb(0, 1e-12)).contains(((x - 2 * y + z) / (small * small)).mid())


@pytest.mark.parametrize("seed", range(20))
def test_the_derivative_is_that_of_differences(seed: int) -> None:
    instance, rng = random_instance(seed), np.random.default_rng(seed)
    point = rng.normal(size=instance.selection.tokens.dimension)
    with working_precision(100):
        found = landscape(instance.selection, instance.loss).derivative(exact(point))
    assert np.array([[float(x) for x in row] for row in found.tolist()]) == pytest.approx(
        -instance.hessian(point), abs=1e-6
    )


def test_narrow_shares_are_the_softmax_and_as_narrow_as_can_be() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        low = rng.normal(size=4)
        high = low + rng.uniform(0, 1, 4)
        shares = narrow_shares([arb(x).union(arb(y)) for x, y in zip(low, high, strict=True)])
        ends = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(4, -1)
        powers = np.exp(-np.vstack([np.zeros(ends.shape[1]), ends]))
        powers /= powers.sum(0)
        for share, seen in zip(shares, powers, strict=True):
            assert float(share.lower()) == pytest.approx(seen.min(), abs=1e-6)
            assert float(share.upper()) == pytest.approx(seen.max(), abs=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_a_bundle_holds_every_point_of_its_box(seed: int) -> None:
    instance, rng = random_instance(seed), np.random.default_rng(seed)
    size = instance.selection.tokens.dimension
    start, radius, stops = rng.normal(size=size), float(rng.choice([1e-4, 1e-2, 0.1])), [1, 7, 40, 150]
    with working_precision(64):
        step = GradientStep(landscape(instance.selection, instance.loss), arb(float(rng.choice([0.1, 0.5]))))
        found = carried_along(step, bundle(cube(start, radius)), 150, stops)
        assert set(found) == {0, *stops}
    with working_precision(300):
        for _ in range(6):
            here = [x + radius * float(y) for x, y in zip(exact(start), rng.choice([-1, 1, 0.3], size), strict=True)]
            run = descend(step, around(here), 150, stops)
            for k in stops:
                bunch, point = found[k], run[k].centre
                if bunch.error.is_finite():
                    away = sum(((x - y) ** 2 for x, y in zip(point, bunch.centre, strict=True)), arb(0)).sqrt()
                    assert (away <= bunch.error + 1e-25) is True
                    assert all((ball + arb(0, 1e-25)).contains(x) for ball, x in zip(bunch.box, point, strict=True))


def test_a_bundle_is_narrower_than_a_ball() -> None:
    ratios = []
    for seed in range(12):
        instance, rng = random_instance(seed), np.random.default_rng(seed)
        start = rng.normal(size=instance.selection.tokens.dimension)
        with working_precision(64):
            step = GradientStep(landscape(instance.selection, instance.loss), arb(0.5))
            bunch = carried_along(step, bundle(cube(start, 0.01)), 200)[200].error
            ball = carried_along(step, around(cube(start, 0.01)), 200)[200].error
        assert bunch.is_finite() or not ball.is_finite()
        ratios.append(float(bunch / ball) if ball.is_finite() else 0)
    assert max(ratios) < 1.2
    assert np.median(ratios) < 0.8


def test_a_bundle_is_followed_as_a_box_is() -> None:
    instance = random_instance(3)
    start = bundle(cube(np.ones(instance.selection.tokens.dimension), 0.01))
    with working_precision(64):
        step = GradientStep(landscape(instance.selection, instance.loss), arb(0.1))
        every, some = list(every_one(step, start, 6)), carried_along(step, start, 5, [2, 9])
        again = carried_along(step, every[2], 3)[3]
    assert len(every) == 6
    assert set(some) == {0, 2, 5}
    for k, here in {**some, 5: again}.items():
        assert isinstance(here, Bundle)
        assert all(x.mid() == y.mid() for x, y in zip(here.centre, every[k].centre, strict=True))
        assert here.error == every[k].error


def test_a_box_that_grows_beyond_bounds_is_lost_and_says_so() -> None:
    instance = random_instance(0)
    start = bundle(cube(np.zeros(instance.selection.tokens.dimension), 1000.0))
    with working_precision(64):
        step = GradientStep(landscape(instance.selection, instance.loss), arb(100))
        every, found = list(every_one(step, start, 400)), carried_along(step, start, 400, [300])
    assert len(every) < 400
    assert not every[-1].error.is_finite()
    assert not found[400].error.is_finite()
    assert not found[300].error.is_finite()


class Flat:
    """p -> (p_1 + p_2, 0): no frame can be made of what is turned into one line."""

    def of(self, point: list[arb]) -> Enclosure:
        return around([point[0] + point[1], arb(0)])

    def expansion(self, box: list[arb], distance: arb) -> arb:
        return arb(2)

    def expanded(self, centre: list[arb], generators: arb_mat) -> Expansion:
        return Expansion(self.of(centre), arb_mat([[1, 1], [0, 0]]), [arb(0), arb(0, 1)])


def test_a_step_that_flattens_a_box() -> None:
    found = carried_along(Flat(), bundle([arb(1, 0.5), arb(2, 0.25)]), 2)[2]
    assert isinstance(found, Bundle)
    assert found.frame == identity(2)
    assert all(ball.contains(arb(x)) for ball, x in zip(found.box, (2.25, -0.5), strict=True))
    assert all(ball.contains(arb(x)) for ball, x in zip(found.box, (4.25, 0.5), strict=True))
    assert (found.error < 3) is True


def test_points_escape_from_a_bundle_without_second_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out by a broken part shows: the test above would fail."""
    instance = random_instance(0)
    size = instance.selection.tokens.dimension
    monkeypatch.setattr(Landscape, "bends", lambda self, centre, generators: [arb(0)] * len(centre))
    with working_precision(64):
        step = GradientStep(landscape(instance.selection, instance.loss), arb(0.5))
        found = carried_along(step, bundle(cube(np.zeros(size), 0.1)), 20)[20]
        run = carried_along(step, around([arb(0.1)] * size), 20)[20]
    assert not all(ball.contains(x) for ball, x in zip(found.box, run.centre, strict=True))
