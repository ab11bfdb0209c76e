"""Arrays on their way into a certificate: found by name, copied or referenced, hashed."""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from certattn.kernel.document.matrices import MATRIX
from certattn.kernel.document.references import DTYPES
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import MalformedError, Place, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.provers.array_files import ONLY, ArrayFile, Header, open_array_file
from certattn.provers.commands import DATA_MODES
from certattn.provers.exact_inputs import did_you_mean
from certattn.provers.output import write_file
from certattn.provers.safetensors import carrier, file_bytes

T = TypeVar("T")
_CHANGE = "change the array, or name another one"


@dataclass(frozen=True)
class InFile:
    """An array in a file."""

    file: ArrayFile
    name: str

    @property
    def header(self) -> Header:
        return self.file.headers[self.name]

    def __str__(self) -> str:
        return f"{self.file.path}: the array {self.name!r}" if self.name != ONLY else str(self.file.path)


@dataclass(frozen=True)
class InMemory:
    """Numbers of a type by name, as its `carrier` holds them."""

    bits: np.ndarray[Any, Any]
    dtype: str

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> InMemory:
        """An array, also one of a type that another library has registered with numpy."""
        dtype = array.dtype.newbyteorder("=").name
        return cls(array.view(carrier(dtype)) if dtype in DTYPES and not hasattr(np, dtype) else array, dtype)


Source = InFile | InMemory | np.ndarray[Any, Any]


# What arrays are also called, by field; of each the first is what `certattn compare` asks for.
ALSO: Final[Mapping[str, tuple[str, ...]]] = {
    "output": ("output", "o", "out", "outputs", "attn_output"),
    "queries": ("q", "queries", "query"),
    "keys": ("k", "keys", "key"),
    "values": ("v", "values", "value"),
    "lse": ("lse", "logsumexp", "softmax_lse"),
}


def by_fields(named: Mapping[str, T], fields: Collection[str]) -> dict[str, T]:
    """The same by the fields that are meant. Raises UsageError for names that no field has."""
    meant = {also: field for field in fields for also in ALSO.get(field, ()) if also not in fields}
    found = {meant.get(name, name): of for name, of in named.items()}
    require_known(found, fields)
    return found


def name_in(file: Path, names: Collection[str], field: str) -> str | None:
    """What the array of a field is called in a file; None where there is none. Raises UsageError for several."""
    there = [name for name in ALSO.get(field, (field,)) if name in names]
    if len(there) > 1:
        shown = " and ".join(map(repr, there))
        raise UsageError(f"{file}: both {shown}; say which is meant: --array {ALSO[field][0]}={there[0]}")
    return there[0] if there else None


def found_arrays(
    file: ArrayFile | None, fields: Collection[str], names: Mapping[str, str], arrays: Mapping[str, Any]
) -> dict[str, Source]:
    """The arrays of these fields: those that a program has passed, and else those of a file, or of several.

    Raises UsageError for names that no field has, and for arrays that are not there.
    """
    passed = {field: array for field, array in by_fields(arrays, fields).items() if array is not None}
    found = by_field(file, fields, by_fields(names, fields))
    return found | {field: array_of(field, array) for field, array in passed.items()}


def array_of(field: str, array: Any) -> np.ndarray[Any, Any]:
    """An array that was passed from Python. Raises UsageError for what would not be all of it."""
    if isinstance(array, np.ma.MaskedArray):
        raise UsageError(
            f"{field} is a masked array, whose mask a certificate cannot hold; pass what is meant, unmasked"
        )
    try:
        return np.asarray(array)
    except ValueError as error:
        raise UsageError(f"{field} is no array ({error})") from None


def changed(source: Source, change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Source:
    """A part of an array, or the array in another shape: in memory, of the same number type."""
    if isinstance(source, np.ndarray):
        return change(source)
    bits = source.bits if isinstance(source, InMemory) else source.file.bits(source.name)
    return InMemory(change(bits), source.dtype if isinstance(source, InMemory) else source.header.dtype)


def shape_of(source: Source) -> tuple[int, ...]:
    """Its extents."""
    if isinstance(source, InFile):
        return source.header.shape
    shape: tuple[int, ...] = source.bits.shape if isinstance(source, InMemory) else source.shape
    return shape


def require_known(names: Iterable[str], known: Collection[str]) -> None:
    """Raises UsageError for arrays that no field is for."""
    unknown = sorted(set(names) - set(known))
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise UsageError(f"unknown arrays {', '.join(unknown)}{near}; expected {', '.join(known)}")


_NAMED = re.compile(r"(.+\.npy|.+\.(?:npz|safetensors))(?:\[(.+)\])?")


def file_and_array(text: str) -> tuple[str, str | None] | None:
    """The file and the array that data.npz[keys], head.safetensors[l0.k] or keys.npy name; None for other texts."""
    match = _NAMED.fullmatch(text)
    return (match[1], match[2]) if match else None


def by_field(file: ArrayFile | None, fields: Iterable[str], names: Mapping[str, str]) -> dict[str, Source]:
    """The arrays of these fields in a file, some under other names, or in files of their own.

    Raises UsageError where a named one is missing.
    """
    found: dict[str, Source] = {}
    for field in fields:
        own = name_in(file.path, file.headers, field) if file is not None and field not in names else None
        name = names.get(field, own or field)
        if file is not None and name in file.headers:
            found[field] = InFile(file, name)
        elif field in names:
            elsewhere = file_and_array(name)
            if elsewhere is None:
                holds = f"{file.path}: no array {name!r}; it holds {file.listed()}" if file else f"no array {name!r}"
                raise UsageError(holds)
            found[field] = array_in(*elsewhere)
    return found


def array_in(name: str, array: str | None) -> InFile:
    """The array of a file by that name; that of a .npy file has none. Raises UsageError."""
    file = open_array_file(Path(name))
    if array is None and ONLY not in file.headers:
        raise UsageError(f"{name} holds {file.listed()}; expected the name of one, as in {name}[NAME]")
    if (array or ONLY) not in file.headers:
        raise UsageError(f"{name}: no array {array!r}; it holds {file.listed()}")
    return InFile(file, array or ONLY)


@contextmanager
def placed(
    out: Path,
    arrays: Mapping[str, Source],
    data: str,
    dimensions: Mapping[str, tuple[int, int]] = {},
    otherwise: tuple[int, int] = MATRIX,
    stem: str = "",
) -> Iterator[dict[str, dict[str, Plain]]]:
    """References to arrays for a certificate at `out`, by field name.

    They have so many dimensions at least and at most, by field; matrices where nothing else is said.

    Arrays in files stay where they are if they lie in the certificate's folder and a certificate can
    refer to them as they are (or `data` says `reference`); all others are copied into one file beside the
    certificate, a .npz, or a .safetensors if there are bfloat16 or float8 among them, of the certificate's name or of
    `stem`. If the block raises, that file is removed again. Raises UsageError, and MalformedError for an array without
    numbers.
    """
    if data not in DATA_MODES:
        raise UsageError(f"data is {data!r}, expected one of {', '.join(DATA_MODES)}")
    for field, source in arrays.items():
        _require_numbers(field, source, dimensions.get(field, otherwise))
    with _references(out, arrays, data, stem or out.stem) as references, _blaming(arrays, references):
        yield references


@contextmanager
def _blaming(arrays: Mapping[str, Source], references: Mapping[str, Mapping[str, Plain]]) -> Iterator[None]:
    """Errors in a field that is an array are errors in that array, wherever it was copied to."""
    try:
        yield
    except MalformedError as error:
        field = error.place.path.removeprefix("given.")
        if field not in arrays:
            raise
        source, reference = arrays[field], references[field]
        place = _place(source, field, error.place.path)
        named = f" in {reference['file']}[{reference['array']}]" if "array" in reference else f" in {reference['file']}"
        hint = error.hint or _CHANGE
        raise MalformedError(place, error.found.replace(named, ""), error.expected, hint) from None


def _place(source: Source, field: str, key_path: str) -> Place:
    """Where an array was before it came into a certificate, and its key path there."""
    if not isinstance(source, InFile):
        return Place(f"the array {field!r} ({key_path})")
    array = "the array" if source.name == ONLY else f"the array {source.name!r}"
    return Place(str(source.file.path), 0, f"{array} ({key_path})")


@contextmanager
def _references(out: Path, arrays: Mapping[str, Source], data: str, stem: str) -> Iterator[dict[str, dict[str, Plain]]]:
    """See `placed`."""
    folder = out.parent.resolve()
    kept = {f: s for f, s in arrays.items() if isinstance(s, InFile) and _stays(s, folder, data)}
    copied = {f: _copied(s) for f, s in arrays.items() if f not in kept}
    hashes = {path: _sha256(path) for path in {source.file.path for source in kept.values()}}
    found: dict[str, dict[str, Plain]] = {}
    for field, stays in kept.items():
        path = stays.file.path
        found[field] = _reference(folder, _in_place(path), hashes[path], stays.name, stays.header)
    if not copied:
        yield found
        return
    known_to_numpy = all(hasattr(np, copy.dtype) for copy in copied.values())
    target = folder / f"{stem}{'.npz' if known_to_numpy else '.safetensors'}"
    was_there = target.exists()
    try:
        _write_arrays(target, copied)
        digest = _sha256(target)
        for field, copy in copied.items():
            found[field] = _reference(folder, target, digest, field, Header(copy.dtype, copy.bits.shape, True))
        yield {field: found[field] for field in arrays}
    except BaseException:
        if not was_there:
            with suppress(OSError):
                target.unlink()
        raise


def _require_numbers(field: str, source: Source, dimensions: tuple[int, int]) -> None:
    """So many dimensions, none empty, of numbers of a type that certificates know."""
    shape = shape_of(source)
    if isinstance(source, InFile):
        what, dtype = str(source), source.header.dtype
    else:
        what, dtype = field, (source if isinstance(source, InMemory) else InMemory.of(source)).dtype
    least, most = dimensions
    if not least <= len(shape) <= most:
        expected = (
            f"two dimensions: one row for each of the {field}{_as_rows(shape)}"
            if least == most
            else f"{least} to {most} dimensions"
        )
        raise UsageError(f"{what} has the shape {shape}, expected {expected}")
    if 0 in shape:
        place = _place(source, field, f"given.{field}")
        found = f"the shape {shape}, which has no numbers"
        raise MalformedError(place, found, "at least one row and one column", _CHANGE)
    if dtype not in DTYPES:
        raise UsageError(f"{what} has the number type {dtype}, expected floats or integers of at most 64 bits")
    size, most = math.prod(shape) * DTYPES[dtype], DEFAULT_LIMITS.max_tensor_bytes
    if size > most:
        raise UsageError(f"{what} has the shape {shape}, which is {size} bytes; expected at most {most}")


def _as_rows(shape: tuple[int, ...]) -> str:
    """What makes two dimensions of others."""
    if len(shape) == 1:
        return f", here the shape ({shape[0]}, 1): reshape(-1, 1)"
    return f", prompt after prompt: reshape(-1, {shape[-1]})" if len(shape) > 2 else ""


def _stays(source: InFile, folder: Path, data: str) -> bool:
    """Whether the certificate refers to the array where it is. Raises UsageError if it must and cannot."""
    path = source.file.path
    inside = path.resolve().is_relative_to(folder) and _in_place(path).is_relative_to(folder)
    if data == "reference" and not inside:
        raise UsageError(
            f"{source.file.path} lies outside {folder}, the certificate's folder; "
            "write the certificate beside it, or use --data copy"
        )
    if data == "reference" and not source.header.plain:
        raise UsageError(f"{source} is big-endian or in Fortran order, which certificates do not read; use --data copy")
    return inside and source.header.plain and data != "copy"


def _in_place(path: Path) -> Path:
    """Where a file stands, by its own name: what it links to may have one without a suffix."""
    return path.parent.resolve() / path.name


def _reference(folder: Path, file: Path, digest: str, name: str, header: Header) -> dict[str, Plain]:
    """What a certificate in `folder` writes of an array in a file there."""
    path = file.relative_to(folder).as_posix()
    if not path.isprintable() or "\\" in path:
        raise UsageError(f"{path!r}: certificates refer to files with plain names only; rename it, or use --data copy")
    return {
        "file": path,
        **({"array": name} if name != ONLY else {}),
        "sha256": digest,
        "dtype": header.dtype,
        "shape": [str(extent) for extent in header.shape],
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _copied(source: Source) -> InMemory:
    """Numbers of the same type in C order, little-endian."""
    if isinstance(source, InFile):
        source = InMemory(source.file.bits(source.name), source.header.dtype)
    held = source if isinstance(source, InMemory) else InMemory.of(source)
    bits = np.ascontiguousarray(held.bits)
    return InMemory(bits.astype(bits.dtype.newbyteorder("<"), copy=False), held.dtype)


def _write_arrays(target: Path, copied: Mapping[str, InMemory]) -> None:
    """Write the arrays, unless the file is there already with this content."""
    if target.suffix == ".npz":
        buffer = io.BytesIO()
        np.savez(buffer, **{field: copy.bits for field, copy in copied.items()})  # type: ignore[arg-type]
        content = buffer.getvalue()
    else:
        content = file_bytes({field: (copy.dtype, copy.bits) for field, copy in copied.items()})
    if not target.exists():
        write_file(target, content)
    elif not target.is_file() or target.read_bytes() != content:
        raise UsageError(f"{target} exists with other content; move it away, or choose another name for -o")
