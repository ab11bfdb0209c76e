"""From the sums of the tight tier to enclosures: what little was rounded, bounded a priori.

The weights that were computed, w, and the true ones differ by at most beta(delta) w, as in
`enclosures`, but delta is what score errors are in `splitting`. Docs: binary64.md has the statements
and their proofs under the names that are used here.
"""

from __future__ import annotations

import math

import numpy as np

from certattn.fast.enclosures import Ball
from certattn.fast.guards import require_rounding_to_nearest
from certattn.fast.rows import Floats
from certattn.fast.tight import TightSums
from certattn.fast.units import DOWN, UNDERFLOW, UNIT, UP, gamma
from certattn.kernel.errors import RefusedError


class TightEnclosures:
    """Enclosures from `sums`. Raises RefusedError where the bounds say nothing."""

    def __init__(self, sums: TightSums) -> None:
        require_rounding_to_nearest()
        self.sums = sums
        query, outputs = sums.query, sums.total.shape[1] - 1
        tokens, dimension = sums.tokens + 1, len(query.head)
        self._size = sums.value_size
        scale = 1 + query.norm + query.low_norm + query.tail_norm + sums.key_size + self._size
        underflow = 64 * UNDERFLOW * tokens * (dimension + outputs) * scale
        omega = (2.0**-998 * sums.clamped + 2.0**-990 * tokens) * UP
        # They were computed and added up with roundings of their own.
        bounds = sums.bounds.times((1 + gamma(2 * sums.depth + 24)) * UP)
        self._sums: Floats = np.array([math.fsum(column) for column in np.vstack([sums.total, sums.rest]).T.tolist()])
        # `rest` adds up errors that are at most u times partial sums.
        count = 2 * sums.depth + 8
        added = 2 * count * UNIT * gamma(count) * (bounds.mass + bounds.coarse)
        normaliser = float(self._sums[0])
        self._lost = (bounds.lost + added + UNIT * normaliser + underflow + omega) * UP
        self._lost_moment = (bounds.lost_moment + 2 * added * sums.reach + underflow + omega * self._size) * UP
        self._stray_moment = bounds.stray_moment
        self._omega = 2 * omega + underflow
        self._stray = (bounds.stray + self._omega) * UP
        self._upper = (normaliser + self._lost) * UP
        self._lower = (normaliser - self._lost) * DOWN
        self._rest = (self._lower - self._stray) * DOWN
        # Written so that a NaN refuses.
        if not self._rest >= self._upper / 2:
            raise RefusedError("weights whose errors are as large as they are")

    def normaliser(self) -> tuple[float, Ball]:
        """(K, z): the normaliser is 2^K z."""
        return self.sums.exponent, Ball(self._sums[0], np.array((self._lost + self._stray) * UP))

    def mean(self) -> Ball:
        """sum p_i v_i for the true softmax weights p_i: |computed - truth| <= rho + shift."""
        moment = self._sums[1:]
        middle: Floats = moment / self._sums[0]
        size = np.abs(middle)
        lost = UNIT * np.abs(moment) + self._lost_moment
        rho = lost / self._lower + (1 + 2 * UNIT) * size * (self._lost / self._lower) + 2 * UNIT * size + UNDERFLOW
        # sum w |b| |v - m|, |m| <= |middle| + rho; and |v - m| <= 2 max |v| where a score was raised.
        moved = self._stray_moment + (size + rho) * self._stray + 2 * self._size * self._omega
        return Ball(middle, (rho + moved / self._rest) * UP)
