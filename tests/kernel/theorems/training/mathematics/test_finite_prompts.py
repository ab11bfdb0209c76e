"""Bounds of the gap between the risks over finite and infinite prompts, beside simulations and integrals."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.enclosure import Enclosure
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.risk_transfer import (
    FinitePrompts,
    GapBounds,
    Norms,
    averages,
    bound_of_risk,
    scores,
    tube,
)

Array = np.ndarray[Any, Any]
Tool = Callable[[str], ModuleType]
BITS = 64


def exact(rows: list[list[str]]) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(*map(int, (entry + "/1").split("/")[:2])) for entry in row] for row in rows])


def at(A: Array, b: float, radius: float = 0.0) -> Enclosure:
    return Enclosure([arb(float(entry)) for entry in [*A.ravel(), b]], arb(radius))


# -- the gradient and the gap of simulated prompts are within the bounds


@pytest.mark.parametrize("length", [3, 8])
@pytest.mark.parametrize(
    ("rows", "A", "b"),
    [
        ([["1"]], [[0.7]], 0.9),
        ([["1", "1/2"], ["1/2", "5/4"]], [[0.6, 0.1], [-0.3, 0.5]], -1.1),
        ([["1/4", "0", "0"], ["0", "1", "0"], ["0", "0", "3/2"]], [[0.5, 0, 0.2], [0, 0.4, 0], [0.1, 0, 0.3]], 1.0),
    ],
    ids=["line", "plane", "space"],
)
def test_simulated_prompts_keep_to_the_bounds(rows: list[list[str]], A: Any, b: float, length: int) -> None:
    Sigma = np.array([[eval_fraction(entry) for entry in row] for row in rows])
    gap, matrix, factor, error = simulated(Sigma, np.array(A), b, length)
    with working_precision(BITS):
        prompts, point = FinitePrompts(exact(rows), fmpq(length)), at(np.array(A), b)
        bounds = prompts.gap(point)
        assert gap <= float(bounds.risk()) + error
        # R_L itself, which is R and the gap.
        assert float(prompts.root_of_risk(point)) ** 2 / 2 + gap <= float(bound_of_risk(prompts, point)) + error
        assert np.linalg.norm(matrix) <= float(bounds.gradient_of_matrix()) + error
        assert abs(factor) <= float(bounds.gradient_of_factor()) + error


def test_the_gradient_in_the_matrix_is_bounded_as_on_the_page() -> None:
    """With |x|_2 = 5, lambda = 9, b = 2, |tau|_2 = 7, |Ex|_2 = 11: 3 (4 25 7 + 2 9 11 + 3/2 4 9 7), and no brackets."""
    tau, error = Norms(arb(7), arb(8)), Norms(arb(11), arb(12))
    with working_precision(BITS):
        found = GapBounds(
            Norms(arb(5), arb(6)), arb(9), arb(2), tau, error, (arb(0), arb(1), arb(0))
        ).gradient_of_matrix()
    assert arb(found).contains(3828)
    assert arb(found).rad() < 1e-9


def eval_fraction(text: str) -> float:
    numerator, _, denominator = text.partition("/")
    return float(numerator) / float(denominator or 1)


def simulated(Sigma: Array, A: Array, b: float, length: int) -> tuple[float, Array, float, float]:
    """R_L - R, and what its gradient is, by random prompts: with tau_hat the softmax mean,
    R_L = 1/2 E|b tau_hat - x|^2."""
    rng, count, d = np.random.default_rng(5), 200_000, len(Sigma)
    root = np.linalg.cholesky(Sigma)
    tokens, x = rng.normal(size=(count, length, d)) @ root.T, rng.normal(size=(count, d)) @ root.T
    logits = np.einsum("nld,nd->nl", tokens, x @ A.T)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    mean = np.einsum("nl,nld->nd", p, tokens)
    off = b * mean - x
    spread = np.einsum("nl,nld,nl->nd", p, tokens, np.einsum("nld,nd->nl", tokens, off))
    spread -= mean * (mean * off).sum(axis=1, keepdims=True)
    tau = x @ A.T @ Sigma.T
    miss = b * tau - x
    risks = ((off**2).sum(axis=1) - (miss**2).sum(axis=1)) / 2
    slopes = (off * mean).sum(axis=1) - (miss * tau).sum(axis=1)
    matrix = (b * spread - b * miss @ Sigma.T).T @ x / count
    return float(risks.mean()), matrix, float(slopes.mean()), 5 * float(risks.std() + slopes.std()) / count**0.5


# -- the bounds beside integrals in one dimension


@pytest.mark.parametrize("length", [50, 5000])
@pytest.mark.parametrize(("A", "b", "most"), [(0.5, 0.5, 40), (1.0, 1.0, 1000), (0.1, 0.1, 5), (-0.9, 0.7, 1000)])
def test_the_gradient_of_the_gap_is_within_its_bound_and_not_far_below(
    A: float, b: float, most: float, length: int, tool: Tool
) -> None:
    line = tool("truth.risk_transfer").Line(1.0, length)
    point = np.array([A, b])
    truth = float(np.linalg.norm(line.finite_slope(point) - line.slope(point)))
    with working_precision(BITS):
        bounds = FinitePrompts(exact([["1"]]), fmpq(length)).gap(at(np.array([[A]]), b))
        assert truth <= float(bounds.gradient()) <= most * truth
        assert line.gap(point) <= float(bounds.risk())


@pytest.mark.parametrize("length", [10, 1000])
def test_averages_are_above_those_of_the_collision_probability(length: int, tool: Tool) -> None:
    truth = tool("truth.risk_transfer")
    g, weights = truth._NODES, truth._WEIGHTS
    with working_precision(BITS):
        for s in (0.1, 0.5, 1.0, 2.0):
            q, _ = truth.spread(length)(s * g**2)
            bounds = averages(fmpq(length), scores(arb(s), arb(s), 1))
            for k, bound in enumerate(bounds):
                moment = (g ** (2 * k) * weights).sum()
                assert (q * g ** (2 * k) * weights).sum() <= float(bound) * moment <= moment


def test_more_coordinates_and_longer_prompts_move_averages_the_right_way() -> None:
    with working_precision(BITS):
        few, many = (averages(fmpq(1000), scores(arb("0.4"), arb(total), 5)) for total in ("0.4", "2"))
        longer = averages(fmpq(1001), scores(arb("0.4"), arb("2"), 5))
        assert all((x < y) is True for x, y in zip(few, many, strict=True))
        assert all((x < y) is True for x, y in zip(longer, many, strict=True))
        assert averages(fmpq(1000), scores(arb(10**9), arb(10**9), 1)) == (arb(1), arb(1), arb(1))


@pytest.mark.parametrize(("total", "copies"), [("0.5", 1), ("1", 1), ("1.2", 1), ("2.5", 2), ("5", 4), ("9", 4)])
def test_copies_of_the_largest_are_enough(total: str, copies: int) -> None:
    with working_precision(BITS):
        found = scores(arb(1), arb(total), 5)
        assert found.copies <= copies
        assert ((found.copies + 1) * found.largest >= arb(total)) is True or found.copies == 4


# -- neighbourhoods


def test_bounds_over_a_ball_hold_at_its_points() -> None:
    rng = np.random.default_rng(3)
    A, b, radius = np.array([[0.6, 0.1], [-0.3, 0.5]]), 0.8, 0.2
    with working_precision(BITS):
        prompts = FinitePrompts(exact([["1", "1/2"], ["1/2", "5/4"]]), fmpq(10**6))
        ball = at(A, b, radius)
        whole = prompts.gap(ball)
        for _ in range(20):
            move = rng.normal(size=5)
            move *= 0.999 * radius / np.linalg.norm(move)
            point = at(A + move[:4].reshape(2, 2), b + float(move[4]))
            here = prompts.gap(point)
            assert (here.gradient() <= whole.gradient()) is True
            assert (prompts.root_of_risk(point) <= prompts.root_of_risk(ball)) is True
            assert (bound_of_risk(prompts, point) <= bound_of_risk(prompts, ball)) is True
            for name in ("tau", "error"):
                one, other = getattr(here, name), getattr(whole, name)
                assert (one.second <= other.second) is True
                assert (one.fourth <= other.fourth) is True


# -- the tube


def test_the_tube_holds_the_simulated_flow(tool: Tool) -> None:
    truth = tool("truth.risk_transfer")
    line, length, count = truth.Line(1.0, 5000), 5000, 0
    finite = infinite = np.array([0.25, 0.5])
    with working_precision(BITS):
        prompts = FinitePrompts(exact([["1"]]), fmpq(length))
        pieces = list(tube(prompts, [arb("0.25"), arb("0.5")], fmpq(1, 2), 15, 50))
    assert pieces[-1].last == fmpq(1, 2)
    for piece in pieces:
        while fmpq(count + 1, 100) <= piece.last:
            finite, infinite = truth._moved(line.finite_slope, finite, 0.01), truth._moved(line.slope, infinite, 0.01)
            count += 1
        assert piece.distance.closed
        assert np.linalg.norm(finite - infinite) <= float(piece.distance.reached) + 1e-6
    assert count == 50


def test_a_tube_that_cannot_be_closed_ends_there() -> None:
    with working_precision(BITS):
        pieces = list(tube(FinitePrompts(exact([["1"]]), fmpq(100)), [arb("0.5"), arb("0.5")], fmpq(5), 15, 50))
    assert all(piece.distance.closed for piece in pieces[:-1])
    assert not pieces[-1].distance.closed
    assert pieces[-1].last < 5
