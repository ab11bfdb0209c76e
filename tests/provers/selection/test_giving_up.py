"""Searches for a theorem that come to nothing end long before the last step, and say why; others go on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from certattn.kernel.errors import NotProvedError
from certattn.provers.selection.selection_direction import Search, generate

MOST = 100_000
# From (0, 0) descent selects token 1, whose neighbour 0 has a larger score.
RESTING: dict[str, Any] = {
    "keys": [[["1/10", 1], [1, 0], [0, 0]]],
    "scores": [[1, "9/10", 0]],
    "loss": "logistic",
    "descent": {"rule": "gradient", "step": 1},
    "start": [8, "-2"],
}


def given_up(tmp_path: Path, given: dict[str, Any], **options: Any) -> tuple[str, int]:
    """What is said, and after how many steps."""
    with pytest.raises(NotProvedError) as raised:
        generate(tmp_path / "direction.yaml", given=given, most_steps=MOST, **options)
    said = str(raised.value)
    assert not list(tmp_path.iterdir())
    found = re.search(rf"given up after (\d+) of {MOST} steps", said)
    return said, int(found.group(1)) if found else MOST


def test_tokens_that_cannot_be_separated(tmp_path: Path) -> None:
    """The middle one of three on a line, to which descent is held by the scores of both others."""
    line = {**RESTING, "keys": [[[0, 0], [1, 0], [-1, 0]]], "scores": [[1, 0, 0]], "start": [0, 0]}
    said, steps = given_up(tmp_path, line)
    assert "cannot be separated" in said
    assert steps < 5000


def test_tokens_with_a_better_neighbour(tmp_path: Path) -> None:
    """Two neighbours in one direction, of which the worse one is ahead for long: a plateau with a saddle."""
    given = {**RESTING, "keys": [[[1, 1], [1, -1], [0, 0]]], "scores": [[1, 2, 0]], "start": [6, 6]}
    said, steps = given_up(tmp_path, given, indices=[0])
    assert "they are not locally optimal" in said
    assert steps < 20_000


def test_no_number_of_steps_is_enough(tmp_path: Path) -> None:
    """A better token of the slack 1/1000: where descent is by the last step no theorem would hold."""
    said, steps = given_up(tmp_path, {**RESTING, "keys": [[["-1/1000", 1], [1, 0], [0, 0]]], "start": [4, 0]})
    assert "along p_mm as it would be then: try a start" in said
    assert steps < 5000


def test_a_search_that_may_succeed_goes_on(tmp_path: Path) -> None:
    """From (4, 0) past a token of the slack 1/10, by short steps."""
    given = {**RESTING, "keys": [[["-1/10", 1], [1, 0], [0, 0]]], "start": [4, 0]}
    short = {**given, "descent": {"rule": "gradient", "step": "1/10"}}
    made = generate(tmp_path / "direction.yaml", given=short, most_steps=MOST)
    assert 1024 < int(str(made.plain["witness"]["steps"])) <= MOST


def test_millions_of_steps_are_not_taken_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they end in doubles is not asked, as leaps are there sooner."""
    monkeypatch.setattr(Search, "_at_last", lambda *_: pytest.fail("steps one by one"))
    given = {**RESTING, "keys": [[["-1/10", 1], [1, 0], [0, 0]]], "scores": [[1, "9/10", "9/10"]], "start": [0, "-3/2"]}
    made = generate(tmp_path / "direction.yaml", given=given, theorem="tube", most_steps=30_000_000, angles=[10**9])
    assert 10**7 < int(str(made.plain["witness"]["steps"])) < 2 * 10**7
