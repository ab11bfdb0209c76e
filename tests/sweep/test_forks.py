"""Limits of generating, and what becomes of a process that does not end well."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certattn.kernel.errors import NotProvedError
from certattn.kernel.limits import Limits
from certattn.kernel.verdict import Verdict
from certattn.sweep import maker
from certattn.sweep.forks import run_limited
from certattn.sweep.spec import Spec
from certattn.sweep.tasks import Settings, Task

from .conftest import OPERATOR

MUCH = 2**34


def test_an_answer() -> None:
    assert run_limited(lambda: {"a": [1]}, 60, MUCH).answer == {"a": [1]}


def test_over_time() -> None:
    outcome = run_limited(lambda: time.sleep(60), 1, MUCH)
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
    outcome = run_limited(work, 60, 2**33)
    assert outcome.answer is None
    assert said in outcome.reason


def test_only_its_own_descriptors_are_open_in_it() -> None:
    with Path("/dev/null").open() as other:
        assert run_limited(lambda: os.path.exists(f"/dev/fd/{other.fileno()}"), 60, MUCH).answer is False  # noqa: PTH110


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
    made = maker._made(task, tmp_path, Settings(Limits(timeout_seconds=1 if raised is None else 60)))
    assert (made["verdict"], made["limit"]) == (verdict.value, limit)
