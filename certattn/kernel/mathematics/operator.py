"""Attention over an infinite prompt: T[mu](z) = V tau(s U z) for a law mu of tokens.

Boursier and Boyer 2026, Lemma 2.1: for Gaussian tokens T is affine, V m + s V Gamma U z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import row_of_balls, scale_ball, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import (
    Atoms,
    Box,
    Gaussian,
    Law,
    Mixture,
    Rademacher,
    Radial,
    Shifted,
    TruncatedGaussian,
    dot,
)
from certattn.kernel.mathematics.reals import Real


@dataclass(frozen=True)
class AffineMap:
    """z -> offset + scale * matrix z; `offset` is a 1 x d matrix."""

    matrix: ExactMatrix
    offset: ExactMatrix
    scale: Real

    def from_point(self, point: ExactMatrix, queries: ExactMatrix) -> list[list[arb]]:
        """Its value minus `point` (1 x d), for every row of `queries`.

        Exact numbers are combined exactly; one product with the scale and one sum round.
        """
        shift = row_of_balls((self.offset - point).row(0))
        table = table_of_balls(queries @ self.matrix.T, scale_ball(self.scale))
        return [[x + y for x, y in zip(row, shift, strict=True)] for row in table]


@dataclass(frozen=True)
class Operator:
    """T[mu]: the law of tokens (rational parameters), U = K'Q (d x d_z), V (d_v x d), the scale s."""

    law: Law[fmpq]
    U: ExactMatrix
    V: ExactMatrix
    scale: Real

    def affine(self) -> AffineMap | None:
        """T as an affine map where that is an exact identity, else None.

        None does not say that T is not affine; it says that no proof of it is at hand.
        """
        found = _affine(self.law, self.U, self.V)
        return AffineMap(*found, self.scale) if found is not None else None

    def from_point(self, point: ExactMatrix, queries: ExactMatrix) -> list[list[arb]]:
        """T(z) - point for every row z of `queries`, at the working precision."""
        affine = self.affine()
        if affine is not None:
            return affine.from_point(point, queries)
        law = self.law.map(arb)
        tilts = table_of_balls(queries @ self.U.T, scale_ball(self.scale))
        V = [row_of_balls(row) for row in self.V.to_rows()]
        shift = row_of_balls(point.row(0))
        means = [law.tilted_mean(tilt) for tilt in tilts]
        return [[dot(row, mean) - x for row, x in zip(V, shift, strict=True)] for mean in means]


_Affine = tuple[ExactMatrix, ExactMatrix]


def _affine(law: Law[fmpq], U: ExactMatrix, V: ExactMatrix) -> _Affine | None:
    """(matrix, offset) with V tau(U z) = offset + matrix z for every z, or None."""
    if isinstance(law, Gaussian):
        mean = ExactMatrix.row_vector(law.mean)
        return V @ ExactMatrix.rational(law.covariance) @ U, mean @ V.T
    if isinstance(law, Rademacher | Box):
        return _affine_product(law.sizes, U, V)
    if isinstance(law, Radial):
        still = law.squared_radius == 0 or (V @ U).is_zero() is True
        return (ExactMatrix.zero(V.rows, U.columns), ExactMatrix.zero(1, V.rows)) if still else None
    if isinstance(law, TruncatedGaussian):
        # The mean of a coordinate without symmetry is a number that is not known exactly: V may not read it.
        read = [slope for j, slope in enumerate(law.slopes) if V.T.take_rows([j]).is_zero() is not True]
        return _affine_product(law.sizes, U, V) if all((slope == 0) is True for slope in read) else None
    if isinstance(law, Shifted):
        found = _affine(law.law, U, V)
        return None if found is None else (found[0], found[1] + ExactMatrix.row_vector(law.centre) @ V.T)
    if isinstance(law, Atoms):
        return _affine_atoms(law, U, V)
    if isinstance(law, Mixture):
        return _affine_mixture(law, U, V)
    return None


def _affine_product(sizes: Sequence[fmpq], U: ExactMatrix, V: ExactMatrix) -> _Affine | None:
    """Independent centred coordinates: 0 if every one is constant, unread by V or untouched by U."""
    for j, size in enumerate(sizes):
        if size != 0 and U.take_rows([j]).is_zero() is not True and V.T.take_rows([j]).is_zero() is not True:
            return None
    return ExactMatrix.zero(V.rows, U.columns), ExactMatrix.zero(1, V.rows)


def _affine_atoms(law: Atoms[fmpq], U: ExactMatrix, V: ExactMatrix) -> _Affine | None:
    """Constant if the queries cannot tell the atoms apart, or the values do not."""
    points = ExactMatrix.rational(law.points)
    if _rows_agree(points @ U) or _rows_agree(points @ V.T):
        return ExactMatrix.zero(V.rows, U.columns), ExactMatrix.row_vector(law.weights) @ points @ V.T
    return None


def _affine_mixture(law: Mixture[fmpq], U: ExactMatrix, V: ExactMatrix) -> _Affine | None:
    """Gaussian components whose Lambda_r(U z) agree keep their weights under every tilt."""
    if len(law.components) == 1:
        return _affine(law.components[0], U, V)
    parts = [part for part in law.components if isinstance(part, Gaussian)]
    if len(parts) < len(law.components):
        return None
    covariances = [U.T @ ExactMatrix.rational(part.covariance) @ U for part in parts]
    means = ExactMatrix.rational([part.mean for part in parts]) @ U
    if _rows_agree(means) is not True or any(covariance != covariances[0] for covariance in covariances):
        return None
    matrix, offset = ExactMatrix.zero(V.rows, U.columns), ExactMatrix.zero(1, V.rows)
    for part, weight in zip(parts, law.weights, strict=True):
        found = _affine(part, U, V)
        if found is None:
            return None
        matrix, offset = matrix + found[0].scaled(weight), offset + found[1].scaled(weight)
    return matrix, offset


def _rows_agree(matrix: ExactMatrix) -> bool:
    return matrix.centred(matrix.take_rows([0])).is_zero()
