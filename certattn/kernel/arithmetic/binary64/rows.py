"""Rows of arrays as doubles, a block at a time: what sums are made of, without copying an array whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Stored = NDArray[Any]

# Types whose every value is a double. bfloat16 comes as its bits in uint16.
EXACT_TYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "uint8", "uint16", "uint32")
_CARRIERS = {name: np.dtype(name).newbyteorder("<") for name in EXACT_TYPES if name != "bfloat16"}
_CARRIERS["bfloat16"] = np.dtype("<u2")


@dataclass(frozen=True)
class StoredRows:
    """Rows as they are stored: a two-dimensional array, and the certificate's name of its number type."""

    stored: Stored
    dtype: str

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
        if self.dtype == "bfloat16":
            # The bits of a bfloat16 are the upper half of those of the same number as a float32.
            room[...] = (part.astype(np.uint32) << np.uint32(16)).view(np.float32)
        else:
            room[...] = part
        return room


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
