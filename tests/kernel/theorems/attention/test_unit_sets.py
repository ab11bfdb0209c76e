"""Suprema over balls, cubes and simplices: never below what points of the set give, and often equal to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.attention.cells import BALL, CUBE, SIMPLEX, ClippedCube

Array = np.ndarray[Any, Any]
# A sampled value may exceed the true one by the rounding of doubles.
ROUNDING = 1 + 1e-12


def balls(table: Array) -> arb_mat:
    return arb_mat([[arb(float(entry)) for entry in row] for row in table])


def row(entries: Array) -> list[arb]:
    return [arb(float(entry)) for entry in entries]


def value(bound: arb) -> float:
    assert bound.is_finite()
    return float(bound.mid())


def sample(name: str, size: int, draw: np.random.Generator, count: int = 4000) -> Array:
    """Points of a unit set, corners and ends among them."""
    x = draw.normal(size=(count, size))
    if name == "ball":
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
    if name == "cube":
        return np.asarray(np.sign(x) * np.where(draw.random(x.shape) < 0.7, 1, draw.random(x.shape)))
    x = draw.exponential(size=(count, size)) * (draw.random((count, size)) < 0.6)
    x = np.vstack([np.eye(size), x[x.sum(1) > 0]])
    return np.asarray(x / x.sum(1, keepdims=True))


SETS = {"ball": BALL, "cube": CUBE, "simplex": SIMPLEX}


def size_of(vectors: Array, norm: str) -> Array:
    return np.linalg.norm(vectors, axis=-1) if norm == "l2" else np.abs(vectors).max(-1)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_no_point_of_the_set_goes_beyond(name: str, size: int) -> None:
    draw, unit = np.random.default_rng(size), SETS[name]
    points = sample(name, size, draw)
    for _ in range(5):
        a, d, B = draw.normal(size=size), draw.normal(size=3), draw.normal(size=(3, size))
        S = draw.normal(size=(4, size, size))
        S = S + S.transpose(0, 2, 1)
        reached = np.abs(points @ a).max()
        assert reached <= value(unit.reach(row(a))) * ROUNDING
        forms = np.abs(np.einsum("ni,jik,nk->nj", points, S, points))
        for j in range(4):
            assert forms[:, j].max() <= value(unit.form(balls(S[j]))) * ROUNDING
        for norm in ("l2", "linf"):
            sizes = size_of(d + points @ B.T, norm)
            assert sizes.max() <= value(unit.affine(row(d), balls(B), norm)) * ROUNDING
            pairs = [[balls(S[0]), balls(S[1])], [balls(S[2]), balls(S[3])]]
            sums = np.stack([forms[:, 0] + forms[:, 1], forms[:, 2] + forms[:, 3]], axis=1)
            assert size_of(sums, norm).max() <= value(unit.forms(pairs, norm)) * ROUNDING


def test_what_is_reached_exactly() -> None:
    """Linear functions everywhere; affine maps over a simplex, and in linf; positive quadratic forms of a diagonal."""
    draw = np.random.default_rng(0)
    for size in (1, 2, 5):
        a, d, B = draw.normal(size=size), draw.normal(size=2), draw.normal(size=(2, size))
        assert value(BALL.reach(row(a))) == pytest.approx(np.linalg.norm(a))
        assert value(CUBE.reach(row(a))) == pytest.approx(np.abs(a).sum())
        assert value(SIMPLEX.reach(row(a))) == pytest.approx(np.abs(a).max())
        assert value(BALL.affine(row(d), balls(B), "linf")) == pytest.approx((abs(d) + np.linalg.norm(B, axis=1)).max())
        assert value(CUBE.affine(row(d), balls(B), "linf")) == pytest.approx((abs(d) + np.abs(B).sum(1)).max())
        for norm in ("l2", "linf"):
            largest = size_of(d + B.T, norm).max()
            assert value(SIMPLEX.affine(row(d), balls(B), norm)) == pytest.approx(largest)
        spread = np.diag(np.abs(a))
        assert value(CUBE.form(balls(spread))) == pytest.approx(np.abs(a).sum())
        assert value(SIMPLEX.form(balls(spread))) == pytest.approx(np.abs(a).max())


@pytest.mark.parametrize("size", [1, 2, 8, 30])
def test_the_largest_eigenvalue_of_a_ball_is_met_closely(size: int) -> None:
    draw = np.random.default_rng(size)
    S = draw.normal(size=(size, size))
    for matrix in (S + S.T, S @ S.T, np.eye(size), -np.eye(size), np.zeros((size, size)), 1e-200 * (S + S.T)):
        largest = np.abs(np.linalg.eigvalsh(matrix)).max()
        bound = value(BALL.form(balls(matrix)))
        assert largest <= bound * ROUNDING
        assert bound <= largest * size ** (1 / 1024) * ROUNDING
    everywhere = np.full((size, size), 3.0)
    assert value(BALL.form(balls(everywhere))) == pytest.approx(3 * size)


def test_an_orthogonal_slope_over_a_ball() -> None:
    """|d + x| over the unit ball is |d| + 1, and that is what comes out."""
    d = np.array([3.0, 4.0])
    assert value(BALL.affine(row(d), balls(np.eye(2)), "l2")) == pytest.approx(6, rel=1e-3)


def test_a_clipped_cube_takes_the_smaller_of_two_bounds() -> None:
    draw = np.random.default_rng(3)
    half = fmpq(1, 2)
    for middle in ((half, half), (fmpq(3, 4), fmpq(-1, 4)), (fmpq(0), fmpq(0))):
        halves = (fmpq(1, 4), half)
        unit = ClippedCube(middle, halves)
        m, h = (np.array([int(e.p) / int(e.q) for e in entries]) for entries in (middle, halves))
        x = draw.uniform(-1, 1, size=(20000, 2))
        x = x[np.linalg.norm(m + h * x, axis=1) <= 1]
        for _ in range(10):
            d, B = draw.normal(size=2), draw.normal(size=(2, 2))
            for norm in ("l2", "linf"):
                bound = value(unit.affine(row(d), balls(B), norm))
                assert size_of(d + x @ B.T, norm).max() <= bound * ROUNDING
                assert bound <= value(CUBE.affine(row(d), balls(B), norm)) * ROUNDING
    # The whole square around the disc: the disc decides.
    around = ClippedCube((fmpq(0), fmpq(0)), (fmpq(1), fmpq(1)))
    assert value(around.affine(row(np.zeros(2)), balls(np.eye(2)), "l2")) == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("unit", [BALL, CUBE, SIMPLEX])
def test_what_is_no_number_bounds_nothing(unit: Any) -> None:
    for bad in (arb("nan"), arb("+inf")):
        assert unit.reach([arb(1), bad]).is_finite() is False
        assert unit.form(arb_mat([[bad, arb(0)], [arb(0), arb(1)]])).is_finite() is False
        for norm in ("l2", "linf"):
            assert unit.affine([bad, arb(1)], balls(np.eye(2)), norm).is_finite() is False
            assert unit.affine(row(np.ones(2)), arb_mat([[bad, arb(0)], [arb(0), arb(1)]]), norm).is_finite() is False
            assert unit.forms([[arb_mat([[bad]])], [arb_mat([[1]])]], norm).is_finite() is False


def test_more_bits_change_a_bound_by_rounding_only() -> None:
    draw = np.random.default_rng(1)
    d, B = draw.normal(size=3), draw.normal(size=(3, 4))
    for unit in (BALL, CUBE, SIMPLEX):
        with working_precision(64):
            rough = unit.affine(row(d), balls(B), "l2")
        with working_precision(256):
            fine = unit.affine(row(d), balls(B), "l2")
            assert rough.overlaps(fine)
            assert fine.rad() < arb(2) ** -200
