"""A guess of the active set of a max-margin problem: the method of `active_set`, in doubles.

    min |p|^2   subject to   <z_j, p> >= r_j

Goldfarb and Idnani 1983. It may be wrong by rounding, or give up: exact arithmetic goes on from whatever it finds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]

# For rows of length 1: what is missed by less counts as kept, and what is nearer to the active rows as dependent.
_KEPT = 1e-12
_DEPENDENT = 1e-18
_MOST_STEPS = 20


def multipliers_in_doubles(rows: Array, right: Array) -> Array | None:
    """About the multipliers lambda_j >= 0 with p = sum lambda_j z_j, for rows z_j of length 1.

    None where the constraints contradict each other, as far as doubles tell.
    """
    found = np.zeros(len(rows))
    active: list[int] = []
    multipliers, point = np.zeros(0), np.zeros(rows.shape[1])
    for _ in range(_MOST_STEPS * sum(rows.shape)):
        slacks = rows @ point - right
        row = int(np.argmin(slacks))
        if slacks[row] >= -_KEPT * (1 + math.sqrt(point @ point)) or row in active:
            break
        weight, slack, normal = 0.0, float(slacks[row]), rows[row]
        while row not in active:
            # The combination of the active rows that is nearest to this one, and what it leaves.
            try:
                shares = _nearest(rows[active], normal)
            except np.linalg.LinAlgError:
                return None
            rest = normal - shares @ rows[active]
            length = float(rest @ rest)
            falls = np.full(len(active), math.inf)
            np.divide(multipliers, shares, out=falls, where=shares > _KEPT)
            full = -slack / length if length > _DEPENDENT else math.inf
            step = min(full, float(falls.min(initial=math.inf)))
            if not math.isfinite(step):
                return None
            multipliers, weight = multipliers - step * shares, weight + step
            if step == full:
                active, multipliers = [*active, row], np.append(multipliers, weight)
                point = multipliers @ rows[active]
            else:
                leaves = int(np.argmin(falls))
                active, multipliers = active[:leaves] + active[leaves + 1 :], np.delete(multipliers, leaves)
                slack = float(normal @ (multipliers @ rows[active] + weight * normal) - right[row])
    found[active] = multipliers
    return found


def _nearest(rows: Array, normal: Array) -> Array:
    """The shares with which the rows, which are independent, come nearest to a vector."""
    if len(rows) == 0:
        return np.zeros(0)
    orthogonal, triangle = np.linalg.qr(rows.T)
    return np.asarray(np.linalg.solve(triangle, orthogonal.T @ normal))
