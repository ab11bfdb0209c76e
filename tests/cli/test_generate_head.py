"""`certattn generate selection-on-a-head`: from files to certificates that verify, and figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

WHOLE = "keys: [[0, 1], [1, 0], [0, 0]]\nvalues: [[1], [2], [0]]\nqueries: [[1, 3], [2, 1]]\n"


@pytest.mark.parametrize(
    "options",
    [
        ["--scale", "1/sqrt(2)"],
        ["--score", "value-norm", "--separability", "selected", "--separability", "best"],
        ["--score", "1, 0, -1/2", "--exposure", "1", "--gap", "0.1"],
        ["--queries", "1:4", "--causal", "2", "--per-query", "--note", "for you"],
    ],
    ids=lambda options: options[0],
)
def test_what_is_generated_verifies(certattn_run: Run, head: Path, options: list[str]) -> None:
    done = certattn_run("generate", "selection-on-a-head", head, *options, "-o", "made.yaml")
    assert done.status == 0, done.err
    first, *_, last = done.out.splitlines()
    assert first == "wrote made.yaml"
    assert last == "now prove it: certattn check made.yaml"
    assert certattn_run("check", "made.yaml").status == 0


def test_a_whole_head_is_read_from_yaml(certattn_run: Run, folder: Path) -> None:
    (folder / "head.yaml").write_text(WHOLE)
    done = certattn_run("generate", "selection-on-a-head", "head.yaml", "--exposure", "2", "-o", "made.yaml")
    assert done.status == 0, done.err
    assert "is 0, 1;" in done.out
    assert certattn_run("check", "made.yaml").status == 0


def test_errors_are_in_the_file_that_was_read(certattn_run: Run, folder: Path) -> None:
    (folder / "head.yaml").write_text(WHOLE.replace("[2]", "[2, 3]"))
    done = certattn_run("generate", "selection-on-a-head", "head.yaml", "-o", "made.yaml")
    assert done.status == 2
    assert "head.yaml: values" in done.err


def test_a_tie_is_said_to_be_one(certattn_run: Run, folder: Path) -> None:
    (folder / "head.yaml").write_text(WHOLE.replace("[2, 1]", "[1, 1]"))
    done = certattn_run("generate", "selection-on-a-head", "head.yaml", "-o", "made.yaml")
    assert done.status == 1
    assert "tokens 0 and 1 share the largest logit at query 1" in done.err


def test_a_figure_is_drawn(certattn_run: Run, head: Path, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    arguments = ("generate", "selection-on-a-head", head, "-o", "made.yaml", "--plot", "made.svg")
    refused = certattn_run(*arguments)
    assert refused.status == 2
    assert "expected --per-query" in refused.err
    done = certattn_run(*arguments, "--per-query")
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1] == "drew made.svg"
    assert (folder / "made.svg").stat().st_size > 1000
    assert "a figure ends in" in certattn_run(*arguments[:-1], "made.gif", "--per-query").err
