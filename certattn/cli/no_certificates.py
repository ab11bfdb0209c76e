"""What is said of a file that is no certificate at all, but something else that a person may have meant."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.regular_files import regular_file
from certattn.statements.reports import Report

# Files are looked at here, outside the process that checks, so only a beginning is, and only for its first words.
_MOST_BYTES = 2**16
_KEY = re.compile(rb"^([A-Za-z][A-Za-z0-9_-]{0,99}):(?=[ \r\n])", re.MULTILINE)
_MOST_CLAIMS = 3


def with_hint(report: Report) -> Report:
    """The report of a malformed file with a hint, where the file is binary, or an input of `certattn generate`."""
    if report.verdict is not Verdict.MALFORMED or "\n  hint: " in report.reason:
        return report
    try:
        with regular_file(Path(report.path), follow_link=True) as file:
            beginning = file.read(_MOST_BYTES)
    except (OSError, ValueError):
        return report
    hint = _hint(beginning)
    return replace(report, reason=f"{report.reason}\n  hint:     {hint}") if hint else report


def _hint(beginning: bytes) -> str:
    # Imported here: what is a certificate is checked without it.
    from certattn.input_fields import binary_kind, claims_with

    # A cut in the middle of a character is none of the file's.
    if kind := binary_kind(beginning[: beginning.rfind(b"\n") + 1] or beginning):
        return f"this is {kind}; a certificate is a YAML file in UTF-8"
    keys = {key.decode() for key in _KEY.findall(beginning)}
    if not keys or keys & {"certattn", "claim"}:
        return ""
    claims = claims_with(keys)
    if not claims:
        return ""
    shown = ", ".join(claims[:_MOST_CLAIMS]) + (", ..." if len(claims) > _MOST_CLAIMS else "")
    return f"this is an input of `certattn generate` ({shown}), not a certificate"
