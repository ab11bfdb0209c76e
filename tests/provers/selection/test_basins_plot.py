"""The figure of `selection-basins`: cells where they are, or by a and b where nobody would see them there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import certattn
from certattn.provers.figures import Kept
from certattn.provers.selection.basins_plot import _hindrance, draw_certificate


@pytest.mark.parametrize(
    ("corner", "sides", "words"),
    [
        ([1, 1], [[24, 0], [0, 2]], ""),
        ([-1e3, 0], [[1, 0], [1, 1]], ""),
        ([0, 0, 0], [[1, 0, 0], [0, 1, 0]], "a plane in dimension 3"),
        ([1, 1], [[1e-12, 0], [0, 1e-12]], "too short to see"),
        ([0, 0], [[1e-30, 0], [0, 1]], "$10^{-30}$ and 1 long make a line"),
        ([0, 0], [[0.0, 0.0], [0, 1]], "about 0 and 1 long are too short to see"),
        ([0, 0], [[1, 0], [1, 1e-30]], "1 and 1 long make a line"),
    ],
)
def test_what_hinders_a_picture_of_the_plane(corner: list[float], sides: list[list[float]], words: str) -> None:
    found = _hindrance(np.array(corner, float), np.array(sides, float))
    assert words in found
    assert (found == "") is (words == "")


@pytest.mark.parametrize(("side", "label"), [("2", "$p_1$"), ("1e-400", "$a$")])
def test_the_axes_are_those_of_what_is_drawn(tmp_path: Path, side: str, label: str) -> None:
    pytest.importorskip("matplotlib")
    certificate = certattn.generate(
        "selection-basins", tmp_path / "a.yaml", keys=[[[1, 0], [-1, 0]]], scores=[[1, 0]], loss="logistic",
        descent={"rule": "gradient", "step": 4}, region={"corner": [3, 0], "sides": [[side, 0], [0, 1]]}, depth=0,
    )  # fmt: skip
    draw_certificate(certificate, kept := Kept())
    (axes,) = kept.figure.axes
    assert axes.get_xlabel() == label
    assert ("too short" in kept.figure.get_suptitle()) is (label == "$a$")
