"""The Kolmogorov distance of finitely many numbers to a continuous law, and to all scales of one.

Let x_1 >= ... >= x_n, F_n(x) = #{k : x_k <= x}/n, F the distribution function of a law without atoms, T = 1 - F. With

    D+ = max_k (k/n - T(x_k)),    D- = max_k (T(x_k) - (k-1)/n),

sup_x |F_n(x) - F(x)| = max(D+, D-): between neighbours 1 - F_n is constant and T falls continuously, so the supremum is
reached from the left or the right at some x_k. Where numbers are equal, those of the terms that are not limits of
F - F_n or F_n - F are no larger than others that are: the share of numbers >= x_k is at least k/n, that of numbers
> x_k at most (k-1)/n.

The law of c times a number >= 0 has the tail T(x/c), which grows with c. So D+ falls and D- grows with c, and for every
c the smallest distance over all scales lies between min(D+, D-) and max(D+, D-) at c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

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
