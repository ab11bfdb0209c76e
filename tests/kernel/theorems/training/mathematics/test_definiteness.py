"""Positive definite or not, against the eigenvalues of numpy and the characteristic polynomial."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq, fmpz_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.regression import is_positive_definite


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_random_matrices_agree_with_their_eigenvalues(size: int) -> None:
    rng = np.random.default_rng(size)
    outcomes = set()
    for shift in range(-4, 30, 2):
        root = rng.integers(-3, 4, (size, size))
        matrix = root @ root.T + (shift - 10) * np.eye(size, dtype=int)
        exact = ExactMatrix(fmpz_mat(size, size, [int(x) for x in matrix.ravel()]), 7)
        least = np.linalg.eigvalsh(matrix).min()
        if abs(least) > 1e-6:
            outcomes.add(least > 0)
            assert is_positive_definite(exact) is bool(least > 0)
    assert outcomes == {True, False}


def test_singular_matrices_are_not_definite() -> None:
    assert is_positive_definite(ExactMatrix.rational([[fmpq(1), fmpq(1)], [fmpq(1), fmpq(1)]])) is False
    assert is_positive_definite(ExactMatrix.zero(2, 2)) is False


def test_a_vanishing_pivot_of_an_indefinite_matrix() -> None:
    assert is_positive_definite(ExactMatrix.rational([[fmpq(0), fmpq(1)], [fmpq(1), fmpq(0)]])) is False
    rows = [[fmpq(1), fmpq(1), fmpq(0)], [fmpq(1), fmpq(1), fmpq(1)], [fmpq(0), fmpq(1), fmpq(1)]]
    assert is_positive_definite(ExactMatrix.rational(rows)) is False


def test_a_matrix_that_is_not_symmetric() -> None:
    assert is_positive_definite(ExactMatrix.rational([[fmpq(2), fmpq(1)], [fmpq(0), fmpq(2)]])) is False


def test_nearly_singular_on_either_side() -> None:
    tiny = fmpq(1, 10**200)
    for sign, expected in ((1, True), (-1, False)):
        rows = [[fmpq(1), fmpq(1)], [fmpq(1), 1 + sign * tiny]]
        assert is_positive_definite(ExactMatrix.rational(rows)) is expected
