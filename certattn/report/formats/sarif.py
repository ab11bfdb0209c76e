"""SARIF 2.1.0, for code scanning: a result for each certificate that is not verified.

OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0. Rules are verdicts. What is verified is counted
and listed under `artifacts`; it has no result, since readers show every result as a problem.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import quote

from certattn._version import __version__
from certattn.kernel.decide.proof import Verdict
from certattn.report.formats.places import line_of, message, problems, relative_path
from certattn.report.text import printable
from certattn.report.verdict_help import VERDICTS
from certattn.statements.reports import Report, exit_status

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES = tuple(verdict for verdict in Verdict if verdict is not Verdict.VERIFIED)


def as_sarif(reports: Sequence[Report]) -> str:
    """A log with one run. The statement digest is the fingerprint of a result, where there is a statement."""
    run = {
        "tool": {"driver": {"name": "certattn", "version": __version__, "rules": [_rule(v) for v in _RULES]}},
        "invocations": [
            {
                "executionSuccessful": all(report.verdict is not Verdict.ERROR for report in reports),
                "exitCode": exit_status(reports),
            }
        ],
        "artifacts": [{"location": {"uri": uri}} for uri in dict.fromkeys(map(_uri, reports))],
        "results": [_result(report) for report in problems(reports)],
        "properties": {"certificates": len(reports), "verified": len(reports) - len(problems(reports))},
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(verdict: Verdict) -> dict[str, object]:
    page = VERDICTS[verdict]
    return {
        "id": verdict.value,
        "name": f"Certificate{verdict.value.capitalize()}",
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": page.means},
        "help": {"text": f"{page.means}\n\n{page.advice}"},
        "defaultConfiguration": {"level": _level(verdict)},
    }


def _result(report: Report) -> dict[str, object]:
    region = {"startLine": line_of(report)}
    place = {"physicalLocation": {"artifactLocation": {"uri": _uri(report)}, "region": region}}
    result: dict[str, object] = {
        "ruleId": report.verdict.value,
        "ruleIndex": _RULES.index(report.verdict),
        "level": _level(report.verdict),
        "message": {"text": printable("\n".join(filter(None, (message(report), report.statement))))},
        "locations": [place],
    }
    if report.digest:
        result["fingerprints"] = {"statementDigest/v1": report.digest}
        result["properties"] = {"claim": report.claim}
    return result


def _level(verdict: Verdict) -> str:
    return "warning" if verdict is Verdict.INCONCLUSIVE else "error"


def _uri(report: Report) -> str:
    """A relative reference where the certificate lies in the working folder; file names need not be text."""
    path = relative_path(report)
    prefix = "file://" if PurePath(path).is_absolute() else ""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:  # a path that is none of any file
        name = path.encode("utf-8", "surrogatepass")
    return prefix + quote(name)
