"""The claim `theorem-4-3`: its words, its bounds against laws of the class, runs beside it, and sabotaged kernels."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, noticed

from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training import class_region, theorem_4_3, tilted_tokens
from certattn.kernel.theorems.training.class_region import Bounded, Numbers, Region, SubGaussian
from certattn.kernel.theorems.training.theorem_4_3 import Training, read
from certattn.kernel.theorems.training.tilted_tokens import Tokens, of_class
from tools.bench.theorem_4_3 import Case, Prompts, apart, descent, flow

cases = Cases("class_training_cases")
Array = np.ndarray[Any, Any]


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    said = check(next(cases.BOUNDED.cases()).text, tmp_path).statement
    for piece in (
        "a law of tokens in dimension 2, a query z and a quadratic loss l >= 0",
        "centred and sigma-sub-Gaussian with sigma = 0.5, that is E exp(<u, x>) <= exp(sigma^2 |u|^2 / 2) for all u",
        "Lipschitz with 1, and E l(0) <= 0.125",
        "for every such task and every start with operator norms |U| <= 0.25 and |V| <= 0.25, for every L >= 11",
        "the gradient flows of R_L and of R from this start are within 0.1 of each other",
        "up to time 1.",
    ):
        assert piece in said, said
    said = check(next(cases.SUB_GAUSSIAN.cases()).text, tmp_path).statement
    assert "queries in dimension 2 that are centred and 1-sub-Gaussian" in said
    assert "the iterates of gradient descent" in said
    assert "for 50 steps of 0.02." in said
    risk = next(case for case in cases.BOUNDED.cases() if "a risk in the place" in case.name)
    assert "and R <= 0.13 at the start" in check(risk.text, tmp_path).statement
    said = check(next(cases.LAW.cases()).text, tmp_path).statement
    assert "a law of tokens in dimension 2, a query z and a quadratic loss" in said
    assert "the law of O x for some orthogonal matrix O, x of Gaussian tokens of mean (0, 0) and covariance" in said
    assert "sub-Gaussian" not in said


# -- what is said of a law of the class, beside laws of it


def scaled(points: Any, weights: Any) -> tuple[Array, Array]:
    """Atoms, moved and scaled to be centred and sub-Gaussian with 1, nearly the least, as a grid of tilts has it."""
    x, p = np.array(points, dtype=float), np.array(weights, dtype=float)
    x -= p @ x
    tilts = np.geomspace(1e-3, 60, 500) / np.abs(x).max()
    scores = np.concatenate([tilts, -tilts])[:, None] * x
    top = scores.max(axis=1)
    cumulants = top + np.log(np.exp(scores - top[:, None]) @ p)
    sigma = np.sqrt(max((2 * cumulants / np.concatenate([tilts, tilts]) ** 2).max(), p @ x**2))
    return x / (sigma * (1 + 1e-9)), p


GRID = np.linspace(-8, 8, 801)
LAWS = {
    "Gaussian": scaled(GRID, np.exp(-(GRID**2) / 2) / np.exp(-(GRID**2) / 2).sum()),
    "signs": scaled([-1, 1], [0.5, 0.5]),
    "skewed": scaled([-1, 4], [0.8, 0.2]),
    "very skewed": scaled([-1, 40], [40 / 41, 1 / 41]),
    "much mass at 0": scaled([-2, 0, 2], [0.05, 0.9, 0.05]),
    "far atoms": scaled([-3, 0, 3], [np.exp(-4.5) / 2, 1 - np.exp(-4.5), np.exp(-4.5) / 2]),
}


def value(polynomial: Any, s: Array) -> Array:
    found: Array = sum(float(c.p) / float(c.q) * s**n for n, c in enumerate(polynomial))
    return found


@pytest.mark.parametrize("name", LAWS)
def test_tilted_moments_are_below_the_polynomials(name: str) -> None:
    x, p = LAWS[name]
    tilts = np.linspace(-4, 4, 401)
    weights = p * np.exp(tilts[:, None] * x - np.abs(tilts * np.abs(x).max())[:, None])
    weights /= weights.sum(axis=1, keepdims=True)
    means = weights @ x
    s, y = np.abs(tilts), x - means[:, None]
    assert (np.abs(means) <= np.minimum(2 * s, value(tilted_tokens.SHIFTS[1], s)) + 1e-9).all()
    assert ((weights * y**2).sum(axis=1) <= value(tilted_tokens.SPREAD, s) * (1 + 1e-9)).all()
    assert ((weights * np.abs(y) ** 3).sum(axis=1) <= value(tilted_tokens.SKEW, s)).all()


def of_queries(queries: Any, U: float) -> Region:
    with working_precision(64):
        return Region(queries, of_class(fmpq(1), 1), arb(U), arb(1))


@pytest.mark.parametrize("length", [2, 30])
@pytest.mark.parametrize("name", ["signs", "skewed", "very skewed", "much mass at 0", "far atoms"])
def test_errors_and_biases_of_prompts_are_below_the_bounds(name: str, length: int) -> None:
    """One query, over every prompt."""
    x, p = LAWS[name]
    prompts, alone = Prompts.finite(x, p, length), Prompts.infinite(x, p)
    for tilt in (0.1, 0.5, 1.0):
        (mean, variance), (means, variances) = alone.moments(tilt), prompts.moments(tilt)
        error, spread = means - mean, variances - variance
        scatter = spread + error**2
        region, proof = of_queries(Bounded(fmpq(1)), tilt), Numbers(length, None)
        tokens = region.tokens
        with working_precision(64):
            squares = region.error_square(tokens.mean, 0, proof)
            assert prompts.chances @ error**2 <= squares
            assert (prompts.chances @ error) ** 2 <= region.bias_square(tokens.mean, 0, proof)
            assert (prompts.chances @ error**2) ** 2 <= region.error_fourth(tokens.mean, 0, proof)
            assert prompts.chances @ scatter**2 <= region.error_square(tokens.scatter, 2, proof)
            assert (prompts.chances @ scatter) ** 2 <= region.bias_square(tokens.scatter, 2, proof)
            of_mean = region.error_square(tokens.mean.times(tokens.spread), 0, proof)
            assert prompts.chances @ spread**2 <= region.error_square(tokens.scatter, 0, proof) + 2 * of_mean


@pytest.mark.parametrize("dimension", [1, 3])
def test_powers_of_sub_gaussian_queries_are_below_the_bounds(dimension: int) -> None:
    """Of Gaussian ones, by the chi-squared law: E |z|^n e^{c |z|^2}, and not ten times above it."""
    from scipy.special import gammaln

    queries, half = SubGaussian(fmpq(1), dimension), dimension / 2
    with working_precision(64):
        for rate in (0.0, 0.1, 0.2):
            assert abs(float(queries.exponential(arb(rate))) - (1 - 2 * rate) ** -half) < 1e-12
            for power in range(1, 9):
                true = 2 ** (power / 2) * np.exp(gammaln(half + power / 2) - gammaln(half))
                true *= (1 - 2 * rate) ** (-half - power / 2)
                assert true * (1 - 1e-12) <= float(queries.moment(power, arb(rate))) <= 10 * true
        assert float(queries.moment(2, arb(0))) == dimension


def test_biases_over_gaussian_queries_are_below_the_bounds() -> None:
    """Signs and Gaussian queries by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    x, p = LAWS["signs"]
    U, length = 0.25, 20
    region = of_queries(SubGaussian(fmpq(1), 1), U)
    tokens, prompts, alone = region.tokens.mean, Prompts.finite(x, p, length), Prompts.infinite(x, p)
    means = np.array([prompts.moments(U * z)[0] - alone.moments(U * z)[0] for z in nodes])
    squares = means**2 @ prompts.chances
    for theta in (fmpq(1), fmpq(1, 2)):
        proof = Numbers(length, (theta, fmpq(7, 10)))
        with working_precision(64):
            assert weights @ (means @ prompts.chances) ** 2 <= region.bias_square(tokens, 0, proof)
            assert weights @ (nodes**2 * squares**2) <= region.error_fourth(tokens, 2, proof)
            assert weights @ squares <= region.error_square(tokens, 0, proof)


# -- runs, beside what is certified of them


def bound(training: Training) -> float:
    with working_precision(64):
        return float(training.run().distance.upper())


def changed(family: Any, *changes: tuple[str, str]) -> Training:
    text = next(family.cases()).text
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read(loads(text, Path("case.yaml")))


def of_cosine(output: Array, target: float) -> Array:
    """The derivative of 1 - cos(output - target), which is not convex."""
    found: Array = np.sin(output - target)
    return found


@pytest.mark.parametrize("name", ["signs", "skewed", "very skewed", "much mass at 0", "far atoms"])
@pytest.mark.parametrize("start", [(0.25, 0.25), (-0.25, 0.25), (0.0, 0.25)])
def test_flows_are_no_farther_apart_than_certified(name: str, start: tuple[float, float]) -> None:
    """Tokens on a line, the query 1 and the target 1/2: every prompt of 11 tokens."""
    x, p = LAWS[name]
    most = bound(changed(cases.BOUNDED, ("dimension: 2", "dimension: 1")))
    finite, infinite = Prompts.finite(x / 2, p, 11), Prompts.infinite(x / 2, p)
    for slope in (lambda output, target: output - target, of_cosine):
        for target in (0.5, -0.5):
            one, other = (flow([Case(1, each, 1, target)], start, 1, 30, slope) for each in (finite, infinite))
            assert 0 < apart(one, other) <= most


def test_descents_of_mixed_tasks_are_no_farther_apart_than_certified() -> None:
    """Tasks draw one of two laws, a query and a target together: signs of different sizes and skewed tokens."""
    tasks = [(0.5, "signs", 1.0, 0.5), (0.3, "skewed", -1.0, 0.4), (0.2, "very skewed", 0.5, -0.6)]
    assert sum(chance * target**2 / 2 for chance, _, _, target in tasks) <= 1 / 8
    training = changed(cases.BOUNDED, ("dimension: 2", "dimension: 1"), ("time: 1", "step: 1/10\n  steps: 9"))
    runs = []
    for prompts in (lambda x, p: Prompts.finite(x, p, 11), Prompts.infinite):
        drawn = [Case(chance, prompts(LAWS[law][0] / 2, LAWS[law][1]), z, y) for chance, law, z, y in tasks]
        runs.append(descent(drawn, (0.25, 0.25), 0.1, 9))
    assert 0 < apart(*runs) <= bound(training)


def test_descents_with_gaussian_queries_are_no_farther_apart_than_certified() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    weights = weights / weights.sum()
    changes = ("dimension: 2", "dimension: 1"), ("query_dimension: 1", "query_dimension: 1")
    training = changed(cases.SUB_GAUSSIAN, *changes)
    x, p = LAWS["skewed"]
    runs = []
    for prompts in (Prompts.finite(x / 4, p, 28), Prompts.infinite(x / 4, p)):
        drawn = [Case(chance, prompts, z, float(np.sign(z))) for z, chance in zip(nodes, weights, strict=True)]
        runs.append(descent(drawn, (0.5, 0.5), 0.02, 50))
    assert 0 < apart(*runs) <= bound(training)


def of_law(law: str, length: int) -> float:
    """What is certified of the family LAW with another law and another length."""
    text = next(cases.LAW.cases()).text
    kept, given = text.split("law: {")
    _, rest = given.split("}\n", 1)
    text = f"{kept}law: {law}\n{rest}".replace("length: 20", f"length: {length}")
    return bound(read(loads(text, Path("case.yaml"))))


ON_A_LINE = {
    "signs": ("{kind: rademacher, sizes: [1/2]}", [-0.5, 0.5], [0.5, 0.5]),
    "atoms": ("{kind: atoms, points: [[-1/4], [1/2]], weights: [2/3, 1/3]}", [-0.25, 0.5], [2 / 3, 1 / 3]),
    "three": ("{kind: atoms, points: [[-1/2], [0], [1/2]], weights: [1/8, 3/4, 1/8]}", [-0.5, 0, 0.5],
              [0.125, 0.75, 0.125]),
}  # fmt: skip


@pytest.mark.parametrize("name", ON_A_LINE)
@pytest.mark.parametrize("length", [5, 20])
def test_flows_of_a_stated_law_are_no_farther_apart_than_certified(name: str, length: int) -> None:
    """Also where the law of some tasks is turned: on a line, where its sign is another."""
    law, x, p = ON_A_LINE[name]
    most = of_law(law, length)
    for turned in (0.0, 0.5):
        runs = []
        for prompts in (lambda x, p: Prompts.finite(x, p, length), Prompts.infinite):
            tasks = [(1 - turned, 1), (turned, -1)] if turned else [(1.0, 1)]
            drawn = [Case(chance, prompts([sign * each for each in x], p), sign, 1.0) for chance, sign in tasks]
            runs.append(flow(drawn, (0.5, 0.5), 1, 30))
        assert 0 < apart(*runs) <= most


def test_flows_of_gaussian_tokens_are_no_farther_apart_than_certified() -> None:
    """A sample of prompts of ten tokens, with their mirror images."""
    sample = np.random.default_rng(3).normal(size=(20000, 10)) / 2
    tokens = np.concatenate([sample, -sample])
    drawn = Prompts(np.full(len(tokens), 1 / len(tokens)), tokens, np.ones_like(tokens))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    alone = Prompts.infinite(nodes / 2, weights / weights.sum())
    runs = [flow([Case(1, each, 1, 1)], (0.5, 0.5), 1, 20) for each in (drawn, alone)]
    assert 0 < apart(*runs) <= of_law("{kind: gaussian, mean: [0], covariance: [[1/4]]}", 10)


def test_flows_in_the_plane_are_no_farther_apart_than_certified() -> None:
    """Independent signs, turned by every task, all prompts of five tokens, and matrices U and V."""
    length, corners = 5, np.array([[i, j] for i in (-0.5, 0.5) for j in (-0.5, 0.5)])
    kinds = [np.bincount(kind, minlength=4) for kind in itertools.combinations_with_replacement(range(4), length)]
    counts = np.array(kinds, dtype=float)
    chances = np.array(
        [math.factorial(length) / np.prod([math.factorial(n) for n in kind]) / 4**length for kind in kinds]
    )
    assert chances.sum() == pytest.approx(1)
    tasks = [(0.5, 0.3, [1, 0], [1, 0]), (0.3, 1.1, [0.6, -0.8], [0, 1]), (0.2, -0.4, [0, 0.5], [-0.6, 0.8])]

    def slopes(at: Array, counts: Array, chances: Array) -> Array:
        U, V, found = at[0], at[1], np.zeros((2, 2, 2))
        for chance, angle, query, target in tasks:
            x, z = corners @ [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]], np.array(query)
            weights = counts * np.exp(x @ U @ z)
            weights /= weights.sum(axis=1, keepdims=True)
            means = weights @ x
            spreads = np.einsum("li,ij,ik->ljk", weights, x, x) - np.einsum("lj,lk->ljk", means, means)
            off = means @ V.T - target
            found[0] += chance * np.outer(np.einsum("l,ljk,lk->j", chances, spreads, off @ V), z)
            found[1] += chance * np.einsum("l,lj,lk->jk", chances, off, means)
        return found

    def run(counts: Array, chances: Array) -> Array:
        at, h, steps = np.array([np.diag([0.5, 0.4]), np.diag([0.5, -0.5])]), 0.02, [np.zeros((2, 2, 2))]
        start = at
        for _ in range(50):
            half = at - h / 2 * slopes(at, counts, chances)
            at = at - h * slopes(half, counts, chances)
            steps.append(at - start)
        return np.array(steps)

    runs = [run(counts, chances), run(np.ones((1, 4)), np.ones(1))]
    distance = np.sqrt(((runs[0] - runs[1]) ** 2).sum(axis=(1, 2, 3))).max()
    assert 0.001 < distance <= of_law("{kind: rademacher, sizes: [1/2, 1/2]}", length)


def test_longer_prompts_and_shorter_times_are_bounded_by_less() -> None:
    for family, lengths in ((cases.BOUNDED, (11, 60, 200, 10**6)), (cases.SUB_GAUSSIAN, (28, 500, 10**4, 10**8))):
        first = f"length: {lengths[0]}"
        found = [bound(changed(family, (first, f"length: {length}"))) for length in lengths]
        assert found == sorted(found, reverse=True)
    found = [bound(changed(cases.BOUNDED, ("time: 1", f"time: {time}"))) for time in ("1/4", "1/2", "1")]
    assert found == sorted(found)


# -- kernels with one part sabotaged


def nothing(self: Any, *others: Any) -> arb:
    return arb(0)


SABOTAGE: dict[str, Sabotage] = {
    "gradients do not differ": (theorem_4_3.Training, "gap", nothing),
    "the start has no risk": (theorem_4_3.Training, "root_risk", nothing),
    "any length will do": (theorem_4_3.Training, "fall", lambda self: arb(2)),
    "any mean will do": (theorem_4_3, "is_centred", lambda law: True),
    "outputs do not bend": (class_region.Region, "bend", lambda self: arb(1) / 1000),
    "outputs do not move": (class_region.Region, "slope_square", lambda self: arb(0)),
    "biases vanish": (class_region.Region, "bias_square", nothing),
    "errors have no squares": (class_region.Region, "error_fourth", nothing),
    "errors vanish": (class_region.Region, "error_square", lambda self, *others: arb(0)),
    "exponential moments are finite": (class_region.SubGaussian, "exponential", lambda self, rate: arb(1)),
    "the start is 0": (theorem_4_3.Training, "region", lambda self, tokens, beyond: at_zero(self, tokens, beyond)),
    "tokens are 1-sub-Gaussian": (tilted_tokens, "SPREAD", (fmpq(1),)),
    "third moments are 0": (tilted_tokens, "SKEW", (fmpq(0),)),
    "Gaussian tokens do not vary": (tilted_tokens, "_normal", lambda law: _product([fmpq(1, 9)], *3 * [fmpq(1)])),
    "tokens of a ball are points": (tilted_tokens, "_in_ball", lambda law: _product([fmpq(1, 9)], *3 * [fmpq(1)])),
    "products are those of small sizes": (
        tilted_tokens, "_product", lambda sizes, *rest: _product([c / 2 for c in sizes], *rest)
    ),
    "sums are their Gaussian parts": (tilted_tokens, "_sum", lambda left, right: right),
}  # fmt: skip
_region, _product = theorem_4_3.Training.region, tilted_tokens._product


def at_zero(self: Training, tokens: Tokens, beyond: arb) -> Region:
    found = _region(self, tokens, beyond)
    return Region(found.queries, tokens, beyond, beyond)


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)
