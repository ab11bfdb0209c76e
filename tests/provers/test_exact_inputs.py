"""Numbers from Python programs: exact ones become texts that the reader takes back, floats are refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpz
from hypothesis import given
from hypothesis import strategies as st

from certattn.kernel.document.numbers import parse_rational
from certattn.kernel.errors import UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.provers.exact_inputs import exact, exact_text


def back(value: Any) -> fmpq:
    return parse_rational(exact_text(value, "x"), DEFAULT_LIMITS)


@given(st.integers() | st.fractions())
def test_rationals_come_back(value: Fraction) -> None:
    assert back(value) == back(fmpq(value.numerator, value.denominator)) == fmpq(value.numerator, value.denominator)


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_decimals_come_back(value: Decimal) -> None:
    ratio = Fraction(value)
    assert back(value) == fmpq(ratio.numerator, ratio.denominator)


def test_long_integers_come_back() -> None:
    assert back(7**9000) == fmpq(7) ** 9000
    assert back(fmpz(10) ** 19999) == fmpq(10) ** 19999
    assert back(np.uint64(2**64 - 1)) == 2**64 - 1


def test_texts_lists_and_mappings_keep_their_form() -> None:
    value = {"a": ["1/sqrt(2)", (1, Fraction(1, 2))], "b": {"c": Decimal("1E-7")}}
    assert exact(value, "x") == {"a": ["1/sqrt(2)", ["1", "0.5"]], "b": {"c": "1E-7"}}


@pytest.mark.parametrize(("value", "text"), [(0.5, "0.5"), (np.float64(1), "1"), (-0.375, "-0.375")])
def test_floats_that_are_the_same_decimal_are_taken(value: Any, text: str) -> None:
    assert exact_text(value, "scale") == text


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.1, "write '0.1' for the decimal, or (0.1).hex() for the double"),
        (np.float64(0.7), "write '0.7' for the decimal, or (0.7).hex() for the double"),
        (float("nan"), "nan, expected an exact number"),
        (float("inf"), "inf, expected an exact number"),
    ],
)
def test_floats_are_refused_and_the_ways_out_are_named(value: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        exact_text(value, "scale")
    assert str(caught.value).startswith("scale is the float ")
    assert words in str(caught.value)
    assert back((0.1).hex()) == fmpq(*(0.1).as_integer_ratio())


@pytest.mark.parametrize(
    "value",
    [None, True, False, np.bool_(True), 1j, b"1", {1}, Decimal("NaN"), Decimal("-Infinity")],
    ids=repr,
)
def test_whatever_else_is_refused(value: Any) -> None:
    for what in (lambda: exact_text(value, "scale"), lambda: exact({"a": [value]}, "limit")):
        with pytest.raises(UsageError, match=r"(scale|limit\.a\[0\]) is .*, expected an exact number"):
            what()


def test_a_list_is_no_text() -> None:
    with pytest.raises(UsageError, match="scale is a list, expected a text or an exact number"):
        exact_text([1], "scale")


def test_keys_are_texts() -> None:
    with pytest.raises(UsageError, match="limit has the key 1, expected keys that are texts"):
        exact({1: 2}, "limit")
