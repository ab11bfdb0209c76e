"""The scripts that measure descents and real heads: small runs of each."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

Tool = Callable[[str], ModuleType]


def test_enclosed_steps_are_counted_and_stay_near(tool: Tool) -> None:
    bench = tool("bench.selection_descent")
    pace, error = bench.steps_a_second(2, 2, 2, 200)
    assert pace > 0
    assert error < 1e-9


def test_the_authors_descents_are_certified(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    bench = tool("bench.selection_descent")
    assert bench.main(["--steps", "100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.split()[-6:-4] == ["0", "global"] for line in lines) == 6
    assert "local" in lines[-1]


def test_random_local_instances_are_local(tool: Tool) -> None:
    bench = tool("bench.selection_descent")
    given, selection = bench.random_local(np.random.default_rng(5))
    assert selection.bad
    assert len(given["keys"]) == selection.tokens.count <= 4
    assert all(len(table) <= 6 for table in given["keys"])


def test_no_random_point_is_certified_twice(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    bench = tool("bench.selection_descent")
    found, twice = bench.local_table(2, 20)
    assert 0 <= found <= 2
    assert twice == 0
    assert "points certified for two selections: 0" in capsys.readouterr().out


def test_real_heads_are_measured(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    bench = tool("bench.selection_head")
    assert bench.main(["--queries", "8"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["head", "queries", "selected"]
    assert [row.split()[0] for row in rows] == ["layer0-head6", "layer1-head9", "layer2-head6"]
    assert all(float(row.split()[4]) > 0 for row in rows)
