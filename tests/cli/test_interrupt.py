"""Ctrl-C and the other ways to end a run: a message, a status, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest


def processes(group: int) -> list[str]:
    """The processes of a group that have not ended."""
    shown = subprocess.run(["ps", "-A", "-o", "pgid=,stat=,pid="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in shown.stdout.splitlines()]
    return [pid for pgid, state, pid in rows if pgid == str(group) and not state.startswith("Z")]


def start(*arguments: str, until: Callable[[int], bool]) -> subprocess.Popen[bytes]:
    """A run that has got so far."""
    process = subprocess.Popen(
        [sys.executable, "-m", "certattn", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    end = time.monotonic() + 20
    while not until(process.pid) and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.1)
    assert process.poll() is None
    return process


def workers(count: int) -> Callable[[int], bool]:
    return lambda group: len(processes(group)) >= 1 + count


STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.mark.parametrize("to", ["group", "parent"])
@pytest.mark.parametrize("number", STATUS, ids=lambda s: s.name)
def test_a_check_is_ended_with_its_workers(slow: Path, folder: Path, number: signal.Signals, to: str) -> None:
    shutil.copy(slow, folder / "other.yaml")
    before = sorted(folder.iterdir())
    run = start("check", ".", "--jobs", "2", until=workers(2))
    begun = time.monotonic()
    (os.killpg if to == "group" else os.kill)(run.pid, number)
    out, err = run.communicate(timeout=20)
    assert time.monotonic() - begun < 5
    assert (run.returncode, out) == (STATUS[number], b"")
    assert err.strip() == (b"certattn: interrupted" if number == signal.SIGINT else b"")
    assert processes(run.pid) == []
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("number", STATUS, ids=lambda s: s.name)
def test_a_generation_leaves_neither_certificate_nor_copy(slow: Path, folder: Path, number: signal.Signals) -> None:
    out = folder / "out"
    out.mkdir()
    run = start(
        "generate", "output-deviation", "slow.npz", "-o", "out/c.yaml", until=lambda _: (out / "c.npz").exists()
    )
    os.killpg(run.pid, number)
    output, err = run.communicate(timeout=20)
    assert (run.returncode, output) == (STATUS[number], b"")
    assert b"Traceback" not in err
    assert list(out.iterdir()) == []


def test_a_parent_that_is_killed_takes_its_workers_along(slow: Path, folder: Path) -> None:
    shutil.copy(slow, folder / "other.yaml")
    run = start("check", ".", "--jobs", "2", until=workers(2))
    run.kill()
    run.communicate(timeout=20)
    end = time.monotonic() + 5
    while processes(run.pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert processes(run.pid) == []


def test_what_was_checked_before_is_there(slow: Path, folder: Path) -> None:
    (folder / "bad.yaml").write_text("certattn: 1\n")
    run = start("check", "bad.yaml", "slow.yaml", "--jobs", "1", until=workers(1))
    time.sleep(0.5)
    os.killpg(run.pid, signal.SIGINT)
    out, _ = run.communicate(timeout=20)
    assert run.returncode == 130
    assert out.startswith(b"malformed  bad.yaml\n")


# Stands in for the library until it has interrupted its importer.
INTERRUPTING = """\
import os, signal, sys
os.kill(os.getpid(), signal.SIGINT)
sys.path.remove(os.path.dirname(__file__))
del sys.modules["click"]
import click
"""


@pytest.mark.parametrize("ignored", [False, True])
def test_an_interrupt_during_the_imports(folder: Path, ignored: bool) -> None:
    (folder / "early").mkdir()
    (folder / "early/click.py").write_text(INTERRUPTING)
    path = os.pathsep.join([str(folder / "early"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "certattn", "--version"],
        env={**os.environ, "PYTHONPATH": path},
        preexec_fn=(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if ignored else None,
        capture_output=True,
        timeout=60,
        check=False,
    )
    if ignored:
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.startswith(b"certattn ")
    else:
        assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"certattn: interrupted\n")


def test_json_is_whole_or_not_there(slow: Path) -> None:
    run = start("check", "slow.yaml", "--format", "json", until=workers(1))
    os.killpg(run.pid, signal.SIGINT)
    assert run.communicate(timeout=20)[0] == b""
