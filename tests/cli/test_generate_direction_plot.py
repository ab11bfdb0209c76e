"""`certattn generate selection-direction --plot`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DESCENT = """keys: [[[-0.1, 1], [1, 0], [0, 0]]]
scores: [[1, 0.9, 0.9]]
loss: logistic
descent: {rule: gradient, step: 1}
start: [0, -1.5]
"""


def test_a_figure_is_drawn(certattn_run: Callable[..., Any], folder: Path) -> None:
    pytest.importorskip("matplotlib")
    (folder / "descent.yaml").write_text(DESCENT)
    arguments = ("generate", "selection-direction", "descent.yaml", "-o", "made.yaml", "--plot")
    done = certattn_run(*arguments, "made.svg")
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1] == "drew made.svg"
    assert "stated for all later steps" in (folder / "made.svg").read_text()
    assert "a figure ends in" in certattn_run(*arguments, "made.gif").err


def test_what_is_not_in_the_plane_is_said_not_to_be(certattn_run: Callable[..., Any], folder: Path) -> None:
    pytest.importorskip("matplotlib")
    text = DESCENT.replace("[[-0.1, 1], [1, 0], [0, 0]]", "[[1], [0], [-1]]").replace("[0, -1.5]", "[0]")
    (folder / "descent.yaml").write_text(text)
    done = certattn_run("generate", "selection-direction", "descent.yaml", "-o", "made.yaml", "--plot", "made.svg")
    assert done.status == 2
    assert "keys in the plane" in done.err
