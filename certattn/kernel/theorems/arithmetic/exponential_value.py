"""Single values of `exponential.exp_shifted`, by exact arithmetic, for stated constants.

One value shows that the relative error is at least so much. No floating-point operation is
performed: each is the exact one followed by `to_nearest`.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, fmpq, fmpz

from certattn.fast.exponential_bound import REACH, SIZE, Exponential, table_errors

_LN2_BELOW, _LN2_ABOVE = fmpq(6931471, 10**7), fmpq(6931472, 10**7)
# The worst entries of the table, and where around them errors are tried, in steps of the table.
_WORST_ENTRIES = 4
_AROUND = tuple(fmpq(i, 16) for i in (-7, -5, -3, -1, 0, 1, 3, 5, 7))


class _NoValueError(ArithmeticError):
    """The operations overflow or leave the range that their definition is for."""


def relative_error_at(function: Exponential, score: fmpq, tail: fmpq) -> arb | None:
    """|result / (2^-K e^(score + tail)) - 1| at the working precision; None where there is no finite result.

    The result for other K differs by a power of two, and so does 2^-K e^s: K = floor(k / SIZE) is taken.
    """
    try:
        k, result = evaluate(function, score, tail)
    except _NoValueError:
        return None
    shift = k // SIZE
    # |score - K ln 2| <= REACH ln 2 from decimals of ln 2, so that no precision is too low to see it.
    if abs(score - shift * _LN2_BELOW) + abs(shift) * (_LN2_ABOVE - _LN2_BELOW) > REACH * _LN2_BELOW:
        return None
    error: arb = abs(result / (score + tail - shift * arb(2).log()).exp() - 1)
    return error


def evaluate(function: Exponential, score: fmpq, tail: fmpq) -> tuple[fmpz, fmpq]:
    """k, and the result for K = floor(k / SIZE). Raises ArithmeticError where there is none.

    No tail is a tail of 0: adding it changes nothing.
    """
    guess = _rounded(score * function.inverse)
    k = _nearest_integer(guess)
    # Otherwise the sum with MAGIC is no integer below 2^53, and its bits mean something else.
    if abs(guess) + abs(k) + SIZE >= fmpq(2) ** 50:
        raise _NoValueError("s / L is too large")
    entry = function.table.entry(0, int(k % SIZE))
    return k, assemble(function, score, tail, k, entry, _rounded)


def assemble(
    function: Exponential, score: fmpq, tail: fmpq, k: fmpq | fmpz, entry: fmpq, rounded: Callable[[fmpq], fmpq]
) -> fmpq:
    """T_j + P T_j for a given k and T_j, every operation followed by `rounded`."""
    r = rounded(rounded(score - rounded(k * function.l1)) - rounded(k * function.l2))
    r = rounded(r + tail)
    cubic = rounded(rounded(r * function.c3) + function.c2)
    cubic = rounded(rounded(rounded(cubic * r) + 1) * r)
    return rounded(entry + rounded(cubic * entry))


def scores_to_try(function: Exponential) -> list[fmpq]:
    """Scores at which wrong constants show: small and large ones, ends of the reduced range, bad entries."""
    step = arb(2).log() / SIZE
    last = (function.score_limit / step).floor().unique_fmpz()
    wanted = [(j + offset) * step for j in _worst_entries(function) for offset in _AROUND]
    wanted += [(k + fmpq(1, 2)) * step for k in (0, -1, 1 - last, last - 2)] if last is not None else []
    scores = [fmpq(0), fmpq(1, 2**1074), -function.score_limit, function.score_limit]
    scores += [_of_ball(score) for score in wanted]
    rounded = (to_nearest(score) for score in scores if score.q & (score.q - 1) == 0)
    return [score for score in rounded if score is not None and abs(score) <= function.score_limit]


def tails_to_try(function: Exponential) -> list[fmpq]:
    """0 and the largest binary64 tails, of either sign."""
    limit = function.tail_limit
    if limit == 0 or is_binary64(limit) is not True:
        return [fmpq(0)]
    return [fmpq(0), -limit, limit]


def _worst_entries(function: Exponential) -> list[int]:
    """The entries of the table that are furthest from 2^(j / SIZE), as far as the working precision shows."""
    errors = [error.mid() for error in table_errors(function.table)]
    return sorted(range(SIZE), key=errors.__getitem__, reverse=True)[:_WORST_ENTRIES]


def _of_ball(ball: arb) -> fmpq:
    mantissa, exponent = ball.mid().man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def _nearest_integer(value: fmpq) -> fmpz:
    """Ties to even: MAGIC - SIZE K is even."""
    below = value.floor()
    twice_rest = 2 * (value - below)
    return below + 1 if twice_rest > 1 or (twice_rest == 1 and below % 2 == 1) else below


def _rounded(value: fmpq) -> fmpq:
    nearest = to_nearest(value)
    if nearest is None:
        raise _NoValueError("a result that is no finite number")
    return nearest


# -- binary64 on exact numbers
#
# IEEE-754 binary64 on exact numbers: what a rounded operation returns, without performing one.
#
# A product or sum of binary64 numbers is a rational p / 2^e; rounding it to nearest, ties to even,
# is integer arithmetic. Subnormal numbers are kept, as the standard says.

_PRECISION = 53
# The smallest positive number is 2^-1074.
_LOWEST = 1074
_OVERFLOW = fmpq(2) ** 1024


def to_nearest(value: fmpq) -> fmpq | None:
    """The binary64 number nearest to p / 2^e; None where that is an infinity.

    Raises ValueError for a denominator that is no power of two.
    """
    exponent = value.q.bit_length() - 1
    if value.q != fmpz(1) << exponent:
        raise ValueError(f"{value} is no fraction with a power of two below")
    size = abs(value.p)
    drop = max(size.bit_length() - _PRECISION, exponent - _LOWEST)
    if drop <= 0:
        nearest = value
    else:
        kept = size >> drop
        twice_rest, unit = 2 * (size - (kept << drop)), fmpz(1) << drop
        if twice_rest > unit or (twice_rest == unit and kept % 2 == 1):
            kept += 1
        nearest = fmpq((-kept if value.p < 0 else kept) << drop, value.q)
    return nearest if abs(nearest) < _OVERFLOW else None


def is_binary64(value: fmpq) -> bool:
    """Whether a rational is a finite binary64 number."""
    exponent = value.q.bit_length() - 1
    return value.q == fmpz(1) << exponent and to_nearest(value) == value
