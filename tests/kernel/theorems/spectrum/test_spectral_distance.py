"""The claims `spectral-distance` and `not-marchenko-pastur`: an independent computation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from corpus import ACCEPT, REFUTED, Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, holding, noticed

from certattn.kernel.theorems.spectrum import law_distance, not_marchenko_pastur, spectral_distance, stated_matrix
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw, TruncatedWeights

cases = Cases("distance_cases", "distance_extremes")

Tool = Callable[[str], ModuleType]


def arrays(tmp_path: Path, tool: Tool, tokens: int, width: int, inverse: int) -> str:
    """`given` of attention with drawn weights in an array file, and a place for the law."""
    gallery = tool("gallery.singular_values")
    path = gallery.draw(tmp_path, "drawn", tokens, width)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    parts = "".join(
        f"  {name}: {{file: drawn.npz, array: {name}, sha256: {digest}, dtype: int16, shape: [{tokens}, {width}]}}\n"
        for name in ("queries", "keys")
    )
    return f"given:\n{parts}  scale: {gallery.scale(inverse, width)}\n  centred: true\n"


def by_numpy(values: Any, tail: Callable[[Any], Any]) -> float:
    """sup |F_n - F| by both limits at every value, from the smallest on."""
    ordered = np.sort(values)
    known, count = 1 - tail(ordered), len(ordered)
    return float(max(np.max(np.arange(1, count + 1) / count - known), np.max(known - np.arange(count) / count)))


@pytest.mark.parametrize(("beta", "inverse", "width"), [(1 / 2, 4, 60), (1, 1, 30)], ids=["beta 1/2", "a gap"])
def test_doubles_agree_with_an_independent_computation(
    beta: float, inverse: int, width: int, tmp_path: Path, tool: Tool, mutate: ModuleType
) -> None:
    """Singular values by numpy, tails by eigenvalues of companion matrices: the bounds are 1e-6 on both sides."""
    text = arrays(tmp_path, tool, 60, width, inverse)
    stored = np.load(tmp_path / "drawn.npz")
    scores = beta / np.sqrt(width) * (stored["queries"] / 1024.0) @ (stored["keys"] / 1024.0).T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    centred = np.sqrt(60) * (weights / weights.sum(axis=1, keepdims=True) - 1 / 60)
    truth = tool("truth.spectral_distance")
    law = truth.Law(None, None, Fraction(1, inverse), Fraction(width, 60))
    variance = np.expm1(beta**2)
    sigma = np.linalg.svd(centred, compute_uv=False)
    wanted = {
        "law": by_numpy(sigma, truth.tail_of(law)),
        "quarter_circle": by_numpy(sigma, lambda x: truth.circle_tail(x / np.sqrt(variance))),
    }
    bounds = [f"{name}: {{at_least: {x - 1e-6:.9f}, at_most: {x + 1e-6:.9f}}}" for name, x in wanted.items()]
    law_text = "  law: {from: weights, unit: 1024}\n"
    head = "certattn: 1\nclaim: spectral-distance\n"
    report = check(f"{head}{text}{law_text}asserts: {{{', '.join(bounds)}}}\n", tmp_path)
    assert report.verdict is ACCEPT, report.reason
    assert all("binary64" in obligation["arithmetic"] for obligation in report.obligations)
    other = f"asserts: {{law: {{at_most: {wanted['law'] - 1e-8:.10f}}}}}\n"
    assert check(f"{head}{text}{law_text}{other}", tmp_path).verdict is REFUTED


def test_a_matrix_in_doubles_beside_a_law(tmp_path: Path, tool: Tool) -> None:
    """Of the law alone nothing is computed in doubles."""
    text = arrays(tmp_path, tool, 40, 40, 4).removeprefix("given:\n").replace("  ", "    ")
    whole = (
        f"certattn: 1\nclaim: not-marchenko-pastur\ngiven:\n  beta: 1/2\n  lambda: 1\n  finite:\n{text}"
        "asserts: {distance: {at_least: 0.11}, separation: {at_least: -1}}\nwitness: {quarter_circle_scale: 0.48}\n"
    )
    report = check(whole, tmp_path)
    assert report.verdict is ACCEPT, report.reason
    arithmetics = {obligation["name"]: obligation["arithmetic"] for obligation in report.obligations}
    assert "Arb" in arithmetics["distance.at_least"]
    assert "binary64" in arithmetics["separation.at_least"]


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    said = check(next(cases.TOKENS.cases()).text, tmp_path).statement
    for piece in (
        "queries q = ((1, 0), (0, 1), (1, -1), (-2, 1)), keys k = ((1, 2), (0.5, 0), (-1, 1), (0, -1))",
        "softmax attention at beta^2 = 0.25, lambda = d_qk/d = 0.5 (those of queries and keys whose entries have the "
        "standard deviation 1), alpha^2 = e^(beta^2) - 1 - beta^2, which is the law of |x|",
        "the distance of the singular values to mu is at least 0.40788 and at most 0.40789",
        "that to the quarter circle law of the variance alpha^2 + beta^2 is at least 0.45706 and at most 0.45707",
        "the law of c x, x from mu, over all c > 0, is at least 0.33706 and at most 0.33707",
        "a quarter circle law of any variance is at least 0.4157 and at most 0.41571",
        "any variance minus the distance to mu is at least 0.00782 and at most 0.00783: it is positive",
        "over all c > 0, is at least 0.07863 and at most 0.07864: it is positive.",
    ):
        assert piece in said, said
    said = check(next(cases.CUT.cases()).text, tmp_path).statement
    for piece in (
        "attention at beta^2 = 4, lambda = d_qk/d = 0.5 (those of queries and keys whose entries have the standard "
        "deviation 2), truncated at tau = 3.35299: with f = min(e^(beta g - beta^2/2), tau), g a standard normal",
        "K(w) = 1/w + alpha_tau^2 w + beta_tau^2 w/(1 - beta_tau^2 w^2/lambda)",
        "t^2 - d m(t), d = 4 and m(t) = alpha_t^2 + beta_t^2, is at most 0 at tau - r and at least 0 at tau + r, "
        "r = 0.00001, so that tau is within r of a solution t of t^2 = d m(t), which is the largest one;",
        "the quarter circle law of the variance alpha_tau^2 + beta_tau^2 is at least 0.70043",
    ):
        assert piece in said, said
    said = check(next(cases.CUT_MATRIX.cases()).text, tmp_path).statement
    assert "within r of a solution t of t^2 = d m(t);" in said
    said = check(next(cases.FINITE.cases()).text, tmp_path).statement
    assert "m_4 - 2 m_2^2, m_n the moments of mu, is 0.25, and 0 for every quarter circle law" in said
    assert "is at least -0.4033 and at most -0.4032: it is negative" in said
    said = check(next(cases.LAWS.cases()).text, tmp_path).statement
    assert "For the law mu of softmax attention at beta = 0.5, lambda = d_qk/d = 1, alpha^2" in said
    assert "m_4/m_2^2 - 2, which is 0 for every quarter circle law, is at least 0.7747 and at most 0.7748" in said
    assert "mu to the quarter circle law of the same variance is at least 0.114 and at most 0.116" in said
    assert "of mu to a quarter circle law of any variance is at least 0.087 and at most 0.089." in said


def test_signs_of_separations_are_found(tmp_path: Path) -> None:
    assert check(next(cases.TOKENS.cases()).text, tmp_path).findings == (
        "the separation is positive",
        "the scaled separation is positive",
    )
    assert check(next(cases.GIVEN.cases()).text, tmp_path).findings == ("the separation is negative",)


# -- kernels with one part sabotaged

SABOTAGE: dict[str, Sabotage] = {
    "upper bounds are not looked at": (stated_matrix, "Obligation", holding("<=")),
    "lower bounds are not looked at": (stated_matrix, "Obligation", holding(">=")),
    "a scale's own distance is taken for the smallest": (
        spectral_distance.Between, "at_best_scale",
        classmethod(lambda cls, found: cls(found.distance, found.distance))),
    "one side of F_n alone": (
        law_distance, "kolmogorov_distance",
        lambda values, tail: law_distance.one_sided_distances(values, tail).above),
    "scales are not looked at": (law_distance, "scaled", lambda tail, scale: tail),
    "all quarter circles have the variance 1": (
        law_distance, "quarter_circle_tail",
        lambda x, variance, found=law_distance.quarter_circle_tail: found(x, arb(1))),
    "separations have the other sign": (
        spectral_distance.Between, "__sub__",
        lambda self, other: spectral_distance.Between(other.low - self.high, other.high - self.low)),
    "weights have lambda 1": (
        spectral_distance, "fmpq", lambda *parts, found=fmpq: found(1) if len(parts) == 2 else found(*parts)),
    "no law is truncated": (
        EquivalentLaw, "truncated", classmethod(lambda cls, beta2, lambda_, tau: cls.from_square(beta2, lambda_))),
    "only one end of a bracket": (spectral_distance, "Obligation", holding(">=")),
    "a solution is the largest": (TruncatedWeights, "growth", lambda self, tokens: (arb(0), arb(1))),
    "any number of tokens": (
        spectral_distance, "read_fixed_point",
        lambda asserts, law, tokens, found=spectral_distance.read_fixed_point: found(asserts, law, 4)),
    "any matrix is square": (spectral_distance, "require_square", lambda matrix: matrix),
    "moments are equal": (not_marchenko_pastur, "Obligation", holding("=")),
    "differences of laws are 0": (
        not_marchenko_pastur, "differences", lambda tail, other, end, goals: law_distance.OneSided(arb(0), arb(0))),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)
