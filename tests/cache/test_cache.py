"""What a cache looks up and notes, and that it changes no verdict."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from certattn.cache.cache import Cache
from certattn.cache.entries import Entries
from certattn.kernel.checker import CheckOptions, check_file
from certattn.kernel.limits import DEFAULT_LIMITS, Limits
from certattn.kernel.reports import Report
from certattn.kernel.verdict import Verdict
from certattn.kernel.worker import Check

from .conftest import Ask

Entry = Callable[[], list[Path]]


# -- what is looked up


def test_what_was_verified_is_looked_up(ask: Ask) -> None:
    first, second = ask("true.yaml"), ask("true.yaml")
    assert (first.verdicts, second.verdicts) == (["verified"], ["verified*"])
    assert (first.checked, second.checked) == (["true.yaml"], [])
    (fresh,), (known,) = first.reports, second.reports
    assert replace(known, cached="", nanoseconds={}) == replace(fresh, nanoseconds={})
    assert fresh.arrays == (("keys.npy", fresh.arrays[0][1]),)
    assert set(known.nanoseconds) == {"cache", "total"}
    assert not first.told
    assert not second.told


def test_the_file_may_have_another_name(ask: Ask, folder: Path) -> None:
    ask("true.yaml")
    (folder / "true.yaml").rename(folder / "other.yaml")
    asked = ask("other.yaml")
    assert asked.verdicts == ["verified*"]
    assert asked.reports[0].path == "other.yaml"


def test_reports_come_in_the_order_of_the_paths(ask: Ask, folder: Path) -> None:
    ask("true.yaml")
    (folder / "none.yaml").write_text("certattn: 1\n")
    paths = ["false.yaml", "true.yaml", "none.yaml", "missing.yaml", "true.yaml", "false.yaml"]
    asked = ask(*paths)
    assert asked.verdicts == ["refuted", "verified*", "malformed", "malformed", "verified*", "refuted"]
    assert [report.path for report in asked.reports] == paths


def test_an_iterator_that_is_closed_has_noted_what_came(ask: Ask, folder: Path) -> None:
    options = CheckOptions()

    def rest(paths: Sequence[Path], check: Check) -> Iterator[Report]:
        return (check(path, options) for path in paths)

    reports = Cache().reports([Path("true.yaml"), Path("false.yaml")], options, rest)
    next(reports)
    reports.close()
    assert ask("true.yaml").verdicts == ["verified*"]


# -- what is noted


def test_only_what_is_verified_is_noted(ask: Ask, entries: Entry, folder: Path) -> None:
    (folder / "none.yaml").write_text("certattn: 1\n")
    assert ask("true.yaml", options=CheckOptions(arithmetic="binary64")).verdicts == ["inconclusive"]
    for _ in range(2):
        assert ask("false.yaml", "none.yaml", "missing.yaml").verdicts == ["refuted", "malformed", "malformed"]
    assert entries() == []


def test_a_part_is_neither_looked_up_nor_noted(ask: Ask, entries: Entry) -> None:
    part = CheckOptions(only="*")
    assert ask("true.yaml", options=part).verdicts == ["inconclusive"]
    assert entries() == []
    ask("true.yaml")
    assert ask("true.yaml", options=part).verdicts == ["inconclusive"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"counts": {}},
        {"counts": {"proved": 1, "undecided": 1}},
        {"path": "other.yaml"},
        {"cached": "2026-01-01T00:00:00Z"},
        {"verdict": Verdict.REFUTED},
    ],
)
def test_a_report_that_is_no_proof_of_this_file_is_not_noted(
    ask: Ask, entries: Entry, wrong: dict[str, object]
) -> None:
    def rest(paths: Sequence[Path], check: Check) -> Iterator[Report]:
        return iter([replace(check(paths[0], CheckOptions()), **wrong)])

    ask("true.yaml", rest=rest)
    assert entries() == []


def test_what_a_cluster_says_is_not_noted(ask: Ask, entries: Entry) -> None:
    assert ask("true.yaml", noting=False).verdicts == ["verified"]
    assert entries() == []
    ask("true.yaml")
    assert ask("true.yaml", noting=False).verdicts == ["verified*"]


# -- the question


def question(path: str = "true.yaml", options: CheckOptions | None = None) -> str:
    found = Cache()._question(Path(path), options or CheckOptions())
    assert found is not None
    return found.name


def test_every_byte_of_the_file_counts(folder: Path) -> None:
    cache, file = Cache(), folder / "true.yaml"
    data = file.read_bytes()
    names = set()
    for at in range(len(data)):
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        names.add(cache._question(file, CheckOptions()))
    for longer in (data, data + b"\n", data[:-1], b"\n" + data):
        file.write_bytes(longer)
        names.add(cache._question(file, CheckOptions()))
    assert len(names) == len(data) + 4
    assert None not in names


@pytest.mark.parametrize("name", [each.name for each in fields(Limits)])
def test_every_limit_counts(folder: Path, name: str) -> None:
    other = replace(DEFAULT_LIMITS, **{name: getattr(DEFAULT_LIMITS, name) + 1})
    assert question() != question(options=CheckOptions(other))


def test_other_options_are_other_questions(ask: Ask) -> None:
    # `only` never verifies; what `root` allows is looked at each time; `meter` and `sha256` are the program's own.
    assert {each.name for each in fields(CheckOptions)} == {
        "limits", "root", "only", "detail", "arithmetic", "meter", "sha256",
    }  # fmt: skip
    ask("true.yaml")
    for options in (CheckOptions(arithmetic="arb"), CheckOptions(detail=True)):
        assert ask("true.yaml", options=options).verdicts == ["verified"]
    assert len(ask("true.yaml", options=CheckOptions(detail=True)).reports[0].obligations) == 1


# -- several programs at once, and a disk that is full


def test_programs_at_once(ask: Ask, home: Path, folder: Path) -> None:
    for number in range(3):
        text = (folder / "true.yaml").read_text()
        (folder / f"true-{number}.yaml").write_text(text.replace("an example", f"example {number}"))
    command = [sys.executable, "-m", "certattn", "check", ".", "--cache"]
    programs = [Popen(command, stdout=PIPE, stderr=PIPE, text=True) for _ in range(3)]
    for program in programs:
        out, err = program.communicate()
        assert program.returncode == 1  # for false.yaml
        assert "5 certificates: 4 verified" in out
        assert err == ""
    paths = sorted(str(path.name) for path in folder.glob("true*.yaml"))
    assert ask(*paths).verdicts == ["verified*"] * 4
    assert [path.name for path in home.iterdir() if path.name.startswith(".")] == []


def test_a_full_disk_changes_no_verdict(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Entries, "write", full)
    asked = ask("true.yaml")
    assert asked.verdicts == ["verified"]
    assert "No space left" in asked.told[0]
    assert "not all that was verified could be noted" in asked.told[0]


def test_the_kernel_says_which_arrays_it_asked_for(folder: Path) -> None:
    report = check_file(Path("true.yaml"), CheckOptions())
    assert [file for file, _ in report.arrays] == ["keys.npy"]
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report
