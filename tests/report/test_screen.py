"""Who is shown colours and lines that change."""

from __future__ import annotations

import io

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.report.screen import COLORS, is_coloured, is_drawn_on


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "kind", "no_color", "drawn", "coloured"),
    [
        (Terminal, "xterm", "", True, True), (Terminal, "xterm", "1", True, False),
        (Terminal, "dumb", "", False, False), (Terminal, "unknown", "", False, False),
        (io.StringIO, "xterm", "", False, False),
    ],
    ids=["a terminal", "without colours", "a dumb one", "an unknown one", "a pipe"],
)  # fmt: skip
def test_what_a_stream_gets(
    stream: type[io.StringIO], kind: str, no_color: str, drawn: bool, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert is_drawn_on(stream()) is drawn
    assert is_coloured(stream()) is coloured


def test_every_verdict_has_a_colour() -> None:
    assert COLORS.keys() == {verdict.value for verdict in Verdict}
