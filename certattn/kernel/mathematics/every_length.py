"""Bounds of the form c1 (sigma^6 ln L)^n / L^rho, and how few lengths have to be looked at for all of them.

The ratio of a bound b(L) to (sigma^6 ln L)^n / L^rho, n = 1 or 2, has to be at most c1 for every length L. Here are the
ratios for two kinds of b, and why each is decreasing in L from some length on:

    b(L) = A (L - 1)^(-theta)        rho <= theta: from L = 2 on, as
        d/dL ln(ratio) = rho/L - theta/(L-1) - n/(L ln L) < 0;
    b(L) = A / L + B e^{-kappa L}    rho <= 1 and rho <= kappa L0: from L0 on, as both parts have
        d/dL ln(ratio) = (rho - 1)/L - n/(L ln L) < 0   and   rho/L - kappa - n/(L ln L) < 0.

The first comes from a softmax that is bounded by a logistic function: for x >= 0 and 0 <= theta <= 1,

    x / (1 + x) <= theta^theta (1 - theta)^(1 - theta) x^theta,        0^0 = 1.
"""

from __future__ import annotations

from flint import arb


def log_peak(theta: arb) -> arb:
    """ln of theta^theta (1 - theta)^(1 - theta), the largest x^(1 - theta) / (1 + x) over x >= 0; 0 ln 0 = 0."""
    return sum((part * part.log() for part in (theta, 1 - theta) if (part == 0) is not True), arb(0))


def display(length: arb, rho: arb, sigma: arb, power: int) -> arb:
    """(sigma^6 ln L)^power / L^rho."""
    log_length = length.log()
    return (sigma**6 * log_length) ** power * (-rho * log_length).exp()


def logistic_bound(length: arb, theta: arb, determinant: arb, mean: arb) -> arb:
    """theta^theta (1 - theta)^(1 - theta) (L - 1)^(-theta) det^(-1/2) mean.

    It bounds E_z f(z) / (1 + (L - 1) e^{-s2(z)}) for f >= 0, where E_z e^{theta s2(z)} f(z) = det^(-1/2) mean.
    """
    return mean * (log_peak(theta) - theta * (length - 1).log() - determinant.log() / 2).exp()
