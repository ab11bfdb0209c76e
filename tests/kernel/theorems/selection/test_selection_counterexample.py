"""The claim `selection-counterexample`: its words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from corpus import REFUTED, REJECTED, Cases, check
from flint import arb, fmpq

from certattn.kernel.theorems.selection import selection_counterexample

cases = Cases("counterexample_cases")

Tool = Callable[[str], ModuleType]


def test_the_statement_says_every_number_and_which_reading_fails(tmp_path: Path) -> None:
    said = check(next(cases.FROM_AFAR.cases()).text, tmp_path).statement
    for piece in (
        "keys ((-3, 1), (0, 0)), ((1, 0), (0, 0)), scores (1, 0), (1, 0)",
        "eta = 1/60",
        "from p(0) = (3, 0)",
        "for the chosen tokens a = (1, 0)",
        "p_mm = (1, 0)",
        "1 - cos angle(p_best, p_mm) >= 0.7574",
        "eta = 1/60 <= 1/L for L = 58.97",
        "of the tokens x = (key, score) with W = [I 0] and v = (0, ..., 0, 1)",
        "for these 2 inputs it is false that, where all other scores of an input are equal, descent converges in "
        "direction to the max-margin point of the best tokens from any p(0)",
    ):
        assert piece in said, said


def test_box_words_speak_of_every_start(tmp_path: Path) -> None:
    (case,) = [case for case in cases.CASES if "box" in case.name]
    assert "from every p(0) between" in check(case.text, tmp_path).statement


def test_wrong_multipliers_never_refute(tmp_path: Path) -> None:
    text = next(cases.FROM_AFAR.cases()).text.replace("multiplier: 13", "multiplier: 12").replace("0.7574", "0.9")
    assert check(text, tmp_path).verdict is REJECTED


@pytest.mark.parametrize(
    ("module", "name", "broken", "case"),
    [
        (selection_counterexample, "largest_spread", lambda selection: fmpq(0), "a third token of another score"),
        (selection_counterexample, "smoothness_bound", lambda *_: arb(1), "a smoothness below the paper's"),
        (selection_counterexample, "_square", lambda matrix: fmpq(1), "a smoothness below the paper's"),
    ],
)
def test_a_broken_part_is_noticed(
    module: ModuleType, name: str, broken: object, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (rejected,) = [each for each in cases.FROM_AFAR.cases() if each.name.endswith(case)]
    assert check(rejected.text, tmp_path).verdict in (REFUTED, REJECTED)
    monkeypatch.setattr(module, name, broken)
    assert rejected.complaint(check(rejected.text, tmp_path)) != ""
