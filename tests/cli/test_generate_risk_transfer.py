"""`certattn generate risk-transfer`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq
from generating import refuses, states

from certattn.provers.training.transfer_plot import _length, _limits

Run = Callable[..., Any]
TASK = "covariance: [[1]]\nstart: {A: [[0]], b: 2}\n"
LONG = f"{TASK}length: 1000\n"
# 2R > tr Sigma at the start and soon after it, and |A|_F = b: only later is R known to tend to 0.
OUTSIDE = "covariance: [[1/4]]\nstart: {A: [[4]], b: 4}\nlength: 1e8\n"
PLANE = "covariance: [[1, 0], [0, 1]]\nstart: {A: [[0, 0], [0, 0]], b: 3}\nlength: 1e5\n"
SADDLE = "at its start, which is a saddle: b = 0 and tr(A'Sigma^2) = 0, and the risk is tr(Sigma)/2 at all times"


test_what_is_stated_verifies = states(
    "risk-transfer",
    [
        ([TASK, "--pieces", "30", "--risk", "0.2"], "R_L <= 0.2 at all times"),
        ([LONG, "--pieces", "30"], "for every L >= 1000"),
        ([LONG, "--pieces", "30", "--risk", "0.05"], "R_L <= 0.05 at all times"),
        ([LONG, "--pieces", "20", "--time", "0.5"], "at all times t >= 0.5"),
        ([LONG, "--pieces", "20", "--risk", "1", "--note", "easy"], "R_L <= 1 at all times"),
        ([PLANE, "--pieces", "20"], "L >= 100000"),
    ],
)


test_what_cannot_be_stated_is_said = refuses(
    "risk-transfer",
    [
        ([LONG, "--risk", "0"], "expected a positive number"),
        ([LONG, "--time", "-1"], "expected a positive number"),
        ([LONG, "--pieces", "0"], "expected at least 1"),
        ([LONG, "--risk", "1e-9"], "no risk <= 1e-9 could be proved for prompts of 1000 tokens"),
        ([LONG.replace("b: 2", "b: 0"), "--pieces", "5"], f"{SADDLE}; expected another start"),
        ([LONG.replace("b: 2", "b: 0"), "--pieces", "5", "--time", "1"], f"{SADDLE}; expected another start"),
        ([LONG.replace("A: [[0]], b: 2", "A: [[-1]], b: 1")], "is not known to tend to 0; expected another start"),
        ([OUTSIDE, "--pieces", "5", "--time", "0.01"], "no risk could be proved for prompts of 100000000 tokens"),
        ([LONG.replace("[[1]]", "[[-1]]")], "task.yaml: covariance"),
        ([LONG.replace("b: 2", "c: 2")], "task.yaml: start"),
        ([LONG.replace("1000", "1")], "task.yaml: length"),
    ],
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


@pytest.mark.parametrize(
    ("length", "said"), [(fmpq(1700), "1,700"), (fmpq(17 * 10**17), r"$1.7 \times 10^{18}$"), (fmpq(2), "2")]
)
def test_lengths_in_figures(length: fmpq, said: str) -> None:
    """L = 1.7e+03 is no length."""
    assert _length(length) == said


def test_a_figure_holds_every_curve() -> None:
    """The tube was cut where it was thinner than the risk."""
    low, high = _limits([0.5, 0.03, 1e-3, 0.1])
    assert low < 1e-3
    assert high > 0.5
    assert _limits([0.5, 1e-30, 0.0]) == (0.5e-6, 1.0)


def test_a_figure_is_drawn(generate: Run, folder: Path) -> None:
    done = generate("risk-transfer", LONG, "--pieces", "20", "--plot", "transfer.svg")
    assert done.status == 0, done.err
    assert "drew transfer.svg" in done.out
    assert "<svg" in (folder / "transfer.svg").read_text()
