"""`certattn generate` for the claims about training in context."""

from __future__ import annotations

from pathlib import Path

import pytest
from generating import refuses, states

POINT = "covariance: [[1, 1/2], [1/2, 5/4]]\nparameters: {A: [[5/4, -1/2], [-1/2, 1]], b: 1}\n"


@pytest.fixture
def direction(folder: Path) -> None:
    (folder / "direction.yaml").write_text("A: [[1, 0], [0, 0]]\nb: 1\n")


@pytest.fixture
def shifts(folder: Path) -> None:
    (folder / "test.yaml").write_text("tokens: [[2, 0], [0, 1]]\n")
    (folder / "indefinite.yaml").write_text("query:\n- [1, 2]\n- [2, 1]\n")
    (folder / "line.yaml").write_text("tasks: [[1]]\n")


test_what_is_stated_verifies = states(
    "regression-risk",
    [
        ([POINT], "b Sigma A = I"),
        ([POINT, "--predict", "1, 0; 2, -1/2"], "the prediction at w = (1, 0), x = (2, -0.5) is 2"),
        ([POINT, "--along", "direction.yaml"], "the second derivative of R along H = ((1, 0), (0, 0)), h = 1 is 6"),
        ([POINT, "--shift", "test.yaml"], "<w, x>)^2 is 1.125"),
        ([POINT, "--state", "endpoint", "--radius", "1e-300"], "up to 1e-300 in every entry"),
        ([POINT.replace("b: 1", "b: -1/3"), "--state", "gradient", "--state", "risk"], "and dR/db ="),
        ([POINT.replace("b: 1", "b: -1/3")], "b* negative"),
        ([POINT.replace("[-1/2, 1]]", "[-1/2, -7/29]]").replace("b: 1", "b: 0")], "a saddle"),
        (["covariance: [[1/4]]\nparameters: {A: [[4]], b: 4}\n", "--note", "d = 1"], "R = 1.125"),
    ],
    "direction",
    "shifts",
)


test_what_cannot_be_stated_is_said = refuses(
    "regression-risk",
    [
        ([POINT, "--predict", "1, 0"], "expected w and x, such as"),
        ([POINT, "--predict", "1, 0; 2"], "expected a list of 2 numbers"),
        ([POINT, "--radius", "0"], "expected a positive number"),
        ([POINT.replace("b: 1", "b: 0"), "--state", "endpoint"], "b = 0 has no sign"),
        ([POINT.replace("b: 1", "b: 2"), "--state", "stationary"], "the gradient does not vanish there"),
        ([POINT.replace("5/4]]\n", "1/4]]\n")], "task.yaml: covariance"),
        ([POINT.replace("b: 1", "c: 1")], "task.yaml: parameters"),
        ([POINT.replace("[-1/2, 1]]", "[-1/2, 1], [0, 0]]")], "task.yaml: parameters.A"),
        ([POINT, "--shift", "indefinite.yaml"], "indefinite.yaml:2: query"),
        ([POINT, "--shift", "line.yaml"], "line.yaml:1: tasks"),
    ],
    "shifts",
    status=2,
)
