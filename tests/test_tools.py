"""The development scripts: small runs of each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
Tool = Callable[[str], ModuleType]


def test_bench_check_compares_two_commands(tool: Tool) -> None:
    bench = tool("bench.check")
    quick, slow = [sys.executable, "-S", "-c", ""], [sys.executable, "-S", "-c", "import time; time.sleep(0.2)"]
    first, second, ratio = bench.compare(quick, slow, 1)
    assert 0 < first < second
    assert ratio < 1


def test_bench_check_reads_the_phases_of_a_check(tool: Tool) -> None:
    bench = tool("bench.check")
    spent = bench.phases(bench.SMALL)
    assert {"parsing", "arithmetic", "total"} <= set(spent)
    assert 0 < spent["parsing"] < spent["total"]


def test_bench_large_file_makes_checks_and_deletes_a_file(
    tool: Tool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = tool("bench.large_file")
    assert bench.main(["--tokens", "3000", "--runs", "1", "--folder", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "verified" in shown
    assert "ratio" in shown
    assert list(tmp_path.iterdir()) == []


def test_bench_large_file_streams_the_mean_that_numpy_gives_at_once(tool: Tool, tmp_path: Path) -> None:
    bench = tool("bench.large_file")
    bench.write_tokens(tmp_path / "tokens.npy", 70_000)
    tokens = np.load(tmp_path / "tokens.npy").astype(float)
    weights = np.exp(tokens @ bench.query())
    assert np.allclose(bench.stream(tmp_path / "tokens.npy"), weights @ tokens / weights.sum(), rtol=0, atol=1e-13)


@pytest.mark.heavy
def test_bench_concentration_compares_bounds_with_simulated_quantiles(
    tool: Tool, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = tool("bench.concentration")
    chosen = ["--sizes=1", "--lengths=50", "--deltas=0.1", "--prompts=4000", "--numbers=200000"]
    found = bench.table(bench.options(["--laws", "gaussian", "signs", *chosen]))
    assert [row.problem.of for row in found] == 2 * [*bench.FAMILIES]
    assert all(row.found > row.truth.high > row.truth.low > 0 for row in found)
    assert 1 < sorted(row.ratio for row in found)[len(found) // 2] < 2
    head, *lines = capsys.readouterr().out.splitlines()
    assert "truth" in head
    assert len(lines) == len(found)
    assert "bounds below the interval of the simulated quantile: 0 of" in bench.summary(found)


def test_bench_concentration_compares_lengths(tool: Tool) -> None:
    bench = tool("bench.concentration")
    (row,) = bench.table(bench.options(["--laws=gaussian", "--of=across", "--sizes=1", "--deltas=0.1", "--shortest"]))
    assert 1 < row.ratio < 4


def test_bench_selection_path_compares_with_computed_minimisers(tool: Tool) -> None:
    bench = tool("bench.selection_path")
    ratios = bench.path_ratios(4)
    # Certified bounds are above what is computed, up to the rounding of a search in doubles.
    assert all(ratio > 0.99 for ratio in ratios)
    assert sorted(ratios)[1] < 3


@pytest.mark.heavy
def test_bench_selection_joint_compares_with_solved_conditions(tool: Tool) -> None:
    bench = tool("bench.selection_joint")
    for rows in (list(bench.random_rows(2)), list(bench.random_rows(2, "degenerate", bench.degenerate_instance))):
        assert len(rows) == 2 * len(bench.SIZES)
        assert all(0.999 < ratio < 10 for row in rows for ratio in (row.head_ratio, row.attention_ratio))
        assert "at most 10 for 4 of 4" in bench.lines(rows)[-1]


def test_bench_selection_path_times_an_enumeration(tool: Tool) -> None:
    assert tool("bench.selection_path")._enumeration(2, 3, 2).endswith("verified")
