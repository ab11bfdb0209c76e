"""Rows of arrays as doubles: exact conversions, bounds of norms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from float8_values import FLOAT8
from rounding_modes import flushing_subnormals

from certattn.fast.rows import EXACT_TYPES, StoredRows, blocks, computed_squares, larger, norm_bound, norm_bounds


def some(dtype: str, rows: int = 11, columns: int = 3) -> np.ndarray:
    """Numbers of a type, among them its largest, its smallest and its subnormal ones."""
    rng = np.random.default_rng(3)
    if dtype == "bfloat16":
        bits = rng.integers(0, 2**16, (rows, columns)).astype(np.uint16)
        bits[(bits & 0x7F80) == 0x7F80] = 0x3F81
        bits[0] = 0x0001, 0x8001, 0x7F7F
        return bits
    if dtype in FLOAT8:
        bits = np.resize(np.arange(256), (87, columns)).astype(np.uint8)
        bits[~np.isfinite(np.array(FLOAT8[dtype])[bits])] = 0x80
        return bits
    if dtype.startswith("float"):
        info = np.finfo(dtype)
        array = rng.standard_normal((rows, columns)).astype(dtype)
        array[0] = info.max, info.tiny, info.smallest_subnormal
        return array
    limits = np.iinfo(dtype)
    array = rng.integers(limits.min, limits.max, (rows, columns), endpoint=True).astype(dtype)
    array[0] = limits.min, limits.max, 0
    return array


def as_fraction(dtype: str, entry: object) -> Fraction:
    if dtype == "bfloat16":
        return Fraction(float(np.array([int(entry) << 16], np.uint32).view(np.float32)[0]))  # type: ignore[call-overload]
    if dtype in FLOAT8:
        return Fraction(FLOAT8[dtype][int(entry)])  # type: ignore[call-overload]
    return Fraction(int(entry)) if "int" in dtype else Fraction(float(entry))  # type: ignore[call-overload, arg-type]


@pytest.mark.parametrize("dtype", EXACT_TYPES)
def test_every_number_of_a_type_arrives_exactly(dtype: str) -> None:
    array = some(dtype)
    for stored in (StoredRows(array, dtype), StoredRows.from_bytes(array.tobytes(), dtype, 3)):
        found = np.vstack([block.keys.copy() for block in blocks(stored, stored, 0, len(array), 4)])
        assert found.dtype == np.float64
        assert [[Fraction(x) for x in row] for row in found.tolist()] == [
            [as_fraction(dtype, entry) for entry in row] for row in array
        ]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_widening_does_not_ask_how_the_thread_treats_subnormal_numbers(dtype: str) -> None:
    """Every pattern of 16 bits; of 32, those around the ends of the subnormal range and a sample of all."""
    if dtype == "float32":
        edges = [first + step for first in (0, 0x7FFFF0, 0x80000000, 0x807FFFF0) for step in range(32)]
        drawn = np.random.default_rng(5).integers(0, 2**32, 60_000)
        bits = np.concatenate([edges, drawn, drawn & 0x807FFFFF, drawn & 0x80000007]).astype(np.uint32)
    else:
        bits = np.arange(2**16, dtype=np.uint16)
    exponent_bits, fraction_bits = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23)}[dtype]
    stored = StoredRows((bits if dtype == "bfloat16" else bits.view(dtype))[:, None], dtype)
    room = np.empty((len(bits), 1))
    with flushing_subnormals():
        stored.block(0, len(bits), room)
    for pattern, found in zip(bits.tolist(), room[:, 0].tolist(), strict=True):
        sign, fraction = -1 if pattern >> exponent_bits + fraction_bits else 1, pattern & (1 << fraction_bits) - 1
        exponent, top = pattern >> fraction_bits & (1 << exponent_bits) - 1, (1 << exponent_bits) - 1
        if exponent == top:
            assert not math.isfinite(found)
            continue
        size = fraction + (1 << fraction_bits) if exponent else fraction
        power = max(exponent, 1) - (top >> 1) - fraction_bits
        assert Fraction(found) == sign * size * Fraction(2) ** power, hex(pattern)


@pytest.mark.parametrize("dtype", FLOAT8)
def test_every_pattern_of_eight_bits(dtype: str) -> None:
    """Where subnormal numbers count as zero, too: none of these is one as a double."""
    stored, found = StoredRows(np.arange(256, dtype=np.uint8)[:, None], dtype), np.empty((256, 1))
    with flushing_subnormals():
        stored.block(0, 256, found)
    for value, expected in zip(found[:, 0].tolist(), FLOAT8[dtype], strict=True):
        assert value == expected if math.isfinite(expected) else math.isnan(value)


def test_big_endian_and_strided_arrays_arrive_exactly() -> None:
    array = np.arange(60.0).reshape(10, 6)
    for view in (array.astype(">f8"), array[:, ::2], array[::-1], np.asfortranarray(array), array.T):
        stored = StoredRows(view, "float64")
        found = np.vstack([block.values.copy() for block in blocks(stored, stored, 0, len(view), 4)])
        assert (found == view).all()


@pytest.mark.parametrize(
    ("dtype", "stated"),
    [("int64", "int64"), ("uint64", "uint64"), ("int64", "int32"), ("float32", "float64"), ("longdouble", "float64"),
     ("float64", "float32"), ("int16", "bfloat16"), ("int8", "float8_e4m3fn"), ("uint16", "float8_e5m2"),
     ("complex128", "float64"), ("object", "float64")],
)  # fmt: skip
def test_an_array_of_another_type_than_stated_is_refused(dtype: str, stated: str) -> None:
    with pytest.raises(TypeError, match="does not hold"):
        StoredRows(np.zeros((2, 2), dtype), stated)


def test_a_token_that_is_key_and_value_is_read_once() -> None:
    stored = StoredRows(np.zeros((5, 2), np.float32), "float32")
    assert all(block.keys is block.values for block in blocks(stored, stored, 0, 5, 2))


def norm_off(square: float, exact: Fraction, terms: int) -> float:
    """The bound over the norm, minus 1, in units of u; negative if it is no bound."""
    bound = Fraction(norm_bound(square, terms))
    excess = bound * bound / exact - 1
    return float(excess * 2**53) / 2


@pytest.mark.parametrize("terms", [1, 2, 3, 17, 64])
def test_norms_are_bounded_above_and_not_far(terms: int) -> None:
    rng = np.random.default_rng(terms)
    rows = rng.standard_normal((200, terms)) * rng.choice([1, 1e-3, 1e100, 1e-100], (200, 1))
    squares, bounds = computed_squares(rows), norm_bounds(rows)
    for row, square, bound in zip(rows.tolist(), squares.tolist(), bounds.tolist(), strict=True):
        exact = sum(Fraction(x) ** 2 for x in row)
        assert bound == norm_bound(square, terms)
        # 2^-45 is 256 u.
        assert 0 < norm_off(square, exact, terms) < 256 + 4 * terms + 40


def test_norms_of_what_underflows() -> None:
    rows = np.array([[1e-170, 1e-170], [5e-324, 0.0], [0.0, 0.0], [1e-200, 1.0]])
    for row, bound in zip(rows.tolist(), norm_bounds(rows).tolist(), strict=True):
        assert Fraction(bound) ** 2 >= sum(Fraction(x) ** 2 for x in row)
        assert bound > 0


def test_norms_of_what_is_not_finite() -> None:
    with np.errstate(all="ignore"):
        assert np.isnan(norm_bounds(np.array([[np.nan, 1.0]]))).all()
        assert np.isinf(norm_bounds(np.array([[1e200, 1.0], [np.inf, 0.0]]))).all()


def test_a_lost_sum_of_squares_is_made_up_for() -> None:
    """1 and then halves of its last place: one addition after the other they are lost, in any order some are."""
    row = np.array([1.0] + [2.0**-27] * 1000)
    exact = 1 + 1000 * Fraction(2) ** -54
    lost = float(sum(np.square(row[1:]).tolist(), 1.0))
    assert lost == 1
    assert norm_off(lost, exact, len(row)) > 0


def test_the_larger_of_two_numbers() -> None:
    assert larger(1.0, 2.0) == larger(2.0, 1.0) == larger(2.0, 2.0) == 2
    assert all(math.isnan(larger(*pair)) for pair in ((math.nan, 1.0), (1.0, math.nan), (math.nan, math.nan)))
