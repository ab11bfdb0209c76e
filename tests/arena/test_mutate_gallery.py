"""The sweep over the gallery: it stops and goes on, gives up what takes too long, and shows every error."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from certattn.kernel.decide import proof
from certattn.kernel.decide.proof import Outcome

GALLERY = Path(__file__).resolve().parent.parent.parent / "certificates"


@pytest.fixture(scope="module")
def sweep(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("mutation.mutate_gallery")


@pytest.fixture(scope="module")
def small(sweep: ModuleType) -> list[Path]:
    """Two certificates of two claims with a quick second opinion."""
    found = (
        sorted((GALLERY / claim).glob("*.yaml")) for claim in ("selection/max-margin", "spectrum/normalizer-bound")
    )
    return [min(paths, key=lambda path: path.stat().st_size) for paths in found]


def run(sweep: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> int:
    monkeypatch.setattr("sys.argv", ["mutate_gallery.py", *map(str, arguments)])
    found: int = sweep.main()
    return found


def totals(state: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(state.read_text())["certificates"]
    return {name: {k: v for k, v in values.items() if k != "seconds"} for name, values in found.items()}


def test_a_run_in_two_parts_counts_what_one_run_does(
    sweep: ModuleType, small: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    whole, parts = tmp_path / "whole.json", tmp_path / "parts.json"
    assert run(sweep, monkeypatch, *small, "--sample", 20, "--seed", 4, "--each", 60, "--state", whole) == 0
    for most in (8, 20):
        assert run(sweep, monkeypatch, *small, "--sample", most, "--seed", 4, "--each", 60, "--state", parts) == 0
    assert totals(whole) == totals(parts)
    for progress in totals(whole).values():
        assert progress["tried"] == progress["mutants"] == 20
        assert progress["refused"] > 0
    capsys.readouterr()
    assert run(sweep, monkeypatch, "--report", "--seed", 4, "--state", whole) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split("  ")[-1] == "other errors"
    everything = rows[2].split()
    assert everything[:5] == ["all", "2", "of", "2", "40"]
    assert everything[-3:] == ["0", "0", "0"]
    with pytest.raises(SystemExit, match="begun with --seed 4"):
        run(sweep, monkeypatch, *small, "--seed", 5, "--state", whole)


def test_a_kernel_that_lets_things_pass_is_found_out(
    sweep: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(proof, "decide", lambda left, relation, right: Outcome.PROVED)
    three = GALLERY / "attention" / "softmax-mean" / "three-tokens.yaml"
    assert run(sweep, monkeypatch, three, "--sample", 60, "--each", 60) == 1
    assert "false accept: verified: " in capsys.readouterr().out


def test_an_exception_is_an_error_and_not_a_refusal(
    sweep: ModuleType, small: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def raises(*arguments: Any) -> Any:
        raise ZeroDivisionError("of a bug")

    monkeypatch.setattr(sweep, "sweep", raises)
    assert run(sweep, monkeypatch, small[1], "--sample", 3, "--each", 60) == 1
    assert "ZeroDivisionError: of a bug" in capsys.readouterr().out


def test_a_false_certificate_of_the_gallery_is_an_error(
    sweep: ModuleType, small: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judgement = sweep.judge.__globals__["Judgement"](sweep.Truth.FALSE, 0.5, "at_most")
    monkeypatch.setattr(sweep, "judge", lambda tree, folder: judgement)
    assert run(sweep, monkeypatch, small[1], "--sample", 3, "--each", 60) == 1
    assert "the certificate as it stands: false, by the second opinion (by 0.5 at at_most)" in capsys.readouterr().out


def test_what_takes_too_long_or_too_much_is_given_up(sweep: ModuleType) -> None:
    def slow(send: Callable[[str], None]) -> None:
        send("first")
        time.sleep(600)

    def greedy(send: Callable[[str], None]) -> None:
        send("first")
        send(str(len(bytearray(2 * sweep.MEMORY))))

    def many(send: Callable[[int], None]) -> None:
        for number in range(10**9):
            send(number)

    started = time.monotonic()
    assert list(sweep.within(slow, 0.5)) == ["first", None]
    assert list(sweep.within(greedy, 60)) == ["first", None]
    assert list(sweep.within(lambda send: send("all"), 60)) == ["all"]
    some = list(sweep.within(many, 60, 0.3))
    assert some == list(range(len(some)))
    assert some
    assert time.monotonic() - started < 60


def test_time_is_shared_between_claims(sweep: ModuleType) -> None:
    run = sweep.Sweep([], 0, 1.0, None)
    turns: list[str] = []
    names = {"a/1": "a", "a/2": "a", "a/3": "a", "b/1": "b"}
    run.progress = {name: sweep.Progress(claim) for name, claim in names.items()}
    run.paths = dict.fromkeys(names, Path("x"))

    def change(name: str, sample: int | None) -> None:
        turns.append(name)
        run.progress[name].seconds += 1
        run.progress[name].tried += 1

    run._change = change
    while run.turn(6):
        pass
    assert turns[:6] == ["a/1", "b/1", "a/2", "b/1", "a/3", "b/1"]
    assert {name: turns.count(name) for name in names} == dict.fromkeys(names, 6)


def test_paths_that_are_not_of_the_gallery_are_refused(
    sweep: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(sweep, monkeypatch, tmp_path / "nothing.yaml")
    assert ended.value.code == 2
    assert "expected a certificate of the gallery" in capsys.readouterr().err
