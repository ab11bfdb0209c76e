"""Softmax attention over a prompt in array files: its means, and its distance from its own surrogate.

With a = s U z for a query z (s q for keys and values), and m(a) and C(a) the softmax mean of the
values and their softmax covariance with the keys, m(0) and C(0) are the plain moments of the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from certattn.kernel.arithmetic.binary64.ball_algebra import difference, product
from certattn.kernel.arithmetic.binary64.conversions import rounded, rounded_scale
from certattn.kernel.arithmetic.binary64.enclosures import Ball, Enclosures
from certattn.kernel.arithmetic.binary64.rows import Floats, StoredRows, norm_bounds
from certattn.kernel.arithmetic.binary64.sweep import Wanted, sweep
from certattn.kernel.arithmetic.binary64.units import UNDERFLOW, UNIT, UP
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.reals import Real

BINARY64 = f"binary64 with proved bounds (numpy {np.__version__})"


@dataclass(frozen=True)
class StoredPrompt:
    """Paired keys and values; exact maps around them.

    chunks: begins a pass over the tokens: chunks of keys and values, one object where a token is both.
    crossed: whether keys and values differ.
    score_map: U, from queries to vectors whose product with a key is the score, before the scale.
    value_map: V, applied to the means of the values; None for the identity.
    """

    chunks: Callable[[], Iterator[tuple[StoredRows, StoredRows]]]
    crossed: bool
    scale: Real
    score_map: ExactMatrix
    value_map: ExactMatrix | None = None

    def means(self, stated: ExactMatrix) -> Ball:
        """V m(a) for every row of `stated`. Raises Binary64Error."""
        queries, radius = self._effective(stated)
        return self._mapped(Enclosures(sweep(self.chunks(), Wanted(queries)), radius).mean())

    def off_surrogate(self, stated: ExactMatrix) -> Ball:
        """V (m(a) - m(0) - C(0) a) for every row of `stated`. Raises Binary64Error."""
        queries, radius = self._effective(stated)
        # The plain moments are those of one more query, 0.
        count = len(queries)
        wanted = Wanted(np.vstack([queries, np.zeros_like(queries[:1])]), (count,), second_of_keys=self.crossed)
        found = Enclosures(sweep(self.chunks(), wanted), np.append(radius, 0.0))
        means = found.mean()
        covariance = found.cross_covariance(count) if self.crossed else found.covariance(count)
        # Each coordinate of a is off by at most the norm by which a is.
        tilts = Ball(queries, np.broadcast_to(radius[:, None], queries.shape))
        slopes = product(tilts, Ball(covariance.middle.T, covariance.radius.T))
        plain = Ball(means.middle[count:], means.radius[count:])
        return self._mapped(difference(difference(Ball(means.middle[:count], means.radius[:count]), plain), slopes))

    def _effective(self, stated: ExactMatrix) -> tuple[Floats, Floats]:
        """a for every query: doubles, and bounds on |a_true - a|_2."""
        scale = rounded_scale(self.scale)
        queries = rounded(stated @ self.score_map.T) * scale
        # u for the entry, 2 u for the scale, u for the product.
        radius = 5 * UNIT * norm_bounds(queries) + 4 * queries.shape[1] * UNDERFLOW * (1 + abs(scale))
        return queries, radius * UP

    def _mapped(self, rows: Ball) -> Ball:
        if self.value_map is None:
            return rows
        middle = rounded(self.value_map.T)
        return product(rows, Ball(middle, (UNIT * np.abs(middle) + UNDERFLOW) * UP))
