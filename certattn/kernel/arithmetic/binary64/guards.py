"""What the bounds assume of the machine, tried out on the spot.

The bounds hold for IEEE 754 binary64 rounded to nearest, and for matrix products that add up all
products in some order. Importing some libraries leaves a thread rounding upward, and new threads
inherit it; so every call and every thread begins here.
"""

from __future__ import annotations

import numpy as np

from certattn.kernel.arithmetic.binary64.rows import Floats
from certattn.kernel.arithmetic.binary64.units import UNIT
from certattn.kernel.errors import GuardError

# Far enough apart in length that no vector unit treats them as one scalar.
_LANES = 16

_STEP = 2 * UNIT


def _lanes(*numbers: float) -> Floats:
    return np.repeat(np.array(numbers)[:, None], _LANES, axis=1)


# What comes out is compared bit by bit: a thread that takes subnormal numbers for zero compares so, too.
# Added to 1: ties go to even, what is more than half goes up, on both sides of zero.
_AROUND_ONE = _lanes(1, 1, -1, -1)
_ADDED = _lanes(UNIT, UNIT * (1 + 2.0**-50), -UNIT, -UNIT * (1 + 2.0**-50))
_SUMS = _lanes(1, 1 + _STEP, -1, -1 - _STEP).tobytes()
_FACTORS = _lanes(1 + _STEP, -1 - _STEP)
_SQUARE = _lanes(1 + 2 * _STEP, -1 - 2 * _STEP).tobytes()
# The least number there is, and half of the least normal one.
_SMALL, _SCALES = _lanes(2.0**-1074, 2.0**-1022), _lanes(1, 0.5)
_SMALLEST = _lanes(2.0**-1074, 2.0**-1023).tobytes()

# A tie and a little more than a tie, as products, on both sides of zero.
_TIES = np.array([[1, UNIT], [-1, -UNIT], [1, 1.5 * UNIT], [-1, -1.5 * UNIT]])
_NEAREST = np.array([[1], [-1], [1 + _STEP], [-1 - _STEP]])


def _padded(rows: int, columns: int) -> tuple[Floats, Floats]:
    """The ties over and over among zeros, and what their rows add up to."""
    left = np.zeros((rows, columns))
    left[:, :2] = np.tile(_TIES, (rows // len(_TIES), 1))
    return left, np.tile(_NEAREST, (rows // len(_TIES), 1))


# So large that a library with threads of its own puts them to work.
_LONG, _WIDE = _padded(2560, 4), _padded(16, 1056)
_ONES_TIES, _ONES_LONG, _ONES_WIDE = np.ones(2), np.ones((4, 1)), np.ones((1056, 16))

# Integers below 2^20 in a fixed pattern: no sum of 131 products reaches 2^53.
_INTEGERS = ((np.arange(37 * 131, dtype=np.int64) * 1103515245 + 12345) % 2**21 - 2**20).reshape(37, 131)
_TABLE = _INTEGERS.astype(np.float64)
_COLUMNS = [(_TABLE[:count].T, (_INTEGERS @ _INTEGERS[:count].T).astype(np.float64)) for count in (1, 9)]
_INNER = (_INTEGERS * _INTEGERS[0]).sum(axis=1).astype(np.float64)


def require_sound_arithmetic() -> None:
    """Raises GuardError where rounding, underflow or matrix products are not as assumed."""
    require_rounding_to_nearest()
    _require_gradual_underflow()
    _require_plain_products()


def require_rounding_to_nearest() -> None:
    """Raises GuardError where this thread rounds in another way."""
    if (_AROUND_ONE + _ADDED).tobytes() != _SUMS or (_FACTORS * _FACTORS[0]).tobytes() != _SQUARE:
        raise GuardError("this thread does not round to nearest")


def _require_gradual_underflow() -> None:
    if (_SMALL * _SCALES).tobytes() != _SMALLEST:
        raise GuardError("this thread flushes subnormal numbers to zero")


def _require_plain_products() -> None:
    """Matrix products round to nearest, in every thread of theirs, and are exact where everything fits."""
    products = [(_TIES @ _ONES_TIES, _NEAREST[:, 0])]
    products += [(_LONG[0] @ _ONES_LONG, _LONG[1]), (_WIDE[0] @ _ONES_WIDE, _WIDE[1])]
    for found, expected in products:
        if (found == expected).all() is not np.True_:
            raise GuardError("the matrix products of this process do not round to nearest")
    exact = [(_TABLE @ right, expected) for right, expected in _COLUMNS]
    exact.append((np.vecdot(_TABLE, _TABLE[0]), _INNER))
    for found, expected in exact:
        if (found == expected).all() is not np.True_:
            raise GuardError("the matrix products of this process are not sums of products")
