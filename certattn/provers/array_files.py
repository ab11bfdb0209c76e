"""What .npy, .npz and .safetensors files hold, and their arrays as numpy sees them.

Only headers are read until an array is asked for, so that a large checkpoint costs no memory.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from certattn.kernel.document.quoting import listed
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.errors import UsageError

_MOST_HEADER_BYTES = 2**24
_MOST_NPY_HEADER_BYTES = 2**16
# Types that numpy does not have, and the bytes of each.
_OTHERS = {"BF16": ("bfloat16", 2), "F8_E4M3": ("float8_e4m3fn", 1), "F8_E5M2": ("float8_e5m2", 1)}
_SAFETENSORS = {
    "F16": "<f2", "F32": "<f4", "F64": "<f8",
    "I8": "|i1", "I16": "<i2", "I32": "<i4", "I64": "<i8",
    "U8": "|u1", "U16": "<u2", "U32": "<u4", "U64": "<u8",
}  # fmt: skip


@dataclass(frozen=True)
class Header:
    """An array in a file: its number type by name, its shape, and whether a certificate can refer
    to it as it stands (little-endian numbers, row by row)."""

    dtype: str
    shape: tuple[int, ...]
    plain: bool


# The name of the one array of a .npy file, which has none.
ONLY = ""


@dataclass(frozen=True)
class ArrayFile:
    """An array file and the headers of its arrays by name; the array of a .npy file is called ONLY."""

    path: Path
    headers: Mapping[str, Header]

    def listed(self) -> str:
        return listed(self.headers)

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """One array; bfloat16 is widened to float32, which is exact. Raises UsageError."""
        try:
            with regular_file(self.path, follow_link=True) as file:
                if self.path.suffix == ".npz":
                    with zipfile.ZipFile(file) as archive, archive.open(f"{name}.npy") as stream:
                        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
                if self.path.suffix == ".npy":
                    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
                return _safetensors_array(file, name)
        except Exception as error:
            found = str(error) or type(error).__name__
            raise UsageError(f"{self.path}: the array {name!r} cannot be read ({found})") from None


def open_array_file(path: Path) -> ArrayFile:
    """What an array file holds. Raises UsageError for files that are none."""
    kinds = {".npy": _only_header, ".npz": _npz_headers, ".safetensors": _safetensors_headers}
    if not path.exists():
        # Before its kind is found wanting: a name without an ending is mostly one that was mistyped.
        raise UsageError(f"{path}: no such file or directory, expected an array file")
    if path.suffix not in kinds:
        raise UsageError(f"{path}: expected a .npz or .safetensors file with several arrays, or a .npy file")
    try:
        with regular_file(path, follow_link=True) as file:
            return ArrayFile(path, kinds[path.suffix](file))
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}, expected an array file") from None
    except Exception as error:  # zipfile, json and numpy raise many kinds for broken files
        raise UsageError(f"{path}: not a {path.suffix} file ({str(error) or type(error).__name__})") from None


# -- npz


def _npz_headers(file: IO[bytes]) -> dict[str, Header]:
    with zipfile.ZipFile(file) as archive:
        members = [name for name in archive.namelist() if name.endswith(".npy")]
        return {name.removesuffix(".npy"): _npy_header(archive, name) for name in members}


def _only_header(file: IO[bytes]) -> dict[str, Header]:
    return {ONLY: _header(file)}


def _npy_header(archive: zipfile.ZipFile, member: str) -> Header:
    with archive.open(member) as stream:
        return _header(stream)


def _header(stream: IO[bytes]) -> Header:
    beginning = io.BytesIO(stream.read(_MOST_NPY_HEADER_BYTES))
    version = np.lib.format.read_magic(beginning)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read(beginning)
    row_by_row = not by_columns or sum(extent != 1 for extent in shape) <= 1
    return Header(dtype.newbyteorder("=").name, shape, row_by_row and dtype.byteorder != ">")


# -- safetensors


def _safetensors_entries(file: IO[bytes]) -> tuple[dict[str, Any], int]:
    """The entries of the header by name, and where the numbers begin."""
    length = int.from_bytes(file.read(8), "little")
    if length > _MOST_HEADER_BYTES:
        raise ValueError(f"a header of {length} bytes")
    header = json.loads(file.read(length))
    return {name: entry for name, entry in header.items() if name != "__metadata__"}, 8 + length


def _safetensors_headers(file: IO[bytes]) -> dict[str, Header]:
    entries, start = _safetensors_entries(file)
    there = file.seek(0, io.SEEK_END) - start
    for name, entry in entries.items():
        _require_entry(name, entry, there)
    return {name: Header(_dtype_name(entry["dtype"]), tuple(entry["shape"]), True) for name, entry in entries.items()}


def _require_entry(name: str, entry: Any, there: int) -> None:
    """Every array takes the bytes that its header says, and these are in the file. Raises ValueError."""
    where = f"the array {name!r}"
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise ValueError(f"{where} has no dtype, shape and data_offsets")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not _are_counts(shape):
        raise ValueError(f"{where} has the shape {shape!r:.60}, expected whole numbers")
    if not _are_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ValueError(f"{where} has the data_offsets {offsets!r:.60}, expected where its bytes begin and end")
    if offsets[1] > there:
        raise ValueError(f"{where} ends at byte {offsets[1]} of the numbers, and there are {there}: a part is missing")
    size = np.dtype(_SAFETENSORS[code]).itemsize if code in _SAFETENSORS else _OTHERS.get(code, ("", None))[1]
    taken, expected = offsets[1] - offsets[0], math.prod(shape) * (size or 0)
    if size is not None and taken != expected:
        raise ValueError(f"{where}, {code} of shape {tuple(shape)}, takes {taken} bytes, expected {expected}")


def _are_counts(found: Any) -> bool:
    return isinstance(found, list) and all(type(entry) is int and entry >= 0 for entry in found)


def _dtype_name(code: str) -> str:
    if code in _OTHERS:
        return _OTHERS[code][0]
    return np.dtype(_SAFETENSORS[code]).name if code in _SAFETENSORS else code


def _safetensors_array(file: IO[bytes], name: str) -> np.ndarray[Any, Any]:
    entries, start = _safetensors_entries(file)
    entry = entries[name]
    first, last = entry["data_offsets"]
    file.seek(start + first)
    data = file.read(max(0, last - first))
    if entry["dtype"] == "BF16":
        bits = np.frombuffer(data, "<u2").reshape(entry["shape"])
        return (bits.astype(np.uint32) << 16).view(np.float32)
    if entry["dtype"] not in _SAFETENSORS:
        raise ValueError(f"numbers of the type {entry['dtype']}, which are read where they are: leave out --data copy")
    return np.frombuffer(data, _SAFETENSORS[entry["dtype"]]).reshape(entry["shape"])
