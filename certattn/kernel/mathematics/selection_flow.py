"""The gradient flow of the loss of token selection, p' = -h grad F, as a field of `validated_flow`.

F is composed of exponentials and quotients, so power series are put into the same formula as points: from a point c,
p = c + sum_k p_k t^k has (k + 1) p_(k+1) = -h [t^k] grad F(p), and a polynomial of degree k is enough to know it.

The Taylor polynomial p of degree n has p' - V(p), V = -h grad F, without any term below t^n, and p' has degree n - 1.
So by Taylor's theorem, for 0 <= t <= T,

    |V(p(t)) - p'(t)| <= e t^n,     e = max |[s^n] V(p(a + s))| over 0 <= a <= T,

which is computed with the series of p around the ball [0, T].

V moves points apart at most at the rate h N, where -N <= Hess F (`selection_landscape`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_series, ctx, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure
from certattn.kernel.mathematics.selection_landscape import Landscape, Products, inner
from certattn.kernel.mathematics.validated_flow import Vector, integrate, moved_by

# Taylor polynomials of an order of about a quarter of the precision, between these, cost least.
_BITS_PER_ORDER, _LEAST_ORDER, _MOST_ORDER = 4, 12, 40
# Pieces of Taylor polynomials; about 35 lead to a time ten times as late.
MOST_PIECES = 3000


class _SeriesLandscape(Landscape):
    """The same formulas of power series, which matrices do not hold."""

    def products(self, point: Vector) -> Products:
        return [[inner(z, point) for z, _ in contrasts.rows] for contrasts in self.inputs]

    def combined(self, weights: Products) -> Vector:
        rows = [z for contrasts in self.inputs for z, _ in contrasts.rows]
        flat = [weight for row in weights for weight in row]
        return [inner(column, flat) for column in zip(*rows, strict=True)]


@dataclass(frozen=True)
class SelectionFlow:
    """V = -h grad F, h = `size`."""

    landscape: Landscape
    size: arb

    def coefficients(self, point: Vector, order: int) -> list[Vector]:
        """z_0, ..., z_order: the Taylor coefficients of the solution from a point."""
        found = [list(point)]
        for k in range(order):
            found.append([entry / (k + 1) for entry in self._coefficient(found, k)])
        return found

    def excess(self, coefficients: list[Vector], duration: arb) -> Vector:
        """The bound e with |V(p(t)) - p'(t)| <= e t^n for 0 <= t <= duration, n being the degree."""
        whole = arb(0).union(duration)
        return [l2_norm(self._coefficient(moved_by(coefficients, whole), len(coefficients) - 1)).upper()]

    def expansion(self, ball: Enclosure) -> arb:
        """A bound of the logarithmic norm of V over a ball: h N there."""
        return self.size * self.landscape.curvatures(ball.box)[1]

    def _coefficient(self, coefficients: list[Vector], k: int) -> Vector:
        """[t^k] V(p(t)), p being this polynomial; what is beyond t^k does not count."""
        with _length_of_series(k + 1):
            # Series in the place of balls: the formula asks for nothing else than sums, products, quotients, exp.
            path: Any = [arb_series(list(entry)[: k + 1], k + 1) for entry in zip(*coefficients, strict=True)]
            slopes: Any = _SeriesLandscape(self.landscape.inputs, self.landscape.loss).downhill(path)
            return [self.size * entry[k] for entry in slopes]


def taylor_order() -> int:
    """For the working precision."""
    return min(max(ctx.prec // _BITS_PER_ORDER, _LEAST_ORDER), _MOST_ORDER)


def flow(field: SelectionFlow, start: Enclosure, times: Collection[fmpq]) -> dict[fmpq, Enclosure]:
    """Enclosures of p(t) at these times from every p(0) of the start; the error is infinite where nothing is."""
    found = integrate(field, start, list(times), taylor_order(), MOST_PIECES).found
    return {time: found.get(time, Enclosure(start.centre, arb.pos_inf())) for time in times}


@contextmanager
def _length_of_series(terms: int) -> Iterator[None]:
    """So many terms are kept of power series, and what was before is set again."""
    before, ctx.cap = ctx.cap, terms
    try:
        yield
    finally:
        ctx.cap = before
