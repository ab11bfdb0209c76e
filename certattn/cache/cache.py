"""Checks with a cache: a certificate that this program has verified before is looked up instead of proved again.

A question is made of every byte of the certificate's file, of every option, and of the program. The certificate names
its array files by SHA-256; these are hashed anew each time, by the kernel's rules. Only `verified` is ever noted or
believed, and only of bytes that were hashed before the check: the check of a file that has others by then fails. So the
process that checks has no say in which question its answer is noted for.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from certattn.cache.entries import Entries
from certattn.cache.errors import UnbelievedError, UnusableError
from certattn.cache.folder import private_folder, secret, users_folder
from certattn.cache.program import program_digest
from certattn.kernel.checker import CheckOptions, check_file
from certattn.kernel.document.reader import read_bytes
from certattn.kernel.document.stopwatch import Stopwatch
from certattn.kernel.document.tensor_files import TensorFiles, TensorReference
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import MalformedError
from certattn.kernel.reports import Report
from certattn.kernel.verdict import Verdict
from certattn.kernel.worker import Check

# New entries are written together, at least so often. It begins with a look at the whole program, some 30 milliseconds.
_SECONDS = 10.0
# Checks the files that the cache does not know, in their order.
Rest = Callable[[Sequence[Path], Check], Iterator[Report]]


@dataclass(frozen=True)
class _Question:
    """A certificate's file as it was hashed, and the name of its entry."""

    sha256: str
    name: str


class Cache:
    """The entries in a folder, as far as this program may believe them; `told` is called with what is amiss.

    Raises UnusableError where folder, key or program are not as they must be.
    """

    def __init__(self, folder: Path | None = None, told: Callable[[str], None] = lambda message: None) -> None:
        # The key is never beside entries that have come from elsewhere: whoever can write a folder can write a key.
        private = private_folder(users_folder())
        self._entries = Entries(private if folder is None else private_folder(folder), secret(private))
        self._program = program_digest()
        self._told = told

    def reports(
        self, paths: Sequence[Path], options: CheckOptions, rest: Rest, *, noting: bool = True
    ) -> Generator[Report, None, None]:
        """A report for each file, in their order; `rest` is called once, with those that must be checked.

        `noting`: whether what `rest` verifies may be believed later. It may if `rest` runs this program, here.
        """
        asked: dict[Path, _Question] = {}
        known = self._look_up(paths, options, asked)
        left = [path for path in paths if path not in known]

        def check(path: Path, options: CheckOptions) -> Report:
            question = asked.get(path)
            return check_file(path, replace(options, sha256=question.sha256 if question else None))

        fresh: list[tuple[_Question, Report]] = []
        last = time.monotonic()
        try:
            with closing(_each(left, check, rest)) as checked:
                for path in paths:
                    report = known.get(path) or next(checked)
                    if noting and path in asked and _is_proof(report) and report.path == str(path):
                        fresh.append((asked[path], report))
                    if time.monotonic() - last > _SECONDS:
                        self._note(fresh)
                        fresh, last = [], time.monotonic()
                    yield report
        finally:
            self._note(fresh)

    def _question(self, path: Path, options: CheckOptions) -> _Question | None:
        """None where there is nothing to look up: the check will say why."""
        if options.only is not None:
            return None  # it never verifies
        try:
            data = read_bytes(path, options.limits)
        except MalformedError:
            return None
        sha256 = hashlib.sha256(data).hexdigest()
        # `root` is left out: whether array files lie in it is looked at each time.
        content = {
            "certificate": {"bytes": len(data), "sha256": sha256},
            "limits": asdict(options.limits),
            "arithmetic": options.arithmetic,
            "detail": options.detail,
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return _Question(sha256, hashlib.sha256(text.encode("ascii")).hexdigest())

    def _look_up(
        self, paths: Sequence[Path], options: CheckOptions, asked: dict[Path, _Question]
    ) -> dict[Path, Report]:
        """The reports that may be believed, by path. `asked` takes the questions."""
        found: dict[Path, Report] = {}
        doubtful: list[str] = []
        for path in paths:
            before = time.perf_counter_ns()
            question = self._question(path, options)
            if question is None:
                continue
            asked[path] = question
            try:
                content = self._entries.read(self._program, question.name)
                report = None if content is None else _report(path, content)
            except UnbelievedError as error:
                doubtful.append(f"the entry of {path}: {error}")
                continue
            if report is not None and _arrays_are_there(path, report, options):
                spent = time.perf_counter_ns() - before
                found[path] = replace(report, nanoseconds={"cache": spent, "total": spent})
        if doubtful:
            more = f" (and {len(doubtful) - 1} more)" if len(doubtful) > 1 else ""
            self._told(f"not believed, so checked anew: {doubtful[0]}{more}")
        return found

    def _note(self, fresh: list[tuple[_Question, Report]]) -> None:
        """Write entries, if the program is still the one that the run began with."""
        if not fresh:
            return
        try:
            if program_digest() != self._program:
                raise UnusableError("certattn, or what it stands on, was changed meanwhile")
            for question, report in fresh:
                self._entries.write(self._program, question.name, _content(report))
        except (UnusableError, OSError) as error:
            self._told(f"not all that was verified could be noted: {error}")


def _each(left: Sequence[Path], check: Check, rest: Rest) -> Generator[Report, None, None]:
    """The reports of the rest; nothing is started for none."""
    if left:
        yield from rest(left, check)


def _is_proof(report: Report) -> bool:
    """Whether this run has proved the whole statement."""
    proved = report.counts.get("proved", 0)
    whole = proved > 0 and proved == sum(report.counts.values())
    return report.verdict is Verdict.VERIFIED and whole and not report.cached


def _content(report: Report) -> bytes:
    # The file's name is not part of the question, nor is how long the answer took.
    kept = {**report.to_dict(), "path": "", "nanoseconds": {}}
    return json.dumps({"time": int(time.time()), "report": kept}).encode("ascii")


def _report(path: Path, content: bytes) -> Report:
    """The report in an authentic entry, of the file at this path. Raises UnbelievedError."""
    try:
        entry: dict[str, Any] = json.loads(content)
        report, seconds = Report.from_dict(entry["report"]), int(entry["time"])
    except (ValueError, TypeError, KeyError) as error:
        raise UnbelievedError(f"its content is no report ({error})") from None
    if not _is_proof(report):
        raise UnbelievedError("it is not about a proof")
    if seconds > time.time():
        raise UnbelievedError("it is from the future: the clock has been set back")
    return replace(report, path=str(path), cached=datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def _arrays_are_there(path: Path, report: Report, options: CheckOptions) -> bool:
    """Whether every array file that the proof was about is where it may be, and has its hash."""
    folder = path.parent
    files = TensorFiles(folder, options.root or folder, options.limits, Stopwatch())
    try:
        for file, sha256 in report.arrays:
            files.require_hash(TensorReference(Node(str(path), 0, ""), file, sha256, None, "", (), (0, 0)))
    except MalformedError:
        return False  # the check will say what is wrong
    return True
