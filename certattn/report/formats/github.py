"""Annotations of GitHub: workflow commands at lines of certificates."""

from __future__ import annotations

from collections.abc import Sequence

from certattn.kernel.decide.proof import Verdict
from certattn.report.formats.places import count_line, line_of, message, problems, relative_path
from certattn.report.text import printable
from certattn.statements.reports import Report


def as_github(reports: Sequence[Report]) -> str:
    """Workflow commands that GitHub shows at the certificate's line, and a line that sums up."""
    lines = []
    for report in problems(reports):
        level = "warning" if report.verdict is Verdict.INCONCLUSIVE else "error"
        title = f"certattn: {report.verdict.value}"
        properties = {"file": relative_path(report), "line": line_of(report), "title": title}
        shown = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
        lines.append(f"::{level} {shown}::{_data(message(report))}")
    return "\n".join((*lines, count_line(reports)))


def _data(text: str) -> str:
    # Control characters are escaped here: on the way to a file, click would drop colours silently.
    return printable(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
