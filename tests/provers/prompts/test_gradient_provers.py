"""Generating `gradient-mean-square` and `gradient-tail` for every kind of law, and what simulated prompts say."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

import certattn
from certattn import MalformedError, NotProvedError, UsageError, Verdict
from certattn.kernel.mathematics.balls import row_of_balls, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts import gradient_mean_square, gradient_tail
from certattn.kernel.theorems.prompts.mathematics.gradient_bounds import TiltedMoments
from certattn.kernel.theorems.prompts.tail_rules import EXCEEDS

Plain = Any

GAUSSIAN: Plain = {"kind": "gaussian", "mean": ["1", "0"], "covariance": [["1/2", "1/8"], ["1/8", "1/4"]]}
SINGULAR: Plain = {"kind": "gaussian", "mean": ["0", "1"], "covariance": [["1/4", "0"], ["0", "0"]]}
SIGNS: Plain = {"kind": "rademacher", "sizes": ["1", "1/2"]}
BOX: Plain = {"kind": "box", "sizes": ["1", "2/3"]}
ATOMS: Plain = {"kind": "atoms", "points": [["0", "1"], ["1", "0"], ["-1", "-1"]]}
MIXTURE: Plain = {"kind": "mixture", "components": [{"weight": "1/2", "law": GAUSSIAN}, {"weight": "1/2", "law": BOX}]}
LAWS = {"gaussian": GAUSSIAN, "singular": SINGULAR, "signs": SIGNS, "box": BOX, "atoms": ATOMS, "mixture": MIXTURE}
PROMPT: Plain = {"U": [["1", "0"], ["1/2", "1"]], "query": ["1/2", "-1/2"]}


def tokens_of(law: Plain, count: int, rng: np.random.Generator) -> Any:
    def doubles(table: Any) -> Any:
        return np.array([[float(Fraction(x)) for x in row] for row in table])

    if law["kind"] == "gaussian":
        return rng.multivariate_normal(doubles([law["mean"]])[0], doubles(law["covariance"]), size=count)
    if law["kind"] == "atoms":
        return doubles(law["points"])[rng.integers(0, len(law["points"]), count)]
    if law["kind"] == "mixture":
        parts = np.stack([tokens_of(part["law"], count, rng) for part in law["components"]])
        return parts[rng.integers(0, len(parts), count), np.arange(count)]
    sizes = doubles([law["sizes"]])[0]
    signs = rng.choice([-1.0, 1.0], size=(count, len(sizes)))
    return sizes * (signs if law["kind"] == "rademacher" else rng.uniform(-1, 1, size=signs.shape))


def simulated(error: Any, law: Plain, prompts: int) -> Any:
    """The norm of the gradient's error over random prompts."""
    rng, size, length = np.random.default_rng(7), error.prompt.dimension, error.prompt.length
    with working_precision(64):
        tilt, lifted = error.prompt.tilt(), error.prompt.law.law.map(arb)
        unit = [row_of_balls(row) for row in ExactMatrix.identity(size).to_rows()]
        moments = TiltedMoments(lifted, tilt, unit, unit)
        tau = np.array([float(x) for x in moments.centre])
        C = np.array([[float(x) for x in row] for row in moments.second(1)])
    x = tokens_of(law, prompts * length, rng).reshape(prompts, length, size)
    p = np.exp((x - tau) @ np.array([float(a) for a in tilt]))
    p /= p.sum(axis=1, keepdims=True)
    mean = np.einsum("nl,nli->ni", p, x - tau)
    if error.gradient == "V":
        return np.linalg.norm(mean, axis=1)
    second = np.einsum("nl,nli,nlj->nij", p, x - tau, x - tau, optimize=True)
    V = np.array([[float(entry.p) / float(entry.q) for entry in row] for row in error.values.to_rows()])
    errors = V @ (second - mean[:, :, None] * mean[:, None, :] - C)
    return np.sqrt(float(error.factor.p) / float(error.factor.q) * (errors**2).sum(axis=(1, 2)))


@pytest.mark.parametrize("gradient", ["U", "V"])
@pytest.mark.parametrize("name", LAWS)
def test_mean_squares_are_found_and_bound_simulated_prompts(name: str, gradient: str, tmp_path: Path) -> None:
    out = tmp_path / "a.yaml"
    given = {**PROMPT, "law": LAWS[name], "V": [["1", "2"]], "length": "150"}
    certificate = certattn.generate("gradient-mean-square", out, given=given, gradient=gradient)
    assert certattn.check(out).verdict is Verdict.VERIFIED
    error = gradient_mean_square.read(certificate).error
    squares = simulated(error, LAWS[name], 2000) ** 2
    slack = 6 * squares.std() / np.sqrt(len(squares))
    stated: Plain = certificate.plain["asserts"]
    assert squares.mean() - slack <= float(Fraction(stated["mean_square"]["at_most"]))
    if name in ("gaussian", "singular"):
        assert float(Fraction(stated["mean_square"]["at_least"])) <= squares.mean() + slack


@pytest.mark.heavy
@pytest.mark.parametrize("gradient", ["U", "V"])
@pytest.mark.parametrize("name", LAWS)
def test_a_certified_height_is_no_less_than_the_quantile(name: str, gradient: str, tmp_path: Path) -> None:
    out = tmp_path / "a.yaml"
    given = {**PROMPT, "law": LAWS[name], "length": "150"}
    if name == "box":
        given["V"] = [["1", "-1"]]
    certificate = certattn.generate("gradient-tail", out, given=given, gradient=gradient, probability="0.05")
    assert certattn.check(out).verdict is Verdict.VERIFIED
    problem = gradient_tail.read(certificate)
    eps = problem.asserts[EXCEEDS]
    sizes = np.sort(simulated(problem.error, LAWS[name], 2000))
    # The lower end of a confidence interval of the quantile: five standard deviations of a binomial count.
    lower = sizes[int(2000 * 0.95 - 5 * np.sqrt(2000 * 0.05 * 0.95))]
    assert lower <= float(eps.p) / float(eps.q) <= 6 * sizes[1900]


@pytest.mark.heavy
def test_each_of_the_three_numbers_is_found(tmp_path: Path) -> None:
    out, given = tmp_path / "a.yaml", {**PROMPT, "law": SIGNS}
    first: Plain = certattn.generate("gradient-tail", out, given=given, probability="0.01", length=500).plain
    eps = first["asserts"]["exceeds"]
    second: Plain = certattn.generate("gradient-tail", out, given=given, exceeds=eps, length=500).plain
    assert Fraction(9, 1000) < Fraction(second["asserts"]["probability"]) <= Fraction(1, 100)
    third: Plain = certattn.generate("gradient-tail", out, given=given, exceeds=eps, probability="0.01").plain
    assert 480 <= int(third["given"]["length"]["at_least"]) <= 500
    assert certattn.check(out).verdict is Verdict.VERIFIED
    with pytest.raises(NotProvedError, match="the best bound that is found is"):
        certattn.generate("gradient-tail", out, given=given, exceeds=eps, probability="0.001", length=500)


@pytest.mark.parametrize(
    ("claim", "inputs", "words"),
    [
        ("gradient-mean-square", {"method": "markov"}, "expected one of auto"),
        ("gradient-mean-square", {"digits": 0}, "expected 1 to 100"),
        (
            "gradient-mean-square",
            {"method": "logistic", "law": SIGNS},
            "is not for this law; expected exact or moments",
        ),
        ("gradient-mean-square", {"method": "moments", "law": SIGNS}, "no bound of what is given"),
        ("gradient-tail", {}, "expected two of"),
        ("gradient-tail", {"exceeds": "0", "probability": "0.1"}, "expected a positive number"),
        ("gradient-tail", {"exceeds": "1", "probability": "1"}, "above 0 and below 1"),
        ("gradient-tail", {"probability": "0.1", "length": 10, "query": ["0", "0"]}, "the query is 0"),
        ("gradient-tail", {"probability": "0.1", "length": "1/2"}, "a whole number"),
    ],
)
def test_inputs_that_make_no_sense(claim: str, inputs: Plain, words: str, tmp_path: Path) -> None:
    given = {**PROMPT, "law": inputs.pop("law", GAUSSIAN)}
    given["query"] = inputs.pop("query", given["query"])
    if claim == "gradient-mean-square":
        given["length"] = "10"
    with pytest.raises(UsageError, match=words):
        certattn.generate(claim, tmp_path / "a.yaml", given=given, **inputs)
    assert list(tmp_path.iterdir()) == []


def test_malformed_inputs(tmp_path: Path) -> None:
    tilted = {"law": GAUSSIAN, "tilt": ["1", "0"], "length": "10"}
    for claim, inputs in (("gradient-mean-square", {}), ("gradient-tail", {"probability": "0.1"})):
        with pytest.raises(MalformedError, match="a query with U"):
            certattn.generate(claim, tmp_path / "a.yaml", given=tilted, gradient="U", **inputs)
