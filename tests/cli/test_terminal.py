"""Commands on a terminal that is one: tables and bars with rich, plain lines without it."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]
Screen = Callable[..., str]

# Without rich as where it is not installed.
WITHOUT = "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None\n"
PROGRAM = "from certattn.cli.main import main\nmain()\n"
RULE = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"
BAR = "\N{BOX DRAWINGS HEAVY HORIZONTAL}"


@pytest.fixture
def on_terminal(folder: Path) -> Screen:
    """What a command writes on a terminal of 100 columns."""

    def run(*arguments: str | Path, without_rich: bool = False, **environment: str) -> str:
        source = (WITHOUT if without_rich else "") + PROGRAM
        pid, descriptor = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
            kept = {name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
            command = [sys.executable, "-c", source, *map(str, arguments)]
            os.execve(sys.executable, command, {**kept, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment})
        written = b""
        while True:
            try:
                chunk = os.read(descriptor, 65536)
            except OSError:  # the other side has closed it
                break
            if not chunk:
                break
            written += chunk
        os.close(descriptor)
        os.waitpid(pid, 0)
        return written.decode().replace("\r\n", "\n")

    return run


def test_with_rich_a_check_ends_with_a_table_and_shows_bars(on_terminal: Screen, write: Write) -> None:
    text = on_terminal("check", write("verified"), write("refuted"))
    assert RULE in text
    assert BAR in text
    assert "\x1b[32mverified\x1b[0m" in text.replace("\x1b[1m", "") or "\x1b[1;32mverified" in text
    assert text.rstrip().splitlines()[-1].startswith("2 certificates: 1 ")
    assert "claim" in text


@pytest.mark.parametrize("how", [{"without_rich": True}, {"TERM": "dumb"}])
def test_without_it_lines_are_plain(on_terminal: Screen, write: Write, how: dict[str, str]) -> None:
    text = on_terminal("check", write("verified"), write("refuted"), **how)
    assert RULE not in text
    assert BAR not in text
    assert text.rstrip().splitlines()[-1].startswith("2 certificates: 1 ")
    assert ("\x1b[" in text) is ("TERM" not in how)
    assert ("[0/2] 0 s  checking" in text) is ("TERM" not in how)


def test_json_on_a_terminal_is_json(on_terminal: Screen, write: Write) -> None:
    text = on_terminal("check", write("verified"), write("refuted"), "--format", "json")
    _, _, written = text.rpartition("\x1b[K")
    assert len(json.loads(written)["reports"]) == 2


def test_a_sweep_tells_its_outcomes_in_a_table(on_terminal: Screen, folder: Path) -> None:
    (folder / "spec.yaml").write_text(
        "certattn-sweep: 1\nclaim: softmax-mean\narrays:\n"
        + "".join(f"  {name}: {{draw: normal, shape: [2, 1], seed: $seed}}\n" for name in ("keys", "values", "queries"))
        + "inputs: {scale: 1}\ngrid: {seed: [0, 1]}\n"
    )
    rich = on_terminal("sweep", "spec.yaml", "-o", "out")
    assert RULE in rich
    assert "outcome" in rich
    plain = on_terminal("sweep", "--status", "out", without_rich=True)
    assert plain.splitlines() == ["2 tasks", "  verified  2"]
