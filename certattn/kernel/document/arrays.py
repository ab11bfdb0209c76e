"""Array files: .npy, .npz and .safetensors, bound by hash and read as exact numbers.

The bytes that are hashed are the bytes that are used: a file is read once, into private memory,
so a file that changes meanwhile cannot pass one content by the hash and another to the proof.
(Memory mapping would not give that.) Nothing is unpickled, and every size is checked before
memory is spent on it. A large file is read in one pass: its wanted bytes piece by piece, the hash of all of it at the
end. Each piece is hashed in a thread of its own while whoever asked for it uses it, so that hashing and arithmetic
share one reading; what was used may be believed once the hash, which comes last, is the stated one.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from certattn.kernel.document.array_formats import HEAD_BYTES, ArrayFormatError, Layout, byte_count, locate
from certattn.kernel.document.quoting import quote
from certattn.kernel.document.references import ArrayReference
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import Limits, Watch
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

SUFFIXES = (".npy", ".npz", ".safetensors")
# Files of so many bytes in all are kept, so that several arrays of one file cost one read.
_KEEP_BYTES = 256 * 2**20
_CHUNK = 2**20
_ALL_THAT_ARE_NOT_FINITE = "numpy.argwhere(~numpy.isfinite(array)) lists all such entries"


class ArrayFiles:
    """The array files that one certificate may read: those inside `root`.

    Raises MalformedError with the place of the reference for everything that is not as stated.
    """

    def __init__(self, folder: Path, root: Path, limits: Limits, watch: Watch) -> None:
        self._folder, self._root = folder, Path(os.path.realpath(root))
        self._limits, self._watch = limits, watch
        self._kept: dict[Path, tuple[bytes, str]] = {}

    def read(self, reference: ArrayReference) -> ExactMatrix:
        """The referenced rows as an exact matrix."""
        data = self.raw(reference)
        with self._watch.phase("marshalling"):
            # Imported here: a certificate without arrays is checked without loading numpy.
            from certattn.kernel.document.bit_patterns import NotFiniteError, exact_integers

            try:
                integers, exponent = exact_integers(data, reference.dtype)
            except NotFiniteError as error:
                raise _not_finite(reference, error.index, error.kind) from None
            *rows, columns = reference.extents
            return ExactMatrix.dyadic(math.prod(rows), columns, integers, exponent)

    def raw(self, reference: ArrayReference) -> bytes | bytearray:
        """The bytes of the referenced rows, their hash checked; they may hold NaN and infinities."""
        with self._watch.phase("reading"):
            return self._array_bytes(self._resolve(reference), reference)

    def _resolve(self, reference: ArrayReference) -> Path:
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

    def _array_bytes(self, path: Path, reference: ArrayReference) -> bytes | bytearray:
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

    def chunks(self, reference: ArrayReference, rows: int) -> Iterator[memoryview]:
        """The bytes of the referenced rows of a matrix, `rows` of them at a time.

        They may hold NaN and infinities. A chunk is overwritten after the next was asked for. The hash
        of a large file is known at the end only: what was computed before counts once this ends.
        """
        path = self._resolve(reference)
        piece = rows * byte_count((reference.dtype, reference.shape[-1:]))
        with self._open(path, reference) as (file, size):
            if self._is_streamed(size, reference) and path not in self._kept:
                yield from self._pieces(file, size, reference, piece)
                return
        whole = memoryview(self.raw(reference))
        yield from (whole[first : first + piece] for first in range(0, len(whole), piece))

    def require_finite(self, reference: ArrayReference, rows: int) -> None:
        """Look at `rows` rows of a matrix at a time. Raises MalformedError for NaN and infinities."""
        from certattn.kernel.document.bit_patterns import NotFiniteError, require_finite

        for index, chunk in enumerate(self.chunks(reference, rows)):
            try:
                require_finite(chunk, reference.dtype)
            except NotFiniteError as error:
                raise _not_finite(reference, index * rows * reference.shape[-1] + error.index, error.kind) from None

    def not_finite(self, reference: ArrayReference, rows: int) -> int:
        """How many NaN and infinities there are, looking at `rows` rows of a matrix at a time."""
        from certattn.kernel.document.bit_patterns import not_finite

        return sum(len(not_finite(chunk, reference.dtype)) for chunk in self.chunks(reference, rows))

    @contextmanager
    def _open(self, path: Path, reference: ArrayReference) -> Iterator[tuple[BinaryIO, int]]:
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

    def _is_streamed(self, size: int, reference: ArrayReference) -> bool:
        return reference.format != ".npz" and size > _KEEP_BYTES

    def _pieces(
        self, file: BinaryIO, size: int, reference: ArrayReference, piece: int
    ) -> Generator[memoryview, None, None]:
        """The wanted bytes of a large .npy or .safetensors file, hashed in the same pass."""
        self._watch.expect(size)
        head = file.read(HEAD_BYTES)
        span = self._span(self._locate(head, size, reference), reference)
        try:
            digest = yield from hashed_pieces(file, size, head, span, piece, _CHUNK, self._watch)
        except EndsEarlyError:
            raise reference.node.malformed("the whole array", "a file that ends too early") from None
        except GrewError:
            raise _changed(reference.node) from None
        self._require_hash(reference, digest)

    def _cut(self, content: bytes, reference: ArrayReference) -> bytes:
        layout = self._locate(content, len(content), reference)
        start, stop = self._span(layout, reference)
        return bytes(layout.source[start:stop])

    def _locate(self, content: bytes, size: int, reference: ArrayReference) -> Layout:
        stated, most = (reference.dtype, reference.shape), self._limits.max_tensor_bytes
        try:
            return locate(reference.format, content, size, reference.array, stated, most)
        except ArrayFormatError as error:
            raise reference.node.malformed(error.expected, f"{reference.words}: {error.found}", error.hint) from None

    def _span(self, layout: Layout, reference: ArrayReference) -> tuple[int, int]:
        """First and last byte of the rows that are meant."""
        row_bytes = (layout.stop - layout.start) // reference.shape[0]
        return layout.start + reference.rows[0] * row_bytes, layout.start + reference.rows[1] * row_bytes

    def _require_hash(self, reference: ArrayReference, found: str) -> None:
        if found != reference.sha256:
            raise reference.node.malformed(
                f"sha256 {reference.sha256}",
                f"sha256 {found} of {quote(reference.file)}",
                "the array file is not the one that the certificate is about",
            )


def _changed(node: Node) -> MalformedError:
    return node.malformed("a file that stays as it is", "a file that grows while it is read")


def _not_finite(reference: ArrayReference, index: int, kind: str) -> MalformedError:
    """`index` is counted from the first of the referenced rows."""
    place, rest = list[int](), reference.rows[0] * math.prod(reference.shape[1:]) + index
    for extent in reversed(reference.shape):
        rest, last = divmod(rest, extent)
        place.insert(0, last)
    if len(place) == 1:
        where = f"entry {place[0]}"
    else:
        where = f"row {place[0]}, column {place[1]}" if len(place) == 2 else f"{place}"
    found = f"{kind} at {where} (counted from 0) in {reference.words}"
    return reference.node.malformed("finite numbers", found, _ALL_THAT_ARE_NOT_FINITE)


# -- a large file in one pass


class EndsEarlyError(Exception):
    """The file ends before the wanted bytes do."""


class GrewError(Exception):
    """The file has more bytes than when it was opened."""


def hashed_pieces(
    file: BinaryIO, size: int, head: bytes, span: tuple[int, int], piece: int, chunk: int, watch: Watch
) -> Generator[memoryview, None, str]:
    """Yield the bytes from span[0] to span[1] in pieces of `piece` bytes (the last may be shorter); return the sha256.

    `head` is what was read of the file already. A piece is overwritten after the next one was asked for. Bytes that
    are not wanted are read `chunk` at a time. Raises EndsEarlyError or GrewError.
    """
    sha = hashlib.sha256(head)
    start, stop = span
    position = _skip(file, sha, len(head), start, chunk)
    known = memoryview(head)[start:stop]
    rooms = [bytearray(min(piece, stop - start)) for _ in range(2)]
    hashing: list[Future[None]] = []
    with ThreadPoolExecutor(1) as thread:
        for index, first in enumerate(range(0, stop - start, piece)):
            if index >= 2:
                hashing[index - 2].result()  # its room is used again
            view = memoryview(rooms[index % 2])[: min(piece, stop - start - first)]
            old = known[first : first + len(view)]
            view[: len(old)] = old
            _fill(file, view[len(old) :])
            position += len(view) - len(old)
            hashing.append(thread.submit(sha.update, view[len(old) :]))
            yield view
            watch.advance(len(view))
        for job in hashing[-2:]:
            job.result()
    if _skip(file, sha, position, size + 1, chunk) > size:
        raise GrewError
    return sha.hexdigest()


def _skip(file: BinaryIO, sha: hashlib._Hash, position: int, until: int, chunk: int) -> int:
    """Read and hash up to a position, or to the end of the file; where that leads."""
    while position < until and (read := file.read(min(chunk, until - position))):
        sha.update(read)
        position += len(read)
    return position


def _fill(file: BinaryIO, view: memoryview) -> None:
    while len(view):
        count = file.readinto(view)  # type: ignore[attr-defined]
        if not count:
            raise EndsEarlyError
        view = view[count:]
