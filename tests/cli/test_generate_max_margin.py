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
    np.savez(folder / "inputs.npz", k=keys, lengths=np.array([2, 2]), indices=np.array([1, 1]))


test_what_is_stated_verifies = states(
    "max-margin",
    [
        ([PROBLEM, "--note", "two inputs"], "it is p = (1, 0)"),
        (["inputs.npz", "--array", "keys=k", "--form", "direction", "--digits", "12"], "|d/m - p| <= 0"),
        ([PROBLEM.replace("[1, -1]", "[-1, -1]")], "no p satisfies these constraints"),
    ],
    "inputs",
)
test_errors_blame_the_file_of_the_problem = refuses(
    "max-margin",
    [
        ([PROBLEM.replace("[1, 1]\n", "[1, 2]\n")], "task.yaml: indices"),
        ([PROBLEM.replace("[1, 1]\n", "[1, 2]\n")], "one of the 2 tokens of input 1"),
    ],
    status=2,
)
