"""Bounds of one number that several claims state: a range, of which one end may be missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Relation, Side, Tier
from certattn.kernel.document.schema import Field, Kind, Rational, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.reals import describe

AT_LEAST = Field("at_least", Rational(), "a lower bound", required=False)
AT_MOST = Field("at_most", Rational(), "an upper bound", required=False)
BOUNDS: Sequence[tuple[Field[fmpq], Relation]] = ((AT_LEAST, ">="), (AT_MOST, "<="))


class Probability(Kind[fmpq]):
    """A number above 0 and below 1."""

    written = (Rational(above=0),)

    def read(self, node: Node, reading: Reading) -> fmpq:
        value = Rational(above=0).read(node, reading)
        if (value < 1) is not True:
            raise node.malformed("a probability above 0 and below 1", describe(value))
        return value


def some_bound(stated: Values) -> None:
    """The rule of a range. Raises MalformedError where nothing bounds the number."""
    if AT_LEAST not in stated and AT_MOST not in stated:
        raise stated.at.malformed("at_least or at_most, or both", "no bound")


# Of a number that may be negative, and of one that is not: a negative bound of that would say nothing.
SIGNED = Record(AT_LEAST, AT_MOST, rules=[some_bound])
NONNEGATIVE = Record(
    Field("at_least", Rational(minimum=0), "a lower bound", required=False),
    Field("at_most", Rational(minimum=0), "an upper bound", required=False),
    rules=[some_bound],
)


def within(
    name: str,
    number: Side,
    stated: Values,
    part: Part = Part.STATEMENT,
    needs: Sequence[str] = (),
    fast: Mapping[Tier, Side] | None = None,
) -> Iterator[Obligation]:
    """That a number keeps the stated bounds: an obligation for each. `fast` has the number as tiers enclose it."""
    for field, relation in BOUNDS:
        if field in stated:
            bound = stated[field]
            by_tier = {tier: (side, bound) for tier, side in (fast or {}).items()}
            yield Obligation(f"{name}.{field.name}", number, relation, bound, part, needs, by_tier)
