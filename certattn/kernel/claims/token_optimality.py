"""Claim `token-optimality`: which tokens are the best ones, and which selections attention can settle on.

Given tokens with scores gamma_it, stated or as Y_i v'x_it. A certificate asserts one or more of

    optimal              of every input, all tokens of the largest score
    locally_optimal      selections alpha all of whose neighbours have smaller scores
    not_locally_optimal  selections that are not, each with the reason
    all_locally_optimal  all locally optimal selections: there are no others

Everything is decided exactly. p_mm(alpha) comes from multipliers with their Karush-Kuhn-Tucker conditions; what is
wrong with a selection that has no p_mm is shown by Gordan's theorem.
Ataee Tarzanagh, Li, Zhang and Oymak 2023, Definition 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.arithmetic.local_optimality import combination_norm, smallest_neighbour_gap
from certattn.kernel.arithmetic.max_margin import hard_margin
from certattn.kernel.arithmetic.token_selection import Pair, Selection, best_tokens
from certattn.kernel.claims.claim import Claim, Statement
from certattn.kernel.claims.kkt import INPUT, TOKEN, PairMultipliers, kkt_names, kkt_obligations, read_multipliers
from certattn.kernel.claims.selection_enumeration import CUTS, SUPPORTS, Enumeration, read_enumeration
from certattn.kernel.claims.selection_inputs import (
    INDICES,
    StatedTokens,
    read_selection,
    read_tokens,
    scored_token_forms,
)
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Choice, Count, Field, Kind, Listing, Reading, Record, Schema, Values
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.tree import Node
from certattn.kernel.verdict import Obligation, Outcome, Part, above, at_most, unproved

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


GIVEN = scored_token_forms()

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

_SHOWN = 20
# What a statement says of a selection with a reason: the selection, the reason, and the multipliers.
Refusal = tuple[Selection, Pair | None, Mapping[int, fmpq]]


@dataclass(frozen=True)
class Problem:
    """What is given, and what is asserted of it."""

    stated: StatedTokens
    optimal: list[list[int]] | None
    accepted: list[tuple[Selection, Mapping[int, fmpq]]]
    refused: list[Refusal]
    enumeration: Enumeration | None


class TokenOptimality(Claim[Problem]):
    name = "token-optimality"
    title = "the tokens with the best scores, and the selections that are locally optimal"
    arithmetic = "exact rational arithmetic"
    given = GIVEN
    asserts = Record(OPTIMAL, LOCALLY, NOT_LOCALLY, ALL)
    witness = Record(SOLUTIONS, REASONS, CUTS, SUPPORTS)

    def read(self, certificate: Certificate) -> Problem:
        stated = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        if not any(field in asserts for field in (OPTIMAL, LOCALLY, NOT_LOCALLY, ALL)):
            raise asserts.at.malformed("something that is asserted", "nothing")
        witness = None
        if certificate.witness is not None:
            witness = self.witness.read(certificate.witness, certificate.reading)
        return Problem(
            stated,
            _read_optimal(asserts, stated),
            _read_accepted(asserts, witness, stated),
            _read_refused(asserts, witness, stated),
            _read_all(asserts, witness, stated),
        )

    def read_given(self, certificate: Certificate) -> StatedTokens:
        """The section `given` alone. Raises MalformedError."""
        form, values = GIVEN.read(certificate.given, certificate.reading)
        return read_tokens(form, values)

    def statement(self, problem: Problem) -> Statement:
        words, latex = [], []
        if problem.optimal is not None:
            words.append(f"the tokens of the largest score are, input by input, {_shown(map(_set, problem.optimal))}")
            latex.append(r"\arg\max_t \gamma_{it} = O_i")
        if problem.accepted:
            words.append(f"locally optimal are {_shown(_tuple(s.indices) for s, _ in problem.accepted)}")
            latex.append(
                r"\gamma_{it} < \gamma_{i \alpha_i} \ \forall (i, t): \langle z_{it}, p_{mm}(\alpha) \rangle = 1"
            )
        if problem.refused:
            words.append(f"not locally optimal are {_shown(_refusal(s, because) for s, because, _ in problem.refused)}")
            latex.append(
                r"\exists (i, t): \langle z_{it}, p_{mm}(\alpha) \rangle = 1,\ \gamma_{it} \ge \gamma_{i \alpha_i}"
            )
        if problem.enumeration is not None:
            listed = sorted(problem.enumeration.stated)
            said = _shown(map(_tuple, listed)) if listed else "none"
            total = counted(problem.enumeration.total, "selection")
            words.append(f"of all {total}, the locally optimal ones are {said}, and no others")
            latex.append(r"\{ \alpha \text{ locally optimal} \} = A")
        return Statement(f"For {problem.stated.words}: {'; '.join(words)}.", r",\qquad ".join(latex))

    def names(self, problem: Problem) -> list[str]:
        names = [f"optimal[{i}]" for i in range(len(problem.optimal or []))]
        for k in range(len(problem.accepted)):
            names += [*kkt_names(_accepted(k)), f"{_accepted(k)}.neighbours"]
        for k, (_, because, _) in enumerate(problem.refused):
            names += _refusal_names(_refused(k), because)
        return names + (problem.enumeration.names() if problem.enumeration is not None else [])

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        found = _optimal_obligations(problem)
        for k, (selection, multipliers) in enumerate(problem.accepted):
            if any(name.startswith(f"{_accepted(k)}.") for name in names):
                found += _acceptance(_accepted(k), selection, multipliers)
        for k, refusal in enumerate(problem.refused):
            if any(name.startswith(f"{_refused(k)}.") for name in names):
                found += _rejection(_refused(k), *refusal)
        if problem.enumeration is not None and any(name.startswith("all.") for name in names):
            found += problem.enumeration.obligations()
        return [obligation for obligation in found if obligation.name in names]


# -- obligations


def _accepted(k: int) -> str:
    return f"locally_optimal[{k}]"


def _refused(k: int) -> str:
    return f"not_locally_optimal[{k}]"


def _optimal_obligations(problem: Problem) -> list[Obligation]:
    if problem.optimal is None:
        return []
    best = best_tokens(problem.stated.tokens)
    return [
        at_most(
            f"optimal[{i}]",
            f"tokens of input {i} that are listed wrongly or left out",
            fmpq(len(set(stated) ^ set(true))),
            fmpq(0),
        )
        for i, (stated, true) in enumerate(zip(problem.optimal, best, strict=True))
    ]


def _acceptance(prefix: str, selection: Selection, multipliers: Mapping[int, fmpq]) -> list[Obligation]:
    """That p_mm is what the multipliers make it, and all its neighbours have smaller scores."""
    solution = hard_margin(selection.differences, multipliers)
    conditions = kkt_obligations(prefix, solution)
    name, sentence = f"{prefix}.neighbours", f"the smallest score gap of a neighbour of {_tuple(selection.indices)}"
    if _all_proved(conditions):
        return [*conditions, above(name, sentence, smallest_neighbour_gap(selection, solution), fmpq(0))]
    return [*conditions, unproved(name, sentence, "p_mm is not known")]


def _refusal_names(prefix: str, because: Pair | None) -> list[str]:
    if because is None:
        return [f"{prefix}.combination"]
    return [*kkt_names(prefix), f"{prefix}.tight", f"{prefix}.score"]


def _rejection(
    prefix: str, selection: Selection, because: Pair | None, multipliers: Mapping[int, fmpq]
) -> list[Obligation]:
    """That the stated token is a neighbour of no smaller score; or that no p satisfies the constraints."""
    zero = fmpq(0)
    if because is None:
        norm = combination_norm(selection.differences, multipliers)
        return [at_most(f"{prefix}.combination", "|sum mu z|^2", norm, zero, part=Part.WITNESS)]
    solution = hard_margin(selection.differences, multipliers)
    conditions = kkt_obligations(prefix, solution)
    j = selection.pairs.index(because)
    score = at_most(f"{prefix}.score", f"the score gap of token {because}", selection.gaps[j], zero)
    name, sentence = f"{prefix}.tight", f"the slack of token {because} at p_mm"
    if _all_proved(conditions):
        return [*conditions, at_most(name, sentence, solution.slacks[j], zero), score]
    return [*conditions, unproved(name, sentence, "p_mm is not known"), score]


def _all_proved(obligations: Sequence[Obligation]) -> bool:
    return all(obligation.outcome is Outcome.PROVED for obligation in obligations)


# -- words


def _tuple(indices: Sequence[int]) -> str:
    return f"({', '.join(map(str, indices))})"


def _set(tokens: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, sorted(tokens)))}}}"


def _refusal(selection: Selection, because: Pair | None) -> str:
    if because is None:
        return f"{_tuple(selection.indices)} (cannot be separated)"
    reason = f"token {because.token} of input {because.input} is a neighbour of no smaller score"
    return f"{_tuple(selection.indices)} ({reason})"


def _shown(items: Iterable[str]) -> str:
    said = list(items)
    more = f" and {len(said) - _SHOWN} more as stated" if len(said) > _SHOWN else ""
    return ", ".join(said[:_SHOWN]) + more


# -- reading


def _read_optimal(asserts: Values, stated: StatedTokens) -> list[list[int]] | None:
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


def _read_accepted(
    asserts: Values, witness: Values | None, stated: StatedTokens
) -> list[tuple[Selection, Mapping[int, fmpq]]]:
    listed = asserts.get(LOCALLY)
    if listed is None:
        return []
    node = asserts.node(LOCALLY)
    multipliers = _witnessed(SOLUTIONS, len(listed), witness, node)
    selections = [read_selection(stated, indices, node) for indices in listed]
    return [(s, read_multipliers(m, s)) for s, m in zip(selections, multipliers, strict=True)]


def _read_refused(asserts: Values, witness: Values | None, stated: StatedTokens) -> list[Refusal]:
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


CLAIM = TokenOptimality()
