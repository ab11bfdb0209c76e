"""What came of a task, and where that is kept: a folder for each task, which appears whole or not at all.

    DIR/certificates/KEY/certificate.yaml   with the array files that belong to it
    DIR/certificates/KEY/result.json        what came of it, with the hashes of these files
    DIR/work/                               folders that are being filled

KEY is the first half of the task's key. The folder of a task is filled in `work` and then renamed, so two workers that
do one task leave one result.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from certattn._version import __version__
from certattn.kernel.decide.proof import Verdict
from certattn.statements.reports import Report
from certattn.sweep.tasks import Task

CERTIFICATES = "certificates"
CERTIFICATE = "certificate.yaml"
RESULT = "result.json"
# States: a verdict was reached; no certificate could be made; the workers ended; another statement than once before.
CHECKED, NOT_MADE, LOST, CHANGED = "checked", "not made", "lost", "changed"
# What would come out again: everything but limits, lost workers and bugs.
_FINAL = (Verdict.VERIFIED, Verdict.REFUTED, Verdict.REJECTED, Verdict.MALFORMED)


@dataclass(frozen=True)
class Result:
    """What came of a task.

    `report` is that of the check; of a task without a certificate it has no statement, and says why. `files` are the
    SHA-256 of the files by name, `nanoseconds` the times of `generate` and `check`.
    """

    key: str
    state: str
    report: Report
    files: dict[str, str] = field(default_factory=dict)
    nanoseconds: dict[str, int] = field(default_factory=dict)
    version: str = __version__

    @property
    def final(self) -> bool:
        """Whether the task, done again by this version, would come out the same."""
        return self.state in (CHECKED, NOT_MADE) and self.report.verdict in _FINAL and self.version == __version__

    def to_dict(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "report": self.report.to_dict()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Result:
        return cls(**{**content, "report": Report.from_dict(content["report"])})


def without_certificate(task: Task, state: str, verdict: Verdict, reason: str, limit: str = "") -> Result:
    """The result of a task for which there is nothing to check."""
    return Result(task.key, state, Report(place_of(task.key), verdict, task.claim, reason=reason, limit=limit))


def place_of(key: str) -> str:
    """Where the certificate of a task stands in the sweep's folder."""
    return f"{CERTIFICATES}/{key[:32]}/{CERTIFICATE}"


def kept(folder: Path, task: Task) -> Result | None:
    """The result of a task that needs not be done again: final, of this version, its files as they were."""
    place = (folder / place_of(task.key)).parent
    if place.is_symlink():
        return None  # no folder that this sweep has made
    try:
        result = Result.from_dict(json.loads((place / RESULT).read_bytes()))
        if result.key == task.key and result.final and result.files == _hashes(place):
            return result
    except (OSError, ValueError, TypeError, KeyError):
        pass  # not there, cut off or edited: the task is done anew
    return None


@contextmanager
def filling(folder: Path, key: str) -> Iterator[Path]:
    """A new folder to put a task's files into, which is gone afterwards unless `keep` has put it in its place."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f"{key[:8]}-", dir=work))
    try:
        yield made
    finally:
        if made.exists():
            shutil.rmtree(made, ignore_errors=True)


def keep(folder: Path, made: Path, result: Result) -> Result:
    """Put a task's folder in its place, with the result; what was there before goes. Raises OSError."""
    place = (folder / place_of(result.key)).parent
    place.parent.mkdir(exist_ok=True)
    report = replace(result.report, path=place_of(result.key))
    result = replace(result, report=report, files=_hashes(made))
    (made / RESULT).write_text(json.dumps(result.to_dict(), indent=1), encoding="ascii")
    made.chmod(0o777 & ~_umask())
    while True:
        try:
            made.rename(place)
            return result
        except OSError:
            if not os.path.lexists(place):
                raise
        with filling(folder, result.key) as old, suppress(FileNotFoundError):
            place.rename(old / "old")


def _hashes(place: Path) -> dict[str, str]:
    """SHA-256 of the files of a task, by name, but for the result's own. Raises OSError for what is no file."""
    with os.scandir(place) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if not entry.is_file(follow_symlinks=False):
            raise OSError(f"{entry.path} is a link or a folder, expected a file")
    names = [entry.name for entry in found if entry.name != RESULT]
    return {name: hashlib.sha256((place / name).read_bytes()).hexdigest() for name in names}


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
