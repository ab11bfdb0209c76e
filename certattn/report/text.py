"""A report as a person reads it on a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import click

from certattn.kernel.decide.proof import Verdict
from certattn.report.screen import COLORS
from certattn.statements.reports import Report

WIDTH = 100
# In the name of an obligation; shells take square brackets for patterns.
INDEX = re.compile(r"\[\w*\]")
# How the text format marks the results of obligations.
MARKS = {"proved": "+", "refuted": "x", "undecided": "?", "unproved": "-"}


def text_of(report: Report, *, color: bool) -> str:
    """The verdict, what was proved, with which arithmetic, how sharply, in what time."""
    lines: list[str] = []
    for text in (report.statement, *report.findings):
        lines += paragraph(text, "  ")
    if report.reason:
        # The headline has said which file, where the reason has no line of it to add.
        reason = report.reason.removeprefix(f"{report.path}\n")
        lines += [f"  {line}" for line in printable(reason).split("\n")]
    if code := code_to_explain(report):
        lines.append(f"  what that means: certattn explain {code}")
    if report.claim:
        lines += paragraph(_proof(report), "  ")
        if report.rests_on:
            lines += paragraph(rests_on(report), "  ")
        if report.strict:
            lines += paragraph(f"strict: {'; '.join(report.strict)}", "  ")
        lines.append(f"  statement {report.digest}")
    lines += [_obligation(obligation) for obligation in report.obligations]
    head = f"{_paint(report.verdict.value, report.verdict, color)}  {on_one_line(report.path)}"
    return "\n".join((head, *map(on_one_line, lines))) + "\n"


def printable(text: str) -> str:
    """Text that may go to a terminal: control characters and broken Unicode as escapes.

    Paths and texts in files are chosen by strangers: they must not colour, overwrite or forge lines.
    """
    return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in text)


def on_one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n")


def code_to_explain(report: Report) -> str:
    """What `certattn explain` takes for the reason why a report is not verified; "" where it has no code."""
    if report.claim and report.obligation:
        return f"{report.claim}/{INDEX.sub('', report.obligation)}"
    return report.limit


def summary_line(reports: Sequence[Report], expected: int, *, color: bool) -> str:
    """How many certificates got which verdict."""
    parts = []
    for verdict in Verdict:
        count = sum(report.verdict is verdict for report in reports)
        if count:
            parts.append(f"{count} {_paint(verdict.value, verdict, color)}")
    if len(reports) < expected:
        parts.append(f"{expected - len(reports)} not checked")
    return f"{expected} certificate{'s' if expected != 1 else ''}: {', '.join(parts)}"


def seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.2f} s" if nanoseconds >= 10**7 else f"{nanoseconds / 1e6:.1f} ms"


def _proof(report: Report) -> str:
    total = sum(report.counts.values())
    proved = report.counts.get("proved", 0)
    number = f"{proved} obligation{'s' if proved != 1 else ''} proved"
    if proved < total:
        number = f"{proved} of {total} obligations proved"
    phases = ", ".join(f"{name} {seconds(spent)}" for name, spent in report.nanoseconds.items() if name != "total")
    total_time = seconds(report.nanoseconds.get("total", sum(report.nanoseconds.values())))
    how = f"{report.arithmetic}, {report.bits} bits" if report.bits else "no arithmetic"
    return f"{number}; {how}; {total_time} ({phases})"


def rests_on(report: Report) -> str:
    """How much has to be read to believe the verdict, in a line."""
    trust = report.rests_on
    return f"rests on {trust['files']} files, {trust['lines']:,} lines of code: {', '.join(trust['rooms'])}"


def _obligation(obligation: dict[str, object]) -> str:
    mark = MARKS[str(obligation["outcome"])]
    bits = f"  [{obligation['bits']} bits]" if obligation["bits"] else "  [exact]"
    relation = f"{obligation['left']} {obligation['relation']} {obligation['right']}".rstrip()
    return f"  {mark} {obligation['name']}: {obligation['sentence']}: {relation}{bits}"


def paragraph(text: str, indent: str = "", width: int = WIDTH) -> list[str]:
    """Lines of at most `width` characters, broken between words only."""
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _paint(text: str, verdict: Verdict, color: bool) -> str:
    return click.style(text, fg=COLORS[verdict.value], bold=True) if color else text
