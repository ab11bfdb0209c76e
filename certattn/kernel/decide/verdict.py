"""Obligations and verdicts: the only place where anything is decided.

An obligation is one inequality or identity between exact numbers and balls. It is *proved* only
where the enclosures leave no other possibility, *refuted* only where they prove the opposite, and
otherwise undecided. A NaN or an unbounded ball decides nothing. Claims hand over enclosures; they
cannot hand over outcomes.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Part
from certattn.kernel.mathematics.balls import ARB, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational


class Outcome(enum.Enum):
    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


_OPPOSITE = {
    Outcome.PROVED: Outcome.REFUTED,
    Outcome.REFUTED: Outcome.PROVED,
    Outcome.UNDECIDED: Outcome.UNDECIDED,
}


class Verdict(enum.Enum):
    """What a check says of a certificate."""

    VERIFIED = "verified"
    REFUTED = "refuted"
    REJECTED = "rejected"
    INCONCLUSIVE = "inconclusive"
    MALFORMED = "malformed"
    ERROR = "error"


# The precision of binary64, in bits.
DOUBLE = 53
# Digits to show, the first that tell the two sides of an obligation apart.
DIGITS = (15, 30, 60, 120, 1000)
_MOST_CHARACTERS = 60
# What printed numbers are read back with: more than any of them has.
_PARSING_BITS = 4 * DIGITS[-1]
# A side of an obligation: a ball that contains it, or the number itself.
Enclosure = arb | fmpq
# What is said of an obligation.
UNPROVED = "unproved"
RESULTS = (*(outcome.value for outcome in Outcome), UNPROVED)


@dataclass(frozen=True, slots=True)
class Obligation:
    """One decided or undecided inequality: `left relation right`, in words `sentence`.

    `bits` is the precision, and `arithmetic` what the enclosures rest on; None and "" for exact
    numbers. Made by `at_most`, `at_least`, `below`, `above`, `identical` and `unproved` only.
    """

    name: str
    sentence: str
    left: arb | fmpq | str
    relation: str
    right: arb | fmpq | str
    outcome: Outcome
    bits: int | None
    part: Part = Part.STATEMENT
    arithmetic: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON: every number as text."""
        left, right = self._sides()
        return {
            "name": self.name,
            "sentence": self.sentence if self._shows(left, right) else f"{self.sentence} ({self._ends()})",
            "left": left,
            "relation": self.relation,
            "right": right,
            "outcome": self.result,
            "bits": self.bits,
            "arithmetic": self.arithmetic,
            "part": self.part.value,
        }

    @property
    def result(self) -> str:
        """One of RESULTS: of a false inequality that only bounds the statement's number, that it proves nothing."""
        return UNPROVED if self.outcome is Outcome.REFUTED and self.part is Part.WITNESS else self.outcome.value

    def _sides(self) -> tuple[str, str]:
        """Both sides as text, with more digits where they would not show the outcome."""
        if self._are_equal:
            return show(self.left), show(self.right)
        for digits in DIGITS:
            for more in (False, True):
                left, right = show(self.left, digits, more=more), show(self.right, digits, more=more)
                if _midpoint(left) != _midpoint(right) and self._shows(left, right):
                    return left, right
        # No digits help where a ball is wide: its radius is printed with three of them.
        wide = any(isinstance(side, arb) and side.is_exact() is not True for side in (self.left, self.right))
        return (show(self.left, more=True), show(self.right, more=True)) if wide else (left, right)

    def _shows(self, left: str, right: str) -> bool:
        """Whether the printed balls decide as the enclosures do."""
        if isinstance(self.left, str) or isinstance(self.right, str) or self.outcome is Outcome.UNDECIDED:
            return True
        if not (isinstance(self.left, arb) or isinstance(self.right, arb)):
            return True
        with working_precision(_PARSING_BITS):
            sign = 1 if self._left_is_less else -1
            difference = sign * (_printed(right, self.right) - _printed(left, self.left))
            strict = self.relation in ("<", ">") if self.outcome is Outcome.PROVED else self.relation in ("<=", ">=")
            return bool(difference > 0) if strict else bool(difference >= 0)

    @property
    def _are_equal(self) -> bool:
        """Whether both sides are one exact binary number, which no digits tell apart."""
        if isinstance(self.left, str) or isinstance(self.right, str):
            return False
        return (arb(self.left) == arb(self.right)) is True

    @property
    def _left_is_less(self) -> bool:
        """Whether what decided is that the left side is the smaller one."""
        return (self.relation in ("<=", "<")) is (self.outcome is Outcome.PROVED)

    def _ends(self) -> str:
        """In words, which ends of balls decided that are printed wider than they are."""
        with working_precision(_PARSING_BITS):
            ends = [_end(self.left, upper=self._left_is_less), _end(self.right, upper=not self._left_is_less)]
            left, right = replace(self, left=ends[0], right=ends[1])._sides()
        return f"the balls are printed wider than they are; the ends that decide are {left} and {right}"


def _printed(text: str, side: Enclosure) -> arb:
    """What a reader takes a printed side for: the ball that it shows, or the number itself."""
    return arb(text) if isinstance(side, arb) or text.startswith("[") else arb(side)


def _end(side: Enclosure | str, *, upper: bool) -> Enclosure | str:
    """An end of a ball; the number itself where it is exact."""
    if isinstance(side, arb):
        return side.upper() if upper else side.lower()
    return side


def _midpoint(text: str) -> str:
    shown = text.strip("[").split(" +/-")[0]
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def show(value: arb | fmpq | str, digits: int = DIGITS[0], *, more: bool = False) -> str:
    """An enclosure or an exact number as text, short enough to read.

    `more` is for digits that a wide ball leaves open: they say where its middle is.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, arb):
        # Whoever has set python-flint's context to Unicode gets the same text.
        return value.str(digits, more=more).replace("±", "+/-")
    text = format_rational(value)
    with working_precision(4 * digits):
        return text if len(text) <= _MOST_CHARACTERS else show(arb(value), digits)


def at_most(
    name: str,
    sentence: str,
    value: Enclosure,
    bound: Enclosure,
    bits: int | None = None,
    arithmetic: str = ARB,
    *,
    part: Part = Part.STATEMENT,
) -> Obligation:
    """value <= bound. Where `value` only bounds what the statement is about, `part` is the witness's.

    Each side is a ball or an exact rational; two rationals are compared exactly, and `bits` is left out.
    """
    return _compared(name, sentence, value, "<=", bound, _decide(value, bound), bits, arithmetic, part)


def at_least(
    name: str,
    sentence: str,
    value: Enclosure,
    bound: Enclosure,
    bits: int | None = None,
    arithmetic: str = ARB,
    *,
    part: Part = Part.STATEMENT,
) -> Obligation:
    """value >= bound. Where `value` only bounds what the statement is about, `part` is the witness's."""
    return _compared(name, sentence, value, ">=", bound, _decide(bound, value), bits, arithmetic, part)


def below(
    name: str,
    sentence: str,
    value: Enclosure,
    bound: Enclosure,
    bits: int | None = None,
    arithmetic: str = ARB,
    *,
    part: Part = Part.STATEMENT,
) -> Obligation:
    """value < bound: the opposite of `at_least`."""
    outcome = _OPPOSITE[_decide(bound, value)]
    return _compared(name, sentence, value, "<", bound, outcome, bits, arithmetic, part)


def above(
    name: str,
    sentence: str,
    value: Enclosure,
    bound: Enclosure,
    bits: int | None = None,
    arithmetic: str = ARB,
    *,
    part: Part = Part.STATEMENT,
) -> Obligation:
    """value > bound: the opposite of `at_most`."""
    outcome = _OPPOSITE[_decide(value, bound)]
    return _compared(name, sentence, value, ">", bound, outcome, bits, arithmetic, part)


def _compared(
    name: str,
    sentence: str,
    value: Enclosure,
    relation: str,
    bound: Enclosure,
    outcome: Outcome,
    bits: int | None,
    arithmetic: str,
    part: Part,
) -> Obligation:
    if isinstance(value, fmpq) and isinstance(bound, fmpq):
        bits, arithmetic = None, ""
    return Obligation(name, sentence, value, relation, bound, outcome, bits, part, arithmetic)


def identical(name: str, sentence: str, left: ExactMatrix, right: ExactMatrix) -> Obligation:
    """Two exact matrices are equal; where they are not, the first different entry is shown."""
    if left.shape != right.shape:
        return Obligation(name, sentence, str(left.shape), "=", str(right.shape), Outcome.REFUTED, None)
    for i in range(left.rows):
        for j in range(left.columns):
            if left.entry(i, j) != right.entry(i, j):
                at = f" (entry {i}, {j})"
                return Obligation(name, sentence + at, left.entry(i, j), "=", right.entry(i, j), Outcome.REFUTED, None)
    return Obligation(name, sentence, str(left), "=", str(right), Outcome.PROVED, None)


def unproved(name: str, sentence: str, reason: str) -> Obligation:
    """Something that the checker has no proof of, whatever the precision: it rejects."""
    return Obligation(name, sentence, reason, "", "", Outcome.REFUTED, None, Part.WITNESS)


def _decide(value: Enclosure, bound: Enclosure) -> Outcome:
    """Whether value <= bound for every point of the balls, for none, or neither; exactly for two rationals."""
    if any(isinstance(side, arb) and side.is_finite() is not True for side in (value, bound)):
        return Outcome.UNDECIDED
    if (value <= bound) is True:
        return Outcome.PROVED
    if (value > bound) is True:
        return Outcome.REFUTED
    return Outcome.UNDECIDED


def verdict_of(names: Sequence[str], obligations: Sequence[Obligation]) -> Verdict:
    """Verified only if there are obligations, each expected one exactly once, and all are proved."""
    outcomes = {(o.part, o.outcome) for o in obligations}
    if (Part.STATEMENT, Outcome.REFUTED) in outcomes:
        return Verdict.REFUTED
    if (Part.WITNESS, Outcome.REFUTED) in outcomes:
        return Verdict.REJECTED
    complete = len(names) > 0 and [o.name for o in obligations] == list(names)
    if complete and len(set(names)) == len(names) and all(o.outcome is Outcome.PROVED for o in obligations):
        return Verdict.VERIFIED
    return Verdict.INCONCLUSIVE
