"""Bets that what was drawn independently has a larger mean: what it rarely looks like if it has not.

A gain g >= -1 of mean at most 0 is bet on with a share c of what one has, 0 <= c <= 1, so that one has 1 + c g times as
much. After independent gains the expectation is at most 1, also of the average over several shares, and by Markov's
inequality it is 1/alpha or more with probability alpha at most. The shares are chosen by the number of gains alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, fmpq


def bets(length: int) -> list[fmpq]:
    """c = 1, 1/2, ..., 2^-(K-1) with the least K for which 8 4^(K-1) >= length: of the length alone."""
    found = [fmpq(1)]
    while 8 * 4 ** (len(found) - 1) < length:
        found.append(found[-1] / 2)
    return found


def wealth(gains: Sequence[arb]) -> arb:
    """The average over all bets c of the products of 1 + c g_i."""
    stakes, total = [arb(stake) for stake in bets(len(gains))], arb(0)
    for stake in stakes:
        product = arb(1)
        for gain in gains:
            product *= 1 + stake * gain
        total += product
    return total / len(stakes)
