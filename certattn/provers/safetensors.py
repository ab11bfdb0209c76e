"""Files of the format .safetensors, read and written: https://github.com/huggingface/safetensors#format.

Its names of number types are those of the kernel's table, and no other list has them.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from certattn.kernel.document.array_formats import SAFETENSORS_DTYPES
from certattn.kernel.document.references import DTYPES

_MOST_HEADER_BYTES = 2**24
# Certificates know no booleans; masks are often such.
_DTYPES = {**SAFETENSORS_DTYPES, "BOOL": "bool"}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}


@dataclass(frozen=True)
class Entry:
    """An array: its number type by name, or the file's own word for one that certificates do not know."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


def carrier(dtype: str) -> np.dtype[Any]:
    """The type that holds the numbers, little-endian; unsigned and as wide, where numpy by itself has no such type."""
    # Not `np.dtype(dtype)`: what it answers depends on whether a library has registered types of its own.
    found = getattr(np, dtype, None)
    return np.dtype(f"u{DTYPES[dtype]}" if found is None else found).newbyteorder("<")


def entries(file: IO[bytes]) -> dict[str, Entry]:
    """What the header says, by name. Raises ValueError where it says what the file does not hold."""
    length = int.from_bytes(file.read(8), "little")
    if length > _MOST_HEADER_BYTES:
        raise ValueError(f"a header of {length} bytes")
    header, start = json.loads(file.read(length)), 8 + length
    there = file.seek(0, io.SEEK_END) - start
    return {name: _entry(name, each, start, there) for name, each in header.items() if name != "__metadata__"}


def _entry(name: str, entry: Any, start: int, there: int) -> Entry:
    """Every array takes the bytes that its header says, and these are in the file. Raises ValueError."""
    where = f"the array {name!r}"
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise ValueError(f"{where} has no dtype, shape and data_offsets")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(code, str):
        raise ValueError(f"{where} has the dtype {code!r:.60}, expected a name")
    if not _are_counts(shape):
        raise ValueError(f"{where} has the shape {shape!r:.60}, expected whole numbers")
    if not _are_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ValueError(f"{where} has the data_offsets {offsets!r:.60}, expected where its bytes begin and end")
    first, last = offsets
    if last > there:
        raise ValueError(f"{where} ends at byte {last} of the numbers, and there are {there}: a part is missing")
    dtype, expected = _DTYPES.get(code, code), last - first
    if code in _DTYPES:
        expected = math.prod(shape) * carrier(dtype).itemsize
    if last - first != expected:
        raise ValueError(f"{where}, {code} of shape {tuple(shape)}, takes {last - first} bytes, expected {expected}")
    return Entry(dtype, tuple(shape), start + first, start + last)


def _are_counts(found: Any) -> bool:
    return isinstance(found, list) and all(type(entry) is int and entry >= 0 for entry in found)


def read_bits(file: IO[bytes], name: str) -> np.ndarray[Any, Any]:
    """One array, as its `carrier` holds it. Raises ValueError for a number type that certificates do not know."""
    entry = entries(file)[name]
    if entry.dtype not in _CODES:
        raise ValueError(f"numbers of the type {entry.dtype}, expected one of {', '.join(_DTYPES)}")
    file.seek(entry.start)
    return np.frombuffer(file.read(entry.stop - entry.start), carrier(entry.dtype)).reshape(entry.shape)


def file_bytes(arrays: Mapping[str, tuple[str, np.ndarray[Any, Any]]]) -> bytes:
    """The bytes of a file with these arrays: number types by name, and what their carriers hold."""
    header, parts, end = dict[str, Any](), list[bytes](), 0
    for name, (dtype, bits) in arrays.items():
        data = bits.astype(bits.dtype.newbyteorder("<"), copy=False).tobytes()
        header[name] = {"dtype": _CODES[dtype], "shape": list(bits.shape), "data_offsets": [end, end + len(data)]}
        parts.append(data)
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])
