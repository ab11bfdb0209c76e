"""Multipliers of a max-margin point for which w is largest, where they are not unique: duplicate tokens, grids, ties.

    w = exp sum_j lambda^_j log(c_j g_j / lambda^_j),     lambda^_j = lambda_j / sum lambda,

is largest over the multipliers of p_mm where lambda^_j is in proportion to c_j g_j e^{-<z_j, q>}, q being the minimiser
of the sum of these over the neighbours: the two problems are dual to each other. q is found in doubles; multipliers of
linearly independent neighbours are then solved for exactly, the others being as doubles say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, hard_margin
from certattn.provers.selection.active_set import ActiveSet, independent_rows

Array = np.ndarray[Any, Any]

# A share below this counts as 0: so it tends to be where the minimum is at infinity.
_NEGLIGIBLE = 1e-9
_BITS = 40
_FAR = 1e3


def balanced(selection: Selection, solution: MaxMargin, gains: Mapping[int, float]) -> MaxMargin:
    """The same point with multipliers for which w is about largest; `gains` are the c_j g_j of the good pairs.

    As it is where multipliers are unique, or where not all neighbours are good: then no theorem needs w.
    """
    tight, table = solution.tight, selection.differences
    if len(tight) == len(solution.multipliers) or any(j not in gains for j in tight):
        return solution
    rows = np.array([[float(x.p) / float(x.q) for x in table.row(j)] for j in tight])
    point = np.array([float(x.p) / float(x.q) for x in solution.solution.row(0)])
    across = rows - np.outer(rows @ point, point) / (point @ point)
    _, shares = minimiser(across, np.log([gains[j] for j in tight]), np.zeros(rows.shape[1]))
    kept = dict(sorted(zip(tight, shares, strict=True), key=lambda each: -each[1]))
    kept = {j: share for j, share in kept.items() if share > _NEGLIGIBLE}
    basis = independent_rows(table, list(kept))
    total = solution.norm_squared
    found = {j: total * fmpq(round(share * 2**_BITS), 2**_BITS) for j, share in kept.items() if j not in basis}
    others = hard_margin(table, found) if found else None
    right = [fmpq(1) - (others.products[j] if others is not None else 0) for j in basis]
    exact = dict(zip(basis, ActiveSet(table, [fmpq(1)] * table.rows).solved(basis, right), strict=True))
    better = hard_margin(table, dict(sorted({**exact, **found}.items())))
    # The basis may leave out what the point needs, and what doubles say may be too far off.
    return better if min(exact.values()) > 0 and better.solution == solution.solution else solution


def minimiser(rows: Array, logs: Array, y: Array) -> tuple[Array, Array]:
    """Newton's method with halved steps for log sum e^{log_j - <z_j, y>}, and the shares of the summands there.

    It stops where there is no minimum nearby.
    """
    for _ in range(100):
        value, weights = _log_sum(logs - rows @ y)
        gradient = -rows.T @ weights
        hessian = rows.T @ (rows * weights[:, None]) - np.outer(gradient, gradient)
        step = np.linalg.lstsq(hessian + 1e-13 * np.eye(len(y)), -gradient, rcond=None)[0]
        decrease, length = float(-gradient @ step), 1.0
        if decrease < 1e-26:
            break
        while _log_sum(logs - rows @ (y + length * step))[0] > value - length * decrease / 4 and length > 1e-12:
            length /= 2
        y = y + length * step
        if float(np.linalg.norm(y)) > _FAR:
            break
    return y, _log_sum(logs - rows @ y)[1]


def _log_sum(exponents: Array) -> tuple[float, Array]:
    largest = float(exponents.max())
    powers = np.exp(exponents - largest)
    total = float(powers.sum())
    return largest + float(np.log(total)), powers / total
