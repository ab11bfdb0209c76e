"""Locally optimal selections of tokens, by multipliers and by going through all selections: `token-optimality`.

All of it is exact. Multipliers stand in the proof only: of the rows that determine p_mm, or of a combination that is 0.
Where the witness names the rows alone, Coq is given the multipliers that go with them. Which selections no cut covers
is found by Coq itself, so that none can be left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from flint import fmpq, fmpz

from certattn.coq.instance import COMPUTED, Conjunct, Instance, NotExportableError, cost_of
from certattn.coq.terms import (
    Constant,
    Hint,
    IndexLists,
    Indices,
    Pairs,
    Parts,
    Row,
    entry,
    integer,
    listed,
    natural,
    positive,
)
from certattn.coq.token_inputs import keys_term, whole
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.kernel.theorems.selection.stated_tokens import KEYS, QUERIES, VALUE_DIRECTION, StatedTokens, read_labels
from certattn.kernel.theorems.selection.token_optimality import (
    THEOREM,
    Cut,
    Enumeration,
    OptimalityStatement,
    Refusal,
    supported_point,
    uncut_selections,
)

# Measured: see docs/coq.md. A product of two numbers of some forty bits.
_SECONDS_PRODUCT = 1e-5

# For each input the multipliers of some of its tokens; inputs at the end may be left out.
Terms = list[list[tuple[int, fmpq]]]


@dataclass(frozen=True)
class _Tokens:
    """The inputs with their scores: the arguments of statements over the reals, and of checks over integers."""

    scores: str
    reals: str
    lists: str
    integers: str
    rewriting: str
    constants: list[Constant]
    shapes: list[Conjunct]

    def conjunct(self, statement: str, theorem: str, rest: str) -> Conjunct:
        """By a theorem about these integers."""
        return Conjunct(statement, f"{self.rewriting} apply ({theorem} {self.integers} {rest}). {COMPUTED}")


@dataclass(frozen=True)
class _Part:
    """One of the assertions, and how many selections are gone through for it."""

    constants: list[Constant]
    conjuncts: list[Conjunct]
    selections: int = 0


def token_optimality_instance(certificate: Certificate, *, fast: bool) -> Instance:
    """The whole statement."""
    problem = THEOREM.read(certificate)
    tokens = _tokens(problem.stated)
    parts = list(_parts(problem, tokens))
    constants = [*tokens.constants, *(constant for part in parts for constant in part.constants)]
    entries = sum(problem.stated.tokens.lengths) * problem.stated.tokens.dimension
    seconds = sum(part.selections for part in parts) * entries * _SECONDS_PRODUCT
    return Instance(
        ["Digits", "Statements", "Integers", "Rows", "Margin", "Selections"],
        constants,
        [*tokens.shapes, *(conjunct for part in parts for conjunct in part.conjuncts)],
        cost_of(constants, seconds),
        fast=fast,
        preparation=(
            f"assert (paired : sizes counts {tokens.lists} = true). {{ {COMPUTED} }}\napply sizes_paired in paired."
        ),
    )


def _parts(problem: OptimalityStatement, tokens: _Tokens) -> Iterator[_Part]:
    if problem.optimal is not None:
        yield _optimal(problem.optimal, tokens)
    if problem.accepted:
        yield _accepted(problem.accepted, tokens)
    if problem.refused:
        yield _refused(problem.refused, tokens)
    if problem.enumeration is not None:
        yield _enumerated(problem.enumeration, tokens)


# -- what is given


def _tokens(stated: StatedTokens) -> _Tokens:
    if QUERIES in stated.given:
        raise NotExportableError("queries beside scores have no form in Coq here; keys with scores, and tokens, have")
    tokens, keys, given = stated.tokens, keys_term(stated), stated.given
    constants: list[Constant] = [*keys.constants, Indices("counts", tokens.lengths)]
    shapes, rewriting = list(keys.shapes), keys.rewriting
    if KEYS in given:
        assert tokens.scores is not None
        scores = Parts("scores", ExactMatrix.row_vector(tokens.scores), tokens.lengths)
        constants.append(scores)
        term, denominator, lists = scores.term, "scores_den", "scores"
    else:
        v, labels = Row("v", given[VALUE_DIRECTION].load()), whole("labels", read_labels(given, tokens.count))
        constants += [v, labels]
        term = f"(label_scores {labels.term} {v.term} {keys.stated.term})"
        denominator, lists = "(v_den * tokens_den)", "(label_scoresZ labels v tokens)"
        rewriting = f"rewrite label_scores_mat. {rewriting}".rstrip()
        size = natural(stated.rows.columns)
        proof = f"rewrite length_vec. vm_cast_no_check (eq_refl {size})."
        shapes.append(Conjunct(f"length {v.term} = {size}", proof))
    dimension, pair = natural(tokens.dimension), f"{keys.integers} {lists}"
    scored = f"{rewriting} apply scored_sound. {COMPUTED}"
    shapes.append(Conjunct(f"scored {dimension} counts {keys.term} {term}", scored))
    numbers = f"{dimension} {keys.denominator} {denominator} {pair}"
    return _Tokens(term, f"{dimension} {keys.term} {term}", pair, numbers, rewriting, constants, shapes)


# -- what is asserted


def _optimal(best: Sequence[Sequence[int]], tokens: _Tokens) -> _Part:
    statement = f"Forall2 best_tokens optimal {tokens.scores}"
    proof = f"{tokens.rewriting} apply optimal_sound. {COMPUTED}"
    return _Part([IndexLists("optimal", best)], [Conjunct(statement, proof)])


def _accepted(accepted: Sequence[tuple[Selection, MaxMargin]], tokens: _Tokens) -> _Part:
    constants: list[Constant] = [
        IndexLists("accepted", [selection.indices for selection, _ in accepted]),
        _proofs("accepted_proofs", [_terms(selection, point.multipliers) for selection, point in accepted]),
    ]
    statement = f"Forall (locally_optimal {tokens.reals}) accepted"
    return _Part(
        constants, [tokens.conjunct(statement, "accepted_sound", "paired accepted accepted_proofs")], len(accepted)
    )


def _refused(refused: Sequence[Refusal], tokens: _Tokens) -> _Part:
    constants: list[Constant] = [
        IndexLists("refused", [selection.indices for selection, _, _ in refused]),
        Pairs("reasons", [None if pair is None else (pair.input, pair.token) for _, pair, _ in refused]),
        _proofs("refused_proofs", [_terms(selection, point.multipliers) for selection, _, point in refused]),
    ]
    statement = f"Forall2 (not_locally_optimal {tokens.reals}) refused reasons"
    return _Part(
        constants, [tokens.conjunct(statement, "refused_sound", "refused reasons refused_proofs")], len(refused)
    )


def _enumerated(enumeration: Enumeration, tokens: _Tokens) -> _Part:
    """Of a support that determines no point nothing is left but an empty proof, which Coq does not accept."""
    rest = list(uncut_selections(enumeration.tokens.lengths, enumeration.cuts))
    proofs = [
        _support_terms(Selection(enumeration.tokens, rest[k]), support) if k < len(rest) else []
        for k, support in enumerate(enumeration.supports)
    ]
    constants: list[Constant] = [
        IndexLists("all", sorted(enumeration.stated)),
        _cuts("cuts", enumeration.cuts),
        _proofs("proofs", proofs),
    ]
    statement = f"(forall alphas, locally_optimal {tokens.reals} alphas <-> In alphas all)"
    total = integer(prod(enumeration.tokens.lengths))
    return _Part(
        constants,
        [
            Conjunct(f"selections counts = {total}", f"vm_cast_no_check (eq_refl {total})."),
            tokens.conjunct(statement, "enumerated_sound", "paired cuts proofs all"),
        ],
        len(rest),
    )


# -- hints: lists of terms, integers over one denominator


def _terms(selection: Selection, multipliers: Mapping[int, fmpq]) -> Terms:
    """Of multipliers by the position of their pair."""
    found: Terms = [[] for _ in selection.indices]
    for j, value in sorted(multipliers.items()):
        pair = selection.pairs[j]
        found[pair.input].append((pair.token, value))
    return found


def _support_terms(selection: Selection, support: Sequence[int]) -> Terms:
    """The multipliers that make the rows of a support tight; none where these rows determine no point."""
    solution = supported_point(selection, support)
    return [] if solution is None else _terms(selection, solution.multipliers)


def _proofs(name: str, proofs: Sequence[Terms]) -> Hint:
    """Terms with the denominator of their multipliers."""
    written = []
    for terms in proofs:
        denominator = _denominator(terms)
        inputs = listed(_written(each, denominator) for each in terms)
        written.append(f"({inputs}, {positive(denominator)})")
    return Hint(name, "proof", written)


def _cuts(name: str, cuts: Sequence[Cut]) -> Hint:
    """Chosen tokens with terms, or None, of the inputs up to the last that a cut is about."""
    written = []
    for cut in cuts:
        chosen = cut.chosen
        terms: Terms = [[] for _ in range(max(chosen) + 1)]
        for term in cut.terms:
            terms[term.input].append((term.other, term.multiplier))
        denominator = _denominator(terms)
        inputs = [
            f"Some ({natural(chosen[i])}, {_written(each, denominator)})" if i in chosen else "None"
            for i, each in enumerate(terms)
        ]
        written.append(listed(inputs))
    return Hint(name, "combo", written)


def _denominator(terms: Terms) -> fmpz:
    common = fmpz(1)
    for each in terms:
        for _, multiplier in each:
            common = common.lcm(multiplier.q)
    return common


def _written(terms: Iterable[tuple[int, fmpq]], denominator: fmpz) -> str:
    return listed(f"({natural(token)}, {entry((multiplier * denominator).p)})" for token, multiplier in terms)
