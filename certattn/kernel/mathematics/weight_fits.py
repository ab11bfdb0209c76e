"""Sums of exponentials near the moments of softmax weights, for every variance of the scores and a range of lengths.

With q and kappa as in `weight_growth`, and w = q - 9/2 kappa, it is proved that for all v >= 0 and L_1 <= L <= L_2,
with mu = L_1 / L,

    |q(L, v) - f(v) - mu f'(v)| <= f_e(v),      |w(L, v) - h(v) - mu h'(v)| <= h_e(v)

where all are sums of exponentials c e^(r v): with r <= 0 in f, f', h, h', and with c, r >= 0 in f_e and h_e.

From length to length. q/L, E[sum p_i^3 p_j] / (L(L-1)) and E[sum p_i^2 p_j^2] / (L(L-1)), i != j, of which q and
kappa are made, are integrals of phi^(L-1) or phi^(L-2) with 0 < phi < 1: as functions of L their derivatives alternate
in sign. So between two of the lengths at which they are known they are above the cubic through these and one more on
either side, and below that through these and the next two. L q and L w are then between polynomials, in the form of
Bernstein. Without an end, 0 <= w <= q <= their values at L_1, as they fall with L (proved for `risk-gap`).

From node to node. Let d be the distance of two nodes. A function exceeds its chord by at most d^2/8 times a bound of
-F'', and falls short of it by at most d^2/8 times one of F''. With -13/12 q <= q'' <= q, -3/2 q <= kappa'' <= 5/8 q at
the length L itself, q at most that of L_1, and q growing, that bounds the sides above at every v between nodes. Beyond
the last node 0 <= w <= q <= 1, and f_e, h_e grow while the others are at most the sums of their terms' sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import comb

from flint import arb, arb_mat, fmpq, fmpq_poly

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.functions import N
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE, PowerSums, Transforms
from certattn.kernel.mathematics.weight_growth import KAPPA_CONCAVE, KAPPA_CONVEX, MOST_CONCAVE, MOST_CONVEX

# w = q - SHARE kappa, so that q + 6 kappa = SUM q - REST w.
SHARE, SUM, REST = fmpq(9, 2), fmpq(7, 3), fmpq(4, 3)
# Minus the second derivative of q and of w, and these themselves, are at most these times q.
BENDS = (MOST_CONCAVE, MOST_CONVEX), (MOST_CONCAVE + SHARE * KAPPA_CONVEX, MOST_CONVEX + SHARE * KAPPA_CONCAVE)
# Nodes end at so many times the reach; steps between them grow to so many times the first.
_BEYOND, _WIDEST = 4, 8
# The moments are computed to so many bits.
_BITS = 16
# Lengths before an interval and after it that cubics go through.
BEFORE, AFTER = 1, 2
# Of L q and L w.
_DEGREE = 6


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
    """Sums f and f', with f + mu f' near a function, and one above its distance from that."""

    near: ExponentialSum
    share: ExponentialSum
    error: ExponentialSum


@dataclass(frozen=True)
class WeightFit:
    """Of q and of w, for the lengths from `first` to `last`, or all from `first` on."""

    first: int
    last: int | None
    q: Fit
    w: Fit

    @property
    def least_share(self) -> fmpq:
        """Of the lengths' mu = `first` / L, or 0; the largest is 1."""
        return fmpq(0) if self.last is None else fmpq(self.first, self.last)

    @cached_property
    def terms(self) -> list[tuple[fmpq, tuple[fmpq, fmpq], tuple[fmpq, fmpq]]]:
        """Rates, each with the factors in what is near q and q + 6 kappa, and in what comes with mu there."""
        sums = [{r: c for c, r in of.terms} for fit in (self.q, self.w) for of in (fit.near, fit.share)]
        found = []
        for rate in sorted(set().union(*sums)):
            f, f1, h, h1 = (each.get(rate, fmpq(0)) for each in sums)
            found.append((rate, (f, spread_of(f, h)), (f1, spread_of(f1, h1))))
        return found


def spread_of(q: N, w: N) -> N:
    """k = q + 6 kappa."""
    return SUM * q - REST * w


def nodes(spacing: fmpq, reach: int) -> list[fmpq]:
    """From 0 to where moments are known up to: evenly up to the reach, then further and further apart."""
    found, last = [fmpq(0)], fmpq(min(_BEYOND * reach, MOST_VARIANCE))
    while found[-1] < last:
        step = spacing * min(max(1, int(((found[-1] / reach) ** 2).floor())), _WIDEST)
        found.append(min(found[-1] + step, last))
    return found


# E P_2, E sum p_i^3 p_j and E sum p_i^2 p_j^2 over i != j.
Moments = tuple[arb, arb, arb]


@dataclass(frozen=True)
class Known:
    """Bounds of q, and of w, at every node, as if of a length with this mu, or with this share of one token."""

    share: fmpq
    q: list[tuple[arb, arb]]
    w: list[tuple[arb, arb]]


class WeightTable:
    """Moments of the weights at the nodes, for some lengths, which increase."""

    def __init__(self, spacing: fmpq, reach: int, lengths: Sequence[int]) -> None:
        self.spacing, self.reach, self.lengths = spacing, reach, lengths
        self.nodes = nodes(spacing, reach)
        self._columns: dict[int, list[Moments]] = {}
        self._bounds: dict[tuple[int, ...], list[Known]] = {}
        ends = lengths[0], lengths[-1]
        self._shared = [Transforms(ends, v, 4, _BITS, 3) for v in self.nodes[1:]]

    def column(self, length: int) -> list[Moments]:
        """At every node."""
        if length not in self._columns:
            even = arb(fmpq(length - 1, length**3))
            later = [self._at(length, v, shared) for v, shared in zip(self.nodes[1:], self._shared, strict=True)]
            self._columns[length] = [(arb(fmpq(1, length)), even, even), *later]
        return self._columns[length]

    def _at(self, length: int, v: fmpq, shared: Transforms) -> Moments:
        powers = PowerSums(length, v, 4, _BITS, shared=shared)
        with working_precision(powers.bits):
            # The longer power of the transform is the last one's times a factor more.
            pairs, squares = powers.distinct(1, 3), powers.distinct(2, 2)
            return powers.mean(2), pairs, squares

    def known(self, first: int, last: int | None) -> list[Known]:
        """Of the lengths between two, or all from one on: what holds for all of these holds for every length."""
        if last is None:
            q, w = zip(*((q, q - SHARE * (pairs - squares)) for q, pairs, squares in self.column(first)), strict=True)
            return [Known(fmpq(mu), [(arb(0), x) for x in q], [(arb(0), x) for x in w]) for mu in (0, 1)]
        found = []
        for k in range(self.lengths.index(first), self.lengths.index(last)):
            near = tuple(self.lengths[k - BEFORE : k + AFTER + 2])
            if near not in self._bounds:
                self._bounds[near] = _bounds(near, [self.column(x) for x in near])
            found += [replace(each, share=first * each.share) for each in self._bounds[near]]
        return found


def _bounds(lengths: Sequence[int], columns: Sequence[Sequence[Moments]]) -> list[Known]:
    """Between the second and the third of five lengths: forms of Bernstein of L q and L w, over that of L."""
    first, last = lengths[BEFORE : BEFORE + 2]
    low, high = (_cubics(lengths[j : j + 4], columns[j : j + 4], first, last) for j in (0, 1))
    w = [one[0] + SHARE * (one[2] - other[1]) for one, other in ((low, high), (high, low))]
    found = []
    for i in range(_DEGREE + 1):
        share = 1 / (first + (last - first) * fmpq(i, _DEGREE))
        pairs = (zip(*(part.tolist()[i] for part in ends), strict=True) for ends in ((low[0], high[0]), w))
        found.append(Known(share, *([(x * share, y * share) for x, y in pair] for pair in pairs)))
    return found


def _cubics(at: Sequence[int], columns: Sequence[Sequence[Moments]], first: int, last: int) -> list[arb_mat]:
    """L times cubics through what is known of the moments at four lengths: coefficients at each node, in columns."""
    L = fmpq_poly([first, last - first])
    single, double = [], []
    for x, cubic in zip(at, _lagrange(at, first, last), strict=True):
        single.append(_bernstein(L * L * cubic / x))
        double.append(_bernstein(L * L * (L - 1) * cubic / (x * (x - 1))))
    found = []
    for j, rows in enumerate((single, double, double)):
        forms = arb_mat([[arb(x) for x in row] for row in rows]).transpose()
        found.append(forms * arb_mat([[moments[j] for moments in column] for column in columns]))
    return found


def _lagrange(at: Sequence[int], first: int, last: int) -> list[fmpq_poly]:
    """Of t, with L = first + t (last - first): each is 1 at one of the lengths, and 0 at the others."""
    places = [fmpq(x - first, last - first) for x in at]
    found = []
    for x in places:
        product = fmpq_poly([1])
        for y in places:
            product *= fmpq_poly([-y, 1]) / (x - y) if x != y else 1
        found.append(product)
    return found


def _bernstein(polynomial: fmpq_poly) -> list[fmpq]:
    """Its form on [0, 1]."""
    found = []
    for k in range(_DEGREE + 1):
        total = fmpq(0)
        for i in range(min(k, polynomial.degree()) + 1):
            total += polynomial[i] * fmpq(comb(k, i), comb(_DEGREE, i))
        found.append(total)
    return found


def room(fit: WeightFit, table: WeightTable) -> arb:
    """What is left of f_e and h_e where least is left; both bounds are proved where it is at least 0."""
    at = table.nodes
    largest = [row[0] for row in table.column(fit.first)]
    known = table.known(fit.first, fit.last)
    shares = arb(fit.least_share).union(arb(1))
    worst = arb.pos_inf()
    for index, of in enumerate((fit.q, fit.w)):
        concave, convex = BENDS[index]
        left = [
            _left(of, arb(v), [(each.share, (each.q, each.w)[index][j]) for each in known]) for j, v in enumerate(at)
        ]
        for j, (v, w) in enumerate(pairwise(at)):
            bend, cell = (w - v) ** 2 / 8, arb(v).union(arb(w))
            # More bits do not narrow the cell: what is too wide for it is false, not open.
            near, error = of.near.bend(cell) + shares * of.share.bend(cell), of.error.bend(cell)
            above = (concave * largest[j + 1] + (near + error).max(arb(0))).upper()
            below = (convex * largest[j + 1] + (error - near).max(arb(0))).upper()
            worst = worst.min(left[j][0].min(left[j + 1][0]) - bend * above)
            worst = worst.min(left[j][1].min(left[j + 1][1]) - bend * below)
        end = arb(at[-1])
        worst = worst.min(of.error.at(end) - of.near.size(end) - of.share.size(end) - 1)
    return worst


def _left(of: Fit, v: arb, known: Sequence[tuple[fmpq, tuple[arb, arb]]]) -> tuple[arb, arb]:
    """The least of f_e - (F - f - mu f') and f_e + (F - f - mu f') at a node."""
    f, f1, e = of.near.at(v), of.share.at(v), of.error.at(v)
    above, below = arb.pos_inf(), arb.pos_inf()
    for mu, (low, high) in known:
        near = f + mu * f1
        above, below = above.min(near + e - high), below.min(e - near + low)
    return above, below
