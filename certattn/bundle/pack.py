"""Writing an archive: the same bytes for the same content, whoever packs it, when and where.

Names are sorted, dates and rights fixed, and nothing is compressed: compressors differ from system to system.
"""

from __future__ import annotations

import hashlib
import stat
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from certattn.bundle.container import MOST_MEMBERS
from certattn.bundle.names import folded, is_inner
from certattn.kernel.document.regular_files import regular_file
from certattn.kernel.errors import UsageError
from certattn.writing import replacing

_CHUNK = 2**20
_RIGHTS = stat.S_IFREG | 0o644
_UNIX = 3


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive, its content in memory or on the disk, and the content's sha256."""

    name: str
    content: bytes | Path
    sha256: str

    @classmethod
    def of(cls, name: str, text: str) -> Member:
        """One that is written here."""
        content = text.encode("utf-8")
        return cls(name, content, hashlib.sha256(content).hexdigest())

    def pieces(self) -> Iterator[bytes]:
        """The content, which is the stated one once this ends. Raises UsageError, and OSError."""
        if isinstance(self.content, bytes):
            yield self.content
            return
        found = hashlib.sha256()
        with regular_file(self.content, follow_link=True) as file:
            while piece := file.read(_CHUNK):
                found.update(piece)
                yield piece
        if found.hexdigest() != self.sha256:
            raise UsageError(f"{self.content}: changed since it was checked")


def pack(out: Path, members: Collection[Member]) -> str:
    """Write an archive, whole or not at all; its sha256. Raises UsageError, and OSError."""
    _require_names(members)
    with replacing(out) as file:
        with zipfile.ZipFile(file, "w") as archive:
            for member in sorted(members, key=lambda member: member.name):
                # Sizes that need longer headers are known at the end only, so that all have them.
                with archive.open(_header(member.name), "w", force_zip64=True) as stream:
                    for piece in member.pieces():
                        stream.write(piece)
        return _sha256(file)


def sums(members: Collection[Member]) -> str:
    """The hashes of members, as sha256sum writes them."""
    return "".join(f"{member.sha256}  {member.name}\n" for member in sorted(members, key=lambda member: member.name))


def _require_names(members: Collection[Member]) -> None:
    """What would be refused when it is read must not be written. Raises UsageError."""
    if len(members) > MOST_MEMBERS:
        raise UsageError(f"{len(members)} files, expected at most {MOST_MEMBERS} in an archive")
    seen: dict[str, str] = {}
    for member in members:
        if not is_inner(member.name):
            raise UsageError(f"{member.name}: expected a name that can be printed, with forward slashes")
        if (other := seen.setdefault(folded(member.name), member.name)) is not member.name:
            raise UsageError(f"{other} and {member.name} are one name to some systems; rename one of them")


def _header(name: str) -> zipfile.ZipInfo:
    header = zipfile.ZipInfo(name)  # of 1980, where dates of archives begin
    header.create_system, header.external_attr = _UNIX, _RIGHTS << 16
    return header


def _sha256(file: BinaryIO) -> str:
    file.seek(0)
    found = hashlib.sha256()
    while piece := file.read(_CHUNK):
        found.update(piece)
    return found.hexdigest()
