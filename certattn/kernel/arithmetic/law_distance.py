"""How far apart two laws on x >= 0 are: the largest difference of their tails, by a search that leaves nothing out.

Tails fall. On a cell [a, b] the difference T(x) - S(x) is at most T(a) - S(b). Cells whose bound is not above a
difference that is attained are left; the others are halved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flint import arb, ctx, fmpq

from certattn.kernel.arithmetic.kolmogorov import OneSided, Tail

# Halvings at 64 bits, and what a doubling of the precision adds; a search also ends where so many cells are left.
_ROUNDS, _MORE_ROUNDS, _MOST_CELLS = 13, 3, 4000
# A point of the search with both tails there.
_Place = tuple[arb, arb, arb]
Settled = Callable[[arb], bool]


def differences(tail: Tail, other: Tail, end: arb, goals: Sequence[fmpq]) -> OneSided:
    """Enclosures of sup (T - S) and sup (S - T) over x >= 0, T and S continuous, 1 at 0 and 0 from `end` on.

    They are as sharp as it takes to tell them from all `goals`, or where there are none, as the precision gives time
    for.
    """

    def settled(ball: arb) -> bool:
        return len(goals) > 0 and all((ball <= goal) is True or (ball > goal) is True for goal in goals)

    return OneSided(_supremum(tail, other, end, settled), _supremum(other, tail, end, settled))


def _supremum(tail: Tail, other: Tail, end: arb, settled: Settled) -> arb:
    """An enclosure of sup (T - S)."""
    first, last = (arb(0), arb(1), arb(1)), (end.upper(), arb(0), arb(0))
    lower, cells, rounds = arb(0), [(first, last)], _ROUNDS + _MORE_ROUNDS * max(0, ctx.prec.bit_length() - 7)
    while True:
        upper = lower
        for cell in cells:
            upper = upper.max(_bound(*cell).upper())
        found = lower.union(upper)
        if rounds == 0 or len(cells) == 0 or len(cells) > _MOST_CELLS or settled(found):
            return found
        rounds -= 1
        halves: list[tuple[_Place, _Place]] = []
        for left, right in cells:
            x = ((left[0] + right[0]) / 2).mid()
            middle = x, tail(x), other(x)
            lower = lower.max((middle[1] - middle[2]).lower())
            halves += [(left, middle), (middle, right)]
        # Written so that a NaN keeps its cell.
        cells = [cell for cell in halves if (_bound(*cell) <= lower) is not True]


def _bound(left: _Place, right: _Place) -> arb:
    """T(a) - S(b), above T - S on all of [a, b]."""
    return left[1] - right[2]
