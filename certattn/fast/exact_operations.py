"""Products and sums in doubles that are exact, or refused: what quantised arrays stand for. Docs: binary64.md.

A code of a few bits times a scale of half or single precision is a double. Whether it is one is read off the bits: a
number x that is not 0 has a lowest and a highest bit, low <= high, so that x is a multiple of 2^low below 2^(high + 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from certattn.fast.units import LARGEST, Floats
from certattn.kernel.errors import RefusedError

# Significant bits of a double, and the exponent of the least normal one.
_BITS, _LEAST = 53, -1022
_FAR = 4096

Exponents = NDArray[np.int64]


def exact_product(left: Floats, right: Floats) -> Floats:
    """A product of integers of a and b bits has at most a + b."""
    (low, high), (other_low, other_high) = bits(left), bits(right)
    fits = (high - low + 1 + other_high - other_low + 1 <= _BITS) & (low + other_low >= _LEAST)
    return _required(left * right, fits | (left == 0) | (right == 0))


def exact_sum(left: Floats, right: Floats) -> Floats:
    """A sum is a multiple of the lower of both lowest bits, and below twice the power of two above both numbers."""
    (low, high), (other_low, other_high) = bits(left), bits(right)
    fits = np.maximum(high, other_high) + 2 - np.minimum(low, other_low) <= _BITS
    return _required(left + right, fits | (left == 0) | (right == 0))


def bits(numbers: Floats) -> tuple[Exponents, Exponents]:
    """The exponents of the lowest and of the highest bit; of 0 such that nothing follows from it."""
    mantissa, exponent = np.frexp(numbers)
    integers = np.ldexp(mantissa, _BITS).astype(np.int64)
    lowest = np.frexp((integers & -integers).astype(np.float64))[1] - 1
    high = exponent.astype(np.int64) - 1
    low = high + 1 - _BITS + lowest
    return np.where(numbers == 0, _FAR, low), np.where(numbers == 0, -_FAR, high)


def _required(numbers: Floats, are_exact: NDArray[np.bool_]) -> Floats:
    # Written so that a NaN refuses.
    if not bool((are_exact & (np.abs(numbers) <= LARGEST)).all()):
        raise RefusedError("a quantised number that no double is")
    return numbers
