"""The Kolmogorov distance of finitely many numbers to a continuous law.

Let x_1 >= ... >= x_n, F_n(x) = #{k : x_k <= x}/n, F the distribution function of a law without atoms, T = 1 - F. Then

    sup_x |F_n(x) - F(x)| = max_k max(k/n - T(x_k), T(x_k) - (k-1)/n).

Between neighbours 1 - F_n is constant and T falls continuously, so the supremum is reached from the left or the right
at some x_k. Where numbers are equal, those of the formula's terms that are not limits of |F_n - F| are no larger than
others that are: the share of numbers >= x_k is at least k/n, that of numbers > x_k at most (k-1)/n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flint import arb, fmpq


def kolmogorov_distance(values: Sequence[arb], tail: Callable[[arb], arb]) -> arb:
    """An enclosure of sup_x |F_n(x) - F(x)|; not finite where an enclosure that it needs is not.

    values: balls around x_1 >= ... >= x_n, n >= 1. tail: an enclosure of T(x) for every x of a ball.
    """
    count = len(values)
    # The two terms add up to 1/n, so that one of them is at least half of that.
    largest = arb(fmpq(1, 2 * count))
    for k, value in enumerate(values, 1):
        largest = largest.max(deviation(k, count, tail(value)))
    return largest


def deviation(k: int, count: int, tail: arb) -> arb:
    """max(k/n - T(x_k), T(x_k) - (k-1)/n), from an enclosure of T(x_k)."""
    above, below = arb(fmpq(k, count)), arb(fmpq(k - 1, count))
    return (above - tail).max(tail - below)
