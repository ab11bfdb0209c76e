"""The script that measures singular values, and the weights that it and the gallery draw: small runs."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

Tool = Callable[[str], ModuleType]


def test_the_bench_measures_both_arithmetics(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    tool("gallery.singular_values")
    bench = tool("bench.singular_values")
    assert bench.main(["--sizes", "30"]) == 0
    assert "in integers" in capsys.readouterr().out
    row = bench.measure(40, 1, sharp=True)
    assert 0 < row.sharp_radius < 1e-12
    assert row.sharp_radius < row.radius < 1e-10
    assert row.ratio > 0


def test_weights_are_about_normal_and_always_the_same(tool: Tool) -> None:
    drawn = tool("gallery.singular_values").weights("a text", 200, 30).astype(float) / 1024
    assert drawn[0, :3].tolist() == [378 / 1024, -1067 / 1024, 1108 / 1024]
    assert abs(drawn.mean()) < 0.03
    assert abs(drawn.std() - 1) < 0.03
    assert abs((drawn**4).mean() - 3) < 0.2
