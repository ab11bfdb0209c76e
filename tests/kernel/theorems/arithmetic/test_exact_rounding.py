"""Rounding exact numbers as binary64 does, against the machine's own arithmetic."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import example, given
from hypothesis import strategies as st

from certattn.kernel.document.numbers import parse_rational
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.theorems.arithmetic.binary64_exponential import is_binary64, to_nearest
from certattn.statements.digits import hexadecimal

finite = st.floats(allow_nan=False, allow_infinity=False)
SMALLEST, LARGEST = 5e-324, 1.7976931348623157e308


def exact(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def as_float(value: fmpq | None) -> float:
    return float("inf") if value is None else float(Fraction(int(value.p), int(value.q)))


@given(finite, finite)
@example(SMALLEST, 0.5)
@example(3 * SMALLEST, 0.5)
@example(2.0**-1022, 1 - 2.0**-53)
@example(LARGEST, 1 + 2.0**-52)
@example(1e-200, 1e-200)
@example(1 + 2.0**-52, 1 + 2.0**-52)
def test_products_are_those_of_the_machine(x: float, y: float) -> None:
    product = to_nearest(exact(x) * exact(y))
    assert as_float(product) == abs(x * y) if product is None else as_float(product) == x * y


@given(finite, finite)
@example(1.0, 2.0**-53)
@example(1 + 2.0**-52, 2.0**-53)
@example(1.0, -(2.0**-54))
@example(LARGEST, LARGEST)
@example(LARGEST, 2.0**969)
@example(LARGEST, 2.0**970)
@example(SMALLEST, -SMALLEST)
def test_sums_are_those_of_the_machine(x: float, y: float) -> None:
    total = to_nearest(exact(x) + exact(y))
    assert as_float(total) == abs(x + y) if total is None else as_float(total) == x + y


@given(finite)
def test_a_double_is_a_double(x: float) -> None:
    assert to_nearest(exact(x)) == exact(x)
    assert is_binary64(exact(x)) is True


@pytest.mark.parametrize(
    "value",
    [fmpq(1, 3), fmpq(1, 10), fmpq(2**53 + 1), fmpq(2) ** 1024, fmpq(1, 2**1075), fmpq(3, 2**1075), -(fmpq(2) ** 1024)],
)
def test_other_rationals_are_none(value: fmpq) -> None:
    assert is_binary64(value) is False


def test_only_fractions_with_a_power_of_two_below_are_rounded() -> None:
    with pytest.raises(ValueError, match="power of two"):
        to_nearest(fmpq(1, 3))


@given(finite)
@example(-0.0)
@example(SMALLEST)
@example(-LARGEST)
def test_hexadecimals_read_back_as_the_same_number(x: float) -> None:
    text = hexadecimal(exact(x))
    assert parse_rational(text, DEFAULT_LIMITS) == exact(x)
    assert float.fromhex(text) == x
