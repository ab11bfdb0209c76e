"""Progress: a line on a terminal, nothing anywhere else."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from certattn.report.progress import Progress, counting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    screen = Terminal()
    # pytest puts its own stderr in place between a fixture and its test.
    monkeypatch.setattr("certattn.report.progress.sys", SimpleNamespace(stderr=screen))
    monkeypatch.setenv("TERM", "xterm")
    return screen


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [0]
    monkeypatch.setattr("certattn.report.progress.time", SimpleNamespace(monotonic_ns=lambda: now[0]))
    return now


def test_the_line_says_how_many_how_long_and_which(terminal: Terminal, clock: list[int]) -> None:
    with Progress(3) as shown:
        shown.started(Path("folder/a.yaml"))
        assert terminal.getvalue() == "[0/3] 0 s  checking a.yaml"
        shown.finished()
        clock[0] = 2 * 10**9
        shown.waited()
        assert terminal.getvalue().endswith("\r\x1b[K[1/3] 2 s  checking a.yaml")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_leaving_binary64_is_said_on_a_line_that_stays(terminal: Terminal, clock: list[int]) -> None:
    with Progress(2) as shown:
        shown.started(Path("folder/a.yaml"))
        shown.left(Path("folder/a.yaml"), "scores beyond\n11,000\x1b[2J" + "x" * 500)
        line, _, rest = terminal.getvalue().rpartition("\n")
        assert line.rpartition("\x1b[K")[2].startswith(r"a.yaml: scores beyond\n11,000\x1b[2Jxxx")
        assert line.endswith("; continuing in Arb, which takes longer")
        assert len(line) < 330
        assert rest == "[0/2] 0 s  checking a.yaml in Arb"
        shown.started(Path("folder/b.yaml"))
        assert terminal.getvalue().endswith("checking b.yaml")


def test_the_line_is_drawn_once_a_second(terminal: Terminal, clock: list[int]) -> None:
    with Progress(1) as shown:
        shown.started(Path("a.yaml"))
        drawn = terminal.getvalue()
        shown.waited()
        assert terminal.getvalue() == drawn


def test_the_line_comes_back_after_a_result(terminal: Terminal, clock: list[int]) -> None:
    with Progress(2) as shown:
        shown.started(Path("a.yaml"))
        shown.clear()
        shown.clear()
        assert terminal.getvalue() == "[0/2] 0 s  checking a.yaml\r\x1b[K"
        shown.waited()
        assert terminal.getvalue().endswith("[0/2] 0 s  checking a.yaml")


def test_hostile_and_long_names_stay_on_the_line(terminal: Terminal) -> None:
    with Progress(1) as shown:
        shown.started(Path("a\x1b[2J\nb" + "x" * 200))
        assert "\n" not in terminal.getvalue()
        assert "\x1b" not in terminal.getvalue()
        assert len(terminal.getvalue()) < 80


def test_nothing_is_written_where_nobody_looks_on(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(1) as shown:
        shown.started(Path("a.yaml"))
        shown.left(Path("a.yaml"), "scores beyond")
        shown.waited()
        shown.finished()
    assert capsys.readouterr() == ("", "")


def test_the_line_goes_away_before_an_error(terminal: Terminal) -> None:
    def fail() -> None:
        with Progress(1) as shown:
            shown.started(Path("a.yaml"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_without_a_name_none_is_said(terminal: Terminal, clock: list[int]) -> None:
    with Progress(3) as shown:
        shown.waited()
        assert terminal.getvalue() == "[0/3] 0 s"


def test_things_are_counted_on_one_line_that_stays(terminal: Terminal) -> None:
    say = counting("heads stated")
    say(1, 2)
    say(2, 2, ", about 0 s left")
    assert terminal.getvalue() == "\r\x1b[K1 of 2 heads stated\r\x1b[K2 of 2 heads stated, about 0 s left\n"


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_dumb_terminal_gets_no_lines_that_change(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("TERM", kind)
    counting("steps")(1, 2)
    with Progress(1) as shown:
        shown.started(Path("a.yaml"))
    assert terminal.getvalue() == ""
