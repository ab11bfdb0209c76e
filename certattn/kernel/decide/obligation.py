"""What has to be proved: an inequality or identity whose sides are enclosed when they are asked for.

A theorem hands over obligations. It does not ask them, sees no outcome, and cannot make one: `decide.proof` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from flint import arb, ctx, fmpq

from certattn.kernel.decide.verdict import Part
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

T = TypeVar("T")

Relation = Literal["<=", "<", ">=", ">", "="]


@dataclass(frozen=True, slots=True)
class Range:
    """A number between two ends, of which `worst` is the one where it proves least.

    An obligation about it is proved where `worst` proves it, whatever is known of the other end. It is false only
    where it is false of everything between: `worst` gets better with more bits, but not beyond `best`.
    """

    worst: arb
    best: arb


# An exact number, a ball that contains the number, or an exact matrix (for identities).
Number = arb | fmpq | Range | ExactMatrix
# A number at once, or one that is computed at the working precision when it is asked for.
Side = Number | Callable[[], Number]


@dataclass(frozen=True, slots=True)
class Tier:
    """A faster arithmetic than Arb's: its name, and what its enclosures rest on, as reports say it."""

    name: str
    arithmetic: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Obligation:
    """`left relation right`, to be proved after all of `needs`, which are names of earlier obligations.

    `part` is what a false one shows: that the statement is false, or only that this is no proof of it. `fast` has the
    two sides as tiers of binary64 enclose them, the fastest tier first.
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
