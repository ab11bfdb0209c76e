"""What a slot is made of, and that it believes no prover."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from certattn.isolation.worker import check_files
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.limits import Limits
from certattn.statements.reports import Report
from certattn.sweep.checking import Checking, _work
from certattn.sweep.results import CERTIFICATE
from certattn.sweep.slot import agreed, done
from certattn.sweep.spec import Spec
from certattn.sweep.tasks import Settings, Task
from certattn.writing import to_text

from .conftest import OPERATOR

TRUE: dict[str, Any] = {
    "certattn": "1",
    "claim": "infinite-prompt-operator",
    "given": {"law": {"kind": "gaussian", "mean": ["0"], "covariance": [["1"]]}, "V": [["-1"]]},
    "asserts": {"operator": {"matrix": [["-1"]], "offset": ["0"]}},
}
FALSE = {**TRUE, "asserts": {"operator": {"matrix": [["-2"]], "offset": ["0"]}}}


def test_a_slot_imports_no_prover() -> None:
    script = "import sys; from certattn.sweep import slot; slot._warm(); print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    modules = set(done.stdout.split())
    assert "certattn.isolation.worker" in modules
    assert not [name for name in modules if name.startswith(("certattn.provers", "certattn.sweep.maker", "scipy"))]


def made_by(content: dict[str, Any]) -> Callable[[Task, Path, Settings], dict[str, Any]]:
    """A maker that writes a certificate, and says that all is well."""

    def make(task: Task, folder: Path, settings: Settings) -> dict[str, Any]:
        (folder / CERTIFICATE).write_text(to_text(content))
        (folder / "result.json").write_text('{"report": {"verdict": "verified"}}')
        from certattn.kernel.document.certificate import load

        return {"digest": load(folder / CERTIFICATE).digest, "verdict": "verified"}

    return make


@pytest.fixture
def checking() -> Iterator[Checking]:
    with closing(Checking()) as checking:
        yield checking


def test_a_false_certificate_is_refuted_whatever_its_maker_says(
    spec: Callable[[str], Spec], tmp_path: Path, checking: Checking
) -> None:
    for task in spec(OPERATOR).tasks()[:3]:
        for content, verdict in ((TRUE, Verdict.VERIFIED), (FALSE, Verdict.REFUTED)):
            folder = tmp_path / f"{task.position}-{verdict.value}"
            folder.mkdir()
            assert done(task, folder, Settings(), made_by(content), checking.checked).report.verdict is verdict


# -- checks in a process that goes on


def put(folder: Path, content: dict[str, Any] | str) -> Path:
    folder.mkdir()
    (folder / CERTIFICATE).write_text(content if isinstance(content, str) else to_text(content))
    return folder


def without_times(report: Report) -> Report:
    return replace(report, nanoseconds={})


@pytest.mark.parametrize("content", ["true", "false", "malformed"])
def test_a_check_after_others_says_what_it_says_alone(
    spec: Callable[[str], Spec], tmp_path: Path, checking: Checking, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    task = spec(OPERATOR).tasks()[0]
    text = {"true": TRUE, "false": FALSE, "malformed": "certattn: 1\n"}[content]
    alone = put(tmp_path / "alone", text)
    monkeypatch.chdir(alone)
    (expected,) = check_files([Path(CERTIFICATE)], CheckOptions())
    for number, before in enumerate((TRUE, FALSE, "no certificate", TRUE)):
        checking.checked(task, put(tmp_path / f"before-{number}", before), Settings())
        found = checking.checked(task, put(tmp_path / f"{number}", text), Settings())
        assert without_times(found) == without_times(expected)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each process of its own was given."""
    counts: list[int] = []

    def counted(paths: Sequence[Path], options: CheckOptions) -> Any:
        counts.append(len(paths))
        return check_files(paths, options)

    monkeypatch.setattr("certattn.sweep.checking.check_files", counted)
    return counts


def test_what_comes_from_files_has_a_process_of_its_own(
    spec: Callable[[str], Spec], tmp_path: Path, checking: Checking, processes: list[int]
) -> None:
    task, folder = spec(OPERATOR).tasks()[0], put(tmp_path / "one", TRUE)
    for each in (task, replace(task, source="/a.npz"), replace(task, files={"keys": ("/k.npy", "0" * 64)}), task):
        assert checking.checked(each, folder, Settings()).verdict is Verdict.VERIFIED
    assert processes == [1, 1]


@pytest.mark.parametrize(
    "found",
    [
        Report("another.yaml", Verdict.VERIFIED),
        Report(CERTIFICATE, Verdict.ERROR),
        Report(CERTIFICATE, Verdict.MALFORMED),
        Report(CERTIFICATE, Verdict.INCONCLUSIVE, limit="memory"),
        None,
    ],
)
def test_only_verified_counts_from_a_process_that_goes_on(
    spec: Callable[[str], Spec],
    tmp_path: Path,
    processes: list[int],
    monkeypatch: pytest.MonkeyPatch,
    found: Report | None,
) -> None:
    monkeypatch.setattr("certattn.sweep.checking._work", lambda order: found.to_dict() if found else os.abort())
    with closing(Checking()) as checking:
        report = checking.checked(spec(OPERATOR).tasks()[0], put(tmp_path / "one", FALSE), Settings())
    assert report.verdict is Verdict.REFUTED
    assert processes == [1]


def test_a_check_over_time(
    spec: Callable[[str], Spec], tmp_path: Path, processes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("certattn.sweep.checking._work", lambda order: time.sleep(60))
    with closing(Checking()) as checking:
        settings = Settings(Limits(timeout_seconds=1))
        report = checking.checked(spec(OPERATOR).tasks()[0], put(tmp_path / "one", TRUE), settings)
    assert (report.verdict, report.limit) == (Verdict.INCONCLUSIVE, "time")
    assert processes == []


def test_the_process_that_goes_on_is_confined(
    spec: Callable[[str], Spec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is tried there is refused, and its report is not believed."""
    mark = tmp_path / "written"

    def work(order: dict[str, Any]) -> dict[str, Any]:
        with suppress(PermissionError):
            mark.touch()
        with suppress(PermissionError):
            os.fork()
        return _work(order)

    monkeypatch.setattr("certattn.sweep.checking._work", work)
    with closing(Checking()) as checking:
        folder = put(tmp_path / "one", TRUE)
        order = {"folder": str(folder), "settings": Settings().to_dict()}
        answer = checking._series.ask(order, 60, 2**33).answer
    assert (answer["verdict"], "tried what its process may not do" in answer["reason"]) == ("error", True)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("checked", "said", "verdict"),
    [
        ("a", Verdict.VERIFIED, Verdict.VERIFIED),
        ("b", Verdict.VERIFIED, Verdict.ERROR),
        ("", Verdict.VERIFIED, Verdict.ERROR),
        ("", Verdict.MALFORMED, Verdict.MALFORMED),
    ],
    ids=["the same", "another", "none", "none, of a file that cannot be read"],
)
def test_the_statement_that_was_made_is_the_one_that_is_checked(checked: str, said: Verdict, verdict: Verdict) -> None:
    assert agreed(Report("", said, digest=checked), "a").verdict is verdict
