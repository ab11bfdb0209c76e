"""The script that measures validated flows against boxes: a small run."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

Tool = Callable[[str], ModuleType]


def test_a_rotation_wraps_boxes_and_not_balls(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    bench = tool("bench.flow")
    assert bench.main(["--turns", "20", "--time", "5", "--order", "20", "--bits", "100"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[-1] for row in rows if "certattn" in row] == ["reached", "reached"]
    turned, flowed = (float(row[-4]) for row in rows if "certattn" in row)
    assert max(turned, flowed) < 1e-25
    lost, boxed = (row for row in rows if "plain" in row)
    assert lost[-3:-1] == ["lost", "at"]
    assert float(boxed[-4]) > 100 * flowed
