"""Where `certattn check` finds certificates. Of what is not on the disk, `members` speaks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.document.certificate import Certificate, load
from certattn.kernel.limits import Limits
from certattn.statements.checking import check_file
from certattn.statements.reports import Report

if TYPE_CHECKING:
    from certattn.bundle.lock_files import Lock


class Source(Protocol):
    """Certificates, and how they are read and checked."""

    @property
    def certificates(self) -> Sequence[Path]: ...

    def check(self, path: Path, options: CheckOptions) -> Report: ...

    def read(self, path: Path, options: CheckOptions) -> Certificate:
        """Raises MalformedError."""

    def is_there(self, path: Path) -> bool: ...

    def lock(self, named: Path | None, limits: Limits) -> Lock:
        """The lock that is named, or else the one that goes with these. Raises MalformedError or UsageError."""


@dataclass(frozen=True)
class Files:
    """Certificates on the disk; their lock is in the working folder."""

    certificates: Sequence[Path]

    def check(self, path: Path, options: CheckOptions) -> Report:
        return check_file(path, options)

    def read(self, path: Path, options: CheckOptions) -> Certificate:
        return load(path, root=options.root, limits=options.limits)

    def is_there(self, path: Path) -> bool:
        return os.path.lexists(path)

    def lock(self, named: Path | None, limits: Limits) -> Lock:
        from certattn.bundle.lock import LOCK
        from certattn.bundle.lock_files import lock_of, read_bytes

        path = named or Path(LOCK)
        return lock_of(read_bytes(path, limits), str(path), path.parent, limits)
