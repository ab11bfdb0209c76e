"""Rationals and roots: what is irrational is known to be, and what is printed is what is meant."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import example, given, settings
from hypothesis import strategies as st

from certattn.kernel.document.numbers import parse_rational, parse_real
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import Real, Surd, describe, format_rational, format_real, real_root, square

naturals = st.integers(1, 10**24)


def fraction(text: str) -> Fraction:
    """What p/q or a decimal means, by Python's own rules."""
    return Fraction(text)


# -- roots


@pytest.mark.parametrize(
    ("p", "q", "root"), [(4, 1, fmpq(2)), (1, 4, fmpq(1, 2)), (9, 16, fmpq(3, 4)), (8, 2, fmpq(2)), (1, 1, fmpq(1))]
)
def test_squares_have_rational_roots(p: int, q: int, root: fmpq) -> None:
    assert real_root(fmpq(p, q)) == root


@pytest.mark.parametrize(("p", "q"), [(2, 1), (1, 2), (4, 3), (3, 4), (1, 32), (10**40 + 1, 1), (10**40, 10**41 + 1)])
def test_other_roots_stay_roots(p: int, q: int) -> None:
    root = real_root(fmpq(p, q))
    assert isinstance(root, Surd)
    assert root.radicand == fmpq(p, q)
    assert square(root) == fmpq(p, q)


@given(naturals, naturals)
@settings(derandomize=True)
def test_the_root_of_a_square_is_rational_and_squares_back(p: int, q: int) -> None:
    root = real_root(fmpq(p * p, q * q))
    assert root == fmpq(p, q)
    assert square(root) == fmpq(p * p, q * q)


@given(naturals, naturals)
@settings(derandomize=True)
def test_every_root_squares_back(p: int, q: int) -> None:
    assert square(real_root(fmpq(p, q))) == fmpq(p, q)


def test_a_root_is_no_rational() -> None:
    assert real_root(fmpq(2)) != fmpq(0)
    assert real_root(fmpq(2)) != real_root(fmpq(3))
    assert real_root(fmpq(2)) == real_root(fmpq(4, 2))


# -- texts


def test_the_first_digits_of_a_power_of_ten_are_a_one() -> None:
    assert describe(fmpq(1, 10**30000)) == "1.00000000000...e-30000"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (fmpq(0), "0"),
        (fmpq(-7), "-7"),
        (fmpq(1, 3), "1/3"),
        (fmpq(-1, 3), "-1/3"),
        (fmpq(1, 10), "0.1"),
        (fmpq(-5, 2), "-2.5"),
        (fmpq(1, 10**5), "0.00001"),
        (fmpq(1, 10**6), "1e-6"),
        (fmpq(-123, 10**10), "-1.23e-8"),
        (fmpq(12, 10**12), "1.2e-11"),
        (12 * fmpq(10) ** 100, "1.2e101"),
        (fmpq(10) ** 29, "1" + "0" * 29),
        (fmpq(10) ** 30, "1e30"),
        (-1234 * fmpq(10) ** 100, "-1.234e103"),
        (fmpq(3, 10**200), "3e-200"),
        (fmpq(101, 100), "1.01"),
        # Thirty digits are written out, an integer of more with an exponent, a fraction of more as p/q.
        (fmpq(int("1" * 30 + "00")), "1." + "1" * 29 + "e31"),
        (fmpq(int("1" * 30), 10), "1" * 29 + ".1"),
        (fmpq(int("1" * 31), 10), "1" * 31 + "/10"),
        # A short decimal of 20,000 places is written as one.
        (fmpq(1, 10**20_000), "1e-20000"),
        (fmpq(1, 2**30), str(fmpq(1, 2**30))),
    ],
)
def test_a_rational_as_text(value: fmpq, text: str) -> None:
    shown = format_rational(value)
    assert fraction(shown) == Fraction(int(value.p), int(value.q))
    if value.q != 2**30:
        assert shown == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (fmpq(1, 10), "0.1"),
        (Surd(fmpq(1, 32)), "sqrt(1/32)"),
        # Forty characters are short.
        (fmpq(1, 3 * 10**37), "1/3" + "0" * 37),
        (fmpq(1, 3 * 10**38), "3.33333333333...e-39"),
        (fmpq(-(10**80), 3), "-3.33333333333...e79"),
        (fmpq(10**40, 10**80 - 1), "1.00000000000...e-40"),
        (fmpq(10**80 - 1, 10**40), "9.99999999999...e39"),
        (fmpq(10**49, 3 * 10**50 + 1), "0.0333333333333..."),
        (fmpq(-(10**49), 3 * 10**53 + 1), "-3.33333333333...e-5"),
        (fmpq(10**49, 3 * 10**52 + 1), "0.000333333333333..."),
        (fmpq(10**60, 3 * 10**50 + 1), "3333333333.33..."),
        (fmpq(10**61, 3 * 10**50 + 1), "33333333333.3..."),
        (fmpq(10**50, 3 * 10**49 + 1), "3.33333333333..."),
        (Surd(fmpq(10**80, 7)), "sqrt(1.42857142857...e79)"),
    ],
)
def test_a_number_in_a_sentence(value: Real, text: str) -> None:
    assert describe(value) == text


rationals = st.one_of(
    st.fractions(),
    st.builds(lambda m, e: Fraction(m) * Fraction(10) ** e, st.integers(-(10**20), 10**20), st.integers(-40, 40)),
    st.builds(lambda m, e: Fraction(m) * Fraction(2) ** e, st.integers(-(2**53), 2**53), st.integers(-160, 130)),
)


@given(rationals)
@example(Fraction(1, 10**30))
@example(Fraction(1, 10**31))
@example(Fraction(-999999, 10**6))
@example(Fraction(5, 10**9))
@settings(max_examples=500, derandomize=True)
def test_every_text_means_its_number_exactly(value: Fraction) -> None:
    number = fmpq(value.numerator, value.denominator)
    text = format_rational(number)
    assert fraction(text) == value
    assert parse_rational(text, DEFAULT_LIMITS) == number
    assert format_real(number) == text


@given(naturals, naturals)
@settings(derandomize=True)
def test_every_root_is_read_back_from_its_text(p: int, q: int) -> None:
    root = real_root(fmpq(p, q))
    assert parse_real(format_real(root), DEFAULT_LIMITS) == root
