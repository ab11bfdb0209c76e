"""The claim `regularization-path`: computed minimisers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from corpus import Cases, check
from flint import arb, fmpq
from mpmath import mp, mpf
from sabotage import Sabotage, always, holds, noticed
from scipy.optimize import minimize

from certattn import NotProvedError, UsageError, generate
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection import regularization_path
from certattn.kernel.theorems.selection.mathematics import margin_norms
from certattn.kernel.theorems.selection.regularization_path import GIVEN, QuadraticMixing, ScoreMixing, read_given
from certattn.statements.checking import check_file
from certattn.writing import to_text

path_cases = Cases("path_cases")

ROOT = Path(__file__).resolve().parents[4]
Tool = Callable[[str], ModuleType]
CASES = path_cases.CASES


# -- sabotage: each broken part lets a reject case pass


real_share = regularization_path._share

SABOTAGE: dict[str, Sabotage] = {
    "gaps are 1": (regularization_path.PathProblem, "smallest_gap", fmpq(1)),
    "radii are 0": (regularization_path.StatedRadius, "norm_squared", fmpq(0)),
    "progress is large": (regularization_path, "least_progress", lambda log_w, excess, least: arb(10) ** 9),
    "conditions are not looked at": (regularization_path, "optimal", lambda prefix, solution: []),
    "dual norms are not looked at": (margin_norms.PowerNorm, "dual", lambda self, point: (fmpq(0), fmpq(1))),
    "singular values are not looked at": (margin_norms.NuclearNorm, "dual", lambda self, point: (fmpq(0), fmpq(0))),
    "norms of comparators are 0": (margin_norms.PowerNorm, "bound", lambda self, point: fmpq(0)),
    "nuclear norms of comparators are 0": (margin_norms.NuclearNorm, "bound", lambda self, point: fmpq(0)),
    "the largest margin is that of the first multiplier": (
        regularization_path.NormPath,
        "least",
        always(fmpq(1, 100)),
    ),
    "shares are 1": (regularization_path, "share_bound", lambda problem, radius, bounds: arb(1)),
    "unit vectors are not apart": (regularization_path, "turn", lambda exponent, share: arb(0)),
    "what separates is not looked at": (
        regularization_path,
        "_share",
        lambda problem, prefix, stated: (
            each for each in real_share(problem, prefix, stated) if "sep" not in each.name
        ),
    ),
    "strict bounds are not looked at": holds(">"),
}

test_a_sabotaged_kernel_fails = noticed(CASES, SABOTAGE)


# -- against computed minimisers, in the plane

LOSSES: dict[str, Callable[[mpf], mpf]] = {
    "linear": lambda x: -x,
    "logistic": lambda x: mp.log1p(mp.exp(-x)),
    "exponential": lambda x: mp.exp(-x),
}
HEADS = ("linear", "tanh", "softplus", "leaky-relu", "quadratic")


def _output(given: dict[str, Any], x: list[mpf]) -> mpf:
    """psi(x)."""
    head, r = given["head"], mp.fdot(given["v"], x)
    if head["kind"] == "quadratic":
        return mp.fsum(a * x[i] * x[j] for i, row in enumerate(head["A"]) for j, a in enumerate(row)) + r
    if head["kind"] == "leaky-relu":
        return max(r, r * head["slope"])
    return {"linear": lambda z: z, "tanh": mp.tanh, "softplus": lambda z: mp.log1p(mp.exp(z))}[head["kind"]](r)


def _loss(given: dict[str, Any], p: list[mpf]) -> mpf:
    """n L(p), from the definition."""
    total = mpf(0)
    for rows, label in zip(given["tokens"], given["labels"], strict=True):
        powers = [mp.exp(mp.fdot(row, p)) for row in rows]
        x = [mp.fdot(powers, column) / mp.fsum(powers) for column in zip(*rows, strict=True)]
        total += LOSSES[given["loss"]](label * _output(given, x))
    return total


def _texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_texts(item) for item in value]
    return value if isinstance(value, str) else str(Fraction(value))


def _random_given(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    count, dimension = int(rng.integers(1, 3)), 2
    given: dict[str, Any] = {
        "tokens": [
            (rng.integers(-9, 10, size=(int(rng.integers(2, 4)), dimension)) / 4).tolist() for _ in range(count)
        ],
        "v": (rng.integers(-4, 5, size=dimension) / 2).tolist(),
        "labels": rng.choice([-1.0, 1.0], size=count).tolist(),
        "loss": str(rng.choice(list(LOSSES))),
        "head": {"kind": kind},
    }
    if kind == "leaky-relu":
        given["head"]["slope"] = 0.25
    if kind == "quadratic":
        A = rng.integers(-2, 3, size=(dimension, dimension))
        given["head"]["A"] = ((A + A.T) / 16).tolist()
    return given


@pytest.mark.heavy
@pytest.mark.parametrize("kind", HEADS)
def test_computed_minimisers_are_where_they_are_said_to_be(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(HEADS.index(kind))
    compared = 0
    while compared < 8:
        given = _random_given(rng, kind)
        path = tmp_path / "path.yaml"
        try:
            certificate = generate("regularization-path", path, given=_texts(given), radii=["3", "6"])
        except (UsageError, NotProvedError):
            continue  # ties, not separable, curved too much, or too small a radius
        assert check(path.read_text(), tmp_path).verdict is Verdict.VERIFIED
        compared += 1
        _compare(given, certificate.plain, rng)


def _compare(given: dict[str, Any], plain: Any, rng: np.random.Generator) -> None:
    tokens, indices = given["tokens"], [int(index) for index in plain["asserts"]["indices"]]
    direction = np.zeros(len(tokens[0][0]))
    for term in plain["witness"]["multipliers"]:
        i, t = int(term["input"]), int(term["token"])
        difference = np.array(tokens[i][indices[i]]) - np.array(tokens[i][t])
        direction += float(Fraction(term["multiplier"])) * difference
    direction /= np.linalg.norm(direction)
    for item in plain["asserts"]["path"]:
        radius, cosine = float(Fraction(item["radius"])), float(Fraction(item["cosine"]))
        with mp.workdps(60):
            best, lowest = _minimiser(given, radius)
            # No point inside the ball that is tried is better.
            for inner in rng.uniform(-1, 1, size=(30, 2)) * radius / 2**0.5:
                assert _loss(given, [mpf(x) for x in inner.tolist()]) > lowest
        assert best @ direction >= cosine - 1e-9


def _minimiser(given: dict[str, Any], radius: float) -> tuple[np.ndarray, mpf]:
    """The best unit vector by a grid of angles and golden sections, and n L there."""

    def at(angle: mpf) -> mpf:
        return _loss(given, [radius * mp.cos(angle), radius * mp.sin(angle)])

    step = 2 * mp.pi / 96
    around = min((k * step for k in range(96)), key=at)
    low, high, ratio = around - step, around + step, (mp.sqrt(5) - 1) / 2
    for _ in range(50):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if at(left) < at(right) else (left, high)
    angle = (low + high) / 2
    return np.array([float(mp.cos(angle)), float(mp.sin(angle))]), at(angle)


# -- what mixing costs, against the loss itself


@pytest.mark.heavy
@pytest.mark.parametrize("kind", HEADS)
def test_costs_are_below_the_excess(kind: str) -> None:
    """e(s) >= sum m_t s_t for random weights with e(s) <= bound, and e falls along u where `inward` is positive."""
    rng = np.random.default_rng(7)
    compared = 0
    while compared < 300:
        given = _random_given(rng, kind)
        head = {"certattn": "1", "claim": "regularization-path", "given": _texts(given), "asserts": {}}
        started = loads(to_text(head), Path("case.yaml"))
        read = read_given(GIVEN.read(started.given, started.reading)[1])
        indices = tuple(int(rng.integers(length)) for length in read.stated.tokens.lengths)
        selection = Selection(read.stated.tokens, indices)
        costly = read.mixing(selection, 0)
        if costly.smallest <= 0:
            continue
        others = read.stated.tokens.lengths[0] - 1
        weights = rng.dirichlet(np.ones(others + 1) * float(rng.choice([0.2, 1, 5])))[1:]
        with working_precision(256):
            _compare_costs(costly, [arb(float(w)) for w in weights], rng)
        compared += 1


def _compare_costs(costly: ScoreMixing | QuadraticMixing, weights: list[arb], rng: np.random.Generator) -> None:
    excess = costly.excess(weights)
    bound = excess * float(rng.choice([1.0, 1.1, 3.0]))
    linear = sum((c * s for c, s in zip(costly.costs(bound), weights, strict=True)), arb(0))
    # Equal for a linear head and loss.
    assert (linear - excess <= arb(2) ** -200) is True
    if (costly.inward(bound) > 0) is True:
        slopes = [float(b) for b in rng.uniform(0.01, 3, size=len(weights))]
        assert (_moved(costly, weights, slopes) < excess) is True


def _moved(costly: ScoreMixing | QuadraticMixing, weights: list[arb], slopes: list[float]) -> arb:
    """The excess after a small step along a direction in which every <z_t, p> grows, with the given slopes."""
    powers = [w * arb(-1e-6 * b).exp() for w, b in zip(weights, slopes, strict=True)]
    chosen = 1 - sum(weights, arb(0))
    total = chosen + sum(powers, arb(0))
    return costly.excess([power / total for power in powers])


def test_what_is_found_is_said_for_every_radius() -> None:
    found = check_file(
        ROOT / "certificates" / "selection" / "regularization-path" / "single-input.yaml", CheckOptions()
    ).findings
    assert [line.split(" [")[0] for line in found] == [f"R = {r}: 1 - cosine is at most" for r in (10, 40, 160)]


# -- other norms, against minimisers found in doubles

INPUTS: dict[str, Any] = {
    "keys": [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], ["1/2", 1]]], "scores": [["0", "1"]] * 3, "loss": "logistic",
}  # fmt: skip
ROWS = np.array([[1, 1], [1, -1], [0.5, 1]])


def excess_of(products: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """log F for two tokens an input, of which the chosen one has the score 1 and the other 0."""
    other = 1 / (1 + np.exp(np.clip(products, -500, 500)))
    best = np.log1p(np.exp(-1))
    return np.log((np.log1p(np.exp(-(1 - other))) - best).sum(axis=-1))


def lengths(points: np.ndarray[Any, Any], norm: str) -> np.ndarray[Any, Any]:
    sizes = np.abs(points)
    if norm == "infinity":
        return sizes.max(axis=-1)
    power = float(Fraction(norm))
    return (sizes**power).sum(axis=-1) ** (1 / power)


@pytest.mark.parametrize("norm", ["1", "infinity", "3/2", "2", "3"])
@pytest.mark.parametrize("radius", [8, 14])
def test_minimisers_over_balls_of_other_norms_keep_the_bounds(norm: str, radius: int, tmp_path: Path) -> None:
    certificate = generate(
        "regularization-path", tmp_path / "path.yaml", given={**INPUTS, "norm": norm}, radii=[radius]
    )
    stated: Any = certificate.plain["asserts"]["path"][0]
    assert check_file(tmp_path / "path.yaml", CheckOptions()).verdict is Verdict.VERIFIED
    turns = np.linspace(0, 2 * np.pi, 400_001)
    unit = np.column_stack([np.cos(turns), np.sin(turns)])
    unit /= lengths(unit, norm)[:, None]
    products = unit @ ROWS.T
    largest = products.min(axis=1).max()
    found = excess_of(radius * products).argmin()
    share = products[found].min() / largest
    assert float(Fraction(stated["share"])) <= share <= 1
    # What is stated falls short by the order 1/R.
    assert share - float(Fraction(stated["share"])) < 4 / (radius * largest)
    # Inside of the ball F is larger.
    assert excess_of(0.99 * radius * products).min() > excess_of(radius * products[found])
    if "apart" in stated:
        away = lengths(unit[found] - unit[products.min(axis=1).argmax()], norm)
        assert away <= float(Fraction(stated["apart"])) + 1e-4


def test_factors_that_are_trained_together_keep_the_bound_of_the_nuclear_norm(tmp_path: Path) -> None:
    """Over |K|^2 + |Q|^2 <= 2 R, from several starts."""
    queries = np.array([[0, 1], [1, 1], [-1, 0]])
    differences = np.array([[2, -1], [-1, 0], [2, 2]])
    given = {
        "keys": [[[2, 0], [0, 1]], [[0, 1], [1, 1]], [[1, 2], [-1, 0]]], "queries": queries.tolist(),
        "scores": [["1", "0"]] * 3, "loss": "logistic", "norm": "nuclear",
    }  # fmt: skip
    certificate = generate("regularization-path", tmp_path / "path.yaml", given=given, radii=[14])
    (stated,) = certificate.plain["asserts"]["path"]
    rows = np.array([np.outer(z, q).ravel() for z, q in zip(differences, queries, strict=True)])

    def product(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return (x[:4].reshape(2, 2).T @ x[4:].reshape(2, 2)).ravel()

    rng, best = np.random.default_rng(0), None
    for _ in range(8):
        found = minimize(
            lambda x: float(excess_of(rows @ product(x))),
            rng.standard_normal(8),
            method="SLSQP",
            constraints={"type": "ineq", "fun": lambda x: 28 - x @ x, "jac": lambda x: -2 * x},
            options={"maxiter": 1000, "ftol": 1e-12},
        )
        best = found if best is None or found.fun < best.fun else best
    assert best is not None
    assert abs(np.linalg.svd(product(best.x).reshape(2, 2), compute_uv=False).sum() - 14) < 1e-3
    # The largest margin is 0.6436195..., as in the gallery of `max-margin`.
    share = (rows @ product(best.x)).min() / 14 / 0.643619565
    assert float(Fraction(stated["share"])) <= share + 1e-4 <= 1.001
