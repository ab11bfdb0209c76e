"""Where to measure sideways moves from in a proof by Theorem D, and which good tokens to count as neighbours.

Descent tends to the minimiser q* across p_mm of the neighbours alone, but as long as others of little slack weigh as
much it is elsewhere. A bad token t reaches, but for what is the same for all choices,

    -<z_t^, q> + zeta_t B(q) + zeta_t^2 kappa(q) / (2 lambda_t),     B(q)^2 = |p^ - q|^2 + 2 K(q),

where a good token of slack delta adds its share at q to kappa where it counts as a neighbour, and that share over
delta Xi to K where it does not. At q* kappa is 0; at p^ itself |p^ - q| is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.selection_constants import SelectionConstants
from certattn.provers.rounding import round_up
from certattn.provers.selection.reference_point import exact_row, reference_point

Array = np.ndarray[Any, Any]

# How far from q* towards the point references are tried; how many slacks below which tokens count as neighbours.
_WAYS = (0.0, 0.5, 1.0)
_MOST_SLACKS = 4
_DIGITS = 8


class Reference(NamedTuple):
    """Of a trial: a point, and the slack up to which good tokens count as neighbours."""

    point: ExactMatrix
    near: fmpq


def least_reaching(constants: SelectionConstants, start: Sequence[arb]) -> Reference:
    """Of a few references the one for which the bad token that reaches farthest reaches least."""
    unit, point = _doubles(constants.direction), _doubles(start)
    distance = float(unit @ point)
    aside, minimiser = point - distance * unit, _doubles(map(arb, reference_point(constants, start).point.row(0)))
    minimiser = minimiser - (minimiser @ unit) * unit
    across = np.array([_doubles(row) for row in constants.across_balls.tolist()])
    slacks, widths = _doubles(constants.slacks), _doubles(constants.widths)
    good, bad = list(constants.good), list(constants.bad)
    logs = np.log(_doubles(constants.gains[j] for j in good)) - float(constants.log_weight) - slacks[good] * distance
    fades = slacks[bad] * float(constants.margin)
    exact = sorted({constants.solution.slacks[j] for j in good if constants.solution.slacks[j] > 0})
    found: list[tuple[float, Reference]] = []
    for way in _WAYS:
        q = minimiser + way * (aside - minimiser)
        shares = np.exp(logs - across[good] @ q)
        for near in (fmpq(0), *(round_up(slack, _DIGITS) for slack in exact[:_MOST_SLACKS])):
            lasting = np.array([constants.solution.slacks[j] <= near for j in good])
            excess = max(float(shares[lasting].sum()) - 1, 0.0)
            faded = float((shares[~lasting] / (slacks[good][~lasting] * float(constants.margin))).sum())
            width = np.sqrt(float((aside - q) @ (aside - q)) + 2 * faded)
            # With half of what is possible for each lambda_t.
            reaches = widths[bad] * width + widths[bad] ** 2 * excess / fades - across[bad] @ q
            reaches -= slacks[bad] * distance + np.log(fades)
            found.append((float(reaches.max()), Reference(exact_row(q), near)))
    return min(found, key=lambda each: each[0])[1]


def _doubles(values: Iterable[arb]) -> Array:
    return np.array([float(x) for x in values])
