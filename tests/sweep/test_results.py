"""Results in a folder: whole, found again, and not believed where they were changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.statements.reports import Report
from certattn.sweep.results import CERTIFICATE, CHECKED, RESULT, Result, filling, keep, kept, place_of
from certattn.sweep.spec import Spec
from certattn.sweep.tasks import Task

from .conftest import OPERATOR


@pytest.fixture
def task(spec: Callable[[str], Spec]) -> Task:
    return spec(OPERATOR).tasks()[0]


def put(folder: Path, task: Task, verdict: Verdict = Verdict.VERIFIED, text: str = "a certificate") -> Result:
    with filling(folder, task.key) as made:
        (made / CERTIFICATE).write_text(text)
        return keep(folder, made, Result(task.key, CHECKED, Report(CERTIFICATE, verdict)))


def test_a_result_is_found_again(task: Task, tmp_path: Path) -> None:
    result = put(tmp_path, task)
    assert result.report.path == place_of(task.key)
    assert kept(tmp_path, task) == result
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("verdict", [Verdict.INCONCLUSIVE, Verdict.ERROR])
def test_limits_and_bugs_are_tried_again(task: Task, tmp_path: Path, verdict: Verdict) -> None:
    put(tmp_path, task, verdict)
    assert kept(tmp_path, task) is None


def changed_certificate(place: Path) -> None:
    (place / CERTIFICATE).write_text("another")


def missing_certificate(place: Path) -> None:
    (place / CERTIFICATE).unlink()


def one_file_more(place: Path) -> None:
    (place / "extra.npz").touch()


def cut_off(place: Path) -> None:
    (place / RESULT).write_text((place / RESULT).read_text()[:-9])


def another_key(place: Path) -> None:
    edit(place, key="0" * 64)


def another_version(place: Path) -> None:
    edit(place, version="0.0.9")


def unknown_word(place: Path) -> None:
    edit(place, unknown="word")


def edit(place: Path, **content: str) -> None:
    (place / RESULT).write_text(json.dumps(json.loads((place / RESULT).read_text()) | content))


@pytest.mark.parametrize(
    "damage",
    [changed_certificate, missing_certificate, one_file_more, cut_off, another_key, another_version, unknown_word],
)
def test_a_result_that_does_not_fit_is_made_anew(task: Task, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    put(tmp_path, task)
    damage((tmp_path / place_of(task.key)).parent)
    assert kept(tmp_path, task) is None
    again = put(tmp_path, task)
    assert kept(tmp_path, task) == again


def test_two_workers_leave_one_result(task: Task, tmp_path: Path) -> None:
    put(tmp_path, task, text="the first")
    second = put(tmp_path, task, text="the second")
    assert kept(tmp_path, task) == second
    assert len(list((tmp_path / "certificates").iterdir())) == 1


def test_a_task_that_fails_leaves_no_folder(task: Task, tmp_path: Path) -> None:
    def interrupted() -> None:
        with filling(tmp_path, task.key) as made:
            (made / CERTIFICATE).touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list((tmp_path / "work").iterdir()) == []
    assert not (tmp_path / "certificates").exists()


def test_plain_data_of_a_result_gives_it_back(task: Task, tmp_path: Path) -> None:
    result = replace(put(tmp_path, task), nanoseconds={"check": 1})
    assert Result.from_dict(json.loads(json.dumps(result.to_dict()))) == result
    assert Task.from_dict(json.loads(json.dumps(task.to_dict()))) == task
