"""How far `exponential.exp_shifted` is from the exponential: a proof with Arb, for stated constants.

`relative_error_bound` is a function of the constants and the table alone. It goes through the
operations in their order, as docs/claims/arithmetic/binary64-exponential.md does in words:

    reduction       k is an integer with |s - k L| <= L/2 and a little; s - k L1 is exact
    approximation   |r (1 + r (C2 + C3 r)) - (e^r - 1)| on the reduced range, in closed form
    rounding        of each operation of the cubic
    table           |T_j / 2^(j / 2048) - 1| for every j
    assembly        fl(T_j + fl(T_j P)), and the exponent

Every operation is taken as fl(x y) = x y (1 + d) + e with |d| <= 2^-53 and |e| <= 2^-1022, the
latter also where subnormal operands or results are replaced by zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, arb_mat, fmpq

from certattn.kernel.errors import BoundNotProvedError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

# Entries of the table, and the largest |s / ln 2 - K| that the bound is for.
LOG2 = 11
SIZE = 2**LOG2
REACH = 1010
# Doubles near MAGIC are 1 apart: adding it rounds to an integer, which then stands in the low bits.
MAGIC = 3 * 2**51

# At 128 bits the proof itself loses about 2^-110, relative to a bound of 2^-52.
PROOF_BITS = 128
_UNIT = fmpq(1, 2**53)
_TINY = fmpq(1, 2**1022)


@dataclass(frozen=True)
class Exponential:
    """The constants of the function, and the largest |s| and |tail| that the bound is to hold for.

    All are binary64 numbers but the limits; `table` is 1 x SIZE.
    """

    l1: fmpq
    l2: fmpq
    inverse: fmpq
    c2: fmpq
    c3: fmpq
    table: ExactMatrix
    score_limit: fmpq
    tail_limit: fmpq


def relative_error_bound(function: Exponential) -> arb:
    """A ball whose upper end bounds |result / (2^-K e^(s + tail)) - 1|, at the working precision.

    Raises BoundNotProvedError where a condition of the proof is not proved.
    """
    _require(function.table.shape == (1, SIZE), f"the table has {SIZE} entries")
    residual = _reduce(function)
    cubic = _cubic(function, residual)
    growth = residual.size.exp()
    # |P - (e^r* - 1)|, r* the exact residual: approximation, rounding, and r instead of r*.
    off = _approximation_error(function, residual.size) + cubic.error + residual.error * growth
    tau = arb(0)
    for error in table_errors(function.table):
        tau = tau.max(error)
    _require(tau < fmpq(1, 8), "the table is near 2^(j / 2048)")
    # T + fl(T P), relative to 2^(j / SIZE) e^r*; 8 tiny covers an underflow of T P, as T >= 1/2.
    assembled = (1 + tau) * (1 + (off + cubic.size * _UNIT + 8 * _TINY) * growth) - 1
    bound = (1 + assembled) * (1 + _UNIT) - 1
    # The result before scaling lies in [1/2, 4): |floor(k / SIZE) - K| <= REACH + 1 leaves it a normal number.
    _require(bound < fmpq(1, 4), "the relative error is less than 1/4")
    _require(residual.size < fmpq(1, 8), "the reduced argument is less than 1/8")
    return bound


# -- the steps


@dataclass(frozen=True)
class _Computed:
    """A computed number: |computed| <= size, and |computed - meant| <= error."""

    size: arb
    error: arb

    def __post_init__(self) -> None:
        _require(self.size < fmpq(2) ** 1000, "no operation overflows")

    def times(self, other: _Computed) -> _Computed:
        exact, tiny = self.size * other.size, _TINY * (1 + self.size + other.size)
        error = self.error * other.size + (self.size + self.error) * other.error + exact * _UNIT + tiny
        return _Computed(exact * (1 + _UNIT) + tiny, error)

    def plus(self, other: _Computed) -> _Computed:
        exact, tiny = self.size + other.size, arb(3 * _TINY)
        return _Computed(exact * (1 + _UNIT) + tiny, self.error + other.error + exact * _UNIT + tiny)


def _exactly(value: arb) -> _Computed:
    return _Computed(abs(value), arb(0))


def _reduce(function: Exponential) -> _Computed:
    """r, which is meant to be s + tail - k L."""
    step = arb(2).log() / SIZE
    scores = function.score_limit / step
    # t1 = fl(s INVERSE) is this far from s / L.
    drift = scores * ((1 + abs(function.inverse * step - 1)) * (1 + _UNIT) - 1) + _TINY * (2 + abs(function.inverse))
    _require(drift < fmpq(1, 4), "s / L is computed to 1/4")
    largest = scores + drift + fmpq(1, 2)
    # Then t lies in [2^52, 2^53], where doubles are the integers: k is an integer nearest to t1.
    shift = SIZE * (function.score_limit / arb(2).log() + REACH)
    _require(largest + shift + 1 < min(MAGIC - 2**52, 2**53 - MAGIC), "t is between 2^52 and 2^53")
    radius = step * (fmpq(1, 2) + drift)
    # k L1 is exact, and so is s - k L1: a multiple of 2^-65 that is at most 2^-12. For k = 0 there is
    # nothing to show; otherwise |s| >= L (1/2 - drift) >= 2^-13, so that s is a multiple of 2^-65.
    grid = function.l1 * 2**39
    _require(grid.q == 1 and largest * abs(grid) <= 2**53, "k L1 is exact")
    _require(step * (fmpq(1, 2) - drift) >= fmpq(1, 2**13), "s is a multiple of 2^-65 unless k is 0")
    _require(radius + largest * abs(step - function.l1) <= fmpq(1, 2**12), "s - k L1 is exact")
    product = _exactly(largest).times(_exactly(arb(function.l2)))
    # What s - k L1 - fl(k L2) differs by from s - k L, then the rounding of the difference.
    off = largest * abs(step - function.l1 - function.l2) + product.error + 6 * _TINY
    off += (radius + off) * _UNIT
    reduced = _Computed(radius + off, off)
    return reduced.plus(_exactly(arb(function.tail_limit))) if function.tail_limit > 0 else reduced


def _approximation_error(function: Exponential, radius: arb) -> arb:
    """A bound on |r (1 + r (c2 + c3 r)) - (e^r - 1)| for |r| <= radius.

    The difference is -(a r^2 + r^4 / 24) - (b r^3 + r^5 / 120) - r^6 / 720 - ..., a = 1/2 - c2 and
    b = 1/6 - c3: with x = r^2, parabolas in x, and a remainder of at most radius^6 e^radius / 720.
    """
    even = _largest_on_parabola(fmpq(1, 2) - function.c2, fmpq(1, 24), radius**2)
    odd = radius * _largest_on_parabola(fmpq(1, 6) - function.c3, fmpq(1, 120), radius**2)
    return even + odd + radius**6 * radius.exp() / 720


def _largest_on_parabola(a: fmpq, b: fmpq, end: arb) -> arb:
    """max |a x + b x^2| for 0 <= x <= end, b > 0: at the end, or at the vertex -a / 2b if it lies there."""
    at_end, vertex = abs(a * end + b * end**2), -a / (2 * b)
    outside = vertex <= 0 or (vertex >= end) is True
    return at_end if outside else at_end.max(arb(a * a / (4 * b)))


def _cubic(function: Exponential, residual: _Computed) -> _Computed:
    """P for the computed r, which is meant to be r (1 + r (c2 + c3 r)) for the same r."""
    r = _exactly(residual.size)
    inner = r.times(_exactly(arb(function.c3))).plus(_exactly(arb(function.c2)))
    return inner.times(r).plus(_exactly(arb(1))).times(r)


def table_errors(table: ExactMatrix) -> list[arb]:
    """|T_j / 2^(j / SIZE) - 1| for every j."""
    entries = (arb_mat(table.numerators) * (arb(1) / table.denominator)).entries()
    step = (-arb(2).log() / SIZE).exp()
    power, errors = arb(1), []
    for entry in entries:
        errors.append(abs(entry * power - 1))
        power *= step
    return errors


def _require(condition: bool, words: str) -> None:
    if condition is not True:
        raise BoundNotProvedError(f"a condition of the proof is not proved: {words}")
