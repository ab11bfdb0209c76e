"""A real Dask cluster of two worker processes on this machine."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from certattn.cli.main import run
from certattn.kernel.errors import UsageError
from certattn.sweep.cluster import _require_same, answers, do_on_cluster
from certattn.sweep.index import read_index
from certattn.sweep.results import Result
from certattn.sweep.slots import Slot
from certattn.sweep.spec import Spec
from certattn.sweep.sweep import run_sweep
from certattn.sweep.tasks import Settings

from .conftest import OPERATOR

ROOT = Path(__file__).resolve().parents[2]
MANY = OPERATOR.replace("[1, 2, 3]", "{from: 1, to: 12}")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        yield cluster


def workers(cluster: Any) -> list[int]:
    return [nanny.pid for nanny in cluster.workers.values()]


def test_a_worker_that_is_killed_loses_nothing(spec: Callable[[str], Spec], tmp_path: Path, cluster: Any) -> None:
    told: list[str] = []

    def kill_one(result: Result | None) -> None:
        if result is None:
            return
        if not told:
            os.kill(workers(cluster)[0], signal.SIGKILL)
        told.append(result.key)

    out = tmp_path / "out"
    do = partial(do_on_cluster, address=cluster.scheduler_address)
    run_sweep(spec(MANY), out, Settings(), do, told=kill_one)
    tasks = spec(MANY).tasks()
    assert Counter(told) == Counter(task.key for task in tasks)
    entries = read_index(out)
    assert [entry.report.verdict.value for entry in entries if entry.report] == ["verified"] * len(tasks)
    assert len(list((out / "certificates").iterdir())) == len(tasks)


def test_checks_on_the_cluster(
    cluster: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    paths = [
        f"certificates/{name}.yaml"
        for name in ("prompts/infinite-prompt-operator/gaussian-d1", "no", "prompts/output-tail/atoms")
    ]
    assert run(["check", *paths, "--scheduler", cluster.scheduler_address]) == 2
    said = [line for line in capsys.readouterr().out.splitlines() if line and line[0] != " "]
    assert said[:3] == [f"verified  {paths[0]}", f"malformed  {paths[1]}", f"verified  {paths[2]}"]


# Ends at the second thing of all each time, and at the fourth the first time.
ENDING = """
import json, os, sys
for line in sys.stdin:
    for thing in json.loads(line)["things"]:
        mark = f"{sys.argv[1]}/{thing}"
        if thing == 1 or thing == 3 and not os.path.exists(mark):
            open(mark, "w").close()
            sys.exit("killed")
        print(json.dumps({"did": thing}), flush=True)
"""


def test_slots_that_end_in_the_middle_of_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slot, "program", ("-c", ENDING, str(tmp_path)))
    monkeypatch.setattr("certattn.sweep.cluster._idle", queue.LifoQueue())
    lost = {"lost": "a worker ended (exit status 1: killed), 3 times"}
    assert answers({}, "things", [0, 1, 2, 3, 4]) == [{"did": 0}, lost, {"did": 2}, {"did": 3}, {"did": 4}]


class Workers:
    """A client of a cluster with one worker, which says this."""

    def __init__(self, said: Any) -> None:
        self.said = said

    def run(self, look: Callable[[str], tuple[str, str]], path: str) -> dict[str, tuple[str, str]]:
        if isinstance(self.said, Exception):
            raise self.said
        return {} if self.said is None else {"tcp://worker": self.said(*look(path))}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (lambda version, text: (version, "(no such file)"), "does not see"),
        (lambda version, text: ("0.0.1", text), "has certattn 0.0.1"),
        (ModuleNotFoundError("certattn"), "cannot run certattn"),
        (None, "has no workers"),
    ],
)
def test_workers_that_are_refused(tmp_path: Path, said: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _require_same(Workers(said), tmp_path)
    _require_same(Workers(lambda version, text: (version, text)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nobody_answers(
    spec: Callable[[str], Spec], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("certattn.sweep.cluster._SECONDS", "1s")
    arguments = ["sweep", str(spec(OPERATOR).path), "-o", str(tmp_path / "out"), "--scheduler", "tcp://127.0.0.1:9"]
    assert run(arguments) == 2
    assert "no Dask scheduler answers there" in capsys.readouterr().err
    assert run([*arguments[:-1], "nonsense"]) == 2
    told = capsys.readouterr().err
    assert told == "certattn: --scheduler is 'nonsense', expected an address with a port, such as tcp://host:8786\n"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("foo://127.0.0.1:9", "unknown address scheme 'foo'"),
        ("tls://127.0.0.1:9", "has no TLS certificate"),
        ("127.0.0.1:9/x", "expected an address with a port"),
    ],
)
def test_no_client_is_begun_for_an_address_that_is_none(
    address: str, words: str, tmp_path: Path, spec: Callable[..., Any]
) -> None:
    """In a program of its own: Dask would tell at its end, in a traceback, of a client that was begun."""
    command = [sys.executable, "-m", "certattn", "sweep", str(spec(OPERATOR).path), "-o", str(tmp_path / "out")]
    done = subprocess.run([*command, "--scheduler", address], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
