"""`certattn generate max-margin`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[..., Any]
PROBLEM = "keys: [[[0, 0], [1, 1]], [[0, 0], [1, -1]]]\nindices: [1, 1]\n"


def test_a_problem_in_a_file(certattn_run: Run, folder: Path) -> None:
    (folder / "problem.yaml").write_text(PROBLEM)
    done = certattn_run("generate", "max-margin", "problem.yaml", "-o", "margin.yaml", "--note", "two inputs")
    assert done.status == 0, done.err
    assert "it is p = (1, 0)" in " ".join(done.out.split())
    assert certattn_run("check", "margin.yaml").status == 0


def test_arrays_and_a_direction(certattn_run: Run, folder: Path) -> None:
    keys = np.array([[0, 0], [1, 1], [0, 0], [1, -1]], float)
    np.savez(folder / "inputs.npz", k=keys, lengths=np.array([2, 2]), indices=np.array([1, 1]))
    options = ["--array", "keys=k", "--form", "direction", "--digits", "12"]
    done = certattn_run("generate", "max-margin", "inputs.npz", "-o", "margin.yaml", *options)
    assert done.status == 0, done.err
    assert "|d/m - p| <= 0" in " ".join(done.out.split())
    assert certattn_run("check", "margin.yaml").status == 0


def test_data_that_cannot_be_separated(certattn_run: Run, folder: Path) -> None:
    (folder / "problem.yaml").write_text(PROBLEM.replace("[1, -1]", "[-1, -1]"))
    done = certattn_run("generate", "max-margin", "problem.yaml", "-o", "none.yaml")
    assert done.status == 0, done.err
    assert "no p satisfies these constraints" in " ".join(done.out.split())
    assert certattn_run("check", "none.yaml").status == 0


def test_errors_blame_the_file_of_the_problem(certattn_run: Run, folder: Path) -> None:
    (folder / "problem.yaml").write_text(PROBLEM.replace("[1, 1]\n", "[1, 2]\n"))
    done = certattn_run("generate", "max-margin", "problem.yaml", "-o", "margin.yaml")
    assert done.status == 2
    assert "problem.yaml: indices" in done.err
    assert "one of the 2 tokens of input 1" in done.err
    assert not (folder / "margin.yaml").exists()
