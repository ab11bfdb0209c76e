"""tools/bench_cache.py measures what it says, and notices a cache that is not used."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Tool = Callable[[str], ModuleType]
CERTIFICATE = Path(__file__).resolve().parent.parent / "certificates/infinite-prompt-operator/gaussian-d1.yaml"


def test_three_checks_and_their_ratios(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool("bench_cache").main([str(CERTIFICATE)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^\| none \| [0-9.]+ \| 1\.000 \| [0-9.]+ \| 1\.000 \|$", out, re.MULTILINE)
    assert re.search(r"^\| full \|( [0-9.]+ \|){4}$", out, re.MULTILINE)
    assert out.endswith("1 of 1 certificates verified (1 of them earlier, as the cache says)\n")


def test_medians_of_ratios_within_runs(tool: Tool) -> None:
    bench = tool("bench_cache")
    runs = [
        {"none": bench.Spent(2.0, 1.0), "empty": bench.Spent(4.0, 2.0), "full": bench.Spent(1.0, 0.1)},
        {"none": bench.Spent(8.0, 1.0), "empty": bench.Spent(8.0, 1.0), "full": bench.Spent(1.0, 0.1)},
    ]
    rows = bench.table(runs).splitlines()
    assert rows[3:] == ["| empty | 6.00 | 1.500 | 1.50 | 1.500 |", "| full | 1.00 | 0.312 | 0.10 | 0.100 |"]


def test_a_cache_that_is_not_used_is_no_measurement(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "certattn").mkdir(mode=0o755)
    with pytest.raises(RuntimeError, match="open to others"):
        tool("bench_cache").check(CERTIFICATE, tmp_path, "--cache")
