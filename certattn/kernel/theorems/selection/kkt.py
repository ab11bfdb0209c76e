"""How certificates state multipliers of a max-margin point, and the obligations that make it the solution.

See `mathematics.margin_points` for the theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values
from certattn.kernel.mathematics.token_selection import Pair, Selection
from certattn.kernel.theorems.selection.mathematics.margin_points import Conditions, MaxMargin, hard_margin

# -- what proves it


def kkt_names(prefix: str) -> list[str]:
    """The names of the obligations of `optimal`."""
    return [f"{prefix}.{name}" for name in ("multipliers", "constraints", "complementarity", "nonzero")]


def optimal(prefix: str, found: Callable[[], Conditions], needs: Sequence[str] = ()) -> Iterator[Obligation]:
    """That the point has least norm under its constraints, and is not 0.

    All four are exact, and all belong to the witness: where one is false, these multipliers prove nothing.
    """
    multipliers, constraints, complementarity, nonzero = kkt_names(prefix)
    zero, part = fmpq(0), Part.WITNESS
    yield Obligation(multipliers, lambda: found().multiplier, ">=", zero, part, needs)
    yield Obligation(constraints, lambda: found().slack, ">=", zero, part, needs)
    yield Obligation(complementarity, lambda: found().complementarity, "<=", zero, part, needs)
    yield Obligation(nonzero, lambda: found().norm_squared, ">", zero, part, needs)


# -- how multipliers are stated

INPUT = Field("input", Count(0), "the input, counted from 0")
TOKEN = Field("token", Count(0), "the token of that input that the chosen one is compared with, counted from 0")
MULTIPLIER = Field("multiplier", Rational(above=0), "its multiplier, > 0")
# Of pairs of a chosen token and another; pairs that are left out have multiplier 0.
PAIR_MULTIPLIERS = Listing(Record(INPUT, TOKEN, MULTIPLIER))
MULTIPLIERS = Field("multipliers", PAIR_MULTIPLIERS, "multipliers of the tight constraints, a pair each")


def read_multipliers(stated: list[Values], selection: Selection) -> dict[int, fmpq]:
    """The multipliers by the position of their pair. Raises MalformedError for a pair that is none, or stated twice."""
    positions = {pair: j for j, pair in enumerate(selection.pairs)}
    found: dict[int, fmpq] = {}
    for values in stated:
        pair = Pair(values[INPUT], values[TOKEN])
        if pair not in positions:
            raise values.at.malformed("an input and a token of it other than the chosen one", f"the pair {pair}")
        if positions[pair] in found:
            raise values.at.malformed("every pair at most once", f"the pair {pair} again")
        found[positions[pair]] = values[MULTIPLIER]
    return found


def point_of(selection: Selection, stated: list[Values]) -> MaxMargin:
    """The point of stated multipliers for the chosen tokens. Raises MalformedError."""
    return hard_margin(selection.differences, read_multipliers(stated, selection))
