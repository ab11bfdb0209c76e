"""Theorem `token-optimality`: which tokens are the best ones, and which selections attention can settle on.

Given tokens with scores gamma_it, stated or as Y_i v'x_it. A certificate asserts one or more of

    optimal              of every input, all tokens of the largest score
    locally_optimal      selections alpha all of whose neighbours have smaller scores
    not_locally_optimal  selections that are not, each with the reason
    all_locally_optimal  all locally optimal selections: there are no others

Everything is decided exactly. p_mm(alpha) comes from multipliers with their Karush-Kuhn-Tucker conditions; what is
wrong with a selection that has no p_mm is shown by Gordan's theorem.
Ataee Tarzanagh, Li, Zhang and Oymak 2023: SVM neighbours and local optimality.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import EXACT, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Choice, Count, Field, Kind, Listing, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.token_selection import Pair, Selection, best_tokens
from certattn.kernel.theorems.selection.kkt import (
    INPUT,
    TOKEN,
    PairMultipliers,
    kkt_names,
    optimal,
    read_multipliers,
)
from certattn.kernel.theorems.selection.mathematics.contradiction import Contradiction
from certattn.kernel.theorems.selection.mathematics.local_optimality import smallest_neighbour_gap
from certattn.kernel.theorems.selection.mathematics.max_margin import hard_margin
from certattn.kernel.theorems.selection.selection_enumeration import (
    CUTS,
    SUPPORTS,
    Enumeration,
    all_settled,
    read_enumeration,
)
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    StatedTokens,
    read_selection,
    read_tokens,
    scored_token_forms,
)

NOT_SEPARABLE, NONE = "not-separable", "none"


@dataclass(frozen=True)
class Because(Kind[Pair | None]):
    """Why a selection is not locally optimal: a neighbour, or that it cannot be separated (None)."""

    _neighbour = Record(INPUT, TOKEN)
    _word = Choice((NOT_SEPARABLE,))
    written = (_word, _neighbour)

    def read(self, node: Node, reading: Reading) -> Pair | None:
        if isinstance(node.value, str):
            self._word.read(node, reading)
            return None
        values = self._neighbour.read(node, reading)
        return Pair(values[INPUT], values[TOKEN])


class Selections(Kind[list[list[int]]]):
    """Selections, an index for each input; or the word `none`."""

    _listing = Listing(Listing(Count(0)))
    _word = Choice((NONE,))
    written = (_word, _listing)

    def read(self, node: Node, reading: Reading) -> list[list[int]]:
        if isinstance(node.value, str):
            self._word.read(node, reading)
            return []
        return self._listing.read(node, reading)


OPTIMAL = Field("optimal", Listing(Listing(Count(0))), "of every input, all tokens of the largest score", False)
LOCALLY = Field("locally_optimal", Listing(Listing(Count(0))), "selections, an index for each input", False)
BECAUSE = Field("because", Because(), "a neighbour whose score is not smaller, or not-separable")
NOT_LOCALLY = Field("not_locally_optimal", Listing(Record(INDICES, BECAUSE)), "selections with a reason each", False)
ALL = Field("all_locally_optimal", Selections(), "all locally optimal selections, or none", False)

SOLUTIONS = Field(
    "locally_optimal",
    Listing(PairMultipliers()),
    "multipliers of p_mm for each of these selections",
    required=False,
)
REASONS = Field(
    "not_locally_optimal",
    Listing(PairMultipliers()),
    "multipliers for each of these selections: of p_mm, or of a combination that is 0",
    required=False,
)


def _something(asserts: Values) -> None:
    if not any(field in asserts for field in (OPTIMAL, LOCALLY, NOT_LOCALLY, ALL)):
        raise asserts.at.malformed("something that is asserted", "nothing")


GIVEN = scored_token_forms()
ASSERTS = Record(OPTIMAL, LOCALLY, NOT_LOCALLY, ALL, rules=[_something])
WITNESS = Record(SOLUTIONS, REASONS, CUTS, SUPPORTS)


# -- what is stated

# What a statement says of a selection with a reason: the selection, the reason, and the multipliers.
Refusal = tuple[Selection, Pair | None, Mapping[int, fmpq]]


@dataclass(frozen=True)
class OptimalityStatement:
    """What is given, and what is asserted of it: best tokens, selections with multipliers, and all selections."""

    stated: StatedTokens
    optimal: list[list[int]] | None
    accepted: list[tuple[Selection, Mapping[int, fmpq]]]
    refused: list[Refusal]
    enumeration: Enumeration | None

    @cached_property
    def best(self) -> list[list[int]]:
        return best_tokens(self.stated.tokens)


def read(certificate: Certificate) -> OptimalityStatement:
    """Raises MalformedError."""
    stated = read_tokens(*GIVEN.read(certificate.given, certificate.reading))
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    witness = None
    if certificate.witness is not None:
        witness = WITNESS.read(certificate.witness, certificate.reading)
    return OptimalityStatement(
        stated,
        _read_optimal(asserts, stated),
        _read_accepted(asserts, witness, stated),
        _read_refused(asserts, witness, stated),
        _read_all(asserts, witness, stated),
    )


def _read_optimal(asserts: Values, stated: StatedTokens) -> list[list[int]] | None:
    """The best tokens of every input. Raises MalformedError."""
    listed = asserts.get(OPTIMAL)
    if listed is None:
        return None
    node, tokens = asserts.node(OPTIMAL), stated.tokens
    if len(listed) != tokens.count:
        raise node.malformed(f"{counted(tokens.count, 'list')} of tokens, one per input", f"{len(listed)}")
    for i, (found, length) in enumerate(zip(listed, tokens.lengths, strict=True)):
        if max(found) >= length:
            raise node.malformed(f"tokens of input {i} below {length}, counted from 0", f"{max(found)}")
        if len(set(found)) < len(found):
            raise node.malformed("every token at most once", f"one of input {i} twice")
    return listed


def _witnessed(field: Field[list[list[Values]]], count: int, witness: Values | None, node: Node) -> list[list[Values]]:
    """The multipliers of every one of `count` selections."""
    found = witness.get(field) if witness is not None else None
    if found is None or len(found) != count:
        there = "none" if found is None else f"{len(found)}"
        raise node.malformed(f"multipliers for each of {counted(count, 'selection')} under witness.{field.name}", there)
    return found


def _require_once(selections: Sequence[Selection], node: Node) -> None:
    if len({selection.indices for selection in selections}) < len(selections):
        raise node.malformed("every selection at most once", "one that is listed twice")


def _read_accepted(
    asserts: Values, witness: Values | None, stated: StatedTokens
) -> list[tuple[Selection, Mapping[int, fmpq]]]:
    """Selections that are locally optimal, with multipliers. Raises MalformedError."""
    listed = asserts.get(LOCALLY)
    if listed is None:
        return []
    node = asserts.node(LOCALLY)
    multipliers = _witnessed(SOLUTIONS, len(listed), witness, node)
    selections = [read_selection(stated, indices, node) for indices in listed]
    _require_once(selections, node)
    return [(s, read_multipliers(m, s)) for s, m in zip(selections, multipliers, strict=True)]


def _read_refused(asserts: Values, witness: Values | None, stated: StatedTokens) -> list[Refusal]:
    """Selections that are not, with reasons and multipliers. Raises MalformedError."""
    listed = asserts.get(NOT_LOCALLY)
    if listed is None:
        return []
    multipliers = _witnessed(REASONS, len(listed), witness, asserts.node(NOT_LOCALLY))
    found: list[Refusal] = []
    for values, weights in zip(listed, multipliers, strict=True):
        selection = read_selection(stated, values[INDICES], values.node(INDICES))
        because = values[BECAUSE]
        if because is not None and because not in selection.pairs:
            raise values.node(BECAUSE).malformed(
                "an input and a token of it other than the chosen one", f"the pair {because}"
            )
        found.append((selection, because, read_multipliers(weights, selection)))
    return found


def _read_all(asserts: Values, witness: Values | None, stated: StatedTokens) -> Enumeration | None:
    """All locally optimal selections. Raises MalformedError."""
    listed = asserts.get(ALL)
    if listed is None:
        return None
    node = asserts.node(ALL)
    cuts = witness.get(CUTS) if witness is not None else None
    supports = witness.get(SUPPORTS) if witness is not None else None
    if cuts is None and supports is None:
        raise node.malformed("cuts or supports under witness, which settle every selection", "none")
    selections = [read_selection(stated, indices, node) for indices in listed]
    return read_enumeration(stated.tokens, selections, node, cuts or [], supports or [])


# -- what proves it

_ZERO = fmpq(0)


def obligations(stated: OptimalityStatement) -> Iterator[Obligation]:
    for i, tokens in enumerate(stated.optimal or []):
        yield _best(stated, i, tokens)
    for k, (selection, multipliers) in enumerate(stated.accepted):
        yield from _accepted(f"locally_optimal[{k}]", selection, multipliers)
    for k, refusal in enumerate(stated.refused):
        yield from _refused(f"not_locally_optimal[{k}]", *refusal)
    if stated.enumeration is not None:
        yield from all_settled(stated.enumeration)


def _best(stated: OptimalityStatement, i: int, tokens: list[int]) -> Obligation:
    """How many tokens of input i are listed wrongly or left out."""
    return Obligation(f"optimal[{i}]", lambda: fmpq(len(set(tokens) ^ set(stated.best[i]))), "<=", _ZERO)


def _accepted(prefix: str, selection: Selection, multipliers: Mapping[int, fmpq]) -> Iterator[Obligation]:
    """That p_mm is what the multipliers make it, and all its neighbours have smaller scores."""
    solution = cache(lambda: hard_margin(selection.differences, multipliers))
    yield from optimal(prefix, solution)
    gap = lambda: smallest_neighbour_gap(selection, solution())  # noqa: E731
    yield Obligation(f"{prefix}.neighbours", gap, ">", _ZERO, needs=kkt_names(prefix))


def _refused(
    prefix: str, selection: Selection, because: Pair | None, multipliers: Mapping[int, fmpq]
) -> Iterator[Obligation]:
    """That the stated token is a neighbour of no smaller score; or that no p satisfies the constraints."""
    if because is None:
        rows = selection.differences
        stated = Contradiction(rows, (fmpq(1),) * rows.rows, multipliers)
        yield Obligation(f"{prefix}.combination", lambda: stated.largest_entry, "<=", _ZERO, Part.WITNESS)
        return
    j = selection.pairs.index(because)
    solution = cache(lambda: hard_margin(selection.differences, multipliers))
    yield from optimal(prefix, solution)
    yield Obligation(f"{prefix}.tight", lambda: solution().slacks[j], "<=", _ZERO, needs=kkt_names(prefix))
    yield Obligation(f"{prefix}.score", lambda: selection.gaps[j], "<=", _ZERO)


THEOREM = Theorem(
    name="token-optimality",
    title="the tokens with the best scores, and the selections that are locally optimal",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
    arithmetic=EXACT,
)
