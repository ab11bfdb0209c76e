"""Claims `gradient-mean-square` and `gradient-tail`: sabotaged kernels, simulated prompts.

With what kernel.theorems.prompts.moment_method reads and states.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from corpus import Cases
from flint import arb, fmpq
from sabotage import Sabotage, noticed, unless

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics import softmax_powers
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts import (
    gradient_mean_square,
    gradient_tail,
    mean_squares,
    random_prompts,
    tail_rules,
)
from certattn.kernel.theorems.prompts.mathematics import (
    covariance_error,
    finite_covariances,
    gradient_bounds,
    series,
    weighted_sums,
)
from certattn.statements.wording import WORDINGS

cases = Cases("gradient_cases")

Tool = Callable[[str], ModuleType]


def test_the_words_say_every_number(arrays: Path) -> None:
    for family, numbers in (
        (cases.EXACT_U, ("20 independent tokens", "sqrt(1/2)", "(0.5, -1)", "((1, 2))", "0.82296", "0.82297")),
        (cases.TAIL_V, ("400 independent tokens", "(0.5, 0)", "D > 0.5", "at most 0.08", "operator norm")),
        (cases.TAIL_U, ("2000 independent tokens", "(1, -1)", "D > 0.5", "Hilbert-Schmidt norm")),
    ):
        claim = CLAIMS[family.claim]
        words = WORDINGS[claim.name].statement(claim.read(loads(next(family.cases()).text, arrays / "case.yaml"))).words
        assert [number for number in numbers if number.replace("((1, 2))", "(1, 2)") not in words] == []


# -- kernels with one part sabotaged


def without(polynomial: Any, *exponents: int) -> Any:
    return {key: value for key, value in polynomial.items() if key != exponents}


def of_one_sign(moments: Any, sign: int, eps: Any) -> Any:
    return SUMMAND(moments, 1, eps)


SUMMAND, MOMENTS = weighted_sums.product_summand, series.weighted_moments
SABOTAGE: dict[str, Sabotage] = {
    "upper bounds are not looked at": (mean_squares, "Obligation", unless("at_most")),
    "lower bounds are not looked at": (mean_squares, "Obligation", unless("at_least")),
    "any t will do": (mean_squares, "Obligation", unless("t")),
    "probabilities are not looked at": (gradient_tail, "Obligation", unless("probability")),
    **{
        f"{name} without {exponents}": (covariance_error, name, without(getattr(covariance_error, name), *exponents))
        for name in ("CROSS", "TRACES", "ONE_SHIFT", "MIXED", "TWO_SHIFTS")
        for exponents in ((2,), (2, 2))
    },
    "the bound without its largest part": (covariance_error, "MOST_TWO_SHIFTS", 0),
    "the bound without the mixed part": (covariance_error, "MOST_MIXED", fmpq(0)),
    "power sums of one token": (softmax_powers.PowerSums, "mean", lambda self, *exponents: arb(1)),
    "no covariance of pairs": (finite_covariances, "_dots", lambda left, right: [arb(0)] * len(left)),
    "no sum of three": (finite_covariances, "_sandwich", lambda z, M, y: arb(0)),
    "tokens are not centred": (finite_covariances, "_about_mean", lambda shares, rows: rows),
    "the normaliser is never small": (gradient_bounds, "small_normaliser", lambda *others: arb(0)),
    "the query does not count": (random_prompts, "square", lambda scale: fmpq(1)),
    "every tail is that of the plus sign": (tail_rules, "product_summand", of_one_sign),
    "moments under no tilt": (
        weighted_sums, "weighted_moments",
        lambda law, tilt, centre, k, u, v, order: MOMENTS(law, [0 * a for a in tilt], centre, k, u, v, order)),
    "sums of one token": (tail_rules, "moment_bound", lambda sums, eps, length: arb(0)),
    "Chernoff for nothing": (tail_rules, "chernoff", lambda exponential, length: arb(0)),
    "Cantelli for nothing": (tail_rules, "cantelli", lambda variance, eps, length: arb(0)),
    "every product is constant": (tail_rules, "is_constant", lambda law, direction: True),
    "no product is constant": (tail_rules, "is_constant", lambda law, direction: False),
    "every law is bounded": (tail_rules, "bounded_parts", lambda law: []),
    "entries far too large": (tail_rules, "bound_of_summands", lambda summand, parts: arb(1000)),
    "frames of tokens are ignored": (tail_rules, "Obligation", unless("frame")),
    "negative levels": (tail_rules, "Obligation", unless("levels")),
    "negative levels of entries": (gradient_tail, "Obligation", unless("levels")),
    "any frame will do": (ExactMatrix, "is_positive_semidefinite", lambda self: True),
    "any levels": (gradient_tail, "Obligation", unless("exceeds")),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)


# -- simulated prompts


def tokens_of(law: str, count: int, rng: np.random.Generator) -> Any:
    if law == "gaussian":
        return rng.multivariate_normal([1, -1], [[1, 0.5], [0.5, 1]], size=count)
    return rng.uniform(-1, 1, size=(count, 2)) * [1, 0.5]


def errors(law: str, tilt: Any, tau: Any, C: Any, length: int, prompts: int) -> tuple[Any, Any]:
    """tau_L - tau and C_L - C of random prompts."""
    rng = np.random.default_rng(4)
    x = tokens_of(law, prompts * length, rng).reshape(prompts, length, 2)
    p = np.exp(x @ tilt)
    p /= p.sum(axis=1, keepdims=True)
    mean = np.einsum("nl,nli->ni", p, x)
    second = np.einsum("nl,nli,nlj->nij", p, x, x, optimize=True)
    return mean - tau, second - mean[:, :, None] * mean[:, None, :] - C


def value_of(text: str, arrays: Path) -> Any:
    """The enclosure of the mean square, at the default precision."""
    stated = gradient_mean_square.read(loads(text, arrays / "case.yaml"))
    return gradient_mean_square.enclosure_by(stated.method, stated.error)


@pytest.mark.parametrize("length", [1, 2, 5, 30])
def test_exact_mean_squares_lie_in_the_simulated_interval(length: int, arrays: Path) -> None:
    G, tilt, V = np.array([[1, 0.5], [0.5, 1]]), np.array([1, -0.5]), np.array([[1.0, 2], [0, 1]])
    mean, covariance = errors("gaussian", tilt, np.array([1, -1]) + G @ tilt, G, length, 60_000)
    for gradient, squares in (
        ("V", (mean**2).sum(axis=1)),
        ("U", 5 / 4 * ((np.einsum("oi,nij->noj", V, covariance)) ** 2).sum(axis=(1, 2))),
    ):
        text = f"""certattn: 1
claim: gradient-mean-square
given:
  law: {{kind: gaussian, mean: [1, -1], covariance: [[1, 1/2], [1/2, 1]]}}
  U: [[1, 0], [0, 1]]
  query: [1, -1/2]
  V: [[1, 2], [0, 1]]
  length: {length}
asserts: {{gradient: {gradient}, mean_square: {{at_most: 1}}}}
witness: {{method: exact}}
"""
        found = float(value_of(text, arrays).upper())
        # Five standard errors; one token has a covariance of 0 whatever it is.
        assert abs(found - squares.mean()) <= 5 * squares.std() / np.sqrt(len(squares)) + 1e-12
        logistic = value_of(text.replace("exact", "logistic"), arrays)
        assert found <= float(logistic.upper()) * (1 + 1e-12)
        assert logistic.lower is None or float(logistic.lower()) <= found
        general = value_of(text.replace("exact", "general, t: 1/4, lambda: 1/4"), arrays)
        assert found <= float(general.upper())


@pytest.mark.parametrize(("t", "rate"), [("1/2", "1/5"), ("1/4", "1/10"), ("9/10", "1")])
def test_general_bounds_are_no_less_than_simulated_mean_squares(t: str, rate: str, arrays: Path) -> None:
    tilt = np.array([0.5, 1.5])
    grid = np.linspace(-1, 1, 401)
    shares = [np.exp(a * c * grid) for a, c in zip(tilt, (1, 0.5), strict=True)]
    tau = np.array([c * (s @ grid) / s.sum() for s, c in zip(shares, (1, 0.5), strict=True)])
    spread = [c * c * (s @ grid**2) / s.sum() - m * m for s, c, m in zip(shares, (1, 0.5), tau, strict=True)]
    for length in (3, 100, 500):
        mean, covariance = errors("box", tilt, tau, np.diag(spread), length, 4000)
        for gradient, simulated in (("V", (mean**2).sum(axis=1)), ("U", 2.5 * (covariance**2).sum(axis=(1, 2)))):
            text = f"""certattn: 1
claim: gradient-mean-square
given: {{law: {{kind: box, sizes: [1, 1/2]}}, U: [[1, 0], [0, 1]], query: [1/2, 3/2], length: {length}}}
asserts: {{gradient: {gradient}, mean_square: {{at_most: 1}}}}
witness: {{method: general, t: {t}, lambda: {rate}}}
"""
            assert float(value_of(text, arrays).upper()) >= simulated.mean()
