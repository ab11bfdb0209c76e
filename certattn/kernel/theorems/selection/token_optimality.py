"""Theorem `token-optimality`: which tokens are the best ones, and which selections attention can settle on.

Given tokens with scores gamma_it, stated or as Y_i v'x_it; with queries q_i, p is a matrix W, and the keys are the
k_it q_i'. A certificate asserts one or more of

    optimal              of every input, all tokens of the largest score
    locally_optimal      selections alpha all of whose neighbours have smaller scores
    not_locally_optimal  selections that are not, each with the reason
    all_locally_optimal  all locally optimal selections: there are no others

With p = p_mm(alpha), the neighbours of alpha are the tokens whose constraints are tight at p, and alpha is locally
optimal where each of them has a smaller score than the chosen token of its input. A selection whose constraints have
no solution has no p_mm and is not locally optimal.

Everything is decided exactly. p_mm(alpha) comes from multipliers with their Karush-Kuhn-Tucker conditions; what is
wrong with a selection that has no p_mm is shown by Gordan's theorem. That a list is complete is a proof that settles
every tuple of tokens: the witness holds cuts, each of which shows that no selection with some chosen tokens can be
separated, and a support for every selection that no cut covers, in lexicographic order: the tokens, by their rows
among those of all inputs, whose constraints determine p_mm. The checker goes through all selections itself, so that
none can be left out.
Ataee Tarzanagh, Li, Zhang and Oymak 2023: SVM neighbours and local optimality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import Any, TypeVar

from flint import fmpq, fmpz_mat

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import EXACT, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Choice, Count, Field, Kind, Listing, Reading, Record, Values, some_of
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Pair, Selection, Tokens, best_tokens
from certattn.kernel.theorems.selection.mathematics.margin_points import (
    Conditions,
    Contradiction,
    MaxMargin,
    hard_margin,
)
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    INPUT,
    MULTIPLIER,
    PAIR_MULTIPLIERS,
    TOKEN,
    StatedTokens,
    kkt_names,
    optimal,
    point_of,
    read_selection,
    read_tokens,
    scored_token_forms,
    selection_at,
)

T = TypeVar("T")

NOT_SEPARABLE, NONE = "not-separable", "none"
# More would take minutes.
MOST_SELECTIONS = 100_000


@dataclass(frozen=True)
class OrWord(Kind[T | None]):
    """Something, or a word in its place, which is None."""

    word: str
    other: Kind[T]

    @property
    def written(self) -> Sequence[Kind[Any]]:  # type: ignore[override]
        return Choice((self.word,)), self.other

    def read(self, node: Node, reading: Reading) -> T | None:
        if not isinstance(node.value, str):
            return self.other.read(node, reading)
        Choice((self.word,)).read(node, reading)
        return None


OPTIMAL = Field("optimal", Listing(Listing(Count(0))), "of every input, all tokens of the largest score", False)
LOCALLY = Field("locally_optimal", Listing(Listing(Count(0))), "selections, an index for each input", False)
_NEIGHBOUR = OrWord(NOT_SEPARABLE, Record(INPUT, TOKEN))
BECAUSE = Field("because", _NEIGHBOUR, "a neighbour whose score is not smaller, or not-separable")
NOT_LOCALLY = Field("not_locally_optimal", Listing(Record(INDICES, BECAUSE)), "selections with a reason each", False)
_SELECTIONS = OrWord(NONE, Listing(Listing(Count(0))))
ALL = Field("all_locally_optimal", _SELECTIONS, "all locally optimal selections, or none", False)

_PROOFS = Listing(PAIR_MULTIPLIERS)
SOLUTIONS = Field("locally_optimal", _PROOFS, "multipliers of p_mm for each of these selections", required=False)
_REFUSED = "multipliers for each of these selections: of p_mm, or of a combination that is 0"
REASONS = Field("not_locally_optimal", _PROOFS, _REFUSED, required=False)
CHOSEN = Field("chosen", Count(0), "the chosen token of that input, counted from 0")
OTHER = Field("other", Count(0), "another token of that input, counted from 0")
_CUTS = Listing(Listing(Record(INPUT, CHOSEN, OTHER, MULTIPLIER)))
_CUT = "combinations of differences of keys that are 0: no selection with these chosen tokens can be separated"
CUTS = Field("cuts", _CUTS, _CUT, required=False)
_ROWS = "for every other selection, in lexicographic order, the rows of the tokens that determine its p_mm"
SUPPORTS = Field("supports", Listing(Listing(Count(0))), _ROWS, required=False)


GIVEN = scored_token_forms()
ASSERTS = Record(OPTIMAL, LOCALLY, NOT_LOCALLY, ALL, rules=[some_of(OPTIMAL, LOCALLY, NOT_LOCALLY, ALL)])
WITNESS = Record(SOLUTIONS, REASONS, CUTS, SUPPORTS)


# -- the point that a support determines, and selections that are cut off


def smallest_neighbour_gap(selection: Selection, solution: MaxMargin) -> fmpq:
    """The smallest g_j of the neighbours. There is one: were no constraint tight, a shorter p would do."""
    return min(selection.gaps[j] for j in solution.tight)


def on_support(rows: ExactMatrix, support: Sequence[int]) -> MaxMargin | None:
    """The problem with every level 1, and the multipliers that make the rows of `support` tight and are 0 elsewhere.

    They solve Z Z' lambda = (1, ..., 1)' for the rows Z of the support; None where these are linearly dependent.
    """
    tight = rows.take_rows(support)
    gram = tight @ tight.T
    try:
        solved = gram.numerators.solve(fmpz_mat(len(support), 1, [gram.denominator] * len(support)))
    except ZeroDivisionError:
        return None
    return hard_margin(rows, {j: solved[k, 0] for k, j in enumerate(support)})


def supported_point(selection: Selection, support: Sequence[int]) -> MaxMargin | None:
    """The same from rows of tokens of all inputs; None where one of them is chosen, too."""
    places = {selection.tokens.row(pair.input, pair.token): j for j, pair in enumerate(selection.pairs)}
    if not all(row in places for row in support):
        return None
    return on_support(selection.differences, [places[row] for row in support])


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
        weights = {k: term.multiplier for k, term in enumerate(self.terms)}
        return Contradiction(chosen - others, (fmpq(1),) * len(weights), weights)


def uncut_selections(lengths: Sequence[int], cuts: Sequence[Cut]) -> Iterator[tuple[int, ...]]:
    """Every tuple of one token per input that no cut covers, in lexicographic order."""

    def extended(prefix: tuple[int, ...], live: Sequence[dict[int, int]]) -> Iterator[tuple[int, ...]]:
        """The tuples that begin so; `live` are the cuts that agree with the prefix."""
        place = len(prefix)
        if any(max(chosen) < place for chosen in live):
            return
        if place == len(lengths):
            yield prefix
            return
        for token in range(lengths[place]):
            yield from extended((*prefix, token), [c for c in live if c.get(place, token) == token])

    return extended((), [cut.chosen for cut in cuts])


# -- what is stated


class Search:
    """What comes of going through all selections that no cut covers.

    How many there are, how many have a support that determines no point, the worst of the points that others
    determine, and which selections are locally optimal.
    """

    def __init__(self, tokens: Tokens, cuts: Sequence[Cut], supports: Sequence[Sequence[int]]) -> None:
        self.count, self.broken, self.optimal = 0, 0, set[tuple[int, ...]]()
        found = list[Conditions]()
        for indices in uncut_selections(tokens.lengths, cuts):
            self.count += 1
            if self.count > len(supports):
                continue
            selection = Selection(tokens, indices)
            point = supported_point(selection, supports[self.count - 1])
            if point is None:
                self.broken += 1
                continue
            found.append(point.conditions)
            if point.tight and smallest_neighbour_gap(selection, point) > 0:
                self.optimal.add(indices)
        multipliers, slacks, complementarities, norms = zip(*(found or [_NOWHERE]), strict=True)
        self.worst = Conditions(min(multipliers), min(slacks), max(complementarities), min(norms))


# Where no support determines a point, no condition holds.
_NOWHERE = Conditions(fmpq(-1), fmpq(-1), fmpq(1), fmpq(-1))


@dataclass(frozen=True)
class Enumeration:
    """The stated complete list, and what is to prove it."""

    tokens: Tokens
    stated: frozenset[tuple[int, ...]]
    cuts: tuple[Cut, ...]
    supports: list[list[int]]

    @cached_property
    def search(self) -> Search:
        return Search(self.tokens, self.cuts, self.supports)


# What a statement says of a selection with a reason: the selection, the reason, and the point of the multipliers, which
# is p_mm where the reason is a neighbour.
Refusal = tuple[Selection, Pair | None, MaxMargin]


@dataclass(frozen=True)
class OptimalityStatement:
    """What is given, and what is asserted of it: best tokens, selections with points, and all selections."""

    stated: StatedTokens
    optimal: list[list[int]] | None
    accepted: list[tuple[Selection, MaxMargin]]
    refused: list[Refusal]
    enumeration: Enumeration | None


def read(certificate: Certificate) -> OptimalityStatement:
    """Raises MalformedError."""
    _, given = GIVEN.read(certificate.given, certificate.reading)
    stated, asserts = read_tokens(given), ASSERTS.read(certificate.asserts, certificate.reading)
    hint, optimal = certificate.witness, asserts.get(OPTIMAL)
    witness = WITNESS.read(hint, certificate.reading) if hint is not None else None
    if optimal is not None:
        _require_tokens(optimal, stated.tokens, asserts.node(OPTIMAL))
    accepted, refused = list[tuple[Selection, MaxMargin]](), list[Refusal]()
    if LOCALLY in asserts:
        selections = _each_once(stated, asserts[LOCALLY], asserts.node(LOCALLY))
        shown = _witnessed(SOLUTIONS, len(selections), witness, asserts.node(LOCALLY))
        accepted = [(selection, point_of(selection, m)) for selection, m in zip(selections, shown, strict=True)]
    if NOT_LOCALLY in asserts:
        listed = asserts[NOT_LOCALLY]
        shown = _witnessed(REASONS, len(listed), witness, asserts.node(NOT_LOCALLY))
        refused = [_read_refusal(values, weights, stated) for values, weights in zip(listed, shown, strict=True)]
    every = _read_all(asserts, witness, stated) if ALL in asserts else None
    return OptimalityStatement(stated, optimal, accepted, refused, every)


def _require_tokens(listed: list[list[int]], tokens: Tokens, node: Node) -> None:
    """Refuse what is no set of tokens for each input."""
    if len(listed) != tokens.count:
        raise node.malformed(f"{counted(tokens.count, 'list')} of tokens, one per input", f"{len(listed)}")
    for i, (found, length) in enumerate(zip(listed, tokens.lengths, strict=True)):
        if max(found) >= length:
            raise node.malformed(f"tokens of input {i} below {length}, counted from 0", f"{max(found)}")
        if len(set(found)) < len(found):
            raise node.malformed("every token at most once", f"one of input {i} twice")


def _witnessed(field: Field[list[list[Values]]], count: int, witness: Values | None, node: Node) -> list[list[Values]]:
    """The multipliers of every one of `count` selections."""
    found = witness.get(field) if witness is not None else None
    if found is None or len(found) != count:
        there = "none" if found is None else f"{len(found)}"
        raise node.malformed(f"multipliers for each of {counted(count, 'selection')} under witness.{field.name}", there)
    return found


def _each_once(stated: StatedTokens, listed: list[list[int]], node: Node) -> list[Selection]:
    selections = [selection_at(stated, indices, node) for indices in listed]
    if len({selection.indices for selection in selections}) < len(selections):
        raise node.malformed("every selection at most once", "one that is listed twice")
    return selections


def _read_refusal(values: Values, weights: list[Values], stated: StatedTokens) -> Refusal:
    """A selection that is not locally optimal, with its reason and multipliers."""
    selection, named = read_selection(stated, values), values[BECAUSE]
    because = Pair(named[INPUT], named[TOKEN]) if named is not None else None
    if because is not None and because not in selection.pairs:
        expected = "an input and a token of it other than the chosen one"
        raise values.node(BECAUSE).malformed(expected, f"the pair {because}")
    return selection, because, point_of(selection, weights)


def _read_all(asserts: Values, witness: Values | None, stated: StatedTokens) -> Enumeration:
    """All locally optimal selections."""
    node, tokens = asserts.node(ALL), stated.tokens
    cuts, supports = (witness.items(CUTS), witness.items(SUPPORTS)) if witness is not None else ([], [])
    if not cuts and not supports:
        raise node.malformed("cuts or supports under witness, which settle every selection", "none")
    if max(tokens.lengths) == 1:
        raise node.malformed("an input of more than one token", "nothing to select from")
    if prod(tokens.lengths) > MOST_SELECTIONS:
        raise node.malformed(f"at most {MOST_SELECTIONS} selections to go through", f"{prod(tokens.lengths)}")
    every = asserts[ALL]
    listed = frozenset(selection.indices for selection in _each_once(stated, every or [], node))
    return Enumeration(tokens, listed, tuple(_read_cut(tokens, terms) for terms in cuts), supports)


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


# -- what proves it

_ZERO = fmpq(0)


def obligations(stated: OptimalityStatement) -> Iterator[Obligation]:
    best = cache(lambda: best_tokens(stated.stated.tokens))
    for i, tokens in enumerate(stated.optimal or []):
        yield _best(best, i, tokens)
    for k, accepted in enumerate(stated.accepted):
        yield from _accepted(f"locally_optimal[{k}]", *accepted)
    for k, refusal in enumerate(stated.refused):
        yield from _refused(f"not_locally_optimal[{k}]", *refusal)
    if stated.enumeration is not None:
        yield from _all_settled(stated.enumeration)


def _best(best: Callable[[], list[list[int]]], i: int, tokens: list[int]) -> Obligation:
    """How many tokens of input i are listed wrongly or left out."""
    return Obligation(f"optimal[{i}]", lambda: fmpq(len(set(tokens) ^ set(best()[i]))), "<=", _ZERO)


def _accepted(prefix: str, selection: Selection, solution: MaxMargin) -> Iterator[Obligation]:
    """That p_mm is what the multipliers make it, and all its neighbours have smaller scores."""
    yield from optimal(prefix, lambda: solution.conditions)
    gap = lambda: smallest_neighbour_gap(selection, solution)  # noqa: E731
    yield Obligation(f"{prefix}.neighbours", gap, ">", _ZERO, needs=kkt_names(prefix))


def _refused(prefix: str, selection: Selection, because: Pair | None, solution: MaxMargin) -> Iterator[Obligation]:
    """That the stated token is a neighbour of no smaller score; or that no p satisfies the constraints."""
    if because is None:
        shown = Contradiction(solution.rows, solution.levels, solution.multipliers)
        yield Obligation(f"{prefix}.combination", lambda: shown.largest_entry, "<=", _ZERO, Part.WITNESS)
        return
    j = selection.pairs.index(because)
    yield from optimal(prefix, lambda: solution.conditions)
    yield Obligation(f"{prefix}.tight", lambda: solution.slacks[j], "<=", _ZERO, needs=kkt_names(prefix))
    yield Obligation(f"{prefix}.score", lambda: selection.gaps[j], "<=", _ZERO)


def _all_settled(stated: Enumeration) -> Iterator[Obligation]:
    """That the list is complete and right; it is compared only where every selection is settled."""
    part, settled = Part.WITNESS, ["all.coverage"]
    if stated.cuts:
        # The largest |entry| of sum mu z of every cut.
        entry = lambda: max(cut.contradiction(stated.tokens).largest_entry for cut in stated.cuts)  # noqa: E731
        yield Obligation("all.cuts", entry, "<=", _ZERO, part)
        settled.append("all.cuts")
    # How many selections no cut covers without a support, or supports too many.
    uncovered = lambda: fmpq(abs(stated.search.count - len(stated.supports)))  # noqa: E731
    yield Obligation("all.coverage", uncovered, "<=", _ZERO, part)
    if stated.supports:
        # Every selection that is left has a support, and every support determines a point: there is a worst one.
        yield Obligation("all.supports", lambda: fmpq(stated.search.broken), "<=", _ZERO, part)
        yield from optimal("all", lambda: stated.search.worst, ("all.coverage", "all.supports"))
        settled += ["all.supports", *kkt_names("all")]
    missing = lambda: fmpq(len(stated.search.optimal - stated.stated))  # noqa: E731
    yield Obligation("all.missing", missing, "<=", _ZERO, needs=settled)
    wrong = lambda: fmpq(len(stated.stated - stated.search.optimal))  # noqa: E731
    yield Obligation("all.wrong", wrong, "<=", _ZERO, needs=settled)


_TITLE = "the tokens with the best scores, and the selections that are locally optimal"
THEOREM = Theorem("token-optimality", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations, arithmetic=EXACT)
