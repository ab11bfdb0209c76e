"""Claim `max-margin`: the solution of a max-margin problem, exactly or up to a distance, or that it has none.

Given keys k_it and a chosen token alpha_i of every input, or labelled points, the problem is

    minimise |p|     subject to <k_{i alpha_i} - k_it, p> >= 1        for every i and every t != alpha_i,
    minimise |W|_F   subject to (k_{i alpha_i} - k_it)' W q_i >= 1    where queries q_i are given,
    minimise |v|     subject to Y_i x_i'v >= 1                        for points x_i with labels Y_i,

and in the first two, constraints of relaxed inputs are >= 0. A certificate asserts one of

    exactly   the solution, all constraints that hold with equality and by how much the others exceed, which
              multipliers are positive, bounds on the margin 1/|p|
    nearly    a direction p~ so that |p~/m - p| <= within for m = min <z_j, p~>, constraints that all those
              holding with equality are among, bounds on the margin
    none      the constraints contradict each other

The proofs are the conditions of Karush, Kuhn and Tucker, weak duality, and Farkas' lemma, over the rationals.
Ataee Tarzanagh, Li, Zhang and Oymak 2023, problems (Att-SVM), (W-SVM), (v-SVM) and the relaxed one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Outcome
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Choice, Field, Rational, Record, Values
from certattn.kernel.theorems.selection.kkt import MULTIPLIER
from certattn.kernel.theorems.selection.margin_assertions import (
    ExactSolution,
    MarginAssertion,
    MarginBounds,
    NearSolution,
    NoSolution,
)
from certattn.kernel.theorems.selection.margin_problems import (
    GIVEN,
    Constraints,
    MarginProblem,
    PointKind,
    read_point,
    read_problem,
    read_rows,
)
from certattn.kernel.theorems.selection.mathematics.contradiction import Contradiction
from certattn.kernel.theorems.selection.mathematics.margin_distance import MarginDistance
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin

AT_LEAST = Field("at_least", Rational(minimum=0), "1/|p| is at least this", required=False)
AT_MOST = Field("at_most", Rational(minimum=0), "1/|p| is at most this", required=False)

SOLUTION = Field("solution", PointKind(), "the solution, exactly", required=False)
NEIGHBOURS = Field("neighbours", Constraints(), "all constraints that hold with equality there", required=False)
SUPPORT = Field("support", Constraints(), "the constraints with positive multipliers", required=False)
DIRECTION = Field("direction", PointKind(), "p~, a direction near that of the solution", required=False)
WITHIN = Field("within", Rational(minimum=0), "the largest distance of p~/m from the solution", required=False)
AMONG = Field(
    "neighbours_among", Constraints(), "constraints among which are all that hold with equality", required=False
)
GAP = Field("gap", Rational(above=0), "by how much at least all other constraints hold", required=False)
MARGIN = Field("margin", Record(AT_LEAST, AT_MOST), "bounds on the margin", required=False)
CONTRADICTION = Field("constraints", Choice(("contradictory",)), "no point satisfies the constraints", required=False)

MULTIPLIERS = Field("multipliers", Constraints(MULTIPLIER), "multipliers of constraints, > 0", required=False)
WEIGHT = Field("weight", Rational(above=0), "its weight, > 0")
WEIGHTS = Field("weights", Constraints(WEIGHT), "weights of constraints that contradict each other", required=False)

_EXACTLY = (SOLUTION, NEIGHBOURS, SUPPORT, MARGIN)
_EXACT_FIELDS = (*_EXACTLY, GAP)
_NEAR_FIELDS = (DIRECTION, WITHIN, AMONG, GAP, MARGIN)


@dataclass(frozen=True)
class Problem:
    """A max-margin problem, and what is asserted of it."""

    given: MarginProblem
    assertion: MarginAssertion


class MaxMarginClaim(Claim[Problem]):
    name = "max-margin"
    title = "the solution of a max-margin problem of token selection, or that it has none"
    arithmetic = "exact rational arithmetic"
    given = GIVEN
    asserts = Record(SOLUTION, NEIGHBOURS, SUPPORT, DIRECTION, WITHIN, AMONG, GAP, MARGIN, CONTRADICTION)
    witness = Record(MULTIPLIERS, WEIGHTS)

    def read(self, certificate: Certificate) -> Problem:
        given = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        if asserts.get(CONTRADICTION) is not None:
            _only(asserts, (CONTRADICTION,))
            weights = self._witness(certificate, WEIGHTS, WEIGHT, given)
            return Problem(given, NoSolution(given, Contradiction(given.rows, given.levels, weights)))
        if DIRECTION in asserts or WITHIN in asserts:
            _only(asserts, _NEAR_FIELDS)
            multipliers = self._witness(certificate, MULTIPLIERS, MULTIPLIER, given)
            return Problem(given, _near(asserts, given, multipliers))
        _only(asserts, _EXACT_FIELDS)
        if not any(field in asserts for field in _EXACTLY):
            expected = "a solution, neighbours, support, a margin, a direction or contradictory constraints"
            raise asserts.at.malformed(expected, "nothing that is asserted")
        return Problem(given, _exact(asserts, given, self._witness(certificate, MULTIPLIERS, MULTIPLIER, given)))

    def read_given(self, certificate: Certificate) -> MarginProblem:
        """The section `given` alone. Raises MalformedError."""
        return read_problem(*GIVEN.read(certificate.given, certificate.reading))

    def _witness(
        self, certificate: Certificate, field: Field[list[Values]], number: Field[fmpq], given: MarginProblem
    ) -> dict[int, fmpq]:
        """The multipliers or weights of the witness, by row."""
        if certificate.witness is None:
            raise certificate.asserts.malformed(f"a witness with {field.name}, which this is proved with", "no witness")
        witness = self.witness.read(certificate.witness, certificate.reading)
        stated = witness.get(field)
        if stated is None:
            raise witness.at.malformed(f"{field.name}, which this is proved with", f"no {field.name!r}")
        rows = read_rows(stated, given)
        return {row: values[number] for row, values in zip(rows, stated, strict=True)}

    def statement(self, problem: Problem) -> Statement:
        return Statement(problem.assertion.words(), problem.assertion.latex())

    def names(self, problem: Problem) -> list[str]:
        return problem.assertion.names()

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        return [obligation for obligation in problem.assertion.prove() if obligation.name in names]

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        complete = [obligation.name for obligation in obligations] == self.names(problem)
        if complete and all(obligation.outcome is Outcome.PROVED for obligation in obligations):
            return problem.assertion.findings()
        return []


def _only(asserts: Values, fields: Sequence[Field[Any]]) -> None:
    """Refuse fields that belong to another form of the statement."""
    names = [field.name for field in fields]
    for name in MaxMarginClaim.asserts.fields:
        if name not in names and MaxMarginClaim.asserts.fields[name] in asserts:
            node = asserts.node(MaxMarginClaim.asserts.fields[name])
            raise node.malformed(f"only {', '.join(names)} beside each other", f"{name!r}")


def _exact(asserts: Values, given: MarginProblem, multipliers: dict[int, fmpq]) -> ExactSolution:
    stated = asserts.get(SOLUTION)
    neighbours = _rows(asserts, NEIGHBOURS, given)
    _require_others(asserts, NEIGHBOURS, neighbours, given)
    return ExactSolution(
        given,
        MaxMargin(given.rows, multipliers, given.levels),
        None if stated is None else read_point(stated, given),
        neighbours,
        _rows(asserts, SUPPORT, given),
        asserts.get(GAP),
        _margin(asserts),
    )


def _near(asserts: Values, given: MarginProblem, multipliers: dict[int, fmpq]) -> NearSolution:
    if DIRECTION not in asserts or WITHIN not in asserts:
        raise asserts.at.malformed("a direction, and within, its distance from the solution", "one of them alone")
    among = _rows(asserts, AMONG, given)
    _require_others(asserts, AMONG, among, given)
    direction = read_point(asserts[DIRECTION], given)
    distance = MarginDistance(given.rows, given.levels, direction, multipliers)
    return NearSolution(given, distance, asserts[WITHIN], among, asserts.get(GAP), _margin(asserts))


def _rows(asserts: Values, field: Field[list[Values]], given: MarginProblem) -> frozenset[int] | None:
    stated = asserts.get(field)
    return None if stated is None else frozenset(read_rows(stated, given))


def _require_others(
    asserts: Values, field: Field[list[Values]], rows: frozenset[int] | None, given: MarginProblem
) -> None:
    """A gap is about the constraints that are not listed: there must be some."""
    if GAP not in asserts:
        return
    if rows is None:
        raise asserts.node(GAP).malformed(f"{field.name} beside it: the constraints that it is not about", "none")
    if len(rows) == given.rows.rows:
        raise asserts.node(GAP).malformed("a constraint that is not listed, which it could be about", "none")


def _margin(asserts: Values) -> MarginBounds:
    stated = asserts.get(MARGIN)
    if stated is None:
        return MarginBounds()
    if AT_LEAST not in stated and AT_MOST not in stated:
        raise stated.at.malformed("at_least or at_most", "nothing that is asserted")
    return MarginBounds(stated.get(AT_LEAST), stated.get(AT_MOST))


CLAIM = MaxMarginClaim()
