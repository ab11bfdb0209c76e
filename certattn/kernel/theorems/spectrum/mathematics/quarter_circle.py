"""The quarter circle law: the limit of the singular values of a square matrix with independent entries.

Its squares have the Marchenko-Pastur law of ratio 1. With variance m the density is sqrt(4m - x^2)/(pi m) on
[0, 2 sqrt(m)], and with r = x/(2 sqrt(m))

    P(X > x) = 2/pi (arccos r - r sqrt(1 - r^2)).
"""

from __future__ import annotations

from flint import arb


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


def quarter_circle_density(x: arb, variance: arb) -> arb:
    """An enclosure of the density at x >= 0."""
    return (4 * variance - x * x).nonnegative_part().sqrt() / (arb.pi() * variance)
