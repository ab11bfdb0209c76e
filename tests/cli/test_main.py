"""The program as a process: streams, encodings, colours, full disks, and errors as messages."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import resource
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click
import pytest

import certattn
from certattn.cli import main
from certattn.kernel.errors import LimitExceededError, NotProvedError, UsageError

Run = Callable[..., Any]
Write = Callable[..., Path]
Program = Callable[..., "subprocess.CompletedProcess[bytes]"]


# -- errors become messages


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (UsageError("no such thing"), 2, "certattn: no such thing\n"),
        (NotProvedError("too small"), 1, "certattn: too small\n"),
        (LimitExceededError("too large"), 4, "certattn: too large\n"),
        (KeyboardInterrupt(), 130, "certattn: interrupted\n"),
        (KeyboardInterrupt("go on"), 130, "certattn: interrupted; go on\n"),
        (click.Abort(), 130, "certattn: interrupted\n"),
        (MemoryError(), 4, "certattn: out of memory\n"),
        (OSError(errno.ENOSPC, "No space left on device", "a.yaml"), 4, "certattn: a.yaml: no space left on device\n"),
        (OSError(errno.EMFILE, "Too many open files"), 4, "certattn: too many open files\n"),
        (PermissionError(errno.EACCES, "Permission denied", "a.yaml"), 2, "certattn: a.yaml: permission denied\n"),
        (OSError("odd"), 2, "certattn: odd\n"),
        (UsageError("a\x1b[31m\n  b\x07\ud800"), 2, "certattn: a\\x1b[31m\n  b\\x07\\ud800\n"),
        (RuntimeError("surprise"), 70, "certattn: a bug in certattn: RuntimeError: surprise (test_main.py:"),
        (AssertionError(), 70, "please report it\n"),
    ],
    ids=repr,
)
def test_every_error_is_a_message_and_a_status(
    certattn_run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, words: str
) -> None:
    def fail(**_: object) -> NoReturn:
        raise error

    monkeypatch.setitem(main.COMMANDS, "fail", "Fail.")
    monkeypatch.setattr(main.LazyGroup, "get_command", lambda *_: click.Command("fail", callback=fail))
    done = certattn_run("fail")
    assert (done.status, done.out) == (status, "")
    assert words in done.err
    assert "Traceback" not in done.err


def test_version_and_help(certattn_run: Run) -> None:
    assert certattn_run("--version").out == f"certattn {certattn.__version__}\n"
    done = certattn_run("--help")
    assert done.status == 0
    for name in ("check", "generate", "show", "derive", "schema"):
        assert re.search(rf"^  {name} ", done.out, re.MULTILINE)
    assert certattn_run().status in (0, 2)  # older and newer versions of click
    assert "No such command 'chekc'" in certattn_run("chekc").err


@pytest.mark.parametrize("command", [c for c in main.COMMANDS if c != "derive"])
def test_every_command_has_the_help_of_the_list_and_an_example(certattn_run: Run, command: str) -> None:
    done = certattn_run(command, "--help")
    assert done.status == 0
    assert command == "generate" or "Example" in done.out


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["chek"], "No such command 'chek'. Did you mean 'check'?"),
        (["generate", "softmax-men"], "No such command 'softmax-men'. Did you mean 'softmax-mean'?"),
        (["qqq"], "No such command 'qqq'."),
        (["derive", "softmax-men"], "no derivation is called 'softmax-men'; did you mean 'softmax-mean'?"),
    ],
)
def test_a_name_that_is_mistyped_suggests_the_nearest(certattn_run: Run, typed: list[str], said: str) -> None:
    done = certattn_run(*typed)
    assert done.status == 2
    assert f"Error: {said}" in done.err
    assert ("mean '" in done.err) is ("mean '" in said)


def test_the_module_is_the_program(program: Program, write: Write) -> None:
    done = program("check", write("verified").name)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"verified  verified.yaml\n")


# -- streams


def closed(*descriptors: int) -> Callable[[], None]:
    def close() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    return close


@pytest.mark.heavy
@pytest.mark.parametrize("streams", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
def test_closed_streams(program: Program, write: Write, streams: tuple[int, ...]) -> None:
    for verdict, status in (("verified", 0), ("refuted", 1), ("malformed", 2)):
        done = program("check", write(verdict), preexec_fn=closed(*streams))
        assert done.returncode == status
        assert b"Traceback" not in done.stdout + done.stderr
    assert program("check", "--nothing", preexec_fn=closed(*streams)).returncode == 2


@pytest.mark.parametrize("arguments", [["check", "verified.yaml"], ["show", "verified.yaml"], ["schema"]])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_under_the_output(program: Program, write: Write, arguments: list[str]) -> None:
    write("verified")
    with open("/dev/full", "wb") as full:
        done = program(*arguments, stdout=full)
    assert (done.returncode, done.stderr) == (4, b"certattn: no space left on device\n")


@pytest.mark.parametrize("options", [[], ["--format", "json"], ["--report", "json=/dev/full"]])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_hides_no_verdict(program: Program, write: Write, options: list[str]) -> None:
    write("refuted")
    write("verified")
    with open("/dev/full", "wb") as full:
        done = program("check", "refuted.yaml", "verified.yaml", *options, stdout=full)
    assert (done.returncode, done.stderr) == (1, b"certattn: no space left on device\n")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["check", "refuted.yaml"], 1),
        (["generate", "output-deviation", "missing.npz", "-o", "c.yaml"], 2),
        (["generate", "output-deviation", "head.npz", "-o", "c.yaml", "--at-most", "0"], 1),
        (["chekc"], 2),
        (["check", "--nothing"], 2),
        (["show", "refuted.yaml"], 4),
    ],
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_under_the_messages(
    program: Program, write: Write, head: Path, arguments: list[str], status: int
) -> None:
    write("refuted")
    with open("/dev/full", "wb") as full:
        assert program(*arguments, stderr=full, stdout=full).returncode == status


def test_a_reader_of_messages_that_goes_away(program: Program, folder: Path) -> None:
    ear, mouth = os.pipe()
    os.close(ear)
    done = program("show", "missing.yaml", stderr=mouth)
    os.close(mouth)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("form", ["text", "json", "junit", "github"])
def test_no_format_hides_or_passes_on_what_is_in_a_name(program: Program, write: Write, form: str) -> None:
    write("malformed", "a\x1b[31mb.yaml")
    done = program("check", "a\x1b[31mb.yaml", "--format", form)
    assert b"\x1b" not in done.stdout
    shown = {"text": rb"\x1b[31mb", "json": rb"\u001b[31mb", "github": rb"\x1b[31mb", "junit": b"&#65533;[31mb"}
    assert shown[form] in done.stdout


@pytest.mark.parametrize("form", ["text", "json", "junit", "github"])
def test_a_reader_that_goes_away(program: Program, write: Write, form: str) -> None:
    write("refuted")
    ear, mouth = os.pipe()
    os.close(ear)
    done = program("check", "refuted.yaml", "--format", form, stdout=mouth)
    os.close(mouth)
    assert (done.returncode, done.stderr) == (141, b"")


def test_head_of_the_output(folder: Path, write: Write) -> None:
    for index in range(20):
        write("verified", f"{index:02}.yaml")
    script = f"{sys.executable} -m certattn check . --explain | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[0] == "verified  00.yaml"
    assert done.stdout.splitlines()[-1] in ("0", "141")
    assert done.stderr == ""


ENCODINGS = [
    {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "latin-1:strict"},
    {"PYTHONIOENCODING": "utf-8:strict"},
    {"PYTHONIOENCODING": "utf-16"},
]


@pytest.mark.parametrize("env", ENCODINGS, ids=str)
@pytest.mark.parametrize("form", ["text", "json", "junit", "github"])
def test_any_name_in_any_encoding(program: Program, write: Write, env: dict[str, str], form: str) -> None:
    for name in (b"\xff\xfe.yaml", "ünï→😀.yaml".encode(), b"new\nline.yaml"):
        write("malformed").rename(os.fsdecode(name))
    done = program("check", ".", "missing\udcff.yaml", "--format", form, env=env)
    assert (done.returncode, done.stderr) == (2, b"")
    if form == "json" and "utf-16" not in env.values():
        assert len(json.loads(done.stdout)["reports"]) == 4


@pytest.mark.parametrize("env", ENCODINGS, ids=str)
def test_any_name_of_a_missing_file_in_any_encoding(program: Program, env: dict[str, str]) -> None:
    done = program("show", "missing\udcff→😀.yaml", env=env)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


# -- a full disk under a generated certificate


def test_a_file_size_limit(program: Program, head: Path, folder: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    # Without byte code files, which would be cut off too.
    done = program("generate", "output-deviation", "head.npz", "-o", "c.yaml", preexec_fn=limit, env=NO_BYTE_CODE)
    assert (done.returncode, done.stdout) == (4, b"")
    assert done.stderr == b"certattn: c.yaml: cannot be written (file too large)\n"
    assert [path.name for path in folder.iterdir()] == ["head.npz"]


NO_BYTE_CODE = {"PYTHONDONTWRITEBYTECODE": "1"}


# -- terminals


def on_a_terminal(*arguments: str, env: dict[str, str] | None = None, stdout: int | None = None) -> tuple[int, str]:
    """The exit status, and what a person sees."""
    pid, terminal = pty.fork()
    if pid == 0:
        if stdout is not None:
            os.dup2(stdout, 1)
        os.execve(sys.executable, [sys.executable, "-m", "certattn", *arguments], {**os.environ, **(env or {})})
    screen = b""
    end = time.monotonic() + 60
    while time.monotonic() < end and select.select([terminal], [], [], 60)[0]:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            break
        if not chunk:
            break
        screen += chunk
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), screen.decode().replace("\r\n", "\n")


def test_a_terminal_shows_colours_and_progress(write: Write) -> None:
    write("verified")
    write("refuted")
    status, screen = on_a_terminal("check", ".", env={"NO_COLOR": ""})
    assert status == 1
    assert "\x1b[32m\x1b[1mverified\x1b[0m  verified.yaml\n" in screen
    assert "\x1b[31m\x1b[1mrefuted\x1b[0m  refuted.yaml\n" in screen
    assert re.search(r"\[[01]/2\] \d s  checking \w+\.yaml", screen)
    assert screen.endswith("2 certificates: 1 \x1b[32m\x1b[1mverified\x1b[0m, 1 \x1b[31m\x1b[1mrefuted\x1b[0m\n")


def test_no_color_is_honoured(write: Write) -> None:
    status, screen = on_a_terminal("check", write("verified").name, env={"NO_COLOR": "1"})
    assert status == 0
    assert "\x1b[K" in screen
    assert "\x1b" not in screen.replace("\x1b[K", "")


def test_results_go_to_stdout_and_progress_to_the_terminal(write: Write, folder: Path) -> None:
    write("verified")
    with open(folder / "out.txt", "wb") as out:
        status, screen = on_a_terminal("check", "verified.yaml", env={"NO_COLOR": ""}, stdout=out.fileno())
    assert status == 0
    assert "checking verified.yaml" in screen
    text = (folder / "out.txt").read_text()
    assert text.startswith("verified  verified.yaml\n")
    assert "\x1b" not in text


def test_no_colours_and_no_progress_in_a_pipe(program: Program, write: Write) -> None:
    done = program("check", write("verified"), env={"FORCE_COLOR": "1"})
    assert b"\x1b" not in done.stdout
    assert done.stderr == b""
