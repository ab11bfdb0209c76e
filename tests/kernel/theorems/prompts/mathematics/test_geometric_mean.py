"""The bound of short prompts on boxes: against Gauss-Legendre sums over tokens and queries, and simulated prompts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts.mathematics.geometric_mean import UniformOnBoxes, terms

Array = np.ndarray[Any, Any]


def exact(matrix: Array) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(*float(x).as_integer_ratio()) for x in row] for row in np.atleast_2d(matrix)])


def bound(c: Array, r: Array, U: Array, V: Array, length: int, scale: float = 1.0) -> float:
    boxes = UniformOnBoxes(
        exact(np.diag(c**2)).scaled(fmpq(1, 3)), exact(np.diag(r**2)).scaled(fmpq(1, 3)), exact(abs(U)), exact(abs(V)),
        fmpq(*float(scale**2).as_integer_ratio()),
    )  # fmt: skip
    with working_precision(64):
        found = boxes.mean_square(length)
    return np.inf if found is None else float(found)


def legendre(sizes: Array, count: int) -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(count)
    grid = np.array(list(itertools.product(*(x * c for c in sizes))))
    return grid, np.array([np.prod(each) for each in itertools.product(w / 2, repeat=len(sizes))])


def log_mgf(c: Array, u: Array) -> Array:
    t = np.where(abs(u * c) < 1e-4, 1e-4, abs(u * c))
    return np.log(np.sinh(t) / t).sum(axis=-1)


def limit(c: Array, u: Array) -> tuple[Array, Array]:
    """The tilted means and variances of the coordinates."""
    y = np.where(abs(u * c) < 1e-4, 1e-4, u * c)
    return c * (1 / np.tanh(y) - 1 / y), c**2 * (1 / y**2 - 1 / np.sinh(y) ** 2)


@pytest.mark.parametrize(("c", "r"), [(1.0, 1.0), (0.5, 2.0), (2.0, 0.6), (1.0, 1.4)])
def test_two_and_three_tokens_by_sums(c: float, r: float) -> None:
    z, masses = legendre(np.array([r]), 24)
    for length, count in ((1, 60), (2, 60), (3, 24)):
        x, weights = legendre(np.full(length, c), count)
        total = 0.0
        for query, mass in zip(z[:, 0], masses, strict=True):
            p = np.exp(query * x)
            error = (p * x).sum(axis=1) / p.sum(axis=1) - limit(np.array([c]), np.array([query]))[0][0]
            total += mass * float(weights @ error**2)
        found = bound(*map(np.array, ([c], [r], [[1.0]], [[1.0]])), length)
        assert total <= found
        # At one query and one token the geometric mean loses nothing.
        assert length > 1 or found < 1.2 * total
        assert c * r > 1.1 or found < 1.5 * total


@pytest.mark.parametrize("seed", range(8))
def test_the_steps_of_the_proof_at_random_queries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    c, V = rng.uniform(0.1, 2, d), rng.normal(size=(2, d))
    spread, parts = (V**2 @ (c**2 / 3)).sum(), abs(V) * c**2 / 3
    for length in (1, 2, 3, 7, 50):
        for a in rng.normal(size=(30, d)) * 2:
            b = -2 * a / length
            tau, _ = limit(c, a)

            def square(u: Array, tau: Array = tau) -> float:
                mean, variance = limit(c, u)
                return float((V**2 @ variance).sum() + ((V @ (mean - tau)) ** 2).sum())

            moved = ((V @ (limit(c, a + b)[0] - tau)) ** 2).sum()
            one = np.exp(log_mgf(c, 2 * a + b) + (length - 1) * log_mgf(c, b)) * square(2 * a + b) / length
            two = (1 - 1 / length) * np.exp(2 * log_mgf(c, a + b) + (length - 2) * log_mgf(c, b)) * moved
            v, drift = (c**2 / 3) @ a**2, (parts.sum(axis=1)[:, None] * parts).sum(axis=0) @ a**2
            stated = 0.0
            for weight, rate, of_spread, of_drift in terms(fmpq(1, length)):
                k, e, s, t = (float(fmpq(x).p) / float(fmpq(x).q) for x in (weight, rate, of_spread, of_drift))
                stated += k * np.exp(e * v) * (s * spread + t * drift)
            assert one + two <= stated * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_simulated_prompts_with_mixed_coordinates(seed: int) -> None:
    """U and V with signs, of which the bound sees the sizes alone."""
    rng = np.random.default_rng(seed)
    c, r = rng.uniform(0.3, 1.2, 2), rng.uniform(0.3, 1, 3)
    U, V = rng.normal(size=(2, 3)) / 2, rng.normal(size=(2, 2))
    for length in (2, 3, 8):
        x, z = rng.uniform(-1, 1, (40000, length, 2)) * c, rng.uniform(-1, 1, (40000, 3)) * r
        a = z @ U.T
        p = np.exp(np.einsum("nld,nd->nl", x, a))
        p /= p.sum(axis=1, keepdims=True)
        squares = ((np.einsum("nl,nld->nd", p, x) - limit(c, a)[0]) @ V.T) ** 2
        squares = squares.sum(axis=1)
        found = bound(c, r, U, V, length)
        assert squares.mean() - 5 * squares.std() / 200 < found < 4 * squares.mean()


@pytest.mark.parametrize("power", range(1, 12))
def test_moments_of_uniform_queries_are_below_gaussian_ones(power: int) -> None:
    double_factorial = int(np.prod(np.arange(1, 2 * power, 2)))
    assert fmpq(1, 2 * power + 1) <= double_factorial * fmpq(1, 3) ** power


def test_scores_that_vary_too_much_have_no_bound() -> None:
    one = np.array([[1.0]])
    assert bound(np.array([1.0]), np.array([2.2]), one, one, 2) == np.inf
    assert bound(np.array([1.0]), np.array([1.4]), one, one, 2) < np.inf
