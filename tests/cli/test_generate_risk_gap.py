"""`certattn generate risk-gap`: what it states verifies, the shortest length is the shortest, and messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generating import refuses, states

from certattn import generate as generate_certificate
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.provers.training import gap_lengths, gap_tables

Run = Callable[..., Any]
BALL = "covariance: [[1]]\nball: {A_squared: 1/4, b_squared: 1}\n"
POINT = "covariance: [[1/2]]\nlength: 4\nparameters: {A: [[1/2]], b: 1/2}\n"


test_what_is_stated_verifies = states(
    "risk-gap",
    [
        ([BALL, "--excess", "0.1"], "for every L >= 16"),
        ([BALL, "--shortfall", "0.2", "--majorant", "logistic"], "at most 0.2 below R"),
        ([BALL, "--excess", "0.1", "--majorant", "power", "--theta", "1/2"], "at most 0.1 above"),
        ([BALL, "--length", "50", "--majorant", "power", "--digits", "5"], "for every L >= 50"),
        ([BALL, "--length", "50", "--excess", "0.1", "--note", "easy"], "at most 0.1 above"),
        ([POINT, "--digits", "1"], "prompts of 4 tokens"),
        ([POINT.replace("A: [[1/2]]", "A: [[0]]"), "--digits", "1"], "prompts of 4 tokens"),
    ],
)


@pytest.mark.parametrize("majorant", ["table", "logistic", "power"])
def test_no_shorter_length_is_shown_to_be_enough(generate: Run, majorant: str) -> None:
    done = generate("risk-gap", BALL, "--excess", "0.1", "--majorant", majorant)
    length = int(" ".join(done.out.split()).split("L >= ")[1].split(",")[0])
    shorter = ["--length", str(length - 1), "--excess", "0.1", "--majorant", majorant]
    assert "above 0.1" in generate("risk-gap", BALL, *shorter).err


test_what_cannot_be_stated_is_said = refuses(
    "risk-gap",
    [
        ([BALL], "state a length, an excess or a shortfall"),
        ([BALL, "--excess", "0"], "excess is 0, expected a positive number"),
        ([BALL, "--excess", "1e-12", "--majorant", "power", "--theta", "1/9"], "no length up to"),
        ([BALL, "--length", "9", "--excess", "1e-9"], "above 1e-9"),
        ([BALL, "--length", "9", "--theta", "1/2"], "the majorant power"),
        ([BALL, "--length", "9", "--majorant", "power", "--theta", "2"], "0 < theta <= 1"),
        ([BALL.replace("1/4", "9"), "--length", "9", "--majorant", "power", "--theta", "1"], "unbounded"),
        ([BALL.replace("[[1]]", "[[-1]]"), "--length", "9"], "task.yaml: covariance"),
        ([BALL.replace("1/4", "-1"), "--length", "9"], "task.yaml: ball.A_squared"),
        ([POINT, "--length", "9"], "--length: only for a ball of parameters"),
        ([POINT, "--excess", "0.1", "--theta", "1/2"], "--excess, --theta: only for a ball of parameters"),
        ([POINT, "--shortfall", "0.1"], "--shortfall: only for a ball of parameters"),
        ([POINT, "--majorant", "power"], "--majorant: only for a ball of parameters"),
        ([BALL, "--length", "1" + "0" * 18], "2<=x<=999999999999999999"),
        ([POINT.replace("length: 4", "length: 1e30")], "write at most 18 digits"),
        ([POINT.replace("b: 1/2", "c: 1")], "task.yaml: parameters"),
        ([POINT.replace("length: 4", "length: 1")], "task.yaml: length"),
    ],
)


def test_a_length_that_certificates_do_not_hold_is_refused(folder: Path) -> None:
    given = {"covariance": [["1"]], "ball": {"A_squared": "1/4", "b_squared": "1"}}
    with pytest.raises(UsageError, match="expected at most 999999999999999999"):
        generate_certificate("risk-gap", folder / "gap.yaml", given=given, length=10**30)


def test_a_table_that_would_be_too_long_says_what_to_take_instead(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gap_tables, "_MOST_NODES", 3)
    given = {"covariance": [["1"]], "ball": {"A_squared": "1/4", "b_squared": "1"}}
    with pytest.raises(NotProvedError, match=r"more than 3 rows; take another majorant \(--majorant logistic or power"):
        generate_certificate("risk-gap", folder / "gap.yaml", given=given, length=50)


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        (BALL.replace("1/4", "0"), ("--excess", "0.1"), "a number > 0"),
        (
            "covariance: [[1, 0], [0, 1/30]]\nlength: 64\nparameters: {A: [[1, 0], [0, 1]], b: 1}\n",
            (),
            "902 times as much along one direction",
        ),
    ],
)
def test_reasons_have_numbers(generate: Run, task: str, options: tuple[str, ...], said: str) -> None:
    assert said in " ".join(generate("risk-gap", task, *options).err.split())


def test_another_majorant_is_named(generate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gap_lengths, "_LONGEST", 100)
    err = generate("risk-gap", BALL, "--excess", "1e-9", "--majorant", "logistic").err
    assert "try --majorant power" in " ".join(err.split())


def test_tokens_that_hardly_vary_take_no_memory(generate: Run) -> None:
    for variance in ("1/100000", "1e-8", "1e-300"):
        text = POINT.replace("[[1/2]]\nlength: 4", f"[[{variance}]]\nlength: 17")
        assert "prompts of 17 tokens" in " ".join(generate("risk-gap", text).out.split())
