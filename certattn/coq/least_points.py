"""Solutions of max-margin problems by the conditions of Karush, Kuhn and Tucker, and contradictions by Farkas' lemma:
`max-margin`.

All of it is exact: Coq multiplies integers. Multipliers are in the proof only, unless the support is stated.
"""

from __future__ import annotations

from flint import fmpq

from certattn.coq.instance import COMPUTED, Conjunct, Cost, Instance, NotExportableError
from certattn.coq.terms import Constant, Marks, Number, Row, Table, natural
from certattn.kernel.claims.margin_assertions import ExactSolution, NoSolution
from certattn.kernel.claims.margin_problems import MarginProblem
from certattn.kernel.claims.max_margin import Problem

SAYS = (
    "the problem min |p| subject to <z_j, p> >= r_j with the rows z_j and levels r_j of the theorem, which certattn "
    "computes from the certificate exactly: differences of keys, or these times queries, or points times labels"
)

# Measured: see docs/coq.md.
_SECONDS_LOADING, _MEGABYTES_LOADING = 4.0, 480.0
_SECONDS_LITERAL, _MEGABYTES_LITERAL = 0.3e-3, 0.013
_SECONDS_PRODUCT = 2e-5


def max_margin_instance(problem: Problem, *, fast: bool) -> Instance:
    """The whole statement but for how rows come from keys. Raises NotExportableError for a point near the solution."""
    assertion = problem.assertion
    if isinstance(assertion, ExactSolution):
        return _solution(assertion, fast)
    if isinstance(assertion, NoSolution):
        return _contradiction(assertion, fast)
    raise NotExportableError(
        "a direction near the solution has no form in Coq here; the exact solution, its constraints, support and "
        "margin, and contradictory constraints have"
    )


def _solution(assertion: ExactSolution, fast: bool) -> Instance:
    problem, solved = assertion.problem, assertion.solved
    count = problem.rows.rows
    point = Row("point", solved.solution)
    multipliers = _dense("multipliers", dict(solved.multipliers), count)
    rows, constants = _given(problem)
    constants += [point, multipliers]
    by = f"with (dl := multipliers_den) (L := multipliers). {COMPUTED}"
    size, system = natural(problem.rows.columns), f"{rows.term} (vec 1 levels) {point.term}"
    conjuncts = [_shape(rows), Conjunct(f"least_point {size} {system}", f"apply kkt_sound {by}")]
    if assertion.neighbours is not None:
        marks = Marks("neighbours", [j in assertion.neighbours for j in range(count)])
        constants.append(marks)
        apart = "more_than_equal"
        if assertion.gap is not None:
            gap = Number("gap", assertion.gap)
            constants.append(gap)
            apart = f"(at_least_by {gap.arguments})"
        conjuncts.append(Conjunct(f"tight_exactly {apart} neighbours {system}", f"apply tight_sound. {COMPUTED}"))
    if assertion.support is not None:
        constants.append(Marks("support", [j in assertion.support for j in range(count)]))
        conjuncts.append(Conjunct(f"supported {size} support {system}", f"apply support_sound {by}"))
    for name, bound in (("at_least", assertion.margin.at_least), ("at_most", assertion.margin.at_most)):
        if bound is not None:
            number = Number(f"margin_{name}", bound)
            constants.append(number)
            sides = (number.term, f"margin {point.term}")
            low, high = sides if name == "at_least" else sides[::-1]
            conjuncts.append(Conjunct(f"({low} <= {high})%R", f"apply margin_{name}. {COMPUTED}"))
    return _instance(constants, conjuncts, rows, point.matrix.denominator.bit_length(), fast)


def _contradiction(assertion: NoSolution, fast: bool) -> Instance:
    problem = assertion.problem
    rows, constants = _given(problem)
    constants.append(_dense("weights", dict(assertion.contradiction.weights), problem.rows.rows))
    size = natural(problem.rows.columns)
    statement = f"(forall q, ~ feasible {rows.term} (vec 1 levels) q)"
    proof = f"apply (farkas_sound {size} rows_den weights_den rows weights levels). {COMPUTED}"
    return _instance(constants, [_shape(rows), Conjunct(statement, proof)], rows, 24, fast)


def _given(problem: MarginProblem) -> tuple[Table, list[Constant]]:
    rows, levels = Table("rows", problem.rows), Row.of("levels", problem.levels)
    # The theorem says (vec 1 levels).
    assert levels.matrix.denominator == 1
    return rows, [rows, levels]


def _shape(rows: Table) -> Conjunct:
    shape = f"{natural(rows.matrix.rows)} {natural(rows.matrix.columns)}"
    return Conjunct(f"shaped {shape} {rows.term}", f"apply shaped_mat. {COMPUTED}")


def _dense(name: str, sparse: dict[int, fmpq], count: int) -> Row:
    return Row.of(name, [sparse.get(j, fmpq(0)) for j in range(count)])


def _instance(constants: list[Constant], conjuncts: list[Conjunct], rows: Table, bits: int, fast: bool) -> Instance:
    literals = sum(constant.literals for constant in constants)
    products = rows.matrix.rows * rows.matrix.columns * (1 + bits // 24) * len(conjuncts)
    cost = Cost(
        _SECONDS_LOADING + literals * _SECONDS_LITERAL + products * _SECONDS_PRODUCT,
        _MEGABYTES_LOADING + literals * _MEGABYTES_LITERAL,
    )
    return Instance(["Statements", "Integers", "Margin"], constants, conjuncts, cost, SAYS, fast)
