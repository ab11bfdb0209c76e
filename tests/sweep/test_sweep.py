"""Sweeps on this machine, from the command line on."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certattn.cli.main import run
from certattn.cli.sweep import _as_text
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import load
from certattn.kernel.errors import LimitExceededError, UsageError
from certattn.statements.reports import Report
from certattn.sweep import index as indices
from certattn.sweep.index import Entry, read_index
from certattn.sweep.results import CHANGED, CHECKED, LOST, NOT_MADE, Result, filling, keep, kept
from certattn.sweep.slots import Slot, do_locally
from certattn.sweep.spec import Spec
from certattn.sweep.sweep import run_sweep
from certattn.sweep.tasks import Settings, Task

from .conftest import FILES, MEAN, OPERATOR

Read = Callable[[str], Spec]
# One task of three has no certificate: a covariance of -1.
ONE_FAILS = OPERATOR.replace("[1, 2, 3]", "[1, -1]").replace("{from: 0, to: 1/2, step: 1/2}", "[0]")


def states(folder: Path) -> list[tuple[str, str]]:
    return [(entry.state, entry.report.verdict.value if entry.report else "") for entry in read_index(folder)]


def pretended(verdict: Verdict = Verdict.VERIFIED, digest: str = "a" * 64) -> Any:
    """A scheduler that does nothing and says that all is well."""

    def do(tasks: Sequence[Task], folder: Path, settings: Settings) -> Iterator[Result | None]:
        for task in tasks:
            with filling(folder, task.key) as made:
                yield keep(folder, made, Result(task.key, CHECKED, Report("", verdict, task.claim, digest=digest)))

    return do


def never(tasks: Sequence[Task], folder: Path, settings: Settings) -> Iterator[Result | None]:
    raise AssertionError("there is nothing left to do")
    yield


# -- the real thing


def test_a_sweep_its_status_and_the_same_again(
    spec: Read, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = spec(ONE_FAILS).path, tmp_path / "out"
    assert run(["sweep", str(path), "-o", str(out), "-j1"]) == 2
    said = capsys.readouterr().out
    assert "2 tasks\n  not made  1\n  verified  1\n" in said
    assert "not made: mean=0, variance=-1: " in said
    assert states(out) == [(CHECKED, "verified"), (NOT_MADE, "malformed")]
    (certificate,) = out.glob("certificates/*/certificate.yaml")
    assert run(["check", str(certificate)]) == 0
    digest = next(entry.report.digest for entry in read_index(out) if entry.report and entry.report.digest)
    assert digest in capsys.readouterr().out

    monkeypatch.setattr(Slot, "program", ("-c", "raise SystemExit('nothing is done twice')"))
    assert run(["sweep", str(path), "-o", str(out), "--format", "json"]) == 2
    content = json.loads(capsys.readouterr().out)
    assert [task["report"]["verdict"] for task in content["tasks"]] == ["verified", "malformed"]
    assert content["tasks"][0]["fields"] == {"mean": "0", "variance": "1"}
    assert run(["sweep", "--status", str(out)]) == 2


@pytest.mark.heavy
def test_ctrl_c_leaves_a_folder_to_go_on_with(spec: Read, tmp_path: Path) -> None:
    grid = MEAN.replace("zip:", "grid:").replace("[0, 1]", "{from: 0, to: 400}")
    path, out = spec(grid).path, tmp_path / "out"
    command = [sys.executable, "-m", "certattn", "sweep", str(path), "-o", str(out), "-j1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            while len(list(out.glob("certificates/*"))) < 3:
                assert process.poll() is None
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            assert process.stderr
            assert process.stderr.read().strip() == b"certattn: interrupted; the same command goes on from here"
            assert process.wait(30) == 130
        finally:
            process.kill()
    done = len(list(out.glob("certificates/*")))
    # Nothing goes on, and what is there is found and counted.
    time.sleep(0.3)
    assert len(list(out.glob("certificates/*"))) == done
    tasks = spec(grid).tasks()
    assert sum(kept(out, task) is not None for task in tasks) == done
    began: list[tuple[int, int]] = []
    run_sweep(spec(grid), out, Settings(), pretended(), begun=lambda *numbers: began.append(numbers))
    assert began == [(done, 802)]
    assert len(read_index(out)) == 802


@pytest.mark.heavy
def test_a_file_that_changes_is_not_taken_for_the_one_before(
    spec: Read, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("keys", "values", "queries"):
        np.save(tmp_path / f"{name}.npy", np.array([[0.5]]))
    path, out = spec(FILES).path, tmp_path / "out"
    command = ["sweep", str(path), "-o", str(out), "-j1"]
    assert run(command) == 0
    np.save(tmp_path / "values.npy", np.array([[0.25]]))
    assert run(command) == 0
    assert "1 task\n  verified  1\n" in capsys.readouterr().out
    stated = {load(each).plain["asserts"]["mean"]["value"][0][0] for each in out.glob("certificates/*/*.yaml")}  # type: ignore[call-overload, index]
    assert stated == {"0.5", "0.25"}


@pytest.mark.heavy
def test_a_page_about_a_sweep_takes_its_reports_from_the_index(
    spec: Read, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, page = tmp_path / "out", tmp_path / "page.html"
    run(["sweep", str(spec(OPERATOR).path), "-o", str(out), "-j1"])
    changed, *_ = sorted(out.glob("certificates/*/certificate.yaml"))
    changed.write_text(changed.read_text().replace("V: [[-1]]", "V:\n  - [-2]").replace("- [-1]", "- [-2]"))
    monkeypatch.setattr("certattn.cli.confined.check_file", never)
    command = ["report", str(out / "certificates"), "--from", str(out / "index.sqlite"), "-o", str(page)]
    assert run(command) == 3
    assert "6 certificates: 5 verified, 1 inconclusive" in capsys.readouterr().out
    with sqlite3.connect(out / "index.sqlite") as connection:
        connection.execute("UPDATE tasks SET report = json_set(report, '$.bits', 'many')")
    assert run(command) == 2
    assert "expected the index of a sweep" in capsys.readouterr().err


# -- slots that end

# Without certattn, to start at once: task 1 always ends it, task 2 the first time.
ECHO = """
import json, os, sys
for line in sys.stdin:
    position = json.loads(line)["task"]["position"]
    with open(f"{sys.argv[1]}/{position}", "a+") as mark:
        mark.seek(0)
        known = mark.read()
        mark.write("once ")
    if position == 1 or position == 2 and not known:
        sys.exit("killed")
    print(json.dumps(json.loads(sys.argv[2])[position]), flush=True)
"""


def test_a_task_whose_worker_ends_is_given_to_another(
    spec: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = spec(OPERATOR).tasks()
    answers = [Result(task.key, CHECKED, Report("", Verdict.VERIFIED)).to_dict() for task in tasks]
    monkeypatch.setattr(Slot, "program", ("-c", ECHO, str(tmp_path), json.dumps(answers)))
    results = [result for result in do_locally(tasks, tmp_path, Settings(), 1) if result is not None]
    found = {result.key: result for result in results}
    assert len(results) == len(found) == len(tasks)
    assert [found[task.key].state for task in tasks] == [CHECKED, LOST, CHECKED, CHECKED, CHECKED, CHECKED]
    assert found[tasks[1].key].report.reason == "a worker ended (exit status 1: killed), 3 times"
    # Nothing that was answered is done again.
    assert [(tmp_path / str(task.position)).read_text().split().count("once") for task in tasks] == [1, 3, 2, 1, 1, 1]


# -- the folder and the index


def test_what_was_not_final_is_done_again(spec: Read, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_sweep(spec(OPERATOR), out, Settings(), pretended(Verdict.INCONCLUSIVE))
    assert states(out) == [(CHECKED, "inconclusive")] * 6
    run_sweep(spec(OPERATOR), out, Settings(), pretended())
    assert states(out) == [(CHECKED, "verified")] * 6
    run_sweep(spec(OPERATOR), out, Settings(), never)


def test_a_lost_index_is_made_anew_and_a_lost_certificate_too(spec: Read, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_sweep(spec(OPERATOR), out, Settings(), pretended())
    before = read_index(out)
    (out / "index.sqlite").write_bytes(b"")
    run_sweep(spec(OPERATOR), out, Settings(), never)
    assert read_index(out) == before
    shutil.rmtree(next((out / "certificates").iterdir()))
    done: list[Result | None] = []
    run_sweep(spec(OPERATOR), out, Settings(), pretended(), told=done.append)
    assert len(done) == 1


def test_a_statement_that_changed_is_an_error(spec: Read, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_sweep(spec(OPERATOR), out, Settings(), pretended(digest="a" * 64))
    shutil.rmtree(out / "certificates")
    for scheduler in (pretended(digest="b" * 64), never):
        run_sweep(spec(OPERATOR), out, Settings(), scheduler)
        assert states(out) == [(CHANGED, "rejected")] * 6
    entry = read_index(out)[0]
    assert entry.report
    assert f"made the statement {'a' * 64} before and {'b' * 64} now" in entry.report.reason


def damaged(index: Path, change: str) -> None:
    if change == "bytes":
        content = bytearray(index.read_bytes())
        content[100:] = b"x" * len(content[100:])
        index.write_bytes(content)
        return
    with closing(sqlite3.connect(index)) as connection, connection:
        connection.execute(change)


@pytest.mark.parametrize(
    "change",
    ["bytes", "DROP TABLE tasks", "UPDATE tasks SET fields = '{'", "UPDATE tasks SET report = '{\"verdict\": 1}'"],
)
def test_a_damaged_index_is_said_and_made_anew(change: str, spec: Read, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_sweep(spec(OPERATOR), out, Settings(), pretended())
    before = read_index(out)
    damaged(out / "index.sqlite", change)
    with pytest.raises(UsageError, match=r"index\.sqlite: cannot be read \(.*; remove it, and the command that made"):
        read_index(out)
    if "UPDATE" not in change:
        with pytest.raises(UsageError, match="cannot be read"):
            run_sweep(spec(OPERATOR), out, Settings(), never)
    (out / "index.sqlite").unlink()
    run_sweep(spec(OPERATOR), out, Settings(), never)
    assert read_index(out) == before


def full_at(monkeypatch: pytest.MonkeyPatch, pages: int) -> None:
    """From here on there is room for so many pages of an index, of which SQLite says what it says of a full disk."""
    connect = indices._connect

    def connected(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(indices, "_connect", connected)


@pytest.mark.parametrize("pages", [1, 12])
def test_a_full_disk_is_no_damage(pages: int, spec: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is full at the beginning or while results come in: nobody is told to remove the index."""
    out, many = tmp_path / "out", spec(OPERATOR.replace("to: 1/2", "to: 20"))
    run_sweep(spec(OPERATOR), out, Settings(), pretended())
    with monkeypatch.context() as context:
        full_at(context, pages)
        with pytest.raises(LimitExceededError) as caught:
            run_sweep(many, out, Settings(), pretended())
    said = str(caught.value)
    assert "index.sqlite: cannot be written, as the disk is full (database or disk is full). Make room there" in said
    assert "remove" not in said
    run_sweep(many, out, Settings(), pretended())
    assert states(out) == [(CHECKED, "verified")] * 123


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (sqlite3.SQLITE_IOERR_WRITE, "disk I/O error"),
        (sqlite3.SQLITE_CANTOPEN, "unable to open database file"),
        (sqlite3.SQLITE_READONLY, "attempt to write a readonly database"),
        (sqlite3.SQLITE_BUSY, "database is locked"),
    ],
)
def test_what_keeps_an_index_from_being_used_is_no_damage(
    code: int, said: str, spec: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sweep(spec(OPERATOR), tmp_path / "out", Settings(), pretended())

    def fails(*_: Any, **__: Any) -> sqlite3.Connection:
        error = sqlite3.OperationalError(said)
        error.sqlite_errorcode = code
        raise error

    monkeypatch.setattr(sqlite3, "connect", fails)
    with pytest.raises(UsageError, match=f"cannot be used .{said}.. Look at the disk") as caught:
        read_index(tmp_path / "out")
    assert "remove" not in str(caught.value)


def test_links_are_no_folders_of_a_sweep(spec: Read, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_sweep(spec(OPERATOR), out, Settings(), pretended())
    place = sorted((out / "certificates").iterdir())[0]
    place.rename(tmp_path / "elsewhere")
    for target in ("elsewhere", "nowhere"):
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.symlink_to(tmp_path / target)
        done: list[Result | None] = []
        run_sweep(spec(OPERATOR), out, Settings(), pretended(), told=done.append)
        assert len(done) == 1
        assert not place.is_symlink()
    (out / "certificates").rename(tmp_path / "others")
    (out / "certificates").symlink_to(tmp_path / "others")
    with pytest.raises(UsageError, match="certificates: a link, expected a folder"):
        run_sweep(spec(OPERATOR), out, Settings(), never)


def test_a_folder_in_a_folder_that_is_not_there(spec: Read, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no: no such folder"):
        run_sweep(spec(OPERATOR), tmp_path / "no" / "out", Settings(), never)


def test_all_lines_of_a_reason_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report("a.yaml", Verdict.MALFORMED, reason="a.yaml:3: here\n  found: 1\n  expected: 2")
    said = _as_text([Entry(0, {"n": 1}, "some", CHECKED, report)], [report])
    assert "a.yaml:3: here; found: 1; expected: 2" in said


def test_a_grid_that_grows_keeps_what_is_done_and_one_that_shrinks_lists_less(spec: Read, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_sweep(spec(OPERATOR), out, Settings(), pretended())
    done: list[Result | None] = []
    run_sweep(spec(OPERATOR.replace("[1, 2, 3]", "[4, 1]")), out, Settings(), pretended(), told=done.append)
    assert len(done) == 2
    assert [entry.fields["variance"] for entry in read_index(out)] == ["4", "1", "4", "1"]


def test_a_worker_of_another_version_is_not_believed(spec: Read, tmp_path: Path) -> None:
    def old(tasks: Sequence[Task], folder: Path, settings: Settings) -> Iterator[Result]:
        for task in tasks:
            yield Result(task.key, CHECKED, Report("", Verdict.VERIFIED), version="0.0.1")

    run_sweep(spec(OPERATOR), tmp_path / "out", Settings(), old)  # type: ignore[arg-type]
    assert {verdict for _, verdict in states(tmp_path / "out")} == {"error"}


def test_an_interrupted_sweep_waits(spec: Read, tmp_path: Path) -> None:
    def interrupted(tasks: Sequence[Task], folder: Path, settings: Settings) -> Iterator[Result | None]:
        yield next(pretended()(tasks, folder, settings))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(spec(OPERATOR), tmp_path / "out", Settings(), interrupted)  # type: ignore[arg-type]
    assert states(tmp_path / "out") == [(CHECKED, "verified"), *[("waiting", "")] * 5]
    assert run(["sweep", "--status", str(tmp_path / "out")]) == 4


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert run(["sweep", *map(str, arguments)]) == 2
    return capsys.readouterr().err


def test_what_makes_no_sense_is_refused(spec: Read, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = spec(OPERATOR).path, tmp_path / "out"
    out.mkdir()
    assert "expected SPEC and -o DIR" in refusal(capsys, path)
    assert "--status says what is in a folder" in refusal(capsys, path, "--status", out)
    assert "no sweep's folder" in refusal(capsys, "--status", out)
    (out / "mine.txt").touch()
    assert "holds other things" in refusal(capsys, path, "-o", out)
    assert "is no folder" in refusal(capsys, path, "-o", out / "mine.txt")
    assert (out / "mine.txt").exists()


def test_two_sweeps_in_one_folder_are_refused(spec: Read, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another sweep is at work there" in refusal(capsys, spec(OPERATOR).path, "-o", out)
    run_sweep(spec(OPERATOR), out, Settings(), pretended())


def test_an_index_of_another_schema_is_refused(spec: Read, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    run_sweep(spec(OPERATOR), out, Settings(), pretended())
    with sqlite3.connect(out / "index.sqlite") as connection:
        connection.execute("PRAGMA user_version = 9")
    assert "has the schema 9" in refusal(capsys, "--status", out)
    (out / "index.sqlite").write_bytes(b"no database at all, but long enough for a header" * 9)
    assert "cannot be read" in refusal(capsys, "--status", out)
