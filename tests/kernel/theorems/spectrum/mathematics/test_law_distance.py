"""Largest differences of two falling tails, and smallest distances over all scales."""

from __future__ import annotations

import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.law_distance import (
    differences,
    kolmogorov_distance,
    one_sided_distances,
    quarter_circle_tail,
    scaled,
)
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw


def uniform(x: arb) -> arb:
    return 1 - x.max(arb(0)).min(arb(1))


def squared(x: arb) -> arb:
    """Of the square of a uniform number: 1 - sqrt(x)."""
    return 1 - x.max(arb(0)).min(arb(1)).sqrt()


def test_by_hand() -> None:
    """sqrt(x) - x is largest at 1/4, where it is 1/4; the other difference is 0."""
    found = differences(uniform, squared, [arb(1)], [])
    assert found.above.contains(arb(fmpq(1, 4)))
    assert found.above.rad() < 1e-3
    assert found.below.contains(arb(0))


def test_more_bits_are_sharper() -> None:
    def width(bits: int) -> arb:
        with working_precision(bits):
            return arb(differences(uniform, squared, [arb(1)], []).above.rad())

    assert width(256) < width(64) / 10


def test_a_goal_ends_the_search() -> None:
    rough = differences(uniform, squared, [arb(1)], [fmpq(1, 2)])
    assert rough.above < fmpq(1, 2)
    assert rough.above.rad() > 1e-2


@pytest.mark.parametrize("tail", [lambda x: arb.nan(), lambda x: arb(0, 1)], ids=["nan", "wide"])
def test_what_is_not_enclosed_is_no_distance(tail: object) -> None:
    found = differences(tail, uniform, [arb(1)], [])  # type: ignore[arg-type]
    assert (found.distance <= fmpq(99, 100)) is not True
    assert (found.distance >= fmpq(1, 100)) is not True


# Certified once with cells of 1e-4 on a grid: beta, lower and upper end at lambda = 1.
KNOWN = [("1/4", ".1437", ".1439"), ("1/2", ".1147", ".1150"), ("3/4", ".0795", ".0798"), ("1", ".0477", ".0480")]


@pytest.mark.parametrize(("beta", "lower", "upper"), KNOWN)
def test_known_distances_of_the_law(beta: str, lower: str, upper: str) -> None:
    p, _, q = beta.partition("/")
    with working_precision(128):
        law = EquivalentLaw.from_square(fmpq(int(p), int(q or 1)) ** 2, fmpq(1))
        variance = law.numbers.variance
        found = differences(law.tail, lambda x: quarter_circle_tail(x, variance), [law.right_edge], [])
        assert found.distance > arb(lower)
        assert found.distance < arb(upper)


@pytest.mark.parametrize("inner", [[], [fmpq(1, 3)], [fmpq(1, 4)], [fmpq(9, 10), fmpq(-1), fmpq(1, 10)]])
def test_cells_may_end_anywhere(inner: list[fmpq]) -> None:
    found = differences(uniform, squared, [arb(1), *map(arb, inner)], [])
    assert found.above.contains(arb(fmpq(1, 4)))
    assert found.above.rad() < 1e-3
    assert found.below.contains(arb(0))
    assert found.below.rad() < 1e-3


@pytest.mark.parametrize("ends", [[], [arb.nan()], [arb(1), arb.nan()], [arb.pos_inf(), arb(1)]])
def test_an_end_that_is_not_known_is_no_end(ends: list[arb]) -> None:
    found = differences(uniform, squared, ends, [])
    assert found.distance.is_finite() is not True


def test_a_piece_that_is_far_smaller_than_the_rest_is_found() -> None:
    """Half of the mass on [0, 10^-200]: two hundred halvings of [0, 1] would not come to it."""
    tiny = arb(10) ** -200

    def tail(x: arb) -> arb:
        return (1 - x / tiny.mid() / 2).max(arb(fmpq(1, 2))) * uniform(x)

    found = differences(uniform, tail, [arb(1), tiny.upper()], [])
    assert found.above.contains(arb(fmpq(1, 2)))
    assert found.above.rad() < 1e-3


def test_a_search_that_more_cells_do_not_help_ends() -> None:
    """Where nothing is known of a tail inside, thousands of cells would be looked at in vain."""
    looked_at = []

    def unknown(x: arb) -> arb:
        looked_at.append(x)
        return arb(fmpq(1, 2), fmpq(1, 2))

    found = differences(unknown, uniform, [arb(1)], [])
    assert found.above.contains(arb(1))
    assert len(looked_at) < 200


@pytest.mark.parametrize("count", [1, 2, 7])
def test_no_scale_is_nearer_than_the_least(count: int) -> None:
    """On a grid of other scales no distance is below min(D+, D-), whatever the scale is that it is taken at."""
    values = [arb(fmpq((7 * k) % 11 + 1, 8)) for k in range(count)]
    values.sort(key=lambda ball: -float(ball))
    distances = [kolmogorov_distance(values, scaled(uniform, fmpq(k, 10))) for k in range(1, 60)]
    for k in range(1, 60, 3):
        sides = one_sided_distances(values, scaled(uniform, fmpq(k, 10)))
        assert not any(distance < sides.least for distance in distances)
        assert not all(distance > sides.distance for distance in distances)


@pytest.mark.parametrize(("lambda_", "bits"), [("1e-10", 64), ("1e-30", 128), ("1e-300", 1024)])
def test_next_to_lambda_0_the_distance_is_that_of_two_quarter_circles(lambda_: str, bits: int) -> None:
    """All but the mass lambda has the quarter circle law of variance alpha^2: an independent limit, on a grid."""
    with working_precision(bits):
        law = EquivalentLaw.from_square(fmpq(1, 4), fmpq(1) / fmpq(10) ** int(lambda_.removeprefix("1e-")))
        variance, alpha2 = law.numbers.variance, law.numbers.alpha2
        ends = [*law.piece_ends(), 2 * variance.sqrt()]
        goals = [fmpq(5757, 10000), fmpq(5758, 10000)]
        found = differences(law.tail, lambda x: quarter_circle_tail(x, variance), ends, goals)
        grid = [arb(fmpq(k, 2000)) for k in range(1, 1000)]
        limit = max(float(quarter_circle_tail(x, variance) - quarter_circle_tail(x, alpha2)) for x in grid)
    assert abs(float(found.below.mid()) - limit) < 1e-4
    assert found.below > goals[0]
    assert found.below < goals[1]
    assert found.above < goals[0]
