"""Locally optimal selections: the neighbours of a max-margin point, and all selections one after another.

Ataee Tarzanagh, Li, Zhang and Oymak 2023, Definition 2: with p = p_mm(alpha), the neighbours of alpha are the tokens
whose constraints are tight at p, and alpha is locally optimal where each of them has a smaller score than the chosen
token of its input. A selection whose constraints have no solution has no p_mm and is not locally optimal.

Gordan's theorem, the half that proofs need: if sum_j mu_j z_j = 0 with mu_j >= 0, not all 0, then no p has
<z_j, p> >= 1 for all these j, as sum_j mu_j <z_j, p> = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.max_margin import MaxMargin
from certattn.kernel.arithmetic.token_selection import Selection, Tokens


def smallest_neighbour_gap(selection: Selection, solution: MaxMargin) -> fmpq:
    """The smallest g_j of the neighbours. There is one: were no constraint tight, a shorter p would do."""
    return min(selection.gaps[j] for j in solution.tight)


def combination_norm(rows: ExactMatrix, multipliers: Mapping[int, fmpq]) -> fmpq:
    """|sum_j mu_j z_j|^2: 0 for a proof that <z_j, p> >= 1 has no solution."""
    active = sorted(multipliers)
    total = ExactMatrix.row_vector([multipliers[j] for j in active]) @ rows.take_rows(active)
    return (total @ total.T).entry(0, 0)


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

    def norm_squared(self, tokens: Tokens) -> fmpq:
        """|sum mu (k_chosen - k_other)|^2."""
        chosen = tokens.keys.take_rows([tokens.row(term.input, term.chosen) for term in self.terms])
        others = tokens.keys.take_rows([tokens.row(term.input, term.other) for term in self.terms])
        return combination_norm(chosen - others, {k: term.multiplier for k, term in enumerate(self.terms)})


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
