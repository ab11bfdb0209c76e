"""Arrays on their way into a certificate: found by name, copied or referenced, hashed."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certattn.kernel.document.array_formats import DTYPES
from certattn.kernel.document.tree import Plain
from certattn.kernel.document.writer import write_atomically
from certattn.kernel.errors import UsageError

DATA_MODES = ("auto", "copy", "reference")


@dataclass(frozen=True)
class ArrayFile:
    """A .npy, .npz or .safetensors file and what it holds: name -> (dtype, shape)."""

    path: Path
    arrays: Mapping[str | None, tuple[str, tuple[int, ...]]]

    def read(self, name: str | None) -> np.ndarray[Any, Any]:
        """One array as numpy sees it. bfloat16 is widened to float32, which is exact."""
        if self.path.suffix == ".safetensors":
            return _read_safetensors(self.path, name)
        loaded = np.load(self.path, allow_pickle=False)
        return np.asarray(loaded[name]) if name is not None else np.asarray(loaded)


def open_array_file(path: Path) -> ArrayFile:
    """What an array file holds. Raises UsageError for files that are none."""
    try:
        if path.suffix == ".npy":
            array = np.load(path, mmap_mode="r", allow_pickle=False)
            return ArrayFile(path, {None: (str(array.dtype), array.shape)})
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                return ArrayFile(path, {name: _npz_header(archive, name) for name in archive.files})
        if path.suffix == ".safetensors":
            header, _ = _safetensors_header(path)
            return ArrayFile(path, {name: (e["dtype"], tuple(e["shape"])) for name, e in header.items()})
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except (OSError, ValueError, EOFError, KeyError, TypeError, MemoryError) as error:
        raise UsageError(f"{path}: not a readable array file ({error})") from None
    except Exception as error:  # zipfile and numpy raise kinds of their own for broken archives
        raise UsageError(f"{path}: not a readable array file ({error})") from None
    raise UsageError(f"{path}: expected a .npz, .npy or .safetensors file")


def _npz_header(archive: Any, name: str) -> tuple[str, tuple[int, ...]]:
    with archive.zip.open(f"{name}.npy") as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
    return str(dtype), shape


_SAFETENSORS = {
    "F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2",
    "I8": "<i1", "I16": "<i2", "I32": "<i4", "I64": "<i8",
    "U8": "<u1", "U16": "<u2", "U32": "<u4", "U64": "<u8",
}  # fmt: skip


def _safetensors_header(path: Path) -> tuple[dict[str, Any], int]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise ValueError("no .safetensors header")
        header = json.loads(file.read(length))
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    for entry in entries.values():
        entry["code"] = entry["dtype"]
        numpy_name = "bfloat16" if entry["dtype"] == "BF16" else str(np.dtype(_SAFETENSORS[entry["dtype"]]))
        entry["dtype"] = numpy_name
    return entries, 8 + length


def _read_safetensors(path: Path, name: str | None) -> np.ndarray[Any, Any]:
    header, start = _safetensors_header(path)
    entry = header[str(name)]
    first, last = entry["data_offsets"]
    with path.open("rb") as file:
        file.seek(start + first)
        array = np.frombuffer(file.read(last - first), _SAFETENSORS[entry["code"]]).reshape(entry["shape"])
    if entry["code"] == "BF16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def reference(folder: Path, file: Path, name: str | None, dtype: str, shape: tuple[int, ...]) -> dict[str, Plain]:
    """What a certificate in `folder` writes of an array in a file there."""
    entry: dict[str, Plain] = {"file": file.relative_to(folder).as_posix()}
    if name is not None:
        entry["array"] = name
    with file.open("rb") as stream:
        entry["sha256"] = hashlib.file_digest(stream, "sha256").hexdigest()
    return {**entry, "dtype": dtype, "shape": [str(extent) for extent in shape]}


@contextmanager
def placed(
    out: Path, arrays: Mapping[str, np.ndarray[Any, Any] | tuple[ArrayFile, str | None]], data: str
) -> Iterator[dict[str, dict[str, Plain]]]:
    """References to arrays for a certificate at `out`, by field name.

    Arrays in files stay where they are if they lie in the certificate's folder (or `data` says
    `reference`); all others are copied into one .npz beside the certificate. If the block raises,
    that file is removed again.
    """
    if data not in DATA_MODES:
        raise UsageError(f"data is {data!r}, expected one of {', '.join(DATA_MODES)}")
    folder = out.parent.resolve()
    if not folder.is_dir():
        raise UsageError(f"{out.parent}: no such folder")
    found: dict[str, dict[str, Plain]] = {}
    copied: dict[str, np.ndarray[Any, Any]] = {}
    for field, source in arrays.items():
        if not isinstance(source, tuple):
            copied[field] = _plain_array(field, source)
            continue
        file, name = source
        inside = file.path.resolve().is_relative_to(folder)
        if data == "reference" and not inside:
            raise UsageError(
                f"{file.path} lies outside {folder}, the certificate's folder; "
                "write the certificate beside it, or use --data copy"
            )
        if inside and data != "copy":
            dtype, shape = file.arrays[name]
            if dtype not in DTYPES:
                raise UsageError(f"{file.path}: {field} has dtype {dtype}; use --data copy, or save it as float64")
            found[field] = reference(folder, file.path.resolve(), name, dtype, shape)
        else:
            copied[field] = _plain_array(field, file.read(name))
    if not copied:
        yield found
        return
    target = folder / f"{out.stem}.npz"
    created = _write_npz(target, copied)
    try:
        for field, array in copied.items():
            found[field] = reference(folder, target, field, str(array.dtype), array.shape)
        yield found
    except BaseException:
        if created:
            target.unlink(missing_ok=True)
        raise


def _plain_array(field: str, array: Any) -> np.ndarray[Any, Any]:
    """C order, little-endian, a dtype that certificates know."""
    plain = np.ascontiguousarray(array)
    if plain.dtype.byteorder == ">":
        plain = plain.astype(plain.dtype.newbyteorder("<"))
    if str(plain.dtype) not in DTYPES:
        raise UsageError(f"{field} has dtype {plain.dtype}, expected one of {', '.join(DTYPES)}")
    return plain


def _write_npz(target: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> bool:
    """Write the arrays; False if the file is there already with this content."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    content = buffer.getvalue()
    if target.exists():
        if target.read_bytes() == content:
            return False
        raise UsageError(f"{target} exists with other content; move it away, or choose another name for -o")
    write_atomically(target, content)
    return True
