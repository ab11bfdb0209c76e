"""Certificates that `certattn check` finds in an archive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from certattn.bundle.archive import open_archive
from certattn.bundle.lock import LOCK
from certattn.bundle.lock_files import Lock, lock_of, read_bytes
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import MalformedError, UsageError
from certattn.kernel.limits import Limits
from certattn.statements.checking import check_file, malformed_report
from certattn.statements.reports import Report
from certattn.statements.trust import trust_of


@dataclass(frozen=True)
class Members:
    """Certificates in an archive, by paths below its own; locks speak of these paths, and it may have its own."""

    archive: Path
    certificates: Sequence[Path]

    def check(self, path: Path, options: CheckOptions) -> Report:
        try:
            with open_archive(self.archive, options.limits) as archive:
                report = check_file(path, options, archive.load)
        except MalformedError as error:
            return malformed_report(str(path), error)
        if not report.rests_on:
            return report
        uses = frozenset(report.rests_on["uses"]) | {"archives"}
        return replace(report, rests_on=trust_of(report.claim, uses).to_dict())

    def read(self, path: Path, options: CheckOptions) -> Certificate:
        with open_archive(self.archive, options.limits) as archive:
            return archive.load(path)

    def is_there(self, path: Path) -> bool:
        return path in self._paths

    @cached_property
    def _paths(self) -> frozenset[Path]:
        return frozenset(self.certificates)

    def lock(self, named: Path | None, limits: Limits) -> Lock:
        if named is not None:
            return lock_of(read_bytes(named, limits), str(named), self.archive, limits)
        with open_archive(self.archive, limits) as archive:
            data = archive.read(LOCK, limits.max_document_bytes)
        return lock_of(data, str(self.archive / LOCK), self.archive, limits)


def members_of(path: Path, suffixes: tuple[str, ...], options: CheckOptions) -> Members:
    """The certificates of an archive. Raises MalformedError for a bad one, UsageError for one without certificates."""
    if options.root is not None:
        raise UsageError(f"{path}: an archive contains all of its array files; leave out --root")
    with open_archive(path, options.limits) as archive:
        names = sorted(name for name in archive.members if name.endswith(suffixes) and not _is_hidden(name))
    if not names:
        raise UsageError(f"{path}: no certificates ({' or '.join(suffixes)}) in this archive")
    return Members(path, [path / name for name in names])


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in PurePosixPath(name).parts)
