"""The claims `normalizer-bound` and `universality-bound`: words, simulations, sabotage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from corpus import Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, holding, noticed

from certattn.kernel.decide.proof import Verdict
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.spectrum import gaussian_equivalence as formulas
from certattn.kernel.theorems.spectrum import (
    normalizer_bound,
    quadratic_forms,
    score_matrix,
    typical_queries,
    universality_bound,
)
from certattn.kernel.theorems.spectrum.quadratic_forms import QuerySizes, sizes_of
from certattn.kernel.theorems.spectrum.score_matrix import ScoreMatrix
from certattn.kernel.theorems.spectrum.typical_queries import TypicalQueries

cases = Cases("equivalence_cases")

Tool = Callable[[str], ModuleType]
ALPHA2 = np.expm1(0.25) - 0.25
TYPICAL = TypicalQueries(fmpq(3, 2), fmpq(1, 2), fmpq(4))


def test_the_statements_say_every_number(tmp_path: Path) -> None:
    said = [check(next(family.cases()).text, tmp_path).statement for family in cases.FAMILIES]
    pieces = (
        ("d = 1000", "lambda = 1)", "beta = 0.5", "E W_2^2 <= 0.000151 and E W_2 <= 0.0123", "and of T Pi, E W_2^2"),
        (
            "and Pi = I - 11'/d: except with a probability of at most 0.01, all at once",
            "sigma_2(A) <= 0.1677 and sigma_1(A)^2 <= 1 + (0.1677)^2 for the two largest singular values of A",
            "the stable rank |A|_F^2/sigma_1(A)^2 of A is at most 1.465",
            "the mean over the rows of A of their entropies, in nats, is at least 6.744",
            "the mean over the rows of A of the largest weight is at most 0.03828",
            "the mean over the rows of A of the sum of the 32 largest weights is at most 0.2165.",
        ),
        (
            "eta = 1",
            "E |E[s_T | X] - E[s_N | X]|, X the queries, is at most 0.0056",
            "P(|s_T - E s_T| >= 0.1) <= 0.0001, over queries and keys",
            "is finite and at least 0.013087 and at most 0.013088",
            "Y = (alpha Z + beta S)/sqrt(d), Z of independent N(0, 1), alpha^2 = exp(beta^2) - 1 - beta^2",
        ),
        ("is finite and at least 10 and at most 1000000", "p = lambda d = 5"),
        (
            "rows of X = ((1, 0, 0.5), (0, 1, -1), (0.5, 0.5, 1))",
            "|E s_T - E s_N| is at most 0.1495",
            "P(|s_T - E s_T| >= 0.9) <= 0.016, over keys, the queries being fixed",
        ),
    )
    for text, wanted in zip(said, pieces, strict=True):
        for piece in wanted:
            assert piece in text, text


# -- soundness


def test_bounds_beyond_the_moment_condition_are_not_used(tmp_path: Path) -> None:
    """E t^4 is infinite at p = 12 beta^2, where what remains of the formula would be NaN, and below it."""
    text = "certattn: 1\nclaim: universality-bound\ngiven: {beta: 4, eta: 1, lambda: 3/125, d: 1000}\n"
    report = check(text + "asserts: {linearisation: {at_least: -1e99}}\n", tmp_path)
    assert "p > 4 beta^2" in report.reason
    head = "certattn: 1\nclaim: normalizer-bound\ngiven: {beta: 1, lambda: 1, d: 12}\n"
    report = check(head + "asserts: {mean_square: {at_most: 1e99}}\nwitness: {theta: 1/2, cut: 2}\n", tmp_path)
    assert "p > 12 beta^2" in report.reason
    assert report.verdict is Verdict.REJECTED


# -- comparisons


def _draw(rng: Any, d: int, p: int, beta: float) -> tuple[Any, Any, Any, Any]:
    x, k = rng.normal(size=(2, d, p))
    scores = x @ k.T / np.sqrt(p)
    t = np.expm1(beta * scores - beta**2 / (2 * p) * (x**2).sum(1)[:, None])
    weights = np.exp(beta * scores)
    return x, scores, t / np.sqrt(d), weights / weights.sum(1, keepdims=True)


def test_the_distance_of_covariances_by_simulation() -> None:
    rng = np.random.default_rng(4)
    d, p, beta = 30, 40, 0.5
    drawn = []
    for _ in range(400):
        G = (x := rng.normal(size=(d, p))) @ x.T / p
        difference = np.expm1(beta**2 * G) - ALPHA2 * np.eye(d) - beta**2 * G
        drawn.append((difference**2).sum())
    with working_precision(128):
        exact = float(formulas.linearisation(ScoreMatrix(d, p, fmpq(1, 4))))
    assert abs(np.mean(drawn) - exact) < 5 * np.std(drawn) / 20


def test_singular_values_of_attention_are_within_the_bounds() -> None:
    rng = np.random.default_rng(5)
    d, beta, eta = 100, 0.5, 1.0
    squares, difference = [], []
    for _ in range(12):
        _, scores, t, A = _draw(rng, d, d, beta)
        attention = np.linalg.svd(np.sqrt(d) * (A - 1 / d), compute_uv=False)
        centred = np.linalg.svd(t - t.mean(1, keepdims=True), compute_uv=False)
        squares.append(((attention - centred) ** 2).mean())
        linear = np.linalg.svd(
            (np.sqrt(ALPHA2) * rng.normal(size=(d, d)) + beta * scores) / np.sqrt(d), compute_uv=False
        )
        difference.append((1 / (attention**2 + eta)).mean() - (1 / (linear**2 + eta)).mean())
    with working_precision(128):
        scores_ = ScoreMatrix(d, d, fmpq(1, 4))
        bound = float(formulas.normalizer_bound(scores_, fmpq(1, 2), fmpq(3, 2)))
        whole = float(formulas.equivalence_bound(scores_, fmpq(1), fmpq(1, 2), TYPICAL))
    assert 0 < np.mean(squares) < bound
    assert abs(np.mean(difference)) < whole


def test_universality_of_given_queries_by_simulation() -> None:
    rng = np.random.default_rng(6)
    d, p, beta, runs = 12, 12, 0.5, 400
    x = np.round(rng.normal(size=(d, p)) * 16)
    G = (x / 16) @ (x / 16).T / p
    root = np.linalg.cholesky(np.expm1(beta**2 * G))
    found: list[tuple[float, float]] = []
    for _ in range(runs):
        k = rng.normal(size=(d, p))
        t = np.expm1(beta * (x / 16) @ k.T / np.sqrt(p) - beta**2 / 2 * np.diag(G)[:, None]) / np.sqrt(d)
        n = root @ rng.normal(size=(d, d)) / np.sqrt(d)
        found.append(tuple(float(np.trace(np.linalg.inv(m @ m.T + np.eye(d)))) / d for m in (t, n)))  # type: ignore[arg-type]
    s_T, s_N = np.array(found).T
    queries = ExactMatrix.dyadic(d, p, [int(entry) for entry in x.ravel()], -4)
    with working_precision(64):
        bound = float(formulas.universality_bound(sizes_of(queries, fmpq(1, 4), 64), d, fmpq(1, 4), fmpq(1)))
    assert abs(s_T.mean() - s_N.mean()) < bound
    assert np.abs(s_T - s_T.mean()).max() < np.sqrt(np.log(2 * runs) / (2 * d)) * 1.5


# -- kernels with one part sabotaged


def _first(scores: ScoreMatrix, theta: fmpq, cut: fmpq) -> arb:
    return formulas.normalizer_square(scores) / arb(1 - theta) ** 2


SABOTAGE: dict[str, Sabotage] = {
    "the condition of the normaliser is not looked at": (score_matrix, "moment_condition", lambda *of: fmpq(-1)),
    "rare rows are not looked at": (normalizer_bound, "normalizer_bound", _first),
    "long queries are not looked at": (formulas, "long_query", lambda p, cut: arb(0)),
    "queries are always typical": (TypicalQueries, "improbable", lambda self, d, p: arb(0)),
    "the norm of queries is 1": (TypicalQueries, "norm", lambda self, d, p: arb(1)),
    "what is typical of products is not looked at": (typical_queries, "Obligation", holding(">")),
    "no square of covariances": (QuerySizes, "square", property(lambda sizes: arb(0))),
    "columns have no variance": (formulas, "variance", lambda sizes, beta2: arb(0)),
    "columns have half their variance": (
        formulas, "variance", lambda sizes, beta2, found=formulas.variance: found(sizes, beta2) / 2),
    "the normaliser is free": (formulas, "normalizer_bound", lambda scores, theta, cut: arb(0)),
    "slopes are half of what they are": (
        formulas, "lipschitz", lambda eta, found=formulas.lipschitz: found(eta) / 2),
    "bounds are not looked at": (universality_bound, "Obligation", holding("<=")),
    "conditions are not looked at": (universality_bound, "Obligation", holding(">")),
    "what is typical is not looked at": (score_matrix, "Obligation", holding(">")),
    "a single query is the norm": (quadratic_forms, "largest_eigenvalue", lambda matrix, bits: matrix[0, 0]),
    "deviations as given the queries": (
        formulas, "deviation_bound",
        lambda d, eta, x, given, found=formulas.deviation_bound: found(d, eta, x, True)),
    "the covariance is linear": (formulas, "linearisation", lambda scores: arb(0)),
    "universality is free": (formulas, "mean_universality", lambda scores, eta, typical: arb(0)),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)
