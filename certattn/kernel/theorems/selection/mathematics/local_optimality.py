"""Locally optimal selections: the neighbours of a max-margin point, and all selections one after another.

With p = p_mm(alpha), the neighbours of alpha are the tokens whose constraints are tight at p, and alpha is locally
optimal where each of them has a smaller score than the chosen token of its input (Ataee Tarzanagh, Li, Zhang and Oymak
2023). A selection whose constraints have no solution has no p_mm and is not locally optimal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.theorems.selection.mathematics.contradiction import Contradiction
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin


def smallest_neighbour_gap(selection: Selection, solution: MaxMargin) -> fmpq:
    """The smallest g_j of the neighbours. There is one: were no constraint tight, a shorter p would do."""
    return min(selection.gaps[j] for j in solution.tight)


@dataclass(frozen=True)
class CutTerm:
    """mu (k_chosen - k_other), both tokens of one input."""

    input: int
    chosen: int
    other: int
    multiplier: fmpq


@dataclass(frozen=True)
class Cut:
    """sum mu (k_chosen - k_other) = 0: no selection with these chosen tokens can be separated, whatever the others."""

    terms: tuple[CutTerm, ...]

    @property
    def chosen(self) -> dict[int, int]:
        """The chosen tokens that it is about, by input."""
        return {term.input: term.chosen for term in self.terms}

    def contradiction(self, tokens: Tokens) -> Contradiction:
        """The combination: no p has <k_chosen - k_other, p> >= 1 for all its terms if it is 0."""
        chosen = tokens.keys.take_rows([tokens.row(term.input, term.chosen) for term in self.terms])
        others = tokens.keys.take_rows([tokens.row(term.input, term.other) for term in self.terms])
        return Contradiction(
            chosen - others,
            (fmpq(1),) * len(self.terms),
            {k: term.multiplier for k, term in enumerate(self.terms)},
        )


def uncut_selections(lengths: Sequence[int], cuts: Sequence[Cut]) -> Iterator[tuple[int, ...]]:
    """Every tuple of one token per input that no cut covers, in lexicographic order."""
    yield from _extended((), lengths, [cut.chosen for cut in cuts])


def _extended(
    prefix: tuple[int, ...], lengths: Sequence[int], live: Sequence[dict[int, int]]
) -> Iterator[tuple[int, ...]]:
    """The tuples that begin so; `live` are the cuts that agree with the prefix."""
    if any(max(chosen) < len(prefix) for chosen in live):
        return
    if len(prefix) == len(lengths):
        yield prefix
        return
    place = len(prefix)
    for token in range(lengths[place]):
        yield from _extended((*prefix, token), lengths, [c for c in live if c.get(place, token) == token])
