"""What a certificate says of an array file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from certattn.kernel.document.quoting import name
from certattn.kernel.document.tree import Node

# Number types that arrays may have, and the bytes of each.
DTYPES = {
    "float8_e4m3fn": 1, "float8_e5m2": 1,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
    "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ArrayReference:
    """What a certificate says of an array: file, hash, name inside the file, dtype, shape, rows.

    `rows` is the half-open range of rows that is meant, out of `shape[0]`.
    """

    node: Node
    file: str
    sha256: str
    array: str | None
    dtype: str
    shape: tuple[int, ...]
    rows: tuple[int, int]

    @property
    def format(self) -> str:
        """The file format, by the suffix of the stated name: what a link leads to may be named otherwise."""
        return file_format(self.file)

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape of what is meant."""
        return self.rows[1] - self.rows[0], *self.shape[1:]

    @property
    def words(self) -> str:
        """The file, and the array in it: prompts.npz[tokens]."""
        return name(self.file) + (f"[{name(self.array)}]" if self.array else "")


def file_format(file: str) -> str:
    """The suffix that says how a file is read; a name that is nothing but a suffix has none, nor has a folder's."""
    # Versions of Python do not agree about names that begin with several dots.
    return PurePosixPath(file.rpartition("/")[2].lstrip(".")).suffix
