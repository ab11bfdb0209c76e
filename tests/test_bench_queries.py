"""tools/bench/queries.py measures what it says, and a check takes no more for each query, the more there are."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Tool = Callable[[str], ModuleType]
LAST = re.compile(r"^one of the most .*: ([0-9.]+) in processor seconds, ([0-9.]+) in memory$", re.MULTILINE)


@pytest.mark.heavy
@pytest.mark.parametrize("arithmetic", ["auto", "arb"])
def test_queries_take_the_same_each(arithmetic: str, tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    """17,000 are more than 2^14."""
    assert tool("bench.queries").main(["--queries", "1000", "17000", "--arithmetic", arithmetic]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^\| 17,000 \|( [0-9.]+ \|){4}$", out, re.MULTILINE)
    found = LAST.search(out)
    assert found
    assert max(map(float, found.groups())) < 1


@pytest.mark.heavy
def test_certificates_in_a_folder(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool("bench.queries").main(["--certificates", "2", "20"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^\| 20 \|( [0-9.]+ \|){4}$", out, re.MULTILINE)
    found = LAST.search(out)
    assert found
    assert max(map(float, found.groups())) < 1.5


def test_growth_is_that_of_one(tool: Tool) -> None:
    bench = tool("bench.queries")
    found = [bench.Spent(10, 9.0, 1.0, 5_000_000), bench.Spent(100, 9.0, 20.0, 10_000_000)]
    assert bench.growth(found) == (2.0, 0.2)
    assert bench.table(found, "queries").splitlines()[2] == "| 10 | 9.00 | 1.00 | 100.000 | 5 |"


def test_what_is_not_verified_is_no_measurement(tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "false.yaml"
    bench = tool("bench.queries")
    path.write_text(bench.TINY.replace("1/2", "1/3"))
    with pytest.raises(RuntimeError, match="is not verified"):
        bench.check(path, 1, 0)
