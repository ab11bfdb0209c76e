"""Limits of pieces of work, what becomes of a process that does not end well, and what its next piece sees of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import NotProvedError
from certattn.kernel.limits import Limits
from certattn.sweep import forks, maker
from certattn.sweep.forks import Outcome, Series, limit_memory
from certattn.sweep.results import CERTIFICATE
from certattn.sweep.spec import Spec
from certattn.sweep.tasks import Settings, Task

from .conftest import MEAN, OPERATOR

MUCH = 2**34
State = list[Any]


def nothing(memory: int) -> None:
    """What a process begins with."""


@pytest.fixture
def once() -> Iterator[Callable[..., Outcome]]:
    """What comes of one piece of work."""
    begun: list[Series] = []

    def run(work: Callable[[], Any], seconds: int = 60, memory: int = MUCH) -> Outcome:
        series = Series(limit_memory, lambda piece: work(), lambda answer: True)
        begun.append(series)
        return series.ask(None, seconds, memory)

    yield run
    for series in begun:
        series.end()


@pytest.fixture
def series() -> Iterator[Series]:
    """Pieces are code that answers with `answer`; `seen` is what those before have left. 0 is no good answer."""
    seen: State = []

    def work(code: str) -> Any:
        known: dict[str, Any] = {"seen": seen, "answer": None, "os": os, "sys": sys, "time": time}
        exec(code, known)
        return [known["answer"], os.getpid(), len(seen)]

    made = Series(nothing, work, lambda answer: answer[0] != 0)
    yield made
    made.end()


def test_an_answer(once: Callable[..., Outcome]) -> None:
    assert once(lambda: {"a": [1]}).answer == {"a": [1]}


def test_over_time(once: Callable[..., Outcome]) -> None:
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
def test_a_process_that_does_not_end_well(once: Callable[..., Outcome], work: Callable[[], Any], said: str) -> None:
    outcome = once(work, 60, 2**33)
    assert outcome.answer is None
    assert said in outcome.reason


def test_only_its_own_descriptors_are_open_in_it(once: Callable[..., Outcome]) -> None:
    with Path("/dev/null").open() as other:
        assert once(lambda: os.path.exists(f"/dev/fd/{other.fileno()}")).answer is False  # noqa: PTH110


# -- one piece after another


def test_a_process_goes_on_while_all_is_well(series: Series) -> None:
    outcomes = [series.ask("seen.append(1)", 60, MUCH) for _ in range(3)]
    assert [outcome.answer[2] for outcome in outcomes] == [1, 2, 3]
    assert len({outcome.answer[1] for outcome in outcomes}) == 1
    assert [outcome.first for outcome in outcomes] == [True, False, False]


@pytest.mark.parametrize(
    "piece",
    [
        "answer = 0",
        "1 / 0",
        "os._exit(0)",
        "os.abort()",
        "seen.append(bytes(100 * 2**20))",
        "time.sleep(60)",
        "os.kill(os.getppid(), 0); answer = {1}",
    ],
)
def test_what_ends_a_process(series: Series, piece: str) -> None:
    before = series.ask("seen.append(1)", 60, MUCH).answer
    assert not series.ask(piece, 1, MUCH).first
    after = series.ask("seen.append(1)", 60, MUCH)
    assert after.first
    assert after.answer[1] != before[1]
    assert after.answer[2] == 1


def test_a_process_ends_after_many_pieces_and_for_other_limits(series: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "MOST_PIECES", 3)
    assert [series.ask("", 60, MUCH).first for _ in range(7)] == [True, False, False] * 2 + [True]
    assert series.ask("", 60, MUCH // 2).first


def test_a_process_that_ended_while_it_had_nothing_to_do(series: Series) -> None:
    os.kill(series.ask("", 60, MUCH).answer[1], signal.SIGKILL)
    outcome = series.ask("", 60, MUCH)
    assert (outcome.answer, outcome.first) == (None, False)
    assert "signal 9" in outcome.reason
    assert series.ask("", 60, MUCH).first


def test_complaints_do_not_add_up_until_nothing_moves(series: Series) -> None:
    outcomes = [series.ask("print('x' * 50000)", 60, MUCH) for _ in range(5)]
    assert [outcome.first for outcome in outcomes] == [True] + [False] * 4


def test_a_process_ends_with_the_one_that_forked_it(tmp_path: Path) -> None:
    script = f"""
import os, time
from certattn.sweep.forks import Series
series = Series(lambda memory: None, lambda piece: time.sleep(piece) or os.getpid(), bool)
open({str(tmp_path / "pid")!r}, "w").write(str(series.ask(0, 60, 2**34).answer))
print(flush=True)
series.ask(60, 60, 2**34)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        time.sleep(0.2)
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
    with closing(maker.Making()) as making:
        made = making.made(task, tmp_path, Settings(Limits(timeout_seconds=1 if raised is None else 60)))
    assert (made["verdict"], made["limit"]) == (verdict.value, limit)


def test_what_others_left_behind_fails_nothing(
    spec: Callable[[str], Spec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: State = []

    def prover(out: Path, **inputs: Any) -> Any:
        """Fails in a process that has made something before, and leaves half a file there."""
        if left:
            Path("half.npz").touch()
            Path("half").mkdir()
            raise NotProvedError("something was left")
        left.append(1)
        out.touch()
        return SimpleNamespace(digest="d" * 64)

    tasks = spec(OPERATOR).tasks()
    monkeypatch.setattr("certattn.provers.PROVERS", {tasks[0].claim: prover})
    with closing(maker.Making()) as making:
        for number, task in enumerate(tasks[:3]):
            folder = tmp_path / str(number)
            folder.mkdir()
            assert making.made(task, folder, Settings())["digest"] == "d" * 64
            assert [path.name for path in folder.iterdir()] == [CERTIFICATE]


@pytest.mark.parametrize("text", [OPERATOR, MEAN], ids=["texts", "arrays"])
def test_certificates_do_not_depend_on_those_before(spec: Callable[[str], Spec], tmp_path: Path, text: str) -> None:
    tasks = spec(text).tasks()

    def files(name: str, each: list[Task], making: maker.Making) -> dict[tuple[str, str], bytes]:
        for task in each:
            folder = tmp_path / name / task.key
            folder.mkdir(parents=True)
            assert "digest" in making.made(task, folder, Settings())
        return {
            (task.key, path.name): path.read_bytes() for task in each for path in (tmp_path / name / task.key).iterdir()
        }

    with closing(maker.Making()) as making:
        together = files("together", tasks[::-1], making)
    alone = {}
    for task in tasks:
        with closing(maker.Making()) as making:
            alone |= files("alone", [task], making)
    assert together == alone
