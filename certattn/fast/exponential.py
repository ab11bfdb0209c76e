"""2^-K e^s for whole arrays, from multiplications, additions and bit operations.

    t = fl(fl(s INVERSE) + (MAGIC - 2048 K)),   k = t - (MAGIC - 2048 K)     k: the integer nearest to s / L
    r = fl((s - k L1) - fl(k L2))                                          L = ln 2 / 2048 = L1 + L2 + ...
    P = r (1 + r (C2 + C3 r)),   w = T_j + T_j P,   j = k mod 2048         T_j: 2^(j / 2048), rounded

where every product and sum is rounded, and floor(k / 2048) - K is added to the exponent of w.
J.-M. Muller, Elementary Functions, chapter 6: table-based reduction with an additive constant.

How far the result is from 2^-K e^s is proved in `exponential_bound`, from the constants below as
they stand: neither they nor the table are trusted.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TypeVar

import numpy as np
from flint import arb, fmpq, fmpz_mat
from numpy.typing import NDArray

from certattn.fast.exponential_bound import LOG2, MAGIC, PROOF_BITS, SIZE, Exponential, relative_error_bound
from certattn.fast.units import DOWN, UNDERFLOW, UP, Floats, gamma
from certattn.kernel.errors import BoundNotProvedError, RefusedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

# The bound is proved for |s| <= SCORE_LIMIT and |tail| <= TAIL_LIMIT.
SCORE_LIMIT = 11000.0
TAIL_LIMIT = float.fromhex("0x1p-39")

# ln 2 / 2048 in two parts, the first of 28 bits: its product with k is exact.
L1 = float.fromhex("0x1.62e42fep-12")
L2 = float.fromhex("0x1.f473de6af278fp-41")
INVERSE = float.fromhex("0x1.71547652b82fep+11")
# e^r = 1 + r + C2 r^2 + C3 r^3 + ...: 1/2 and 1/6, moved so that the error oscillates.
C2 = float.fromhex("0x1.000000087db8cp-1")
C3 = float.fromhex("0x1.5555555c204f8p-3")

_INDEX = np.uint64(SIZE - 1)
_SHIFT = np.uint64(52 - LOG2)
_EXPONENT = np.uint64(2**64 - 2**52)


def _table() -> Floats:
    """The doubles nearest to 2^(j / 2048); each is an integer below 2^53, divided by 2^52."""
    with working_precision(128):
        step = arb(2).log() / SIZE
        nearest = [((j * step).exp() * 2**52 + fmpq(1, 2)).floor().unique_fmpz() for j in range(SIZE)]
    table = np.ldexp(np.array([int(n) for n in nearest], np.float64), -52)
    table.setflags(write=False)
    return table


TABLE = _table()


class Work:
    """Scratch for arrays of one shape; not to be shared between threads."""

    __slots__ = ("factor", "index", "value")

    def __init__(self, shape: int | tuple[int, ...]) -> None:
        self.value: Floats = np.empty(shape, np.float64)
        self.factor: Floats = np.empty(shape, np.float64)
        self.index: NDArray[np.int64] = np.empty(shape, np.int64)


def exp_shifted(s: Floats, K: int | Floats, out: Floats, work: Work, tail: Floats | None = None) -> Floats:
    """out = 2^-K e^(s + tail) (1 + eps), |eps| <= `exponential_bound.relative_error`; s is overwritten.

    For |s| <= SCORE_LIMIT, |s / ln 2 - K| <= 1010 and |tail| <= TAIL_LIMIT, which the caller has
    made sure of: nothing is said of other numbers, and a NaN may come out as a number. K is an
    integer, or an array of integers that broadcasts against s. e^0 is exactly 1. The arrays must
    not overlap.
    """
    value, factor, index = work.value, work.factor, work.index
    for array in (s, out) if tail is None else (s, out, tail):
        if array.dtype != np.float64 or array.shape != value.shape:
            raise TypeError(f"float64 of shape {value.shape} is needed, not {array.dtype} of shape {array.shape}")
    # Exact: integers below 2^53.
    magic = MAGIC - SIZE * np.asarray(K, np.float64)
    np.multiply(s, INVERSE, out=value)
    np.add(value, magic, out=value)
    np.subtract(value, magic, out=factor)  # k
    np.multiply(factor, L1, out=out)
    np.subtract(s, out, out=s)
    np.multiply(factor, L2, out=factor)
    np.subtract(s, factor, out=s)
    if tail is not None:
        np.add(s, tail, out=s)
    # The low bits of `value` are k - 2048 K: the lowest LOG2 of them are j, the rest the exponent.
    bits, high = value.view(np.uint64), index.view(np.uint64)
    np.bitwise_and(bits, _INDEX, out=high)
    np.take(TABLE, index, out=factor, mode="wrap")  # `wrap` writes to `out` without a copy
    np.left_shift(bits, _SHIFT, out=high)
    np.bitwise_and(high, _EXPONENT, out=high)
    np.multiply(s, C3, out=value)
    np.add(value, C2, out=value)
    np.multiply(value, s, out=value)
    np.add(value, 1.0, out=value)
    np.multiply(value, s, out=value)
    np.multiply(value, factor, out=value)
    np.add(factor, value, out=out)
    result = out.view(np.uint64)
    np.add(result, high, out=result)
    return out


# -- its error


@cache
def relative_error(*, tail: bool = False) -> float:
    """The proved bound for the constants that this process runs, with or without a tail.

    Raises BoundNotProvedError where there is no proof.
    """
    with working_precision(PROOF_BITS):
        return _float_above(relative_error_bound(own_exponential(tail=tail)))


@cache
def own_exponential(*, tail: bool) -> Exponential:
    """What is run here, as exact numbers; without a tail it is 0."""
    ratios = [entry.as_integer_ratio() for entry in TABLE.tolist()]
    denominator = max(q for _, q in ratios)
    numerators = fmpz_mat(1, SIZE, [p * (denominator // q) for p, q in ratios])
    return Exponential(
        l1=_exact(L1),
        l2=_exact(L2),
        inverse=_exact(INVERSE),
        c2=_exact(C2),
        c3=_exact(C3),
        table=ExactMatrix(numerators, denominator),
        score_limit=_exact(SCORE_LIMIT),
        tail_limit=_exact(TAIL_LIMIT) if tail else fmpq(0),
    )


def _exact(number: float) -> fmpq:
    return fmpq(*number.as_integer_ratio())


def _float_above(bound: arb) -> float:
    """A double that is at least the bound: a multiple of 2^-104 with an integer of less than 2^53."""
    units = (bound.upper() * 2**104).ceil().unique_fmpz()
    if units is None or units >= 2**53:
        raise BoundNotProvedError("no useful bound is proved: the relative error may exceed 2^-51")
    return math.ldexp(int(units), -104)


# -- scores that are not exact

# ln 2, rounded to nearest.
LN2 = float.fromhex("0x1.62e42fefa39efp-1")
# Weights below 2^-1000 of the largest are raised to it.
DEPTH = 1000
# Beyond this error of scores the weights say too little.
LARGEST_SCORE_ERROR = 0.125


def require_reach(least: float, largest: float) -> None:
    """Raises RefusedError unless all scores are finite, and within what the exponential is proved for."""
    # Written so that a NaN refuses.
    if not (largest <= SCORE_LIMIT and least >= -SCORE_LIMIT):
        raise RefusedError(f"scores beyond +-{SCORE_LIMIT:g}, or numbers that are not finite")


Number = TypeVar("Number", float, Floats)


def beta(delta: Number, eps: float) -> Number:
    """A bound on |W / v - 1| where scores are off by at most delta <= 1/8: e^delta <= 1 + delta + delta^2."""
    growth = delta + delta * delta
    z = (growth + eps * (1 + growth)) * UP
    return z / ((1 - z) * DOWN) * UP


def score_errors(dimension: int, query_norm: Floats, query_radius: Floats, key_norm: float) -> tuple[Floats, Floats]:
    """(slope, shift): a score computed for a key k, |k| <= key_norm, is off by at most slope |k| + shift."""
    slope: Floats = (gamma(dimension) * query_norm + query_radius) * UP
    shift: Floats = 4 * dimension * UNDERFLOW * (1 + key_norm + query_norm) * UP
    return slope, shift
