"""Where the ratio of the two parts of softmax's variance reaches a number, and where the gap in the spectrum closes.

With x = beta^2 the ratio is rho(x) = alpha^2/beta^2 = (e^x - 1 - x)/x = int_0^1 (e^(sx) - 1) ds, so that
e^(x/2) - 1 <= rho(x) <= (e^x - 1)/2 (Jensen; a convex function below its chord) and rho(x) >= x/2.
"""

from __future__ import annotations

from flint import arb

from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.theorems.spectrum.mathematics.bisection import zero_between
from certattn.kernel.theorems.spectrum.mathematics.equivalent_formulas import (
    critical_ratio,
    energy_ratio,
    place_of_double_root,
    ratio_of_share,
)


def beta_at_ratio(ratio: arb) -> arb:
    """The beta > 0 with alpha^2/beta^2 = ratio > 0; NaN where the precision is too low."""
    growth = (1 + ratio).log()
    # Somewhat beyond the two bounds, so that the signs at them are proved.
    below = ((1 + 2 * ratio).log() * 3 / 4).mid()
    above = (3 * growth.min(ratio)).mid()
    square = zero_between(lambda x: energy_ratio(x, BALLS) - ratio, below, above)
    return square.sqrt() if (square > 0) is True else arb.nan()


def beta_at_share(share: arb) -> arb:
    """The beta > 0 at which alpha^2/(alpha^2 + beta^2) is a number between 0 and 1."""
    return beta_at_ratio(ratio_of_share(share))


def critical_beta(lambda_: arb) -> arb:
    """beta_c, 0 < lambda < 1: the support of the law has a gap exactly for beta < beta_c.

    NaN where the precision is too low, or lambda is not between 0 and 1.
    """
    t = zero_between(lambda t: -place_of_double_root(t, lambda_), arb(0), arb(1))
    return beta_at_ratio(critical_ratio(t)) if (t > 0) is True and (t < 1) is True else arb.nan()
