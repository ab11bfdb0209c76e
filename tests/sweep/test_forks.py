"""Limits of pieces of work, and what becomes of a process that does not end well."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import NotProvedError
from certattn.kernel.limits import Limits
from certattn.sweep import maker
from certattn.sweep.forks import Outcome, done
from certattn.sweep.spec import Spec
from certattn.sweep.tasks import Settings, Task

from .conftest import MEAN, OPERATOR

MUCH = 2**34


def once(work: Callable[[], Any], seconds: int = 60, memory: int = MUCH) -> Outcome:
    return done(work, seconds, memory)


def test_an_answer() -> None:
    assert once(lambda: {"a": [1]}).answer == {"a": [1]}


def test_over_time() -> None:
    outcome = once(lambda: time.sleep(60), 1)
    assert outcome.over_time
    assert outcome.answer is None


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "signal 11"),
        (lambda: os._exit(3), "exit status 3"),
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: {1, 2}, "TypeError"),
        (lambda: bytes(MUCH), "MemoryError"),
    ],
    ids=["crash", "exit", "exception", "no plain data", "memory"],
)
def test_a_process_that_does_not_end_well(work: Callable[[], Any], said: str) -> None:
    outcome = once(work, 60, 2**33)
    assert outcome.answer is None
    assert said in outcome.reason


def test_only_its_own_descriptors_are_open_in_it() -> None:
    with Path("/dev/null").open() as other:
        assert once(lambda: os.path.exists(f"/dev/fd/{other.fileno()}")).answer is False  # noqa: PTH110


def test_a_process_ends_with_the_one_that_forked_it(tmp_path: Path) -> None:
    script = f"""
import os, time
from certattn.sweep.forks import done

def work():
    open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
    time.sleep(60)

done(work, 60, 2**34)
"""
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.05)
        process.kill()
    child = int((tmp_path / "pid").read_text())
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":  # nobody waits for it here
            return
        time.sleep(0.05)
    raise AssertionError("it goes on")


# -- generating


@pytest.mark.parametrize(
    ("raised", "verdict", "limit"),
    [
        (NotProvedError("not true"), Verdict.REJECTED, ""),
        (MemoryError(), Verdict.INCONCLUSIVE, "memory"),
        (ZeroDivisionError(), Verdict.ERROR, ""),
        (None, Verdict.INCONCLUSIVE, "time"),
    ],
)
def test_what_becomes_of_a_prover_that_fails(
    spec: Callable[[str], Spec],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    raised: Exception | None,
    verdict: Verdict,
    limit: str,
) -> None:
    def prover(out: Path, **inputs: Any) -> None:
        if raised is None:
            time.sleep(60)
        else:
            raise raised

    task: Task = spec(OPERATOR).tasks()[0]
    monkeypatch.setattr("certattn.provers.PROVERS", {task.claim: prover})
    made = maker.made(task, tmp_path, Settings(Limits(timeout_seconds=1 if raised is None else 60)))
    assert (made["verdict"], made["limit"]) == (verdict.value, limit)


@pytest.mark.parametrize("text", [OPERATOR, MEAN], ids=["texts", "arrays"])
def test_certificates_do_not_depend_on_those_before(spec: Callable[[str], Spec], tmp_path: Path, text: str) -> None:
    tasks = spec(text).tasks()

    def files(name: str, each: list[Task]) -> dict[tuple[str, str], bytes]:
        for task in each:
            folder = tmp_path / name / task.key
            folder.mkdir(parents=True)
            assert "digest" in maker.made(task, folder, Settings())
        return {
            (task.key, path.name): path.read_bytes() for task in each for path in (tmp_path / name / task.key).iterdir()
        }

    assert files("one", tasks[::-1]) == files("another", tasks)
