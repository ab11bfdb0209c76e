"""The rows z_j of max-margin problems that are not about one vector p of the keys' dimension."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpz, fmpz_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix


def matrix_rows(differences: ExactMatrix, queries: ExactMatrix, asked: Sequence[int]) -> ExactMatrix:
    """z_j q' for the row z_j of `differences` and its query q, row asked[j] of `queries`; each in one row.

    z'Wq = sum_ab z_a W_ab q_b is the inner product of z q' and W, row after row.
    """
    table, flat = queries.numerators.tolist(), list[fmpz]()
    for row, which in zip(differences.numerators.tolist(), asked, strict=True):
        flat.extend(entry * weight for entry in row for weight in table[which])
    numerators = fmpz_mat(differences.rows, differences.columns * queries.columns, flat)
    return ExactMatrix(numerators, differences.denominator * queries.denominator)


def labelled_rows(points: ExactMatrix, labels: Sequence[fmpq]) -> ExactMatrix:
    """Y_i x_i for the rows x_i of `points` and labels Y_i, 1 or -1."""
    flat = [entry * label.p for row, label in zip(points.numerators.tolist(), labels, strict=True) for entry in row]
    return ExactMatrix(fmpz_mat(points.rows, points.columns, flat), points.denominator)
