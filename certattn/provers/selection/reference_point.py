"""The point across p_mm that descent to a locally optimal selection tends to: the reference of theorems D and T."""

from __future__ import annotations

from collections.abc import Sequence
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
    neighbours, across = constants.neighbours, constants.across_balls
    unit = np.array([float(entry) for entry in constants.direction])
    rows = np.array([[float(across[j, i]) for i in range(across.ncols())] for j in neighbours])
    gains = np.log([float(constants.gains[j]) for j in neighbours])
    point = np.array([float(entry) for entry in start])
    point, table, shares = minimiser_across(rows, gains, point - (point @ unit) * unit)
    curvature = np.inf
    if table.shape[1]:
        centred = table - shares @ table
        curvature = float(np.linalg.eigvalsh((centred * shares[:, None]).T @ centred)[0])
    return Reference(ExactMatrix.row_vector([_rounded(x) for x in point]), curvature)


def minimiser_across(rows: Array, logs: Array, point: Array) -> tuple[Array, Array, Array]:
    """The minimiser of sum e^{log_j - <z_j^, q>} nearest to the point; the rows on their span, the summands' shares."""
    _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    axes = axes[sizes > _DEPENDENT * max(1.0, float(sizes.max(initial=0.0)))]
    table = rows @ axes.T
    if len(axes) == 0:
        return point, table, np.ones(len(rows)) / len(rows)
    inside, shares = minimiser(table, logs, axes @ point)
    return axes.T @ inside + point - axes.T @ (axes @ point), table, shares


def _rounded(x: float) -> fmpq:
    value = round_down(fmpq(*abs(x).as_integer_ratio()), _DIGITS)
    return -value if x < 0 else value
