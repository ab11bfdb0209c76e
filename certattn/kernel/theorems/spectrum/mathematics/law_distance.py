"""How far apart two laws on x >= 0 are: the largest difference of their tails, by a search that leaves nothing out.

Tails fall. On a cell [a, b] the difference T(x) - S(x) is at most T(a) - S(b). Cells whose bound is not above a
difference that is attained are left; the others are halved. The first cells end where pieces of the supports do: a law
of two pieces, one 10^100 times as wide as the other, would take hundreds of halvings to come to the small one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from flint import arb, ctx, fmpq

from certattn.kernel.theorems.spectrum.mathematics.kolmogorov import OneSided, Tail

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
