"""Claim `stochastic-descent`: sabotaged kernels, and every bound of the proof beside simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import REFUTED, Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, at_64_bits, holding, noticed

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training import descent_tube, drawn_gradients, stochastic_descent
from certattn.kernel.theorems.training.descent_tube import Point, Problem, Tube
from certattn.kernel.theorems.training.drawn_gradients import Averages, Profiles, Region
from certattn.kernel.theorems.training.regression import Parameters, balls_around

cases = Cases("stochastic_cases")
# Of Sigma and A.
PLANE = np.array([[1, 0.25], [0.25, 0.75]]), np.array([[0.5, 0.1], [0, 0.5]])
LINE = np.array([[1.0]]), np.array([[0.5]])


def exactly(matrix: Any) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(*float(x).as_integer_ratio()) for x in row] for row in matrix])


def point(task: tuple[Any, Any], b: float, length: int) -> Point:
    """At the working precision."""
    problem = Problem(exactly(task[0]), Profiles(len(task[0]), length), 64)
    return problem.at(balls_around(Parameters(exactly(task[1]), fmpq(*b.as_integer_ratio()))))


def test_nothing_is_refuted() -> None:
    assert REFUTED not in {case.verdict for family in (cases.LINE, cases.PLANE) for case in family.cases()}


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    text = check(next(cases.PLANE.cases()).text, tmp_path).statement
    for piece in (
        "((1, 0.25), (0.25, 0.75))", "A = ((0.5, 0.1), (0, 0.5)) and b = 0.75", "every L >= 1,000,000", "3 steps",
        "the step 0.25", "40,000 prompts", "120,000 in all", "R_L <= 0.3148", "at least 0.9836",
    ):  # fmt: skip
        assert piece in text


# -- sabotage


def without(*shares: str) -> Any:
    """A tube of which some bounds are 0."""

    def made(*arguments: Any) -> Tube:
        found = descent_tube.follow(*arguments)
        return Tube(found.end, *(arb(0) if x in shares else getattr(found, x) for x in ("radius", "probability")))

    return made


SABOTAGE: dict[str, Sabotage] = {
    "bounds are not looked at": (stochastic_descent, "Obligation", holding("<=")),
    "a tube without a radius": (stochastic_descent, "follow", without("radius"), cases.LINE),
    "a tube that is never left": (stochastic_descent, "follow", without("probability"), cases.LINE),
    "no gap at the end": (Region, "gap", lambda self: arb(0), cases.LINE),
    "no gap of the gradients": (Region, "slope_gap", lambda self: arb(0), cases.LINE),
    "no noise": (Region, "noise", lambda self: arb(0), cases.LINE),
    "noise at the core alone": (
        descent_tube, "noise_near", lambda at, core, width, likely: (at.region(core).noise(), arb(0)), cases.LINE),
    "nothing expands": (Point, "expansion", lambda self, step, radius: arb(1), cases.LINE),
    "half a bend": (Problem, "bend", property(lambda self: self.largest / 2), cases.LINE),
    "no steepness": (Point, "steepness", property(lambda self: arb(0)), cases.LINE),
    "the error of the centre": (Point, "error_within", lambda self, radius: self.error, cases.LINE),
    "no power sums of order 2": (
        drawn_gradients, "_powers", lambda length, v: (arb(0), arb(1)), cases.LINE),
    "no power sums of order 3": (drawn_gradients, "mean_fourth", lambda d, v, p: arb(0), cases.LINE),
    "no spread of covariances": (drawn_gradients, "spread", lambda d, v, q, p: arb(0), cases.LINE),
    "no fluctuation of the mean": (drawn_gradients, "mean_square", lambda d, v, q: arb(0), cases.LINE),
}  # fmt: skip

test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE, at_64_bits)


# -- simulation


def prompts(task: tuple[Any, Any], length: int, count: int) -> tuple[Any, ...]:
    """Queries, tasks, softmax means and covariances of random prompts."""
    rng = np.random.default_rng(length)
    root = np.linalg.cholesky(task[0])
    tokens = rng.normal(size=(count, length, len(root))) @ root.T
    query, w = rng.normal(size=(count, len(root))) @ root.T, rng.normal(size=(count, len(root)))
    scores = np.einsum("nld,de,ne->nl", tokens, task[1], query)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    mean = np.einsum("nl,nld->nd", p, tokens)
    covariance = np.einsum("nl,nld,nle->nde", p, tokens, tokens) - mean[:, :, None] * mean[:, None, :]
    return query, w, mean, covariance


def gradients(task: tuple[Any, Any], b: float, length: int, count: int) -> Any:
    """On each prompt: along A row by row, then along b."""
    query, w, mean, covariance = prompts(task, length, count)
    off = (w * (b * mean - query)).sum(axis=1)
    along_A = b * off[:, None, None] * np.einsum("nde,ne->nd", covariance, w)[:, :, None] * query[:, None, :]
    return np.column_stack([along_A.reshape(count, -1), off * (w * mean).sum(axis=1)])


@pytest.mark.parametrize(("task", "b"), [(LINE, 0.5), (LINE, 2.0), (PLANE, 0.75), (PLANE, -0.5)])
def test_gradients_on_random_prompts_keep_the_bounds(task: tuple[Any, Any], b: float) -> None:
    length, count = 200, 40_000
    found = gradients(task, b, length, count)
    squares = (found**2).sum(axis=1)
    with working_precision(64):
        at = point(task, b, length)
        region, slope = at.region(arb(0)), at.problem.regression.gradient(at.at)
        noise, gap = float(region.noise()), float(region.slope_gap())
        exact = [float(x) for x in (*slope.A.entries(), slope.b)]
    assert squares.mean() < noise + 4 * squares.std() / count**0.5
    error = np.linalg.norm(found.std(axis=0)) / count**0.5
    assert np.linalg.norm(found.mean(axis=0) - exact) < gap + 4 * error


@pytest.mark.parametrize(("task", "b"), [(LINE, 0.5), (LINE, 3.0), (PLANE, 0.75), (PLANE, -0.5)])
def test_noise_on_infinitely_long_prompts_is_exact(task: tuple[Any, Any], b: float) -> None:
    """The rest is small where prompts are long."""
    (Sigma, A), rng, count = task, np.random.default_rng(5), 400_000
    x, w = (rng.normal(size=(count, len(Sigma))) for _ in range(2))
    x = x @ np.linalg.cholesky(Sigma).T
    t = x @ (Sigma @ A).T
    off = (w * (b * t - x)).sum(axis=1)
    squares = off**2 * ((w * t).sum(axis=1) ** 2 + b**2 * ((w @ Sigma) ** 2).sum(axis=1) * (x**2).sum(axis=1))
    with working_precision(64):
        at = point(task, b, 10**9)
        found, bound = float(at.long_noise), float(at.region(arb(0)).noise())
    assert abs(found - squares.mean()) < 4 * squares.std() / count**0.5
    assert found < bound < (2 if b > 1 else 1.1) * found


@pytest.mark.parametrize("task", [LINE, PLANE, (np.eye(3), 0.7 * np.eye(3))])
def test_means_and_covariances_of_random_prompts_keep_the_bounds(task: tuple[Any, Any]) -> None:
    length, count, d = 100, 20_000, len(task[0])
    query, _, mean, covariance = prompts(task, length, count)
    inverse = np.linalg.inv(np.linalg.cholesky(task[0]))
    off = (mean - query @ task[1].T @ task[0]) @ inverse.T
    spread = inverse @ covariance @ inverse.T
    lengths, other = (off**2).sum(axis=1), ((spread - np.eye(d)) ** 2).sum(axis=(1, 2))
    M = np.linalg.inv(inverse).T @ task[1] @ np.linalg.inv(inverse).T.T
    with working_precision(64):
        profiles = Profiles(d, length)
        averages = profiles.at(arb(np.linalg.norm(M, 2)))
        for simulated, profile in (
            (lengths, profiles.square),
            (lengths**2, profiles.fourth),
            (other, profiles.spread),
            (lengths * (spread**2).sum(axis=(1, 2)), profiles.whole),
            (lengths * other, profiles.product),
        ):
            bound = float(averages.mean(0, profile))
            assert simulated.mean() < bound + 4 * simulated.std() / count**0.5
            assert bound < 1000 * simulated.mean()


@pytest.mark.parametrize("mu", [0.01, 0.5, 1.0, 3.0])
def test_means_over_queries_are_a_little_above_an_integral(mu: float) -> None:
    """Of e^(v/100), by the chi-squared law with 3 degrees of freedom: beyond the last node like there."""
    with working_precision(64):
        profiles = Profiles(3, 10)
        rising = drawn_gradients.Profile(
            [*((arb(v) / 100).exp() for v in drawn_gradients.NODES[1:]), arb(fmpq(64, 100)).exp()], 1
        )
        found = [float(Averages(profiles, arb(mu)).mean(i, rising)) for i in range(3)]
    rng = np.random.default_rng(1)
    square = (rng.normal(size=(400_000, 3)) ** 2).sum(axis=1)
    v = mu**2 * square
    for i, bound in enumerate(found):
        exact = square**i * np.where(v < 64, np.exp(v / 100), np.exp(0.64) * v / 64)
        assert exact.mean() - 4 * exact.std() / 400_000**0.5 < bound < 1.06 * exact.mean()


@pytest.mark.parametrize("task", [LINE, PLANE])
def test_steps_from_random_points_of_a_ball_keep_the_expansion(task: tuple[Any, Any]) -> None:
    Sigma, A = task
    d, b, rng = len(Sigma), 0.75, np.random.default_rng(2)

    def slope(A: Any, b: float) -> Any:
        residual = Sigma @ (b * Sigma @ A - np.eye(d)) @ Sigma
        return np.append((b * residual).ravel(), (A * residual).sum())

    for radius, step in ((0.05, 0.5), (0.4, 0.5), (0.4, 3.0)):
        with working_precision(64):
            at = point(task, b, 100)
            bound = float(at.expansion(fmpq(*step.as_integer_ratio()), arb(radius)))
            error = float(at.error_within(arb(radius)))
        largest = 0.0
        for _ in range(3000):
            e = rng.normal(size=d * d + 1)
            e *= radius * rng.uniform() ** 0.2 / np.linalg.norm(e)
            moved = A + e[:-1].reshape(d, d), b + e[-1]
            after = e - step * (slope(*moved) - slope(A, b))
            largest = max(largest, float(np.linalg.norm(after) / np.linalg.norm(e)))
            off = moved[1] * Sigma @ moved[0] - np.eye(d)
            assert np.trace(off @ Sigma @ off.T) <= error**2 * (1 + 1e-9)
        assert largest <= bound * (1 + 1e-9)
        assert radius > 0.1 or bound < largest + 0.15


def test_runs_end_with_the_stated_risk(tmp_path: Path) -> None:
    """The certificate of two steps on the line, with a twentieth of the batch, over infinitely long prompts."""
    rng = np.random.default_rng(4)
    A, b = np.full(4000, 0.5), np.full(4000, 0.5)
    for _ in range(2):
        x, w = rng.normal(size=(2, 4000, 100))
        off = w * (b * A - 1)[:, None] * x
        A, b = A - 0.5 * (b[:, None] * off * w * x).mean(axis=1), b - 0.5 * (off * w * A[:, None] * x).mean(axis=1)
    assert np.mean((b * A - 1) ** 2 / 2 > 0.10844) < 0.05
