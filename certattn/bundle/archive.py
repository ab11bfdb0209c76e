"""Certificates and arrays in a zip archive, read where they are: nothing is unpacked to the disk.

The directory of an archive is looked at as a whole before anything in it is read (`container`). What is read out of it
goes through the kernel's readers as a file's bytes do, and arrays count only by their hash.
"""

from __future__ import annotations

import errno
import hashlib
import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

from certattn.bundle.container import BROKEN, sound
from certattn.bundle.names import is_inner
from certattn.kernel.document.arrays import SUFFIXES, ArrayFiles
from certattn.kernel.document.certificate import Certificate, loads
from certattn.kernel.document.quoting import quote
from certattn.kernel.document.references import ArrayReference
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.document.schema import Reading
from certattn.kernel.errors import MalformedError, Place
from certattn.kernel.limits import DEFAULT_LIMITS, Limits, Watch

ARCHIVE = ".zip"


@contextmanager
def open_archive(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Archive]:
    """An archive whose directory is sound. Raises MalformedError."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(regular_file(path, follow_link=True))
            opened = stack.enter_context(sound(path, file, max(limits.max_tensor_bytes, limits.max_document_bytes)))
        except OSError as error:
            raise MalformedError(Place(str(path)), reason(error), "a readable zip archive") from None
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
        except BROKEN as error:
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
