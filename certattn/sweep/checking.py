"""Checks of the certificates of a sweep.

A certificate whose every number comes from the spec is checked in a process that goes on with the next one, because a
process for each costs ten times the check. No byte of a file from elsewhere ever gets there: a certificate about array
files that the spec names has a process of its own, as every file has with `certattn check`. Both are forked from a
process in which no prover was ever imported, and both are confined by the kernel's sandbox before they read anything.

From a process that has checked others before, only `verified` and the limit of time count. What else it says, or does,
is asked again of a process of its own.
"""

from __future__ import annotations

import os
from contextlib import chdir
from pathlib import Path
from typing import Any

from certattn.isolation.sandbox import confine
from certattn.isolation.worker import check_files, confined_report
from certattn.kernel.decide.proof import Verdict
from certattn.statements.reports import Report
from certattn.sweep.forks import Series
from certattn.sweep.results import CERTIFICATE
from certattn.sweep.tasks import Settings, Task


class Checking:
    """Checks certificates as they lie in their folders."""

    def __init__(self) -> None:
        self._series = Series(confine, _work, lambda answer: _verified(answer) is not None)

    def checked(self, task: Task, folder: Path, settings: Settings) -> Report:
        """The report on the certificate of a task in `folder`, with paths from there."""
        path = Path(CERTIFICATE)
        if not task.from_files:
            order = {"folder": str(folder), "settings": settings.to_dict()}
            outcome = self._series.ask(order, settings.limits.timeout_seconds, settings.limits.memory_bytes)
            if outcome.over_time:
                return Report(str(path), Verdict.INCONCLUSIVE, reason=outcome.reason, limit="time")
            if (report := _verified(outcome.answer)) is not None:
                return report
        with chdir(folder):
            (report,) = check_files([path], settings.options)
        return report

    def close(self) -> None:
        self._series.end()


def _work(order: dict[str, Any]) -> dict[str, Any]:
    """Done in the confined process."""
    os.chdir(order["folder"])
    return confined_report(Path(CERTIFICATE), Settings.from_dict(order["settings"]).options).to_dict()


def _verified(answer: Any) -> Report | None:
    """The report, if it is one that verifies this file."""
    try:
        report = Report.from_dict(answer)
    except (TypeError, KeyError, ValueError):
        return None
    return report if report.verdict is Verdict.VERIFIED and report.path == CERTIFICATE else None
