"""What has to be proved: an inequality or identity whose sides are enclosed when they are asked for.

A theorem hands over obligations. It does not ask them, sees no outcome, and cannot make one: `decide.proof` does.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from flint import arb, ctx, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

# The precision of binary64, in bits.
DOUBLE = 53

Relation = Literal["<=", "<", ">=", ">", "="]


class Part(enum.Enum):
    """Whose obligation: a false one refutes the statement, or only shows the proof to be none."""

    STATEMENT = "statement"
    WITNESS = "witness"


@dataclass(frozen=True, slots=True)
class Range:
    """A number between two ends, of which `worst` is the one where it proves least.

    An obligation about it is proved where `worst` proves it, whatever is known of the other end, and false where it is
    false of `best`. Between them it is open, as more bits may bring the ends nearer; where they do not (`is_final`),
    what holds of `best` and is false of `worst` is unproved, whatever the precision.
    """

    worst: arb
    best: arb
    is_final: bool = False


# An exact number, or a ball that contains the number.
Enclosure = arb | fmpq
# An exact number, a ball that contains the number, or an exact matrix (for identities).
Number = arb | fmpq | Range | ExactMatrix
# A number at once, or one that is computed at the working precision when it is asked for.
Side = Number | Callable[[], Number]


@dataclass(frozen=True, slots=True, eq=False)
class Tier:
    """A faster arithmetic than Arb's: its name, and what its enclosures rest on, as reports say it."""

    name: str
    arithmetic: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Obligation:
    """`left relation right`, to be proved after all of `needs`, which are names of earlier obligations.

    `part` is what a false one shows: that the statement is false, or only that this is no proof of it. `fast` has the
    two sides as tiers of binary64 enclose them, the fastest tier first; sides that are `Gathered` know their tiers.
    """

    name: str
    left: Side
    relation: Relation
    right: Side
    part: Part = Part.STATEMENT
    needs: Sequence[str] = ()
    fast: Mapping[Tier, tuple[Side, Side]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NoProof:
    """In place of an obligation: nothing that the checker knows proves what has this name. It rejects."""

    name: str
    reason: str


class NoBound(Exception):
    """Raised where a side is asked for that nothing bounds, whatever the precision: it says why, and rejects."""


class Shared(Generic[T]):
    """A value that several sides use: computed when one asks for it, and again only at another working precision."""

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._known: tuple[int, T] | None = None

    def __call__(self) -> T:
        if self._known is None or self._known[0] != ctx.prec:
            self._known = ctx.prec, self._compute()
        return self._known[1]


class Together(Generic[K, T]):
    """Values that are computed together, those alone that are asked for: of some of the queries of a prompt, say.

    The proof says beforehand which it is going to ask for, and in which tier, None for Arb's balls. `compute` gets
    these at once, and encloses a value for each.
    """

    def __init__(self, compute: Callable[[Collection[K], Tier | None], Mapping[K, T]]) -> None:
        self._compute = compute
        self._expected: dict[K, None] = {}
        self._tier: Tier | None = None
        self._computed: tuple[int, Tier | None] | None = None
        self._known: Mapping[K, T] = {}

    def side(self, number: Callable[..., Number], *items: K, tiers: Sequence[Tier] = ()) -> Gathered[K, T]:
        """The side that `number` makes of the values of these items, in Arb's balls and in these tiers."""
        return Gathered(self, number, items, tiers)

    def expect(self, items: Iterable[K], tier: Tier | None) -> None:
        """These will be asked for next."""
        self._tier = tier
        for item in items:
            self._expected[item] = None

    def __call__(self, item: K) -> T:
        if self._computed != (ctx.prec, self._tier) or item not in self._known:
            expected, self._expected = {**self._expected, item: None}, {}
            self._known = self._compute(expected.keys(), self._tier)
            self._computed = ctx.prec, self._tier
        return self._known[item]


class Gathered(Generic[K, T]):
    """A side that needs the values of some items, which are computed together with those that other sides need.

    It is the whole side of an obligation: what is inside of another one is not told of beforehand.
    """

    # Of thousands of queries there is one for each: a plain class is made three times as fast as a frozen dataclass.
    __slots__ = ("_number", "items", "tiers", "together")

    def __init__(
        self, together: Together[K, T], number: Callable[..., Number], items: tuple[K, ...], tiers: Sequence[Tier]
    ) -> None:
        self.together, self.items, self.tiers, self._number = together, items, tiers, number

    def __call__(self) -> Number:
        return self._number(*map(self.together, self.items))
