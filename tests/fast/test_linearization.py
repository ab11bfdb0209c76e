"""Stages of the linearisation in doubles, and their bounds, against Arb at 300 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.fast import attention_matrix
from certattn.fast.rows import Dense
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics import linearization as in_arb
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.linearization import STAGES, Stage
from certattn.kernel.mathematics.reals import Real, real_root

Array = np.ndarray[Any, Any]
BITS = 300


def exact(array: Array) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(*float(x).as_integer_ratio()) for x in row] for row in array])


def distance(values: Array, rows: list[list[arb]]) -> arb:
    """|values - rows|_F."""
    total = arb(0)
    for row, balls in zip(values.tolist(), rows, strict=True):
        for value, ball in zip(row, balls, strict=True):
            total += (ball - value) ** 2
    return total.nonnegative_part().sqrt()


# What |q_i|^2 is taken times, so that c_i is not large.
RATES = {
    "usual": fmpq(1, 12), "integers": fmpq(1, 12 * 4096), "steep": fmpq(1, 100), "raised": fmpq(1, 1000),
    "far": fmpq(1, 12),
}  # fmt: skip


def tokens(name: str) -> tuple[Array, Array, Real]:
    """Queries, keys and scale: usual ones, long sums that round, scores far from each other, and far from 0."""
    rng = np.random.default_rng(7)
    queries, keys = rng.standard_normal((9, 6)), rng.standard_normal((9, 6))
    if name == "integers":
        return np.rint(queries * 64), np.rint(keys * 64), fmpq(1, 4096)
    if name == "steep":
        return queries * 8, keys * 8, real_root(fmpq(1, 6))
    if name == "raised":
        # Scores of -900 and less beside 0: weights that are raised to 2^-1000.
        return np.abs(queries) * 30, np.vstack([np.zeros((1, 6)), -np.abs(keys[1:]) * 30]), fmpq(1, 2)
    if name == "far":
        return queries, keys + 1e6, fmpq(1, 10**4)
    return queries, keys, real_root(fmpq(1, 6))


@pytest.mark.parametrize("name", RATES)
def test_every_stage_is_within_its_error(name: str) -> None:
    queries, keys, scale = tokens(name)
    with working_precision(BITS):
        true = in_arb.parts(exact(queries), exact(keys), scale, RATES[name])
        found = attention_matrix.parts(queries, keys, scale, RATES[name])
        for wanted, ball in zip(true.excess, found.excess, strict=True):
            assert ball.contains(wanted)
            assert ball.rad() < (1 + abs(ball).upper()) * arb(10) ** (-11 if name in ("usual", "integers") else -8)
        for stage in STAGES.values():
            dense = found.stage(stage)
            assert distance(dense.values, true.rows(stage)) <= arb(dense.error)
            size = float(np.linalg.norm(dense.values)) + float(np.linalg.norm(found.linear.values))
            assert dense.error < size * (1e-12 if name in ("usual", "integers") else 1e-7)


@pytest.mark.parametrize("name", RATES)
def test_normalisers_are_within_their_radii(name: str) -> None:
    queries, keys, scale = tokens(name)
    _, known = attention_matrix.normalised(queries, keys, scale, centred=True, causal=False)
    with working_precision(BITS):
        scores = (exact(queries) @ exact(keys).T).to_rows()
        factor = in_arb.scale_ball(scale)
        for i, row in enumerate(scores):
            true = sum(((factor * score).exp() for score in row), arb(0)) * arb(2) ** -int(known.exponents[i])
            assert abs(true - arb(float(known.sums[i]))) <= arb(float(known.radii[i]))


def test_errors_of_sums_reach_the_linear_part() -> None:
    """Scores near 10^2 with entries near 10^6: without the error of the products the bound would be too small."""
    queries, keys, scale = tokens("far")
    with working_precision(BITS):
        true = in_arb.linear_part(exact(queries), exact(keys), scale)
        found = attention_matrix.linear_part(queries, keys, scale)
        # What is off is far more than u of the values.
        assert distance(found.values, true) > arb(2.0**-53) * float(np.linalg.norm(found.values))
        assert distance(found.values, true) <= arb(found.error)


@pytest.mark.parametrize("part", ["attention", "linear", "excess"], ids=["error of M", "error of L", "radius of tbar"])
def test_every_error_counts_in_a_combination(part: str) -> None:
    stage, values = Stage(1, 1, -1), np.array([[3.0, -4.0], [0.0, 0.0]])
    excess = [arb(1, 0.5 if part == "excess" else 0), arb(1)]
    attention = Dense(values, 0.25 if part == "attention" else 0.0)
    linear = Dense(values, 0.125 if part == "linear" else 0.0)
    found = attention_matrix.combined(stage, excess, attention, linear)
    least = {"attention": 2 * 0.25, "linear": 0.125, "excess": 0.5 * 5}[part]
    assert least <= found.error <= least * 1.001
    assert found.values.tolist() == values.tolist()


@pytest.mark.parametrize("excess", [arb.nan(), arb.pos_inf(), arb(2) ** 500])
def test_normalisers_that_are_too_large_are_refused(excess: arb) -> None:
    dense = Dense(np.eye(2), 0.0)
    with pytest.raises(RefusedError, match="normalisers"):
        attention_matrix.combined(Stage(1, 1, 0), [excess, excess], dense, dense)


def test_scores_that_are_too_large_are_refused() -> None:
    with pytest.raises(RefusedError):
        attention_matrix.linear_part(np.full((2, 1), 2.0**300), np.array([[1.0], [2.0**200]]), fmpq(1))


@pytest.mark.parametrize("size", [3, 6, 7, 100])
def test_equal_scores_are_centred_up_to_the_rounding_of_their_mean(size: int) -> None:
    scores = np.full((1, size), 0.1)
    values, errors = attention_matrix._centred(scores, np.zeros(1))
    # The mean of equal numbers is the number, so that all of what is left is error.
    assert np.linalg.norm(values) <= errors[0]
    assert errors[0] >= size * 2.0**-53 * 0.1
