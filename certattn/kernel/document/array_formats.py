"""Where an array stands in the bytes of a .npy, .npz or .safetensors file.

Headers are read with fixed grammars (never evaluated), and must agree with what the certificate
says before any payload is touched.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TypeGuard

from certattn.kernel.document.quoting import counted, listed, quote
from certattn.kernel.document.references import DTYPES

_NPY_MAGIC = b"\x93NUMPY"
_NATURAL = r"(?:0|[1-9][0-9]{0,17})"
# As numpy.save writes it, to the space; but spaces that pad it may be any number.
_NPY_HEADER = re.compile(
    r"\{'descr': (?P<descr>'[^']*'|\[.*\]), 'fortran_order': (?P<fortran>True|False), "
    rf"'shape': \((?P<shape>|{_NATURAL},|{_NATURAL}(?:, {_NATURAL})+)\), \}} *\n",
    re.ASCII | re.DOTALL,
)
_NPY_DTYPES = {
    "<f2": "float16", "<f4": "float32", "<f8": "float64",
    "|i1": "int8", "<i2": "int16", "<i4": "int32", "<i8": "int64",
    "|u1": "uint8", "<u2": "uint16", "<u4": "uint32", "<u8": "uint64",
}  # fmt: skip
SAFETENSORS_DTYPES = {
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64",
}  # fmt: skip
_MAX_NPY_HEADER = 2**16
_MAX_SAFETENSORS_HEADER = 2**23
# No header of a .npy or .safetensors file goes beyond these.
HEAD_BYTES = 8 + _MAX_SAFETENSORS_HEADER
_MAX_ZIP_READ = 2**23
_CHUNK = 2**20
# All that zipfile, zlib and struct raise for bytes that make no sense.
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError,
    OverflowError, LookupError,
)  # fmt: skip

Stated = tuple[str, tuple[int, ...]]


class ArrayFormatError(Exception):
    """The file does not hold the stated array."""

    def __init__(self, found: str, expected: str, hint: str = "") -> None:
        self.found = found
        self.expected = expected
        self.hint = hint
        super().__init__(f"found {found}, expected {expected}")


@dataclass(frozen=True, slots=True)
class Layout:
    """The array is source[start:stop], little-endian, row by row; of a large file `source` is only the beginning."""

    source: bytes
    start: int
    stop: int


def locate(suffix: str, content: bytes, size: int, array: str | None, stated: Stated, max_bytes: int) -> Layout:
    """Where the array is in a file of `size` bytes, by all of it, or by its first HEAD_BYTES if it is no .npz file."""
    if byte_count(stated) > max_bytes:
        raise ArrayFormatError(
            f"an array of {byte_count(stated)} bytes", f"at most {max_bytes}", "raise --max-tensor-bytes"
        )
    if suffix == ".npz":
        return _locate_npz(content, _named(array, "npz"), stated)
    if suffix == ".safetensors":
        return _locate_safetensors(content, size, _named(array, "safetensors"), stated)
    if array is not None:
        raise ArrayFormatError(f"array: {quote(array)}", "no array name: a .npy file holds one array")
    return _locate_npy(content, size, stated)


def _named(array: str | None, kind: str) -> str:
    if array is None:
        raise ArrayFormatError("no array name", f"the name of an array in the .{kind} file, as array: NAME")
    return array


def _cut_off(kind: str) -> ArrayFormatError:
    return ArrayFormatError(f"a .{kind} array that ends inside its header", f"a whole .{kind} array")


def byte_count(stated: Stated) -> int:
    dtype, shape = stated
    return math.prod(shape) * DTYPES[dtype]


# -- npy


def _locate_npy(content: bytes, size: int, stated: Stated) -> Layout:
    header = _npy_header(lambda start, stop: content[start:stop], stated)
    stop = header + byte_count(stated)
    if stop != size:
        raise ArrayFormatError(f"a .npy file of {size} bytes", f"{stop} bytes for the stated dtype and shape")
    return Layout(content, header, stop)


def _npy_header(take: Callable[[int, int], bytes], stated: Stated) -> int:
    """The header's length, after comparing it with what is stated."""
    start = take(0, 12)
    if start[:6] != _NPY_MAGIC[: len(start)]:
        raise ArrayFormatError("a file that does not begin like a .npy file", "a .npy array")
    if len(start) < 12:
        raise _cut_off("npy")
    if start[6] not in (1, 2, 3) or start[7] != 0:
        raise ArrayFormatError(f".npy format {start[6]}.{start[7]}", "format 1.0, 2.0 or 3.0")
    prefix = 10 if start[6] == 1 else 12
    length = int.from_bytes(start[8:prefix], "little")
    if length > _MAX_NPY_HEADER:
        raise ArrayFormatError(f"a .npy header of {length} bytes", "a short header")
    raw = take(prefix, prefix + length)
    if len(raw) < length:
        raise _cut_off("npy")
    match = _NPY_HEADER.fullmatch(raw.decode("latin-1"))
    if match is None:
        raise ArrayFormatError("a .npy header that numpy.save does not write", "a plain .npy header")
    _compare(_npy_dtype(match["descr"]), [int(extent) for extent in re.findall("[0-9]+", match["shape"])], stated)
    if match["fortran"] == "True" and sum(extent != 1 for extent in stated[1]) > 1:
        raise ArrayFormatError("an array in Fortran order", "C order", "save numpy.ascontiguousarray(array)")
    return prefix + length


def _npy_dtype(descr: str) -> str:
    name = descr.strip("'")
    if name in _NPY_DTYPES:
        return _NPY_DTYPES[name]
    if name.startswith(">"):
        hint = "save array.astype(array.dtype.newbyteorder('<'))"
        raise ArrayFormatError(f"big-endian numbers ({quote(name)})", "little-endian numbers", hint)
    if "O" in name or name.startswith("["):
        raise ArrayFormatError("an array of Python objects or records", "an array of plain numbers")
    raise ArrayFormatError(f"numbers of the numpy type {quote(name)}", f"one of {', '.join(DTYPES)}")


def _compare(dtype: str, shape: list[int], stated: Stated) -> None:
    if dtype != stated[0]:
        raise ArrayFormatError(f"dtype {dtype} in the file", f"dtype {stated[0]}, as stated")
    if shape != list(stated[1]):
        shown = str(shape) if len(shape) < 10 else f"{len(shape)} extents"
        raise ArrayFormatError(f"shape {shown} in the file", f"shape {list(stated[1])}, as stated")


# -- npz


def _locate_npz(content: bytes, array: str, stated: Stated) -> Layout:
    member = f"{array}.npy"
    try:
        with zipfile.ZipFile(_BoundedReads(content)) as archive:
            # numpy would read a member without the suffix first: with both, the name means two arrays.
            infos = [info for info in archive.infolist() if info.filename == member]
            infos += [info for info in archive.infolist() if infos and info.filename == array]
            if len(infos) != 1:
                members = [info.filename for info in archive.infolist() if info.filename.endswith(".npy")]
                names = listed(sorted(name.removesuffix(".npy") for name in members))
                count = f"{counted(len(infos), 'array')} named" if infos else "no array"
                found = f"{count} {quote(array)}; the file has {names}"
                raise ArrayFormatError(found, f"exactly one, as the member {quote(member)}")
            if infos[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ArrayFormatError("an unusual zip compression", "an .npz file as numpy.savez writes it")
            with archive.open(infos[0]) as stream:
                return _unpack(stream, stated)
    except _ZIP_ERRORS as error:
        raise ArrayFormatError(f"a broken .npz file ({quote(str(error))})", "a zip archive of .npy arrays") from None


class _BoundedReads(io.BytesIO):
    """Bytes that zipfile reads in small pieces: the one long read would be that of a huge directory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _MAX_ZIP_READ:
            raise ValueError(f"a directory of {size} bytes")
        return super().read(size)


def _unpack(stream: IO[bytes], stated: Stated) -> Layout:
    """Read a member: its header, then exactly as many bytes as the stated shape needs."""
    head = bytearray()

    def take(start: int, stop: int) -> bytes:
        while len(head) < stop and (more := stream.read(min(stop - len(head), _CHUNK))):
            head.extend(more)
        return bytes(head[start:stop])

    header = _npy_header(take, stated)
    count = byte_count(stated)
    body = take(header, header + count)
    if len(body) != count:
        raise ArrayFormatError(f"an array of {len(body)} bytes", f"{count} bytes for the stated dtype and shape")
    # Reading to the end also makes zipfile compare the checksum.
    if stream.read(1):
        raise ArrayFormatError("more bytes than the array has", f"{count} bytes for the stated dtype and shape")
    return Layout(body, 0, count)


# -- safetensors


def _locate_safetensors(content: bytes, size: int, array: str, stated: Stated) -> Layout:
    length = int.from_bytes(content[:8], "little")
    if len(content) >= 8 and length > min(_MAX_SAFETENSORS_HEADER, size - 8):
        raise ArrayFormatError(f"a header of {length} bytes", "a .safetensors file")
    if len(content) < 8 + length:
        raise _cut_off("safetensors")
    entry = _safetensors_entry(content[8 : 8 + length], array)
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in SAFETENSORS_DTYPES:
        raise ArrayFormatError(f"dtype {quote(str(dtype))}", f"one of {', '.join(SAFETENSORS_DTYPES)}")
    if not _naturals(shape) or not _naturals(offsets) or len(offsets) != 2:
        raise ArrayFormatError("a broken .safetensors header", "shape and data_offsets as lists of integers")
    _compare(SAFETENSORS_DTYPES[dtype], shape, stated)
    start, stop = (8 + length + offset for offset in offsets)
    if stop - start != byte_count(stated) or stop > size:
        raise ArrayFormatError(
            f"data_offsets {offsets} in a file of {size} bytes", f"{byte_count(stated)} bytes inside the file"
        )
    return Layout(content, start, stop)


def _safetensors_entry(header: bytes, array: str) -> dict[str, object]:
    try:
        table = json.loads(
            header.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_int=_natural,
            parse_float=_natural,
            parse_constant=_natural,
        )
    except (ValueError, RecursionError) as error:
        reason = quote(str(error))
        raise ArrayFormatError(
            f"a header that is not JSON with natural numbers ({reason})", "a .safetensors file"
        ) from None
    entry = table.get(array) if isinstance(table, dict) else None
    if array == "__metadata__" or not isinstance(entry, dict):
        names = listed(sorted(set(table) - {"__metadata__"})) if isinstance(table, dict) else "nothing"
        raise ArrayFormatError(f"no array {quote(array)}; the file has {names}", "an array of that name")
    return entry


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key twice")
    return table


def _natural(text: str) -> int:
    """The one kind of numbers that headers have."""
    if not re.fullmatch(_NATURAL, text, re.ASCII):
        raise ValueError(f"the number {text[:40]}")
    return int(text)


def _naturals(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int for item in value)
