"""GitLab's Code Quality report: a JSON list with an entry for each certificate that is not verified.

The format is that of https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format .
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from certattn.kernel.decide.proof import Verdict
from certattn.report.formats.places import line_of, message, problems, relative_path
from certattn.report.text import printable
from certattn.statements.reports import Report

_SEVERITIES = {
    Verdict.REFUTED: "critical",
    Verdict.REJECTED: "critical",
    Verdict.MALFORMED: "major",
    Verdict.ERROR: "major",
    Verdict.INCONCLUSIVE: "minor",
}


def as_gitlab(reports: Sequence[Report]) -> str:
    """A list with an entry for each report that is not `verified`; empty where all are."""
    return json.dumps([_entry(report) for report in problems(reports)], indent=2)


def _entry(report: Report) -> dict[str, object]:
    path = printable(relative_path(report))
    return {
        "description": printable(f"{report.verdict.value}: {message(report)}"),
        "check_name": f"certattn/{report.verdict.value}",
        "fingerprint": _fingerprint(path, report),
        "severity": _SEVERITIES[report.verdict],
        "location": {"path": path, "lines": {"begin": line_of(report)}},
    }


def _fingerprint(path: str, report: Report) -> str:
    """One name for the finding, however the lines of the file move: GitLab shows entries of one name once."""
    content = json.dumps([path, report.verdict.value, report.digest])
    return hashlib.sha256(content.encode("ascii")).hexdigest()
