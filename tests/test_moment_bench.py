"""The script that measures the claims about random score matrices: small runs of its parts."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

Tool = Callable[[str], ModuleType]


def test_a_row_of_each_kind(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = tool("bench.moments")
    runs = {
        "moments": ("finite-moments", {"beta": "1/2", "d": 24, "orders": [2, 4]}),
        "smallest": ("finite-moments", {"beta": "1/2", "orders": [4], "within": "1/4"}),
        "normaliser": ("normalizer-bound", {"beta": "1/2", "d": 1000}),
        "equivalence": ("universality-bound", {"given": {"beta": "1/2", "eta": "1", "lambda": "1", "d": "1000"}}),
    }
    monkeypatch.setattr(bench, "RUNS", runs)
    found = list(bench.rows(tuple(runs)))
    assert [row.verdict for row in found] == ["verified"] * 4
    assert all(row.generate_seconds > 0 and row.check_seconds > 0 for row in found)
    assert [row.finding for row in found] == [
        "ratio of order 4 at most 1.25277",
        "order 4: ratio at most 1.23999",
        "mean_square at most 0.0001428",
        "equivalence at most 0.0329",
    ]


def test_the_script_prints_a_line_for_each_row(
    tool: Tool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = tool("bench.moments")
    monkeypatch.setattr(bench, "RUNS", {"one": ("normalizer-bound", {"beta": "1/2", "d": 1000})})
    monkeypatch.setattr(bench.rows, "__defaults__", (("one",),))
    assert bench.main([]) == 0
    assert "verified" in capsys.readouterr().out
    assert bench.main(["--json"]) == 0
    assert '"name": "one"' in capsys.readouterr().out
