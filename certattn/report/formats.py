"""Reports for machines. A format is a function from reports to text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from certattn._version import __version__
from certattn.kernel.decide.proof import Verdict
from certattn.report.text import on_one_line, printable, seconds
from certattn.statements.reports import Report, exit_status

# Something was checked and does not hold or is not known to; everything else is an error.
_FAILURES = (Verdict.REFUTED, Verdict.REJECTED, Verdict.INCONCLUSIVE)
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# GitHub takes 1 MiB for the summary of a step.
_MOST_CHARACTERS = 900_000
_LONGEST = 400
_HEAD = "| verdict | certificate | claim | why not verified | time | statement |\n|---|---|---|---|---|---|"
# What could be a mark, a link or a mention; a full stop makes a link after `www` only.
_MARK = re.compile(r"[^\w /,.-]|_|(?<=[wW])\.", re.ASCII)


# -- JSON


def as_json(reports: Sequence[Report]) -> str:
    """The tool, its version, the exit status and every report whole: `certattn schema --of reports` has the schema."""
    content = {
        "certattn": __version__,
        "exit_status": exit_status(reports),
        "reports": [report.to_dict() for report in reports],
    }
    # ASCII, with escapes: it is the same for every locale, and holds file names that are no text.
    return json.dumps(content, indent=2)


# -- annotations of GitHub, at lines of certificates


def as_github(reports: Sequence[Report]) -> str:
    """Workflow commands that GitHub shows at the certificate's line, and a line that sums up."""
    lines = []
    for report in problems(reports):
        level = "warning" if report.verdict is Verdict.INCONCLUSIVE else "error"
        title = f"certattn: {report.verdict.value}"
        properties = {"file": relative_path(report), "line": line_of(report), "title": title}
        shown = ",".join(f"{key}={_github_property(str(value))}" for key, value in properties.items())
        lines.append(f"::{level} {shown}::{_github_text(message(report))}")
    return "\n".join((*lines, count_line(reports)))


def _github_text(text: str) -> str:
    # Control characters are escaped here: on the way to a file, click would drop colours silently.
    return printable(text).replace("%", "%25").replace("\n", "%0A")


def _github_property(text: str) -> str:
    return _github_text(text).replace(":", "%3A").replace(",", "%2C")


# -- JUnit XML, which nearly every CI system reads


def as_junit(reports: Sequence[Report]) -> str:
    """JUnit XML: a test case per certificate; what is not verified is a failure or an error."""
    failures = sum(report.verdict in _FAILURES for report in reports)
    errors = sum(report.verdict is not Verdict.VERIFIED for report in reports) - failures
    numbers = {"tests": str(len(reports)), "failures": str(failures), "errors": str(errors)}
    suites = ElementTree.Element("testsuites", numbers)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "certattn", **numbers})
    for report in reports:
        time = f"{report.nanoseconds.get('total', 0) / 1e9:.3f}"
        name = {"classname": report.claim or "certificate", "name": _xml(report.path), "time": time}
        case = ElementTree.SubElement(suite, "testcase", name)
        if report.verdict is not Verdict.VERIFIED:
            tag = "failure" if report.verdict in _FAILURES else "error"
            problem = ElementTree.SubElement(case, tag, {"type": report.verdict.value, "message": _xml(report.reason)})
            problem.text = _xml("\n".join((report.statement, *report.findings, report.reason)))
        else:
            ElementTree.SubElement(case, "system-out").text = _xml("\n".join((report.statement, *report.findings)))
    ElementTree.indent(suites)
    # ASCII, with character references, so that the encoding of the terminal or pipe does not matter.
    document: bytes = ElementTree.tostring(suites, encoding="us-ascii", xml_declaration=True)
    return document.decode("ascii")


def _xml(text: str) -> str:
    """With U+FFFD for what XML cannot hold: control characters, surrogates, U+FFFE and U+FFFF."""
    return _NOT_XML.sub("\ufffd", text)


# -- a table in Markdown, for job summaries: GitHub flavour, with every mark of strangers' texts escaped


def as_markdown(reports: Sequence[Report]) -> str:
    """A heading that counts, and a row for each certificate; what is not verified comes first."""
    verified = [report for report in reports if report.verdict is Verdict.VERIFIED]
    rows = [_row(report) for report in (*problems(reports), *verified)]
    shown, size = 0, 0
    while shown < len(rows) and (size := size + len(rows[shown])) <= _MOST_CHARACTERS:
        shown += 1
    left = f"\n\n{len(rows) - shown} more certificates have no row here." if shown < len(rows) else ""
    return "\n".join((f"### {count_line(reports)}", "", _HEAD, *rows[:shown])) + left


def _row(report: Report) -> str:
    time = seconds(report.nanoseconds["total"]) if "total" in report.nanoseconds else ""
    why = message(report) if report.verdict is not Verdict.VERIFIED else ""
    digest = f"`{report.digest}`" if report.digest else ""
    cells = (f"**{report.verdict.value}**", _code(report.path), report.claim, _cell(why), time, digest)
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return f"<code>{_cell(text)}</code>"


def _cell(text: str) -> str:
    line = on_one_line(text)
    cut = line if len(line) <= _LONGEST else line[:_LONGEST] + " ..."
    return _MARK.sub(lambda match: f"&#{ord(match[0])};", cut)


# -- where a report points to, and what it says there


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


FORMATS: Mapping[str, Callable[[Sequence[Report]], str]] = {
    "json": as_json,
    "github": as_github,
    "junit": as_junit,
    "markdown": as_markdown,
}
