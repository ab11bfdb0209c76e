"""Sums of exponentials near the moments of softmax weights, for every variance of the scores and a range of lengths.

With q and kappa as in `weight_growth`, and w = q - 9/2 kappa, it is proved that for all v >= 0 and L_1 <= L <= L_2

    |q(L, v) - f(v)| <= f_e(v),      |w(L, v) - h(v)| <= h_e(v)

where f, h, f_e, h_e are sums of exponentials c e^(r v): with r <= 0 in f and h, and with c, r >= 0 in f_e and h_e.

What is known at a length. q and w fall with L (proved for `risk-gap`), so that both lie between those at L_1 and at
L_2, or 0 where the range has no end.

From node to node. Let d be the distance of two nodes. A function exceeds its chord by at most d^2/8 times a bound of
-F'', and falls short of it by at most d^2/8 times one of F''. With -13/12 q <= q'' <= q, -3/2 q <= kappa'' <= 5/8 q at
the length L itself, q at most that of L_1, and q growing, that bounds the sides above at every v between nodes. Beyond
the last node 0 <= w <= q <= 1, and f_e, h_e grow while f and h are at most the sums of their terms' sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.functions import N
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE, PowerSums, Transforms
from certattn.kernel.mathematics.weight_growth import KAPPA_CONCAVE, KAPPA_CONVEX, MOST_CONCAVE, MOST_CONVEX, kappa

# w = q - SHARE kappa, so that q + 6 kappa = SUM q - REST w.
SHARE, SUM, REST = fmpq(9, 2), fmpq(7, 3), fmpq(4, 3)
# Minus the second derivative of q and of w, and these themselves, are at most these times q.
BENDS = (MOST_CONCAVE, MOST_CONVEX), (MOST_CONCAVE + SHARE * KAPPA_CONVEX, MOST_CONVEX + SHARE * KAPPA_CONCAVE)
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
    """Of q and of w, for the lengths from `first` to `last`, or all from `first` on."""

    first: int
    last: int | None
    q: Fit
    w: Fit

    @cached_property
    def terms(self) -> list[tuple[fmpq, fmpq, fmpq]]:
        """Rates, each with the factors in f, which is near q, and in SUM f - REST h, which is near q + 6 kappa."""
        f, h = ({r: c for c, r in each.near.terms} for each in (self.q, self.w))
        found = [(r, f.get(r, fmpq(0)), h.get(r, fmpq(0))) for r in sorted({*f, *h})]
        return [(r, c, spread_of(c, other)) for r, c, other in found]


def spread_of(q: N, w: N) -> N:
    """k = q + 6 kappa."""
    return SUM * q - REST * w


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
    """Ends between which q, or w, is at a node for every length of the range, and the largest q there."""

    least: arb
    most: arb
    largest: arb


def room(fit: WeightFit, table: WeightTable) -> arb:
    """What is left of f_e and h_e where least is left; both bounds are proved where it is at least 0."""
    at = table.nodes
    ends = zip(table.column(fit.first), table.column(fit.last), strict=True)
    known = [_known(*first, *last) for first, last in ends]
    worst = arb.pos_inf()
    for index, of in enumerate((fit.q, fit.w)):
        for (v, first), (w, last) in pairwise(zip(at, (each[index] for each in known), strict=True)):
            worst = worst.min(_between(of, BENDS[index], v, w, first, last))
        end = arb(at[-1])
        worst = worst.min(of.error.at(end) - of.near.size(end) - 1)
    return worst


def _known(q1: arb, kappa1: arb, q2: arb, kappa2: arb) -> tuple[_Known, _Known]:
    """q and w at a node."""
    return _Known(q2, q1, q1), _Known(q2 - SHARE * kappa2, q1 - SHARE * kappa1, q1)


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
