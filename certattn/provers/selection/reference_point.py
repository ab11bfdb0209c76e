"""The point across p_mm that descent to a locally optimal selection tends to: the reference of theorems D and T."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.selection_constants import SelectionConstants
from certattn.provers.rounding import round_down
from certattn.provers.selection.balanced_multipliers import minimiser

Array = np.ndarray[Any, Any]

_DIGITS = 16
_DEPENDENT = 1e-9


class Reference(NamedTuple):
    """The point, and about the least eigenvalue of the neighbours' covariance there: infinite for one neighbour."""

    point: ExactMatrix
    curvature: float


def reference_point(constants: SelectionConstants, start: Sequence[arb]) -> Reference:
    """About the minimiser of the sum of c_j g_j e^{-<z_j^, q>} over neighbours; p_0's part where that is flat."""
    unit, axes, inside, curvature = _minimum(constants)
    point = np.array([float(entry) for entry in start])
    point = point - (point @ unit) * unit
    point = point + axes.T @ (inside - axes @ point)
    return Reference(ExactMatrix.row_vector([_rounded(x) for x in point]), curvature)


@lru_cache(maxsize=16)
def _minimum(constants: SelectionConstants) -> tuple[Array, Array, Array, float]:
    """The unit vector u, axes of where the sum is not flat, the minimiser in these, and the curvature there."""
    neighbours = [j for j in constants.good if constants.solution.slacks[j] == 0]
    unit = np.array([float(entry) for entry in constants.direction])
    rows = np.array([[float(entry.p) / float(entry.q) for entry in constants.across.row(j)] for j in neighbours])
    gains = np.log([float(constants.gains[j]) for j in neighbours])
    _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    axes = axes[sizes > _DEPENDENT * max(1.0, float(sizes.max(initial=0.0)))]
    if not len(axes):
        return unit, axes, np.zeros(0), np.inf
    table = rows @ axes.T
    inside, shares = minimiser(table, gains, np.zeros(len(axes)))
    centred = table - shares @ table
    return unit, axes, inside, float(np.linalg.eigvalsh((centred * shares[:, None]).T @ centred)[0])


def _rounded(x: float) -> fmpq:
    value = round_down(fmpq(*abs(x).as_integer_ratio()), _DIGITS)
    return -value if x < 0 else value
