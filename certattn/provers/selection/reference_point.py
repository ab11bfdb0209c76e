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
    unit, least, curvature = _least(constants)
    point = np.array([float(entry) for entry in start])
    point = least.nearest(point - (point @ unit) * unit)
    return Reference(exact_row(point), curvature)


@lru_cache(maxsize=16)
def _least(constants: SelectionConstants) -> tuple[Array, Minimiser, float]:
    """The unit vector u, the minimiser, and the curvature there."""
    neighbours, across = constants.neighbours, constants.across_balls
    unit = np.array([float(entry) for entry in constants.direction])
    rows = np.array([[float(across[j, i]) for i in range(across.ncols())] for j in neighbours])
    least = minimiser_across(rows, np.log([float(constants.gains[j]) for j in neighbours]))
    if not len(least.axes):
        return unit, least, np.inf
    centred = least.table - least.shares @ least.table
    return unit, least, float(np.linalg.eigvalsh((centred * least.shares[:, None]).T @ centred)[0])


class Minimiser(NamedTuple):
    """Of sum e^{log_j - <z_j^, q>}: axes of where that is not flat, the minimiser and the rows in these; the summands'
    shares there."""

    axes: Array
    inside: Array
    table: Array
    shares: Array

    def nearest(self, point: Array) -> Array:
        """The minimiser that is nearest to a point."""
        return np.asarray(point + self.axes.T @ (self.inside - self.axes @ point))


def minimiser_across(rows: Array, logs: Array) -> Minimiser:
    _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    axes = axes[sizes > _DEPENDENT * max(1.0, float(sizes.max(initial=0.0)))]
    table = rows @ axes.T
    if not len(axes):
        return Minimiser(axes, np.zeros(0), table, np.ones(len(rows)) / len(rows))
    inside, shares = minimiser(table, logs, np.zeros(len(axes)))
    return Minimiser(axes, inside, table, shares)


def exact_row(point: Array) -> ExactMatrix:
    """The point, rounded."""
    return ExactMatrix.row_vector([_rounded(x) for x in point])


def _rounded(x: float) -> fmpq:
    value = round_down(fmpq(*abs(x).as_integer_ratio()), _DIGITS)
    return -value if x < 0 else value
