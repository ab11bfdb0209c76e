"""Theorem `max-margin`: the solution of a max-margin problem, exactly or up to a distance, or that it has none.

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

The proofs are the conditions of Karush, Kuhn and Tucker, weak duality, and Farkas' lemma, over the rationals: see
`mathematics.max_margin`, `mathematics.margin_distance` and `mathematics.contradiction`. Bounds on 1/|p| are compared as
squares. Ataee Tarzanagh, Li, Zhang and Oymak 2023, problems (Att-SVM), (W-SVM), (v-SVM) and the relaxed one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Relation
from certattn.kernel.decide.theorem import EXACT, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Choice, Field, Rational, Record, Values, some_of
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.kkt import MULTIPLIER, kkt_names, optimal
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
MARGIN = Field(
    "margin", Record(AT_LEAST, AT_MOST, rules=[some_of(AT_LEAST, AT_MOST)]), "bounds on the margin", required=False
)
CONTRADICTION = Field("constraints", Choice(("contradictory",)), "no point satisfies the constraints", required=False)

MULTIPLIERS = Field("multipliers", Constraints(MULTIPLIER), "multipliers of constraints, > 0", required=False)
WEIGHT = Field("weight", Rational(above=0), "its weight, > 0")
WEIGHTS = Field("weights", Constraints(WEIGHT), "weights of constraints that contradict each other", required=False)

_EXACTLY = (SOLUTION, NEIGHBOURS, SUPPORT, MARGIN)


def _one_form(asserts: Values) -> None:
    """Refuse fields that belong to another form of the statement, and a form of which nothing is there."""
    if CONTRADICTION in asserts:
        _only(asserts, (CONTRADICTION,))
    elif DIRECTION in asserts or WITHIN in asserts:
        _only(asserts, (DIRECTION, WITHIN, AMONG, GAP, MARGIN))
    else:
        _only(asserts, (*_EXACTLY, GAP))
        if not any(field in asserts for field in _EXACTLY):
            expected = "a solution, neighbours, support, a margin, a direction or contradictory constraints"
            raise asserts.at.malformed(expected, "nothing that is asserted")


def _only(asserts: Values, fields: Sequence[Field[Any]]) -> None:
    for field in _FIELDS:
        if field in asserts and field not in fields:
            names = ", ".join(each.name for each in fields)
            raise asserts.node(field).malformed(f"only {names} beside each other", f"{field.name!r}")


_FIELDS: tuple[Field[Any], ...] = (
    SOLUTION, NEIGHBOURS, SUPPORT, DIRECTION, WITHIN, AMONG, GAP, MARGIN, CONTRADICTION,
)  # fmt: skip
ASSERTS = Record(*_FIELDS, rules=[_one_form])
WITNESS = Record(MULTIPLIERS, WEIGHTS)


# -- what is stated


@dataclass(frozen=True)
class MarginBounds:
    """Bounds on the margin 1/|p|; None where none is stated."""

    at_least: fmpq | None = None
    at_most: fmpq | None = None


@dataclass(frozen=True)
class ExactSolution:
    """The solution p, exactly: the point itself, its tight constraints, its multipliers, its margin.

    `solved` is the point of the witness's multipliers.
    """

    problem: MarginProblem
    solved: MaxMargin
    point: ExactMatrix | None
    neighbours: frozenset[int] | None
    support: frozenset[int] | None
    gap: fmpq | None
    margin: MarginBounds

    @cached_property
    def unique(self) -> bool:
        """Whether the rows of the tight constraints are linearly independent: then multipliers are unique."""
        tight = self.solved.tight
        return self.problem.rows.take_rows(tight).numerators.rank() == len(tight)


@dataclass(frozen=True)
class NearSolution:
    """A direction p~ so that p~ / m is within a radius of the solution; its tight constraints are among some."""

    problem: MarginProblem
    distance: MarginDistance
    radius: fmpq
    among: frozenset[int] | None
    gap: fmpq | None
    margin: MarginBounds


@dataclass(frozen=True)
class NoSolution:
    """No point satisfies the constraints."""

    problem: MarginProblem
    contradiction: Contradiction


MarginStatement = ExactSolution | NearSolution | NoSolution


def read(certificate: Certificate) -> MarginStatement:
    """The problem, and what is asserted of it. Raises MalformedError."""
    problem = read_problem(*GIVEN.read(certificate.given, certificate.reading))
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if asserts.get(CONTRADICTION) is not None:
        weights = _witness(certificate, WEIGHTS, WEIGHT, problem)
        return NoSolution(problem, Contradiction(problem.rows, problem.levels, weights))
    multipliers = _witness(certificate, MULTIPLIERS, MULTIPLIER, problem)
    if DIRECTION in asserts or WITHIN in asserts:
        return _near(asserts, problem, multipliers)
    return _exact(asserts, problem, multipliers)


def _witness(
    certificate: Certificate, field: Field[list[Values]], number: Field[fmpq], problem: MarginProblem
) -> dict[int, fmpq]:
    """The multipliers or weights of the witness, by row."""
    if certificate.witness is None:
        raise certificate.asserts.malformed(f"a witness with {field.name}, which this is proved with", "no witness")
    witness = WITNESS.read(certificate.witness, certificate.reading)
    stated = witness.get(field)
    if stated is None:
        raise witness.at.malformed(f"{field.name}, which this is proved with", f"no {field.name!r}")
    rows = read_rows(stated, problem)
    return {row: values[number] for row, values in zip(rows, stated, strict=True)}


def _exact(asserts: Values, problem: MarginProblem, multipliers: dict[int, fmpq]) -> ExactSolution:
    stated = asserts.get(SOLUTION)
    neighbours = _listed(asserts, NEIGHBOURS, problem)
    return ExactSolution(
        problem,
        MaxMargin(problem.rows, multipliers, problem.levels),
        None if stated is None else read_point(stated, problem),
        neighbours,
        _rows(asserts, SUPPORT, problem),
        asserts.get(GAP),
        _margin(asserts),
    )


def _near(asserts: Values, problem: MarginProblem, multipliers: dict[int, fmpq]) -> NearSolution:
    if DIRECTION not in asserts or WITHIN not in asserts:
        raise asserts.at.malformed("a direction, and within, its distance from the solution", "one of them alone")
    among = _listed(asserts, AMONG, problem)
    direction = read_point(asserts[DIRECTION], problem)
    distance = MarginDistance(problem.rows, problem.levels, direction, multipliers)
    return NearSolution(problem, distance, asserts[WITHIN], among, asserts.get(GAP), _margin(asserts))


def _rows(asserts: Values, field: Field[list[Values]], problem: MarginProblem) -> frozenset[int] | None:
    stated = asserts.get(field)
    return None if stated is None else frozenset(read_rows(stated, problem))


def _listed(asserts: Values, field: Field[list[Values]], problem: MarginProblem) -> frozenset[int] | None:
    """The constraints that are listed. A gap is about those that are not: there must be some."""
    rows = _rows(asserts, field, problem)
    if GAP in asserts:
        if rows is None:
            raise asserts.node(GAP).malformed(f"{field.name} beside it: the constraints that it is not about", "none")
        if len(rows) == problem.rows.rows:
            raise asserts.node(GAP).malformed("a constraint that is not listed, which it could be about", "none")
    return rows


def _margin(asserts: Values) -> MarginBounds:
    stated = asserts.get(MARGIN)
    return MarginBounds() if stated is None else MarginBounds(stated.get(AT_LEAST), stated.get(AT_MOST))


# -- what proves it

_ZERO = fmpq(0)
_KKT = kkt_names("optimality")


def obligations(stated: MarginStatement) -> Iterator[Obligation]:
    if isinstance(stated, NoSolution):
        return _contradictory(stated.contradiction)
    return _nearly(stated) if isinstance(stated, NearSolution) else _exactly(stated)


def _exactly(stated: ExactSolution) -> Iterator[Obligation]:
    """What is false of the point of the multipliers is false of the solution only where it is the solution."""
    solved, tight, needs = stated.solved, stated.neighbours, _KKT
    yield from optimal("optimality", lambda: solved)
    if stated.point is not None:
        yield Obligation("solution", stated.point, "=", lambda: solved.solution, needs=needs)
    if tight is not None:
        yield Obligation("neighbours.tight", lambda: max(solved.slacks[j] for j in tight), "<=", _ZERO, needs=needs)
        others = _others(stated.problem, tight)
        if others:
            relation, least = _by(stated.gap)
            smallest = lambda: min(solved.slacks[j] for j in others)  # noqa: E731
            yield Obligation("neighbours.others", smallest, relation, least, needs=needs)
    if stated.support is not None:
        different = fmpq(len(stated.support ^ set(solved.multipliers)))
        # Other multipliers than the witness's may exist, unless they are unique.
        part = Part.STATEMENT if stated.unique else Part.WITNESS
        yield Obligation("support", different, "<=", _ZERO, part, needs)
    yield from _bounds(stated.margin, lambda: (solved.norm_squared, solved.norm_squared), Part.STATEMENT, needs)


def _nearly(stated: NearSolution) -> Iterator[Obligation]:
    """That p~ is feasible is stated; what is false of the bounds need not be false of the solution."""
    near, part, needs = stated.distance, Part.WITNESS, ["direction.margin"]
    yield Obligation("direction.margin", lambda: near.margin, ">", _ZERO)
    if near.smallest_relaxed is not None:
        yield Obligation("direction.relaxed", near.smallest_relaxed, ">=", _ZERO)
        needs.append("direction.relaxed")
    yield Obligation("optimality.multipliers", min(near.multipliers.values()), ">=", _ZERO, part, needs)
    yield Obligation("within", lambda: near.distance_squared, "<=", stated.radius**2, part, needs)
    others = [] if stated.among is None else _others(stated.problem, stated.among)
    if others:
        relation, gap = _by(stated.gap)
        room = lambda: min(near.looseness(j, gap, stated.radius) for j in others)  # noqa: E731
        yield Obligation("neighbours.others", room, relation, _ZERO, part, needs)
    yield from _bounds(stated.margin, lambda: (near.dual_value, near.norm_squared), part, needs)


def _contradictory(stated: Contradiction) -> Iterator[Obligation]:
    part = Part.WITNESS
    yield Obligation("weights", lambda: stated.smallest_weight, ">=", _ZERO, part)
    yield Obligation("combination", lambda: stated.largest_entry, "<=", _ZERO, part)
    yield Obligation("total", lambda: stated.total, ">", _ZERO, part)


def _bounds(
    stated: MarginBounds, norms: Callable[[], tuple[fmpq, fmpq]], part: Part, needs: Sequence[str]
) -> Iterator[Obligation]:
    """For a squared norm from the first number to the second, > 0. Comparisons of squares of numbers >= 0."""
    least, most = stated.at_least, stated.at_most
    if least is not None:
        yield Obligation("margin.at_least", lambda: 1 / norms()[1], ">=", least**2, part, needs)
    if most is not None:
        yield Obligation("margin.at_most", fmpq(1), "<=", lambda: most**2 * norms()[0], part, needs)


def _others(problem: MarginProblem, listed: frozenset[int]) -> list[int]:
    """The constraints that are not listed."""
    return [j for j in range(problem.rows.rows) if j not in listed]


def _by(gap: fmpq | None) -> tuple[Relation, fmpq]:
    """More than equality, or at least by a gap."""
    return (">", _ZERO) if gap is None else (">=", gap)


THEOREM = Theorem(
    name="max-margin",
    title="the solution of a max-margin problem of token selection, or that it has none",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
    arithmetic=EXACT,
)
