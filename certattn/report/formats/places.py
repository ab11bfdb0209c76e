"""Where a report points to, and what it says there, for formats that mark a line of a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from certattn.kernel.decide.proof import Verdict
from certattn.statements.reports import Report


def problems(reports: Sequence[Report]) -> list[Report]:
    """The reports of what is not verified: whatever is not proved is shown."""
    return [report for report in reports if report.verdict is not Verdict.VERIFIED]


def count_line(reports: Sequence[Report]) -> str:
    """How many are verified, in a line."""
    verified = len(reports) - len(problems(reports))
    return f"certattn: {verified} of {len(reports)} certificates verified"


def line_of(report: Report) -> int:
    """The line of the certificate to mark, counted from 1; 1 where the whole file is meant, or an array file."""
    if report.place and report.place[0] == report.path and report.place[1]:
        return report.place[1]
    return 1


def relative_path(report: Report) -> str:
    """The certificate's path from the working folder, as far as it lies in it, with no `./`."""
    path = os.path.normpath(report.path)
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path


def message(report: Report) -> str:
    """What is wrong, in words; never empty."""
    return report.reason or report.verdict.value
