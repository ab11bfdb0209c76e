"""A number stated to lie in a range: `at_least`, `at_most` or both, read and said in one way by every claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Relation, Side, Tier
from certattn.kernel.document.schema import Field, Rational, Record, Values
from certattn.kernel.mathematics.reals import describe

AT_LEAST = Field("at_least", Rational(), "a lower bound", required=False)
AT_MOST = Field("at_most", Rational(), "an upper bound", required=False)
BOUNDS: Sequence[tuple[Field[fmpq], Relation]] = ((AT_LEAST, ">="), (AT_MOST, "<="))


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


@dataclass(frozen=True)
class Range:
    """at_least <= quantity <= at_most; one of them may be missing."""

    at_least: fmpq | None
    at_most: fmpq | None

    @property
    def bounds(self) -> dict[str, fmpq]:
        """By their names, those that are stated."""
        stated = {AT_LEAST.name: self.at_least, AT_MOST.name: self.at_most}
        return {name: bound for name, bound in stated.items() if bound is not None}

    def words(self) -> str:
        """Such as "at least 1 and at most 2"."""
        return " and ".join(f"{name.replace('_', ' ')} {describe(bound)}" for name, bound in self.bounds.items())

    def latex(self, quantity: str) -> str:
        """Such as 1 <= x <= 2, as a formula."""
        low = rf"{describe(self.at_least)} \le " if self.at_least is not None else ""
        high = rf" \le {describe(self.at_most)}" if self.at_most is not None else ""
        return f"{low}{quantity}{high}"


def read_range(values: Values) -> Range:
    """Bounds of one number. Raises MalformedError where there is none."""
    some_bound(values)
    return Range(values.get(AT_LEAST), values.get(AT_MOST))
