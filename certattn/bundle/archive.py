"""Certificates and arrays in a zip archive, read where they are: nothing is unpacked to the disk.

The directory of an archive is looked at as a whole before anything in it is read, and nothing about it is mended: two
programs must not find two contents in one archive, nor may anything lie elsewhere once it is unpacked. What is read out
of it goes through the kernel's readers as a file's bytes do, and arrays count only by their hash.
"""

from __future__ import annotations

import errno
import hashlib
import posixpath
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

from certattn.bundle.names import folded, is_inner
from certattn.kernel.document.arrays import SUFFIXES, ArrayFiles
from certattn.kernel.document.certificate import Certificate, loads
from certattn.kernel.document.quoting import quote
from certattn.kernel.document.references import ArrayReference
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.document.schema import Reading
from certattn.kernel.errors import MalformedError, Place
from certattn.kernel.limits import DEFAULT_LIMITS, Limits, Watch

ARCHIVE = ".zip"
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
_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    OverflowError, LookupError,
)  # fmt: skip


@contextmanager
def open_archive(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Archive]:
    """An archive whose directory is sound. Raises MalformedError."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(regular_file(path, follow_link=True))
            opened = stack.enter_context(_read_directory(file))
        except OSError as error:
            raise MalformedError(Place(str(path)), reason(error), "a readable zip archive") from None
        except _ERRORS as error:
            raise _refused(path, f"a broken archive ({quote(str(error))})") from None
        _require_one_reading(path, file, opened)
        _require_names(path, opened.infolist())
        _require_sizes(path, file, opened.infolist(), limits)
        yield Archive(path, opened, {info.filename: info for info in opened.infolist() if not info.is_dir()}, limits)


@dataclass(frozen=True)
class Archive:
    """An open archive and its files by name."""

    path: Path
    opened: zipfile.ZipFile
    members: Mapping[str, zipfile.ZipInfo]
    limits: Limits

    def load(
        self, path: Path, *, root: Path | None = None, limits: Limits | None = None, watch: Watch | None = None
    ) -> Certificate:
        """A certificate, as `load` reads one from a file; its array files may lie anywhere in the archive.

        Raises MalformedError.
        """
        limits, watch = limits or self.limits, watch or Watch()
        name = path.relative_to(self.path).as_posix()
        with watch.phase("parsing"):
            data = self.read(name, limits.max_document_bytes)
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError as error:
                line = data.count(b"\n", 0, error.start) + 1
                raise MalformedError(Place(str(path), line), "bytes that are not UTF-8", "UTF-8 text") from None
            certificate = loads(text, path, limits=limits)
        reading = _ArchivedReading(self, posixpath.dirname(name), certificate.reading, watch)
        return replace(certificate, reading=reading, sha256=hashlib.sha256(data).hexdigest())

    def read(self, name: str, most: int) -> bytes:
        """The bytes of a member that is no larger. Raises MalformedError."""
        place = Place(str(self.path / name))
        try:
            with self.open(name) as (file, size):
                if size > most:
                    raise MalformedError(place, f"a file of {size} bytes", f"at most {most} bytes")
                # One byte more: the end of a member is where its checksum is looked at.
                data = file.read(size + 1)
        except OSError as error:
            raise MalformedError(place, reason(error), "a readable file") from None
        if len(data) != size:
            raise MalformedError(place, f"{len(data)} bytes", f"{size} bytes, as the archive's directory says")
        return data

    @contextmanager
    def open(self, name: str) -> Iterator[tuple[BinaryIO, int]]:
        """A member and its size. Raises OSError for what is not there or broken."""
        if name not in self.members:
            raise FileNotFoundError(errno.ENOENT, "no such file in the archive", name)
        info = self.members[name]
        try:
            with self.opened.open(info) as file:
                yield cast(BinaryIO, file), info.file_size
        except _ERRORS as error:
            raise OSError(errno.EIO, f"a broken member ({quote(str(error))})", name) from None


class _ArchivedReading(Reading):
    """What reading a certificate has at hand, but for where its array files are."""

    def __init__(self, archive: Archive, folder: str, reading: Reading, watch: Watch) -> None:
        super().__init__(reading.limits, archive.path / folder, archive.path, watch)
        self.used, self.room = reading.used, reading.room
        self._place = archive, folder, watch

    @cached_property
    def arrays(self) -> ArrayFiles:
        archive, folder, watch = self._place
        return _ArchivedArrays(archive, folder, self.limits, watch)


class _ArchivedArrays(ArrayFiles):
    """Array files that are members. What they hold, and their hashes, are looked at as those of any file."""

    def __init__(self, archive: Archive, folder: str, limits: Limits, watch: Watch) -> None:
        super().__init__(archive.path / folder, archive.path, limits, watch)
        self._archive, self._inner = archive, folder

    def _resolve(self, reference: ArrayReference) -> Path:
        node, file = reference.node, reference.file
        name = posixpath.normpath(posixpath.join(self._inner, file))
        if "\\" in file or not is_inner(name):
            raise node.malformed("a path inside the archive, with forward slashes", f"file: {quote(file)}")
        if reference.format not in SUFFIXES:
            raise node.malformed(f"a file ending in one of {', '.join(SUFFIXES)}", f"file: {quote(file)}")
        return Path(name)

    @contextmanager
    def _open(self, path: Path, reference: ArrayReference) -> Iterator[tuple[BinaryIO, int]]:
        node, most = reference.node, self._limits.max_tensor_bytes
        try:
            with self._archive.open(path.as_posix()) as (file, size):
                if size > most:
                    raise node.malformed(f"at most {most} bytes", f"a file of {size} bytes", "raise --max-tensor-bytes")
                yield file, size
        except OSError as error:
            raise node.malformed("a readable array file", f"{reason(error)}: {str(path)!r}") from None


# -- what an archive must be


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


def _require_sizes(path: Path, file: BinaryIO, infos: Collection[zipfile.ZipInfo], limits: Limits) -> None:
    """No bomb: nothing that is small here and huge once it is read."""
    largest, whole = max(info.file_size for info in infos), sum(info.file_size for info in infos)
    if largest > max(limits.max_tensor_bytes, limits.max_document_bytes):
        raise _refused(path, f"a member of {largest} bytes", f"at most {limits.max_tensor_bytes} (--max-tensor-bytes)")
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
