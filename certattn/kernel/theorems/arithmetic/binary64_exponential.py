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

from flint import arb, fmpq

from certattn.fast.exponential_bound import PROOF_BITS, SIZE, Exponential, relative_error_bound
from certattn.kernel.decide.obligation import NoProof, Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import Choice, Field, Rational, Record, Values, some_of
from certattn.kernel.errors import BoundNotProvedError
from certattn.kernel.mathematics.balls import working_precision
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
    """What is given, and what is asserted of the relative error; `at_score` is a score and a lower bound there."""

    given: Values
    at_most: fmpq | None
    at_score: tuple[fmpq, fmpq] | None
    used_by_kernel: bool

    @property
    def has_tail(self) -> bool:
        return TAIL in self.given

    @cached_property
    def function(self) -> Exponential:
        """The function, with its table. Raises MalformedError where an entry is no binary64 number."""
        constants, table = self.given[CONSTANTS], self.given[TABLE]
        entries = table.load()
        for j, entry in enumerate(entries.row(0)):
            if is_binary64(entry) is not True:
                raise table.node.malformed("binary64 numbers", f"{describe(entry)} as entry {j}")
        return Exponential(
            l1=constants[HIGH],
            l2=constants[LOW],
            inverse=constants[INVERSE],
            c2=constants[SQUARE],
            c3=constants[CUBE],
            table=entries,
            score_limit=self.given[SCORES],
            tail_limit=self.given.get(TAIL) or fmpq(0),
        )

    @cached_property
    def tried(self) -> Shared[list[tuple[fmpq, arb]]]:
        """A few scores and the relative errors there, where there is a finite result."""
        return Shared(self._tried)

    def _tried(self) -> list[tuple[fmpq, arb]]:
        scores = scores_to_try(self.function) + ([self.at_score[0]] if self.at_score is not None else [])
        pairs = [(score, tail) for score in scores for tail in tails_to_try(self.function)]
        errors = [(score, relative_error_at(self.function, score, tail)) for score, tail in pairs]
        return [(score, error) for score, error in errors if error is not None]

    def worst_tried(self) -> tuple[fmpq, arb]:
        """The score with the largest error of those, and that error."""
        return max(self.tried(), key=lambda pair: pair[1].mid(), default=(fmpq(0), arb(0)))


def obligations(stated: StatedExponential) -> Iterator[Obligation | NoProof]:
    if stated.at_most is not None:
        yield from _upper(stated, stated.at_most)
    if stated.at_score is not None:
        yield _lower(stated.function, *stated.at_score)
    if stated.used_by_kernel:
        yield from _of_kernel(stated)


def _upper(stated: StatedExponential, bound: fmpq) -> Iterator[Obligation | NoProof]:
    """The bound for all scores. Scores that are tried can refute it; the proof can only prove it or not."""
    yield Obligation("at_most.tried", lambda: stated.worst_tried()[1], "<=", bound)
    proved = Shared(lambda: relative_error_bound(stated.function))

    def enclosed() -> arb:
        try:
            return proved()
        except BoundNotProvedError:
            # At fewer bits than PROOF_BITS.
            return arb("nan")

    try:
        with working_precision(PROOF_BITS):
            proved()
    except BoundNotProvedError as error:
        yield NoProof("at_most", str(error))
    else:
        yield Obligation("at_most", enclosed, "<=", bound, Part.WITNESS)


def _lower(function: Exponential, score: fmpq, least: fmpq) -> Obligation | NoProof:
    def error() -> arb:
        found = relative_error_at(function, score, fmpq(0))
        return arb("nan") if found is None else found

    # Whether there is a result does not depend on the precision.
    if relative_error_at(function, score, fmpq(0)) is None:
        return NoProof("at", "the operations give no finite result")
    return Obligation("at", error, ">=", least)


def _of_kernel(stated: StatedExponential) -> Iterator[Obligation]:
    # Imported where the kernel's own is asked for: the rest needs no numpy.
    from certattn.fast.exponential import own_exponential

    function, own = stated.function, own_exponential(tail=stated.has_tail)
    yield Obligation("kernel.constants", _constants(function), "=", _constants(own))
    yield Obligation("kernel.table", function.table, "=", own.table)
    scores, tails = function.score_limit - own.score_limit, function.tail_limit - own.tail_limit
    yield Obligation("kernel.scores", lambda: arb(scores), ">=", fmpq(0))
    if stated.has_tail:
        yield Obligation("kernel.tail", lambda: arb(tails), ">=", fmpq(0))


def _constants(function: Exponential) -> ExactMatrix:
    return ExactMatrix.row_vector([function.l1, function.l2, function.inverse, function.c2, function.c3])


# -- reading


def read(certificate: Certificate) -> StatedExponential:
    reading = certificate.reading
    given, asserts = GIVEN.read(certificate.given, reading), ASSERTS.read(certificate.asserts, reading)
    if certificate.witness is not None:
        WITNESS.read(certificate.witness, reading)
    _require_numbers(given)
    error = asserts[RELATIVE_ERROR]
    at_score = _read_score(error.get(AT), given[SCORES])
    return StatedExponential(given, error.get(MOST), at_score, asserts.get(USED_BY) is not None)


def _require_numbers(given: Values) -> None:
    """Constants that are binary64 numbers, and so many entries of the table."""
    constants = given[CONSTANTS]
    for field in NUMBERS:
        if is_binary64(constants[field]) is not True:
            raise constants.node(field).malformed("a binary64 number, such as 0x1.8p-3", describe(constants[field]))
    table = given[TABLE]
    if table.shape[1] != SIZE:
        raise table.node.malformed(f"{SIZE} numbers, one for each j", f"{table.shape[1]} numbers")


def _read_score(at: Values | None, limit: fmpq) -> tuple[fmpq, fmpq] | None:
    if at is None:
        return None
    score = at[SCORE]
    if is_binary64(score) is not True or abs(score) > limit:
        raise at.node(SCORE).malformed("a binary64 number of at most scores_up_to", describe(score))
    return score, at[LEAST]


THEOREM = Theorem(
    name="binary64-exponential",
    title="how exact an exponential made of binary64 additions and multiplications is",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
    begin=PROOF_BITS,
)
