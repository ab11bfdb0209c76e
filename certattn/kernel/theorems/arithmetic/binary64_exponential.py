"""Theorem `binary64-exponential`: how exact an exponential of additions and multiplications is.

Given five binary64 numbers L1, L2, inverse, C2, C3 and a table T of 2048 more, let F(s, K) for a
binary64 number s and an integer K be what these operations return, each rounded to nearest, ties
to even, in IEEE-754 binary64, subnormal numbers being kept or replaced by zero:

    A = 3 * 2^51 - 2048 K,   t = s inverse + A,   k = t - A
    r = (s - k L1) - k L2                                  with a tail x: r = ((s - k L1) - k L2) + x
    P = (1 + (C2 + C3 r) r) r
    F = 2^(floor(k / 2048) - K) (T_j + P T_j),   j = k mod 2048

A certificate asserts one or more of

    at_most   |F(s, K) / (2^-K e^s) - 1| <= b for all |s| <= scores_up_to and integers K with
              |s / ln 2 - K| <= 1010; with a tail, for all |x| <= tail_up_to and e^(s + x)
    at        the same error at one stated s is at least a stated number
    used_by   these are the constants with which the kernel itself computes exponentials

docs/claims/arithmetic/binary64-exponential.md has the proof that `fast.exponential_bound` goes through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from flint import arb, ctx, fmpq, fmpz

from certattn.fast.exponential_bound import (
    PROOF_BITS,
    REACH,
    SIZE,
    Exponential,
    relative_error_bound,
    table_errors,
)
from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import Choice, Field, Rational, Record, Values, some_of
from certattn.kernel.errors import BoundNotProvedError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe

HIGH = Field("L1", Rational(), "ln 2 / 2048 to a few bits, so that k L1 is exact")
LOW = Field("L2", Rational(), "the rest of ln 2 / 2048")
INVERSE = Field("inverse", Rational(), "2048 / ln 2")
SQUARE = Field("C2", Rational(), "coefficient of r^2")
CUBE = Field("C3", Rational(), "coefficient of r^3")
NUMBERS = (HIGH, LOW, INVERSE, SQUARE, CUBE)
CONSTANTS = Field("constants", Record(*NUMBERS), "the five constants, each a binary64 number")
TABLE = Field("table", Vector(), "2^(j / 2048) for j = 0, ..., 2047, each a binary64 number")
SCORES = Field("scores_up_to", Rational(above=0), "the largest |s|")
TAIL = Field("tail_up_to", Rational(above=0), "the largest |x|; no tail is added if left out", required=False)

MOST = Field("at_most", Rational(minimum=0), "no relative error is larger", required=False)
SCORE = Field("score", Rational(), "a binary64 number s")
LEAST = Field("at_least", Rational(minimum=0), "the relative error there is no smaller")
AT = Field("at", Record(SCORE, LEAST), "the relative error at one s, from below", required=False)
RELATIVE_ERROR = Field("relative_error", Record(MOST, AT, rules=[some_of(MOST, AT)]), "bounds on |F / (2^-K e^s) - 1|")
USED_BY = Field("used_by", Choice(("kernel",)), "whose constants these are", required=False)

GIVEN = Record(CONSTANTS, TABLE, SCORES, TAIL)
ASSERTS = Record(RELATIVE_ERROR, USED_BY)
WITNESS = Record()


@dataclass(frozen=True)
class StatedExponential:
    """What is given, and what is asserted of the relative error and of whose constants these are."""

    given: Values
    error: Values
    used_by_kernel: bool

    @property
    def at(self) -> Values | None:
        """A score and a lower bound there."""
        return self.error.get(AT)

    @property
    def has_tail(self) -> bool:
        return TAIL in self.given

    @cached_property
    def function(self) -> Exponential:
        """The function, with its table. Raises MalformedError where an entry is no binary64 number."""
        given, table = self.given, self.given[TABLE]
        entries = table.load()
        for j, entry in enumerate(entries.row(0)):
            if is_binary64(entry) is not True:
                raise table.node.malformed("binary64 numbers", f"{describe(entry)} as entry {j}")
        high, low, inverse, square, cube = (given[CONSTANTS][field] for field in NUMBERS)
        return Exponential(high, low, inverse, square, cube, entries, given[SCORES], given.get(TAIL) or fmpq(0))

    @cached_property
    def tried(self) -> Shared[list[tuple[fmpq, arb]]]:
        """A few scores and the relative errors there, where there is a finite result."""
        return Shared(self._tried)

    def _tried(self) -> list[tuple[fmpq, arb]]:
        scores = scores_to_try(self.function) + ([self.at[SCORE]] if self.at is not None else [])
        pairs = [(score, tail) for score in scores for tail in tails_to_try(self.function)]
        errors = [(score, relative_error_at(self.function, score, tail)) for score, tail in pairs]
        return [(score, error) for score, error in errors if error is not None]

    def worst_tried(self) -> tuple[fmpq, arb]:
        """The score with the largest error of those, and that error."""
        return max(self.tried(), key=lambda pair: pair[1].mid(), default=(fmpq(0), arb(0)))


def read(certificate: Certificate) -> StatedExponential:
    """Constants that are binary64 numbers, and so many entries of the table. Raises MalformedError."""
    reading = certificate.reading
    given, asserts = GIVEN.read(certificate.given, reading), ASSERTS.read(certificate.asserts, reading)
    if certificate.witness is not None:
        WITNESS.read(certificate.witness, reading)
    constants, table = given[CONSTANTS], given[TABLE]
    for field in NUMBERS:
        if is_binary64(constants[field]) is not True:
            raise constants.node(field).malformed("a binary64 number, such as 0x1.8p-3", describe(constants[field]))
    if table.shape[1] != SIZE:
        raise table.node.malformed(f"{SIZE} numbers, one for each j", f"{table.shape[1]} numbers")
    stated = StatedExponential(given, asserts[RELATIVE_ERROR], asserts.get(USED_BY) is not None)
    if stated.at is not None:
        score = stated.at[SCORE]
        if is_binary64(score) is not True or abs(score) > given[SCORES]:
            raise stated.at.node(SCORE).malformed("a binary64 number of at most scores_up_to", describe(score))
    return stated


def obligations(stated: StatedExponential) -> Iterator[Obligation]:
    """Scores that are tried can refute a bound for all of them; the proof can only prove it or not."""
    function, error, at = stated.function, stated.error, stated.at
    if MOST in error:
        yield Obligation("at_most.tried", lambda: stated.worst_tried()[1], "<=", error[MOST])
        yield Obligation("at_most", lambda: _proved_error(function), "<=", error[MOST], Part.WITNESS)
    if at is not None:
        score = at[SCORE]
        yield Obligation("at", lambda: _error_at(function, score), ">=", at[LEAST])
    if stated.used_by_kernel:
        # Imported where the kernel's own is asked for: the rest needs no numpy.
        from certattn.fast.exponential import own_exponential

        own = own_exponential(tail=stated.has_tail)
        scores, tails = function.score_limit - own.score_limit, function.tail_limit - own.tail_limit
        yield Obligation("kernel.constants", _constants(function), "=", _constants(own))
        yield Obligation("kernel.table", function.table, "=", own.table)
        yield Obligation("kernel.scores", lambda: arb(scores), ">=", fmpq(0))
        if stated.has_tail:
            yield Obligation("kernel.tail", lambda: arb(tails), ">=", fmpq(0))


def _proved_error(function: Exponential) -> arb:
    try:
        return relative_error_bound(function)
    except BoundNotProvedError as error:
        if ctx.prec < PROOF_BITS:
            return arb("nan")
        raise NoBound(str(error)) from None


def _error_at(function: Exponential, score: fmpq) -> arb:
    found = relative_error_at(function, score, fmpq(0))
    if found is None:
        # Whatever the precision.
        raise NoBound("the operations give no finite result")
    return found


def _constants(function: Exponential) -> ExactMatrix:
    return ExactMatrix.row_vector([function.l1, function.l2, function.inverse, function.c2, function.c3])


# -- single values
#
# Single values of `exponential.exp_shifted`, by exact arithmetic, for stated constants.
#
# One value shows that the relative error is at least so much. No floating-point operation is
# performed: each is the exact one followed by `to_nearest`.

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


_TITLE = "how exact an exponential made of binary64 additions and multiplications is"
THEOREM = Theorem("binary64-exponential", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations, begin=PROOF_BITS)
