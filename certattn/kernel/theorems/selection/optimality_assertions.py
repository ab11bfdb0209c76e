"""What `token-optimality` asserts of stated selections, and the multipliers that are to show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.document.fields import Choice, Count, Field, Kind, Listing, Reading, Record, Schema, Values
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.token_selection import Pair, Selection
from certattn.kernel.theorems.selection.kkt import INPUT, TOKEN, PairMultipliers, read_multipliers
from certattn.kernel.theorems.selection.selection_enumeration import CUTS, SUPPORTS, Enumeration, read_enumeration
from certattn.kernel.theorems.selection.selection_inputs import INDICES, StatedTokens, read_selection

NOT_SEPARABLE, NONE = "not-separable", "none"


@dataclass(frozen=True)
class Because(Kind[Pair | None]):
    """Why a selection is not locally optimal: a neighbour, or that it cannot be separated (None)."""

    _neighbour = Record(INPUT, TOKEN)
    _word = Choice((NOT_SEPARABLE,))

    def read(self, node: Node, reading: Reading) -> Pair | None:
        if isinstance(node.value, str):
            self._word.read(node, reading)
            return None
        values = self._neighbour.read(node, reading)
        return Pair(values[INPUT], values[TOKEN])

    def schema(self) -> Schema:
        return {"anyOf": [self._word.schema(), self._neighbour.schema()]}


class Selections(Kind[list[list[int]]]):
    """Selections, an index for each input; or the word `none`."""

    _listing = Listing(Listing(Count(0)))
    _word = Choice((NONE,))

    def read(self, node: Node, reading: Reading) -> list[list[int]]:
        if isinstance(node.value, str):
            self._word.read(node, reading)
            return []
        return self._listing.read(node, reading)

    def schema(self) -> Schema:
        return {"anyOf": [self._word.schema(), self._listing.schema()]}


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

# What a statement says of a selection with a reason: the selection, the reason, and the multipliers.
Refusal = tuple[Selection, Pair | None, Mapping[int, fmpq]]


def read_optimal(asserts: Values, stated: StatedTokens) -> list[list[int]] | None:
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


def read_accepted(
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


def read_refused(asserts: Values, witness: Values | None, stated: StatedTokens) -> list[Refusal]:
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


def read_all(asserts: Values, witness: Values | None, stated: StatedTokens) -> Enumeration | None:
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
