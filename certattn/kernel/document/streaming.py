"""A large file in one pass: its wanted bytes piece by piece, the hash of all of it at the end.

Each piece is hashed in a thread of its own while whoever asked for it uses it, so that hashing and
arithmetic share one reading of the file. What was used is what was hashed; it may be believed once
the hash, which comes last, is the stated one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

from certattn.kernel.meter import Meter

# Where the wanted bytes begin and end, once enough of the file's beginning is known.
Locate = Callable[[bytes], tuple[int, int] | None]


class EndsEarlyError(Exception):
    """The file ends before the wanted bytes do."""


class GrewError(Exception):
    """The file has more bytes than when it was opened."""


def hashed_pieces(
    file: BinaryIO, size: int, locate: Locate, piece: int, chunk: int, meter: Meter | None = None
) -> Generator[memoryview, None, str]:
    """Yield the wanted bytes in pieces of `piece` bytes (the last may be shorter); return the sha256 in hex.

    A piece is overwritten after the next one was asked for. Bytes that are not wanted are read
    `chunk` at a time. Raises EndsEarlyError or GrewError.
    """
    sha = hashlib.sha256()
    head, span = bytearray(), None
    while span is None:
        read = file.read(chunk)
        if not read:
            raise EndsEarlyError
        sha.update(read)
        head += read
        span = locate(bytes(head))
    start, stop = span
    position = _skip(file, sha, len(head), start, chunk)
    known = memoryview(bytes(head[start:stop]))
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
            if meter is not None:
                meter.advance(len(view))
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
