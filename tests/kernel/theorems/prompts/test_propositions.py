"""Checking `proposition-3-1` and `proposition-3-4`: the words, and simulated prompts.

With what kernel.theorems.prompts.proposition_forms reads and states.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import Cases, Family

from certattn.kernel.document.certificate import loads
from certattn.kernel.theorems.prompts import proposition_3_1, proposition_3_4
from certattn.kernel.theorems.prompts.propositions import (
    LENGTH,
    REPAIRED,
    Display,
    Error,
    StatedDisplay,
    left_side,
)
from certattn.statements.prompts import proposition_3_1 as first_words
from certattn.statements.prompts import proposition_3_4 as second_words

cases = Cases("proposition_cases")

Array = np.ndarray[Any, Any]

THEOREMS = {"proposition-3-1": proposition_3_1.THEOREM, "proposition-3-4": proposition_3_4.THEOREM}
WORDINGS = {"proposition-3-1": first_words.WORDING, "proposition-3-4": second_words.WORDING}


def read(text: str) -> StatedDisplay:
    certificate = loads(text, Path("case.yaml"))
    return THEOREMS[certificate.claim].read(certificate)


def words(family: Family) -> str:
    text = next(family.cases()).text
    return WORDINGS[family.claim].statement(read(text)).words


# -- what is said


def test_a_refutation_is_of_the_published_display_at_an_instance() -> None:
    said = words(cases.ONE_TOKEN)
    for piece in (
        "The display of Proposition 3.1 of Boursier and Boyer 2026, arXiv 2512.11784 (as quoted by the public audit ",
        "the l2 distance between attention over L independent tokens and attention over their law",
        "c1 sigma^6 ln L / L^(c2/sigma^2)",
        "fails for all c1, c2 > 0 and every sigma at this instance: L = 1",
        "Gaussian tokens of mean (0) and covariance (1), Gaussian queries of mean (0) and covariance (1)",
        "K = (0), Q = (1), V = (1)",
    ):
        assert piece in said, said


def test_constants_are_said() -> None:
    said = words(cases.FIFTY_TOKENS)
    for piece in ("fails with c1 = 0.001 and c2 = 1", "L = 50", "sigma = 1", "U = (0)"):
        assert piece in said, said


def test_a_repaired_form_says_for_which_lengths_and_with_which_constants() -> None:
    *_, boxes = cases.FAMILIES
    said = words(boxes)
    for piece in (
        "In the form of Proposition 3.4", "with c1 = 24.661424 and c2 = 0.9", "for every number L >= 2 of tokens",
        "the Hilbert-Schmidt norm of the difference between the gradient of attention with respect to U",
        "tokens uniform on the box of half-widths (1, 0.5), queries uniform on the box of half-widths (1, 1.5)",
        "V = (1, -1) and sigma = 1.",
    ):  # fmt: skip
        assert piece in said, said


def test_the_formula_names_the_relation() -> None:
    statement = WORDINGS["proposition-3-1"].statement
    fails, holds = (read(text) for text in (_text(cases.ONE_TOKEN), _text(cases.ONE_TOKEN).replace("fails", "holds")))
    assert r"> c_1 \sigma^6 \ln L" in statement(fails).latex
    assert r"\le c_1 \sigma^6 \ln L" in statement(holds).latex


# -- simulated prompts


def _text(family: Family) -> str:
    return next(family.cases()).text


def _array(matrix: Any) -> Array:
    return np.array([[int(x.p) / int(x.q) for x in row] for row in matrix.to_rows()])


def _draw(law: Any, covariance: Array, count: tuple[int, ...], rng: np.random.Generator) -> Array:
    if hasattr(law, "sizes"):
        sizes = np.array([int(c.p) / int(c.q) for c in law.sizes])
        return rng.uniform(-1, 1, (*count, len(sizes))) * sizes
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, count, method="eigh")


def simulated(stated: StatedDisplay, length: int, count: int = 4000) -> tuple[float, float]:
    """The mean square of the error over prompts and queries, and its standard error, straight from the definition."""
    setting, rng = stated.setting, np.random.default_rng(length)
    C, S, U, V = map(_array, (setting.covariance, setting.query_covariance, setting.U, setting.read_out(stated.error)))
    factor = float(int(setting.squared_scale.p) / int(setting.squared_scale.q))
    x = _draw(setting.law.law, C, (count, length), rng)
    z = _draw(setting.queries.law, S, (count,), rng)
    a = np.sqrt(factor) * z @ U.T
    if hasattr(setting.law.law, "sizes"):
        sizes = np.array([int(c.p) / int(c.q) for c in setting.law.law.sizes])
        y = np.where(a * sizes == 0, 1e-9, a * sizes)
        tau, variances = sizes * (1 / np.tanh(y) - 1 / y), sizes**2 * (1 / y**2 - 1 / np.sinh(y) ** 2)
        C_at = variances[:, :, None] * np.eye(len(sizes))
    else:
        tau, C_at = a @ C, np.broadcast_to(C, (count, *C.shape))
    scores = np.einsum("nld,nd->nl", x, a)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    mean = np.einsum("nl,nld->nd", p, x)
    if stated.error is Error.GRADIENT_U:
        second = np.einsum("nl,nli,nlj->nij", p, x, x) - np.einsum("ni,nj->nij", mean, mean)
        squares = factor * ((V @ (second - C_at)) ** 2).sum(axis=(1, 2)) * (z**2).sum(axis=1)
    else:
        squares = (((mean - tau) @ V.T) ** 2).sum(axis=1)
    return float(squares.mean()), float(squares.std() / np.sqrt(count))


PUBLISHED = [
    "\n".join(line.replace("K: [[0]]", K).replace("length: 1", f"{scale}length: 1") for line in text.split("\n"))
    for text in (_text(cases.ONE_TOKEN), _text(cases.V_GRADIENT), _text(cases.U_GRADIENT))
    for K in ("K: [[0]]", "K: [[1/3]]")
    for scale in ("", "scale: sqrt(2)\n  ")
] + [
    _text(family).replace("length: 1", f"sigma: 1\n  constants: {{c1: 1, c2: 1}}\n  length: {length}")
    for family in (cases.ONE_TOKEN, cases.V_GRADIENT, cases.U_GRADIENT)
    for length in (2, 7)
]  # fmt: skip


@pytest.mark.parametrize("text", PUBLISHED)
def test_the_exact_left_side_is_that_of_simulated_prompts(text: str) -> None:
    assert_left_side(read(text))


def assert_left_side(stated: StatedDisplay) -> None:
    length = stated.setting.values[LENGTH]
    mean, error = simulated(stated, length, 40000)
    left = left_side(stated.setting, stated.error, length)
    assert abs(int(left.p) / int(left.q) - mean) < 5 * error


def test_the_exact_left_side_in_two_dimensions() -> None:
    for gradient, length in (("V", 1), ("U", 1), ("V", 5), ("U", 5)):
        many = "" if length == 1 else "\n  sigma: 2\n  constants: {c1: 1, c2: 1}"
        text = f"""certattn: 1
claim: proposition-3-4
given:
  law: {{kind: gaussian, mean: [0, 0], covariance: [[2, 1], [1, 1]]}}
  queries: {{kind: gaussian, mean: [0, 0], covariance: [[1/4, 1/8], [1/8, 1]]}}
  U: {"[[1, 2], [0, 1/2]]" if length == 1 else "[[0, 0], [0, 0]]"}
  V: [[1, 1], [0, 3]]
  scale: 1/sqrt(2)
  length: {length}{many}
asserts: {{gradient: {gradient}, published: fails}}
"""
        assert_left_side(read(text))


REPAIRED_FAMILIES = [family for family in cases.FAMILIES if "repaired" in family.title]


@pytest.mark.parametrize("family", REPAIRED_FAMILIES, ids=lambda family: family.title)
@pytest.mark.parametrize("length", [2, 3, 10, 100])
def test_simulated_prompts_keep_to_the_repaired_display(family: Family, length: int) -> None:
    for change in (("", ""), *(family.accepts[name] for name in ("a smaller c2", "a smaller scale"))):
        stated = read(_text(family).replace(*change) if change[0] else _text(family))
        assert stated.setting.sigma is not None
        claimed = Display.of(stated.asserts[REPAIRED], stated.setting.sigma, stated.error)
        rho, sigma, c1 = (int(x.p) / int(x.q) for x in (claimed.rho, claimed.sigma, claimed.c1))
        mean, error = simulated(stated, length)
        assert mean - 5 * error < c1 * (sigma**6 * np.log(length)) ** claimed.power / length**rho
