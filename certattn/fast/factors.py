"""Singular vectors of a matrix of doubles, as a hint: nothing here is proved, and nothing is believed of it.

`numpy.linalg.svd` reduces M to two diagonals, half of that in products with vectors, which wait for memory. Of the
symmetric M'M it is half the work: with its eigenvectors V the columns of B = M V are about orthogonal, s_k = |b_k| and
u_k = b_k / s_k. Two of these are off by about u sigma_1^2 / (s_j s_k), which is far below what is proved for n numbers
to a sum while s_k is not small beside sigma_1. The others, B less its parts along the u_k, are a matrix of their own,
which is as small as they are: again the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certattn.fast.rows import computed_squares
from certattn.fast.units import Floats
from certattn.kernel.errors import RefusedError

# Below this size LAPACK's decomposition takes no time worth saving.
_SMALL = 256
# Beside the largest one, values down to this have vectors that are right to about 1e-11.
_LEAST_SHARE = 2.0**-7
# Where fewer than this part of the values are large, one step would not be worth its time.
_LEAST_PART = 0.125
# What is smaller beside the largest one counts as 0: its left vectors would lie anywhere.
_NOTHING = 2.0**-46


@dataclass(frozen=True)
class FloatFactors:
    """U (m x r), s (r) and V (n x r), not trusted."""

    left: Floats
    values: Floats
    right: Floats

    @property
    def transposed(self) -> FloatFactors:
        """Those of M'."""
        return FloatFactors(self.right, self.values, self.left)


def lapack(matrix: Floats) -> FloatFactors:
    """As right as doubles are. Raises RefusedError."""
    try:
        left, found, right = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        raise RefusedError("a matrix for which LAPACK finds no singular values") from None
    return FloatFactors(left, found, right.T)


def quick_factors(matrix: Floats) -> FloatFactors:
    """In about half the time. Raises RefusedError."""
    if len(matrix) < matrix.shape[1]:
        return quick_factors(matrix.T).transposed
    left, values, right = np.empty((len(matrix), 0)), np.empty(0), np.empty((matrix.shape[1], 0))
    # What is left of M, in an orthonormal basis of what is left of its rows.
    rest, basis = matrix, None
    while rest.shape[1] > _SMALL:
        turn = _eigenvectors(rest)
        images = rest @ turn
        sizes = np.sqrt(computed_squares(images.T))
        large, rank = (int((sizes > share * sizes[0]).sum()) for share in (_LEAST_SHARE, _NOTHING))
        if large <= _LEAST_PART * rank:
            break
        turned = turn if basis is None else basis @ turn
        left = np.hstack([left, images[:, :large] / sizes[:large]])
        values, right = np.append(values, sizes[:large]), np.hstack([right, turned[:, :large]])
        rest, basis = _without(images[:, large:rank], left), turned[:, large:rank]
    if basis is None:
        return lapack(matrix)
    last = lapack(rest)
    kept = int((last.values > _NOTHING * values.max()).sum())
    last_left, signs = np.linalg.qr(_without(last.left[:, :kept], left))
    left = np.hstack([left, last_left * np.sign(np.diag(signs))])
    values, right = np.append(values, last.values[:kept]), np.hstack([right, basis @ last.right[:, :kept]])
    order = np.argsort(-values)
    return FloatFactors(left[:, order], values[order], right[:, order])


def _eigenvectors(matrix: Floats) -> Floats:
    """Of M'M, from the largest value on. Raises RefusedError."""
    try:
        _, vectors = np.linalg.eigh(matrix.T @ matrix)
    except np.linalg.LinAlgError:
        raise RefusedError("a matrix for which LAPACK finds no eigenvectors") from None
    return np.ascontiguousarray(vectors[:, ::-1])


def _without(columns: Floats, directions: Floats) -> Floats:
    """Columns less their parts along orthonormal directions."""
    found: Floats = columns - directions @ (directions.T @ columns)
    return found
