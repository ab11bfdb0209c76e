"""`certattn generate output-tail`: from a law on the command line to a certificate that verifies, and a figure."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from generating import refuses, states

import certattn

Run = Callable[..., Any]

LAW = "law: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1]]}\nquery: [1, 1/2]\n"
ASK = ["--direction", "1, 0", "--exceeds", "1/2", "--probability", "0.01"]


@pytest.fixture
def law(folder: Path) -> str:
    (folder / "law.yaml").write_text(LAW)
    return "law.yaml"


def tail(run: Run, *arguments: str) -> Any:
    return run("generate", "output-tail", *arguments, "-o", "tail.yaml")


test_what_is_left_out_is_found_and_said = states(
    "output-tail",
    [
        ([LAW, *ASK], "smallest length found: 40"),
        ([LAW, "--direction", "1, 0", "--probability", "0.01", "--length", "1000"], "smallest threshold found: 0.319"),
        (
            [LAW, "--direction", "1,0", "--direction", "-1, 0", "--exceeds", "1/2", "--length", "1000"],
            "smallest probability found: 0.00086",
        ),
        ([LAW, "--norm", "l2", "--exceeds", "1/2", "--length", "1000"], "smallest probability found: 0.0041"),
        (
            [LAW, "--norm", "linf", "--direction", "0, 1", "--probability", "0.1", "--length", "99", "--note", "n"],
            "smallest threshold found: 0.",
        ),
    ],
)


def test_a_norm_is_bounded_by_its_mean_square(generate: Run, certattn_run: Run) -> None:
    tilted = LAW.replace("query: [1, 1/2]", "tilt: [1, 0]")
    options = ["--norm", "l2", "--exceeds", "1/2", "--probability", "0.01", "--method", "mean-square"]
    assert generate("output-tail", tilted, *options).status == 0
    given: Any = certattn.load("made.yaml").plain["given"]
    # (S + B) e^v / (delta eps^2) = 3 e / 0.0025
    assert 3260 < int(given["length"]["at_least"]) < 3265
    assert certattn.check("made.yaml").verdict is certattn.Verdict.VERIFIED
    assert "expected --method rules" in generate("output-tail", tilted, *options, "--plot", "t.svg").err


def test_nothing_is_found_where_all_is_stated(certattn_run: Run, folder: Path, law: str) -> None:
    (folder / law).write_text(LAW + "length: 1000\n")
    done = tail(certattn_run, law, *ASK)
    assert done.out.splitlines()[0] == "wrote tail.yaml"
    assert certattn_run("check", "tail.yaml").status == 0


test_bad_requests_are_errors_and_leave_nothing = refuses(
    "output-tail",
    [
        ([LAW], 2, "expected two of exceeds, probability and length"),
        ([LAW, "--exceeds", "1", "--length", "9"], 2, "nothing to bound: expected directions, or a norm"),
        ([LAW, "--direction", "1", "--exceeds", "1", "--length", "9"], 2, "the direction (1) has 1 number, expected 2"),
        ([LAW, "--direction", "1, x", "--exceeds", "1", "--length", "9"], 2, "direction: 'x'"),
        ([LAW, "--norm", "l3", "--exceeds", "1", "--length", "9"], 2, "'l3' is not one of"),
        (
            [LAW, "--norm", "l2", "--probability", "2", "--length", "9"],
            2,
            "probability is 2, expected a number above 0",
        ),
        ([LAW, "--norm", "l2", "--exceeds", "-1", "--length", "9"], 2, "exceeds is -1, expected a positive number"),
        ([LAW, "--norm", "l2", "--exceeds", "1", "--length", "0"], 2, "length is 0, expected a whole number"),
        (
            [LAW, *ASK, "--length", "10"],
            1,
            "probability 0.01 could not be proved in the direction (1, 0): the best bound that the rules give is 0.",
        ),
        ([LAW, "--direction", "1, 0", "--exceeds", "1e-8", "--probability", "0.01"], 1, "no length up to 1e+12"),
        ([LAW, *ASK, "--plot", "made.txt"], 2, "a figure ends in .svg, .png, .pdf"),
        ([LAW, *ASK, "--plot", "no/made.svg"], 2, "no: no such folder"),
        ([LAW, *ASK, "--norm", "l2", "--plot", "made.svg"], 2, "--plot shows one direction or one norm"),
        ([LAW.replace("[0, 1]]", "[0, -1]]"), *ASK], 2, "task.yaml: law.covariance"),
        ([LAW.replace("[0, 1]]", "[0, -1]]"), *ASK], 2, "semidefinite"),
    ],
)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["tail.svg", "tail.png"])
def test_a_figure_of_the_bound_and_of_simulated_prompts(
    certattn_run: Run, folder: Path, law: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from certattn.provers.prompts import tail_figures

    monkeypatch.setattr(tail_figures, "_MOST_NUMBERS", 400_000)
    monkeypatch.setattr(tail_figures, "_LENGTHS", 4)
    what = ["--norm", "l2"] if name == "tail.png" else ["--direction", "1, 0"]
    done = tail(certattn_run, law, *what, "--probability", "0.1", "--length", "60", "--plot", name)
    assert (done.status, done.err) == (0, "")
    assert done.out.endswith(f"drew {name}\n")
    assert (folder / name).read_bytes().startswith(b"\x89PNG" if name == "tail.png" else b"<?xml")


def test_a_figure_is_drawn_although_nobody_reads_what_is_said(
    certattn_run: Run, folder: Path, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from certattn.provers.prompts import tail_figures

    def nobody_listens(*words: object, **options: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(tail_figures, "_MOST_NUMBERS", 100_000)
    monkeypatch.setattr(tail_figures, "_LENGTHS", 3)
    monkeypatch.setattr(click, "echo", nobody_listens)
    what = ["--direction", "1, 0", "--probability", "0.1", "--length", "60"]
    assert tail(certattn_run, law, *what, "--plot", "tail.svg").status == 128 + signal.SIGPIPE
    assert (folder / "tail.svg").read_bytes().startswith(b"<?xml")
    assert (folder / "tail.yaml").exists()


def test_a_figures_curve_lies_above_the_simulated_intervals(certattn_run: Run, folder: Path, law: str) -> None:
    from certattn.kernel.theorems.prompts.output_tail import read
    from certattn.provers.prompts import tail_figures

    tail(certattn_run, law, "--direction", "1, 0", "--probability", "0.1", "--length", "60")
    figure = tail_figures.figure_of(read(certattn.load(folder / "tail.yaml")))
    bounds = dict(zip(figure.curve.lengths, figure.curve.bounds, strict=True))
    assert len(figure.curve.simulated) >= 4
    assert all(quantile.low < quantile.high < bounds[length] for length, quantile in figure.curve.simulated)
    assert figure.stated[1] == pytest.approx(bounds.get(60, figure.stated[1]), rel=1e-2)


def test_a_figures_curve_is_that_of_the_method(certattn_run: Run, folder: Path, law: str) -> None:
    """What is proved by the mean square stands on the curve of the mean square, not far above one of other rules."""
    from certattn.kernel.theorems.prompts.output_tail import read
    from certattn.provers.prompts import tail_figures

    ask = ["--norm", "l2", "--method", "mean-square", "--probability", "0.01", "--length", "60"]
    assert tail(certattn_run, law, *ask).status == 0
    figure = tail_figures.figure_of(read(certattn.load(folder / "tail.yaml")))
    at, height = figure.stated
    assert height == pytest.approx(np.interp(at, figure.curve.lengths, figure.curve.bounds), rel=0.15)
    assert figure.method == "by the mean square"


def test_without_matplotlib_a_figure_is_refused_before_any_work(
    certattn_run: Run, folder: Path, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = tail(certattn_run, law, *ASK, "--plot", "tail.svg")
    assert (done.status, done.out) == (2, "")
    assert "figures need matplotlib: pip install matplotlib" in done.err
    assert not (folder / "tail.yaml").exists()
