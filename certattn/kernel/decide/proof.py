"""The obligations of one certificate, and what is known of each: the only place where anything is decided.

An obligation is *proved* only where the enclosures of its sides leave no other possibility, *refuted* only where they
prove the opposite, and otherwise undecided. A NaN or an unbounded ball decides nothing. Theorems hand over sides; they
cannot hand over outcomes.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.decide.obligation import (
    DOUBLE,
    Gathered,
    NoBound,
    NoProof,
    Number,
    Obligation,
    Part,
    Range,
    Relation,
    Side,
    Tier,
)
from certattn.kernel.limits import Watch
from certattn.kernel.mathematics.balls import ARB, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

# Precision in which balls of binary64 are compared with what is stated. Their own radii, of 2^-53 and more, are what
# counts: 43 bits beyond those, what comparing adds for thousands of tokens or singular values is far below them.
AFTER_BINARY64 = 96


class Outcome(enum.Enum):
    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


class Verdict(enum.Enum):
    """What a check says of a certificate."""

    VERIFIED = "verified"
    REFUTED = "refuted"
    REJECTED = "rejected"
    INCONCLUSIVE = "inconclusive"
    MALFORMED = "malformed"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of the obligation `name`: the sides that were compared, if any were, and what came out.

    `bits` is the precision and `arithmetic` what the enclosures rest on: None and "" for exact numbers. `because` says
    why nothing was compared. `part` is whose obligation it turned out to be: what is refuted with `Part.WITNESS` is
    unproved, whatever the precision, and no sign that the statement is false.
    """

    name: str
    outcome: Outcome
    part: Part
    left: Number | None = None
    relation: str = ""
    right: Number | None = None
    bits: int | None = None
    arithmetic: str = ""
    because: str = ""


_NOBODY = Watch()


class Proof:
    """Obligations in their order, with the answers so far."""

    def __init__(self, obligations: Sequence[Obligation | NoProof], watch: Watch = _NOBODY) -> None:
        """Raises RuntimeError for a broken theorem: no obligations, two of one name, one before what it needs."""
        self.obligations = {o.name: o for o in obligations}
        self.answers: dict[str, Answer] = {}
        self._watch = watch
        if not obligations or len(self.obligations) < len(obligations):
            raise RuntimeError("a statement without obligations, or with two of one name")
        before: set[str] = set()
        for o in obligations:
            if isinstance(o, Obligation) and not before.issuperset(o.needs):
                raise RuntimeError(f"the obligation {o.name} stands before what it needs")
            before.add(o.name)
            if isinstance(o, NoProof):
                self.answers[o.name] = Answer(o.name, Outcome.REFUTED, Part.WITNESS, because=o.reason)

    @cached_property
    def tiers(self) -> list[Tier]:
        """The tiers that some obligation has sides in, the fastest first."""
        listed = [o for o in self.obligations.values() if isinstance(o, Obligation)]
        return list(dict.fromkeys(tier for o in listed for tier in (*o.fast, *_tiers(o.left), *_tiers(o.right))))

    def verdict(self, wanted: Sequence[str]) -> Verdict:
        """Verified only if all obligations are wanted, and each is proved."""
        answers = [self.answers[name] for name in wanted if name in self.answers]
        refuted = {answer.part for answer in answers if answer.outcome is Outcome.REFUTED}
        if Part.STATEMENT in refuted:
            return Verdict.REFUTED
        if refuted:
            return Verdict.REJECTED
        complete = list(wanted) == list(self.obligations) and len(answers) == len(self.obligations)
        if complete and all(answer.outcome is Outcome.PROVED for answer in answers):
            return Verdict.VERIFIED
        return Verdict.INCONCLUSIVE

    def open(self, names: Collection[str]) -> list[str]:
        """Which of these, and of what they need, are to be decided still, in the order of the obligations."""
        wanted, todo = set[str](), list(names)
        while todo:
            name = todo.pop()
            if name not in wanted:
                wanted.add(name)
                o = self.obligations[name]
                todo += o.needs if isinstance(o, Obligation) else ()
        return [name for name in self.obligations if name in wanted and self._outcome(name) is Outcome.UNDECIDED]

    def ask(self, names: Collection[str], bits: int) -> None:
        """Decide what is open among these names, by Arb at so many bits."""
        with working_precision(bits):
            self._ask(names, None, bits)

    def ask_fast(self, names: Collection[str], tier: Tier) -> None:
        """The same by a tier of binary64, as far as it goes. Raises Binary64Error where it has no answer."""
        with working_precision(AFTER_BINARY64):
            self._ask(names, tier, DOUBLE)

    def _ask(self, names: Collection[str], tier: Tier | None, bits: int) -> None:
        """What is computed together is told first what of it is going to be asked for."""
        asked = [o for name in self.open(names) if isinstance(o := self.obligations[name], Obligation)]
        for o in asked:
            for side in _sides(o, tier) or ():
                if isinstance(side, Gathered):
                    side.together.expect(side.items, tier)
        for o in asked:
            self._watch.asks(o.name, bits)
            answer = self._answer(o, tier, bits)
            if answer is not None:
                self.answers[o.name] = answer

    def _outcome(self, name: str) -> Outcome:
        answer = self.answers.get(name)
        return Outcome.UNDECIDED if answer is None else answer.outcome

    def _answer(self, o: Obligation, tier: Tier | None, bits: int) -> Answer | None:
        """None where it has no sides in this tier."""
        for needed in o.needs:
            outcome = self._outcome(needed)
            if outcome is Outcome.REFUTED:
                return Answer(o.name, outcome, Part.WITNESS, because=f"it rests on {needed}")
            if outcome is Outcome.UNDECIDED:
                because = f"it rests on {needed}, which is not decided"
                return Answer(o.name, outcome, Part.WITNESS, because=because)
        sides = _sides(o, tier)
        if sides is None:
            return None
        try:
            left, right = _value(sides[0]), _value(sides[1])
        except NoBound as nothing:
            return Answer(o.name, Outcome.REFUTED, Part.WITNESS, because=str(nothing))
        exact, part = _is_exact(left) and _is_exact(right), o.part
        if isinstance(left, Range):
            left, outcome, unproved = _settled(left, lambda end: decide(end, o.relation, right))
            part = Part.WITNESS if unproved else part
        elif isinstance(right, Range):
            right, outcome, unproved = _settled(right, lambda end: decide(left, o.relation, end))
            part = Part.WITNESS if unproved else part
        else:
            outcome = decide(left, o.relation, right)
        if exact:
            return Answer(o.name, outcome, part, left, o.relation, right)
        arithmetic = ARB if tier is None else tier.arithmetic()
        return Answer(o.name, outcome, part, left, o.relation, right, bits, arithmetic)


def _sides(o: Obligation, tier: Tier | None) -> tuple[Side, Side] | None:
    """The sides as a tier has them; numbers that stand there exactly belong to every tier."""
    if tier is None or (_is_in(tier, o.left) and _is_in(tier, o.right)):
        return o.left, o.right
    return o.fast.get(tier)


def _is_in(tier: Tier, side: Side) -> bool:
    return tier in side.tiers if isinstance(side, Gathered) else _is_exact(side)


def _tiers(side: Side) -> Sequence[Tier]:
    return side.tiers if isinstance(side, Gathered) else ()


def _is_exact(side: Side) -> bool:
    return isinstance(side, (fmpq, ExactMatrix))


def _value(side: Side) -> Number:
    return side() if callable(side) else side


def decide(left: Number, relation: Relation, right: Number) -> Outcome:
    """Proved or refuted only where the enclosures leave no other possibility; else undecided."""
    if isinstance(left, ExactMatrix) or isinstance(right, ExactMatrix):
        return _identical(left, relation, right)
    if isinstance(left, Range) or isinstance(right, Range):
        raise TypeError("of a range each end is decided by itself")
    for side in (left, right):
        if not isinstance(side, (arb, fmpq)):
            raise TypeError(f"a side is a ball or an exact number, not {type(side).__name__}")
        # A NaN or an unbounded ball decides nothing.
        if isinstance(side, arb) and side.is_finite() is not True:
            return Outcome.UNDECIDED
    holds, fails = _COMPARED[relation](left, right)
    if holds is True:
        return Outcome.PROVED
    return Outcome.REFUTED if fails is True else Outcome.UNDECIDED


def _settled(ends: Range, decided: Callable[[arb], Outcome]) -> tuple[arb, Outcome, bool]:
    """What is shown of a number between two ends, what is known of it, and whether that is only that it is unproved."""
    worst, best = decided(ends.worst), decided(ends.best)
    if worst is Outcome.PROVED:
        return ends.worst, Outcome.PROVED, False
    if best is Outcome.REFUTED:
        return ends.best, Outcome.REFUTED, False
    if best is Outcome.PROVED and ends.is_final:
        return ends.worst, worst, worst is Outcome.REFUTED
    return ends.worst.union(ends.best), Outcome.UNDECIDED, False


# Whether the relation holds for every point of the balls, and whether it fails for every one.
_COMPARED = {
    "<=": lambda left, right: (left <= right, left > right),
    "<": lambda left, right: (left < right, left >= right),
    ">=": lambda left, right: (left >= right, left < right),
    ">": lambda left, right: (left > right, left <= right),
    "=": lambda left, right: (left == right, left != right),
}


def _identical(left: Number, relation: Relation, right: Number) -> Outcome:
    """Exact matrices are equal, or they are not."""
    if not (isinstance(left, ExactMatrix) and isinstance(right, ExactMatrix) and relation == "="):
        raise TypeError(f"exact matrices are compared with each other, by =; not {type(left)} {relation} {type(right)}")
    return Outcome.PROVED if left == right else Outcome.REFUTED
