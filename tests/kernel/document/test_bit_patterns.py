"""Bit patterns as exact integers, against numpy's own reading of the same bytes and Fraction."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from float8_values import FLOAT8
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certattn.kernel.document.bit_patterns import FLOATS, INTEGERS, NotFiniteError, exact_integers, not_finite


def exact(data: bytes, dtype: str) -> list[Fraction]:
    integers, exponent = exact_integers(data, dtype)
    assert all(type(n) is int for n in integers)
    return [n * Fraction(2) ** exponent for n in integers]


def by_floats(data: bytes, dtype: str) -> list[float]:
    """The same numbers as Python floats: every format widens into float64 without rounding."""
    if dtype == "bfloat16":
        widened = np.frombuffer(data, "<u2").astype("<u4") << 16
        return [float(x) for x in widened.view("<f4")]
    if dtype in FLOAT8:
        return [FLOAT8[dtype][pattern] for pattern in data]
    return [float(x) for x in np.frombuffer(data, f"<f{WIDTHS[dtype]}")]


WIDTHS = {"float8_e4m3fn": 1, "float8_e5m2": 1, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}

# -- every pattern, and random ones


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float16", "bfloat16"])
def test_every_pattern_of_eight_and_of_sixteen_bits(dtype: str) -> None:
    width = WIDTHS[dtype]
    patterns = [pattern.to_bytes(width, "little") for pattern in range(256**width)]
    values = by_floats(b"".join(patterns), dtype)
    finite = [pattern for pattern, value in enumerate(values) if math.isfinite(value)]
    bad = [pattern for pattern, value in enumerate(values) if not math.isfinite(value)]
    assert exact(b"".join(patterns[pattern] for pattern in finite), dtype) == [Fraction(values[i]) for i in finite]
    assert not_finite(b"".join(patterns), dtype).tolist() == bad
    for pattern in bad:
        with pytest.raises(NotFiniteError) as caught:
            exact_integers(patterns[pattern], dtype)
        assert caught.value.kind == ("an infinity" if math.isinf(values[pattern]) else "a NaN")


def test_the_narrowest_type_has_no_infinities() -> None:
    assert not_finite(bytes(range(256)), "float8_e4m3fn").tolist() == [0x7F, 0xFF]
    assert exact(b"\x7e\xfe\x78\x01\x08", "float8_e4m3fn") == [448, -448, 256, Fraction(1, 512), Fraction(1, 64)]


# On a busy machine the first draw takes as long as all others.
@pytest.mark.parametrize("dtype", FLOATS)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_patterns(dtype: str, data: Any) -> None:
    width = WIDTHS[dtype]
    raw = data.draw(st.lists(st.binary(min_size=width, max_size=width), min_size=1, max_size=8).map(b"".join))
    values = by_floats(raw, dtype)
    bad = [index for index, value in enumerate(values) if not math.isfinite(value)]
    if not bad:
        assert exact(raw, dtype) == [Fraction(value) for value in values]
        return
    with pytest.raises(NotFiniteError) as caught:
        exact_integers(raw, dtype)
    assert caught.value.index == bad[0]
    assert str(caught.value) == f"{caught.value.kind} at flat index {bad[0]}"


# -- the ends of the formats

ENDS = {
    "float16": ([2.0**-24, 2.0**-14, 65504.0, -65504.0, 1 + 2.0**-10], "<f2"),
    "float32": ([2.0**-149, 2.0**-126, (2 - 2.0**-23) * 2.0**127, 1 + 2.0**-23], "<f4"),
    "float64": ([5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e308, -1e308, 1 + 2.0**-52], "<f8"),
}


@pytest.mark.parametrize("dtype", ENDS)
def test_the_ends_of_a_format_side_by_side(dtype: str) -> None:
    values, code = ENDS[dtype]
    values = [*values, *(-value for value in values), 0.0, -0.0]
    assert exact(np.array(values, code).tobytes(), dtype) == [Fraction(value) for value in values]


def test_the_ends_of_bfloat16() -> None:
    smallest, normal, largest = Fraction(2) ** -133, Fraction(2) ** -126, Fraction(255) * 2**120
    patterns = {0x0001: smallest, 0x0080: normal, 0x7F7F: largest, 0x8001: -smallest}
    data = struct.pack(f"<{len(patterns)}H", *patterns)
    assert exact(data, "bfloat16") == list(patterns.values())


def test_the_smallest_and_the_largest_double_share_one_exponent() -> None:
    integers, exponent = exact_integers(struct.pack("<2d", 5e-324, 1.7976931348623157e308), "float64")
    assert exponent == -1074
    assert integers == [1, (2**53 - 1) << 2045]


@pytest.mark.parametrize("spread", [0, 1, 8, 9, 10, 11, 61, 62, 63, 64, 65, 1000])
def test_spreads_around_the_width_of_a_machine_word(spread: int) -> None:
    values = [math.ldexp(2**53 - 1, -1074), -math.ldexp(1, -1074)]
    values += [math.ldexp(2**53 - 1, spread - 1074), -math.ldexp(1, spread - 1074)]
    assert exact(struct.pack("<4d", *values), "float64") == [Fraction(value) for value in values]


@pytest.mark.parametrize("dtype", FLOATS)
def test_zeros_of_both_signs(dtype: str) -> None:
    sign = bytes(WIDTHS[dtype] - 1) + b"\x80"
    assert exact_integers(bytes(WIDTHS[dtype]) + sign, dtype) == ([0, 0], 0)


def test_powers_of_two_are_taken_out() -> None:
    assert exact_integers(struct.pack("<3d", 0.0, 3 * 2.0**100, -(2.0**101)), "float64") == ([0, 3, -2], 100)


# -- not finite

NOT_FINITE = {
    ("float8_e4m3fn", "a NaN"): 0xFF,
    ("float8_e5m2", "an infinity"): 0xFC,
    ("float8_e5m2", "a NaN"): 0x7D,
    ("float16", "an infinity"): 0x7C00,
    ("float16", "a NaN"): 0x7C01,
    ("bfloat16", "an infinity"): 0xFF80,
    ("bfloat16", "a NaN"): 0x7FC0,
    ("float32", "an infinity"): 0xFF800000,
    ("float32", "a NaN"): 0x7F800001,
    ("float64", "an infinity"): 0x7FF0000000000000,
    ("float64", "a NaN"): 0xFFF8000000000000,
}


@pytest.mark.parametrize(("dtype", "kind"), NOT_FINITE)
def test_not_finite(dtype: str, kind: str) -> None:
    width = WIDTHS[dtype]
    bad = NOT_FINITE[dtype, kind].to_bytes(width, "little")
    with pytest.raises(NotFiniteError) as caught:
        exact_integers(bytes(2 * width) + bad + bytes(width) + bad, dtype)
    assert (caught.value.index, caught.value.kind) == (2, kind)


# -- integers


@pytest.mark.parametrize("dtype", INTEGERS)
@given(data=st.data())
def test_integers(dtype: str, data: Any) -> None:
    bits = int(dtype.lstrip("uint"))
    low = 0 if dtype.startswith("u") else -(2 ** (bits - 1))
    ends = st.sampled_from([low, low + 2**bits - 1, 0])
    values = data.draw(st.lists(ends | st.integers(low, low + 2**bits - 1), min_size=1, max_size=8))
    raw = b"".join(value.to_bytes(bits // 8, "little", signed=low < 0) for value in values)
    assert exact_integers(raw, dtype) == (values, 0)
