"""The claim `selection-direction`: parts that are broken."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml
from corpus import Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, always, believed, noticed

from certattn.kernel.decide.proof import Verdict
from certattn.kernel.mathematics import selection_landscape
from certattn.kernel.mathematics.enclosure import around
from certattn.kernel.mathematics.leaping_descent import Approach
from certattn.kernel.theorems.selection import direction_theorems, selection_direction
from certattn.kernel.theorems.selection.direction_theorems import LogarithmicRate
from certattn.kernel.theorems.selection.mathematics import global_selection
from certattn.kernel.theorems.selection.mathematics.global_selection import GlobalBasin

direction_cases = Cases("direction_cases")

Tool = Callable[[str], ModuleType]
CASES = direction_cases.CASES


# -- sabotage: each broken part lets a reject case pass


SABOTAGE: dict[str, Sabotage] = {
    "conditions are believed": (selection_direction, "optimal", believed),
    "no cross products": (direction_theorems, "_cross_products", lambda selection: []),
    "no spread": (direction_theorems, "largest_spread", lambda selection: fmpq(0)),
    "a low threshold": (GlobalBasin, "threshold", always(arb(10) ** 9)),
    "nothing to divide": (GlobalBasin, "numerator", always(arb(0))),
    "a start far inside": (GlobalBasin, "start", always(arb(10) ** 9)),
    "a steep slope": (GlobalBasin, "slope", always(arb(10) ** 9)),
    "no excess after a time": (global_selection, "excess_after", lambda *point: arb(0.001)),
    "a rate of 0": (LogarithmicRate, "at", lambda self, elapsed: arb(0)),
    "a flow that rests": (selection_direction, "flow", lambda field, start, times: dict.fromkeys(times, start)),
    "leaps that stray by nothing": (Approach, "strayed", lambda self, reach, bend: arb(0)),
    "steps that go nowhere": (selection_landscape.GradientStep, "of", lambda self, point: around(point)),
}

test_a_sabotaged_kernel_fails = noticed(CASES, SABOTAGE)


def test_a_wrong_witness_never_refutes(tmp_path: Path) -> None:
    """Multipliers of a point that is not p_mm: neither the limit nor the angles are compared with it."""
    text = next(direction_cases.ONE.cases()).text.replace("multiplier: 100/101", "multiplier: 2")
    report = check(text, tmp_path)
    assert report.verdict is Verdict.REJECTED
    assert "it rests on p_mm." in str(report.obligations)


def test_nothing_is_enclosed_from_where_it_is_not_finite(tmp_path: Path) -> None:
    text = next(direction_cases.BOX.cases()).text.replace("[0.51, 0.01]", "[50, 50]")
    report = check(text, tmp_path)
    assert report.verdict in (Verdict.INCONCLUSIVE, Verdict.REJECTED)


def test_few_bits_refute_nothing_that_more_bits_prove(tmp_path: Path) -> None:
    """F is about 1e-16 at the start: 64 bits tell its first digits only, and the rate with all of them is stated."""
    text = """certattn: 1
claim: selection-direction
given:
  tokens: [[[-3/2], [-3]], [[9/4], [-11/4]], [[1/4]]]
  v: [11/4]
  labels: [1, 1, 1]
  loss: exponential
  descent: {rule: gradient, step: 1}
  start: [-15/4]
asserts:
  indices: [0, 0, 0]
  rate: {form: logarithm, from: 1, numerator: 0.00000000000201, offset: 5024000000000000, slope: 191.4}
witness:
  multipliers: [{input: 0, token: 1, multiplier: 4/9}]
  steps: 1
  theorem: {name: global}
"""
    assert check(text, tmp_path).verdict is Verdict.VERIFIED
    report = check(text.replace("slope: 191.4", "slope: 191.6"), tmp_path)
    assert report.verdict is Verdict.REJECTED, report.reason


REJECTS = [case for case in CASES if case.verdict is Verdict.REJECTED][::7]


@pytest.mark.parametrize("case", REJECTS, ids=lambda case: case.name)
def test_what_is_not_proved_is_not_found(case, tmp_path: Path) -> None:
    """A rejected report does not say which theorem leads to the limit."""
    assert check(case.text, tmp_path).findings == ()


def test_the_stated_angle_of_a_matrix_is_that_of_descent_on_it() -> None:
    """W(k+1) = W(k) - eta grad L(W(k)) in doubles, with s_i the softmax of K_i W q_i, from the definition."""
    text = direction_cases.MATRIX.text
    given = yaml.safe_load(text)["given"]
    inputs = [np.array(part, dtype=float) for part in given["keys"]]
    scores = [np.array([float(Fraction(x)) for x in part]) for part in given["scores"]]
    queries = [np.array([float(Fraction(x)) for x in row]) for row in given["queries"]]
    W, limit = np.zeros((2, 2)), np.array([[-1 / 2, 1], [4 / 5, 2 / 5]])
    for _ in range(100):
        gradient = np.zeros_like(W)
        for K, gamma, q in zip(inputs, scores, queries, strict=True):
            s = np.exp(K @ W @ q)
            s /= s.sum()
            slope = -1 / (1 + np.exp(s @ gamma))
            gradient += slope * np.outer(K.T @ (s * (gamma - s @ gamma)), q) / len(inputs)
        W -= gradient
    found = 1 - np.sum(W * limit) / (np.linalg.norm(W) * np.linalg.norm(limit))
    assert 0.1292 < found <= 0.1293
