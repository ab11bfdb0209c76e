"""Claim `full-batch-descent`: sabotaged kernels, and every bound of the proof beside simulations."""

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
from certattn.kernel.theorems.training import full_batch_descent
from certattn.kernel.theorems.training.descent_tube import Point, Problem
from certattn.kernel.theorems.training.full_batch_descent import Noise, Reached, Settled, gentlest, noise_at
from certattn.kernel.theorems.training.regression import Parameters, balls_around

cases = Cases("full_batch_cases")
# Of Sigma and A.
PLANE = np.array([[1, 0.25], [0.25, 0.75]]), np.array([[0.5, 0.1], [0, 0.5]])
LINE = np.array([[1.0]]), np.array([[0.5]])


def exactly(matrix: Any) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(*float(x).as_integer_ratio()) for x in row] for row in matrix])


def point(task: tuple[Any, Any], b: float) -> Point:
    """At the working precision."""
    start = Parameters(exactly(task[1]), fmpq(*b.as_integer_ratio()))
    return Problem(exactly(task[0]), None, 64).at(balls_around(start))


def test_nothing_is_refuted() -> None:
    assert REFUTED not in {
        case.verdict for family in (cases.LINE, cases.SETTLED, cases.PLANE) for case in family.cases()
    }


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    text = check(next(cases.PLANE.cases()).text, tmp_path).statement
    for piece in (
        "((1, 0.25), (0.25, 0.75))", "A = ((0.5, 0.1), (0, 0.5)) and b = 0.75", "3,000 prompts, or more", "3 steps",
        "the step 0.25", "R_L <= 0.3124", "at least 0.9879", "for every L from some length on",
    ):  # fmt: skip
        assert piece in text


# -- sabotage


def silent(point: Point) -> Noise:
    return Noise(arb(fmpq(1, 2**100)), arb(0))


SABOTAGE: dict[str, Sabotage] = {
    "bounds are not looked at": (full_batch_descent, "Obligation", holding("<=")),
    "risks are not looked at": (full_batch_descent, "Obligation", holding("<")),
    "a tube that is never left": (Reached, "chance", lambda self, prompts: arb(0), cases.LINE),
    "a tube without a radius": (Reached, "risk", lambda self: self.end.error_within(arb(0)) ** 2 / 2, cases.LINE),
    "no noise": (full_batch_descent, "noise_at", silent, cases.LINE),
    "second moments that are their mean": (full_batch_descent, "spread_pairs", lambda d: 0, cases.LINE),
    "no fourth moments": (
        full_batch_descent, "noise_at", lambda point: Noise(noise_at(point).square, arb(0)), cases.LINE),
    "nothing expands": (Point, "expansion", lambda self, step, radius, spread: arb(1), cases.LINE),
    "steps that forget": (full_batch_descent, "next_square", lambda square, rho, step, a: step * step / a, cases.LINE),
    "no steepness": (Point, "steepness", property(lambda self: arb(0)), cases.LINE),
    "the error of the centre": (Point, "error_within", lambda self, radius: self.error, cases.LINE),
    "a ball that is never left": (Settled, "reach", lambda self: arb(0), cases.SETTLED),
    "a rate that is not paid for": (Settled, "start", property(lambda self: self.reached.risk()), cases.SETTLED),
    "the gentlest slope of the centre": (
        full_batch_descent, "gentlest", lambda point, radius: gentlest(point, arb(0)), cases.SETTLED),
    "steps without stiffness": (Settled, "kept", property(lambda self: arb(1)), cases.SETTLED),
    "a spread that costs no slope": (
        Settled, "slope", property(lambda self: gentlest(self.reached.end, self.within) ** 2), cases.SETTLED),
    "no second derivatives": (Settled, "stiffness", property(lambda self: arb(0)), cases.SETTLED),
}  # fmt: skip

test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE, at_64_bits)


# -- simulation


def moved(task: tuple[Any, Any], rng: Any, count: int) -> tuple[Any, Any, Any]:
    """w, g and x = F g."""
    w, g = rng.normal(size=(2, count, len(task[0])))
    return w, g, g @ np.linalg.cholesky(task[0]).T


def long_gradients(task: tuple[Any, Any], b: float, w: Any, x: Any) -> Any:
    """On each infinitely long prompt: along A row by row, then along b."""
    Sigma, A = task
    t = x @ (Sigma @ A).T
    off = (w * (b * t - x)).sum(axis=1)
    along_A = b * off[:, None, None] * (w @ Sigma)[:, :, None] * x[:, None, :]
    return np.column_stack([along_A.reshape(len(w), -1), off * (w * t).sum(axis=1)])


@pytest.mark.parametrize(("task", "b"), [(LINE, 0.5), (LINE, 3.0), (PLANE, 0.75), (PLANE, -0.5)])
def test_the_noise_of_gradients(task: tuple[Any, Any], b: float) -> None:
    rng, count = np.random.default_rng(3), 400_000
    w, _, x = moved(task, rng, count)
    found = long_gradients(task, b, w, x)
    with working_precision(64):
        at = point(task, b)
        noise, slope = noise_at(at), at.problem.regression.gradient(at.at)
        mean = np.array([float(x) for x in (*slope.A.entries(), slope.b)])
        square, fourth = float(noise.square), float(noise.fourth)
    squares = ((found - mean) ** 2).sum(axis=1)
    assert abs(found.mean(axis=0) - mean).max() < 5 * found.std() / count**0.5
    assert abs(squares.mean() - square) < 4 * squares.std() / count**0.5
    # What is rare decides about fourth moments, so that a sample has less.
    assert fourth / 20 < (squares**2).mean() < fourth


@pytest.mark.parametrize("d", [1, 2, 3])
def test_second_moments_of_prompts(d: int) -> None:
    """|X X' - I|^2 and inner products of two, of X = w x g."""
    rng, count = np.random.default_rng(d), 300_000
    X, Y = (np.einsum("ni,nj->nij", *rng.normal(size=(2, count, d))).reshape(count, -1) for _ in range(2))
    t, u = (X**2).sum(axis=1), (Y**2).sum(axis=1)
    square, inner = t**2 - 2 * t + d**2, (X * Y).sum(axis=1) ** 2 - t - u + d**2
    exact = full_batch_descent.spread_square(d)
    assert abs(square.mean() - exact) < 5 * square.std() / count**0.5
    pairs = full_batch_descent.spread_pairs(d) - exact**2
    assert abs(2 * (inner**2).mean() / pairs - 1) < 0.35
    assert 0.4 < (square**2).mean() / full_batch_descent.spread_fourth(d) < 1.6


@pytest.mark.parametrize(("d", "prompts"), [(1, 30), (1, 300), (2, 100), (3, 300)])
def test_means_over_prompts_leave_as_rarely_as_is_said(d: int, prompts: int) -> None:
    """|S - I| > omega, and its moments."""
    rng, runs = np.random.default_rng(d), 4000
    found = np.empty(runs)
    for i in range(runs):
        w, g = rng.normal(size=(2, prompts, d))
        X = np.einsum("ni,nj->nij", w, g).reshape(prompts, -1)
        found[i] = np.linalg.norm(X.T @ X / prompts - np.eye(d * d))
    square = full_batch_descent.spread_square(d) / prompts
    fourth = full_batch_descent.spread_pairs(d) / prompts**2 + full_batch_descent.spread_fourth(d) / prompts**3
    assert abs((found**2).mean() / square - 1) < 0.2
    # Of few prompts what is rare decides, and a sample does not have it.
    assert prompts < 100 or 0.3 < (found**4).mean() / fourth < 1.5
    with working_precision(64):
        task = (np.eye(d), np.eye(d) / 2)
        for omega in np.quantile(found, [0.5, 0.9, 0.99]):
            reached = Reached(point(task, 0.5), arb(0), fmpq(*float(omega).as_integer_ratio()), [])
            assert (found > omega).mean() < float(reached.chance(prompts)) + 4 / runs**0.5


@pytest.mark.parametrize("task", [LINE, PLANE])
@pytest.mark.parametrize("spread", ["1/5", "3/5", "3/2"])
def test_steps_from_random_points_of_a_ball_keep_the_expansion(task: tuple[Any, Any], spread: str) -> None:
    """With random forms S >= 0 that are so far from I."""
    Sigma, A = task
    d, b, rng, most = len(Sigma), 0.75, np.random.default_rng(2), float(fmpq(spread))
    F = np.linalg.cholesky(Sigma)

    def slope(A: Any, b: float, S: Any) -> Any:
        residual = F @ (S @ (F @ (b * F.T @ A @ F - np.eye(d))).ravel()).reshape(d, d) @ F.T
        return np.append((b * residual).ravel(), (A * residual).sum())

    for radius, step in ((0.05, 0.5), (0.4, 0.5), (0.4, 3.0)):
        with working_precision(64):
            bound = float(point(task, b).expansion(fmpq(*step.as_integer_ratio()), arb(radius), fmpq(spread)))
        largest = 0.0
        for _ in range(2000):
            turn = np.linalg.qr(rng.normal(size=(d * d, d * d)))[0]
            S = turn @ np.diag(np.maximum(1 + most * rng.choice([-1, 0, 1], size=d * d), 0)) @ turn.T
            e = rng.normal(size=d * d + 1)
            e *= radius * rng.uniform() ** 0.2 / np.linalg.norm(e)
            after = e - step * (slope(A + e[:-1].reshape(d, d), b + e[-1], S) - slope(A, b, S))
            largest = max(largest, float(np.linalg.norm(after) / np.linalg.norm(e)))
        assert largest <= bound * (1 + 1e-9)
        assert radius > 0.1 or most > 1 or bound < largest + 0.5


def descended(task: tuple[Any, Any], b: float, step: float, steps: int, w: Any, x: Any) -> tuple[Any, float]:
    """On infinitely long prompts."""
    Sigma, A = task
    for _ in range(steps):
        slope = long_gradients((Sigma, A), b, w, x).mean(axis=0)
        A, b = A - step * slope[:-1].reshape(A.shape), b - step * slope[-1]
    return A, b


def test_runs_end_with_the_stated_risk() -> None:
    """The certificate of four steps on the line, with a tenth of the prompts."""
    rng, risks = np.random.default_rng(4), []
    for _ in range(2000):
        w, _, x = moved(LINE, rng, 70)
        A, b = descended(LINE, 0.5, 0.4, 4, w, x)
        risks.append(float((b * A[0, 0] - 1) ** 2 / 2))
    assert np.mean(np.array(risks) > 0.0929) < 0.0501


@pytest.mark.heavy
def test_runs_on_longer_prompts_come_near_those_on_infinite_ones() -> None:
    """With the same queries and w, and prefixes of the same tokens."""
    (Sigma, A0), rng, count = PLANE, np.random.default_rng(6), 40
    w, _, x = moved(PLANE, rng, count)
    tokens = rng.normal(size=(count, 30_000, 2)) @ np.linalg.cholesky(Sigma).T
    limit, last = descended(PLANE, 0.75, 0.25, 3, w, x)
    off = []
    for length in (30, 1000, 30_000):
        A, b, seen = A0, 0.75, tokens[:, :length]
        for _ in range(3):
            scores = np.einsum("nld,nd->nl", seen, x @ A.T)
            p = np.exp(scores - scores.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            mean = np.einsum("nl,nld->nd", p, seen)
            moved_w = np.einsum("nl,nld,nle,ne->nd", p, seen, seen, w) - mean * (mean * w).sum(axis=1)[:, None]
            error = (w * (b * mean - x)).sum(axis=1)
            along_A = (b * error[:, None, None] * moved_w[:, :, None] * x[:, None, :]).mean(axis=0)
            A, b = A - 0.25 * along_A, b - 0.25 * (error * (w * mean).sum(axis=1)).mean()
        off.append(np.linalg.norm(A - limit) + abs(b - last))
    assert off[2] < off[1] < off[0]
    assert off[2] < 0.1


def risk_of(task: tuple[Any, Any], b: float) -> float:
    """Of infinite prompts."""
    Sigma, A = task
    off = b * Sigma @ A - np.eye(len(Sigma))
    return float(np.trace(off @ Sigma @ off.T) / 2)


@pytest.mark.parametrize("task", [LINE, PLANE])
def test_gradients_in_a_ball_keep_the_least_slope_and_second_derivatives_the_largest(task: tuple[Any, Any]) -> None:
    """By G' of random points of the ball, written out, and differences of gradients for a form S."""
    Sigma, A = task
    d, b, rng, F = len(Sigma), 0.9, np.random.default_rng(8), np.linalg.cholesky(task[0])
    for radius in (0.01, 0.2):
        with working_precision(64):
            at = point(task, b)
            least_slope, stiffest = float(gentlest(at, arb(radius))), float(at.stiffest(arb(radius), fmpq(1, 2)))
        least, most = np.inf, 0.0
        for _ in range(1000):
            e = rng.normal(size=d * d + 1)
            e *= radius * rng.uniform() ** 0.2 / np.linalg.norm(e)
            A1, b1 = A + e[:-1].reshape(d, d), b + e[-1]
            # G = F (b F'A F - I), by its derivatives along every entry of A and along b.
            units = np.eye(d * d).reshape(-1, d, d)
            slope = np.array([*((b1 * F @ F.T @ unit @ F).ravel() for unit in units), (F @ F.T @ A1 @ F).ravel()])
            least = min(least, np.linalg.svd(slope)[1][-1])
            S = np.eye(d * d) * 1.5
            G = F @ (b1 * F.T @ A1 @ F - np.eye(d))
            bend = np.zeros((d * d + 1, d * d + 1))
            for n, unit in enumerate(units):
                bend[n, -1] = bend[-1, n] = (F @ F.T @ unit @ F).ravel() @ S @ G.ravel()
            most = max(most, np.linalg.eigvalsh(slope @ S @ slope.T + bend)[-1])
        assert least_slope <= least * (1 + 1e-9)
        assert most <= stiffest * (1 + 1e-9)
        assert radius > 0.1 or least_slope > 0.9 * least


@pytest.mark.heavy
def test_runs_that_settle_keep_to_the_ball_and_the_rate() -> None:
    """The certificate on the line, with a fifth of the prompts: from the step of the tube on."""
    rng, task = np.random.default_rng(9), (np.eye(1), np.array([[0.75]]))
    with working_precision(64):
        start = point(task, 0.75)
        tube = full_batch_descent.follow(start, fmpq(1, 10), 18, fmpq(425, 10_000), fmpq(3, 10))
        ball = Settled(tube, fmpq(1, 10), arb(fmpq(57, 100)))
        near, rates = float(ball.reach()), [float(ball.risk(n)) for n in (0, 50, 150)]
    centre = float(tube.end.at.A.entries()[0]), float(tube.end.at.b)
    left = 0
    for _ in range(300):
        w, _, x = moved(task, rng, 200)
        found = [descended(task, 0.75, 0.1, 18 + n, w, x) for n in (0, 50, 150)]
        far = max(np.hypot(A[0, 0] - centre[0], b - centre[1]) for A, b in found)
        left += far > near or any(risk_of((task[0], A), b) > r for (A, b), r in zip(found, rates, strict=True))
    assert left / 300 < 0.05
