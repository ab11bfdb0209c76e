"""JUnit XML, which nearly every CI system reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from certattn.kernel.decide.proof import Verdict
from certattn.statements.reports import Report

# Something was checked and does not hold or is not known to; everything else is an error.
_FAILURES = (Verdict.REFUTED, Verdict.REJECTED, Verdict.INCONCLUSIVE)
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
