"""How q = E P_2 and kappa = E[P_3 - P_2^2] grow where the variance v of the scores is complex, and between nodes.

P_k = sum p_i^k, p the softmax weights of L independent Gaussian scores. As functions of v both continue to complex
v = x + i y, x > 0, and with

    c = (1 + y^2/x^2)^(1/4) e^(y^2/(8x)),   p = 1 - c |y| / 3 > 0,   x' = x + y^2/x,   N ~ Bin(L, p)

    |q(v)| <= (c/p) E q_N(x'),   |kappa(v)| <= 2 (c/p)^2 E q_N(x'),   E q_N(x') <= min(1, 2 e^x' / (p L)).

Over the ellipse with the foci m -+ r and the semi-axes a = (r^2 + y^2)^(1/2) < m and y, all of these are largest with
y/x <= t = y / (m^2 - a^2)^(1/2), y^2/x <= t y and x' <= m + a + t y. A function that is at most M there is off its
interpolation at the n + 1 Chebyshev nodes of [m - r, m + r] by at most 4 M rho^-n / (rho - 1), rho = (a + y) / r.

For real v, |d^2 q/dv^2| and |d^2 kappa/dv^2| are at most 17/4 q. `docs/claims/training/risk-gap.md` has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import BALLS, Functions, Number

# |d^2 q/dv^2| and |d^2 kappa/dv^2| are at most this times q.
MOST_CURVED = fmpq(17, 4)
# On a piece around m the ellipses that are tried have these semi-axes y, in multiples of the smaller of m and 2.
_SHARES = tuple(fmpq(k, 10) for k in range(1, 11))


@dataclass(frozen=True)
class InterpolationErrors:
    """Of q and of kappa on a piece, from the same nodes."""

    q: arb
    kappa: arb


def interpolation_errors(length: int, middle: fmpq, radius: fmpq, order: int) -> InterpolationErrors:
    """At `order` + 1 Chebyshev nodes of [middle - radius, middle + radius], 0 < radius < middle: of all ellipses
    that are tried the one with the smallest error of q; not finite where no ellipse fits."""
    best = InterpolationErrors(arb("inf"), arb("inf"))
    for share in _SHARES:
        found = ellipse_errors(length, middle, radius, share * min(middle, fmpq(2)), order)
        if (found.q < best.q) is True:
            best = found
    return best


def ellipse_errors(length: int, middle: fmpq, radius: fmpq, height: fmpq, order: int) -> InterpolationErrors:
    """The errors by the ellipse of semi-axis y = `height`; infinite where it does not fit."""
    half_width = arb(radius * radius + height * height).sqrt()
    inside = arb(middle * middle - radius * radius - height * height)
    if (inside > 0) is not True:
        return InterpolationErrors(arb("inf"), arb("inf"))
    steepest = height / inside.sqrt()
    growth = density_growth(steepest, height, BALLS)
    kept = kept_share(growth, height)
    if (kept > 0) is not True:
        return InterpolationErrors(arb("inf"), arb("inf"))
    thinned = thinned_collision(length, kept, middle + half_width + steepest * height, BALLS).min(arb(1))
    ratio = growth / kept
    rho = (half_width + height) / radius
    factor = 4 / (rho**order * (rho - 1)) * thinned
    return InterpolationErrors(ratio * factor, 2 * ratio * ratio * factor)


def density_growth(slope: Number, height: Number, fn: Functions) -> Number:
    """c = (1 + t^2)^(1/4) e^(t y / 8), t = y / x the slope of v = x + iy."""
    return fn.sqrt(fn.sqrt(1 + slope * slope)) * fn.exp(slope * height / 8)


def kept_share(growth: Number, height: Number) -> Number:
    """p = 1 - c y / 3."""
    return 1 - growth * height / 3


def thinned_collision(length: int, share: Number, variance: Number, fn: Functions) -> Number:
    """2 e^x' / (p L), an upper bound of E q_N(x')."""
    return 2 * fn.exp(variance) / (share * length)
