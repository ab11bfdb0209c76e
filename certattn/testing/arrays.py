"""Arrays of numpy, torch, jax and others as their bits, with the name of their number type; none is imported for it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certattn.fast.rows import EXACT_TYPES, StoredRows
from certattn.fast.units import Floats
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.attention.attention_error import FORMATS
from certattn.provers.safetensors import carrier


class Numbers:
    """An array in memory: its `bits` in C order, in the machine's order of bytes, and its number type by name."""

    def __init__(self, bits: NDArray[Any], dtype: str) -> None:
        self.bits, self.dtype = bits, dtype

    @classmethod
    def of(cls, array: Any, what: str) -> Numbers:
        """What anything with `__array__` or `__dlpack__` holds, on whatever device. Raises UsageError."""
        if type(array).__module__.partition(".")[0] == "torch":
            bits, dtype = _of_torch(array)
        else:
            found = _of_numpy(array, what)
            dtype = found.dtype.name
            # Types that numpy has by others alone, such as ml_dtypes: their bits.
            bits = found.view(carrier(dtype)) if dtype in EXACT_TYPES and not hasattr(np, dtype) else found
        return cls.of_bits(bits, dtype, what)

    @classmethod
    def of_bits(cls, bits: NDArray[Any], dtype: str, what: str) -> Numbers:
        """In any order of bytes and memory. Raises UsageError."""
        if dtype not in EXACT_TYPES:
            raise UsageError(f"{what} has the number type {dtype}, expected one of {', '.join(EXACT_TYPES)}")
        native = bits.astype(bits.dtype.newbyteorder("="), copy=False)
        return cls(np.ascontiguousarray(native), dtype)

    def require_floats(self, what: str) -> None:
        """Raises UsageError for integers: no kernel returns them, and a cast has lost what was to be tested."""
        if self.dtype not in FORMATS:
            raise UsageError(f"{what} has the number type {self.dtype}, expected a floating one: {', '.join(FORMATS)}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.bits.shape

    def doubles(self) -> Floats:
        """The numbers, exactly."""
        columns = self.shape[-1]
        rows = StoredRows(self.bits.reshape(-1, columns), self.dtype)
        return rows.block(0, rows.shape[0], np.empty(rows.shape)).reshape(self.shape)


def _of_numpy(array: Any, what: str) -> NDArray[Any]:
    try:
        return np.asarray(array)
    except (TypeError, ValueError, RuntimeError) as error:
        try:
            return np.from_dlpack(array)
        except (AttributeError, TypeError, BufferError, RuntimeError):
            raise UsageError(f"{what} is a {type(array).__name__}, expected an array ({error})") from None


def _of_torch(tensor: Any) -> tuple[NDArray[Any], str]:
    torch: Any = sys.modules["torch"]
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in EXACT_TYPES:
        return np.empty(0), dtype
    try:
        held = tensor.detach().cpu().contiguous()
        return _bits_of(held, dtype, torch), dtype
    except (TypeError, RuntimeError, NotImplementedError) as error:
        raise UsageError(f"a tensor that holds no plain numbers ({str(error).splitlines()[0]})") from None


def _bits_of(held: Any, dtype: str, torch: Any) -> NDArray[Any]:
    if hasattr(np, dtype):
        plain: NDArray[Any] = held.numpy()
        return plain
    # numpy has no such type; a tensor of as many bits has the same ones.
    bits = carrier(dtype)
    found: NDArray[Any] = held.view(torch.int16 if bits.itemsize == 2 else torch.uint8).numpy()
    return found.view(bits)
