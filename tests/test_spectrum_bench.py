"""The scripts that measure and draw the spectrum of attention: small runs of their parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from flint import fmpq

Tool = Callable[[str], ModuleType]


@pytest.fixture
def bench(tool: Tool) -> ModuleType:
    """`tools/bench/spectrum.py`, with the script whose weights it draws."""
    tool("gallery.singular_values")
    return tool("bench.spectrum")


def test_the_limit_law_is_measured(bench: ModuleType) -> None:
    rows = bench.law(3, 1)
    assert len(rows) == 4
    assert all(row.milliseconds > 0 for row in rows)
    assert "wanted: at most 0.2 ms" in str(rows[0])


def test_the_linear_part_is_measured(bench: ModuleType) -> None:
    (row,) = bench.linearization(40, ["1/2"])
    assert row.what.startswith("d = 40, beta = 1/2, SVD ")
    assert "norm 0." in row.what
    assert "distance 0." in row.what
    assert row.milliseconds > 0


def test_the_bench_prints_its_rows(bench: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    bench.PARTS["law"] = lambda: bench.law(2, 1)
    assert bench.main(["law"]) == 0
    assert "a value of the CDF, beta = 1, lambda = 1" in capsys.readouterr().out


def test_distances_are_measured(tool: Tool) -> None:
    rows = tool("bench.spectrum").distance(30, 1)
    assert len(rows) == 4
    assert all(row.milliseconds > 0 for row in rows)
    assert "law <= " in rows[1].what
    assert "separation >= " in rows[1].what


def test_the_phases_are_drawn_from_thresholds(tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = tool("pages.draw_gap_phases")
    (first, _, last) = draw.thresholds(4)
    assert first == pytest.approx((1 / 16, 1.71241067))
    assert last[1] < first[1]
    assert draw.relative_width(fmpq(1, 4), fmpq(1, 2)) == pytest.approx(0.0595, abs=1e-4)
    assert draw.relative_width(fmpq(1, 4), fmpq(1)) == 0
    monkeypatch.setattr(draw, "_POINTS", 6)
    monkeypatch.setattr(draw, "_STEPS", 6)
    draw.draw(tmp_path / "phases.svg")
    assert (tmp_path / "phases.svg").stat().st_size > 1000
