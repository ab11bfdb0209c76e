"""Claim `risk-gap`: sabotaged kernels, simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import REFUTED, REJECTED, Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, at_64_bits, holding, noticed

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.decide.proof import Proof
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.weight_averages import WeightAverage
from certattn.kernel.theorems.training import gap_lines, risk_gap
from certattn.kernel.theorems.training.risk_gap import obligations, read

cases = Cases("gap_cases")
CLAIM = CLAIMS["risk-gap"]


def test_a_bound_over_a_ball_refutes_nothing() -> None:
    for family in (cases.LOGISTIC, cases.POWER, cases.TABLE, cases.LINES):
        assert REFUTED not in {case.verdict for case in family.cases()}
        assert REJECTED in {case.verdict for case in family.cases()}


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    text = check(next(cases.LOGISTIC.cases()).text, tmp_path).statement
    for piece in (
        "((1, 0.5), (0.5, 1))",
        "every L >= 100",
        "|A|_F^2 <= 0.25",
        "b^2 <= sqrt(2)",
        "0.123077",
        "0.295656",
    ):
        assert piece in text
    text = check(next(cases.POINT.cases()).text, tmp_path).statement
    for piece in ("covariance (0.5)", "prompts of 4 tokens", "A = (0.5) and b = 0.5", "0.03267405", "0.03267407"):
        assert piece in text


# -- sabotage


SABOTAGE: dict[str, Sabotage] = {
    "upper bounds over a ball are not looked at": (risk_gap, "Obligation", holding("<="), cases.LOGISTIC),
    "tables are not looked at": (risk_gap, "Obligation", holding(">="), cases.TABLE),
    "upper bounds of the gap are not looked at": (risk_gap, "Obligation", holding("<="), cases.POINT),
    "lower bounds of the gap are not looked at": (risk_gap, "Obligation", holding(">="), cases.POINT),
    "no spread of the weights": (risk_gap, "spread_factor", lambda b: -24 * b * b, cases.POINT),
    "no cross term": (
        risk_gap, "collision_factors", lambda b: (b * b, 0 * b, -b * b), cases.POINT),
    "r for r^2": (risk_gap.Ball, "scale", lambda self: self.largest * self.A_squared, cases.LOGISTIC),
    "no query": (risk_gap.Ball, "query_average", lambda self, plain, weighted: 0 * plain, cases.POWER),
    "no chord": (risk_gap, "chord_excess", lambda step, last: arb(0), cases.TABLE),
    "no bend between nodes": (gap_lines, "KAPPA_CONVEX", fmpq(0), cases.LINES),
    "twice as much of kappa": (gap_lines, "FALLS", fmpq(9), cases.LINES),
    "one value of b": (gap_lines, "SUM", fmpq(0), cases.LINES),
    "no lines": (gap_lines, "mean", lambda *_: arb(0), cases.LINES),
    "all of a direction at once": (gap_lines, "share_caps", lambda caps, most: [(0, arb(1))], cases.LINES),
    "half a ramp": (risk_gap, "ramp", lambda start, scale, lower, upper: scale * upper / 2, cases.TABLE),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE, at_64_bits)


@pytest.mark.parametrize(("bits", "of_nodes"), [(64, 32), (256, 128), (4096, 128)])
def test_nodes_of_a_table_are_computed_to_so_many_bits(
    bits: int, of_nodes: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A search at 4096 bits would otherwise spend its time on nodes that are known long since."""
    asked = []
    monkeypatch.setattr(risk_gap.Tabulated, "least_excess", lambda self, length, b: asked.append(b) or arb(1))
    stated = read(loads(next(cases.TABLE.cases()).text, tmp_path / "case.yaml"))
    Proof(list(obligations(stated))).ask(["majorant.above"], bits)
    assert asked == [of_nodes]


# -- a second opinion


# -- simulation


def simulated(covariance: Any, A: Any, b: float, length: int, count: int) -> tuple[float, float]:
    """R_L - R by random prompts, and the standard error: no identity is used."""
    rng = np.random.default_rng(length)
    root = np.linalg.cholesky(covariance)
    size = len(covariance)
    tokens = rng.normal(size=(count, length, size)) @ root.T
    query, task = rng.normal(size=(count, size)) @ root.T, rng.normal(size=(count, size))
    scores = np.einsum("nld,de,ne->nl", tokens, A, query)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    labels = np.einsum("nld,nd->nl", tokens, task)
    wanted = (query * task).sum(axis=1)
    finite = b * (weights * labels).sum(axis=1)
    infinite = b * ((query @ A.T @ covariance) * task).sum(axis=1)
    errors = ((finite - wanted) ** 2 - (infinite - wanted) ** 2) / 2
    return float(errors.mean()), float(errors.std() / count**0.5)


def test_the_enclosure_lies_in_the_interval_of_a_simulation(tmp_path: Path) -> None:
    gap = read(loads(next(cases.POINT.cases()).text, tmp_path / "case.yaml")).proof
    assert isinstance(gap, WeightAverage)
    with working_precision(64):
        found = gap.value()
    mean, error = simulated(np.array([[0.5]]), np.array([[0.5]]), 0.5, 4, 400_000)
    assert abs(float(found) - mean) < 3.3 * error + float(found.rad())


@pytest.mark.parametrize("b", [-1.0, 0.0, 0.5, 1.18])
def test_gaps_of_random_parameters_keep_the_bounds_over_the_ball(b: float) -> None:
    """|A|_F^2 = 1/4, b^2 <= sqrt(2), L = 100: excess 0.123077, shortfall 0.295656."""
    rng = np.random.default_rng(3)
    covariance = np.array([[1, 0.5], [0.5, 1]])
    for _ in range(3):
        A = rng.normal(size=(2, 2))
        A *= 0.5 / np.linalg.norm(A)
        mean, error = simulated(covariance, A, b, 100, 20_000)
        assert -0.295656 - 4 * error < mean < 0.123077 + 4 * error


def test_the_majorants_compare_as_they_should() -> None:
    """At length 60 on the line: table, logistic bound and power, from the sharpest to the weakest."""
    ball = risk_gap.Ball(arb(1) / 4, arb(1), arb(1), arb(1))
    scale = ball.scale()
    found = []
    for majorant in (risk_gap.Logistic(60), risk_gap.Power(60, fmpq(9, 10))):
        plain, weighted = (majorant.average(k, scale, 64) for k in (0, 1))
        found.append(ball.excess(plain, weighted))
    assert found[0] < found[1]
