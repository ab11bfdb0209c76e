"""Integrals of analytic functions over a finite interval, enclosed by Arb.

Arb's integrator evaluates the integrand on complex balls and bounds what the quadrature leaves out. It
has to be told where a function is not analytic; the integrands here are analytic everywhere, or not finite
on balls where they are not, so there is nothing to tell.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import acb, arb

# Evaluations times bits of precision, beyond which an answer is no longer worth the wait: the enclosure stays wide.
_MOST_WORK = 40_000 * 64
# The integrand is enclosed to about the working precision; asking for all of it would only cost time.
_NUMERATOR, _DENOMINATOR = 5, 8

Integrand = Callable[[acb], acb]


def tolerance_bits(bits: int) -> int:
    """Correct bits to aim at for a working precision: five eighths of it."""
    return bits * _NUMERATOR // _DENOMINATOR


def integral(integrand: Integrand, first: arb, last: arb, bits: int) -> arb:
    """The integral from `first` to `last` of a function that is real there, and analytic wherever it is finite.

    Where the integrator gives up, the ball it returns is wide or not finite, and still holds the integral.
    """
    tolerance = arb(2) ** -tolerance_bits(bits)
    found = acb.integral(
        lambda x, _analytic: integrand(x),
        first,
        last,
        rel_tol=tolerance,
        abs_tol=tolerance,
        eval_limit=_MOST_WORK // bits,
    )
    return found.real
