"""Reports for machines: JSON, GitHub workflow annotations, JUnit XML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from xml.etree import ElementTree

from certattn._version import __version__
from certattn.kernel.reports import Report, exit_status
from certattn.kernel.verdict import Verdict
from certattn.report.text import printable

# Something was checked and does not hold or is not known to; everything else is an error.
_FAILURES = (Verdict.REFUTED, Verdict.REJECTED, Verdict.INCONCLUSIVE)


def as_json(reports: Sequence[Report]) -> str:
    """One object: the tool and its version, the exit status, a report for each certificate."""
    content = {
        "certattn": __version__,
        "exit_status": exit_status(reports),
        "reports": [report.to_dict() for report in reports],
    }
    # ASCII, with escapes: it is the same for every locale, and holds file names that are no text.
    return json.dumps(content, indent=2)


def as_github(reports: Sequence[Report]) -> str:
    """Workflow commands that GitHub shows at the certificate's line, and a line that sums up."""
    lines = []
    for report in reports:
        if report.verdict is Verdict.VERIFIED:
            continue
        level = "warning" if report.verdict is Verdict.INCONCLUSIVE else "error"
        line = report.place[1] if report.place and report.place[1] else 1
        properties = {"file": report.path, "line": str(line), "title": f"certattn: {report.verdict.value}"}
        shown = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        lines.append(f"::{level} {shown}::{_data(report.reason or report.verdict.value)}")
    verified = sum(report.verdict is Verdict.VERIFIED for report in reports)
    lines.append(f"certattn: {verified} of {len(reports)} certificates verified")
    return "\n".join(lines)


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


_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

FORMATS: Mapping[str, Callable[[Sequence[Report]], str]] = {
    "json": as_json,
    "github": as_github,
    "junit": as_junit,
}


def _data(text: str) -> str:
    # Control characters are escaped here: on the way to a file, click would drop colours silently.
    return printable(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _xml(text: str) -> str:
    """With U+FFFD for what XML cannot hold: control characters, surrogates, U+FFFE and U+FFFF."""
    return _NOT_XML.sub("\ufffd", text)
