"""Tables on a terminal: with rich where it is installed, plain lines everywhere else."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.report.screen import COLORS, is_coloured, is_drawn_on, tabulated
from certattn.report.text import by_claim
from certattn.statements.reports import Report

COLOR = re.compile(r"\x1b\[[0-9;]*m")
TABLE = ("claim", "verified"), [("output-tail", "12"), ("max-margin", "verified")]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


def shown(stream: io.StringIO) -> str:
    return tabulated(stream, *TABLE, otherwise="plain")


def test_a_terminal_gets_a_table() -> None:
    lines = COLOR.sub("", shown(Terminal())).splitlines()
    assert [line.split() for line in (lines[0], *lines[2:])] == [
        ["claim", "verified"], ["output-tail", "12"], ["max-margin", "verified"],
    ]  # fmt: skip
    assert len({len(line) for line in lines}) == 1
    assert lines[2].endswith(" 12")
    assert "\x1b[32m" in shown(Terminal())


def test_pipes_and_files_get_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert shown(io.StringIO()) == "plain"
    assert not is_coloured(io.StringIO())


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_dumb_terminal_gets_none(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("TERM", kind)
    assert shown(Terminal()) == "plain"
    assert not is_drawn_on(Terminal())
    assert not is_coloured(Terminal())


def test_without_rich_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert shown(Terminal()) == "plain"
    assert is_coloured(Terminal())


def test_no_color_takes_the_colours_and_leaves_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_coloured(Terminal())
    codes = {code for found in re.findall(r"\x1b\[([0-9;]*)m", shown(Terminal())) for code in found.split(";")}
    assert codes == {"0", "1"}  # bold, and its end
    assert "output-tail" in shown(Terminal())


def test_where_a_table_has_no_room_lines_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = max(len(COLOR.sub("", line)) for line in shown(Terminal()).splitlines())
    for columns in range(5, 40):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert (shown(Terminal()) == "plain") is (columns < whole), columns


def test_strangers_write_no_markup() -> None:
    text = tabulated(Terminal(), ("a",), [("[red]x[/red] :smile:",)], otherwise="plain")
    assert "[red]x[/red] :smile:" in text


def test_every_verdict_has_a_colour() -> None:
    assert COLORS.keys() == {verdict.value for verdict in Verdict}


def test_the_table_counts_every_verdict_of_every_claim(proved: Report, refuted: Report, malformed: Report) -> None:
    columns, rows = by_claim([proved, refuted, malformed, replace(proved, claim="softmax-mean")])
    assert columns == ["claim", "certificates", "verified", "refuted", "malformed", "time"]
    assert rows == [
        ["-", "1", "", "", "1", "0.0 ms"],
        ["output-deviation", "2", "1", "1", "", "2.10 s"],
        ["softmax-mean", "1", "1", "", "", "2.10 s"],
    ]
