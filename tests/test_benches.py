"""The scripts that measure claims: small runs of their parts, and what they find is as it should be."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from flint import fmpq

Tool = Callable[[str], ModuleType]


# -- selection


def test_enclosed_steps_are_counted_and_stay_near(tool: Tool) -> None:
    pace, error = tool("bench.selection_descent").steps_a_second(2, 2, 2, 200)
    assert pace > 0
    assert error < 1e-9


def test_the_authors_descents_are_certified(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool("bench.selection_descent").main(["--steps", "100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.split()[-6:-4] == ["0", "global"] for line in lines) == 6
    assert "local" in lines[-1]


def test_no_random_point_is_certified_twice(tool: Tool) -> None:
    bench = tool("bench.selection_descent")
    given, selection = bench.random_local(np.random.default_rng(5))
    assert selection.bad
    assert len(given["keys"]) == selection.tokens.count <= 4
    found, twice = bench.local_table(2, 20)
    assert 0 <= found <= 2
    assert twice == 0


def test_real_heads_are_measured(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool("bench.selection_head").main(["--queries", "8"]) == 0
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["layer0-head6", "layer1-head9", "layer2-head6"]
    assert all(float(row.split()[4]) > 0 for row in rows)


# -- regions of queries


@pytest.mark.heavy
@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_no_bound_of_a_region_is_below_what_a_search_finds(tool: Tool, norm: str) -> None:
    bench = tool("bench.verifiers")
    head = bench.Head.stored("layer0-head6", 5, norm)
    cell = bench.cell(head)
    for around in (bench.Around(0.5, False), bench.Around(0.05, True)):
        found = bench.attack(head, around)
        assert 0 < found <= cell(head, around) <= bench.vertex(head, around)


def test_vertices_are_the_exact_optimum_over_a_box_of_scores(tool: Tool) -> None:
    """Keys that are unit vectors: over a box of queries the scores are a box."""
    bench, draw = tool("bench.verifiers"), np.random.default_rng(0)
    for _ in range(20):
        head = bench.Head(np.eye(4), draw.normal(size=(4, 3)), draw.normal(size=4), fmpq(1), "linf")
        around = bench.Around(0.7, True)
        corners = head.centre + 0.7 * (2 * np.array(list(np.ndindex(2, 2, 2, 2))) - 1)
        reached = head.sizes(head.outputs(corners) - head.at_centre).max()
        assert bench.vertex(head, around) == pytest.approx(reached)


@pytest.mark.heavy
def test_without_a_verifier_its_figures_are_left_out(
    tool: Tool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "auto_LiRPA", None)
    assert tool("bench.verifiers").main(["--balls", "0.1", "--boxes"]) == 0
    said = capsys.readouterr().out
    assert "no figures of auto_LiRPA: auto_LiRPA is not installed" in said
    assert "CROWN" not in said


# -- training


def test_certified_rates_are_near_the_fitted_ones(tool: Tool, tmp_path: Path) -> None:
    bench = tool("bench.training")
    found = bench.convergence(4, tmp_path)
    assert float(bench.asserted(found.certificate)["rate"]) > 0 < found.checked
    rate, fitted = bench.restart(bench.COVARIANCES["plane"], 0, tmp_path)
    assert rate < fitted < 3 * rate


@pytest.mark.heavy
def test_flows_are_followed_and_descents_compared(tool: Tool, tmp_path: Path) -> None:
    bench = tool("bench.training")
    found, end, radius = bench.flow(bench.COVARIANCES["plane"], bench.BALANCED[2], "1/100", tmp_path)
    assert found.found > 0
    assert end > 1
    assert radius <= 1e-20
    found, radius, ratio = bench.descent(bench.COVARIANCES["plane"], bench.Descents(2, 8, 3, "1/50"), tmp_path)
    assert found.checked > 0
    assert radius <= 1e-12
    assert 1 <= ratio <= 1.01


@pytest.mark.heavy
def test_lengths_over_a_ball_are_near_the_simulated_ones(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    tool("bench.training").gap_table((1,), 20_000)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["gap d = 1, L = 20", "gap d = 1, L = 21", "gap d = 1"]
    assert "certified L >= 21, 1.05 times" in lines[-1]


@pytest.mark.heavy
def test_the_shortest_prompts_are_told_from_shorter_ones_by_simulation(
    tool: Tool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    transfer = tool("bench.risk_transfer")
    at_the_optimum = ((1.0, 1.0, 1),)
    assert transfer.reaches(at_the_optimum, 1.0, 24, 0.1)
    assert not transfer.reaches(at_the_optimum, 1.0, 12, 0.1)
    found, rows = transfer.Row(SimpleNamespace(found=30.0, checked=6.0), 24, 21, 20, 2.5), tmp_path / "rows"
    monkeypatch.setattr(transfer, "row", lambda name, folder: found)
    assert transfer.main(["line-optimum", "--keep", str(rows)]) == 0
    shown = capsys.readouterr().out
    assert [line.split() for line in shown.splitlines()[1:]] == [
        ["line-optimum", "24", "21", "20", "1.20", "30.0s", "6.0s", "2.5"],
        ["line-optimum-large-b", "24", "21", "20", "1.20", "30.0s", "6.0s", "2.5"],
    ]
    monkeypatch.delattr(transfer, "row")
    assert transfer.main(["line-optimum", "--keep", str(rows)]) == 0
    assert capsys.readouterr().out == shown


def test_truths_are_by_a_usual_time_and_in_the_end(
    tool: Tool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    transfer = tool("bench.risk_transfer")
    monkeypatch.setattr(transfer, "reaches", lambda spectrum, b, length, risk, time: length * time >= 20_000)
    assert transfer.main(["--truths", "two-small"]) == 0
    name, by_then, truth = capsys.readouterr().out.splitlines()[1].split()
    assert name == "two-small"
    assert 2000 <= int(by_then) <= 2010
    assert 20 <= int(truth) <= 21


def test_starts_of_the_shortest_prompts_commute(tool: Tool) -> None:
    starts = tool("bench.risk_transfer").STARTS
    for covariance, A, _ in starts.values():
        sigma, a = (np.array([[float(Fraction(entry)) for entry in row] for row in rows]) for rows in (covariance, A))
        assert np.array_equal(a, a.T)
        assert np.allclose(sigma @ a, a @ sigma, atol=1e-14)
        assert np.linalg.eigvalsh(sigma).min() > 0
    for task in ("line", "two", "four"):
        assert sum(name.startswith(task) for name in starts) >= 12


def test_a_start_that_is_none_is_refused(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tool("bench.risk_transfer").main(["three"])
    assert "three begins none of line-balanced-tenth" in capsys.readouterr().err


def test_risks_against_lengths_are_drawn(tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transfer, asked = tool("bench.risk_transfer"), list[int]()

    def followed(spectrum: object, b: float, length: int, time: float) -> tuple[float, float]:
        asked.append(length)
        return 1 / length, 0.0

    monkeypatch.setattr(transfer, "followed", followed)
    assert transfer.main(["--plot", str(tmp_path / "lengths.svg")]) == 0
    assert "<svg" in (tmp_path / "lengths.svg").read_text()
    assert asked.count(transfer.MOST_LENGTH) == len(transfer.DRAWN)
    assert min(asked) < 22 < 32 < max(length for length in asked if length < transfer.MOST_LENGTH)


def test_a_rotation_wraps_boxes_and_not_balls(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool("bench.flow").main(["--turns", "20", "--time", "5", "--order", "20", "--bits", "100"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[-1] for row in rows if "certattn" in row] == ["reached", "reached"]
    turned, flowed = (float(row[-4]) for row in rows if "certattn" in row)
    assert max(turned, flowed) < 1e-25
    lost, boxed = (row for row in rows if "plain" in row)
    assert lost[-3:-1] == ["lost", "at"]
    assert float(boxed[-4]) > 100 * flowed


# -- the spectrum


def test_laws_linear_parts_and_distances_are_measured(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    tool("gallery.singular_values")
    bench = tool("bench.spectrum")
    bench.PARTS["law"] = lambda draws: bench.law(2, 1)
    assert bench.main(["law"]) == 0
    assert "a value of the CDF, beta = 1, lambda = 1" in capsys.readouterr().out
    (linear,), distances = bench.linearization(40, ["1/2"]), bench.distance(30, 1)
    assert linear.what.startswith("d = 40, beta = 1/2, SVD ")
    assert "law <= " in distances[1].what
    assert "separation >= " in distances[1].what
    assert all(row.milliseconds > 0 for row in [linear, *distances])


def test_drawn_matrices_are_measured(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    tool("gallery.singular_values")
    bench = tool("bench.spectrum")
    few, many, least = bench.drawn({20: 5, 20_000: 0}, ["0.1"], ["1/2"])
    assert few.bound is None
    assert 0 < few.simulated < 0.2
    assert "(5 matrices)" in str(few)
    assert many.bound < 0.005
    assert many.simulated is None
    assert 200 < least.tokens < 2000
    columns, deviation, whole = bench.universality({400: 2}, ["1/2"])
    assert 0 < columns.bound < whole.bound < 0.1
    assert whole.simulated < whole.bound
    assert 0 < deviation.bound < 1
    bench.PARTS["universality"] = lambda draws: bench.universality({20: draws}, ["1/2"])
    assert bench.main(["universality", "--draws", "2"]) == 0
    assert "equivalence, d = 20, beta = 1/2" in capsys.readouterr().out


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


def test_singular_values_are_measured_by_both_arithmetics(tool: Tool, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = tool("gallery.singular_values").weights("a text", 200, 30).astype(float) / 1024
    assert drawn[0, :3].tolist() == [378 / 1024, -1067 / 1024, 1108 / 1024]
    bench = tool("bench.singular_values")
    assert bench.main(["--sizes", "30"]) == 0
    assert "in integers" in capsys.readouterr().out
    row = bench.measure(40, 1, sharp=True)
    assert 0 < row.sharp_radius < row.radius < 1e-10


# -- observed prompts


@pytest.mark.heavy
def test_intervals_of_observed_prompts_are_wider_than_their_approximation(tool: Tool) -> None:
    bench = tool("bench.observed")
    law = bench.LAWS[0]
    alone, many, other = (bench.ratio(law, 300, 4, *more) for more in ((), (40,), (1, 300)))
    assert 1 < many < alone < other < 4
