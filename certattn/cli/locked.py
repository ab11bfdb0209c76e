"""`certattn check --locked`: a verdict is kept only where the statement is the one that a lock promises.

A lock can only take a verdict away: a certificate that states something else is `rejected`, whether that is true or
not, and so is one that is promised and not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from certattn.bundle.lock import Promise, difference
from certattn.bundle.lock_files import Lock, absolute
from certattn.cli.confined import find
from certattn.cli.sources import Source
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.statements.reports import Report


def hold(source: Source, named: Path | None, options: CheckOptions, *, exact: bool) -> tuple[list[Path], Held]:
    """The files that are found or promised, those that are missing last, and what holds their reports."""
    lock = source.lock(named, options.limits)
    files = [*source.certificates, *lock.also(source.certificates)]
    missing = {file: None for file in files if lock.promise(file) is not None and not source.is_there(file)}
    there = [file for file in files if file not in missing]
    return [*there, *missing], Held(lock, list(missing), exact, options, source)


@dataclass
class Held:
    """Reports held against a lock.

    `missing` are promised files that are not there; `exact` makes what is not promised an error, too.
    """

    lock: Lock
    missing: Sequence[Path]
    exact: bool
    options: CheckOptions
    source: Source
    # Where statements stand that are not promised, by their digest: a missing one may have moved there.
    others: dict[str, str] = field(default_factory=dict)

    def apply(self, reports: Iterable[Report]) -> Iterator[Report]:
        """The reports, as the lock leaves them, and one for each missing file."""
        yield from map(self._judge, reports)
        yield from map(self._missing, self.missing)

    def _judge(self, report: Report) -> Report:
        promise = self.lock.promise(Path(report.path))
        if promise is None:
            return self._not_promised(report)
        if report.digest == promise.digest:
            return report
        if not report.digest and report.verdict is not Verdict.VERIFIED:
            return report  # no check came to its end, and what the file states is not known
        return self._another(report, promise)

    def _not_promised(self, report: Report) -> Report:
        if report.digest:
            self.others.setdefault(report.digest, report.path)
        why = f"not in {self.lock.name}"
        if self.exact and report.verdict is Verdict.VERIFIED:
            return replace(report, verdict=Verdict.REJECTED, reason=f"{why} (--no-unlocked); `certattn lock` adds it")
        return replace(report, findings=(*report.findings, why))

    def _another(self, report: Report, promise: Promise) -> Report:
        def question(path: Path, options: CheckOptions) -> dict[str, Any]:
            return difference(promise, self.source.read(path, options)).to_dict()

        (found,) = find([Path(report.path)], self.options, 1, question)
        first, *rest = found.get("lines") or ["another statement", f"promised {promise.digest}"]
        why = "\n".join((f"not as {self.lock.name} promises: {first}", *rest))
        if report.verdict is not Verdict.VERIFIED:
            return replace(report, reason=f"{report.reason}\n{why}")
        place = (report.path, found.get("line", 0), found.get("key_path", ""))
        return replace(report, verdict=Verdict.REJECTED, reason=why, place=place)

    def _missing(self, path: Path) -> Report:
        promise = self.lock.promises[absolute(path)]
        why = f"promised by {self.lock.name}, but missing"
        if promise.digest in self.others:
            why += f"; {self.others[promise.digest]} states the same"
        return Report(str(path), Verdict.REJECTED, statement=promise.says, reason=why)
