"""The development scripts: small runs of each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import pytest

Tool = Callable[[str], ModuleType]


def test_kernel_size_counts_code_and_not_words_about_it(tool: Tool) -> None:
    size = tool("kernel_size")
    documented = 'def f():\n    """Doc\n    string."""\n    # comment\n    return (1,\n            2)\n\n'
    source = documented + 'X = """not\na docstring"""\n'
    assert size.code_lines(source) == 5


def test_kernel_size_prints_every_module_and_the_total(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    size = tool("kernel_size")
    size.main()
    lines = capsys.readouterr().out.splitlines()
    modules = list(size.KERNEL.rglob("*.py"))
    assert len(lines) == len(modules) + 1
    counts = [int(line.split()[0]) for line in lines]
    assert sum(counts[:-1]) == counts[-1]
    assert all(len(path.read_text().splitlines()) <= 300 for path in modules)


def test_bench_check_compares_two_commands(tool: Tool) -> None:
    bench = tool("bench_check")
    quick, slow = [sys.executable, "-S", "-c", ""], [sys.executable, "-S", "-c", "import time; time.sleep(0.2)"]
    first, second, ratio = bench.compare(quick, slow, 1)
    assert 0 < first < second
    assert ratio < 1


def test_bench_check_reads_the_phases_of_a_check(tool: Tool) -> None:
    bench = tool("bench_check")
    spent = bench.phases(bench.SMALL)
    assert {"parsing", "arithmetic", "total"} <= set(spent)
    assert 0 < spent["parsing"] < spent["total"]


def test_bench_concentration_compares_bounds_with_simulated_quantiles(
    tool: Tool, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = tool("bench_concentration")
    found = bench.table(["1"], [50], ["0.1"], prompts=5000, numbers=10**6, least=1000)
    assert [row.direction for row in found] == ["+", "-", "across"]
    assert all(1 < row.ratio < 2 and row.eps > row.truth.high > row.truth.low > 0 for row in found)
    head, *lines = capsys.readouterr().out.splitlines()
    assert "quantile" in head
    assert len(lines) == 3
    assert "bounds below the interval of the simulated quantile: 0 of 3" in bench.summary(found)
