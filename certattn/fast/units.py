"""The few constants of every a-priori bound in binary64.

A *bound* here is a number >= 0 built from others by sums, products, quotients and square roots,
rounded to nearest along the way. One factor `UP` at the end covers up to 2^12 such roundings:
(1 + 2^-53)^4096 < 1 + 2^-40. Where a bound is a difference, it is taken down instead, and says so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certattn.kernel.decide.floating_point import require_default
from certattn.kernel.errors import GuardError, RefusedError

Floats = NDArray[np.float64]

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


# -- what the bounds assume of the machine, tried out on the spot
#
# The bounds hold for IEEE 754 binary64 rounded to nearest with subnormal numbers kept, and for matrix
# products that add up all products in some order. Importing some libraries leaves a thread rounding upward
# or flushing subnormal numbers to zero, and new threads inherit it; so every call and every thread begins
# here. Operands and expected results are bit patterns: numbers that are computed or written as literals
# could have been lost in the same way as the results that they are compared with.

# Far enough apart in length that no vector unit treats them as one scalar.
_LANES = 16
_SIGN = 1 << 63
_BIAS = 1023


def _power(exponent: int) -> int:
    """The bits of 2^exponent."""
    return exponent + _BIAS << 52 if exponent > -_BIAS else 1 << exponent + _BIAS + 51


def _floats(patterns: list[list[int]]) -> Floats:
    return np.array(patterns, np.uint64).view(np.float64)


def _lanes(*patterns: int) -> Floats:
    return _floats([[pattern] * _LANES for pattern in patterns])


_ONE = _power(0)
# 1 + 2u and 1 + 4u are the next numbers after 1; u is half of the distance.
_NEXT, _AFTER, _TIE = _ONE + 1, _ONE + 2, _power(-53)

# Added to 1: ties go to even, what is more than half goes up, on both sides of zero.
_AROUND_ONE = _lanes(_ONE, _ONE, _ONE | _SIGN, _ONE | _SIGN)
_ADDED = _lanes(_TIE, _TIE + 4, _TIE | _SIGN, _TIE + 4 | _SIGN)
_SUMS = _lanes(_ONE, _NEXT, _ONE | _SIGN, _NEXT | _SIGN).tobytes()
_FACTORS = _lanes(_NEXT, _NEXT | _SIGN)
_SQUARE = _lanes(_AFTER, _AFTER | _SIGN).tobytes()
# The least number there is, and half of the least normal one.
_SMALL, _SCALES = _lanes(_power(-1074), _power(-1022)), _lanes(_ONE, _power(-1))
_SMALLEST = _lanes(_power(-1074), _power(-1023)).tobytes()
# What the bounds are made of, whatever the compiler of this module made of it.
_CONSTANTS = {
    "UNIT": (UNIT, _TIE),
    "UNDERFLOW": (UNDERFLOW, _power(-1022)),
    "UP": (UP, _ONE + (1 << 12)),
    "DOWN": (DOWN, _ONE - (1 << 13)),
    "LARGEST": (LARGEST, _power(400)),
}

# A tie and a little more than a tie, as products, on both sides of zero; then subnormal numbers.
_TIES = _floats([
    [_ONE, _TIE], [_ONE | _SIGN, _TIE | _SIGN], [_ONE, _TIE + (1 << 51)], [_ONE | _SIGN, _TIE + (1 << 51) | _SIGN],
    [1, 1], [1 | _SIGN, 1 | _SIGN], [3, 1 | _SIGN], [_power(-1023), _power(-1023)],
])  # fmt: skip
_NEAREST = _floats([[_ONE], [_ONE | _SIGN], [_NEXT], [_NEXT | _SIGN], [2], [2 | _SIGN], [2], [_power(-1022)]])


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
    _require_constants()
    _require_plain_products()


def require_rounding_to_nearest() -> None:
    """Raises GuardError where this thread rounds in another way, one number at a time or many."""
    require_default()
    if (_AROUND_ONE + _ADDED).tobytes() != _SUMS or (_FACTORS * _FACTORS[0]).tobytes() != _SQUARE:
        raise GuardError("this thread does not round to nearest")


def _require_gradual_underflow() -> None:
    if (_SMALL * _SCALES).tobytes() != _SMALLEST:
        raise GuardError("this thread flushes subnormal numbers to zero")


def _require_constants() -> None:
    for name, (constant, pattern) in _CONSTANTS.items():
        if np.float64(constant).tobytes() != np.uint64(pattern).tobytes():
            raise GuardError(f"the constant {name} of the bounds was compiled in another floating-point environment")


def _require_plain_products() -> None:
    """Matrix products are as assumed in every thread of theirs, and exact where everything fits."""
    products = [(_TIES @ _ONES_TIES, _NEAREST[:, 0])]
    products += [(_LONG[0] @ _ONES_LONG, _LONG[1]), (_WIDE[0] @ _ONES_WIDE, _WIDE[1])]
    for found, expected in products:
        if (found == expected).all() is not np.True_:
            raise GuardError("the matrix products of this process do not round to nearest, or lose subnormal numbers")
    exact = [(_TABLE @ right, expected) for right, expected in _COLUMNS]
    exact.append((np.vecdot(_TABLE, _TABLE[0]), _INNER))
    for found, expected in exact:
        if (found == expected).all() is not np.True_:
            raise GuardError("the matrix products of this process are not sums of products")
