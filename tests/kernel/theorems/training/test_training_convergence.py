"""Checking `training-convergence`: what is said, and a sabotaged kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from corpus import REFUTED, REJECTED, Cases, Family, check
from sabotage import Sabotage, holding, noticed

from certattn.kernel.theorems.training import regression, training_convergence
from certattn.kernel.theorems.training.training_convergence import CovarianceConstants, DescentRates, FlowRates

cases = Cases("training_cases")

Tool = Callable[[str], ModuleType]
RATE = FlowRates.rate


def first(family: Family) -> str:
    return next(family.cases()).text


def test_the_statement_says_every_number(arrays: Path) -> None:
    said = check(first(cases.FLOW), arrays).statement
    for piece in (
        "Sigma = ((1, 0.5), (0.5, 1.25))", "the gradient flow (A, b)' = -grad R(A, b)",
        "from A = ((0.6, 0), (0, 0.8)) and b = 1 at t = 0", "R <= 0.145 e^(-2c t) for all t >= 0, c = 0.1553",
        "from t = 0 on is no longer than 1.076", "within 1.076 e^(-c t) of its limit", "b > 0 for all t >= 0",
        "delta = |A(0)|_F^2 - b(0)^2 = 0", "within 0.0002 of A = ((0.945, -0.378), (-0.378, 0.756)) and b = 1.323",
        "R <= 0.01434 at t = 5",
    ):  # fmt: skip
        assert piece in said, said
    said = check(first(cases.CROSSING), arrays).statement
    for piece in (
        "gradient descent (A, b) -> (A, b) - eta grad R(A, b) with eta = 0.025", "b = -0.75 at k = 0",
        "R <= 0.07433 (1 - 2 eta c)^(k - 100) for all k >= 100, c = 0.152",
        "within 1.079 (1 - 2 eta c)^((k - 100)/2) of its limit", "b > 0 for all k >= 100",
        "a Bayes point A = Sigma^-1/b, b > 0", "there 0.4183 <= |A|_F^2 - b^2 <= 0.4228", "R <= 1.529 at k = 7",
    ):  # fmt: skip
        assert piece in said, said


def test_a_witness_refutes_nothing(arrays: Path) -> None:
    """A false bound is refuted where the run is enclosed, and only not proved where it is not."""
    false = first(cases.LATER).replace("risk: 0.008589", "risk: 0.005")
    assert check(false, arrays).verdict is REFUTED
    assert check(false + "witness: {enclosed: 0}\n", arrays).verdict is REJECTED


# -- a kernel with a wrong formula

SABOTAGE: dict[str, Sabotage] = {
    "rates of twice the size": (FlowRates, "rate", lambda self, risk: 2 * RATE(self, risk)),
    "rates of the limit": (CovarianceConstants, "least_product", lambda self, risk: self.bayes_product()),
    "no condition on the step": (DescentRates, "smoothness", lambda self, risk: 0 * risk),
    "no share": (DescentRates, "share", lambda self, risk: 1 + 0 * risk),
    "no wandering": (DescentRates, "wander", lambda self, risk: 0 * risk),
    "risks fall at once": (training_convergence, "risk_after", lambda duration, risk, decay, whole: 0 * risk),
    "no path": (training_convergence, "length_below", lambda risk, rate: 0 * risk),
    "conditions are not looked at": (training_convergence, "Obligation", holding("<")),
    "signs are not looked at": (training_convergence, "Obligation", holding(">")),
    "bounds are not looked at": (training_convergence, "Obligation", holding("<=")),
    "rates are not looked at": (training_convergence, "Obligation", holding(">=")),
    "the limit at test time is not inverted": (regression, "inverse", lambda covariance: covariance),
    "the limit is not inverted": (regression, "squared_factor", lambda delta, product: 1 + 0 * product),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)
