"""`certattn generate max-margin`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from generating import refuses, states

PROBLEM = "keys: [[[0, 0], [1, 1]], [[0, 0], [1, -1]]]\nindices: [1, 1]\n"


@pytest.fixture
def inputs(folder: Path) -> None:
    keys = np.array([[0, 0], [1, 1], [0, 0], [1, -1]], float)
    np.save(folder / "p.npy", np.array([3, 0], np.float32))
    np.savez(folder / "p.npz", p=np.array([[1e-3, 0]]), longer=np.ones(3), nan=np.array([np.nan, 1]))
    np.savez(folder / "inputs.npz", k=keys, lengths=np.array([2, 2]), indices=np.array([1, 1]))


test_what_is_stated_verifies = states(
    "max-margin",
    [
        ([PROBLEM, "--note", "two inputs"], "it is p = (1, 0)"),
        (["inputs.npz", "--array", "keys=k", "--form", "direction", "--digits", "12"], "|d/m - p| <= 0"),
        ([PROBLEM.replace("[1, -1]", "[-1, -1]")], "no p satisfies these constraints"),
        ([PROBLEM, "--direction", "7/2, 0"], "the direction is that of the solution\n"),
        ([PROBLEM, "--direction", "1, 0.01"], "is at most 0.0143 from the solution, whose length is about 1\n"),
        ([PROBLEM, "--direction", "1, 0", "--form", "direction"], "|d/m - p| <= 0"),
        ([PROBLEM, "--direction", "p.npy"], "the direction is that of the solution\n"),
        ([PROBLEM, "--direction", "p.npz[p]", "--form", "exact"], "the direction is that of the solution\n"),
    ],
    "inputs",
)
test_errors_blame_the_file_of_the_problem = refuses(
    "max-margin",
    [
        ([PROBLEM.replace("[1, 1]\n", "[1, 2]\n")], "task.yaml: indices"),
        ([PROBLEM.replace("[1, 1]\n", "[1, 2]\n")], "one of the 2 tokens of input 1"),
        ([PROBLEM, "--direction", "1, 0, 0"], "the direction has 3 numbers; expected 2 numbers, as p has"),
        ([PROBLEM, "--direction", "p.npz[longer]"], "the direction has 3 numbers"),
        ([PROBLEM, "--direction", "p.npz[nan]"], "p.npz: the array 'nan'[0] is nan, expected a finite number"),
        ([PROBLEM, "--direction", "p.npz"], "expected the name of one, as in p.npz[NAME]"),
        ([PROBLEM, "--direction", "none.npy"], "none.npy: no such file"),
        ([PROBLEM, "--direction", "0, 0"], "the direction is 0"),
        ([PROBLEM, "--direction", "1, x"], "direction: 'x', expected an exact number"),
    ],
    "inputs",
    status=2,
)
test_a_direction_that_is_not_that_of_the_solution = refuses(
    "max-margin",
    [
        (
            [PROBLEM, "--direction", "1, 1/1000", "--form", "exact"],
            "an angle of about 0.0573 degrees",
        ),
        ([PROBLEM, "--direction", "1, 1/1000", "--form", "exact"], "with the margin 1 it is about 0.001416 from it"),
        ([PROBLEM, "--direction", "-2, 0"], "at no length: for token 0 of input 0 the product is about -2"),
        ([PROBLEM, "--direction", "-2, 0"], "an angle of about 180 degrees"),
        ([PROBLEM.replace("[1, -1]", "[-1, -1]"), "--direction", "1, 0"], "no point satisfies the constraints"),
    ],
    status=1,
)
