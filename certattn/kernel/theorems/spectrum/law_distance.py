"""How far finitely many numbers are from a law on x >= 0, all scales of one, or a law from another: sup |F - G|.

Of finitely many numbers x_1 >= ... >= x_n, let F_n(x) = #{k : x_k <= x}/n, F the distribution function of a law without
atoms, T = 1 - F. With

    D+ = max_k (k/n - T(x_k)),    D- = max_k (T(x_k) - (k-1)/n),

sup_x |F_n(x) - F(x)| = max(D+, D-): between neighbours 1 - F_n is constant and T falls continuously, so the supremum is
reached from the left or the right at some x_k. Where numbers are equal, those of the terms that are not limits of
F - F_n or F_n - F are no larger than others that are: the share of numbers >= x_k is at least k/n, that of numbers
> x_k at most (k-1)/n.

The law of c times a number >= 0 has the tail T(x/c), which grows with c. So D+ falls and D- grows with c, and for every
c the smallest distance over all scales lies between min(D+, D-) and max(D+, D-) at c.

The quarter circle law is the limit of the singular values of a square matrix with independent entries, their squares
have the Marchenko-Pastur law of ratio 1. With variance m the density is sqrt(4m - x^2)/(pi m) on [0, 2 sqrt(m)], and
with r = x/(2 sqrt(m))

    P(X > x) = 2/pi (arccos r - r sqrt(1 - r^2)).

The largest difference of the tails of two laws is found by a search that leaves nothing out. Tails fall: on a cell
[a, b] the difference T(x) - S(x) is at most T(a) - S(b). Cells whose bound is not above a difference that is attained
are left; the others are halved. The first cells end where pieces of the supports do: a law of two pieces, one 10^100
times as wide as the other, would take hundreds of halvings to come to the small one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import arb, ctx, fmpq

Tail = Callable[[arb], arb]


@dataclass(frozen=True)
class OneSided:
    """D+ and D-: how far the one tail is above the other somewhere, and below it."""

    above: arb
    below: arb

    @property
    def distance(self) -> arb:
        """sup |F_n - F|."""
        return self.above.max(self.below)

    @property
    def least(self) -> arb:
        """What no scale of the law falls below, if this is of one of them."""
        return self.above.min(self.below)


def kolmogorov_distance(values: Sequence[arb], tail: Tail) -> arb:
    """An enclosure of sup_x |F_n(x) - F(x)|; not finite where an enclosure that it needs is not.

    values: balls around x_1 >= ... >= x_n, n >= 1. tail: an enclosure of T(x) for every x of a ball.
    """
    return one_sided_distances(values, tail).distance


def one_sided_distances(values: Sequence[arb], tail: Tail) -> OneSided:
    """Enclosures of D+ and D-, with the same arguments."""
    count = len(values)
    # Neither is negative: far out both tails are equal.
    above, below = arb(0), arb(0)
    for k, value in enumerate(values, 1):
        known = tail(value)
        above, below = above.max(excess(k, count, known)), below.max(lack(k, count, known))
    return OneSided(above, below)


def excess(k: int, count: int, tail: arb) -> arb:
    """k/n - T(x_k)."""
    return fmpq(k, count) - tail


def lack(k: int, count: int, tail: arb) -> arb:
    """T(x_k) - (k-1)/n."""
    return tail - fmpq(k - 1, count)


def scaled(tail: Tail, scale: fmpq) -> Tail:
    """The tail of the law of `scale` times a number of the law."""
    return lambda x: tail(x / scale)


# -- quarter circles


def quarter_circle_tail(x: arb, variance: arb) -> arb:
    """An enclosure of P(X > x) that holds for every x and every variance > 0 of the balls."""
    ratio = x / (2 * variance.sqrt())
    if ratio.is_finite() is not True:
        return arb.nan()
    # The tail decreases: its values at the ends of the ball are the extreme ones.
    return _tail(ratio.lower()).union(_tail(ratio.upper()))


def _tail(ratio: arb) -> arb:
    """At an exact ratio."""
    if (ratio <= 0) is True:
        return arb(1)
    if (ratio >= 1) is True:
        return arb(0)
    return inner_tail(ratio)


def inner_tail(ratio: arb) -> arb:
    """The tail at a ratio r between 0 and 1."""
    return 2 * (ratio.acos() - ratio * ((1 - ratio) * (1 + ratio)).sqrt()) / arb.pi()


# -- two laws


# Halvings at 64 bits, and what a doubling of the precision adds; a search also ends where so many cells are left.
_ROUNDS, _MORE_ROUNDS, _MOST_CELLS = 13, 3, 4000
# Where in one round more differences than this are not known to a few hundredths, it takes more bits and no more cells.
_KNOWN, _MOST_UNKNOWN = fmpq(1, 32), 30
# A cell that can add no more than this to what is attained is not halved: its bound is believed as it is.
_NEGLIGIBLE = fmpq(1, 2**40)
# A point of the search with both tails there.
_Place = tuple[arb, arb, arb]
_Cell = tuple[_Place, _Place]
Settled = Callable[[arb], bool]


def differences(tail: Tail, other: Tail, ends: Sequence[arb], goals: Sequence[fmpq]) -> OneSided:
    """Enclosures of sup (T - S) and sup (S - T) over x >= 0, T and S continuous, 1 at 0 and 0 from all `ends` on.

    ends: one or more; where cells may end besides, smaller numbers too. Nothing is enclosed where one is not finite.
    They are as sharp as it takes to tell them from all `goals`, or where there are none, as the precision gives time
    for.
    """

    def settled(ball: arb) -> bool:
        return len(goals) > 0 and all((ball <= goal) is True or (ball > goal) is True for goal in goals)

    places = [end.upper() for end in ends]
    if len(places) == 0 or not all(place.is_finite() is True for place in places):
        return OneSided(arb.nan(), arb.nan())
    # Exact numbers, so that they are in order.
    points = sorted(place for place in places if (place > 0) is True)
    inner = [(x, tail(x), other(x)) for x in points[:-1]]
    first, last = (arb(0), arb(1), arb(1)), [(x, arb(0), arb(0)) for x in points[-1:]]
    cells = list(pairwise([first, *inner, *last]))
    return OneSided(_supremum(tail, other, cells, settled), _supremum(other, tail, _swapped(cells), settled))


def _swapped(cells: Sequence[_Cell]) -> list[_Cell]:
    """The same cells with the two tails exchanged."""
    return [((a, other_a, tail_a), (b, other_b, tail_b)) for (a, tail_a, other_a), (b, tail_b, other_b) in cells]


def _supremum(tail: Tail, other: Tail, cells: list[_Cell], settled: Settled) -> arb:
    """An enclosure of sup (T - S) over cells that hold all x where it is positive."""
    lower, left_out, unknown = arb(0), arb(0), 0
    rounds = _ROUNDS + _MORE_ROUNDS * max(0, ctx.prec.bit_length() - 7)
    for left, _ in cells:
        lower = lower.max(_difference(left).lower())
    while True:
        upper = lower.max(left_out)
        for cell in cells:
            upper = upper.max(_bound(*cell).upper())
        found = lower.union(upper)
        given_up = len(cells) > _MOST_CELLS or unknown > _MOST_UNKNOWN
        if rounds == 0 or len(cells) == 0 or given_up or settled(found):
            return found
        rounds -= 1
        unknown, halves = 0, list[_Cell]()
        for left, right in cells:
            x = ((left[0] + right[0]) / 2).mid()
            middle = x, tail(x), other(x)
            lower = lower.max(_difference(middle).lower())
            unknown += (_difference(middle).rad() < _KNOWN) is not True
            halves += [(left, middle), (middle, right)]
        cells = []
        for cell in halves:
            bound = _bound(*cell)
            # Written so that a NaN keeps its cell.
            if (bound <= lower + _NEGLIGIBLE) is True:
                left_out = left_out.max(bound.upper())
            else:
                cells.append(cell)


def _difference(place: _Place) -> arb:
    """T(x) - S(x), which is attained."""
    return place[1] - place[2]


def _bound(left: _Place, right: _Place) -> arb:
    """T(a) - S(b), above T - S on all of [a, b]."""
    return left[1] - right[2]
