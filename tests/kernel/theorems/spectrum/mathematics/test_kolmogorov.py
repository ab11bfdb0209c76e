"""Kolmogorov distances of enclosed numbers to a law, against the definition."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from flint import arb, fmpq

from certattn.kernel.theorems.spectrum.law_distance import (
    excess,
    kolmogorov_distance,
    lack,
    one_sided_distances,
)


def uniform_tail(x: arb) -> arb:
    """Of the uniform law on [0, 1]."""
    return 1 - x.max(arb(0)).min(arb(1))


def ball(x: Fraction) -> arb:
    return arb(fmpq(x.numerator, x.denominator))


def by_definition(values: list[Fraction]) -> Fraction:
    """sup |F_n - x| over the limits from both sides at every number."""
    count, found = len(values), Fraction(0)
    for x in values:
        upto, before = sum(y <= x for y in values), sum(y < x for y in values)
        share = min(max(x, Fraction(0)), Fraction(1))
        found = max(found, abs(Fraction(upto, count) - share), abs(Fraction(before, count) - share))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_distance_is_that_of_the_definition(seed: int) -> None:
    """Also with equal numbers, and with numbers outside of the support."""
    draw = random.Random(seed)
    values = [Fraction(draw.randint(-2, 18), 16) for _ in range(draw.randint(1, 9))]
    found = kolmogorov_distance([ball(x) for x in sorted(values, reverse=True)], uniform_tail)
    assert found.overlaps(ball(by_definition(values)))
    assert found.rad() < arb(2) ** -40


def test_balls_enclose_the_distances_of_all_numbers_in_them() -> None:
    exact = [Fraction(7, 8), Fraction(1, 2), Fraction(1, 16)]
    found = kolmogorov_distance([ball(x) + arb(0, 1e-3) for x in exact], uniform_tail)
    for shift in (Fraction(-1, 1000), Fraction(0), Fraction(1, 1000)):
        truth = ball(by_definition([x + shift for x in exact]))
        assert found.contains(truth)


def test_the_least_distance_of_all() -> None:
    """Numbers in the middles of n equal parts are 1/(2n) away, nearer is none."""
    count = 5
    middles = [ball(Fraction(2 * (count - k) - 1, 2 * count)) for k in range(count)]
    assert kolmogorov_distance(middles, uniform_tail).overlaps(arb(fmpq(1, 10)))


@pytest.mark.parametrize("tail", [arb.nan(), arb.pos_inf()], ids=["nan", "infinite"])
def test_what_is_not_enclosed_gives_no_distance(tail: arb) -> None:
    found = kolmogorov_distance([arb(1), arb(0)], lambda x: tail if x == 1 else arb(1))
    assert found.is_finite() is not True


def test_one_term_by_hand() -> None:
    """T(x_3) = 1/4 of four numbers: 3/4 - 1/4 on one side, 1/4 - 1/2 on the other."""
    assert excess(3, 4, arb(fmpq(1, 4))) == arb(fmpq(1, 2))
    assert lack(3, 4, arb(fmpq(1, 4))) == arb(fmpq(-1, 4))


def test_both_sides() -> None:
    """One number 1/4 of the uniform law: the tail there is 3/4, of the share 1 before it and 0 after it."""
    found = one_sided_distances([arb(fmpq(1, 4))], uniform_tail)
    assert (found.above, found.below) == (arb(fmpq(1, 4)), arb(fmpq(3, 4)))
    assert found.distance == arb(fmpq(3, 4))
    assert found.least == arb(fmpq(1, 4))
