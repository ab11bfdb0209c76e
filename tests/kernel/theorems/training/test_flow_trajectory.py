"""The claim `flow-trajectory`: its words, and closed solutions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from corpus import ACCEPT, REJECTED, Cases, changed, check
from flint import arb, fmpq
from mpmath import mp
from sabotage import Sabotage, noticed

from certattn.kernel.decide.obligation import Obligation
from certattn.kernel.theorems.training import flow_trajectory
from certattn.kernel.theorems.training.flow_trajectory import Straying
from certattn.kernel.theorems.training.regression import Parameters
from certattn.kernel.theorems.training.regression_flow import RegressionFlow, invariant_reach

cases = Cases("flow_cases")

Tool = Callable[[str], ModuleType]


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    said = check(next(cases.LINE.cases()).text, tmp_path).statement
    for piece in (
        "E = b Sigma A - I, with Sigma = (1)",
        "the gradient flow (A, b)' = -grad R(A, b) from A = (0.5) and b = 0.5 at t = 0 exists up to t = 3",
        "at t = 1, (A, b) is within 0.0613023 of A = (0.8) and b = 0.8 (Euclidean distance)",
        "and 0.0416927 <= R <= 0.0416928",
        "and within 0.221541 of the Bayes point A = Sigma^-1/b, b with the same |A|_F^2 - b^2 and the same sign of b",
        "for all t from 0 to 1, (A, b) is within 0.0697 of the point that moves uniformly on a straight line "
        "from the start to the one stated for t = 1",
        "for all t from 1 to 3, (A, b) is within 0.119 of the point that moves uniformly on a straight line "
        "from the point stated for t = 1 to the one stated for t = 3",
    ):
        assert piece in said, said


# -- kernels with one part sabotaged

RUN = RegressionFlow.coefficients
SABOTAGE: dict[str, Sabotage] = {
    "upper bounds are not looked at": (
        flow_trajectory, "Obligation",
        lambda name, left, relation, right: Obligation(name, left, ">=", right if relation == ">=" else fmpq(0))),
    "distances are not looked at": (flow_trajectory, "_distance", lambda found, point: arb(0)),
    "the flow runs uphill": (
        RegressionFlow, "coefficients",
        lambda self, point, order: [[(-1) ** k * x for x in z] for k, z in enumerate(RUN(self, point, order))]),
    "the flow is of the first order": (
        RegressionFlow, "coefficients",
        lambda self, point, order: RUN(self, point, 1) + [[arb(0)] * len(point)] * (order - 1)),
    "the risk is 0": (RegressionFlow, "risk", lambda self, enclosed: arb(0)),
    "tubes are not looked at": (Straying, "largest", property(lambda self: arb(0))),
    "tubes are looked at where they end": (Straying, "meet", lambda self, step: setattr(self, "_met", self.last)),
    "no invariant": (Parameters, "invariant", lambda self: self.b * 0),
    "no room for the invariant": (flow_trajectory, "invariant_reach", lambda length, radius: arb(0)),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)


def test_too_many_steps_are_no_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = flow_trajectory.integrate
    monkeypatch.setattr(flow_trajectory, "integrate", lambda *given, watch: found(*given, 5, watch))
    report = check(next(cases.LINE.cases()).text, tmp_path)
    assert report.verdict is REJECTED
    assert "more than 5 steps" in report.reason


@pytest.mark.heavy
def test_an_enclosure_that_is_lost_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that is said to expand without bounds: undecided at every precision, never a false finish."""
    monkeypatch.setattr(RegressionFlow, "expansion", lambda self, ball: arb.pos_inf())
    report = check(next(cases.LINE.cases()).text, tmp_path)
    assert report.verdict.value == "inconclusive"


# -- closed solutions


def _real(text: str) -> Any:
    value = Fraction(text)
    return mp.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize(("sigma", "alpha", "time"), [("1", "1/2", "1"), ("1/4", "3", "30"), ("3", "-1/5", "1/7")])
def test_balanced_starts_on_the_line(sigma: str, alpha: str, time: str, tmp_path: Path) -> None:
    """A = b = x: x' = s^2 x (1 - s x^2), so x^-2 = s + (x(0)^-2 - s) e^(-2 s^2 t)."""
    with mp.workdps(60):
        s, x, t = (_real(text) for text in (sigma, alpha, time))
        end = mp.sign(x) / mp.sqrt(s + (x**-2 - s) * mp.exp(-2 * s**2 * t))
        truth = mp.nstr(end, 45)
        risk = s * (s * end**2 - 1) ** 2 / 2
        lower, upper = (mp.nstr(risk * (1 + sign * mp.mpf(10) ** -30), 45) for sign in (-1, 1))
    text = (
        "certattn: 1\nclaim: flow-trajectory\n"
        f"given: {{covariance: [[{sigma}]], start: {{A: [[{alpha}]], b: {alpha}}}}}\n"
        f"asserts: {{points: [{{time: {time}, A: [[{truth}]], b: {truth}, radius: 1e-40, "
        f"risk: {{lower: {lower}, upper: {upper}}}}}]}}\n"
    )
    assert check(text, tmp_path).verdict is ACCEPT
    thin = changed(text, "radius: 1e-40", "radius: 1e-50", "thin")
    assert check(thin, tmp_path).verdict is not ACCEPT


def test_directions_that_do_not_meet_are_each_on_their_line(tmp_path: Path) -> None:
    """Sigma = I and A = diag(x, -x): b' = tr A - b |A|^2 = 0 at b = 0, where A rests."""
    text = (
        "certattn: 1\nclaim: flow-trajectory\ngiven: {covariance: [[1, 0], [0, 1]], "
        "start: {A: [[2, 0], [0, -2]], b: 0}}\n"
        "asserts: {points: [{time: 3, A: [[2, 0], [0, -2]], b: 0, radius: 1e-12}]}\n"
    )
    assert check(text, tmp_path).verdict is ACCEPT


def test_how_far_the_invariant_reaches_is_attained() -> None:
    """At b = 0: |A|_F grows from 3 to 3 + 1/2, and nothing else changes."""
    assert invariant_reach(arb(3), arb("0.5")) == arb("3.5") ** 2 - 9
