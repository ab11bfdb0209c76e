"""What a zip archive must be before anything in it is read, and its directory, read at no length that it claims.

Two programs must not find two contents in one archive, nor may anything lie elsewhere once it is unpacked; nothing
about it is mended. This needs the standard library alone: the page for referees runs it in a browser.
"""

from __future__ import annotations

import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO, cast

from certattn.bundle.names import folded, is_inner
from certattn.kernel.document.quoting import quote
from certattn.kernel.errors import MalformedError, Place

MOST_MEMBERS = 10_000
# zipfile reads the directory at once.
_MOST_DIRECTORY = 2**23
# Archives that unpack to more than so many times their size, and to more than so many bytes, are bombs.
_MOST_TIMES, _HARMLESS = 100, 2**26
_BEGIN, _END, _END_BYTES = b"PK\x03\x04", b"PK\x05\x06", 22
_LOCAL_HEADER = 30
_ENCRYPTED, _UTF8 = 0x41, 0x800
# The extra field that gives a member a second name.
_OTHER_NAME = 0x7075
# All that zipfile, zlib and struct raise for bytes that make no sense.
BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    OverflowError, LookupError,
)  # fmt: skip


def sound(path: Path, file: BinaryIO, largest: int) -> zipfile.ZipFile:
    """The archive in a file, whose directory is sound and none of whose members is larger. Raises MalformedError."""
    try:
        opened = _read_directory(file)
    except BROKEN as error:
        raise _refused(path, f"a broken archive ({quote(str(error))})") from None
    _require_one_reading(path, file, opened)
    _require_names(path, opened.infolist())
    _require_sizes(path, file, opened.infolist(), largest)
    return opened


def _refused(path: Path, found: str, expected: str = "a zip archive as `certattn bundle` writes it") -> MalformedError:
    hint = "if you trust it, unpack it and check the folder"
    return MalformedError(Place(str(path)), found, expected, hint)


def _require_one_reading(path: Path, file: BinaryIO, opened: zipfile.ZipFile) -> None:
    """One directory, at the end; nothing before the first member, and no two members in the same bytes."""
    infos = sorted(opened.infolist(), key=lambda info: info.header_offset)
    if not infos:
        raise _refused(path, "an empty archive")
    if len(infos) > MOST_MEMBERS:
        raise _refused(path, f"{len(infos)} members", f"at most {MOST_MEMBERS}")
    file.seek(0)
    begin = file.read(len(_BEGIN))
    file.seek(-_END_BYTES, 2)
    if begin != _BEGIN or infos[0].header_offset != 0 or not file.read().startswith(_END) or opened.comment:
        raise _refused(path, "bytes before the first member or behind the directory", "an archive and nothing else")
    stops = [info.header_offset + _LOCAL_HEADER + info.compress_size for info in infos]
    starts = [info.header_offset for info in infos[1:]] + [opened.start_dir]
    if any(stop > start for stop, start in zip(stops, starts, strict=True)):
        raise _refused(path, "members that overlap", "members one behind the other")


def _require_names(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    """Files and folders, none of which would lie outside or on another once they are unpacked."""
    seen: dict[str, str] = {}
    for info in infos:
        name = info.orig_filename
        if info.flag_bits & _ENCRYPTED:
            raise _refused(path, f"an encrypted member, {quote(name)}", "members that anybody can read")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _refused(path, f"an unusual compression of {quote(name)}", "members stored or deflated")
        if not is_inner(name.removesuffix("/")) or name != info.filename:
            raise _refused(path, f"the name {quote(name)}", "paths that lead down, with forward slashes")
        if not (name.isascii() or info.flag_bits & _UTF8) or _has_another_name(info.extra):
            raise _refused(path, f"the name {quote(name)} in an old or in two encodings", "names in UTF-8")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFDIR if info.is_dir() else stat.S_IFREG):
            raise _refused(path, f"{quote(name)}, which is a link or no file", "regular files and folders")
        if info.is_dir() and info.file_size:
            raise _refused(path, f"a folder with content, {quote(name)}", "regular files and folders")
        other = seen.setdefault(folded(name.removesuffix("/")), name)
        if other is not name:
            raise _refused(path, f"{quote(other)} and {quote(name)}", "no two names for one place")
    files = {folded(info.filename) for info in infos if not info.is_dir()}
    for info in infos:
        for parent in Path(info.filename).parents:
            if folded(parent.as_posix()) in files:
                raise _refused(path, f"{quote(info.filename)} below a file", "no two names for one place")


def _has_another_name(extra: bytes) -> bool:
    """Whether the fields of a member give it another name, or are none."""
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        if kind == _OTHER_NAME:
            return True
        extra = extra[4 + length :]
    return bool(extra)


def _require_sizes(path: Path, file: BinaryIO, infos: Collection[zipfile.ZipInfo], most: int) -> None:
    """No bomb: nothing that is small here and huge once it is read."""
    largest, whole = max(info.file_size for info in infos), sum(info.file_size for info in infos)
    if largest > most:
        raise _refused(path, f"a member of {largest} bytes", f"at most {most} (--max-tensor-bytes)")
    size = file.seek(0, 2)
    if whole > max(_HARMLESS, _MOST_TIMES * size):
        raise _refused(path, f"{whole} bytes in an archive of {size}", f"at most {_MOST_TIMES} times its size")


# -- a directory that is not read at whatever length it claims


def _read_directory(file: BinaryIO) -> zipfile.ZipFile:
    bounded = _BoundedReads(file)
    opened = zipfile.ZipFile(cast(BinaryIO, bounded))
    bounded.most = sys.maxsize
    return opened


class _BoundedReads:
    """A file that gives `most` bytes at once: zipfile reads the directory in one piece."""

    def __init__(self, file: BinaryIO) -> None:
        self.most = _MOST_DIRECTORY
        self._file = file
        self.seek, self.tell, self.seekable, self.close = file.seek, file.tell, file.seekable, file.close

    def read(self, size: int = -1) -> bytes:
        if size > self.most:
            raise ValueError(f"a directory of {size} bytes")
        return self._file.read(size if size >= 0 else self.most)
