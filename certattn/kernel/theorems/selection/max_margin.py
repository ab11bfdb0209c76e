"""Theorem `max-margin`: the solution of a max-margin problem, exactly or up to a distance, or that it has none.

Given keys k_it and a chosen token alpha_i of every input, or labelled points, the problem is

    minimise |p|     subject to <k_{i alpha_i} - k_it, p> >= 1        for every i and every t != alpha_i,
    minimise |W|_F   subject to (k_{i alpha_i} - k_it)' W q_i >= 1    where queries q_i are given,
    minimise |v|     subject to Y_i x_i'v >= 1                        for points x_i with labels Y_i,

and in the first two, constraints of relaxed inputs are >= 0. Any norm |p|_l of powers may stand for |p|, that of the
entries of W in the second, where the nuclear norm |W|_* may, too. A certificate asserts one of

    exactly   the solution, all constraints that hold with equality and by how much the others exceed, which
              multipliers are positive, bounds on the margin 1/|p|
    nearly    a direction p~ so that |p~/m - p| <= within for m = min <z_j, p~>, constraints that all those
              holding with equality are among, bounds on the margin
    in norm   where another norm is given: bounds on 1/min |p|, a direction p~ so that |p~/m| <= (1 + excess) min |p|,
              and for |p|_l with 1 < l < infinity that the solution is unique, and |p~/m - p|_l <= within
    none      the constraints contradict each other

The proofs are the conditions of Karush, Kuhn and Tucker and Farkas' lemma (`margin_points`), and weak duality
(`MarginDistance`, `NormMargin`), over the rationals but for powers that are not whole. Bounds on 1/|p| are compared as
squares. Ataee Tarzanagh, Li, Zhang and Oymak 2023, problems (Att-SVM), (W-SVM), (v-SVM) and the relaxed one; for |W|_*,
Tarzanagh, Li, Thrampoulidis and Oymak 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import fmpq, fmpz_mat

from certattn.kernel.decide.obligation import Obligation, Part, Relation, Shared
from certattn.kernel.decide.theorem import EXACT, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import (
    ByKey,
    Choice,
    Count,
    Field,
    Listing,
    Rational,
    Record,
    Values,
    all_or_none,
    some_of,
)
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Pair
from certattn.kernel.theorems.selection.mathematics.margin_norms import (
    Norm,
    NormMargin,
    NuclearNorm,
    PowerNorm,
    power,
    reach,
    reach_power,
)
from certattn.kernel.theorems.selection.mathematics.margin_points import (
    Contradiction,
    Direction,
    MaxMargin,
    combination,
    total_level,
)
from certattn.kernel.theorems.selection.stated_norms import FACTOR_PAIR, NORM, NUCLEAR, read_norm
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    INPUT,
    MULTIPLIER,
    QUERIES,
    TOKEN,
    PointKind,
    StatedTokens,
    kkt_names,
    optimal,
    read_labels,
    read_point,
    read_sections,
    read_selection,
    read_tokens,
    token_forms,
)

# -- what is given

RELAXED = Field("relaxed", Listing(Count(0)), "inputs whose constraints are >= 0, counted from 0", required=False)
POINTS = Field("points", Matrix(), "the labelled points, one per row")
POINT_LABELS = Field("labels", Vector(), "the label of each point, 1 or -1")
POINT = Field("point", Count(0), "the point, counted from 0")
GIVEN = ByKey(
    {
        "points": Record(POINTS, POINT_LABELS, NORM),
        "pairs": token_forms(INDICES, RELAXED, NORM),
    }
)


@dataclass(frozen=True)
class MarginProblem:
    """min |p| subject to <z_j, p> >= r_j: z_j the rows of `rows`, r_j the `levels`.

    `constraints` name the rows: a Pair, or the number of a labelled point. `shape` is that of p, `variable` its
    letter. `tokens` are the inputs whose tokens are selected, and None of labelled points.
    """

    rows: ExactMatrix
    levels: tuple[fmpq, ...]
    constraints: tuple[Pair | int, ...]
    shape: tuple[int, int]
    variable: str
    given: Values
    tokens: StatedTokens | None = None

    @cached_property
    def positions(self) -> dict[Pair | int, int]:
        """The row of each constraint."""
        return {constraint: j for j, constraint in enumerate(self.constraints)}


def read_problem(given: Values) -> MarginProblem:
    """The problem in a record of GIVEN. Raises MalformedError."""
    if given.get(NORM) == NUCLEAR and (POINTS in given or QUERIES not in given):
        raise given.node(NORM).malformed("queries beside it, with which a matrix W is sought", "none")
    if POINTS in given:
        points = given[POINTS].load()
        rows, count = labelled_rows(points, read_labels(given, points.rows)), points.rows
        return MarginProblem(rows, (fmpq(1),) * count, tuple(range(count)), (1, points.columns), "v", given)
    stated = read_tokens(given)
    selection, count = read_selection(stated, given), stated.tokens.count
    relaxed = given.items(RELAXED)
    if len(set(relaxed)) < len(relaxed):
        raise given.node(RELAXED).malformed("every input at most once")
    if max(relaxed, default=0) >= count:
        expected = f"some of the {counted(count, 'input')}, counted from 0"
        raise given.node(RELAXED).malformed(expected, f"{max(relaxed)}")
    if all(pair.input in relaxed for pair in selection.pairs):
        expected = "an input of more than one token that is not relaxed"
        raise given.node(RELAXED).malformed(expected, "none: p = 0 solves this problem")
    levels = tuple(fmpq(0) if pair.input in relaxed else fmpq(1) for pair in selection.pairs)
    return MarginProblem(selection.differences, levels, selection.pairs, stated.shape, stated.variable, given, stated)


def labelled_rows(points: ExactMatrix, labels: Sequence[fmpq]) -> ExactMatrix:
    """Y_i x_i for the rows x_i of `points` and labels Y_i, 1 or -1."""
    flat = [entry * label.p for row, label in zip(points.numerators.tolist(), labels, strict=True) for entry in row]
    return ExactMatrix(fmpz_mat(points.rows, points.columns, flat), points.denominator)


# -- what is asserted, and the numbers of its proof


def _constraints(*others: Field[Any]) -> Listing[tuple[str, Values]]:
    """Constraints by name, each with `others`: an input and a token of it, or a point."""
    return Listing(ByKey({"point": Record(POINT, *others), "input": Record(INPUT, TOKEN, *others)}))


AT_LEAST = Field("at_least", Rational(minimum=0), "1/|p| is at least this", required=False)
AT_MOST = Field("at_most", Rational(minimum=0), "1/|p| is at most this", required=False)
SOLUTION = Field("solution", PointKind(), "the solution, exactly", required=False)
NEIGHBOURS = Field("neighbours", _constraints(), "all constraints that hold with equality there", required=False)
SUPPORT = Field("support", _constraints(), "the constraints with positive multipliers", required=False)
DIRECTION = Field("direction", PointKind(), "p~, a direction near that of the solution", required=False)
WITHIN = Field("within", Rational(minimum=0), "the largest distance of p~/m from the solution", required=False)
_EXCESS = "|p~/m| is at most the least norm times 1 more than this"
EXCESS = Field("excess", Rational(minimum=0), _EXCESS, required=False)
AMONG = Field("neighbours_among", _constraints(), "constraints among which are all that hold with equality", False)
GAP = Field("gap", Rational(above=0), "by how much at least all other constraints hold", required=False)
_BOUNDS = Record(AT_LEAST, AT_MOST, rules=[some_of(AT_LEAST, AT_MOST)])
MARGIN = Field("margin", _BOUNDS, "bounds on the margin", required=False)
CONTRADICTION = Field("constraints", Choice(("contradictory",)), "no point satisfies the constraints", required=False)

MULTIPLIERS = Field("multipliers", _constraints(MULTIPLIER), "multipliers of constraints, > 0", required=False)
WEIGHT = Field("weight", Rational(above=0), "its weight, > 0")
WEIGHTS = Field("weights", _constraints(WEIGHT), "weights of constraints that contradict each other", required=False)

FACTORS = Field("factors", FACTOR_PAIR, "K and Q, the product K'Q being W~ or near it", required=False)

_EXACTLY, _NEARLY = (SOLUTION, NEIGHBOURS, SUPPORT, MARGIN, GAP), (DIRECTION, WITHIN, AMONG, GAP, MARGIN)
_NORMED = (DIRECTION, EXCESS, WITHIN, MARGIN)
_FIELDS = (SOLUTION, NEIGHBOURS, SUPPORT, DIRECTION, WITHIN, EXCESS, AMONG, GAP, MARGIN, CONTRADICTION)


def _one_form(asserts: Values) -> None:
    """Refuse fields that belong to another form of the statement, and a form of which nothing is there."""
    near = DIRECTION in asserts or WITHIN in asserts
    form: Sequence[Field[Any]] = _NORMED if EXCESS in asserts else _NEARLY if near else _EXACTLY
    form = (CONTRADICTION,) if CONTRADICTION in asserts else form
    for field in _FIELDS:
        if field in asserts and field not in form:
            names = ", ".join(each.name for each in form)
            raise asserts.node(field).malformed(f"only {names} beside each other", f"{field.name!r}")
    if form is _EXACTLY and not any(field in asserts for field in (SOLUTION, NEIGHBOURS, SUPPORT, MARGIN)):
        expected = "a solution, neighbours, support, a margin, a direction or contradictory constraints"
        raise asserts.at.malformed(expected, "nothing that is asserted")


def _whole_direction(asserts: Values) -> None:
    """Refuse a direction of which nothing is said, and the other way round."""
    all_or_none(DIRECTION, EXCESS if EXCESS in asserts else WITHIN)(asserts)


ASSERTS = Record(*_FIELDS, rules=[_one_form, _whole_direction])
WITNESS = Record(MULTIPLIERS, WEIGHTS, FACTORS)


@dataclass(frozen=True)
class MarginStatement:
    """What is asserted of a problem, and the multipliers or weights of the witness, by row.

    `point` is the solution or the direction that is stated, `listed` are the rows of `neighbours` or of
    `neighbours_among`, `support` those of the support, `norm` another one than the Euclidean: None where there is none.
    """

    problem: MarginProblem
    asserts: Values
    numbers: Mapping[int, fmpq]
    point: ExactMatrix | None
    listed: frozenset[int] | None
    support: frozenset[int] | None
    norm: Norm | None = None

    @property
    def form(self) -> str:
        if CONTRADICTION in self.asserts:
            return "none"
        if self.norm is not None:
            return "normed"
        return "nearly" if DIRECTION in self.asserts else "exactly"

    @cached_property
    def solved(self) -> MaxMargin:
        """The point of the multipliers."""
        return MaxMargin(self.problem.rows, self.numbers, self.problem.levels)

    @cached_property
    def unique(self) -> bool:
        """Whether the rows of the tight constraints are linearly independent: then multipliers are unique."""
        tight = self.solved.tight
        return self.problem.rows.take_rows(tight).numerators.rank() == len(tight)

    @property
    def others(self) -> list[int]:
        """The constraints that are not listed, where some are."""
        return [] if self.listed is None else [j for j in range(self.problem.rows.rows) if j not in self.listed]


def read(certificate: Certificate) -> MarginStatement:
    """The problem, and what is asserted of it. Raises MalformedError."""
    what = "multipliers or weights, which this is proved with"
    given, asserts, witness = read_sections(certificate, GIVEN, ASSERTS, WITNESS, what)
    problem, contradictory, near = read_problem(given), asserts.get(CONTRADICTION) is not None, DIRECTION in asserts
    hint, number = (WEIGHTS, WEIGHT) if contradictory else (MULTIPLIERS, MULTIPLIER)
    if hint not in witness:
        raise witness.at.malformed(f"{hint.name}, which this is proved with", f"no {hint.name!r}")
    numbers = {row: values[number] for row, values in read_rows(witness[hint], problem).items()}
    if contradictory:
        return MarginStatement(problem, asserts, numbers, None, None, None)
    if NORM in given:
        return _read_normed(problem, asserts, witness, numbers)
    if EXCESS in asserts:
        raise asserts.node(EXCESS).malformed("within, unless another norm is given", "excess")
    field = AMONG if near else NEIGHBOURS
    listed = frozenset(read_rows(asserts[field], problem)) if field in asserts else None
    if GAP in asserts and (listed is None or len(listed) == problem.rows.rows):
        expected = f"{field.name} beside it, and a constraint that is not listed there, which it could be about"
        raise asserts.node(GAP).malformed(expected, "none")
    stated, point = asserts.get(DIRECTION if near else SOLUTION), None
    if stated is not None:
        point = read_point(stated, problem.shape, problem.variable)
    support = frozenset(read_rows(asserts[SUPPORT], problem)) if SUPPORT in asserts else None
    return MarginStatement(problem, asserts, numbers, point, listed, support)


def _read_normed(
    problem: MarginProblem, asserts: Values, witness: Values, numbers: Mapping[int, fmpq]
) -> MarginStatement:
    """The same of another norm. Raises MalformedError."""
    for field in _FIELDS:
        if field in asserts and field not in _NORMED:
            why = "a margin, or a direction with its excess: another norm may be least at more than one point"
            raise asserts.node(field).malformed(why, f"{field.name!r}")
    norm: Norm = read_norm(problem.given[NORM], problem.shape, witness, FACTORS)
    convex = isinstance(norm, PowerNorm) and norm.is_uniformly_convex
    if WITHIN in asserts and not convex:
        raise asserts.node(WITHIN).malformed("excess: this norm may be least at more than one point", "within")
    if DIRECTION not in asserts and not isinstance(norm, NuclearNorm):
        raise asserts.at.malformed("a direction, which bounds the least norm", "no 'direction'")
    point = read_point(asserts[DIRECTION], problem.shape, problem.variable) if DIRECTION in asserts else None
    return MarginStatement(problem, asserts, numbers, point, None, None, norm)


def read_rows(stated: list[tuple[str, Values]], problem: MarginProblem) -> dict[int, Values]:
    """What is stated of constraints, by row. Raises MalformedError for one that is none, or stated twice."""
    rows: dict[int, Values] = {}
    for form, values in stated:
        constraint = values[POINT] if form == "point" else Pair(values[INPUT], values[TOKEN])
        if constraint not in problem.positions:
            points = problem.variable == "v"
            expected = "the number of a point" if points else "an input and a token of it other than the chosen one"
            raise values.at.malformed(expected, f"{constraint}")
        if problem.positions[constraint] in rows:
            raise values.at.malformed("every constraint at most once", f"{constraint} again")
        rows[problem.positions[constraint]] = values
    return rows


# -- how far a feasible point is from the solution, without the solution


@dataclass(frozen=True)
class MarginDistance(Direction):
    """A direction, the feasible point q = p~ / m, and multipliers lambda_j >= 0 by row.

    For every feasible p

        |p|^2 >= 2 <p, sum lambda_j z_j> - |sum lambda_j z_j|^2 >= D = 2 sum lambda_j r_j - |sum lambda_j z_j|^2,

    and the solution p_mm has |q|^2 >= |p_mm|^2 + |q - p_mm|^2, as every point between p_mm and q is feasible and none
    is nearer to 0. So |q - p_mm|^2 <= |q|^2 - D. Where the multipliers make p_mm itself, its distance is known exactly.
    """

    multipliers: Mapping[int, fmpq]

    @cached_property
    def norm_squared(self) -> fmpq:
        """|q|^2, at least |p_mm|^2. The margin is not 0."""
        return self.direction.inner(self.direction) / self.margin**2

    @cached_property
    def dual_value(self) -> fmpq:
        """D, at most |p_mm|^2."""
        point = combination(self.rows, self.multipliers)
        return 2 * total_level(self.levels, self.multipliers) - point.inner(point)

    @cached_property
    def solution(self) -> ExactMatrix | None:
        """p_mm, where the conditions of Karush, Kuhn and Tucker hold for the point of the multipliers."""
        point = combination(self.rows, self.multipliers)
        # D = |p|^2 is complementarity, in which rounded multipliers fail before the slacks are computed.
        if self.dual_value != point.inner(point):
            return None
        found = MaxMargin(self.rows, self.multipliers, self.levels).conditions
        holds = found.multiplier >= 0 and found.slack >= 0 and found.complementarity == 0
        return point if holds is True else None

    @property
    def reach(self) -> fmpq:
        """|q - p_mm|^2 where p_mm is known, and else a bound of it. The margin is not 0."""
        if self.solution is None:
            return self.norm_squared - self.dual_value
        away = self.direction.scaled(1 / self.margin) - self.solution
        return away.inner(away)

    def looseness(self, j: int, gap: fmpq, radius: fmpq) -> fmpq:
        """s |s| - |z_j|^2 radius^2 with s = <z_j, q> - r_j - gap.

        It is >= 0 if and only if s >= |z_j| radius, and then <z_j, p> >= r_j + gap for every p within `radius` of q.
        Where it is > 0, this holds with >.
        """
        slack, row = self.products[j] / self.margin - self.levels[j] - gap, self.rows.take_rows([j])
        return slack * abs(slack) - row.inner(row) * radius**2


# -- what proves it

_ZERO = fmpq(0)
# What a norm is enclosed with where a bound on the margin may be refuted at once.
_FIRST_BITS = 64
_KKT = kkt_names("optimality")


def obligations(stated: MarginStatement) -> Iterator[Obligation]:
    forms = {"none": _contradictory, "nearly": _nearly, "exactly": _exactly, "normed": _normed}
    return forms[stated.form](stated)


def _exactly(stated: MarginStatement) -> Iterator[Obligation]:
    """What is false of the point of the multipliers is false of the solution only where it is the solution."""
    solved, tight, others, needs = stated.solved, stated.listed, stated.others, _KKT
    yield from optimal("optimality", lambda: solved.conditions)
    if stated.point is not None:
        yield Obligation("solution", stated.point, "=", lambda: solved.solution, needs=needs)
    if tight is not None:
        yield Obligation("neighbours.tight", lambda: max(solved.slacks[j] for j in tight), "<=", _ZERO, needs=needs)
    if others:
        relation, least = _by(stated.asserts.get(GAP))
        smallest = lambda: min(solved.slacks[j] for j in others)  # noqa: E731
        yield Obligation("neighbours.others", smallest, relation, least, needs=needs)
    if stated.support is not None:
        different = fmpq(len(stated.support ^ set(solved.multipliers)))
        # Other multipliers than the witness's may exist, unless they are unique.
        part = Part.STATEMENT if stated.unique else Part.WITNESS
        yield Obligation("support", different, "<=", _ZERO, part, needs)
    yield from _bounds(stated, lambda: (solved.norm_squared, solved.norm_squared), Part.STATEMENT, needs)


def _nearly(stated: MarginStatement) -> Iterator[Obligation]:
    """That p~ is feasible is stated; what is false of the bounds need not be false of the solution."""
    assert stated.point is not None
    near = MarginDistance(stated.problem.rows, stated.problem.levels, stated.point, stated.numbers)
    radius, others = stated.asserts[WITHIN], stated.others
    part, needs = Part.WITNESS, ["direction.margin"]
    yield from _feasible(near, Part.STATEMENT)
    if near.smallest_relaxed is not None:
        needs.append("direction.relaxed")
    yield Obligation("optimality.multipliers", min(stated.numbers.values()), ">=", _ZERO, part, needs)
    # What is exact and false is false of the solution; a bound that is too large need not be.
    known = part if near.solution is None else Part.STATEMENT
    yield Obligation("within", lambda: near.reach, "<=", radius**2, known, needs)
    if others:
        relation, gap = _by(stated.asserts.get(GAP))
        room = lambda: min(near.looseness(j, gap, radius) for j in others)  # noqa: E731
        yield Obligation("neighbours.others", room, relation, _ZERO, part, needs)
    yield from _bounds(stated, lambda: (near.dual_value, near.norm_squared), part, needs)


def _feasible(near: Direction, part: Part) -> Iterator[Obligation]:
    """That the direction satisfies the constraints at some length."""
    yield Obligation("direction.margin", lambda: near.margin, ">", _ZERO, part)
    if near.smallest_relaxed is not None:
        yield Obligation("direction.relaxed", near.smallest_relaxed, ">=", _ZERO, part)


def _normed(stated: MarginStatement) -> Iterator[Obligation]:
    """A feasible point, and so there is one of least norm; its norm and `least` enclose the least one."""
    problem, norm = stated.problem, stated.norm
    assert norm is not None
    direction = norm.product if isinstance(norm, NuclearNorm) and stated.point is None else stated.point
    assert direction is not None
    near = NormMargin(problem.rows, problem.levels, direction, norm, stated.numbers)
    part, feasible = Part.WITNESS, Part.WITNESS if stated.point is None else Part.STATEMENT
    made = [*_feasible(near, feasible)]
    yield from made
    yield Obligation("optimality.multipliers", min(stated.numbers.values()), ">=", _ZERO, part)
    dual = Shared(near.dual)
    yield Obligation("dual_norm", lambda: dual()[0], "<=", lambda: dual()[1], part)
    needs = [*(each.name for each in made), "optimality.multipliers", "dual_norm"]
    if EXCESS in stated.asserts:
        most = (1 + stated.asserts[EXCESS]) * near.least
        yield Obligation("excess", lambda: near.size() / near.margin, "<=", most, part, needs)
    if WITHIN in stated.asserts:
        assert isinstance(norm, PowerNorm)
        assert norm.exponent is not None
        yield _within(near, norm.exponent, stated.asserts[WITHIN], needs)
    bounds = stated.asserts.get(MARGIN)
    if bounds is None:
        return
    # A bound beyond the other side of what encloses 1/min |p| is false, and others are only not shown.
    if AT_LEAST in bounds:
        low = bounds[AT_LEAST]
        known = Part.STATEMENT if low * near.least > 1 else part
        yield Obligation("margin.at_least", lambda: near.margin / near.size(), ">=", low, known, needs)
    if AT_MOST in bounds:
        high = bounds[AT_MOST]
        with working_precision(_FIRST_BITS):
            known = Part.STATEMENT if (high * near.size() < near.margin) is True else part
        yield Obligation("margin.at_most", fmpq(1), "<=", high * near.least, known, needs)


def _within(near: NormMargin, exponent: fmpq, radius: fmpq, needs: Sequence[str]) -> Obligation:
    """|p~/m - p|_l <= radius, both sides to the power of the theorem."""
    away = lambda: reach(exponent, near.size() / near.margin, near.least)  # noqa: E731
    return Obligation("within", away, "<=", lambda: power(radius, reach_power(exponent)), Part.WITNESS, needs)


def _contradictory(stated: MarginStatement) -> Iterator[Obligation]:
    shown, part = Contradiction(stated.problem.rows, stated.problem.levels, stated.numbers), Part.WITNESS
    yield Obligation("weights", min(stated.numbers.values()), ">=", _ZERO, part)
    yield Obligation("combination", lambda: shown.largest_entry, "<=", _ZERO, part)
    yield Obligation("total", lambda: shown.total, ">", _ZERO, part)


def _bounds(
    stated: MarginStatement, norms: Callable[[], tuple[fmpq, fmpq]], part: Part, needs: Sequence[str]
) -> Iterator[Obligation]:
    """For a squared norm from the first number to the second, > 0. Comparisons of squares of numbers >= 0."""
    bounds = stated.asserts.get(MARGIN)
    if bounds is not None and AT_LEAST in bounds:
        yield Obligation("margin.at_least", lambda: 1 / norms()[1], ">=", bounds[AT_LEAST] ** 2, part, needs)
    if bounds is not None and AT_MOST in bounds:
        most = bounds[AT_MOST] ** 2
        yield Obligation("margin.at_most", fmpq(1), "<=", lambda: most * norms()[0], part, needs)


def _by(gap: fmpq | None) -> tuple[Relation, fmpq]:
    """More than equality, or at least by a gap."""
    return (">", _ZERO) if gap is None else (">=", gap)


_TITLE = "the solution of a max-margin problem of token selection, or that it has none"
THEOREM = Theorem("max-margin", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations, arithmetic=EXACT)
