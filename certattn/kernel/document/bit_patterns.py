"""Binary numbers as exact integers.

A float array is a matrix of integers times one power of two. The bits are taken apart with
integer operations of numpy; no floating-point arithmetic happens, so nothing is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class BinaryFormat:
    """An IEEE-like interchange format: sign bit, `exponent_bits`, `fraction_bits`.

    Where it has no infinities, the largest exponent is that of numbers, too, and its last pattern alone is a NaN.
    """

    exponent_bits: int
    fraction_bits: int
    has_infinities: bool = True

    @property
    def infinity(self) -> int:
        """The bits of the least pattern, but for the sign, that is no finite number."""
        top = (1 << self.exponent_bits) - 1
        return top << self.fraction_bits if self.has_infinities else (top + 1 << self.fraction_bits) - 1

    @property
    def carrier(self) -> str:
        return f"<u{(1 + self.exponent_bits + self.fraction_bits) // 8}"


FLOATS = {
    "float8_e4m3fn": BinaryFormat(4, 3, has_infinities=False),
    "float8_e5m2": BinaryFormat(5, 2),
    "float16": BinaryFormat(5, 10),
    "bfloat16": BinaryFormat(8, 7),
    "float32": BinaryFormat(8, 23),
    "float64": BinaryFormat(11, 52),
}
INTEGERS = {f"{kind}{bits}": f"<{kind[0]}{bits // 8}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}


class NotFiniteError(ValueError):
    """The array holds a NaN or an infinity; `index` is the first one's flat position."""

    def __init__(self, index: int, kind: str) -> None:
        self.index = index
        self.kind = kind
        super().__init__(f"{kind} at flat index {index}")


def exact_integers(data: bytes | bytearray | memoryview, dtype: str) -> tuple[list[int], int]:
    """(n, e) with value_i = n_i * 2^e for every number of a little-endian array.

    Raises NotFiniteError for NaN and infinities.
    """
    if dtype in INTEGERS:
        return np.frombuffer(data, INTEGERS[dtype]).tolist(), 0
    require_finite(data, dtype)
    form = FLOATS[dtype]
    bits = np.frombuffer(data, form.carrier)
    word = bits.dtype.type
    fraction = (bits & word((1 << form.fraction_bits) - 1)).astype(np.int64)
    top = (1 << form.exponent_bits) - 1
    biased = (bits >> word(form.fraction_bits)).astype(np.int64) & top
    # A biased exponent of 0 is a subnormal: no hidden bit, and the exponent of 1.
    mantissa = np.where(biased > 0, fraction | (1 << form.fraction_bits), fraction)
    bias = (1 << (form.exponent_bits - 1)) - 1
    exponent = np.maximum(biased, 1) - (bias + form.fraction_bits)
    negative = bits >> word(form.exponent_bits + form.fraction_bits)
    return _common_exponent(np.where(negative == 1, -mantissa, mantissa), exponent)


def require_finite(data: bytes | bytearray | memoryview, dtype: str) -> None:
    """Raises NotFiniteError for NaN and infinities: they have the largest exponent."""
    bad = not_finite(data, dtype)
    if bad.size:
        form, index = FLOATS[dtype], int(bad[0])
        is_nan = int(np.frombuffer(data, form.carrier)[index]) & ((1 << form.fraction_bits) - 1)
        raise NotFiniteError(index, "a NaN" if is_nan else "an infinity")


def not_finite(data: bytes | bytearray | memoryview, dtype: str) -> NDArray[np.int64]:
    """Where NaN and infinities stand, as flat positions."""
    if dtype in INTEGERS:
        return np.empty(0, np.int64)
    form = FLOATS[dtype]
    bits = np.frombuffer(data, form.carrier)
    largest = bits.dtype.type(form.infinity)
    return np.flatnonzero((bits & largest) == largest)


def _common_exponent(mantissa: NDArray[np.int64], exponent: NDArray[np.int64]) -> tuple[list[int], int]:
    nonzero = mantissa != 0
    if not nonzero.any():
        return mantissa.tolist(), 0
    # Strip factors of two first: it lowers the spread of exponents, and so the integers' size.
    for shift in (32, 16, 8, 4, 2, 1):
        even = nonzero & ((mantissa & ((1 << shift) - 1)) == 0)
        mantissa = np.where(even, mantissa >> shift, mantissa)
        exponent = np.where(even, exponent + shift, exponent)
    lowest = int(exponent[nonzero].min())
    shifts = np.where(nonzero, exponent - lowest, 0)
    # A stripped mantissa has at most 53 bits; in int64 the shifted one must stay below 2^62.
    widest = max(int(mantissa.max()), -int(mantissa.min())).bit_length() + int(shifts.max())
    if widest <= 62:
        return (mantissa << shifts).tolist(), lowest
    return [m << s for m, s in zip(mantissa.tolist(), shifts.tolist(), strict=True)], lowest
