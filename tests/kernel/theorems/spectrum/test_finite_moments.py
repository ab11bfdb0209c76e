"""The claim `finite-moments`: its words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from corpus import Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, holding, noticed

from certattn.kernel.given import bounds
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum import finite_moments
from certattn.kernel.theorems.spectrum import score_matrix as formulas
from certattn.kernel.theorems.spectrum.score_matrix import ScoreMatrix, limit_moment

cases = Cases("moment_cases")

Tool = Callable[[str], ModuleType]


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    said = check(next(cases.SMALL.cases()).text, tmp_path).statement
    for piece in (
        "For d = 24 queries x_i and as many keys k_j, all independent N(0, I_p), p = lambda d = 24 (lambda = 1)",
        "beta = 0.5 and the matrix T of the entries (exp(beta S_ij - beta^2 |x_i|^2/(2p)) - 1)/sqrt(d)",
        "E m_2(T), which is finite, is at least 0.2874208943 and at most 0.2874208944",
        "E m_6(T), which is finite, is at least 0.4568 and at most 0.4569",
        "E m_4(T)/m_4, which is finite, is at least 1.252765694 and at most 1.252765695",
        "d^(-1) E t^4/m_4, which is finite and at most E m_4(T)/m_4, is at least 0.1883 and at most 0.1884",
        "Var m_2(T), which is finite, is at least 0.0025398 and at most 0.0025399",
        "|E m_4(T)/m_4 - 1| <= 0.26 at d = 24, and at no d from 20 to 23",
        "beta is below sqrt(log(d)/4), the threshold of order 4",
    ):
        assert piece in said, said


def test_words_of_infinite_moments(tmp_path: Path) -> None:
    said = check(next(cases.NARROW.cases()).text, tmp_path).statement
    assert "E m_4(T) is infinite; E m_6(T) is infinite; E m_8(T) is infinite" in said


# -- soundness


def test_a_finite_formula_of_an_infinite_moment_is_not_used() -> None:
    """(1 - 12 b)^(-p/2) has a real value at even p/2 where 12 b > 1, and the mean is infinite."""
    scores = ScoreMatrix(26, 26, fmpq(9, 4))
    with working_precision(128):
        assert not scores.has_moment(6)
        assert not scores.moment(6).is_finite()
    on_edge = ScoreMatrix(12, 12, fmpq(1))
    assert not on_edge.has_moment(4)
    assert ScoreMatrix(13, 13, fmpq(1)).has_moment(4)


# -- comparisons


def test_one_row_and_column_by_quadrature() -> None:
    """d = 1: E t^2k over s^2 = |x|^2 / p alone, in doubles."""
    p, beta2 = 60, 0.25
    nodes = np.linspace(1e-6, 8, 200_001)
    weight = np.exp((p / 2 - 1) * np.log(nodes) - p * nodes / 2)
    weight /= weight.sum()
    for order in (2, 4, 6):
        powers = [
            (-1) ** (order - n) * _binomial(order, n) * np.exp(n * (n - 1) * beta2 * nodes / 2)
            for n in range(order + 1)
        ]
        wanted = float((sum(powers) * weight).sum())
        with working_precision(128):
            found = float(ScoreMatrix(1, p, fmpq(1, 4)).moment(order))
        assert found == pytest.approx(wanted, rel=1e-7)


def test_two_rows_and_columns_by_quadrature() -> None:
    """d = 2: E m_4 given lengths and angle of the queries, whose law is known, by sums in three dimensions."""
    p, beta2 = 24, 0.25
    lengths = np.linspace(0.01, 5, 80)
    chi = np.exp((p / 2 - 1) * np.log(lengths) - p * lengths / 2)
    cosines = np.linspace(-0.999, 0.999, 81)
    angle = (1 - cosines**2) ** ((p - 3) / 2)
    s, t, c = np.meshgrid(lengths, lengths, cosines, indexing="ij")
    weight = chi[:, None, None] * chi[None, :, None] * angle[None, None, :]
    weight /= weight.sum()
    g = np.sqrt(s * t) * c

    def mean(a: int, b: int) -> Any:
        """E (e_1 - 1)^a (e_2 - 1)^b of one key, given the queries."""
        total = 0.0
        for n in range(a + 1):
            for m in range(b + 1):
                sign = (-1) ** (a + b - n - m) * _binomial(a, n) * _binomial(b, m)
                total = total + sign * np.exp(beta2 * (n * (n - 1) * s + m * (m - 1) * t + 2 * n * m * g) / 2)
        return total

    one = mean(4, 0) + mean(0, 4) + 2 * mean(2, 2)
    two = mean(2, 0) ** 2 + mean(0, 2) ** 2 + 2 * mean(1, 1) ** 2
    # tr (TT')^2 = d^-2 sum_jj' (t_j.t_j')^2, and m_4 is half of it.
    wanted = float(((2 * one + 2 * two) / 4 / 2 * weight).sum())
    with working_precision(128):
        found = float(ScoreMatrix(2, p, fmpq(1, 4)).moment(4))
    assert found == pytest.approx(wanted, rel=1e-5)


def test_three_rows_and_columns_by_simulation() -> None:
    rng = np.random.default_rng(11)
    d, p, beta, runs = 3, 12, 0.3, 40_000
    x, k = rng.normal(size=(2, runs, d, p))
    scores = x @ k.transpose(0, 2, 1) / np.sqrt(p)
    t = np.expm1(beta * scores - beta**2 / (2 * p) * (x**2).sum(2)[:, :, None]) / np.sqrt(d)
    values = (np.linalg.svd(t, compute_uv=False) ** 2).T
    with working_precision(128):
        exact = ScoreMatrix(d, p, fmpq(9, 100))
        for order in (2, 4, 6):
            drawn = (values ** (order // 2)).sum(0) / d
            error = float(np.std(drawn)) / np.sqrt(runs)
            assert abs(drawn.mean() - float(exact.moment(order))) < 5 * error
        second = (values.sum(0) / d).var()
        assert float(exact.second_moment_variance()) == pytest.approx(second, rel=0.1)


def test_moments_of_large_matrices_are_near_their_limits() -> None:
    with working_precision(256):
        for order, most in ((2, 1e-8), (4, 1e-6), (6, 1e-6), (8, 1e-5)):
            ratio = ScoreMatrix(10**8, 5 * 10**7, fmpq(1, 4)).moment(order) / limit_moment(
                order, fmpq(1, 4), fmpq(1, 2)
            )
            assert 0 < float(ratio - 1) < most


def _binomial(n: int, m: int) -> int:
    value = 1
    for i in range(m):
        value = value * (n - i) // (i + 1)
    return value


# -- kernels with one part sabotaged


def _twice(k: int, found: Any = formulas.walk_sums) -> Any:
    return tuple((r, c, tuple((q, 2 * n) for q, n in terms)) for r, c, terms in found(k))


SABOTAGE: dict[str, Sabotage] = {
    "every moment is finite": (ScoreMatrix, "has_moment", lambda self, order: True),
    "the moment condition is that of a lower order": (
        formulas, "moment_condition", lambda order, beta2: (order - 2) * (order - 3) * beta2),
    "walks are counted twice": (formulas, "walk_sums", _twice),
    "indices may repeat": (formulas, "falling_factorial", lambda d, r: d**r),
    "limits are 1": (formulas, "limit_moment", lambda order, beta2, lambda_: arb(1)),
    "the limit is a quarter circle": (
        formulas, "limit_moment", lambda order, beta2, lambda_: limit_moment(order, beta2, fmpq(10**9))),
    "upper bounds are not looked at": (bounds, "Obligation", holding("<=")),
    "lower bounds are not looked at": (bounds, "Obligation", holding(">=")),
    "what lies before is not looked at": (finite_moments, "Obligation", holding(">")),
    "the variance is 0": (ScoreMatrix, "second_moment_variance", lambda self: arb(0)),
    "the part of the entries is the moment": (ScoreMatrix, "entry_part", lambda self, order: self.moment(order)),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)
