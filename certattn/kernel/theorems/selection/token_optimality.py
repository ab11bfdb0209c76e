"""Claim `token-optimality`: which tokens are the best ones, and which selections attention can settle on.

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

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Outcome, Part, above, at_most, unproved
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Record
from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.token_selection import Pair, Selection, best_tokens
from certattn.kernel.theorems.selection.kkt import kkt_names, kkt_obligations
from certattn.kernel.theorems.selection.mathematics.contradiction import Contradiction
from certattn.kernel.theorems.selection.mathematics.local_optimality import smallest_neighbour_gap
from certattn.kernel.theorems.selection.mathematics.max_margin import hard_margin
from certattn.kernel.theorems.selection.optimality_assertions import (
    ALL,
    LOCALLY,
    NOT_LOCALLY,
    OPTIMAL,
    REASONS,
    SOLUTIONS,
    Refusal,
    read_accepted,
    read_all,
    read_optimal,
    read_refused,
)
from certattn.kernel.theorems.selection.selection_enumeration import CUTS, SUPPORTS, Enumeration
from certattn.kernel.theorems.selection.selection_inputs import (
    StatedTokens,
    read_tokens,
    scored_token_forms,
)

GIVEN = scored_token_forms()

_SHOWN = 20


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
            read_optimal(asserts, stated),
            read_accepted(asserts, witness, stated),
            read_refused(asserts, witness, stated),
            read_all(asserts, witness, stated),
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
        rows = selection.differences
        largest = Contradiction(rows, (fmpq(1),) * rows.rows, multipliers).largest_entry
        sentence = "the largest |entry| of sum mu z"
        return [at_most(f"{prefix}.combination", sentence, largest, zero, part=Part.WITNESS)]
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


CLAIM = TokenOptimality()
