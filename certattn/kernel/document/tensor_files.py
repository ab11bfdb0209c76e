"""Array files: .npy, .npz and .safetensors, bound by hash and read as exact numbers.

The bytes that are hashed are the bytes that are used: a file is read once, into private memory,
so a file that changes meanwhile cannot pass one content by the hash and another to the proof.
(Memory mapping would not give that.) Nothing is unpickled, and every size is checked before
memory is spent on it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from certattn.kernel.document.array_formats import ArrayFormatError, Layout, byte_count, locate
from certattn.kernel.document.quoting import name, quote
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.document.stopwatch import Stopwatch
from certattn.kernel.document.streaming import EndsEarlyError, GrewError, hashed_pieces
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import Limits
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.meter import Meter

SUFFIXES = (".npy", ".npz", ".safetensors")
# Files of so many bytes in all are kept, so that several arrays of one file cost one read.
_KEEP_BYTES = 256 * 2**20
_CHUNK = 2**20
_ALL_THAT_ARE_NOT_FINITE = "numpy.argwhere(~numpy.isfinite(array)) lists all such entries"


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
    def format(self) -> str:
        """The file format, by the suffix of the stated name: what a link leads to may be named otherwise."""
        return file_format(self.file)

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """Rows meant, and columns; a one-dimensional array is one row."""
        if len(self.shape) == 1:
            return 1, self.rows[1] - self.rows[0]
        return self.rows[1] - self.rows[0], self.shape[1]

    @property
    def words(self) -> str:
        """The file, and the array in it: prompts.npz[tokens]."""
        return name(self.file) + (f"[{name(self.array)}]" if self.array else "")


def file_format(file: str) -> str:
    """The suffix that says how a file is read; a name that is nothing but a suffix has none, nor has a folder's."""
    # Versions of Python do not agree about names that begin with several dots.
    return PurePosixPath(file.rpartition("/")[2].lstrip(".")).suffix


class TensorFiles:
    """The array files that one certificate may read: those inside `root`.

    Raises MalformedError with the place of the reference for everything that is not as stated.
    """

    def __init__(
        self, folder: Path, root: Path, limits: Limits, stopwatch: Stopwatch, meter: Meter | None = None
    ) -> None:
        self._meter = meter
        self._folder = folder
        self._root = Path(os.path.realpath(root))
        self._limits = limits
        self._stopwatch = stopwatch
        self._kept: dict[Path, tuple[bytes, str]] = {}

    def read(self, reference: TensorReference) -> ExactMatrix:
        """The referenced rows as an exact matrix."""
        data = self.raw(reference)
        with self._stopwatch.measure("marshalling"):
            # Imported here: a certificate without arrays is checked without loading numpy.
            from certattn.kernel.document.bit_patterns import NotFiniteError, exact_integers

            try:
                integers, exponent = exact_integers(data, reference.dtype)
            except NotFiniteError as error:
                raise _not_finite(reference, error.index, error.kind) from None
            rows, columns = reference.matrix_shape
            return ExactMatrix.dyadic(rows, columns, integers, exponent)

    def raw(self, reference: TensorReference) -> bytes | bytearray:
        """The bytes of the referenced rows, their hash checked; they may hold NaN and infinities."""
        with self._stopwatch.measure("reading"):
            return self._array_bytes(self._resolve(reference), reference)

    def _resolve(self, reference: TensorReference) -> Path:
        node, file = reference.node, reference.file
        if "\\" in file or Path(file).is_absolute():
            raise node.malformed("a path relative to the certificate, with forward slashes", f"file: {quote(file)}")
        if reference.format not in SUFFIXES:
            raise node.malformed(f"a file ending in one of {', '.join(SUFFIXES)}", f"file: {quote(file)}")
        path = Path(os.path.realpath(self._folder / file))
        if path.is_relative_to(self._root) is not True:
            raise node.malformed(
                f"a file inside the folder {self._root}",
                f"file: {quote(file)}, which leads to {str(path)!r}",
                "move the file there, or allow a larger folder with --root DIR",
            )
        return path

    def _array_bytes(self, path: Path, reference: TensorReference) -> bytes | bytearray:
        if path in self._kept:
            content, digest = self._kept[path]
            self._require_hash(reference, digest)
            return self._cut(content, reference)
        with self._open(path, reference) as (file, size):
            if self._is_streamed(size, reference):
                wanted = bytearray()
                for piece in self._pieces(file, size, reference, _CHUNK):
                    wanted += piece
                return wanted
            content = file.read(size + 1)
        if len(content) > size:
            raise _changed(reference.node)
        digest = hashlib.sha256(content).hexdigest()
        self._require_hash(reference, digest)
        if size + sum(len(kept) for kept, _ in self._kept.values()) <= _KEEP_BYTES:
            self._kept[path] = (content, digest)
        return self._cut(content, reference)

    def chunks(self, reference: TensorReference, rows: int) -> Iterator[memoryview]:
        """The bytes of the referenced rows of a matrix, `rows` of them at a time.

        They may hold NaN and infinities. A chunk is overwritten after the next was asked for. The hash
        of a large file is known at the end only: what was computed before counts once this ends.
        """
        path = self._resolve(reference)
        piece = rows * byte_count((reference.dtype, reference.shape)) // reference.shape[0]
        with self._open(path, reference) as (file, size):
            if self._is_streamed(size, reference) and path not in self._kept:
                yield from self._pieces(file, size, reference, piece)
                return
        whole = memoryview(self.raw(reference))
        yield from (whole[first : first + piece] for first in range(0, len(whole), piece))

    def require_finite(self, reference: TensorReference, rows: int) -> None:
        """Look at `rows` rows of a matrix at a time. Raises MalformedError for NaN and infinities."""
        from certattn.kernel.document.bit_patterns import NotFiniteError, require_finite

        for index, chunk in enumerate(self.chunks(reference, rows)):
            try:
                require_finite(chunk, reference.dtype)
            except NotFiniteError as error:
                raise _not_finite(reference, index * rows * reference.shape[1] + error.index, error.kind) from None

    @contextmanager
    def _open(self, path: Path, reference: TensorReference) -> Iterator[tuple[BinaryIO, int]]:
        """The file and its size."""
        node = reference.node
        try:
            with regular_file(path, follow_link=False) as file:
                size = os.fstat(file.fileno()).st_size
                if size > self._limits.max_tensor_bytes:
                    raise node.malformed(
                        f"at most {self._limits.max_tensor_bytes} bytes",
                        f"a file of {size} bytes",
                        "raise --max-tensor-bytes",
                    )
                yield file, size
        except OSError as error:
            raise node.malformed("a readable array file", f"{reason(error)}: {str(path)!r}") from None

    def _is_streamed(self, size: int, reference: TensorReference) -> bool:
        return reference.format != ".npz" and size > _KEEP_BYTES

    def _pieces(
        self, file: BinaryIO, size: int, reference: TensorReference, piece: int
    ) -> Generator[memoryview, None, None]:
        """The wanted bytes of a large .npy or .safetensors file, hashed in the same pass."""

        def span(head: bytes) -> tuple[int, int] | None:
            layout = self._locate(head, size, reference)
            return None if layout is None else self._span(layout, reference)

        if self._meter is not None:
            self._meter.expect(size)
        try:
            digest = yield from hashed_pieces(file, size, span, piece, _CHUNK, self._meter)
        except EndsEarlyError:
            raise _too_short(reference.node) from None
        except GrewError:
            raise _changed(reference.node) from None
        self._require_hash(reference, digest)

    def _cut(self, content: bytes, reference: TensorReference) -> bytes:
        layout = self._locate(content, len(content), reference)
        if layout is None or layout.stop > len(layout.source):
            raise _too_short(reference.node)
        start, stop = self._span(layout, reference)
        return bytes(layout.source[start:stop])

    def _locate(self, content: bytes, size: int, reference: TensorReference) -> Layout | None:
        try:
            return locate(
                reference.format,
                content,
                size,
                reference.array,
                (reference.dtype, reference.shape),
                self._limits.max_tensor_bytes,
            )
        except ArrayFormatError as error:
            raise reference.node.malformed(error.expected, f"{reference.words}: {error.found}", error.hint) from None

    def _span(self, layout: Layout, reference: TensorReference) -> tuple[int, int]:
        """First and last byte of the rows that are meant."""
        row_bytes = (layout.stop - layout.start) // reference.shape[0]
        return layout.start + reference.rows[0] * row_bytes, layout.start + reference.rows[1] * row_bytes

    def _require_hash(self, reference: TensorReference, found: str) -> None:
        if found != reference.sha256:
            raise reference.node.malformed(
                f"sha256 {reference.sha256}",
                f"sha256 {found} of {quote(reference.file)}",
                "the array file is not the one that the certificate is about",
            )


def _changed(node: Node) -> MalformedError:
    return node.malformed("a file that stays as it is", "a file that grows while it is read")


def _not_finite(reference: TensorReference, index: int, kind: str) -> MalformedError:
    """`index` is counted from the first of the referenced rows."""
    first = reference.rows[0]
    if len(reference.shape) == 1:
        where = f"entry {first + index}"
    else:
        row, column = divmod(index, reference.shape[1])
        where = f"row {first + row}, column {column}"
    found = f"{kind} at {where} (counted from 0) in {reference.words}"
    return reference.node.malformed("finite numbers", found, _ALL_THAT_ARE_NOT_FINITE)


def _too_short(node: Node) -> MalformedError:
    return node.malformed("the whole array", "a file that ends too early")
