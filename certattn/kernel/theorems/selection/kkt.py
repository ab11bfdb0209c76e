"""The obligations that make a stated combination of rows the solution of a max-margin problem.

See `mathematics.max_margin` for the theorem. All four are exact, and all belong to the witness: where one is false,
these multipliers prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.document.schema import Count, Field, Kind, Listing, Rational, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.token_selection import Pair, Selection

CONDITIONS = ("multipliers", "constraints", "complementarity", "nonzero")


class Conditions(Protocol):
    """What the theorem of `mathematics.max_margin` asks of: a `MaxMargin`, or the worst of several."""

    @property
    def smallest_multiplier(self) -> fmpq: ...
    @property
    def smallest_slack(self) -> fmpq: ...
    @property
    def complementarity(self) -> fmpq: ...
    @property
    def norm_squared(self) -> fmpq: ...


def kkt_names(prefix: str) -> list[str]:
    """The names of the obligations of `optimal`."""
    return [f"{prefix}.{condition}" for condition in CONDITIONS]


def optimal(prefix: str, solution: Callable[[], Conditions], needs: Sequence[str] = ()) -> Iterator[Obligation]:
    """That the point has least norm under its constraints, and is not 0."""
    multipliers, constraints, complementarity, nonzero = kkt_names(prefix)
    zero, part = fmpq(0), Part.WITNESS
    yield Obligation(multipliers, lambda: solution().smallest_multiplier, ">=", zero, part, needs)
    yield Obligation(constraints, lambda: solution().smallest_slack, ">=", zero, part, needs)
    yield Obligation(complementarity, lambda: abs(solution().complementarity), "<=", zero, part, needs)
    yield Obligation(nonzero, lambda: solution().norm_squared, ">", zero, part, needs)


# -- how multipliers are stated

INPUT = Field("input", Count(0), "the input, counted from 0")
TOKEN = Field("token", Count(0), "the token of that input that the chosen one is compared with, counted from 0")
MULTIPLIER = Field("multiplier", Rational(above=0), "its multiplier, > 0")


class PairMultipliers(Kind[list[Values]]):
    """Multipliers of pairs of a chosen token and another; pairs that are left out have multiplier 0."""

    _listing = Listing(Record(INPUT, TOKEN, MULTIPLIER))
    written = (_listing,)

    def read(self, node: Node, reading: Reading) -> list[Values]:
        return self._listing.read(node, reading)


MULTIPLIERS = Field("multipliers", PairMultipliers(), "multipliers of the tight constraints, a pair each")


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
