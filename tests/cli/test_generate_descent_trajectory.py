"""`certattn generate descent-trajectory`: from a file to a certificate that verifies, and a figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]

TRAINING = """\
model: regression
covariance: [[1, 1/2], [1/2, 5/4]]
start: {A: [[1/4, 0], [0, 1/4]], b: 1/4}
step: 1/100
steps: 4
"""
SIGNS = """\
model: attention
laws: [{kind: rademacher, sizes: [1, 1]}]
start: {U: [[1/2, 0], [0, 1/2]], V: [[1, 0], [0, 1]]}
step: 1/20
steps: 3
"""
DRAWN = ("--prompts", "4", "--length", "32")


@pytest.fixture
def training(folder: Path) -> Path:
    (folder / "training.yaml").write_text(TRAINING)
    return folder / "training.yaml"


@pytest.mark.parametrize(
    "options",
    [["--seed", "3"], ["--all-tasks", "--at", "finite"], ["--checkpoint", "2", "--gronwall", "1", "--note", "for you"]],
    ids=lambda options: options[0],
)
def test_what_is_generated_verifies(certattn_run: Run, training: Path, options: list[str]) -> None:
    done = certattn_run("generate", "descent-trajectory", training, *DRAWN, *options, "-o", "made.yaml")
    assert done.status == 0, done.err
    first, *_, last = done.out.splitlines()
    assert first == "wrote made.yaml"
    assert last == "now prove it: certattn check made.yaml"
    assert certattn_run("check", "made.yaml").status == 0


def test_prompts_from_a_file(certattn_run: Run, folder: Path) -> None:
    (folder / "signs.yaml").write_text(SIGNS)
    tokens = np.random.default_rng(0).choice([-1.0, 1.0], (12, 2))
    np.savez(folder / "prompts.npz", z=tokens, queries=tokens[:3], targets=tokens[:3] / 2)
    arguments = ("--arrays", "prompts.npz", "--array", "tokens=z", "-o", "made.yaml", "--plot", "made.svg")
    done = certattn_run("generate", "descent-trajectory", "signs.yaml", *arguments)
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1] == "drew made.svg"
    assert (folder / "made.svg").read_text().startswith("<?xml")
    assert certattn_run("check", "made.yaml").status == 0


def test_prompts_without_a_length(certattn_run: Run, training: Path) -> None:
    done = certattn_run("generate", "descent-trajectory", training, "--prompts", "4", "-o", "made.yaml")
    assert done.status == 2
    assert "--prompts and --length go together" in done.err


def test_errors_are_in_the_file_that_was_read(certattn_run: Run, training: Path) -> None:
    training.write_text(TRAINING.replace("[1/2, 5/4]", "[1/2, 1/8]"))
    done = certattn_run("generate", "descent-trajectory", training, *DRAWN, "-o", "made.yaml")
    assert done.status == 2
    assert "training.yaml: covariance" in done.err


def test_a_figure_of_another_kind(certattn_run: Run, training: Path) -> None:
    done = certattn_run("generate", "descent-trajectory", training, *DRAWN, "-o", "made.yaml", "--plot", "made.txt")
    assert done.status == 2
    assert ".svg, .png, .pdf" in done.err
    assert not Path("made.yaml").exists()
