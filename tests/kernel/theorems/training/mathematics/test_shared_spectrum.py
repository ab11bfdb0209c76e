"""Sigma and A by their common eigenspaces."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.shared_spectrum import shared_spectrum

Rows = list[list[int]]
LINE: Rows = [[2]]
PLANE: Rows = [[4, 2], [2, 5]]
SPACE: Rows = [[2, 1, 0], [1, 3, 1], [0, 1, 2]]


def exact(rows: Rows, denominator: int = 1) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(entry, denominator) for entry in row] for row in rows])


def found(covariance: ExactMatrix, matrix: ExactMatrix) -> list[tuple[float, float, int]]:
    """Sorted; every ball is small."""
    shared = shared_spectrum(covariance, matrix)
    assert shared is not None
    with working_precision(64):
        values = shared.eigenvalues()
        assert all(x.rad() < arb(2) ** -40 for row in values for x in row[:2])
        assert sum(n for *_, n in values) == covariance.rows
        return sorted((float(s.mid()), float(a.mid()), n) for s, a, n in values)


def by_floats(covariance: ExactMatrix, matrix: ExactMatrix) -> list[tuple[float, float]]:
    """Each of the pairs as often as it is."""
    one, other = (np.array([[int(x.p) / int(x.q) for x in row] for row in m.to_rows()]) for m in (covariance, matrix))
    vectors = np.linalg.eigh(one + np.sqrt(2) * other)[1]
    pairs = zip(np.diag(vectors.T @ one @ vectors), np.diag(vectors.T @ other @ vectors), strict=True)
    return sorted((float(s), float(a)) for s, a in pairs)


@pytest.mark.parametrize(
    ("covariance", "matrix", "different"),
    [
        (exact(LINE, 3), exact([[-5]], 7), 1),
        (exact(PLANE, 7), exact(PLANE, 3), 2),
        (exact(PLANE, 7), exact([[0, 0], [0, 0]]), 2),
        (exact([[1, 0], [0, 1]]), exact(PLANE, -4), 2),
        (exact([[1, 0], [0, 1]], 5), exact([[3, 0], [0, 3]], 2), 1),
        (exact(SPACE, 2), exact(SPACE) @ exact(SPACE), 3),
        (exact(SPACE, 2), exact(SPACE) @ exact(SPACE) - exact(SPACE).scaled(fmpq(5, 3)), 3),
        # Sigma has 1, 1, 2 and A 3, 4, 4: each alone leaves a plane.
        (exact([[1, 0, 0], [0, 1, 0], [0, 0, 2]]), exact([[3, 0, 0], [0, 4, 0], [0, 0, 4]]), 3),
        # And A + k Sigma, k = 1, 2, 3, has a plane too.
        (
            exact([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2]]),
            exact([[4, 0, 0, 0], [0, 3, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]]),
            4,
        ),
        # Four of the pairs (1, 1), (1, 2), (2, 1), two of them twice.
        (
            exact([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]]),
            exact([[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 2]]),
            3,
        ),
    ],
)  # fmt: skip
def test_pairs_of_eigenvalues(covariance: ExactMatrix, matrix: ExactMatrix, different: int) -> None:
    values = found(covariance, matrix)
    assert len(values) == different
    np.testing.assert_allclose(
        sorted((s, a) for s, a, n in values for _ in range(n)), by_floats(covariance, matrix), atol=1e-12
    )


def test_repeated_eigenvalues_that_are_irrational() -> None:
    """Sigma = 1 (x) (golden) and A = (1, 2) (x) 1: four pairs; and with A = (1, 1) two of them, twice each."""
    golden = [[2, 1], [1, 1]]
    sigma = exact([[x if i == j else 0 for j in range(2) for x in row] for i in range(2) for row in golden])
    twos = exact([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2]])
    low, high = (3 - 5**0.5) / 2, (3 + 5**0.5) / 2
    assert found(sigma, twos) == [(pytest.approx(s), a, 1) for s in (low, high) for a in (1, 2)]
    assert found(sigma, exact(np.eye(4, dtype=int).tolist())) == [(pytest.approx(s), 1, 2) for s in (low, high)]


@pytest.mark.parametrize(
    "matrix",
    [[[1, 1], [-1, 1]], [[1, 1], [0, 1]], [[0, 1], [-1, 0]], [[1, 0], [0, 2]], [[0, 1], [1, 0]]],
)
def test_others_have_no_common_eigenspaces(matrix: Rows) -> None:
    """Not symmetric, even where it commutes, or not commuting."""
    assert shared_spectrum(exact(PLANE), exact(matrix)) is None
    commutes = matrix != [[1, 1], [0, 1]]
    identity = shared_spectrum(exact([[1, 0], [0, 1]]), exact(matrix))
    assert (identity is not None) == (commutes and matrix[0][1] == matrix[1][0])


def test_a_hair_beside_what_commutes() -> None:
    near = exact(PLANE).scaled(fmpq(1, 3)) + exact([[1, 0], [0, 0]]).scaled(fmpq(1, 10**40))
    assert shared_spectrum(exact(PLANE), near) is None
