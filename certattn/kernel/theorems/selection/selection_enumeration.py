"""That stated selections are all the locally optimal ones: a proof that settles every tuple of tokens.

The witness holds cuts, each of which shows that no selection with some chosen tokens can be separated, and a support
for every selection that no cut covers, in lexicographic order: the tokens, by their rows among those of all inputs,
whose constraints determine p_mm. The checker goes through all selections itself, so that none can be left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.document.schema import Count, Field, Listing, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.theorems.selection.kkt import INPUT, MULTIPLIER, kkt_names, optimal
from certattn.kernel.theorems.selection.mathematics.local_optimality import (
    Cut,
    CutTerm,
    smallest_neighbour_gap,
    uncut_selections,
)
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin, on_support

# More would take minutes.
MOST_SELECTIONS = 100_000

CHOSEN = Field("chosen", Count(0), "the chosen token of that input, counted from 0")
OTHER = Field("other", Count(0), "another token of that input, counted from 0")
CUTS = Field(
    "cuts",
    Listing(Listing(Record(INPUT, CHOSEN, OTHER, MULTIPLIER))),
    "combinations of differences of keys that are 0: no selection with these chosen tokens can be separated",
    required=False,
)
SUPPORTS = Field(
    "supports",
    Listing(Listing(Count(0))),
    "for every other selection, in lexicographic order, the rows of the tokens that determine its p_mm",
    required=False,
)

_CUTS, _COVERAGE, _INDEPENDENT = "all.cuts", "all.coverage", "all.supports"
_MISSING, _WRONG = "all.missing", "all.wrong"


@dataclass(frozen=True)
class Worst:
    """The worst numbers of the conditions of several max-margin points."""

    smallest_multiplier: fmpq
    smallest_slack: fmpq
    complementarity: fmpq
    norm_squared: fmpq

    @classmethod
    def of(cls, solution: MaxMargin) -> Worst:
        return cls(
            solution.smallest_multiplier,
            solution.smallest_slack,
            abs(solution.complementarity),
            solution.norm_squared,
        )

    def joined(self, other: Worst) -> Worst:
        return Worst(
            min(self.smallest_multiplier, other.smallest_multiplier),
            min(self.smallest_slack, other.smallest_slack),
            max(self.complementarity, other.complementarity),
            min(self.norm_squared, other.norm_squared),
        )


@dataclass
class Search:
    """What came of going through all selections that no cut covers."""

    count: int = 0
    broken: int = 0
    worst: Worst | None = None
    optimal: set[tuple[int, ...]] = field(default_factory=set)

    def settle(self, selection: Selection, support: Sequence[int]) -> None:
        """Take the point that a support determines, and look at its neighbours."""
        places = {selection.tokens.row(pair.input, pair.token): j for j, pair in enumerate(selection.pairs)}
        solution = None
        if all(row in places for row in support):
            solution = on_support(selection.differences, [places[row] for row in support])
        if solution is None:
            self.broken += 1
            return
        worst = Worst.of(solution)
        self.worst = worst if self.worst is None else self.worst.joined(worst)
        tight = solution.tight
        if tight and smallest_neighbour_gap(selection, solution) > 0:
            self.optimal.add(selection.indices)

    @property
    def of_every_point(self) -> Worst:
        """Of the points that supports determine; where none does, no condition holds."""
        return self.worst or Worst(fmpq(-1), fmpq(-1), fmpq(1), fmpq(-1))


@dataclass(frozen=True)
class Enumeration:
    """The stated complete list, and what is to prove it."""

    tokens: Tokens
    stated: frozenset[tuple[int, ...]]
    cuts: tuple[Cut, ...]
    supports: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> int:
        """How many selections there are."""
        return prod(self.tokens.lengths)

    @cached_property
    def search(self) -> Search:
        search = Search()
        for k, indices in enumerate(uncut_selections(self.tokens.lengths, self.cuts)):
            search.count += 1
            if k < len(self.supports):
                search.settle(Selection(self.tokens, indices), self.supports[k])
        return search

    @property
    def largest_entry(self) -> fmpq:
        """The largest |entry| of sum mu z of every cut."""
        return max(cut.contradiction(self.tokens).largest_entry for cut in self.cuts)

    @property
    def uncovered(self) -> fmpq:
        """How many selections no cut covers without a support, or supports too many."""
        return fmpq(abs(self.search.count - len(self.supports)))


def all_settled(stated: Enumeration) -> Iterator[Obligation]:
    """That the list is complete and right; it is compared only where every selection is settled."""
    zero, part = fmpq(0), Part.WITNESS
    settled = [_COVERAGE]
    if stated.cuts:
        yield Obligation(_CUTS, lambda: stated.largest_entry, "<=", zero, part)
        settled.append(_CUTS)
    yield Obligation(_COVERAGE, lambda: stated.uncovered, "<=", zero, part)
    if stated.supports:
        # Every selection that is left has a support, and every support determines a point: there is a worst one.
        yield Obligation(_INDEPENDENT, lambda: fmpq(stated.search.broken), "<=", zero, part)
        yield from optimal("all", lambda: stated.search.of_every_point, (_COVERAGE, _INDEPENDENT))
        settled += [_INDEPENDENT, *kkt_names("all")]
    yield Obligation(_MISSING, lambda: fmpq(len(stated.search.optimal - stated.stated)), "<=", zero, needs=settled)
    yield Obligation(_WRONG, lambda: fmpq(len(stated.stated - stated.search.optimal)), "<=", zero, needs=settled)


# -- reading


def read_enumeration(
    tokens: Tokens, stated: Sequence[Selection], at: Node, cuts: list[list[Values]], supports: list[list[int]]
) -> Enumeration:
    """`at` is where the complete list stands. Raises MalformedError."""
    if max(tokens.lengths) == 1:
        raise at.malformed("an input of more than one token", "nothing to select from")
    selections = prod(tokens.lengths)
    if selections > MOST_SELECTIONS:
        raise at.malformed(f"at most {MOST_SELECTIONS} selections to go through", f"{selections}")
    listed = frozenset(selection.indices for selection in stated)
    if len(listed) < len(stated):
        raise at.malformed("every selection at most once", "one that is listed twice")
    return Enumeration(
        tokens, listed, tuple(_read_cut(tokens, terms) for terms in cuts), tuple(tuple(rows) for rows in supports)
    )


def _read_cut(tokens: Tokens, terms: list[Values]) -> Cut:
    chosen: dict[int, int] = {}
    for values in terms:
        i = values[INPUT]
        if i >= tokens.count:
            raise values.at.malformed(f"an input below {tokens.count}", f"{i}")
        if max(values[CHOSEN], values[OTHER]) >= tokens.lengths[i]:
            raise values.at.malformed(f"tokens below {tokens.lengths[i]}, those of input {i}")
        if values[CHOSEN] == values[OTHER]:
            raise values.at.malformed("another token than the chosen one", f"{values[OTHER]}")
        if chosen.setdefault(i, values[CHOSEN]) != values[CHOSEN]:
            raise values.at.malformed("one chosen token of every input", f"two of input {i}")
    return Cut(tuple(CutTerm(v[INPUT], v[CHOSEN], v[OTHER], v[MULTIPLIER]) for v in terms))
