"""What is said of a file that is no certificate at all, but something else that a person may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.regular_files import regular_file
from certattn.statements.reports import Report

# Files are looked at here, outside the process that checks, so only a beginning is, and only for its first words.
_MOST_BYTES = 2**16
_KEY = re.compile(rb"^([A-Za-z][A-Za-z0-9_-]{0,99}):(?=[ \r\n])", re.MULTILINE)
_MOST_CLAIMS = 3
# Short forms of matrices are for inputs of `certattn generate`, which knows how large they are.
_SHORT_FORM = re.compile(r"\n  found:    '(?:[^'\n]*\* ?)?(?:I\b|diag\()[^'\n]*'\n  expected: a matrix")
_WRITTEN_OUT = "certificates write all rows, such as [[1, 0], [0, 1]]; short forms are for `certattn generate`"
# The keys of a certificate.
_SECTIONS = frozenset({"certattn", "claim", "given", "asserts", "witness", "provenance"})


def with_hint(report: Report) -> Report:
    """The report of a malformed file with a hint: it is binary, an input of `certattn generate`, or has its words."""
    if report.verdict is not Verdict.MALFORMED or "\n  hint: " in report.reason:
        return report
    hint = _WRITTEN_OUT if _SHORT_FORM.search(report.reason) else _hint(_beginning(Path(report.path)))
    return replace(report, reason=f"{report.reason}\n  hint:     {hint}") if hint else report


def is_input(path: Path) -> bool:
    """Whether a file that nobody has named is left out: an input of `certattn generate` beside certificates.

    Its keys are those of an input and no others, and each stands at the beginning of its line, so that nothing that has
    a section of a certificate, or that is not read in every part, is taken for one: however it is damaged, a
    certificate is checked.
    """
    beginning = _beginning(path)
    if not beginning or len(beginning) > _MOST_BYTES:
        return False
    try:
        lines = beginning.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return False
    outer = [line for line in lines if line.strip() and not line.startswith((" ", "#"))]
    keys = [match[1] for line in outer if (match := _KEY.match(f"{line}\n".encode()))]
    if len(keys) < len(outer) or set(map(bytes.decode, keys)) & _SECTIONS:
        return False
    return bool(_claims(keys))


def _beginning(path: Path) -> bytes:
    """As much as is looked at, and a byte more; nothing of what cannot be read."""
    try:
        with regular_file(path, follow_link=True) as file:
            return file.read(_MOST_BYTES + 1)
    except (OSError, ValueError):
        return b""


def _claims(keys: Iterable[bytes]) -> list[str]:
    # Imported here: what is a certificate is checked without it.
    from certattn.input_fields import claims_with

    return claims_with({key.decode() for key in keys})


def _hint(beginning: bytes) -> str:
    # Imported here: what is a certificate is checked without it.
    from certattn.input_fields import binary_kind

    # A cut in the middle of a character is none of the file's.
    if kind := binary_kind(beginning[: beginning.rfind(b"\n") + 1] or beginning):
        return f"this is {kind}; a certificate is a YAML file in UTF-8"
    keys = _KEY.findall(beginning)
    claims = [] if not keys or {b"certattn", b"claim"} & {*keys} else _claims(keys)
    if not claims:
        return ""
    shown = ", ".join(claims[:_MOST_CLAIMS]) + (", ..." if len(claims) > _MOST_CLAIMS else "")
    return f"this is an input of `certattn generate` ({shown}), not a certificate"
