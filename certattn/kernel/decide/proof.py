"""The obligations of one certificate, and what is known of each: here alone outcomes are made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.decide.obligation import (
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
from certattn.kernel.decide.verdict import DOUBLE, Outcome
from certattn.kernel.mathematics.balls import ARB, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

# Precision in which balls of binary64 are compared with what is stated. Their own radii, of 2^-53 and more, are what
# counts: 43 bits beyond those, what comparing adds for thousands of tokens or singular values is far below them.
AFTER_BINARY64 = 96


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of an obligation: the sides that were compared, if any were, and what came out.

    `bits` is the precision and `arithmetic` what the enclosures rest on: None and "" for exact numbers. `because` says
    why nothing was compared. What is `unproved` is so at every precision, and not shown to be false.
    """

    outcome: Outcome
    left: Number | None = None
    right: Number | None = None
    bits: int | None = None
    arithmetic: str = ""
    because: str = ""
    unproved: bool = False


class Proof:
    """Obligations in their order, with the answers so far."""

    def __init__(self, obligations: Sequence[Obligation | NoProof]) -> None:
        """Raises RuntimeError for a broken theorem: no obligations, two of one name, one before what it needs."""
        self.obligations = {o.name: o for o in obligations}
        self.answers: dict[str, Answer] = {}
        if not obligations or len(self.obligations) < len(obligations):
            raise RuntimeError("a statement without obligations, or with two of one name")
        before: set[str] = set()
        for o in obligations:
            if isinstance(o, Obligation) and not before.issuperset(o.needs):
                raise RuntimeError(f"the obligation {o.name} stands before what it needs")
            before.add(o.name)
        for o in obligations:
            if isinstance(o, NoProof):
                self.answers[o.name] = Answer(Outcome.REFUTED, because=o.reason)

    def part(self, name: str) -> Part:
        """Whose obligation it is: where there is no proof, that is no sign that the statement is false."""
        o = self.obligations[name]
        answer = self.answers.get(name, _OPEN)
        if isinstance(o, NoProof) or answer.because or answer.unproved:
            return Part.WITNESS
        return o.part

    @cached_property
    def tiers(self) -> list[Tier]:
        """The tiers that some obligation has sides in, the fastest first."""
        listed = [o for o in self.obligations.values() if isinstance(o, Obligation)]
        return list(dict.fromkeys(tier for o in listed for tier in (*o.fast, *_tiers(o.left), *_tiers(o.right))))

    def open(self, names: Collection[str]) -> list[str]:
        """Which of these, and of what they need, are to be decided still, in the order of the obligations."""
        wanted, todo = set[str](), list(names)
        while todo:
            name = todo.pop()
            if name not in wanted:
                wanted.add(name)
                o = self.obligations[name]
                todo += o.needs if isinstance(o, Obligation) else ()
        return [name for name in self.obligations if name in wanted and self._is_open(name)]

    def ask(self, names: Collection[str], bits: int) -> None:
        """Decide what is open among these names, by Arb at so many bits."""
        with working_precision(bits):
            for name in self._expected(names, None):
                self._answer(name, None, bits)

    def ask_fast(self, names: Collection[str], tier: Tier) -> None:
        """The same by a tier of binary64, as far as it goes. Raises Binary64Error where it has no answer."""
        with working_precision(AFTER_BINARY64):
            for name in self._expected(names, tier):
                self._answer(name, tier, DOUBLE)

    def _expected(self, names: Collection[str], tier: Tier | None) -> list[str]:
        """What is open among these; what is computed together is told what of it that needs."""
        asked = self.open(names)
        for name in asked:
            o = self.obligations[name]
            assert isinstance(o, Obligation)
            for side in _sides(o, tier) or ():
                if isinstance(side, Gathered):
                    side.together.expect(side.items, tier)
        return asked

    def _is_open(self, name: str) -> bool:
        return self.answers.get(name, _OPEN).outcome is Outcome.UNDECIDED

    def _answer(self, name: str, tier: Tier | None, bits: int) -> None:
        o = self.obligations[name]
        assert isinstance(o, Obligation)
        for needed in o.needs:
            outcome = self.answers.get(needed, _OPEN).outcome
            if outcome is Outcome.REFUTED:
                self.answers[name] = Answer(Outcome.REFUTED, because=f"it rests on {needed}")
                return
            if outcome is Outcome.UNDECIDED:
                self.answers[name] = Answer(Outcome.UNDECIDED, because=f"it rests on {needed}, which is not decided")
                return
        sides = _sides(o, tier)
        if sides is None:
            return
        try:
            left, right = _value(sides[0]), _value(sides[1])
        except NoBound as nothing:
            self.answers[name] = Answer(Outcome.REFUTED, because=str(nothing))
            return
        exact = _is_exact(left) and _is_exact(right)
        arithmetic = "" if exact else ARB if tier is None else tier.arithmetic()
        unproved = False
        if isinstance(left, Range):
            left, outcome, unproved = _settled(left, lambda end: decide(end, o.relation, right))
        elif isinstance(right, Range):
            right, outcome, unproved = _settled(right, lambda end: decide(left, o.relation, end))
        else:
            outcome = decide(left, o.relation, right)
        self.answers[name] = Answer(outcome, left, right, None if exact else bits, arithmetic, unproved=unproved)


_OPEN = Answer(Outcome.UNDECIDED)


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
    # A NaN or an unbounded ball decides nothing.
    for side in (left, right):
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
    if not (isinstance(left, ExactMatrix) and isinstance(right, ExactMatrix) and relation == "="):
        raise TypeError(f"exact matrices are compared with each other, by =; not {type(left)} {relation} {type(right)}")
    same = left.shape == right.shape and all(
        left.entry(i, j) == right.entry(i, j) for i in range(left.rows) for j in range(left.columns)
    )
    return Outcome.PROVED if same else Outcome.REFUTED
