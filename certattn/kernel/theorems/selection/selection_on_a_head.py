"""Claim `selection-on-a-head`: which token a head selects at each query, how clearly, and what could be selected.

Given a prompt (keys k_t and values v_t, or tokens with K, Q, V or U, V), queries z_i, a scale s and on request
scores of the tokens (<v, v_t> for a direction v, or |v_t|^2), put with M = Q, U or the identity

    l_it = s <k_t, M z_i>,     p_it = e^{l_it} / sum_r e^{l_ir},

where t and r run over the tokens that query i sees: all of them, or with `causal: c` the first c + i. A certificate
asserts, for every listed query i,

    selected       l_it is largest at the stated token t = alpha_i, and at no other
    margin         at_least <= min_{t != alpha_i} (l_{i alpha_i} - l_it) <= at_most
    weight         at_least <= p_{i alpha_i} <= at_most
    rank           so many of the seen tokens have a larger score than alpha_i
    best           the stated token has a larger score than every other seen token

and of the keys, with the largest margin Xi of `chosen_tokens`,

    separability   at_least <= Xi <= at_most for one matrix W in the place of M that is to select at all queries the
                   selected tokens, or the best ones; Xi = 0 says that no matrix does
    exposure       at_least <= Xi <= at_most for a vector that is to select one token among all: the distance of its
                   key from the convex hull of the others; 0 says that no query of a head with these keys selects it

Ataee Tarzanagh, Li, Zhang and Oymak 2023: token selection, problem (Att-SVM) over W and over p.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flint import arb, fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Part, above, at_least, at_most, identical, show, unproved
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Values
from certattn.kernel.mathematics.balls import ARB, scale_ball
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.head_assertions import (
    ASSERTS,
    BEST,
    BITS,
    MARGIN,
    RANK,
    SELECTED,
    WEIGHT,
    WITNESS,
    StatedMargin,
)
from certattn.kernel.theorems.selection.head_problem import GIVEN, Head, Problem, read_head, read_problem
from certattn.kernel.theorems.selection.head_words import latex, margin_words, words

_LOWER, _UPPER = "at_least", "at_most"


class SelectionOnAHead(Claim[Problem]):
    name = "selection-on-a-head"
    title = "which token a head selects at each query, how clearly, and which tokens could be selected"
    arithmetic = ARB
    given = GIVEN
    asserts = ASSERTS
    witness = WITNESS

    def read(self, certificate: Certificate) -> Problem:
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        return read_problem(self.read_given(certificate), asserts, self._witness(certificate))

    def read_given(self, certificate: Certificate) -> Head:
        """The section `given` alone. Raises MalformedError."""
        return read_head(certificate)

    def _witness(self, certificate: Certificate) -> Values | None:
        if certificate.witness is None:
            return None
        return self.witness.read(certificate.witness, certificate.reading)

    def first_bits(self, certificate: Certificate) -> int | None:
        witness = self._witness(certificate)
        return witness.get(BITS) if witness is not None else None

    def statement(self, problem: Problem) -> Statement:
        return Statement(words(problem), latex(problem))

    def names(self, problem: Problem) -> list[str]:
        kinds = [SELECTED.name]
        for name, stated in problem.ranges.items():
            kinds += _ends(name, stated.lower, stated.upper)
        kinds += [RANK.name] * (problem.rank is not None) + [BEST.name] * (problem.best is not None)
        found = [f"{kind}[{i}]" for kind in kinds for i in range(problem.head.prompt.count)]
        for of, margin in problem.largest.items():
            found += _ends(_named(of), margin.lower, margin.upper)
        return found

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        wanted = frozenset(names)
        found: list[Obligation] = []
        for i in range(problem.head.prompt.count):
            found += [
                *_selected(problem, i, wanted),
                *_in_range(problem, i, wanted, bits),
                *_scored(problem, i, wanted),
            ]
        for of, stated in problem.largest.items():
            found += _of_margin(problem, of, stated, wanted, bits)
        return found

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        lines = []
        for name, what in ((MARGIN.name, "margin"), (WEIGHT.name, "weight")):
            kind = f"{name}.{_LOWER}["
            sides = [(o.left, o.name) for o in obligations if o.name.startswith(kind)]
            found = [(left, place) for left, place in sides if isinstance(left, arb | fmpq)]
            if found:
                left, place = min(found, key=lambda pair: arb(pair[0]).mid())
                lines.append(f"smallest {what} of a selected token: {show(left)} at query {place[len(kind) : -1]}")
        if problem.rank is not None:
            count = problem.head.prompt.count
            first = sum(rank == 0 for rank in problem.rank)
            last = sum(rank + 1 == seen for rank, seen in zip(problem.rank, problem.head.seen, strict=True))
            lines.append(f"of {count} selected tokens {first} have the largest score, {last} score below every other")
        return lines


def _ends(name: str, lower: object | None, upper: object | None) -> list[str]:
    """The names of the obligations of a range."""
    return [f"{name}.{_LOWER}"] * (lower is not None) + [f"{name}.{_UPPER}"] * (upper is not None)


def _named(of: str | int) -> str:
    """The first part of the names of obligations about a largest margin."""
    return f"exposure[{of}]" if isinstance(of, int) else f"separability.{of}"


# -- obligations at a query


def _selected(problem: Problem, i: int, wanted: frozenset[str]) -> list[Obligation]:
    """That no other logit is as large: exactly, as the scale is left out."""
    if (name := f"{SELECTED.name}[{i}]") not in wanted:
        return []
    sentence = f"the smallest gap of token {problem.selected[i]} at query {i}, its logit less another, over |scale|"
    return [above(name, sentence, problem.gaps.smallest_of(i), fmpq(0))]


def _in_range(problem: Problem, i: int, wanted: frozenset[str], bits: int) -> list[Obligation]:
    """The margin and the softmax weight of the selected token."""
    found: list[Obligation] = []
    for kind, stated in problem.ranges.items():
        lower, upper = f"{kind}.{_LOWER}[{i}]", f"{kind}.{_UPPER}[{i}]"
        if not {lower, upper} & wanted:
            continue
        value = problem.margin(i) if kind == MARGIN.name else _weight(problem, i)
        sentence = f"the {_NOUNS[kind]} of token {problem.selected[i]} at query {i}"
        if stated.lower is not None and lower in wanted:
            bound = stated.lower.at(i)
            if kind == WEIGHT.name and bound >= 1:
                found.append(at_most(lower, f"1 less {sentence}", _others(problem, i), 1 - bound, bits))
            else:
                found.append(at_least(lower, sentence, value, bound, bits))
        if stated.upper is not None and upper in wanted:
            bound = stated.upper.at(i)
            if kind == WEIGHT.name and bound >= 1:
                found.append(at_least(upper, f"1 less {sentence}", _others(problem, i), 1 - bound, bits))
            else:
                found.append(at_most(upper, sentence, value, bound, bits))
    return found


_NOUNS = {MARGIN.name: "margin", WEIGHT.name: "softmax weight"}


def _weight(problem: Problem, i: int) -> arb:
    return problem.gaps.weight(i, abs(scale_ball(problem.head.prompt.scale)))


def _others(problem: Problem, i: int) -> arb:
    """1 - weight: a weight is below 1, however close."""
    return problem.gaps.other_weight(i, abs(scale_ball(problem.head.prompt.scale)))


def _scored(problem: Problem, i: int, wanted: frozenset[str]) -> list[Obligation]:
    """How the selected token compares by score, and which token is the best: exactly."""
    found = []
    if problem.rank is not None and (name := f"{RANK.name}[{i}]") in wanted:
        sentence = f"how many tokens score higher than token {problem.selected[i]} at query {i}"
        better, stated = (ExactMatrix.row_vector([fmpq(n)]) for n in (problem.better(i), problem.rank[i]))
        found.append(identical(name, sentence, better, stated))
    if problem.best is not None and (name := f"{BEST.name}[{i}]") in wanted:
        best = problem.best[i]
        sentence = f"by how much token {best} scores higher than every other that query {i} sees"
        found.append(above(name, sentence, problem.lead(i, best), fmpq(0)))
    return found


# -- obligations about largest margins


def _of_margin(
    problem: Problem, of: str | int, stated: StatedMargin, wanted: frozenset[str], bits: int
) -> list[Obligation]:
    """The wanted obligations about a largest margin: its bounds from below and above, by weak duality."""
    found: list[Obligation] = []
    lower, upper = f"{_named(of)}.{_LOWER}", f"{_named(of)}.{_UPPER}"
    what, part = margin_words(of), Part.WITNESS
    if stated.lower is not None and lower in wanted:
        matrix = stated.matrix if stated.matrix is not None or isinstance(of, int) else problem.head.own_map
        sentence = f"a lower bound of {what}"
        if matrix is None:
            found.append(unproved(lower, sentence, "the witness has no direction for it"))
        else:
            value = problem.chosen_as(of).from_matrix(matrix)
            found.append(at_least(lower, sentence, value, stated.lower, bits, part=part))
    if stated.upper is not None and upper in wanted:
        sentence = f"an upper bound of {what}"
        if not stated.multipliers:
            found.append(unproved(upper, sentence, "the witness has no multipliers for it"))
        else:
            value = problem.chosen_as(of).from_multipliers(stated.multipliers)
            found.append(at_most(upper, sentence, value, stated.upper, bits, part=part))
    return found


CLAIM = SelectionOnAHead()
