"""A table in Markdown, for job summaries: GitHub flavour, with every mark of strangers' texts escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from certattn.kernel.decide.proof import Verdict
from certattn.report.formats.places import count_line, message, problems
from certattn.report.text import on_one_line, seconds
from certattn.statements.reports import Report

# GitHub takes 1 MiB for the summary of a step.
_MOST_CHARACTERS = 900_000
_LONGEST = 400
_HEAD = "| verdict | certificate | claim | why not verified | time | statement |\n|---|---|---|---|---|---|"
# What could be a mark, a link or a mention; a full stop makes a link after `www` only.
_MARK = re.compile(r"[^\w /,.-]|_|(?<=[wW])\.", re.ASCII)


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
    cells = (f"**{report.verdict.value}**", _code(report.path), report.claim, _text(why), time, digest)
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    line = on_one_line(text)
    cut = line if len(line) <= _LONGEST else line[:_LONGEST] + " ..."
    return _MARK.sub(lambda match: f"&#{ord(match[0])};", cut)
