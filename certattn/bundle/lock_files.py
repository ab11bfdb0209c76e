"""Locks as files: which files on the disk or in an archive a lock speaks of."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from certattn.bundle.lock import Promise, parse_lock
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.errors import UsageError
from certattn.kernel.limits import Limits


@dataclass(frozen=True)
class Lock:
    """Promises by the absolute path of their files; `name` is what a reader calls the lock."""

    name: str
    folder: Path
    promises: Mapping[Path, Promise]

    def promise(self, path: Path) -> Promise | None:
        return self.promises.get(absolute(path))

    def also(self, files: Sequence[Path]) -> list[Path]:
        """Promised files that are not among these."""
        named = set(map(absolute, files))
        return [self.folder / promise.path for path, promise in self.promises.items() if path not in named]


def absolute(path: Path) -> Path:
    """One spelling of a path. Links are not followed: what is promised is a name."""
    return Path(os.path.normpath(path.absolute()))


def lock_of(data: bytes, name: str, folder: Path, limits: Limits) -> Lock:
    """A lock whose paths begin at `folder`. Raises MalformedError or UsageError."""
    promises = parse_lock(data, name, limits)
    return Lock(name, folder, {absolute(folder / path): promise for path, promise in promises.items()})


def read_bytes(path: Path, limits: Limits) -> bytes:
    """The bytes of a lock. Raises UsageError."""
    try:
        with regular_file(path, follow_link=True) as file:
            return file.read(limits.max_document_bytes + 1)
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}; `certattn lock PATH...` writes a lock") from None
