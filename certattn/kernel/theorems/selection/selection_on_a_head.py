"""Theorem `selection-on-a-head`: which token a head selects at each query, how clearly, and what could be selected.

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

from collections.abc import Callable, Iterator
from functools import cache

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoProof, Obligation, Part
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.head_assertions import (
    ASSERTS,
    BEST,
    MARGIN,
    RANK,
    SELECTED,
    WEIGHT,
    WITNESS,
    StatedMargin,
)
from certattn.kernel.theorems.selection.head_problem import GIVEN, HeadStatement, read_head, read_problem

LOWER, UPPER = "at_least", "at_most"


def read(certificate: Certificate) -> HeadStatement:
    """Raises MalformedError."""
    asserts, hint = ASSERTS.read(certificate.asserts, certificate.reading), certificate.witness
    head = read_head(certificate)
    return read_problem(head, asserts, WITNESS.read(hint, certificate.reading) if hint is not None else None)


def obligations(stated: HeadStatement) -> Iterator[Obligation | NoProof]:
    queries = range(stated.head.prompt.count)
    for i in queries:
        yield _selected(stated, i)
    for kind, bounds in stated.ranges.items():
        if bounds.lower is not None:
            yield from (_from_below(stated, kind, bounds.lower.at(i), i) for i in queries)
        if bounds.upper is not None:
            yield from (_from_above(stated, kind, bounds.upper.at(i), i) for i in queries)
    if stated.rank is not None:
        yield from (_ranked(stated, stated.rank[i], i) for i in queries)
    if stated.best is not None:
        yield from (_best(stated, stated.best[i], i) for i in queries)
    for of, margin in stated.largest.items():
        yield from _largest(stated, of, margin)


# -- at a query


def _selected(stated: HeadStatement, i: int) -> Obligation:
    """That no other logit is as large: exactly, as the scale is left out."""
    return Obligation(f"{SELECTED.name}[{i}]", lambda: stated.gaps.smallest_of(i), ">", fmpq(0))


def _from_below(stated: HeadStatement, kind: str, bound: fmpq, i: int) -> Obligation:
    """A bound of the margin or of the softmax weight of the selected token."""
    name = f"{kind}.{LOWER}[{i}]"
    if compares_others(kind, bound):
        return Obligation(name, lambda: stated.other_weight(i), "<=", 1 - bound)
    return Obligation(name, _number(stated, kind, i), ">=", bound)


def _from_above(stated: HeadStatement, kind: str, bound: fmpq, i: int) -> Obligation:
    name = f"{kind}.{UPPER}[{i}]"
    if compares_others(kind, bound):
        return Obligation(name, lambda: stated.other_weight(i), ">=", 1 - bound)
    return Obligation(name, _number(stated, kind, i), "<=", bound)


def compares_others(kind: str, bound: fmpq) -> bool:
    """Whether it is the other tokens' weight that is compared: no precision tells a weight near 1 from 1."""
    return kind == WEIGHT.name and bool(bound >= 1)


def _number(stated: HeadStatement, kind: str, i: int) -> Callable[[], arb | fmpq]:
    return (lambda: stated.margin(i)) if kind == MARGIN.name else (lambda: stated.weight(i))


def _ranked(stated: HeadStatement, rank: int, i: int) -> Obligation:
    """How the selected token compares by score."""
    better = lambda: ExactMatrix.row_vector([fmpq(stated.better(i))])  # noqa: E731
    return Obligation(f"{RANK.name}[{i}]", better, "=", ExactMatrix.row_vector([fmpq(rank)]))


def _best(stated: HeadStatement, token: int, i: int) -> Obligation:
    """Which token is the best."""
    return Obligation(f"{BEST.name}[{i}]", lambda: stated.lead(i, token), ">", fmpq(0))


# -- about largest margins


def _largest(stated: HeadStatement, of: str | int, margin: StatedMargin) -> Iterator[Obligation | NoProof]:
    """The bounds of a largest margin from below and above, by weak duality."""
    named, part = f"exposure[{of}]" if isinstance(of, int) else f"separability.{of}", Part.WITNESS
    lower, upper = f"{named}.{LOWER}", f"{named}.{UPPER}"
    chosen = cache(lambda: stated.chosen_as(of))
    if margin.lower is not None:
        matrix = margin.matrix if margin.matrix is not None or isinstance(of, int) else stated.head.own_map
        if matrix is None:
            yield NoProof(lower, "the witness has no direction for it")
        else:
            yield Obligation(lower, lambda: chosen().from_matrix(matrix), ">=", margin.lower, part)
    if margin.upper is not None:
        if not margin.multipliers:
            yield NoProof(upper, "the witness has no multipliers for it")
        else:
            yield Obligation(upper, lambda: chosen().from_multipliers(margin.multipliers), "<=", margin.upper, part)


THEOREM = Theorem(
    name="selection-on-a-head",
    title="which token a head selects at each query, how clearly, and which tokens could be selected",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
