"""Exact moments of norms of a mean's and a covariance's error, against other ways to compute them."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.theorems.prompts.mathematics.covariance_error import covariance_mean_square, covariance_shape
from certattn.kernel.theorems.prompts.mathematics.norm_moments import (
    PowerSumTerms,
    covariance_norm_moment,
    degree_of,
    linear_forms,
    mean_norm_moment,
    mean_of,
)

_BITS = 96


def matrix(rows: list[list[str]]) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(*map(int, (f"{x}/1").split("/")[:2])) for x in row] for row in rows])


COVARIANCE = matrix([["1", "1/2", "0"], ["1/2", "2", "1/3"], ["0", "1/3", "1"]])
VALUES = matrix([["1", "-1", "0"], ["0", "1/2", "2"]])
BASE = matrix([["1/2", "1/4", "-1/3"]])
FACTOR = fmpq(3, 2)


def variance(covariance: ExactMatrix, base: ExactMatrix, factor: fmpq) -> fmpq:
    return factor * (base @ covariance @ base.T).entry(0, 0)


def value(terms: PowerSumTerms, length: int, of: fmpq) -> arb:
    with working_precision(_BITS):
        return mean_of(terms, PowerSums(length, of, degree_of(terms), _BITS))


def doubles(given: ExactMatrix) -> np.ndarray:  # type: ignore[type-arg]
    return np.array([[float(x.p) / float(x.q) for x in row] for row in given.to_rows()])


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_powers_of_a_norm_are_sums_of_powers_of_linear_forms(order: int, size: int) -> None:
    draw = random.Random(size)
    x = [fmpq(draw.randint(-9, 9), draw.randint(1, 9)) for _ in range(size)]
    found = sum(c * sum(s * x[i] for i, s in f.items()) ** order for c, f in linear_forms(order, size))
    assert found == sum(y * y for y in x) ** (order // 2)


@pytest.mark.parametrize("length", [1, 2, 50])
def test_the_second_moment_is_the_mean_square(length: int) -> None:
    """Against the closed formula of `covariance_error`, found by hand."""
    of = variance(COVARIANCE, BASE, FACTOR)
    found = value(covariance_norm_moment(COVARIANCE, VALUES, BASE, FACTOR, 2), length, of)
    with working_precision(_BITS):
        shape = covariance_shape(COVARIANCE, VALUES, BASE, FACTOR)
        known = covariance_mean_square(shape, PowerSums(length, of, 8, _BITS).mean)
    assert found.overlaps(known)
    assert found.rel_accuracy_bits() > 30


def test_one_token_has_the_covariance_zero() -> None:
    """So the error is Gamma itself, and |V Gamma|^4 its moment, to the last digit."""
    of = variance(COVARIANCE, BASE, FACTOR)
    found = value(covariance_norm_moment(COVARIANCE, VALUES, BASE, FACTOR, 4), 1, of)
    moved = VALUES @ COVARIANCE
    assert found.overlaps(arb((moved @ moved.T).trace() ** 2))
    assert found.rel_accuracy_bits() > 60


def test_one_token_deviates_as_a_normal_does() -> None:
    """E |N(c, K)|^4 = (|c|^2 + tr K)^2 + 2 tr K^2 + 4 c'K c with c = -V b."""
    of = variance(COVARIANCE, BASE, FACTOR)
    found = value(mean_norm_moment(COVARIANCE, VALUES, BASE, FACTOR, 4), 1, of)
    spread = VALUES @ COVARIANCE @ VALUES.T
    c = BASE @ COVARIANCE @ VALUES.T
    square, along = FACTOR * (c @ c.T).entry(0, 0), FACTOR * (c @ spread @ c.T).entry(0, 0)
    assert found.overlaps(arb((square + spread.trace()) ** 2 + 2 * (spread @ spread).trace() + 4 * along))


@pytest.mark.parametrize("order", [2, 4])
def test_two_tokens_by_quadrature(order: int) -> None:
    """d = 1: C_2 = p (1 - p) (x_1 - x_2)^2."""
    gamma, a = fmpq(3, 2), fmpq(2, 3)
    terms = covariance_norm_moment(matrix([["3/2"]]), matrix([["2"]]), matrix([["2/3"]]), fmpq(1), order)
    found = value(terms, 2, a * a * gamma)
    x, weight = np.polynomial.hermite_e.hermegauss(120)
    weight = weight / math.sqrt(2 * math.pi)
    difference = math.sqrt(3) * x  # x_1 - x_2 is normal of variance 2 Gamma
    p = 1 / (1 + np.exp(-2 / 3 * difference))
    known = float(weight @ (2 * (p * (1 - p) * difference**2 - 1.5)) ** order)
    assert float(found) == pytest.approx(known, rel=1e-7)


@pytest.mark.heavy
@pytest.mark.parametrize(("order", "of_mean"), [(2, False), (4, False), (2, True), (4, True), (6, True), (8, True)])
def test_simulated_prompts_agree(order: int, of_mean: bool) -> None:
    """d = 3, with 400,000 prompts of 12 tokens: within four standard errors."""
    moment = mean_norm_moment if of_mean else covariance_norm_moment
    terms = moment(COVARIANCE, VALUES, BASE, FACTOR, order)
    found = float(value(terms, 12, variance(COVARIANCE, BASE, FACTOR)))
    draw, gamma, V = np.random.default_rng(order), doubles(COVARIANCE), doubles(VALUES)
    tilt = math.sqrt(1.5) * doubles(BASE)[0]
    root = np.linalg.cholesky(gamma)
    norms = []
    for _ in range(8):
        x = draw.standard_normal((50_000, 12, 3)) @ root.T
        p = np.exp(x @ tilt)
        p /= p.sum(1, keepdims=True)
        mean = np.einsum("nl,nli->ni", p, x)
        if of_mean:
            norms.append(np.linalg.norm((mean - gamma @ tilt) @ V.T, axis=1))
        else:
            y = x - mean[:, None]
            error = np.einsum("nl,nli,nlj->nij", p, y, y) - gamma
            norms.append(np.linalg.norm(V @ error, axis=(1, 2)))
    powers = np.concatenate(norms) ** order
    assert abs(powers.mean() - found) < 4 * powers.std() / math.sqrt(len(powers))


def test_equal_weights_have_a_wishart_error() -> None:
    """Without a tilt C_L is a sample covariance: E |C_L - 1|^4 for d = 1 from moments of chi-square."""
    terms = covariance_norm_moment(matrix([["1"]]), matrix([["1"]]), matrix([["0"]]), fmpq(1), 4)
    found, length = value(terms, 10, fmpq(0)), fmpq(10)
    # C = chi^2_9 / 10, with moments 9, 9*11, 9*11*13, 9*11*13*15 of chi^2_9.
    m = [fmpq(1), 9 / length, 99 / length**2, 1287 / length**3, 19305 / length**4]
    assert found.overlaps(arb(m[4] - 4 * m[3] + 6 * m[2] - 4 * m[1] + 1))
