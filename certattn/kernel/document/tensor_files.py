"""Array files: .npy, .npz and .safetensors, bound by hash and read as exact numbers.

The bytes that are hashed are the bytes that are used: a file is read once, into private memory,
so a file that changes meanwhile cannot pass one content by the hash and another to the proof.
(Memory mapping would not give that.) Nothing is unpickled, and every size is checked before
memory is spent on it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.document.array_formats import ArrayFormatError, Layout, locate
from certattn.kernel.document.stopwatch import Stopwatch
from certattn.kernel.document.tree import Node
from certattn.kernel.limits import Limits

SUFFIXES = (".npy", ".npz", ".safetensors")
# Files up to this size are kept, so that several arrays of one file cost one read.
_KEEP_BYTES = 256 * 2**20
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class TensorReference:
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
    def matrix_shape(self) -> tuple[int, int]:
        """Rows meant, and columns; a one-dimensional array is one row."""
        if len(self.shape) == 1:
            return 1, self.rows[1] - self.rows[0]
        return self.rows[1] - self.rows[0], self.shape[1]


class TensorFiles:
    """The array files that one certificate may read: those inside `root`.

    Raises MalformedError with the place of the reference for everything that is not as stated.
    """

    def __init__(self, folder: Path, root: Path, limits: Limits, stopwatch: Stopwatch) -> None:
        self._folder = folder
        self._root = Path(os.path.realpath(root))
        self._limits = limits
        self._stopwatch = stopwatch
        self._kept: dict[Path, tuple[bytes, str]] = {}

    def read(self, reference: TensorReference) -> ExactMatrix:
        """The referenced rows as an exact matrix."""
        with self._stopwatch.measure("reading"):
            path = self._resolve(reference)
            data = self._array_bytes(path, reference)
        with self._stopwatch.measure("marshalling"):
            # Imported here: a certificate without arrays is checked without loading numpy.
            from certattn.kernel.document.bit_patterns import NotFiniteError, exact_integers

            try:
                integers, exponent = exact_integers(data, reference.dtype)
            except NotFiniteError as error:
                first = reference.rows[0] * (reference.shape[1] if len(reference.shape) == 2 else 1)
                raise reference.node.malformed(
                    "finite numbers", f"{error.kind} at flat index {first + error.index} of the array"
                ) from None
            rows, columns = reference.matrix_shape
            return ExactMatrix.dyadic(rows, columns, integers, exponent)

    def _resolve(self, reference: TensorReference) -> Path:
        node, name = reference.node, reference.file
        if not name or "\0" in name or "\\" in name or Path(name).is_absolute():
            raise node.malformed("a path relative to the certificate, with forward slashes", f"file: {name!r}")
        if not name.endswith(SUFFIXES):
            raise node.malformed(f"a file ending in one of {', '.join(SUFFIXES)}", f"file: {name!r}")
        path = Path(os.path.realpath(self._folder / name))
        if path.is_relative_to(self._root) is not True:
            raise node.malformed(
                f"a file inside the folder {self._root}",
                f"file: {name!r}, which leads to {str(path)!r}",
                "move the file there, or allow a larger folder with --root DIR",
            )
        return path

    def _array_bytes(self, path: Path, reference: TensorReference) -> bytes | bytearray:
        node = reference.node
        if path in self._kept:
            content, digest = self._kept[path]
            self._require_hash(reference, digest)
            return self._cut(content, reference)
        try:
            flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise node.malformed("a readable array file", f"{reason.lower()}: {str(path)!r}") from None
        with open(descriptor, "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise node.malformed("a regular file", f"something else at {str(path)!r}")
            if status.st_size > self._limits.max_tensor_bytes:
                raise node.malformed(
                    f"at most {self._limits.max_tensor_bytes} bytes",
                    f"a file of {status.st_size} bytes",
                    "raise --max-tensor-bytes",
                )
            if path.suffix == ".npz" or status.st_size <= _KEEP_BYTES:
                content = self._read_whole(file.fileno(), status.st_size, node)
                digest = hashlib.sha256(content).hexdigest()
                self._kept[path] = (content, digest)
                self._require_hash(reference, digest)
                return self._cut(content, reference)
            return self._stream(file.fileno(), status.st_size, reference)

    def _read_whole(self, descriptor: int, size: int, node: Node) -> bytes:
        parts: list[bytes] = []
        total = 0
        while chunk := os.read(descriptor, _CHUNK):
            total += len(chunk)
            if total > size:
                raise node.malformed("a file that stays as it is", "a file that grows while it is read")
            parts.append(chunk)
        return b"".join(parts)

    def _stream(self, descriptor: int, size: int, reference: TensorReference) -> bytearray:
        """Hash a large .npy or .safetensors file and keep the wanted rows, in one pass."""
        node = reference.node
        sha = hashlib.sha256()
        head = bytearray()
        wanted: bytearray | None = None
        start = stop = position = 0
        while chunk := os.read(descriptor, _CHUNK):
            sha.update(chunk)
            if wanted is None:
                head += chunk
                layout = self._locate(bytes(head), size, reference)
                if layout is not None:
                    start, stop = self._span(layout, reference)
                    wanted = bytearray(head[start:stop])
                    position, head = len(head), bytearray()
                continue
            low, high = max(start, position), min(stop, position + len(chunk))
            if low < high:
                wanted += chunk[low - position : high - position]
            position += len(chunk)
        self._require_hash(reference, sha.hexdigest())
        if wanted is None or len(wanted) != stop - start:
            raise node.malformed("the whole array", "a file that ends too early")
        return wanted

    def _cut(self, content: bytes, reference: TensorReference) -> bytes:
        layout = self._locate(content, len(content), reference)
        if layout is None:
            raise reference.node.malformed("the whole array", "a file that ends too early")
        start, stop = self._span(layout, reference)
        if stop > len(layout.source):
            raise reference.node.malformed("the whole array", "a file that ends too early")
        return bytes(layout.source[start:stop])

    def _locate(self, content: bytes, size: int, reference: TensorReference) -> Layout | None:
        try:
            return locate(
                Path(reference.file).suffix,
                content,
                size,
                reference.array,
                (reference.dtype, reference.shape),
                self._limits.max_tensor_bytes,
            )
        except ArrayFormatError as error:
            raise reference.node.malformed(error.expected, error.found, error.hint) from None

    def _span(self, layout: Layout, reference: TensorReference) -> tuple[int, int]:
        """First and last byte of the rows that are meant."""
        row_bytes = (layout.stop - layout.start) // reference.shape[0]
        return layout.start + reference.rows[0] * row_bytes, layout.start + reference.rows[1] * row_bytes

    def _require_hash(self, reference: TensorReference, found: str) -> None:
        if found != reference.sha256:
            raise reference.node.malformed(
                f"sha256 {reference.sha256}",
                f"sha256 {found} of {reference.file!r}",
                "the array file is not the one that the certificate is about",
            )
