"""Rounding for people: few digits, on the safe side, exactly."""

from __future__ import annotations

import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.provers.rounding import (
    last_place,
    lower_rational,
    midpoint,
    nearest,
    round_below_one,
    round_down,
    round_nearest,
    round_up,
    upper_rational,
)

positive = st.fractions(min_value=0).filter(bool)


def rational(value: object) -> fmpq:
    return fmpq(value.numerator, value.denominator)  # type: ignore[attr-defined]


@given(positive, st.integers(1, 12))
def test_rounding_up_is_above_by_less_than_a_unit(value: object, digits: int) -> None:
    exact = rational(value)
    rounded = round_up(exact, digits)
    assert rounded >= exact
    assert rounded - exact < exact * fmpq(10) ** (1 - digits)
    assert round_up(rounded, digits) == rounded


@given(st.fractions(min_value=0, max_value=1), st.integers(1, 12), st.integers(0, 60))
def test_next_to_one_what_is_lacking_has_few_digits(value: object, digits: int, power: int) -> None:
    lacking = rational(value) / fmpq(10) ** power
    found = 1 - round_below_one(1 - lacking, digits)
    assert lacking <= found
    assert found <= max(lacking * (1 + fmpq(10) ** (1 - digits)), fmpq(10) ** -20)
    assert (found == 0) is (lacking == 0)
    assert "/" not in format_rational(1 - found)


@given(positive, st.integers(1, 12))
def test_rounding_down_is_below_by_less_than_a_unit(value: object, digits: int) -> None:
    exact = rational(value)
    rounded = round_down(exact, digits)
    assert 0 < rounded <= exact
    assert exact - rounded < exact * fmpq(10) ** (1 - digits)
    assert round_down(rounded, digits) == rounded
    assert round_down(fmpq(0), digits) == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (fmpq(0), fmpq(0)),
        (fmpq(1), fmpq(1)),
        (fmpq(1, 3), fmpq(333334, 1000000)),
        (fmpq(999999999, 1000), fmpq(1000000)),
        (fmpq(1, 10**300) + fmpq(1, 10**400), fmpq(100001, 10**305)),
        (fmpq(10**300 + 1), fmpq(100001 * 10**295)),
    ],
)
def test_six_digits(value: fmpq, expected: fmpq) -> None:
    assert round_up(value, 6) == expected


@given(st.fractions(), st.integers(0, 40))
def test_nearest_is_within_half_a_unit_of_the_midpoint(value: object, places: int) -> None:
    exact = rational(value)
    before = ctx.prec
    ctx.prec = 400
    try:
        ball = arb(exact)
        rounded = nearest(ball, places)
        assert (rounded * fmpq(10) ** places).q == 1
        assert abs(arb(rounded) - ball) <= arb(fmpq(1, 2) / fmpq(10) ** places) + arb(1e-100)
    finally:
        ctx.prec = before


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(min_value=0, max_value=1e300))
def test_the_upper_bound_of_a_ball_is_above_all_of_it(middle: float, radius: float) -> None:
    ball = arb(middle, radius)
    bound = upper_rational(ball)
    assert bound >= rational(_fraction(middle))
    assert ball <= bound
    below = lower_rational(ball)
    assert below <= rational(_fraction(middle))
    assert ball >= below


def _fraction(value: float) -> object:
    from fractions import Fraction

    return Fraction(value)


@pytest.mark.parametrize("ball", [arb("nan"), arb("inf"), arb("-inf"), arb(0, "inf")])
def test_an_unbounded_ball_has_none(ball: arb) -> None:
    with pytest.raises(NotProvedError, match="unbounded"):
        upper_rational(ball)
    with pytest.raises(NotProvedError, match="unbounded"):
        lower_rational(ball)


def test_the_last_place_counts_from_the_first_digit() -> None:
    assert last_place(fmpq(999), 3) == 1
    assert last_place(fmpq(1000), 3) == 10
    assert last_place(fmpq(1, 1000), 1) == fmpq(1, 1000)
    assert last_place(fmpq(1, 3), 2) == fmpq(1, 100)
    assert last_place(fmpq(0), 5) == 1
    assert round_down(fmpq(0), 5) == 0
    with pytest.raises(ValueError, match="-2 is not positive"):
        round_down(fmpq(-2), 5)


@given(st.fractions(), st.sampled_from([fmpq(1), fmpq(1, 1000), fmpq(100)]))
def test_the_nearest_multiple_is_within_half_a_unit(value: object, unit: fmpq) -> None:
    exact = rational(value)
    rounded = round_nearest(exact, unit)
    assert (rounded / unit).q == 1
    assert abs(rounded - exact) * 2 <= unit


def test_bounds_from_below_and_middles() -> None:
    ball = arb(1.5, 0.25)
    assert lower_rational(ball) <= fmpq(5, 4) < midpoint(ball) == fmpq(3, 2)
    assert lower_rational(arb(-3)) == -3


def test_exponentials_beyond_all_digits() -> None:
    """e^(-10^30) has more leading zeros than any memory holds, and is positive all the same."""
    with working_precision(200):
        tiny, huge = arb("-1e30").exp(), arb("1e30").exp()
    assert 0 < upper_rational(tiny) < fmpq(1, 10**19000)
    assert lower_rational(tiny) == midpoint(tiny) == upper_rational(-tiny) == 0
    assert lower_rational(-tiny) == -upper_rational(tiny)
    with pytest.raises(NotProvedError, match="too long"):
        upper_rational(huge)
