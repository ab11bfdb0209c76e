"""The figure of `selection-direction`: the computed run lies in what is certified, and what cannot be drawn is not."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn import Certificate, UsageError
from certattn.kernel.theorems.selection.direction_theorems import FROM, RATE
from certattn.kernel.theorems.selection.selection_direction import THEOREM
from certattn.provers.figures import Kept, canvas
from certattn.provers.rounding import as_float
from certattn.provers.selection.plotted_keys import Square, near_keys
from certattn.provers.selection.selection_plot import Run, _bound, draw_certificate, require_run

GLOBAL: dict[str, Any] = {
    "keys": [[["-0.1", "1"], ["1", "0"], ["0", "0"]]],
    "scores": [["1", "0.9", "0.9"]],
    "loss": "logistic",
    "descent": {"rule": "gradient", "step": "1"},
    "start": ["0", "-1.5"],
}
LOCAL = {**GLOBAL, "scores": [["1", "0.9", "0"]], "start": ["4", "0"]}


def made(folder: Path, given: dict[str, Any], **inputs: Any) -> Certificate:
    return certattn.generate("selection-direction", folder / "a.yaml", given=given, **inputs)


@pytest.mark.parametrize("given", [GLOBAL, LOCAL], ids=["global", "local"])
def test_the_run_lies_in_the_tube(given: dict[str, Any], tmp_path: Path) -> None:
    problem = THEOREM.read(made(tmp_path, given, indices=[0] if given is GLOBAL else [1]))
    rate = problem.asserts[RATE]
    assert problem.start.box is not None
    run = Run.of(problem, np.array([as_float(entry) for entry in problem.start.box[0].row(0)]))
    ray = np.array([as_float(entry) for entry in problem.solution.solution.row(0)])
    begins = as_float(rate[1][FROM])
    later = [(at, p) for at, p in zip(run.at, run.points, strict=True) if at >= begins]
    assert len(later) > 100
    for at, p in later:
        cosine = p @ ray / math.sqrt((p @ p) * (ray @ ray))
        assert 1 - cosine <= _bound(rate, at - begins) + 1e-9


def test_the_run_is_gradient_descent(tmp_path: Path) -> None:
    problem = THEOREM.read(made(tmp_path, GLOBAL, indices=[0]))
    run = Run.of(problem, np.array([0.0, -1.5]))
    keys, scores = np.array([[-0.1, 1], [1, 0], [0, 0]]), np.array([1, 0.9, 0.9])
    p = np.array([0.0, -1.5])
    for _ in range(5000):
        s = np.exp(keys @ p - (keys @ p).max())
        s /= s.sum()
        x = float(s @ scores)
        p = p + 1 / (1 + math.exp(x)) * ((s * (scores - x)) @ keys)
    near = [np.interp(5000, run.at, run.points[:, c]) for c in (0, 1)]
    assert np.allclose(near, p, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_a_figure_is_drawn(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    certificate = made(tmp_path, LOCAL, indices=[1], angles=["1000000"], most_steps=1000)
    draw_certificate(certificate, tmp_path / f"a{suffix}")
    assert (tmp_path / f"a{suffix}").stat().st_size > 5000
    if suffix == ".svg":
        text = (tmp_path / "a.svg").read_text()
        assert "stated for all later steps" in text
        assert "stated at this step, at most" in text
        assert "at least" not in text


def test_bounds_from_the_other_side_have_marks_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    certificate = made(tmp_path, LOCAL, indices=[1], angles=["1000"], most_steps=1000, both_ends=True)
    kept = Kept()
    draw_certificate(certificate, kept)
    plane, angles = kept.figure.axes[:2]
    marks = {line.get_label(): line.get_marker() for line in angles.lines}
    assert marks["stated at this step, at most"] == "v"
    assert marks["stated at this step, at least"] == "^"
    assert "stated to be outside at this step" in [patch.get_label() for patch in plane.patches]


def test_numbers_of_an_axis_do_not_touch() -> None:
    pytest.importorskip("matplotlib")
    with canvas(kept := Kept(), (5.0, 5.0)) as (_, axes):
        Square(np.array([-1.5, 8.0]), 11.1).show(axes)
    kept.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert len(boxes) > 2
    assert all(left.x1 + 4 < right.x0 for left, right in pairwise(boxes))


@pytest.mark.heavy
@pytest.mark.parametrize("rule", [{"rule": "flow"}, {"rule": "normalised", "step": "0.1"}], ids=["flow", "normalised"])
def test_other_rules(rule: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw_certificate(made(tmp_path, {**GLOBAL, "descent": rule}, indices=[0]), tmp_path / "a.svg")
    assert (tmp_path / "a.svg").exists()


def test_beyond_the_plane_the_angle_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    keys = [[["-0.1", "1", "0"], ["1", "0", "0"], ["0", "0", "1"]]]
    given = {**GLOBAL, "keys": keys, "start": ["0", "0", "0"]}
    draw_certificate(made(tmp_path, given, indices=[0]), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert "stated, at most" in text
    assert "direction of" not in text


@pytest.mark.heavy
def test_a_run_of_normalised_steps_goes_on_where_weights_are_too_small_for_doubles(tmp_path: Path) -> None:
    rule = {"rule": "normalised", "step": "1/100"}
    problem = THEOREM.read(made(tmp_path, {**LOCAL, "descent": rule}, indices=[1], angles=["1000000"]))
    run = Run.of(problem, np.array([4.0, 0.0]))
    assert run.at[-1] >= 1_000_000
    assert 9_900 < run.radius_at(1_000_000) <= 10_004


@pytest.mark.heavy
def test_many_steps_at_once_do_not_overshoot_where_one_key_is_far_away(tmp_path: Path) -> None:
    keys = [[["0.2", "1"], ["1", "0.1"], ["0", "0"], ["100", "-30"]], [["0.5", "0.5"], ["0", "0.2"]]]
    given = {"keys": keys, "scores": [["1", "0.9", "0.9", "0.2"], ["1", "0"]], "loss": "logistic"}
    given |= {"descent": {"rule": "gradient", "step": "1/10"}, "start": ["0", "0"]}
    problem = THEOREM.read(made(tmp_path, given, indices=[0, 0]))
    run = Run.of(problem, np.zeros(2))
    ray = np.array([as_float(entry) for entry in problem.solution.solution.row(0)])
    gaps = 1 - run.points[1:] @ ray / np.linalg.norm(run.points[1:], axis=1) / np.linalg.norm(ray)
    late = gaps[run.at[1:] > 10_000]
    assert len(late) > 100
    assert np.all(np.diff(late) < 1e-12)


def test_a_far_key_does_not_make_a_spot_of_the_others() -> None:
    places = np.array([[0.2, 1], [1, 0.1], [0, 0], [0.5, 0.5], [100, -30]])
    assert near_keys(places).tolist() == [True, True, True, True, False]
    assert near_keys(places[:1]).tolist() == [True]
    seen = Square.around(places[:4], 1.2)
    assert seen.holds(places).tolist() == [True, True, True, True, False]


@pytest.mark.parametrize("far", [["100", "-30"], ["0.5", "0"]], ids=["a key far away", "keys together"])
def test_keys_are_named_where_they_are_beside_the_picture(far: list[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    keys = [[["0.2", "1"], ["1", "0.1"], ["0", "0"], far]]
    given = {**GLOBAL, "keys": keys, "scores": [["1", "0.9", "0.9", "0.2"]]}
    drawn = made(tmp_path, {**given, "start": ["0", "1"]}, indices=[0], most_steps=5000)
    draw_certificate(drawn, tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert "<!-- keys -->" in text
    assert ("<!-- (100, −30) -->" in text or "(100, -30)" in text) is (far[0] == "100")


def test_nothing_is_drawn_beyond_what_is_to_be_seen(tmp_path: Path) -> None:
    """A rate that says something after e^50 steps only is no reason to go there; a bound that is stated is."""
    problem = THEOREM.read(made(tmp_path, GLOBAL, indices=[0], theorem="global", steps=0, late_rate=True))
    assert Run.of(problem, np.array([0.0, -1.5])).at[-1] < 1e14


@pytest.mark.heavy
def test_what_is_stated_for_good_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw_certificate(made(tmp_path, LOCAL, indices=[1], below=["0.1"], most_steps=5000), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert "stated for all later steps" in text
    assert "takes over" in text
    assert "computed to" not in text


def test_runs_from_every_start_have_no_figure(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="from a point or a box"):
        require_run(made(tmp_path, {**GLOBAL, "start": "every"}, indices=[0]))
