"""The claim `regression-risk`: its words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from corpus import ACCEPT, REFUTED, Cases, changed, check
from flint import arb, fmpq
from sabotage import Sabotage, holding, noticed

from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training import regression, regression_risk
from certattn.kernel.theorems.training.regression import Parameters, Regression
from certattn.kernel.theorems.training.regression_risk import PREDICTIONS, read
from certattn.statements.training.regression_risk import WORDING

cases = Cases("risk_cases")

Tool = Callable[[str], ModuleType]


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    said = check(next(cases.ANYWHERE.cases()).text, tmp_path).statement
    for piece in (
        "Sigma = ((1, 0.5), (0.5, 1))",
        "at A = ((1, 0), (0, 2)) and b = 0.5",
        "R(A, b) = 1/2 E (b w'Sigma A x - <w, x>)^2: R = 0.15625",
        "dR/dA = ((-0.0625, 0.15625), (0.0625, 0.125)) and dR/db = 0.375",
        "|A|_F^2 - b^2 = 4.75",
        "the second derivative of R along H = ((1, 0), (0, 0)), h = 0 is 0.3125",
        "the prediction at w = (1, 0), x = (0, 1) is 0.5; the prediction at w = (2, 3), x = (1, -1) is -2.25",
        "b* Sigma A* = I, |A*|_F^2 - b*^2 = 4.75 as here and b* positive is A = ((1, 1), (1, 1)) and b = 1 up to 3",
        "b*^4 + (4.75) b*^2 = tr(Sigma^-2) = 40/9",
    ):
        assert piece in said, said


def test_words_of_stationary_points(tmp_path: Path) -> None:
    bayes, saddle = (check(next(one.cases()).text, tmp_path).statement for one in (cases.INVERSE, cases.SADDLE))
    assert "b Sigma A = I, so <w, x> is predicted for every w and x, and R = 0" in bayes
    assert "a saddle, where R = tr(Sigma)/2" in saddle


def test_the_formula_has_what_is_asserted_and_no_more(tmp_path: Path) -> None:
    predictions = r"b\, w_i^\top \Sigma A x_i = v_i"
    for family, asserted in ((cases.ANYWHERE, True), (cases.SADDLE, False)):
        stated = read(loads(next(family.cases()).text, tmp_path / "case.yaml"))
        assert (PREDICTIONS in stated.asserts) is asserted
        assert (predictions in WORDING.statement(stated).latex) is asserted


def test_arrays_in_files(tmp_path: Path) -> None:
    root = np.tril(np.ones((6, 6)))
    covariance = root @ root.T
    np.save(tmp_path / "covariance.npy", covariance)
    np.save(tmp_path / "inverse.npy", np.round(np.linalg.inv(covariance)))

    def reference(name: str) -> str:
        digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        return f"{{file: {name}, sha256: {digest}, dtype: float64, shape: [6, 6]}}"

    text = (
        f"certattn: 1\nclaim: regression-risk\ngiven:\n  covariance: {reference('covariance.npy')}\n"
        f"  parameters: {{A: {reference('inverse.npy')}, b: 1}}\nasserts: {{stationary: bayes, risk: 0}}\n"
    )
    assert check(text, tmp_path).verdict is ACCEPT
    control = changed(text, reference("inverse.npy"), reference("covariance.npy"), "control")
    assert check(control, tmp_path).verdict is REFUTED


# -- kernels with one part sabotaged


def _first_row(self: Any, other: Any) -> fmpq:
    return sum((x * y for x, y in zip(self.row(0), other.row(0), strict=True)), fmpq(0))


SABOTAGE: dict[str, Sabotage] = {
    "identities are not looked at": (regression_risk, "Obligation", holding("=")),
    "enclosures are not looked at": (regression_risk, "Obligation", holding("<=")),
    "the risk is 0": (Regression, "risk", lambda self, at: fmpq(0)),
    "the gradient is 0": (Regression, "gradient", lambda self, at: at - at),
    "the invariant adds": (Parameters, "invariant", lambda self: self.inner(self)),
    "second derivatives are 0": (Regression, "second_derivative", lambda self, at, along: fmpq(0)),
    "products of the first rows": (ExactMatrix, "inner", _first_row),
    "the balanced endpoint": (
        regression, "bayes_point",
        lambda covariance, invariant, positive, found=regression.bayes_point: found(covariance, fmpq(0), positive)
    ),
    "the positive endpoint": (
        regression, "bayes_point",
        lambda covariance, invariant, positive, found=regression.bayes_point: found(covariance, invariant, True)),
    "the endpoint's A is not looked at": (regression_risk, "linf_norm", lambda entries: arb(0)),
    "tr(Sigma^-2) is the dimension": (regression, "inverse_squares", lambda covariance: fmpq(covariance.rows)),
    "any invertible matrix is a covariance": (
        regression, "is_positive_definite", lambda matrix: matrix.numerators.det() != 0),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)


# -- comparisons


def test_a_large_covariance(tmp_path: Path) -> None:
    """d = 64: exact identities, and an endpoint of enclosures."""
    size = 64
    rows = [[str(2 * (i == j) + (abs(i - j) == 1)) for j in range(size)] for i in range(size)]
    identity = [[str(int(i == j)) for j in range(size)] for i in range(size)]
    text = (
        f"certattn: 1\nclaim: regression-risk\ngiven:\n  covariance: {_rows(rows)}\n"
        f"  parameters: {{A: {_rows(identity)}, b: 1}}\nasserts:\n"
        f"  risk: {_tridiagonal_risk(size)}\n  endpoint: {{A: {_rows(identity)}, b: 10, radius: 100}}\n"
    )
    assert check(text, tmp_path).verdict is Verdict.VERIFIED


def _tridiagonal_risk(size: int) -> str:
    """1/2 tr((Sigma - I) Sigma (Sigma - I)) in doubles, which hold these integers."""
    Sigma = 2 * np.eye(size) + np.eye(size, k=1) + np.eye(size, k=-1)
    E = Sigma - np.eye(size)
    return str(int(np.trace(E @ Sigma @ E))) + "/2"


def _rows(rows: list[list[str]]) -> str:
    return "[" + ", ".join(f"[{', '.join(row)}]" for row in rows) + "]"
