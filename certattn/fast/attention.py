"""Softmax attention over a prompt in array files: its means, and its distance from its own surrogate.

With a = s U z for a query z (s q for keys and values), and m(a) and C(a) the softmax mean of the
values and their softmax covariance with the keys, m(0) and C(0) are the plain moments of the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from flint import arb

from certattn.fast.balls import Ball, difference, product, rounded, rounded_scale
from certattn.fast.enclosures import Enclosures
from certattn.fast.rows import StoredRows, norm_bounds
from certattn.fast.sums import Wanted, sweep
from certattn.fast.units import UNDERFLOW, UNIT, UP, Floats
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real

# What overflows or is not finite is refused, and needs no warning.
_QUIETLY = np.errstate(all="ignore")


@dataclass(frozen=True)
class StoredPrompt:
    """Paired keys and values; exact maps around them.

    chunks: begins a pass over the tokens: chunks of keys and values, one object where a token is both.
    crossed: whether keys and values differ.
    score_map: U, from queries to vectors whose product with a key is the score, before the scale.
    value_map: V, applied to the means of the values; None for the identity. key_map: K, likewise.
    """

    chunks: Callable[[], Iterator[tuple[StoredRows, StoredRows]]]
    crossed: bool
    scale: Real
    score_map: ExactMatrix
    value_map: ExactMatrix | None = None
    key_map: ExactMatrix | None = None

    @_QUIETLY
    def means(self, stated: ExactMatrix) -> Ball:
        """V m(a) for every row of `stated`. Raises Binary64Error."""
        queries, radius = self.effective(stated)
        return self.mapped(Enclosures(sweep(self.chunks(), Wanted(queries)), radius).mean())

    @_QUIETLY
    def moments(self, stated: ExactMatrix, of: str | None = None) -> Moments:
        """Means, normalisers and covariances under the softmax weights of every row of `stated`.

        of: "values", "keys" or "values-keys" (values in rows), or None for no covariances.
        Raises Binary64Error.
        """
        queries, radius = self.effective(stated)
        count, crossed = len(queries), self.crossed and of == "values-keys"
        wanted = Wanted(queries, tuple(range(count)) if of is not None else (), crossed)
        keys_only = self.crossed and of == "keys"
        chunks = ((keys, keys) for keys, _ in self.chunks()) if keys_only else self.chunks()
        found = Enclosures(sweep(chunks, wanted), radius)
        exponent, normaliser = found.normaliser()
        covariances = []
        if of is not None:
            left, right = self._maps(of)
            covariance = found.cross_covariance if crossed else found.covariance
            covariances = [_between(left, covariance(index), right) for index in range(count)]
        return Moments(exponent, normaliser, found.mean() if keys_only else self.mapped(found.mean()), covariances)

    def _maps(self, of: str) -> tuple[ExactMatrix | None, ExactMatrix | None]:
        """What takes the inputs to the two sides of a covariance."""
        maps = {"values": self.value_map, "keys": self.key_map}
        left, _, right = of.partition("-")
        return maps[left], maps[right or left]

    @_QUIETLY
    def beside_surrogate(self, stated: ExactMatrix) -> tuple[Ball, Ball]:
        """V m(a) and V (m(a) - m(0) - C(0) a) for every row of `stated`. Raises Binary64Error."""
        queries, radius = self.effective(stated)
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
        own = Ball(means.middle[:count], means.radius[:count])
        return self.mapped(own), self.mapped(difference(difference(own, plain), slopes))

    def effective(self, stated: ExactMatrix) -> tuple[Floats, Floats]:
        """a for every query: doubles, and bounds on |a_true - a|_2."""
        scale = rounded_scale(self.scale)
        queries = rounded(stated @ self.score_map.T) * scale
        # u for the entry, 2 u for the scale, u for the product.
        radius = 5 * UNIT * norm_bounds(queries) + 4 * queries.shape[1] * UNDERFLOW * (1 + abs(scale))
        return queries, radius * UP

    def mapped(self, rows: Ball) -> Ball:
        """V applied to every row."""
        return rows if self.value_map is None else product(rows, _as_ball(self.value_map.T))


@dataclass(frozen=True)
class Moments:
    """By query: Z = 2^exponent z with z in the ball `normaliser`, the means, the covariances if any."""

    exponent: Floats
    normaliser: Ball
    means: Ball
    covariances: list[Ball]

    def log_normaliser(self, query: int) -> arb:
        """log Z, at the working precision."""
        z = arb(self.normaliser.middle[query].item(), self.normaliser.radius[query].item())
        return z.log() + int(self.exponent[query]) * arb(2).log()


def _as_ball(matrix: ExactMatrix) -> Ball:
    middle = rounded(matrix)
    return Ball(middle, (UNIT * np.abs(middle) + UNDERFLOW) * UP)


def _between(left: ExactMatrix | None, ball: Ball, right: ExactMatrix | None) -> Ball:
    """L C R'; None stands for the identity."""
    ball = product(_as_ball(left), ball) if left is not None else ball
    return product(ball, _as_ball(right.T)) if right is not None else ball
