"""The script that measures training in context: small runs of its parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Tool = Callable[[str], ModuleType]


@pytest.fixture
def bench(tool: Tool) -> ModuleType:
    return tool("bench.training")


def test_a_rate_is_certified(bench: ModuleType, tmp_path: Path) -> None:
    found = bench.convergence(4, tmp_path)
    assert found.checked > 0
    assert float(bench.asserted(found.certificate)["rate"]) > 0


def test_certified_rates_are_near_the_fitted_ones(bench: ModuleType, tmp_path: Path) -> None:
    rate, fitted = bench.restart(bench.COVARIANCES["plane"], 0, tmp_path)
    assert rate < fitted < 3 * rate


def test_the_flow_is_followed(bench: ModuleType, tmp_path: Path) -> None:
    found, end, radius = bench.flow(bench.COVARIANCES["plane"], bench.BALANCED[2], "1/100", tmp_path)
    assert found.found > 0
    assert end > 1
    assert radius <= 1e-20


def test_descents_are_compared(bench: ModuleType, tmp_path: Path) -> None:
    found, radius, ratio = bench.descent(bench.COVARIANCES["plane"], bench.Descents(2, 8, 3, "1/50"), tmp_path)
    assert found.checked > 0
    assert radius <= 1e-12
    assert 1 <= ratio <= 1.01


def test_the_shortest_prompts_are_found_and_checked(
    tool: Tool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    transfer = tool("bench.risk_transfer")
    found = transfer.row("line-large-b", tmp_path)
    assert found.length == 76
    assert found.ratio == found.timed.found / found.timed.checked > 0
    # No tube is below the distance that is simulated, but for the errors of that.
    assert 0.99 < found.sharpness < 10
    assert transfer.main(["line-large-b"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("line-large-b              7.6e+01")
