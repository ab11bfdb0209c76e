"""Reports as text: complete, and harmless for a terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certattn.kernel.decide.proof import Verdict
from certattn.report.text import on_one_line, printable, seconds, summary_line, text_of
from certattn.statements.reports import Report

COLOR = re.compile(r"\x1b\[[0-9;]*m")


def test_a_proof_says_verdict_statement_arithmetic_and_time(proved: Report) -> None:
    assert text_of(proved, color=False).splitlines() == [
        "verified  certificates/a.yaml",
        "  For each of 2 queries the distance is at most 1.",
        "  worst query [1]: deviation 0.5, slack 0.5",
        "  2 obligations proved; Arb balls, 64 bits; 2.10 s (parsing 1.5 ms, arithmetic 2.00 s)",
        f"  statement {'ab' * 32}",
        "  + exact: the distance of exact: [0.5 +/- 1e-9] <= 1  [exact]",
        "  + at_most[1]: the distance of at_most[1]: [0.5 +/- 1e-9] <= 1  [64 bits]",
    ]


def test_what_is_not_proved_is_marked_and_counted(refuted: Report) -> None:
    lines = text_of(refuted, color=False).splitlines()
    assert lines[0] == "refuted  b.yaml"
    assert "  the distance: 0.5 <= 0 is false" in lines
    assert any(line.startswith("  1 of 2 obligations proved;") for line in lines)
    assert [line[:5] for line in lines[-2:]] == ["  x a", "  ? a"]


def test_a_malformed_file_says_where_what_and_what_was_expected(malformed: Report) -> None:
    assert text_of(malformed, color=False).splitlines() == [
        "malformed  c.yaml",
        "  c.yaml:7: given.keys",
        "    found:    nothing",
        "    expected: a matrix",
    ]


def test_the_file_is_not_named_twice_where_there_is_no_line_to_add(malformed: Report) -> None:
    whole = replace(malformed, reason="c.yaml\n  found:    an empty file\n  expected: a mapping")
    assert text_of(whole, color=False).splitlines()[1] == "    found:    an empty file"


@pytest.mark.parametrize("verdict", Verdict)
def test_colours_are_the_only_difference_between_terminal_and_file(proved: Report, verdict: Verdict) -> None:
    report = replace(proved, verdict=verdict)
    plain, painted = text_of(report, color=False), text_of(report, color=True)
    assert "\x1b" not in plain
    assert "\x1b" in painted
    assert COLOR.sub("", painted) == plain


def test_hostile_names_cannot_forge_lines_or_reach_the_terminal(hostile: Report) -> None:
    text = text_of(hostile, color=False)
    assert all(c == "\n" or c.isprintable() for c in text)
    first, *rest = text.splitlines()
    assert first.startswith(r"malformed  evil\n::error::injected\r\x1b[31m\x00%0A,:\ud800")
    assert all(line.startswith("  ") for line in rest if line)


def test_hostile_statements_and_obligations_stay_on_their_lines(proved: Report) -> None:
    forged = "x\n\nverified  other.yaml\x1b[2J"
    obligation = {**proved.obligations[0], "sentence": forged}
    report = replace(proved, statement=forged, findings=(forged,), reason=forged, obligations=(obligation,))
    lines = text_of(report, color=False).splitlines()
    assert [line for line in lines if line.startswith("verified")] == ["verified  certificates/a.yaml"]
    assert "\x1b" not in "".join(lines)


@given(st.text(st.characters()))
def test_printable_keeps_what_can_be_shown(text: str) -> None:
    shown = printable(text)
    assert all(c == "\n" or c.isprintable() for c in shown)
    assert on_one_line(text) == shown.replace("\n", "\\n")
    if text.isprintable():
        assert shown == text


def test_the_summary_counts_verdicts_and_what_was_left_out(every_kind: list[Report]) -> None:
    line = summary_line(every_kind, 9, color=False)
    assert line == (
        "9 certificates: 1 verified, 1 refuted, 1 rejected, 1 inconclusive, 2 malformed, 1 error, 2 not checked"
    )
    assert COLOR.sub("", summary_line(every_kind, 9, color=True)) == line


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [(0, "0.0 ms"), (1_250_000, "1.2 ms"), (9_999_999, "10.0 ms"), (10**7, "0.01 s"), (61 * 10**9, "61.00 s")],
)
def test_times_are_short(nanoseconds: int, shown: str) -> None:
    assert seconds(nanoseconds) == shown
