"""Rows of arrays as doubles, a block at a time: what sums are made of, without copying an array whole."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certattn.fast.units import LARGEST, UNDERFLOW, UNIT, Floats
from certattn.kernel.errors import RefusedError

Stored = NDArray[Any]

# Types whose every value is a double. Those that numpy does not have come as their bits.
_PLAIN = ("float16", "float32", "float64", "int8", "int16", "int32", "uint8", "uint16", "uint32")
_BITS = {"bfloat16": "<u2", "float8_e4m3fn": "u1", "float8_e5m2": "u1"}
_CARRIERS: dict[str, np.dtype[Any]] = {name: np.dtype(name).newbyteorder("<") for name in _PLAIN}
_CARRIERS |= {name: np.dtype(carrier) for name, carrier in _BITS.items()}
EXACT_TYPES = tuple(_CARRIERS)
# Of types with subnormal numbers that are normal as doubles: an integer as wide, fraction bits, the least number.
_FRACTION_BITS = {"float16": (np.uint16, 10, 2.0**-24), "float32": (np.uint32, 23, 2.0**-149)}


def computed_squares(rows: Floats, out: Floats | None = None) -> Floats:
    """|x|^2 for every row x, rounded: `norm_bound` makes upper bounds of norms of it."""
    squares: Floats = np.vecdot(rows, rows, out=out)
    return squares


def norm_bound(square: float, terms: int) -> float:
    """An upper bound of the Euclidean norm of a vector, from its computed square."""
    return math.sqrt(square + 4 * terms * UNDERFLOW) * _norm_factor(terms)


def _norm_factor(terms: int) -> float:
    """For the rounding of a sum of squares, of its root, and some more."""
    return 1 + (terms + 8) * 1.01 * UNIT + 2.0**-45


def norm_bounds(rows: Floats) -> Floats:
    """Upper bounds of the Euclidean norms of the rows."""
    terms = rows.shape[1]
    bounds: Floats = np.sqrt(computed_squares(rows) + 4 * terms * UNDERFLOW) * _norm_factor(terms)
    return bounds


def larger(first: float, second: float) -> float:
    """The larger of two numbers; NaN if one of them is."""
    return second if second >= first else first if first > second else math.nan


@dataclass(frozen=True)
class StoredRows:
    """Rows as they are stored: a two-dimensional array, and the certificate's name of its number type."""

    stored: Stored
    dtype: str

    def __post_init__(self) -> None:
        # int64 and longdouble would be rounded on the way to doubles.
        found = self.stored.dtype.newbyteorder("=")
        if self.dtype not in _CARRIERS or found != _CARRIERS[self.dtype].newbyteorder("="):
            raise TypeError(f"an array of {found} does not hold {self.dtype}")

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, dtype: str, columns: int) -> StoredRows:
        """Rows of a little-endian array in C order; nothing is copied."""
        return cls(np.frombuffer(data, _CARRIERS[dtype]).reshape(-1, columns), dtype)

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.stored.shape
        return rows, columns

    def block(self, start: int, stop: int, scratch: Floats) -> Floats:
        """Rows start:stop as doubles: themselves where they are, else in `scratch`."""
        part = self.stored[start:stop]
        if part.dtype == np.float64 and part.flags.c_contiguous and part.flags.aligned:
            return part
        room = scratch[: stop - start]
        if self.dtype in _EIGHT_BITS:
            np.take(_EIGHT_BITS[self.dtype], part, out=room)
            return room
        if self.dtype == "bfloat16":
            # The bits of a bfloat16 are the upper half of those of the same number as a float32.
            part = (part.astype(np.uint32) << np.uint32(16)).view(np.float32)
        # Where subnormal numbers count as zero, this loses those of the narrower type, and nothing else.
        room[...] = part
        if part.dtype.name in _FRACTION_BITS:
            _restore_subnormals(part, room, *_FRACTION_BITS[part.dtype.name])
        return room


def _values_of(exponent_bits: int, fraction_bits: int, no_numbers: int) -> Floats:
    """What the patterns of a format of eight bits stand for; NaN from `no_numbers` on, but for the sign."""
    bits = np.arange(128)
    biased, fraction = bits >> fraction_bits, bits & ((1 << fraction_bits) - 1)
    mantissa = np.where(biased > 0, fraction | (1 << fraction_bits), fraction)
    bias = (1 << (exponent_bits - 1)) - 1
    sizes = np.ldexp(mantissa.astype(np.float64), np.maximum(biased, 1) - bias - fraction_bits)
    sizes[no_numbers:] = np.nan
    values: Floats = np.concatenate([sizes, -sizes])
    return values


_EIGHT_BITS = {"float8_e4m3fn": _values_of(4, 3, 0x7F), "float8_e5m2": _values_of(5, 2, 0x7C)}


def _restore_subnormals(part: Stored, room: Floats, carrier: type, fraction_bits: int, least: float) -> None:
    """Write subnormal numbers of a narrower type as their fractions, which are integers, times the least of them."""
    bits = part.view(np.dtype(carrier).newbyteorder(part.dtype.byteorder))
    sizes = bits & carrier(np.iinfo(carrier).max >> 1)
    # Without a difference of exponents: 0 becomes the largest integer.
    found = sizes - carrier(1) < carrier((1 << fraction_bits) - 1)
    if found.any():
        room[found] = np.where(bits[found] == sizes[found], least, -least) * sizes[found]


@dataclass(frozen=True)
class Block:
    """Some tokens: their keys and values, k rows each; the same array where a token is both."""

    keys: Floats
    values: Floats


def blocks(keys: StoredRows, values: StoredRows, start: int, stop: int, size: int) -> Iterator[Block]:
    """Tokens start:stop in blocks of `size`. A block is overwritten when the next is asked for."""
    key_room = np.empty((size, keys.shape[1]))
    value_room = key_room if values is keys else np.empty((size, values.shape[1]))
    for first in range(start, stop, size):
        last = min(first + size, stop)
        block = keys.block(first, last, key_room)
        yield Block(block, block if values is keys else values.block(first, last, value_room))


# -- whole matrices


@dataclass(frozen=True)
class Dense:
    """A matrix M up to a distance: |M - values|_F <= error."""

    values: Floats
    error: float


def gathered(chunks: Iterable[StoredRows], shape: tuple[int, int]) -> Floats:
    """Rows from array files as one array of doubles, exactly. Raises RefusedError for what is too large."""
    # Room is made once the first rows are read, and with them the shape that the file itself has.
    whole, first = np.empty((0, shape[1])), 0
    for rows in chunks:
        if first == 0:
            whole = np.empty(shape)
        last = first + rows.shape[0]
        whole[first:last] = rows.block(0, rows.shape[0], whole[first:last])
        first = last
    if first != shape[0]:
        raise ValueError(f"{first} rows instead of {shape[0]}")
    # Written so that a NaN refuses.
    if not bool((np.abs(whole) <= LARGEST).all()):
        raise RefusedError("numbers that are too large, or not finite")
    return whole


def frobenius_bound(matrix: Floats) -> float:
    """An upper bound of |X|_F: of the norms of the rows, then of the norm of these. Infinite or NaN if X is."""
    norms = norm_bounds(matrix)
    return norm_bound(float(computed_squares(norms[None])[0]), len(norms))
