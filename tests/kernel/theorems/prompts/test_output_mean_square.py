"""Claim `output-mean-square`: sabotaged kernels, simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import REFUTED, REJECTED, Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, at_64_bits, noticed, true, unless
from scipy.interpolate import CubicSpline

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics import query_averages, weight_averages
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.query_averages import QueryAverage
from certattn.kernel.mathematics.score_variances import ScoreVariance
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.mathematics.weight_growth import weights_near
from certattn.kernel.theorems.prompts import mean_squares as BOUNDS  # noqa: N812
from certattn.kernel.theorems.prompts import output_mean_square
from certattn.kernel.theorems.prompts.mathematics import finite_means
from certattn.kernel.theorems.prompts.mathematics.finite_scores import FiniteScores
from certattn.kernel.theorems.prompts.output_mean_square import Method, bounds_of

cases = Cases("mean_square_cases")

CLAIM = CLAIMS["output-mean-square"]


def test_only_what_is_enclosed_exactly_refutes() -> None:
    """Everything else bounds the number, and shows nothing false."""
    for family in (cases.LOGISTIC, cases.GENERAL, cases.INTEGRAL):
        assert REFUTED not in {case.verdict for case in family.cases()}
        assert REJECTED in {case.verdict for case in family.cases()}


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    text = check(next(cases.EXACT.cases()).text, tmp_path).statement
    for piece in ("50 independent tokens", "mean (1, 0)", "((1, 0.5), (0.5, 1))", "sqrt(1/2)", "z = (1, -0.5)"):
        assert piece in text
    for piece in ("V = ((1, 0), (1, 2))", "0.328675", "0.328676", "(-0.0226843, -0.0453687)", "1e-7", "0.0320806"):
        assert piece in text
    text = check(next(cases.INTEGRAL.cases()).text, tmp_path).statement
    for piece in ("100 independent tokens", "query z of mean (0.5, 0)", "((1, 0.5), (0.5, 1))", "0.5 * <x, U z>"):
        assert piece in text
    assert "over the prompt and the query is at most 0.0922062" in text


# -- sabotage


def zero(*arguments: Any) -> Any:
    return arb(0)


def narrowed(form: Any) -> Any:
    """Without the part of a quadratic form that is quadratic in what varies."""

    def found(self: Any, average: QueryAverage) -> Any:
        whole = form(self, average)
        return replace(whole, square=0 * whole.square)

    return found


# What is replaced, and the cases that must notice.
SABOTAGE: dict[str, Sabotage] = {
    "upper bounds are not looked at": (BOUNDS, "Obligation", unless("at_most"), cases.EXACT),
    "lower bounds are not looked at": (BOUNDS, "Obligation", unless("at_least"), cases.EXACT),
    "what is unproved passes": (output_mean_square, "NoProof", true, cases.GENERAL),
    "any t will do": (BOUNDS, "Obligation", unless("t"), cases.GENERAL),
    "upper bounds over queries are not looked at": (BOUNDS, "Obligation", unless("at_most"), cases.OVER_QUERIES),
    "lower bounds over queries are not looked at": (BOUNDS, "Obligation", unless("at_least"), cases.OVER_QUERIES),
    "no spread of the queries": (ScoreVariance, "form", narrowed(ScoreVariance.form), cases.OVER_QUERIES),
    "no kappa beside q": (weight_averages, "weights_near", lambda L, v, bits: (weights_near(L, v, bits)[0], arb(0)),
                          cases.OVER_QUERIES),
    "ranges as long as they are": (output_mean_square, "worst", lambda starts, at, falling: falling(starts[-1]),
                                   cases.OVER_QUERIES_ONWARDS),
    "no kappa over queries": (output_mean_square, "gaussian_mean_square", lambda q, kappa, S, B: q * S + q * B,
                              cases.OVER_QUERIES),
    "no shift over queries": (output_mean_square, "gaussian_mean_square", lambda q, kappa, S, B: q * S,
                              cases.OVER_QUERIES),
    "the mean in one entry": (output_mean_square, "linf_norm", lambda vector: abs(vector[0]), cases.EXACT),
    "no kappa": (BOUNDS, "gaussian_mean_square", lambda q, kappa, S, B: q * (S + B), cases.EXACT),
    "twice kappa": (BOUNDS, "gaussian_mean_square", lambda q, kappa, S, B: q * (S + B) - 12 * kappa * B, cases.EXACT),
    "no shift": (BOUNDS, "gaussian_mean_square", lambda q, kappa, S, B: q * S, cases.LOGISTIC),
    "the bias of the other sign": (BOUNDS, "bias_factor", lambda q: q, cases.EXACT),
    "q for a long prompt": (BOUNDS, "logistic", lambda L, v: v.exp() / L * arb("0.9"), cases.LOGISTIC),
    "no lower tail": (BOUNDS, "normaliser_tail", zero, cases.GENERAL),
    "no fourth moment": (BOUNDS, "fourth", zero, cases.GENERAL),
    "no spread": (BOUNDS, "product_trace", zero, cases.GENERAL),
    "scales are not squared": (BOUNDS, "square", lambda scale: fmpq(1), cases.EXACT),
    "tokens do not meet themselves": (FiniteScores, "psi", lambda self, k, parts: [[zero()] * len(parts[0])] * len(
        self._rates), cases.FINITE),
    "no two tokens": (FiniteScores, "centred", lambda self, parts: [[zero()] * len(parts[0])] * len(self._rates),
                      cases.FINITE),
    "no powers of the transform": (FiniteScores, "_powers", lambda self, n: [arb(1)] * len(self._rates), cases.FINITE),
    "the last of equal scores": (finite_means.Group, "add", lambda self, other: None, cases.FINITE),
    "no normaliser": (FiniteScores, "inverse_power", lambda self, tokens, degree: arb(0), cases.FINITE_ONWARDS),
    "normalisers of all tokens": (finite_means.FiniteMeans, "_inverse", lambda self, fewer, degree:
        self.sums.inverse_power(self.sums.length, degree), cases.FINITE_ONWARDS),
    "half of the integral": (QueryAverage, "integral", lambda self, L, bits: arb(self.plain()) / 2 / L, cases.INTEGRAL),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE, at_64_bits)


# -- a second opinion


# -- simulation

LAWS = [
    "{kind: gaussian, mean: [1, 0], covariance: [[1, 1/2], [1/2, 1]]}",
    "{kind: gaussian, mean: [0, 0], covariance: [[1, 1], [1, 1]]}",
    "{kind: gaussian, mean: [0, 2], covariance: [[4, 0], [0, 0]]}",
]


def stated(given: str) -> Any:
    text = f"certattn: 1\nclaim: output-mean-square\ngiven:\n{given}\nasserts: {{mean_square: {{at_most: 9}}}}\n"
    return output_mean_square.read(loads(text, Path("x.yaml")))


def upper(bounds: Any, quantity: str) -> arb:
    """The upper bound, at the working precision."""
    return bounds.ranges[quantity].upper()


@pytest.mark.parametrize(("length", "tilt"), [(2, (1.0, -0.5)), (30, (0.5, 0.5)), (300, (1.0, 0.25))])
@pytest.mark.parametrize("law", LAWS)
def test_the_enclosure_lies_in_the_interval_of_a_simulation(law: str, length: int, tilt: tuple[float, float]) -> None:
    """99.9% intervals of the mean square, the mean and the collision probability, in each coordinate."""
    values = np.array([[1.0, 0.5], [0.0, 1.0]])
    prompt = stated(
        f"  law: {law}\n  tilt: [{fmpq(int(4 * tilt[0]), 4)}, {fmpq(int(4 * tilt[1]), 4)}]\n"
        f"  V: [[1, 1/2], [0, 1]]\n  length: {length}"
    ).prompt
    found = bounds_of(prompt, Method("exact", {}), ("mean_square",))
    covariance = np.array([[float(str(x.p)) / float(str(x.q)) for x in row] for row in prompt.law.law.covariance])
    rng = np.random.default_rng(length)
    count = 600_000 // length if length > 10 else 60_000
    x = rng.multivariate_normal([0, 0], covariance, size=(count, length), method="eigh")
    weights = np.exp(x @ np.array(tilt))
    weights /= weights.sum(axis=1, keepdims=True)
    errors = (np.einsum("nl,nld->nd", weights, x) - covariance @ np.array(tilt)) @ values.T
    with working_precision(64):
        mean = [] if found.mean is None else found.mean()
        mean_square, collision = (upper(found, name) for name in ("mean_square", "collision"))
    for ball, sample in (
        (mean_square, (errors**2).sum(axis=1)),
        (collision, (weights**2).sum(axis=1)),
        (mean[0], errors[:, 0]),
        (mean[1], errors[:, 1]),
    ):
        assert abs(float(ball) - sample.mean()) <= 3.2905 * sample.std() / len(sample) ** 0.5 + 1e-12


@pytest.mark.parametrize("length", [10**2, 10**4, 10**6])
@pytest.mark.parametrize("s", ["1/2", "1", "3/2", "2"])
def test_relative_width(s: str, length: int) -> None:
    prompt = stated(f"  law: {LAWS[0]}\n  tilt: [{s}, 0]\n  length: {length}").prompt
    with working_precision(64):
        found = upper(bounds_of(prompt, Method("exact", {}), ("mean_square",)), "mean_square")
    assert found.rad() < found.mid() * arb(10) ** -9


def test_averages_over_queries_within_half_of_the_exact_value() -> None:
    """d = 2, Gamma = I/4, U = I, S = I: v is exponential of mean 1/2, and the exact mean square one integral."""
    for length, most in ((100, 1.25), (10**6, 1.01)):
        given = "  law: {kind: gaussian, mean: [0, 0], covariance: [[1/4, 0], [0, 1/4]]}\n"
        average = stated(f"{given}  queries: {{mean: [0, 0], covariance: [[1, 0], [0, 1]]}}\n  length: {length}").prompt
        with working_precision(64):
            bound = upper(bounds_of(average, Method("integral", {}), ()), "mean_square")
            exact = 0.0
            nodes = [fmpq(i, 2) for i in range(11)]
            for index, v in enumerate(nodes):
                # With |z|^2 = 4 v, and |Gamma z|^2 = v / 4.
                point = PowerSums(length, v, 4, 64)
                q, kappa = point.mean(2), point.mean(3) - point.mean(2, 2)
                value = float(q) * (0.5 + index / 8) - 6 * float(kappa) * index / 8
                simpson = (1 if index in (0, 10) else 4 if index % 2 else 2) / 6
                exact += simpson * 2 * np.exp(-index) * value
        assert exact * 0.98 < float(bound) < most * 1.02 * exact


def test_averages_against_sampled_queries() -> None:
    """A singular covariance, a mean that is not 0: (T + z'Bz) / (1 + (L-1) e^(-z'Nz)) over many z."""

    def exact(rows: list[list[int]], by: int = 1) -> ExactMatrix:
        return ExactMatrix.rational([[fmpq(x, by) for x in row] for row in rows])

    mean, S = exact([[2, 1, 0]], 2), exact([[2, 1, 0], [1, 2, 0], [0, 0, 0]], 2)
    B, N = exact([[6, 0, 0], [0, 2, 0], [0, 0, 12]], 6), exact([[2, 1, 0], [1, 4, 0], [0, 0, 8]], 8)
    average = QueryAverage(mean, S, fmpq(1, 2), B, N)
    rng = np.random.default_rng(3)
    z = rng.multivariate_normal(
        [1.0, 0.5, 0.0], np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 0]]), size=400_000, method="svd"
    )
    form = {
        "B": (z**2 * [1, 1 / 3, 2]).sum(axis=1),
        "N": z[:, 0] ** 2 / 4 + z[:, 0] * z[:, 1] / 4 + z[:, 1] ** 2 / 2 + z[:, 2] ** 2,
    }
    for length in (2, 50, 10_000):
        sample = (0.5 + form["B"]) / (1 + (length - 1) * np.exp(-form["N"]))
        with working_precision(64):
            found = average.integral(length, 64)
        assert abs(float(found) - sample.mean()) < 5 * sample.std() / len(sample) ** 0.5
        assert found.rad() < found.mid() * arb(10) ** -12
    # Halfway to the largest power that has an average, which is 1/2; and as sharp as it is asked for.
    assert average._contour()[0] == fmpq(1, 4)
    sharp = average.integral(2, 150)
    assert sharp.rad() < sharp.mid() * arb(2) ** -150
    assert average.admits(fmpq(1, 4))
    assert not average.admits(fmpq(1))


def test_scores_that_vary_hugely_are_bounded_as_those_of_one_token(monkeypatch: pytest.MonkeyPatch) -> None:
    given = "  law: {kind: gaussian, mean: [0], covariance: [[1]]}\n  scale: 1000\n"
    average = stated(f"{given}  queries: {{mean: [0], covariance: [[1]]}}\n  length: 10").prompt.logistic()
    assert average.integral(10, 64) == arb(average.plain())
    monkeypatch.setattr(query_averages, "_MOST_NODES", 0)
    still = QueryAverage(average.mean, average.covariance, fmpq(1), average.B.scaled(fmpq(0)),
                         average.N.scaled(fmpq(0)))  # fmt: skip
    assert still.integral(10, 64) == 1


LAWS_OF_QUERIES = [
    ("[1/2, 0]", "[[1, 1/2], [1/2, 1]]", 100),
    ("[0, 0]", "[[1, 0], [0, 1]]", 2),
    ("[0, 1]", "[[1, 1], [1, 1]]", 1000),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("mean", "covariance", "length"), LAWS_OF_QUERIES)
def test_averages_over_queries_agree_with_quadrature_and_simulation(mean: str, covariance: str, length: int) -> None:
    """q and kappa by `PowerSums` at the queries of a Gauss-Hermite rule, and prompts and queries drawn."""
    law = "  law: {kind: gaussian, mean: [0, 1], covariance: [[1/4, 0], [0, 1/2]]}\n  U: [[1/2, 1], [0, 1/2]]\n"
    queries = f"  queries: {{mean: {mean}, covariance: {covariance}}}\n  length: {length}\n"
    prompt = stated(law + "  V: [[1, 1], [0, 1]]\n" + queries).prompt
    with working_precision(64):
        found = prompt.exact(length).value()
    assert found.rad() < found.mid() * arb("1e-5")
    centre, S = (np.array([[float(fmpq(x.p)) / float(fmpq(x.q)) for x in row] for row in rows]) for rows in
                 ([prompt.queries.mean], prompt.queries.covariance))  # fmt: skip
    Gamma, U, V = np.diag([0.25, 0.5]), np.array([[0.5, 1], [0, 0.5]]), np.array([[1.0, 1], [0, 1]])
    levels, frame = np.linalg.eigh(S)
    root = frame * np.sqrt(np.maximum(levels, 0))
    # by quadrature over queries
    x, w = np.polynomial.hermite_e.hermegauss(40)
    at = np.stack(np.meshgrid(x, x, indexing="ij"), -1).reshape(-1, 2) @ root.T + centre[0]
    mass = np.outer(w, w).ravel() / (2 * np.pi)
    tilts = at @ U.T
    v, B = np.einsum("ni,ij,nj->n", tilts, Gamma, tilts), ((tilts @ Gamma @ V.T) ** 2).sum(axis=1)
    knots = np.concatenate([np.linspace(0, 1, 12), np.linspace(1.25, 30, 80)])
    q, kappa = np.array([moments(length, fmpq(int(v * 2**20), 2**20)) for v in knots]).T
    spline = [CubicSpline(knots, y)(np.minimum(v, 30)) for y in (q, kappa)]
    exact = float(mass @ (spline[0] * (np.trace(V @ Gamma @ V.T) + B) - 6 * spline[1] * B))
    assert abs(float(found.mid()) - exact) < 2e-4 * exact
    # by simulation
    rng = np.random.default_rng(length)
    count = 4_000_000 // max(length, 40)
    z = rng.normal(size=(count, 2)) @ root.T + centre[0]
    tokens = rng.normal(size=(count, length, 2)) * np.sqrt(np.diag(Gamma))
    weights = np.exp(np.einsum("nld,nd->nl", tokens, z @ U.T))
    weights /= weights.sum(axis=1, keepdims=True)
    errors = (np.einsum("nl,nld->nd", weights, tokens) - z @ U.T @ Gamma) @ V.T
    sample = (errors**2).sum(axis=1)
    assert abs(float(found.mid()) - sample.mean()) < 4 * sample.std() / count**0.5


def moments(length: int, variance: fmpq) -> tuple[float, float]:
    """q and kappa."""
    powers = PowerSums(length, variance, 4, 48)
    return float(powers.mean(2)), float(powers.mean(3) - powers.mean(2, 2))


def test_one_atom_has_a_general_bound(arrays: Path) -> None:
    """Its deviation is a ball around 0, whose powers are to be found all the same."""
    text = (
        "certattn: 1\nclaim: output-mean-square\n"
        "given: {law: {kind: atoms, points: [[-2]], weights: [1]}, tilt: [1], length: 2}\n"
        "asserts: {mean_square: {at_most: 1e-9}}\nwitness: {method: general, t: 1/2, lambda: 1}\n"
    )
    assert check(text, arrays).verdict is Verdict.VERIFIED
