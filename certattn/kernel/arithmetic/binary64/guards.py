"""What the bounds assume of the machine, tried out on the spot.

The bounds hold for IEEE 754 binary64 rounded to nearest, and for matrix products that add up all
products in some order. Importing some libraries leaves a thread rounding upward, and new threads
inherit it; so every call and every thread begins here.
"""

from __future__ import annotations

import numpy as np

from certattn.kernel.arithmetic.binary64.units import UNIT
from certattn.kernel.errors import GuardError

# Far enough apart in length that no vector unit treats them as one scalar.
_LANES = 16


def require_sound_arithmetic() -> None:
    """Raises GuardError where rounding, underflow or matrix products are not as assumed."""
    _require_rounding_to_nearest()
    _require_gradual_underflow()
    _require_plain_products()


def _require_rounding_to_nearest() -> None:
    one = np.ones(_LANES)
    half, more = one * UNIT, one * (UNIT * (1 + 2.0**-50))
    step = 2 * UNIT
    # Ties go to even, what is more than half goes up: on both sides of zero.
    nearest = (
        ((one + half) == 1).all()
        and ((one + more) == 1 + step).all()
        and ((-one - half) == -1).all()
        and ((-one - more) == -1 - step).all()
        and ((one * (1 + step)) * (1 + step) == 1 + 2 * step).all()
    )
    if nearest is not np.True_:
        raise GuardError("this thread does not round to nearest")


def _require_gradual_underflow() -> None:
    smallest = np.full(_LANES, 2.0**-1074)
    kept = ((smallest * 1.0) == smallest).all() and ((np.full(_LANES, 2.0**-1022) * 0.5) > 0).all()
    if kept is not np.True_:
        raise GuardError("this thread flushes subnormal numbers to zero")


def _require_plain_products() -> None:
    """A matrix product rounds to nearest, and it is exact where everything fits."""
    tie, more = UNIT, 1.5 * UNIT
    left = np.array([[1, tie], [-1, -tie], [1, more], [-1, -more]])
    up = 1 + 2 * UNIT
    for columns in (1, 8):
        found = left @ np.ones((2, columns))
        if (found == np.array([[1], [-1], [up], [-up]])).all() is not np.True_:
            raise GuardError("the matrix products of this process do not round to nearest")
    rows, inner = 37, 131
    # Integers below 2^21 in a fixed pattern: no sum of 131 products reaches 2^53.
    pattern = (np.arange(rows * inner, dtype=np.int64) * 1103515245 + 12345) % 2**21 - 2**20
    table = pattern.reshape(rows, inner)
    for other in (table[:1].T, table[:9].T):
        if ((table.astype(np.float64) @ other.astype(np.float64)) == table @ other).all() is not np.True_:
            raise GuardError("the matrix products of this process are not sums of products")
