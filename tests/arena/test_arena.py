"""The arena: the kernel gets everything right, other checkers accept nothing false, and the controls do badly."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from certattn.coq.compiled import CompiledLibrary
from certattn.coq.coqc import Coq

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "arena.md"
PLUGGED_IN = ("recheck", "coq")


@pytest.fixture(scope="module")
def some(corpus: Any, corpora: ModuleType) -> list[Any]:
    """Accept and reject cases of every claim. All of them are checked by the tests of their claims."""
    found: list[Any] = corpora.sample(corpus.entries, 3, 7)
    return found


def score(arena: ModuleType, checkers: ModuleType, name: str, chosen: list[Any], corpus: Any) -> Any:
    return arena.run(checkers.CHECKERS[name], chosen, corpus.folder)


@pytest.mark.heavy
def test_the_kernel_gives_every_verdict_and_reason_that_is_expected(
    arena: ModuleType, checkers: ModuleType, some: list[Any], corpus: Any
) -> None:
    found = score(arena, checkers, "kernel", some, corpus)
    assert found.errors(some) == []
    assert found.total == {arena.AGREED: len(some)}
    assert checkers.CHECKERS["kernel"].excused == {}


@pytest.mark.heavy
def test_several_processes_give_the_same_answers(
    arena: ModuleType, checkers: ModuleType, some: list[Any], corpus: Any
) -> None:
    parse_only = checkers.CHECKERS["parse-only"]
    one, two = (arena.run(parse_only, some, corpus.folder, jobs) for jobs in (1, 2))
    assert (one.claims, one.differences) == (two.claims, two.differences)


@pytest.mark.heavy
@pytest.mark.parametrize("name", PLUGGED_IN)
def test_another_checker_accepts_nothing_false_or_is_said_to_be_missing(
    name: str,
    arena: ModuleType,
    checkers: ModuleType,
    corpora: ModuleType,
    corpus: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What takes longer is not covered here, as in `.ci/run`; `tools/arena/arena.py run` gives it more.
    monkeypatch.setattr(checkers, "RECHECK_SECONDS", "3")
    checker = checkers.CHECKERS[name]
    if why := checker.missing():
        arguments = ["run", "--corpus", str(corpus.folder), "--sample", "1", "--claim", "max-margin", "--checker", name]
        assert arena.main(arguments) == 1
        assert f"{name}: not here: {why}" in capsys.readouterr().err
        return
    if name == "coq":
        return  # See below: most cases are none for Coq, and each of the others takes seconds.
    chosen = corpora.sample(corpus.entries, 1, 11)
    found = arena.run(checker, chosen, corpus.folder)
    assert found.errors(chosen) == []
    assert found.total[arena.AGREED] > 0


# How many accept and reject cases Coq gets, by claim. False bounds of softmax are not even exported: no slack is left.
FOR_COQ = {
    "attention-error": (1, 0),
    "max-margin": (1, 3),
    "normalizer-bound": (0, 1),
    "output-deviation": (1, 0),
    "softmax-mean": (1, 0),
    "token-optimality": (1, 1),
}


def test_coq_proves_what_is_true_and_nothing_else(
    arena: ModuleType,
    checkers: ModuleType,
    corpus: Any,
    coq: Coq,
    library: CompiledLibrary,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkers, "coq_library", lambda: library)
    score = arena.Score(checkers.CHECKERS["coq"])
    for claim, counts in FOR_COQ.items():
        for accepted, wanted in zip((True, False), counts, strict=True):
            cases = [e for e in corpus.entries if (e.claim, e.accepted) == (claim, accepted)]
            agreed = score.total[arena.AGREED]
            for entry in random.Random(11).sample(cases, len(cases)):
                if score.total[arena.AGREED] == agreed + wanted:
                    break
                score.add(entry, score.checker(corpus.folder / entry.file))
            assert score.differences == {}
            assert score.total[arena.AGREED] == agreed + wanted, f"too few cases of {claim} have a form in Coq"


def test_a_checker_that_accepts_everything_accepts_every_reject_case(
    arena: ModuleType, checkers: ModuleType, corpus: Any
) -> None:
    found = score(arena, checkers, "accept-all", corpus.entries, corpus)
    accepted = sum(entry.accepted for entry in corpus.entries)
    assert found.total == {arena.AGREED: accepted, arena.FALSE_ACCEPT: len(corpus.entries) - accepted}


def test_a_checker_that_rejects_everything_verifies_no_true_statement(
    arena: ModuleType, checkers: ModuleType, corpus: Any
) -> None:
    found = score(arena, checkers, "reject-all", corpus.entries, corpus)
    accepted = sum(entry.accepted for entry in corpus.entries)
    assert found.total == {arena.AGREED: len(corpus.entries) - accepted, arena.NOT_VERIFIED: accepted}


def test_a_checker_that_only_reads_accepts_what_is_false_of_every_claim(
    arena: ModuleType, checkers: ModuleType, corpora: ModuleType, corpus: Any
) -> None:
    chosen = corpora.sample(corpus.entries, 12, 3)
    found = score(arena, checkers, "parse-only", chosen, corpus)
    assert found.total[arena.NOT_VERIFIED] == found.total[arena.CRASHED] == 0
    assert all(counts[arena.FALSE_ACCEPT] > 0 for counts in found.claims.values())
    assert found.total[arena.FALSE_ACCEPT] > len(chosen) / 10


def test_a_checker_that_crashes_agrees_with_nothing(
    arena: ModuleType, checkers: ModuleType, some: list[Any], corpus: Any
) -> None:
    found = score(arena, checkers, "crash", some, corpus)
    assert found.total == {arena.CRASHED: len(some)}
    said = Counter(words.partition(": ")[2].split()[0] for words in found.differences.values())
    # By an exception, and in a worker that was killed.
    assert set(said) == {"ZeroDivisionError:", "the"}


@pytest.mark.heavy
def test_one_false_accept_fails_the_run(
    arena: ModuleType, checkers: ModuleType, corpus: Any, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    wrong = next(entry for entry in corpus.entries if entry.claim == "max-margin" and not entry.accepted)

    def careless(path: Path) -> Any:
        if path == corpus.folder / wrong.file:
            return checkers.Answer(checkers.Outcome.VERIFIED)
        return checkers.kernel(path)

    arguments = ["run", "--corpus", str(corpus.folder), "--claim", "max-margin", "--checker", "kernel"]
    assert arena.main(arguments) == 0
    monkeypatch.setitem(checkers.CHECKERS, "kernel", checkers.Checker("kernel", careless))
    capsys.readouterr()
    assert arena.main(arguments) == 1
    name = f"max-margin: {wrong.case}"
    assert capsys.readouterr().err == f"kernel: {name}: false accepts: verified, expected {wrong.verdict}\n"
    excuses = {name: "to see what happens", f"max-margin: {wrong.family}": "of what is right"}
    monkeypatch.setitem(checkers.CHECKERS, "kernel", checkers.Checker("kernel", careless, excused=excuses))
    assert arena.main(arguments) == 1
    stale = f"kernel: max-margin: {wrong.family}: excused, but there is no difference any more\n"
    assert capsys.readouterr().err == stale


def test_another_verdict_or_reason_of_the_kernel_is_a_difference(
    arena: ModuleType, checkers: ModuleType, corpora: ModuleType, corpus: Any
) -> None:
    case = next(entry for entry in corpus.entries if entry.verdict == "refuted" and entry.words)
    answer = checkers.kernel(corpus.folder / case.file)
    assert arena.standing(case, answer) == (arena.AGREED, "")
    for other in (replace(case, verdict="malformed"), replace(case, words="for no reason at all")):
        column, words = arena.standing(other, answer)
        assert column == arena.OTHER
        assert words.startswith(f"{case.case}: ")


def test_a_control_that_gets_nothing_wrong_fails_the_run(
    arena: ModuleType, checkers: ModuleType, some: list[Any], corpus: Any
) -> None:
    control = checkers.Checker("too good", checkers.kernel, control=True)
    assert "measures nothing" in arena.run(control, some[:20], corpus.folder).errors(some[:20])[0]


def test_programs_are_taken_by_their_exit_status(checkers: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def status(number: int, before: str = "pass") -> Any:
        command = [checkers.sys.executable, "-c", f"{before}; raise SystemExit({number})"]
        return checkers._by_status(command, {0: checkers.Outcome.VERIFIED, 1: checkers.Outcome.REFUSED})

    assert status(0).outcome is checkers.Outcome.VERIFIED
    assert status(1, "print('no')").said == "exit status 1: no"
    assert status(2).outcome is checkers.Outcome.CRASHED
    killed = status(0, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert (killed.outcome, killed.said[:16]) == (checkers.Outcome.CRASHED, "exit status -9: ")
    monkeypatch.setattr(checkers, "SECONDS", 0.5)
    assert status(0, "import time; time.sleep(60)") == checkers.Answer(
        checkers.Outcome.CRASHED, "no answer within 0.5 s"
    )


def test_tables_in_every_format(arena: ModuleType, corpus: Any, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "--corpus", str(corpus.folder), "--claim", "max-margin", "--claim", "risk-gap"]
    arguments += ["--sample", "2", "--checker", "accept-all", "--checker", "reject-all", "--by-claim", "--format"]
    shown = {}
    for form in ("text", "markdown", "json"):
        assert arena.main([*arguments, form]) == 0
        shown[form] = capsys.readouterr().out
    cells = [line.split() for line in shown["text"].splitlines()[1:]]
    assert cells[0] == ["accept-all", "8", "4", "4", "0", "0", "0", "0"]
    assert [row[0] for row in cells] == ["accept-all", "max-margin", "risk-gap", "reject-all", "max-margin", "risk-gap"]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown["markdown"].splitlines()[2:]]
    assert rows == cells
    content = json.loads(shown["json"])["checkers"]
    assert content["reject-all"]["claims"]["risk-gap"] == {"cases": 4, "agreed": 2, "true, not verified": 2}
    assert len(content["accept-all"]["differences"]) == 4


def test_the_script_writes_a_corpus_and_refuses_what_is_not_one(
    arena: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert arena.main(["write", str(tmp_path / "corpus"), "--claim", "max-margin"]) == 0
    assert "303 certificates of 1 claims: 78 accept, 225 reject" in capsys.readouterr().out
    for arguments, message in (
        (["write", str(tmp_path / "corpus")], "is not empty"),
        (["write", str(tmp_path / "other"), "--claim", "nothing"], "no claim of the corpus is called nothing"),
        (["run", "--corpus", str(tmp_path)], "expected.json"),
        (["run", "--corpus", str(tmp_path / "corpus"), "--claim", "risk-gap"], "there are no such cases"),
    ):
        with pytest.raises(SystemExit) as ended:
            arena.main(arguments)
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


def test_the_page_shows_this_corpus(arena: ModuleType, corpus: Any) -> None:
    """Its table is made by the script; what follows from the corpus alone is compared."""
    columns = ("cases", *arena.COLUMNS)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines()]
    head = cells.index(["checker", *columns])
    rows = [row for row in cells[head + 2 :] if len(row) == len(columns) + 1]
    table = {name: {c: int(n.replace(",", "")) for c, n in zip(columns, row, strict=True)} for name, *row in rows}
    total, accepted = len(corpus.entries), sum(entry.accepted for entry in corpus.entries)
    assert all(row["cases"] == total == sum(row.values()) - total for row in table.values())
    assert table["kernel"][arena.AGREED] == table["crash"][arena.CRASHED] == total
    assert table["accept-all"][arena.FALSE_ACCEPT] == table["reject-all"][arena.AGREED] == total - accepted
    assert table["parse-only"][arena.FALSE_ACCEPT] > total / 10
    assert all(row[arena.FALSE_ACCEPT] == 0 for name, row in table.items() if name in ("kernel", *PLUGGED_IN))
