"""That stated selections are all the locally optimal ones: a proof that settles every tuple of tokens.

The witness holds cuts, each of which shows that no selection with some chosen tokens can be separated, and a support
for every selection that no cut covers, in lexicographic order: the tokens, by their rows among those of all inputs,
whose constraints determine p_mm. The checker goes through all selections itself, so that none can be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from flint import fmpq

from certattn.kernel.decide.verdict import Obligation, Outcome, Part, at_most, unproved
from certattn.kernel.document.fields import Count, Field, Listing, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.theorems.selection.kkt import INPUT, MULTIPLIER, kkt_names, kkt_obligations
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

    def names(self) -> list[str]:
        names = [_CUTS] if self.cuts else []
        names.append(_COVERAGE)
        if self.supports:
            names += [_INDEPENDENT, *kkt_names("all")]
        return [*names, _MISSING, _WRONG]

    def obligations(self) -> list[Obligation]:
        """All of them; what refutes is handed over only where every selection is settled."""
        proofs = self._settled()
        if all(o.outcome is Outcome.PROVED for o in proofs):
            return [*proofs, *self._comparison()]
        reason = "not every selection is settled by the witness"
        return [
            *proofs,
            unproved(_MISSING, "no locally optimal selection is left out", reason),
            unproved(_WRONG, "every listed selection is locally optimal", reason),
        ]

    def _comparison(self) -> list[Obligation]:
        found = self._search.optimal
        return [
            at_most(_MISSING, "locally optimal selections that are left out", fmpq(len(found - self.stated)), fmpq(0)),
            at_most(_WRONG, "listed selections that are not locally optimal", fmpq(len(self.stated - found)), fmpq(0)),
        ]

    def _settled(self) -> list[Obligation]:
        part, zero, search = Part.WITNESS, fmpq(0), self._search
        found = []
        if self.cuts:
            largest = max(cut.contradiction(self.tokens).largest_entry for cut in self.cuts)
            found.append(at_most(_CUTS, "the largest |entry| of sum mu z of every cut", largest, zero, part=part))
        left = fmpq(abs(search.count - len(self.supports)))
        sentence = "selections that no cut covers without a support, or supports too many"
        found.append(at_most(_COVERAGE, sentence, left, zero, part=part))
        if self.supports:
            sentence = "supports with linearly dependent differences, or with a chosen token"
            found.append(at_most(_INDEPENDENT, sentence, fmpq(search.broken), zero, part=part))
            worst, what = search.worst, "every p_mm"
            if worst is None:
                reason = "no support determines a point"
                found += [unproved(name, f"the conditions of {what}", reason) for name in kkt_names("all")]
            else:
                found += kkt_obligations("all", worst, what)
        return found

    @cached_property
    def _search(self) -> Search:
        search = Search()
        for k, indices in enumerate(uncut_selections(self.tokens.lengths, self.cuts)):
            search.count += 1
            if k < len(self.supports):
                search.settle(Selection(self.tokens, indices), self.supports[k])
        return search


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
