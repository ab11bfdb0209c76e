"""`certattn generate risk-transfer`."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flint import arb, fmpq
from generating import refuses, states

from certattn.kernel.document.certificate import load
from certattn.kernel.theorems.training.finite_gap import Spectrum
from certattn.kernel.theorems.training.length_tube import Flow
from certattn.provers.figures import Kept
from certattn.provers.training import length_ranges
from certattn.provers.training.transfer_plot import _label, draw_certificate

Run = Callable[..., Any]
TASK = "covariance: [[1]]\nstart: {A: [[0]], b: 2}\n"
LONG = f"{TASK}length: 1000\n"
# 2R > tr Sigma at the start and soon after it, and |A|_F = b: only later is R known to tend to 0.
OUTSIDE = "covariance: [[1/4]]\nstart: {A: [[4]], b: 4}\nlength: 100000\n"
PLANE = "covariance: [[1, 1/4], [1/4, 3/4]]\nstart: {A: [[0, 0], [0, 0]], b: 2}\nlength: 5000\n"
SADDLE = "at its start, which is a saddle: b = 0 and tr(A'Sigma^2) = 0, and the risk is tr(Sigma)/2 at all times"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer fits to choose from: ranges are shorter, and found sooner."""
    monkeypatch.setattr(length_ranges, "_SCALES", (1.0,))
    monkeypatch.setattr(length_ranges, "_TRIED", 1)


test_what_is_stated_verifies = pytest.mark.heavy(
    states(
        "risk-transfer",
        [
            ([TASK.replace("A: [[0]], b: 2", "A: [[1]], b: 1"), "--risk", "0.3"], "for every L >= 8"),
            ([LONG, "--risk", "0.3", "--pieces", "8", "--time", "0.5"], "at all times t >= 0.5"),
            ([LONG, "--risk", "1", "--note", "easy"], "R_L <= 1 at all times"),
            ([PLANE, "--risk", "0.5"], "L >= 5000"),
            ([OUTSIDE, "--risk", "0.12"], "R_L <= 0.12 at all times"),
        ],
        "quick",
    )
)


test_what_cannot_be_stated_is_said = refuses(
    "risk-transfer",
    [
        ([LONG, "--risk", "0"], "expected a positive number"),
        ([LONG, "--time", "-1"], "expected a positive number"),
        ([LONG, "--pieces", "0"], "expected at least 1"),
        ([LONG.replace("b: 2", "b: 0"), "--pieces", "5"], f"{SADDLE}; expected another start"),
        ([LONG.replace("b: 2", "b: 0"), "--pieces", "5", "--time", "1"], f"{SADDLE}; expected another start"),
        ([PLANE.replace("[[0, 0], [0, 0]]", "[[1, 0], [0, 2]]")], "a symmetric A with A Sigma = Sigma A"),
        ([LONG.replace("[[1]]", "[[-1]]")], "task.yaml: covariance"),
        ([LONG.replace("b: 2", "c: 2")], "task.yaml: start"),
        ([LONG.replace("1000", "1")], "task.yaml: length"),
    ],
    "quick",
)

test_what_is_found_not_to_hold_is_said = pytest.mark.heavy(
    refuses(
        "risk-transfer",
        [
            (
                [LONG, "--risk", "0.003", "--pieces", "40"],
                "no risk <= 0.003 could be proved for prompts of 1000 tokens",
            ),
            ([LONG.replace("A: [[0]], b: 2", "A: [[-1]], b: 1")], "is not seen to fall below 0.0333; expected another"),
            ([OUTSIDE, "--pieces", "5", "--time", "0.01"], "is not known to tend to 0, as 2R is not proved"),
        ],
        "quick",
    )
)


PROMPTS = f"""{TASK}tokens: [[1], [-1/2], [2], [1/4], [-1], [3/2]]
labels: [[1], [-1/2], [2], [-1/2], [2], [-3]]
queries: [[1], [-1/2]]
targets: [[1], [1]]
"""


test_given_prompts = states(
    "risk-transfer",
    [
        ([PROMPTS, "--time", "1/4", "--pieces", "20"], "For 2 prompts of 3 tokens"),
        ([PROMPTS, "--time", "1/4", "--risk", "2"], "For 2 prompts of 3 tokens"),
    ],
)

test_given_prompts_that_nothing_is_stated_of = refuses(
    "risk-transfer",
    [
        ([PROMPTS], "need a time until which the flow is followed"),
        ([PROMPTS, "--time", "1/4", "--risk", "1e-6"], "the risk of these prompts is larger at that time"),
        ([PROMPTS.replace("{A: [[0]], b: 2}", "{A: [[3]], b: 2}"), "--time", "1/8"], "is not known to tend to 0"),
        ([PROMPTS.replace(", [1]]\n", "]\n"), "--time", "1/4"], "task.yaml: targets"),
        ([f"{PROMPTS}length: 20\n", "--time", "1/4"], "the task has a length and tokens; expected one of the two"),
        ([PROMPTS, "--time", "1/4", "--risk", "0"], "the risk of these prompts is larger at that time"),
        ([PROMPTS, "--time", "1/4", "--risk", "-1"], "risk is -1, expected a positive number"),
        ([PROMPTS, "--time", "1/4", "--plot", "transfer.svg"], "no figure is drawn for given prompts"),
    ],
)


EXACT = f"""{TASK.replace("b: 2", "b: 1")}tokens: [[1], [2], [1/3], [-1]]
labels: [[1], [1], [-1], [-1]]
queries: [[1], [-1/2]]
targets: [[1], [-1]]
"""


# It was refused in the certificate: asserts.risk is 0, expected a positive number. Of the last it is 0, but the weights
# and so the prediction are known up to rounding only.
test_prompts_whose_risk_is_0 = states(
    "risk-transfer",
    [
        ([EXACT, "--time", "1/4"], "R_L <= 0 at all times"),
        ([EXACT, "--time", "1/4", "--risk", "0"], "R_L <= 0 at all times"),
        ([EXACT.replace("A: [[0]]", "A: [[1/3]]"), "--time", "1/4", "--pieces", "10"], "at all times"),
    ],
)


@pytest.mark.heavy
def test_risks_that_were_tried_are_said(generate: Run, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none is proved, and while they are tried."""
    counted: list[tuple[int, int]] = []
    monkeypatch.setattr(length_ranges.Ranges, "from_on", lambda self, first, goal: None)
    monkeypatch.setattr("certattn.cli.generate.command._saying", lambda what: lambda *done: counted.append(done))
    done = generate("risk-transfer", LONG)
    assert done.status == 1
    found = re.search(r"no risk of ([^a-z]+), which were tried, could be proved for prompts of 1000 tokens", done.err)
    assert found is not None, done.err
    goals = [Fraction(goal) for goal in found[1].split(", ")]
    assert goals == sorted(set(goals))
    assert goals[1] <= goals[0] * Fraction(21, 20) + Fraction(1, 1000)
    assert counted == [(k, len(goals)) for k in range(len(goals))]


def test_the_least_risk_is_tried_digit_by_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    piece = SimpleNamespace(is_proved=True)
    ranges = object.__new__(length_ranges.Ranges)
    vars(ranges).update(_flow=lambda fit: None, _horizon=fmpq(1), duration=fmpq(1), _most=2)
    ranges.table = lambda first, most: SimpleNamespace(lengths=[1] * 99)  # type: ignore[assignment, return-value]
    ranges._fitter = SimpleNamespace(fit=lambda *of: object())  # type: ignore[assignment]
    monkeypatch.setattr(length_ranges, "follow", lambda flow, durations: [piece])
    monkeypatch.setattr(length_ranges, "risk_bound", lambda flow, piece: arb("0.07671"))
    assert [str(goal) for goal in ranges.risks(2)] == [str(fmpq(n, 1000)) for n in (78, 79, 80, 81, 93, 120, 160)]


def test_a_variance_that_is_large_for_a_short_time_is_seen() -> None:
    """Of five eigenvalues: sigma = 2 is learnt long before the others, and alone."""
    sigma = [arb(x) for x in ("0.25", "0.5", "1", "1.5", "2")]
    flow = Flow.of(Spectrum(sigma, [1] * 5), None, [*[arb(1) / 6] * 5, arb("0.375")])
    path = length_ranges.Path.of(flow, lambda risk: risk < 1 / 30)
    assert path.many
    assert 1.2 < path.largest < 1.25
    assert 0.3 < path.highest < 0.5
    assert float(path.time) > 10
    assert path.variances().max() == path.largest
    (once, first), (longer, _) = path.stages
    assert once == 1 < longer
    assert first * path.duration < 2


def test_labels_of_figures() -> None:
    assert _label(1700, None) == "at most, L from 1,700 on"
    assert _label(8, 1000) == "at most, L from 8 to 1,000"


@pytest.mark.heavy
def test_a_figure_is_drawn_from_the_start_on(generate: Run, folder: Path, quick: None) -> None:
    done = generate("risk-transfer", LONG, "--risk", "0.3", "--plot", "transfer.svg")
    assert done.status == 0, done.err
    assert "drew transfer.svg" in done.out
    assert "<svg" in (folder / "transfer.svg").read_text()
    kept = Kept()
    draw_certificate(load(folder / "made.yaml"), kept)
    (axes,) = kept.figure.axes
    *curves, _ = axes.lines
    assert len(curves) > 1
    # For A = 0 and b = 2, R_L = E(2/L sum_i x_i^2 - 1)^2 / 2 = 1/2 + 4/L.
    for line in curves:
        assert line.get_xdata()[0] == 0
        assert 0.5 <= line.get_ydata()[0] < 0.51
