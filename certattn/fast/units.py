"""The few constants of every a-priori bound in binary64.

A *bound* here is a number >= 0 built from others by sums, products, quotients and square roots,
rounded to nearest along the way. One factor `UP` at the end covers up to 2^12 such roundings:
(1 + 2^-53)^4096 < 1 + 2^-40. Where a bound is a difference, it is taken down instead, and says so.
"""

from __future__ import annotations

from certattn.kernel.errors import RefusedError

UNIT = 2.0**-53
# The largest error of an operation whose result underflows, flushed to zero or not.
UNDERFLOW = 2.0**-1022
UP = 1 + 2.0**-40
DOWN = 1 - 2.0**-40
# Sizes that keep every square and product of the bounds far from overflow.
LARGEST = 2.0**400
_MOST_ROUNDINGS = 2**25


def gamma(roundings: int) -> float:
    """At least k u / (1 - k u): the relative error of a sum of products with k roundings on every path.

    Higham, Accuracy and Stability of Numerical Algorithms, Lemma 3.1. For k^2 u < 1, gamma(k + 8) is
    also at least gamma(k) / (1 - gamma(k)), the same error relative to the computed value.
    """
    if roundings > _MOST_ROUNDINGS:
        raise RefusedError("a sum of so many terms that its error bound is useless")
    return roundings * UNIT / (1 - roundings * UNIT) * UP
