"""Suprema over balls, cubes and simplices: never below what points of the set give, and often equal to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, fmpq, fmpz, fmpz_mat

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.attention.quadratic_forms import QuadraticForms, moments
from certattn.kernel.theorems.attention.unit_sets import BALL, CUBE, SIMPLEX, ClippedCube

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


def forms_of(matrices: Array) -> QuadraticForms:
    """Matrices that are stored exactly."""
    size = matrices.shape[1]
    rows = [[fmpz(int(matrix[k, m] * 2.0**200)) for k in range(size) for m in range(k, size)] for matrix in matrices]
    return QuadraticForms(size, fmpz_mat(rows), arb(2) ** -200, arb(0))


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
            sums = np.stack([forms[:, 0] + forms[:, 1], forms[:, 2] + forms[:, 3]], axis=1)
            assert (
                size_of(sums, norm).max()
                <= value(unit.forms(forms_of(S[[0, 2]]), forms_of(S[[1, 3]]), norm)) * ROUNDING
            )


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
            known, unknown = moments([[arb(1)]], [bad], [[arb(1)]], [[bad]])
            assert unit.forms(unknown, known, norm).is_finite() is False
            assert unit.forms(known, unknown, norm).is_finite() is False


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


# -- vectors of quadratic forms, in integers


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("bits", [2, 20, 64, 130])
def test_moments_hold_the_exact_sums(size: int, bits: int) -> None:
    """Rows and factors of very different sizes, in more than one chunk."""
    draw = np.random.default_rng(size + bits)
    a = draw.normal(size=(30, size)) * 10.0 ** draw.integers(-6, 6, size=(30, 1))
    groups = [draw.normal(size=(lines, 30)) * 10.0 ** draw.integers(-9, 3, size=(lines, 30)) for lines in (1, 3)]
    with working_precision(bits):
        about = row(np.abs(a).max(axis=1) * draw.choice([0, 1e-3, 1, 7], size=30))
        found = moments(balls(a).tolist(), about, *(balls(group).tolist() for group in groups))
        tables = [[forms.matrix(j).tolist() for j in range(forms.count)] for forms in found]
        bounds = [list(zip(forms.sizes(), forms.norms(), strict=True)) for forms in found]
    exact = [[fmpq(*float(entry).as_integer_ratio()) for entry in line] for line in a]
    with working_precision(2000):
        for group, matrices, sizes in zip(groups, tables, bounds, strict=True):
            for factors, matrix, (total, norm) in zip(group, matrices, sizes, strict=True):
                weights = [fmpq(*float(entry).as_integer_ratio()) for entry in factors]
                truth = [[sum((w * line[k] * line[m] for w, line in zip(weights, exact, strict=True)), fmpq(0))
                          for m in range(size)] for k in range(size)]  # fmt: skip
                entries = [entry for line in truth for entry in line]
                assert all(matrix[k][m].contains(arb(truth[k][m])) for k in range(size) for m in range(size))
                assert not total < sum((abs(entry) for entry in entries), fmpq(0))
                assert not norm < arb(sum((entry * entry for entry in entries), fmpq(0))).sqrt()


def test_forms_together_are_at_most_as_large_as_one_by_one() -> None:
    """Where one direction of the outputs sees a multiple of |x|^2, and where none does."""
    draw = np.random.default_rng(3)
    for size in (2, 4, 8):
        round_ = np.einsum("j,km->jkm", draw.normal(size=5), np.eye(size))
        noise = draw.normal(size=(5, size, size))
        for matrices in (round_, round_ + 0.1 * (noise + noise.transpose(0, 2, 1)), noise + noise.transpose(0, 2, 1)):
            together = value(forms_of(matrices).over_ball())
            assert together <= np.linalg.norm(np.linalg.norm(matrices, 2, axis=(1, 2))) * 1.02
        assert value(forms_of(round_).over_ball()) == pytest.approx(np.linalg.norm(round_[:, 0, 0]), rel=0.01)


def test_errors_of_entries_widen_every_bound() -> None:
    forms = forms_of(np.array([[[1.0, 0.0], [0.0, -1.0]], [[0.0, 2.0], [2.0, 0.0]]]))
    wide = QuadraticForms(forms.size, forms.numerators, forms.unit, arb(1) / 8)
    draw = np.random.default_rng(4)
    x = sample("ball", 2, draw)
    for _ in range(50):
        off = draw.choice([-0.125, 0.125], size=(2, 2, 2))
        off[:, 1, 0] = off[:, 0, 1]
        moved = np.array([[[1.0, 0.0], [0.0, -1.0]], [[0.0, 2.0], [2.0, 0.0]]]) + off
        reached = np.linalg.norm(np.einsum("ni,jik,nk->nj", x, moved, x), axis=1).max()
        assert not wide.over_ball() < reached
        for matrix, total, norm in zip(moved, wide.sizes(), wide.norms(), strict=True):
            assert not total < float(np.abs(matrix).sum())
            assert not norm < float(np.linalg.norm(matrix))
