"""`certattn generate risk-gap`: what it states verifies, the shortest length is the shortest, and messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
BALL = "covariance: [[1]]\nball: {A_squared: 1/4, b_squared: 1}\n"
POINT = "covariance: [[1/2]]\nlength: 4\nparameters: {A: [[1/2]], b: 1/2}\n"


def generate(run: Run, folder: Path, text: str, *options: str) -> Any:
    (folder / "task.yaml").write_text(text)
    return run("generate", "risk-gap", "task.yaml", "-o", "gap.yaml", *options)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (BALL, ["--excess", "0.1"], "for every L >= 16"),
        (BALL, ["--shortfall", "0.2", "--majorant", "logistic"], "at most 0.2 below R"),
        (BALL, ["--excess", "0.1", "--majorant", "power", "--theta", "1/2"], "at most 0.1 above"),
        (BALL, ["--length", "50", "--majorant", "power", "--digits", "5"], "for every L >= 50"),
        (BALL, ["--length", "50", "--excess", "0.1", "--note", "easy"], "at most 0.1 above"),
        (POINT, ["--digits", "1"], "prompts of 4 tokens"),
        (POINT.replace("A: [[1/2]]", "A: [[0]]"), ["--digits", "1"], "prompts of 4 tokens"),
    ],
)
def test_what_is_stated_verifies(certattn_run: Run, folder: Path, text: str, options: list[str], said: str) -> None:
    done = generate(certattn_run, folder, text, *options)
    assert done.status == 0, done.err
    assert said in " ".join(done.out.split())
    assert certattn_run("check", "gap.yaml").status == 0


@pytest.mark.parametrize("majorant", ["table", "logistic", "power"])
def test_no_shorter_length_is_shown_to_be_enough(certattn_run: Run, folder: Path, majorant: str) -> None:
    done = generate(certattn_run, folder, BALL, "--excess", "0.1", "--majorant", majorant)
    length = int(" ".join(done.out.split()).split("L >= ")[1].split(",")[0])
    shorter = ["--length", str(length - 1), "--excess", "0.1", "--majorant", majorant]
    assert "above 0.1" in generate(certattn_run, folder, BALL, *shorter).err


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (BALL, [], "state a length, an excess or a shortfall"),
        (BALL, ["--excess", "0"], "excess is 0, expected a number > 0"),
        (BALL, ["--excess", "1e-12", "--majorant", "power", "--theta", "1/9"], "no length up to"),
        (BALL, ["--length", "9", "--excess", "1e-9"], "above 1e-9"),
        (BALL, ["--length", "9", "--theta", "1/2"], "the majorant power"),
        (BALL, ["--length", "9", "--majorant", "power", "--theta", "2"], "0 < theta <= 1"),
        (BALL.replace("1/4", "9"), ["--length", "9", "--majorant", "power", "--theta", "1"], "unbounded"),
        (BALL.replace("[[1]]", "[[-1]]"), ["--length", "9"], "task.yaml: covariance"),
        (BALL.replace("1/4", "-1"), ["--length", "9"], "task.yaml: ball.A_squared"),
        (POINT, ["--length", "9"], "are for a ball"),
        (POINT.replace("b: 1/2", "c: 1"), [], "task.yaml: parameters"),
        (POINT.replace("length: 4", "length: 1"), [], "task.yaml: length"),
    ],
)
def test_what_cannot_be_stated_is_said(
    certattn_run: Run, folder: Path, text: str, options: list[str], said: str
) -> None:
    done = generate(certattn_run, folder, text, *options)
    assert done.status != 0
    assert said in " ".join(done.err.split())
    assert not (folder / "gap.yaml").exists()
