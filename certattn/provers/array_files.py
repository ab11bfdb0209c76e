"""What .npy, .npz and .safetensors files hold, and their arrays as numpy sees them.

Only headers are read until an array is asked for, so that a large checkpoint costs no memory.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from certattn.kernel.document.quoting import listed
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.errors import UsageError
from certattn.provers.safetensors import entries, read_bits

_MOST_NPY_HEADER_BYTES = 2**16


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
        """One array; of types that numpy does not have it is widened to float32, which is exact. Raises UsageError.

        What is no finite float8 becomes NaN.
        """
        bits, dtype = self.bits(name), self.headers[name].dtype
        if dtype == "bfloat16":
            # The upper half of a float32.
            return (bits.astype(np.uint32) << 16).view(np.float32)
        return _eight_bit_values(dtype)[bits] if dtype.startswith("float8") else bits

    def bits(self, name: str) -> np.ndarray[Any, Any]:
        """One array as it is stored: its bits, where numpy has no such number type. Raises UsageError."""
        try:
            with regular_file(self.path, follow_link=True) as file:
                if self.path.suffix == ".npz":
                    with zipfile.ZipFile(file) as archive, archive.open(f"{name}.npy") as stream:
                        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
                if self.path.suffix == ".npy":
                    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
                return read_bits(file, name)
        except Exception as error:
            found = str(error) or type(error).__name__
            raise UsageError(f"{self.path}: the array {name!r} cannot be read ({found})") from None


def open_array_file(path: Path) -> ArrayFile:
    """What an array file holds. Raises UsageError for files that are none."""
    kinds = {".npy": _only_header, ".npz": _npz_headers, ".safetensors": _safetensors_headers}
    if not path.exists():
        # Before its kind is found wanting: a name without an ending is mostly one that was mistyped.
        raise UsageError(f"{path}: no such file or directory, expected an array file")
    if path.is_dir():
        raise UsageError(f"{path}: a folder, expected an array file: .npz, .safetensors or .npy")
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


def _safetensors_headers(file: IO[bytes]) -> dict[str, Header]:
    return {name: Header(entry.dtype, entry.shape, True) for name, entry in entries(file).items()}


@cache
def _eight_bit_values(dtype: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """What the patterns of a float8 stand for, by the table that verdicts in binary64 rest on."""
    from certattn.fast.rows import StoredRows

    patterns = StoredRows(np.arange(2**8, dtype=np.uint8).reshape(1, -1), dtype)
    values: np.ndarray[Any, np.dtype[np.float32]] = patterns.block(0, 1, np.empty(patterns.shape))[0].astype(np.float32)
    return values
