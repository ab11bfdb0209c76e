"""Rates of training against runs of descent and flow in doubles, and points where the bounds are met."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq, fmpz_mat

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.regression import regression_of_balls, squared_factor
from certattn.kernel.theorems.training.training_convergence import (
    CovarianceConstants,
    DescentRates,
    FlowRates,
    RegressionStep,
    covariance_constants,
    length_below,
    risk_after,
)

Array = np.ndarray[Any, Any]
_ROOM = 1 + 1e-9


def exact(matrix: Array, places: int = 20) -> ExactMatrix:
    rows, columns = matrix.shape
    return ExactMatrix(fmpz_mat(rows, columns, [round(x * 2**places) for x in matrix.ravel().tolist()]), 2**places)


def risk(S: Array, A: Array, b: float) -> float:
    E = b * S @ A - np.eye(len(S))
    return float(np.trace(E @ S @ E.T)) / 2


def gradient(S: Array, A: Array, b: float) -> tuple[Array, float]:
    Q = S @ (b * S @ A - np.eye(len(S))) @ S
    return b * Q, float((A * Q).sum())


def instance(draw: np.random.Generator) -> tuple[Array, Array, float, CovarianceConstants]:
    """Sigma, A and b near a Bayes point, and the constants of Sigma."""
    size = int(draw.integers(1, 5))
    X = draw.normal(size=(size, size))
    S = np.round((X @ X.T * draw.uniform(0.2, 2) + 0.1 * np.eye(size)) * 2**20) / 2**20
    b = float(draw.normal() * 2)
    A = np.linalg.inv(S) / b * draw.uniform(0.5, 1.5) + draw.normal(size=(size, size)) * draw.uniform(0, 0.3)
    with working_precision(64):
        return S, A, b, covariance_constants(exact(S))


def number(value: Any) -> float:
    return float(value.mid())


def test_the_constants_are_those_of_the_eigenvalues() -> None:
    for seed in range(20):
        S, _, _, found = instance(np.random.default_rng(seed))
        s = np.linalg.eigvalsh(S)
        expected = (s[0], s[-1], s.sum(), (s**4).sum(), (s**-2).sum(), (s**-5).sum())
        assert np.allclose([number(x) for x in vars(found).values()], expected, rtol=1e-7)


def test_the_product_lies_between_its_bounds_which_are_met() -> None:
    nearest = float("inf")
    for seed in range(300):
        S, A, b, constants = instance(np.random.default_rng(seed))
        R, product = arb(risk(S, A, b)), abs(b) * float(np.linalg.norm(A))
        least, most = (number(f(R)) for f in (constants.least_product, constants.largest_product))
        assert least <= product * _ROOM
        assert product <= most * _ROOM
        nearest = min(nearest, most - product, product - least if least > 0 else nearest)
        assert product**2 == pytest.approx(b**2 * (b**2 + (A**2).sum() - b**2))
        assert number(squared_factor(arb((A**2).sum() - b**2), arb(product))) == pytest.approx(b**2, rel=1e-4)
    # In dimension 1 both are exact.
    assert nearest < 1e-9


def test_two_bounds_of_the_product_are_sharper_than_the_plain_one() -> None:
    """(sqrt(tr Sigma) - r) / lam^(3/2) is never better."""
    for seed in range(100):
        _, _, _, constants = instance(np.random.default_rng(seed))
        for share in (0.01, 0.3, 0.9):
            R = constants.trace * share / 2
            plain = (constants.trace.sqrt() - (2 * R).sqrt()) / constants.largest.sqrt() / constants.largest
            assert number(plain) <= number(constants.least_product(R)) * _ROOM


@pytest.mark.heavy
def test_descent_keeps_every_bound() -> None:
    runs, shortest = 0, np.inf
    for seed in range(120):
        draw = np.random.default_rng(seed)
        S, A, b, constants = instance(draw)
        first = risk(S, A, b)
        delta = float((A**2).sum()) - b * b
        eta, rates = 1.0, None
        for _ in range(60):
            rates = DescentRates(constants, arb(delta), arb(eta), arb(first))
            if eta * number(rates.smoothness(arb(first))) <= 1:
                break
            eta *= 0.8
        assert rates is not None
        if eta * number(rates.smoothness(arb(first))) > 1:
            continue
        share, least = number(rates.share(arb(first))), number(rates.least_square(arb(first)))
        if least <= 0 or first < 1e-9:
            continue
        runs += 1
        R, sign, travelled = first, np.sign(b), 0.0
        length = number(rates.length(arb(first)))
        for _ in range(150):
            factor = number(rates.factor(arb(R)))
            slope, dot = gradient(S, A, b)
            size = float((slope**2).sum()) + dot**2
            A, b, travelled = A - eta * slope, b - eta * dot, travelled + eta * size**0.5
            after = risk(S, A, b)
            if 1e-12 * first < R:
                assert after <= R * factor * _ROOM
                assert after <= (R - eta * share * size) * _ROOM + 1e-14
            room = 1e-12 * (1 + abs(delta) + b * b)
            assert abs(float((A**2).sum()) - b * b - delta) <= eta / share * (first - after) * _ROOM + room
            assert b * sign > 0
            assert b * b >= least / _ROOM
            assert b * b <= number(rates.largest_square(arb(first))) * _ROOM
            R = after
        assert travelled <= length * _ROOM
        shortest = min(shortest, length / travelled)
    assert runs > 50
    assert shortest < 2


def test_the_flow_keeps_every_bound() -> None:
    for seed in range(30):
        S, A, b, constants = instance(np.random.default_rng(seed))
        delta = float((A**2).sum()) - b * b
        rates = FlowRates(constants, arb(delta))
        first = risk(S, A, b)
        if number(rates.rate(arb(first))) <= 1e-6:
            continue
        bound, travelled = number(length_below(arb(first), rates.rate)), 0.0
        h = 0.02 / (np.linalg.eigvalsh(S)[-1] ** 3 * (float((A**2).sum()) + b * b) + 1)
        for k in range(400):
            if k % 50 == 0:
                after = risk_after(fmpq(*(k * float(h)).as_integer_ratio()), arb(first), rates.decay, whole=False)
                assert risk(S, A, b) <= number(after) * (1 + 0.05)
                slope, dot = gradient(S, A, b)
                size = float((slope**2).sum()) + dot**2
                assert size >= number(rates.decay(arb(risk(S, A, b)))) * risk(S, A, b) * 0.99 - 1e-14
            slope, dot = gradient(S, A, b)
            travelled += h * (float((slope**2).sum()) + dot**2) ** 0.5
            A, b = A - h * slope, b - h * dot
        assert travelled <= bound * (1 + 0.05)


def test_where_delta_is_negative_no_risk_is_too_large() -> None:
    constants = CovarianceConstants(*(arb(1),) * 6)
    rates = FlowRates(constants, arb(-2))
    assert number(rates.rate(arb(100))) == 2
    assert number(FlowRates(constants, arb(0)).rate(arb(100))) == 0


def test_levels_go_in_whole_steps_for_descent_and_never_back() -> None:
    decay = lambda level: level / level / 3  # noqa: E731 - a constant rate of 1/3
    bounds = [number(risk_after(fmpq(k), arb(1), decay, whole=True)) for k in range(40)]
    assert bounds == sorted(bounds, reverse=True)
    exact_ones = [np.exp(-k / 3) for k in range(40)]
    assert all(bound >= true / _ROOM for bound, true in zip(bounds, exact_ones, strict=True))
    assert number(risk_after(fmpq(39), arb(1), decay, whole=False)) == pytest.approx(exact_ones[39])
    assert number(length_below(arb(1), lambda level: arb(2))) == pytest.approx(1, rel=1e-9)


def test_a_step_expands_distances_by_no_more_than_its_bound() -> None:
    draw = np.random.default_rng(5)
    for _ in range(40):
        S, A, b, constants = instance(draw)
        size = len(S)
        with working_precision(64):
            step = RegressionStep(regression_of_balls(exact(S)), constants.largest, arb("0.01"))
            first = [*(arb(x) for x in A.ravel().tolist()), arb(b)]
            other = [x + arb(float(e)) for x, e in zip(first, draw.normal(size=size * size + 1) * 0.1, strict=True)]
            factor = number(step.expansion([x.union(y) for x, y in zip(first, other, strict=True)], arb(0)))
            moved = np.array([number(x - y) for x, y in zip(step.of(first).centre, step.of(other).centre, strict=True)])
            before = np.array([number(x - y) for x, y in zip(first, other, strict=True)])
        assert np.linalg.norm(moved) <= factor * np.linalg.norm(before) * _ROOM
        slope, dot = gradient(S, A, b)
        expected = [*(A - 0.01 * slope).ravel(), b - 0.01 * dot]
        assert np.allclose([number(x) for x in step.of(first).centre], expected, atol=1e-4 * np.abs(expected).max())
