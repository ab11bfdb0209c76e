"""A report as a person reads it on a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import click

from certattn.kernel.verdict import Report, Verdict

WIDTH = 100
_COLORS = {
    Verdict.VERIFIED: "green",
    Verdict.REFUTED: "red",
    Verdict.REJECTED: "red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.MALFORMED: "magenta",
    Verdict.ERROR: "magenta",
}
_MARKS = {"proved": "+", "refuted": "x", "undecided": "?"}


def text_of(report: Report, *, color: bool) -> str:
    """The verdict, what was proved, with which arithmetic, how sharply, in what time."""
    head = _paint(report.verdict.value, report.verdict, color)
    lines = [f"{head}  {report.path}"]
    for text in (report.statement, *report.findings):
        lines += _indented(text)
    if report.reason:
        lines += [f"  {line}" for line in report.reason.splitlines()]
    if report.claim:
        lines.append(f"  {_proof(report)}")
        lines.append(f"  statement {report.digest}")
    lines += [_obligation(obligation) for obligation in report.obligations]
    return "\n".join(lines) + "\n"


def summary_line(reports: Sequence[Report], expected: int, *, color: bool) -> str:
    """How many certificates got which verdict."""
    parts = []
    for verdict in Verdict:
        count = sum(report.verdict is verdict for report in reports)
        if count:
            parts.append(f"{count} {_paint(verdict.value, verdict, color)}")
    if len(reports) < expected:
        parts.append(f"{expected - len(reports)} not checked")
    return f"{expected} certificates: {', '.join(parts)}"


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
    return f"{number}; {report.arithmetic}, {report.bits} bits; {total_time} ({phases})"


def _obligation(obligation: dict[str, object]) -> str:
    mark = _MARKS[str(obligation["outcome"])]
    bits = f"  [{obligation['bits']} bits]" if obligation["bits"] else "  [exact]"
    relation = f"{obligation['left']} {obligation['relation']} {obligation['right']}"
    return f"  {mark} {obligation['name']}: {obligation['sentence']}: {relation}{bits}"


def _indented(text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _paint(text: str, verdict: Verdict, color: bool) -> str:
    return click.style(text, fg=_COLORS[verdict], bold=True) if color else text
