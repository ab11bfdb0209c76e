"""`certattn generate` for the claims about training in context."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
POINT = "covariance: [[1, 1/2], [1/2, 5/4]]\nparameters: {A: [[5/4, -1/2], [-1/2, 1]], b: 1}\n"


def generate(run: Run, folder: Path, text: str, *options: str) -> Any:
    (folder / "point.yaml").write_text(text)
    (folder / "direction.yaml").write_text("A: [[1, 0], [0, 0]]\nb: 1\n")
    return run("generate", "regression-risk", "point.yaml", "-o", "risk.yaml", *options)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (POINT, [], "b Sigma A = I"),
        (POINT, ["--predict", "1, 0; 2, -1/2"], "the prediction at w = (1, 0), x = (2, -0.5) is 2"),
        (POINT, ["--along", "direction.yaml"], "the second derivative of R along H = ((1, 0), (0, 0)), h = 1 is 6"),
        (POINT, ["--state", "endpoint", "--radius", "1e-300"], "up to 1e-300 in every entry"),
        (POINT.replace("b: 1", "b: -1/3"), ["--state", "gradient", "--state", "risk"], "and dR/db ="),
        (POINT.replace("b: 1", "b: -1/3"), [], "b* negative"),
        (POINT.replace("[-1/2, 1]]", "[-1/2, -7/29]]").replace("b: 1", "b: 0"), [], "a saddle"),
        ("covariance: [[1/4]]\nparameters: {A: [[4]], b: 4}\n", ["--note", "d = 1"], "R = 1.125"),
    ],
)
def test_what_is_stated_verifies(certattn_run: Run, folder: Path, text: str, options: list[str], said: str) -> None:
    done = generate(certattn_run, folder, text, *options)
    assert done.status == 0, done.err
    assert said in " ".join(done.out.split())
    assert certattn_run("check", "risk.yaml").status == 0


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (POINT, ["--predict", "1, 0"], "expected w and x, such as"),
        (POINT, ["--predict", "1, 0; 2"], "expected a list of 2 numbers"),
        (POINT, ["--radius", "0"], "expected a positive number"),
        (POINT.replace("b: 1", "b: 0"), ["--state", "endpoint"], "b = 0 has no sign"),
        (POINT.replace("b: 1", "b: 2"), ["--state", "stationary"], "the gradient does not vanish there"),
        (POINT.replace("5/4]]\n", "1/4]]\n"), [], "point.yaml: covariance"),
        (POINT.replace("b: 1", "c: 1"), [], "point.yaml: parameters"),
        (POINT.replace("[-1/2, 1]]", "[-1/2, 1], [0, 0]]"), [], "point.yaml: parameters.A"),
    ],
)
def test_what_cannot_be_stated_is_said(
    certattn_run: Run, folder: Path, text: str, options: list[str], said: str
) -> None:
    done = generate(certattn_run, folder, text, *options)
    assert done.status == 2
    assert said in done.err
    assert not (folder / "risk.yaml").exists()
