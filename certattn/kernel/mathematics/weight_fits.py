"""Sums of exponentials near the moments of softmax weights, for every variance of the scores and a range of lengths.

With q and kappa as in `weight_growth`, and k = q + 6 kappa, it is proved that for all v >= 0 and L_1 <= L <= L_2

    |q(L, v) - f(v)| <= f_e(v),      |k(L, v) - g(v)| <= g_e(v)

where f, g, f_e, g_e are sums of exponentials c e^(r v): with r <= 0 in f and g, and with c, r >= 0 in f_e and g_e.

What is known at a length. q and q - 9/2 kappa fall with L (proved for `risk-gap`). So with q_1, kappa_1 at L_1 and
q_2, kappa_2 at L_2, or 0 where the range has no end,

    q_2 <= q <= q_1,      7/3 q_2 + 6 kappa_1 - 4/3 q_1 <= k <= 7/3 q_1 + 6 kappa_2 - 4/3 q_2,      q_2 <= k.

From node to node. Let h be the distance of two nodes. A function exceeds its chord by at most h^2/8 times a bound of
-F'', and falls short of it by at most h^2/8 times one of F''. With -13/12 q <= q'' <= q, -3/2 q <= kappa'' <= 5/8 q at
the length L itself, q <= q_1 and q growing, that bounds the sides above at every v between nodes. Beyond the last node
is q <= 1, k <= 7/3, and f_e, g_e grow while f and g are at most the sums of their terms' sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE, PowerSums, Transforms
from certattn.kernel.mathematics.weight_growth import KAPPA_CONCAVE, KAPPA_CONVEX, MOST_CONCAVE, MOST_CONVEX, kappa

# k <= 7/3 q, and k - 7/3 q grows with L by at most 4/3 of what q falls by.
SUM, REST = fmpq(7, 3), fmpq(4, 3)
# Minus the second derivative of q and of k, and these themselves, are at most these times q.
BENDS = (MOST_CONCAVE, MOST_CONVEX), (MOST_CONCAVE + 6 * KAPPA_CONCAVE, MOST_CONVEX + 6 * KAPPA_CONVEX)
# Steps between nodes grow to so many times the first.
_WIDEST = 8
# The moments are computed to so many bits.
_BITS = 16


@dataclass(frozen=True)
class ExponentialSum:
    """The sum of c e^(r v) over its terms (c, r)."""

    terms: Sequence[tuple[fmpq, fmpq]]

    def at(self, v: arb) -> arb:
        """Its value."""
        return sum((c * (r * v).exp() for c, r in self.terms), arb(0))

    def bend(self, v: arb) -> arb:
        """Its second derivative."""
        return sum((c * r * r * (r * v).exp() for c, r in self.terms), arb(0))

    def size(self, v: arb) -> arb:
        """The sum of the sizes of its terms."""
        return sum((abs(c) * (r * v).exp() for c, r in self.terms), arb(0))


@dataclass(frozen=True)
class Fit:
    """A sum near a function, and one above its distance from it."""

    near: ExponentialSum
    error: ExponentialSum


@dataclass(frozen=True)
class WeightFit:
    """Of q and of k, for the lengths from `first` to `last`, or all from `first` on."""

    first: int
    last: int | None
    q: Fit
    k: Fit

    @cached_property
    def terms(self) -> list[tuple[fmpq, fmpq, fmpq]]:
        """Rates of the sums near q and k, each with the factors there."""
        q, k = ({r: c for c, r in each.near.terms} for each in (self.q, self.k))
        return [(r, q.get(r, fmpq(0)), k.get(r, fmpq(0))) for r in sorted({*q, *k})]


def nodes(spacing: fmpq, reach: int) -> list[fmpq]:
    """From 0 to where moments are known up to: evenly up to the reach, then further and further apart."""
    found = [fmpq(0)]
    while found[-1] < MOST_VARIANCE:
        step = spacing * min(max(1, int(((found[-1] / reach) ** 2).floor())), _WIDEST)
        found.append(min(found[-1] + step, fmpq(MOST_VARIANCE)))
    return found


class WeightTable:
    """q and kappa at the nodes, for lengths between two."""

    def __init__(self, spacing: fmpq, reach: int, lengths: tuple[int, int]) -> None:
        self.nodes = nodes(spacing, reach)
        self._columns: dict[int, list[tuple[arb, arb]]] = {}
        self._shared = [Transforms(lengths, v, 4, _BITS, 2) for v in self.nodes[1:]]

    def column(self, length: int | None) -> list[tuple[arb, arb]]:
        """At every node; of no length, which stands for infinitely long prompts, 0."""
        if length is None:
            return [(arb(0), arb(0))] * len(self.nodes)
        if length not in self._columns:
            later = [self._at(length, v, shared) for v, shared in zip(self.nodes[1:], self._shared, strict=True)]
            self._columns[length] = [(arb(fmpq(1, length)), arb(0)), *later]
        return self._columns[length]

    def _at(self, length: int, v: fmpq, shared: Transforms) -> tuple[arb, arb]:
        powers = PowerSums(length, v, 4, _BITS, shared=shared)
        with working_precision(powers.bits):
            return powers.mean(2), kappa(powers)


@dataclass(frozen=True)
class _Known:
    """Ends between which q, or k, is at a node for every length of the range, and q_1 there."""

    least: arb
    most: arb
    largest: arb


def room(fit: WeightFit, table: WeightTable) -> arb:
    """What is left of f_e and g_e where least is left; both bounds are proved where it is at least 0."""
    at = table.nodes
    ends = zip(table.column(fit.first), table.column(fit.last), strict=True)
    known = [_known(*first, *last) for first, last in ends]
    worst = arb.pos_inf()
    for index, of in enumerate((fit.q, fit.k)):
        for (v, first), (w, last) in pairwise(zip(at, (each[index] for each in known), strict=True)):
            worst = worst.min(_between(of, BENDS[index], v, w, first, last))
        end = arb(at[-1])
        worst = worst.min(of.error.at(end) - of.near.size(end) - (SUM if index else 1))
    return worst


def _known(q1: arb, kappa1: arb, q2: arb, kappa2: arb) -> tuple[_Known, _Known]:
    """q and k at a node."""
    low = (SUM * q2 + 6 * kappa1 - REST * q1).max(q2)
    high = SUM * q1 + 6 * kappa2 - REST * q2
    return _Known(q2, q1, q1), _Known(low, high, q1)


def _between(of: Fit, bends: tuple[fmpq, fmpq], v: fmpq, w: fmpq, first: _Known, last: _Known) -> arb:
    """The least of f_e - (F - f) and f_e + (F - f) from v to w."""
    concave, convex = bends
    bend, cell = (w - v) ** 2 / 8, arb(v).union(arb(w))
    # More bits do not narrow the cell: what is too wide for it is false, not open.
    near, error = of.near.bend(cell), of.error.bend(cell)
    above = (concave * last.largest + (near + error).max(arb(0))).upper()
    below = (convex * last.largest + (error - near).max(arb(0))).upper()
    worst = arb.pos_inf()
    for at, known in ((v, first), (w, last)):
        f, e = of.near.at(arb(at)), of.error.at(arb(at))
        worst = worst.min(f + e - known.most - bend * above).min(e - f + known.least - bend * below)
    return worst
