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

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from flint import arb, ctx, fmpq

from certattn.fast.exponential_bound import PROOF_BITS, SIZE, Exponential, relative_error_bound
from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import Choice, Field, Rational, Record, Values, some_of
from certattn.kernel.errors import BoundNotProvedError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.arithmetic.exponential_value import (
    is_binary64,
    relative_error_at,
    scores_to_try,
    tails_to_try,
)

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


_TITLE = "how exact an exponential made of binary64 additions and multiplications is"
THEOREM = Theorem("binary64-exponential", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations, begin=PROOF_BITS)
