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

# Types of which not every value is a double, but the usual ones are.
_WIDE = ("int64", "uint64")
_WHOLE = 2**53


class Numbers:
    """An array in memory: its `bits` in C order, in the machine's order of bytes, and its number type by name."""

    def __init__(self, bits: NDArray[Any], dtype: str) -> None:
        self.bits, self.dtype = bits, dtype

    @classmethod
    def of(cls, array: Any, what: str, computed: bool = False) -> Numbers:
        """What anything with `__array__` or `__dlpack__` holds, on whatever device. Raises UsageError."""
        return cls.of_bits(*_held(array, what), what, computed)

    @classmethod
    def of_bits(cls, bits: NDArray[Any], dtype: str, what: str, computed: bool = False) -> Numbers:
        """In any order of bytes and memory. Raises UsageError.

        computed: by a kernel, which never returns integers: a cast has lost what was to be tested.
        """
        if computed and dtype not in FORMATS:
            raise UsageError(f"{what} has the number type {dtype}, expected a floating one: {', '.join(FORMATS)}")
        if dtype in _WIDE:
            bits, dtype = _as_doubles(bits, what), "float64"
        if dtype not in EXACT_TYPES:
            expected = ", ".join((*EXACT_TYPES, *_WIDE))
            raise UsageError(f"{what} has the number type {dtype}, expected one of {expected}")
        native = bits.astype(bits.dtype.newbyteorder("="), copy=False)
        return cls(np.ascontiguousarray(native), dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.bits.shape

    def doubles(self) -> Floats:
        """The numbers, exactly."""
        columns = self.shape[-1]
        rows = StoredRows(self.bits.reshape(-1, columns), self.dtype)
        return rows.block(0, rows.shape[0], np.empty(rows.shape)).reshape(self.shape)


def booleans(mask: Any, what: str) -> NDArray[np.bool_]:
    """A mask of truth values, or of whole numbers 0 and 1. Raises UsageError for any other."""
    return booleans_of_bits(*_held(mask, what), what)


def booleans_of_bits(bits: NDArray[Any], dtype: str, what: str) -> NDArray[np.bool_]:
    """The same of one that is held so."""
    if dtype == "bool":
        return np.asarray(bits, np.bool_)
    if dtype.startswith(("int", "uint")):
        _require(bits, (bits == 0) | (bits == 1), what, "0 or 1: 1 where a query sees a key")
        return np.asarray(bits, np.bool_)
    advice = "; of a mask that is added to scores: mask == 0" if "float" in dtype else ""
    raise UsageError(
        f"{what} has the number type {dtype}, expected booleans, or whole numbers that are 0 or 1: True where a query "
        f"sees a key{advice}"
    )


def _as_doubles(bits: NDArray[Any], what: str) -> NDArray[Any]:
    expected = "at most 2^53, from where on not every whole number is a double"
    _require(bits, (bits <= _WHOLE) & (bits >= -_WHOLE), what, expected)
    return bits.astype(np.float64)


def _require(bits: NDArray[Any], fits: NDArray[np.bool_], what: str, expected: str) -> None:
    """Raises UsageError that names the first number that does not fit."""
    if not fits.all():
        place = tuple(np.argwhere(~fits)[0].tolist())
        raise UsageError(f"{what} has {bits[place]} at {list(place)}, expected numbers that are {expected}")


def _held(array: Any, what: str) -> tuple[NDArray[Any], str]:
    """Bits, and the name of their number type."""
    if type(array).__module__.partition(".")[0] == "torch":
        return _of_torch(array)
    found = _of_numpy(array, what)
    dtype = found.dtype.name
    # Types that numpy has by others alone, such as ml_dtypes: their bits.
    return found.view(carrier(dtype)) if dtype in EXACT_TYPES and not hasattr(np, dtype) else found, dtype


def _of_numpy(array: Any, what: str) -> NDArray[Any]:
    if isinstance(array, np.ma.MaskedArray):
        raise UsageError(
            f"{what} is a masked array, of which numbers may be hidden; expected a plain one, such as its .data"
        )
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
    if dtype not in (*EXACT_TYPES, *_WIDE, "bool"):
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
