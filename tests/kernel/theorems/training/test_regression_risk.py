"""The claim `regression-risk`: its words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
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
from certattn.kernel.theorems.training import regression, regression_risk, shifted_risk
from certattn.kernel.theorems.training.regression import Parameters, Regression
from certattn.kernel.theorems.training.regression_risk import PREDICTIONS, read
from certattn.kernel.theorems.training.shifted_risk import Shift
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


def test_words_of_a_shift(tmp_path: Path) -> None:
    said = check(next(cases.SHIFTED.cases()).text, tmp_path).statement
    for piece in (
        "at test time, with tokens of N(0, T), T = ((2, 0.5), (0.5, 1)), the query x of N(0, Q), ",
        "Q = ((3, 1), (1, 2)), and w ~ N(0, W), W = ((1, 1), (1, 1)), the risk 1/2 E (b w'T A x - <w, x>)^2 is 0.46875",
    ):
        assert piece in said, said


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
    "the query is shifted as the tokens are": (
        Shift, "risk", lambda self, P, risk=Shift.risk: risk(replace(self, query=self.tokens), P)),
    "the tasks are not shifted": (
        Shift, "risk", lambda self, P, risk=Shift.risk: risk(replace(self, tasks=self.identity), P)),
    "the tokens are not shifted": (
        shifted_risk, "read_shift",
        lambda stated, covariance, read=shifted_risk.read_shift: replace(read(stated, covariance), tokens=covariance)),
    "any symmetric matrix is a covariance at test time": (
        ExactMatrix, "is_positive_semidefinite", lambda self: self.is_symmetric()),
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


def test_the_risk_at_test_time_is_what_very_long_prompts_show() -> None:
    """Softmax attention itself over drawn prompts of T, Q and W, beside 1/2 tr(W F Q F')."""
    T, Q, W = (np.array(table, float) for table in ([[2, 0.5], [0.5, 1]], [[3, 1], [1, 2]], [[1, 1], [1, 1]]))
    A, b, exact = np.diag([1.0, 2.0]) / 8, 4.0, ExactMatrix.rational
    shift = Shift(*(exact([[fmpq(*x.as_integer_ratio()) for x in row] for row in M]) for M in (T, Q, W, np.eye(2))))
    product = exact([[fmpq(1, 2), fmpq(0)], [fmpq(0), fmpq(1)]])
    found = shift.risk(product)
    bits = np.random.default_rng(5)
    losses = []
    for _ in range(400):
        tokens = bits.standard_normal((20_000, 2)) @ np.linalg.cholesky(T).T
        queries = bits.standard_normal((8, 2)) @ np.linalg.cholesky(Q).T
        w = np.array([1.0, 1.0]) * bits.standard_normal()
        weights = np.exp(tokens @ (A @ queries.T))
        predicted = b * (tokens @ w) @ weights / weights.sum(axis=0)
        losses.append(((predicted - queries @ w) ** 2 / 2).mean())
    error = np.std(losses) / len(losses) ** 0.5
    assert found == fmpq(15, 32)
    assert abs(np.mean(losses) - 15 / 32) < 4 * error < 0.2
