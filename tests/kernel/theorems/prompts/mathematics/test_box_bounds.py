"""Bounds over boxes: against Gauss-Legendre sums and simulated prompts at random queries, never below them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from flint import arb

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts.mathematics.over_queries import BoxBounds, TokenBox

Array = np.ndarray[Any, Any]


def token_box(sizes: Array, tilts: Array, V: Array) -> TokenBox:
    return TokenBox([arb(c) for c in sizes], [arb(a) for a in tilts], [[arb(abs(v)) for v in row] for row in V])


def numbers(bounds: BoxBounds) -> tuple[float, float, float]:
    return tuple(float(arb(x).mid()) for x in (bounds.second_weight, bounds.second_moment, bounds.largest))  # type: ignore[return-value]


def nodes(sizes: Array) -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(40)
    grid = np.array(list(itertools.product(*(x * c for c in sizes))))
    return grid, np.array([np.prod(each) for each in itertools.product(w / 2, repeat=len(sizes))])


def tilted(sizes: Array, a: Array) -> tuple[Array, Array, Array, Array]:
    """Tokens, their probabilities, weights w, and the tilted mean."""
    grid, masses = nodes(sizes)
    w = np.exp(grid @ a)
    w = w / (masses @ w)
    return grid, masses, w, (masses * w) @ grid


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(12))
def test_moments_are_bounded_at_every_query(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes, tilts, V = rng.uniform(0, 2, 2), rng.uniform(0, 3, 2), rng.normal(size=(2, 2))
    with working_precision(64):
        box = token_box(sizes, tilts, V)
        weight, moment, largest = numbers(box.output())
        _, spread, most = numbers(box.covariance(arb(1)))
    for _ in range(30):
        a = tilts * rng.choice([rng.uniform(-1, 1, 2), rng.choice([-1.0, 1.0], 2)])
        grid, masses, w, tau = tilted(sizes, a)
        y = grid - tau
        C = (masses * w * y.T) @ y
        assert masses @ w**2 <= weight * (1 + 1e-9)
        assert (masses * w**2) @ ((y @ V.T) ** 2).sum(axis=1) <= moment * (1 + 1e-9)
        assert ((y @ V.T) ** 2).sum(axis=1).max() <= largest * (1 + 1e-9)
        off = np.einsum("ri,ni,nj->nrj", V, y, y) - V @ C
        assert 2 * (masses * w**2) @ (off**2).sum(axis=(1, 2)) <= spread * (1 + 1e-9)
        assert ((V @ C) ** 2).sum() <= most


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("length", [1, 2, 9, 60])
def test_simulated_mean_squares_are_bounded(seed: int, length: int) -> None:
    rng = np.random.default_rng(100 + seed)
    sizes, tilts, V = rng.uniform(0.2, 2, 2), rng.uniform(0, 3, 2), rng.normal(size=(1, 2))
    a = tilts * rng.choice([-1.0, 1.0], 2)
    grid, masses, w, tau = tilted(sizes, a)
    C = (masses * w * (grid - tau).T) @ (grid - tau)
    x = rng.uniform(-1, 1, (4000, length, 2)) * sizes
    p = np.exp(x @ a)
    p /= p.sum(axis=1, keepdims=True)
    mean = np.einsum("nl,nld->nd", p, x)
    second = np.einsum("nl,nli,nlj->nij", p, x, x) - np.einsum("ni,nj->nij", mean, mean)
    errors = (((mean - tau) @ V.T) ** 2).sum(axis=1), ((V @ (second - C)) ** 2).sum(axis=(1, 2))
    with working_precision(64):
        box = token_box(sizes, tilts, V)
        for bounds, squares in zip((box.output(), box.covariance(arb(1))), errors, strict=True):
            for t in (0.1, 0.5, 0.9):
                assert squares.mean() <= float(bounds.mean_square(arb(length), arb(t)).upper())
            assert squares.max() <= float(bounds.largest.upper()) * (1 + 1e-9)


def test_tokens_that_do_not_vary_have_no_error() -> None:
    with working_precision(64):
        bounds = token_box(np.zeros(2), np.ones(2), np.ones((1, 2))).output()
        assert bounds.mean_square(arb(5), arb(0.5)) == 0
        assert bounds.second_weight == 1


def test_weights_that_do_not_vary_are_exact() -> None:
    """At tilt 0 the second moment is that of the uniform law, sum c^2 / 3, and R_2 is 1."""
    with working_precision(64):
        bounds = token_box(np.array([1.0, 2.0]), np.zeros(2), np.eye(2)).output()
        assert bounds.second_weight == 1
        assert abs(bounds.second_moment - arb(5) / 3) < 1e-15
        assert bounds.largest == 5


@pytest.mark.parametrize("seed", range(6))
def test_no_covariance_is_further_off_than_the_largest(seed: int) -> None:
    """That of two tokens in opposite corners, where all of V pulls one way, is the largest that there is."""
    rng = np.random.default_rng(200 + seed)
    sizes, tilts, V = rng.uniform(0.2, 5, 2), rng.uniform(0, 1, 2), rng.normal(size=(1, 2))
    corner = sizes * np.sign(V[0])
    with working_precision(64):
        largest = numbers(token_box(sizes, tilts, V).covariance(arb(1)))[2]
    for signs in itertools.product([-1.0, 1.0], repeat=2):
        grid, masses, w, tau = tilted(sizes, tilts * signs)
        C = (masses * w * (grid - tau).T) @ (grid - tau)
        assert ((V @ (np.outer(corner, corner) - C)) ** 2).sum() <= largest
