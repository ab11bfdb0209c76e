"""Quantised numbers in doubles: exactly those of fractions, or refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certattn.fast import exact_operations as module
from certattn.fast.caches import dequantised
from certattn.fast.exact_operations import bits, exact_product, exact_sum
from certattn.kernel.errors import RefusedError

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**60), 2**60).map(float),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.floats(width=16, allow_nan=False, allow_infinity=False),
    st.builds(lambda m, e: float(np.ldexp(float(m), e)), st.integers(-300, 300), st.integers(-1080, 600)),
)


@pytest.mark.heavy
@settings(max_examples=600, deadline=None)
@given(NUMBERS, NUMBERS)
def test_what_is_not_refused_is_exact(left: float, right: float) -> None:
    for operation, truth in (
        (exact_product, Fraction(left) * Fraction(right)),
        (exact_sum, Fraction(left) + Fraction(right)),
    ):
        try:
            with np.errstate(all="ignore"):
                found = operation(np.array([left]), np.array([right]))
        except RefusedError:
            continue
        assert Fraction(float(found[0])) == truth


@settings(max_examples=300, deadline=None)
@given(NUMBERS.filter(lambda x: x != 0))
def test_a_number_lies_between_its_bits(number: float) -> None:
    (low,), (high,) = bits(np.array([number]))
    size = abs(Fraction(number))
    assert (size / Fraction(2) ** int(low)).denominator == 1
    assert (size / Fraction(2) ** int(low)).numerator % 2 == 1
    assert Fraction(2) ** int(high) <= size < Fraction(2) ** (int(high) + 1)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_codes_of_eight_bits_with_usual_scales_are_doubles(dtype: str) -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(-128, 256, (64, 32)).astype(float)
    scale = np.abs(rng.standard_normal((64, 32))).astype(dtype)
    zero, offset = rng.integers(0, 16, (64, 32)).astype(float), rng.standard_normal((64, 32)).astype(np.float16)
    found = dequantised(codes, scale.astype(float), zero, offset.astype(float))
    for x, c, s, z, o in zip(*(a.ravel().tolist() for a in (found, codes, scale, zero, offset)), strict=True):
        assert Fraction(x) == Fraction(s) * (Fraction(c) - Fraction(z)) + Fraction(o)


@pytest.mark.parametrize(
    ("codes", "scale", "zero", "offset"),
    [(3.0, 0.1, None, None), (1.0, 2.0**-60, None, 1.0), (2.0**53, 1.0, -1.0, None), (1.0, np.nan, None, None),
     (np.inf, 1.0, None, None), (1.5, 2.0**-1074, None, None), (2.0**300, 2.0**300, None, None)],
)  # fmt: skip
def test_what_no_double_is_is_refused(codes: float, scale: float, zero: float | None, offset: float | None) -> None:
    arrays = [None if x is None else np.array([[x]]) for x in (codes, scale, zero, offset)]
    with np.errstate(all="ignore"), pytest.raises(RefusedError):
        dequantised(*arrays)  # type: ignore[arg-type]


def test_zeros_ask_for_nothing() -> None:
    zero, tenth = np.array([0.0]), np.array([0.1])
    assert exact_product(zero, tenth) == 0
    assert exact_sum(tenth, zero) == 0.1


def test_one_bit_more_is_refused() -> None:
    """53 bits are the most that a product or a sum may have."""
    for left, right in ((27, 26), (52, 1)):
        exact_product(np.array([2.0**left - 1]), np.array([2.0**right - 1]))
    with pytest.raises(RefusedError):
        exact_product(np.array([2.0**27 - 1]), np.array([2.0**27 - 1]))
    exact_sum(np.array([2.0**51]), np.array([1.0]))
    with pytest.raises(RefusedError):
        exact_sum(np.array([2.0**53]), np.array([1.0]))
    assert np.finfo(float).nmant + 1 == module._BITS
