"""Checking `training-convergence`: the corpus, what is said, the mutants, and a sabotaged kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import training_cases as cases
from corpus import ACCEPT, REFUTED, REJECTED, Case, Family, check
from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Relation, Side
from certattn.kernel.document.certificate import loads
from certattn.kernel.theorems.training import training_convergence
from certattn.kernel.theorems.training.training_convergence import CovarianceConstants, DescentRates, FlowRates

Tool = Callable[[str], ModuleType]
RATE = FlowRates.rate


def blind(relation: Relation) -> Callable[..., Obligation]:
    """Obligations of this relation hold whatever they compare."""

    def made(name: str, left: Side, given: Relation, right: Side, *more: Any) -> Obligation:
        if given == relation:
            return Obligation(name, fmpq(0), "=", fmpq(0))
        return Obligation(name, left, given, right, *more)

    return made


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_case(case: Case, arrays: Path) -> None:
    assert case.complaint(check(case.text, arrays)) == ""


def test_there_are_more_rejects_than_accepts_and_all_have_names() -> None:
    accepts = [case for case in cases.CASES if case.verdict is ACCEPT]
    assert len(accepts) >= 20
    assert len(cases.CASES) - len(accepts) >= len(accepts)
    assert len({case.name for case in cases.CASES}) == len({case.text for case in cases.CASES}) == len(cases.CASES)


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


# -- mutants


@pytest.mark.parametrize(
    ("family", "every"),
    [(cases.FLOW, 7), (cases.LATER, 9), (cases.STAIRS, 5), (cases.DESCENT, 6), (cases.CROSSING, 9), (cases.OUTSIDE, 6)],
    ids=lambda value: getattr(value, "title", ""),
)
def test_no_mutant_is_falsely_accepted_or_refuted(family: Family, every: int, arrays: Path, tool: Tool) -> None:
    mutate = tool("mutation.mutate_certificates")
    mutants = list(mutate.mutants(loads(first(family), arrays / "case.yaml").plain))[::every]
    tally = mutate.sweep(mutants, arrays)
    assert tally.mutants == len(mutants) > 60
    assert tally.errors == []
    assert tally.verified_true > 5
    assert tally.refuted_false + tally.undecided_false > 1
    assert tally.refused > 20


# -- a kernel with a wrong formula

SABOTAGES: list[tuple[str, Any, str, Any]] = [
    ("rates of twice the size", FlowRates, "rate", lambda self, risk: 2 * RATE(self, risk)),
    ("rates of the limit", CovarianceConstants, "least_product", lambda self, risk: self.bayes_product()),
    ("no condition on the step", DescentRates, "smoothness", lambda self, risk: 0 * risk),
    ("no share", DescentRates, "share", lambda self, risk: 1 + 0 * risk),
    ("no wandering", DescentRates, "wander", lambda self, risk: 0 * risk),
    ("risks fall at once", training_convergence, "risk_after", lambda duration, risk, decay, whole: 0 * risk),
    ("no path", training_convergence, "length_below", lambda risk, rate: 0 * risk),
    ("conditions are not looked at", training_convergence, "Obligation", blind("<")),
    ("signs are not looked at", training_convergence, "Obligation", blind(">")),
    ("bounds are not looked at", training_convergence, "Obligation", blind("<=")),
    ("rates are not looked at", training_convergence, "Obligation", blind(">=")),
    ("the limit is not inverted", training_convergence, "squared_factor", lambda delta, product: 1 + 0 * product),
]  # fmt: skip


@pytest.mark.parametrize(("where", "name", "wrong"), [row[1:] for row in SABOTAGES], ids=[row[0] for row in SABOTAGES])
def test_a_sabotaged_kernel_fails(
    where: Any, name: str, wrong: Any, arrays: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, wrong)
    assert any(case.complaint(check(case.text, arrays)) for case in cases.CASES)
