"""Claim `binary64-exponential`: how exact an exponential of additions and multiplications is.

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

docs/claims/arithmetic/binary64-exponential.md has the proof that `arithmetic/binary64/exponential_bound` goes through.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.fast.exact_rounding import hexadecimal, is_binary64
from certattn.fast.exponential_bound import (
    PROOF_BITS,
    REACH,
    SIZE,
    Exponential,
    own_exponential,
    relative_error_bound,
)
from certattn.fast.exponential_value import relative_error_at, scores_to_try, tails_to_try
from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, at_least, at_most, identical, show, unproved
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Choice, Field, Rational, Record, Values
from certattn.kernel.document.matrices import Vector
from certattn.kernel.errors import BoundNotProvedError
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe

HIGH = Field("L1", Rational(), "ln 2 / 2048 to a few bits, so that k L1 is exact")
LOW = Field("L2", Rational(), "the rest of ln 2 / 2048")
INVERSE = Field("inverse", Rational(), "2048 / ln 2")
SQUARE = Field("C2", Rational(), "coefficient of r^2")
CUBE = Field("C3", Rational(), "coefficient of r^3")
_EACH = (HIGH, LOW, INVERSE, SQUARE, CUBE)
CONSTANTS = Field("constants", Record(*_EACH), "the five constants, each a binary64 number")
TABLE = Field("table", Vector(), "2^(j / 2048) for j = 0, ..., 2047, each a binary64 number")
SCORES = Field("scores_up_to", Rational(above=0), "the largest |s|")
TAIL = Field("tail_up_to", Rational(above=0), "the largest |x|; no tail is added if left out", required=False)
GIVEN = Record(CONSTANTS, TABLE, SCORES, TAIL)

AT_MOST = Field("at_most", Rational(minimum=0), "no relative error is larger", required=False)
SCORE = Field("score", Rational(), "a binary64 number s")
AT_LEAST = Field("at_least", Rational(minimum=0), "the relative error there is no smaller")
AT = Field("at", Record(SCORE, AT_LEAST), "the relative error at one s, from below", required=False)
RELATIVE_ERROR = Field("relative_error", Record(AT_MOST, AT), "bounds on |F / (2^-K e^s) - 1|")
USED_BY = Field("used_by", Choice(("kernel",)), "whose constants these are", required=False)


@dataclass(frozen=True)
class Problem:
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

    def tried(self) -> list[tuple[fmpq, arb]]:
        """A few scores and the relative errors there, where there is a finite result."""
        scores = scores_to_try(self.function) + ([self.at_score[0]] if self.at_score is not None else [])
        pairs = [(score, tail) for score in scores for tail in tails_to_try(self.function)]
        errors = [(score, relative_error_at(self.function, score, tail)) for score, tail in pairs]
        return [(score, error) for score, error in errors if error is not None]


class Binary64Exponential(Claim[Problem]):
    name = "binary64-exponential"
    title = "how exact an exponential made of binary64 additions and multiplications is"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(RELATIVE_ERROR, USED_BY)
    witness = Record()

    def read(self, certificate: Certificate) -> Problem:
        reading = certificate.reading
        given = GIVEN.read(certificate.given, reading)
        asserts = self.asserts.read(certificate.asserts, reading)
        if certificate.witness is not None:
            self.witness.read(certificate.witness, reading)
        error = asserts[RELATIVE_ERROR]
        if AT_MOST not in error and AT not in error:
            raise error.at.malformed("at_most or at", "nothing that is asserted")
        _require_numbers(given)
        return Problem(
            given, error.get(AT_MOST), _read_score(error.get(AT), given[SCORES]), asserts.get(USED_BY) is not None
        )

    def first_bits(self, certificate: Certificate) -> int:
        return PROOF_BITS

    def statement(self, problem: Problem) -> Statement:
        given, tail = problem.given, problem.has_tail
        stated = ", ".join(f"{field.name} = {hexadecimal(given[CONSTANTS][field])}" for field in _EACH)
        bound, latex = [], []
        target = "2^-K e^(s + x)" if tail else "2^-K e^s"
        symbol = r"2^{-K} e^{s + x}" if tail else r"2^{-K} e^s"
        if problem.at_most is not None:
            bound.append(f"is at most {describe(problem.at_most)}")
            latex.append(rf"\left| F / ({symbol}) - 1 \right| \le {describe(problem.at_most)}")
        if problem.at_score is not None:
            score, least = problem.at_score
            at = f"at s = {hexadecimal(score)}{', x = 0' if tail else ''} where subnormal numbers are kept"
            bound.append(f"is at least {describe(least)} {at}")
            latex.append(rf"\left| F / (2^{{-K}} e^s) - 1 \right|_{{s = s_0}} \ge {describe(least)}")
        words = (
            f"For every binary64 number |s| <= {describe(given[SCORES])} and every integer K with "
            f"|s / ln 2 - K| <= {REACH}"
            + (f" and every binary64 number |x| <= {describe(given[TAIL])}" if tail else "")
            + ", let F be the result of A = 3 * 2^51 - 2048 K, t = s inverse + A, k = t - A, "
            f"r = {'((s - k L1) - k L2) + x' if tail else '(s - k L1) - k L2'}, P = (1 + (C2 + C3 r) r) r, "
            "F = 2^(floor(k / 2048) - K) (T_j + P T_j), j = k mod 2048, where every operation is rounded to nearest, "
            "ties to even, in IEEE-754 binary64, and subnormal numbers are kept or replaced by zero, "
            f"with {stated} and the table T ({given[TABLE].words()}): "
            f"the relative error |F / ({target}) - 1| {' and '.join(bound)}"
            + (", and certattn's kernel computes with these constants" if problem.used_by_kernel else "")
            + "."
        )
        return Statement(words, r",\qquad ".join(latex))

    def names(self, problem: Problem) -> list[str]:
        names = ["at_most.tried", "at_most"] if problem.at_most is not None else []
        names += ["at"] if problem.at_score is not None else []
        names += ["kernel.constants", "kernel.table", "kernel.scores"] if problem.used_by_kernel else []
        return names + (["kernel.tail"] if problem.used_by_kernel and problem.has_tail else [])

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        found = _upper(problem, problem.at_most, bits) if problem.at_most is not None else []
        if problem.at_score is not None:
            found.append(_lower(problem.function, *problem.at_score, bits))
        if problem.used_by_kernel:
            found += _of_kernel(problem, bits)
        return [obligation for obligation in found if obligation.name in names]

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        found = [o.left for o in obligations if o.name == "at_most" and isinstance(o.left, arb)]
        found = [bound for bound in found if bound.is_finite()]
        return [f"proved: at most {show(bound)}, which is {show(bound * 2**53, 6)} * 2^-53" for bound in found]


def _upper(problem: Problem, bound: fmpq, bits: int) -> list[Obligation]:
    """The bound for all scores. Scores that are tried can refute it; the proof can only prove it or not."""
    tried = problem.tried()
    score, largest = max(tried, key=lambda pair: pair[1].mid(), default=(fmpq(0), arb(0)))
    sentence = f"the largest relative error of {len(tried)} that were tried, at s = {hexadecimal(score)}"
    found = [at_most("at_most.tried", sentence, largest, bound, bits)]
    name, sentence = "at_most", "the proved bound on the relative error"
    try:
        proved = relative_error_bound(problem.function)
    except BoundNotProvedError as error:
        if bits >= PROOF_BITS:
            return [*found, unproved(name, sentence, str(error))]
        proved = arb("nan")
    if proved > bound:
        return [*found, unproved(name, sentence, f"the proof gives {show(proved)}, and nothing smaller")]
    return [*found, at_most(name, sentence, proved, bound, bits)]


def _lower(function: Exponential, score: fmpq, least: fmpq, bits: int) -> Obligation:
    name, sentence = "at", f"the relative error at s = {hexadecimal(score)}"
    error = relative_error_at(function, score, fmpq(0))
    if error is None:
        return unproved(name, sentence, "the operations give no finite result")
    return at_least(name, sentence, error, least, bits)


def _of_kernel(problem: Problem, bits: int) -> list[Obligation]:
    function, own = problem.function, own_exponential(tail=problem.has_tail)
    stated, run = (ExactMatrix.row_vector(_constants(each)) for each in (function, own))
    found = [
        identical("kernel.constants", "L1, L2, inverse, C2, C3 of the kernel", stated, run),
        identical("kernel.table", "the table of the kernel", function.table, own.table),
    ]
    scores, tails = arb(function.score_limit - own.score_limit), arb(function.tail_limit - own.tail_limit)
    found.append(at_least("kernel.scores", "scores_up_to, less the kernel's largest score", scores, fmpq(0), bits))
    if problem.has_tail:
        found.append(at_least("kernel.tail", "tail_up_to, less the kernel's largest tail", tails, fmpq(0), bits))
    return found


def _constants(function: Exponential) -> list[fmpq]:
    return [function.l1, function.l2, function.inverse, function.c2, function.c3]


# -- reading


def _require_numbers(given: Values) -> None:
    """Constants that are binary64 numbers, and so many entries of the table."""
    constants = given[CONSTANTS]
    for field in _EACH:
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
    return score, at[AT_LEAST]


CLAIM = Binary64Exponential()
