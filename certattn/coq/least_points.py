"""Solutions of max-margin problems by the conditions of Karush, Kuhn and Tucker, and contradictions by Farkas' lemma:
`max-margin`.

All of it is exact: Coq multiplies integers. Multipliers are in the proof only, unless the support is stated.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from certattn.coq.instance import COMPUTED, Conjunct, Instance, NotExportableError, cost_of
from certattn.coq.terms import Constant, Indices, Marks, Number, Row, Table, natural
from certattn.coq.token_inputs import keys_term, shape, whole
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Values
from certattn.kernel.theorems.selection.max_margin import (
    AT_LEAST,
    AT_MOST,
    GAP,
    MARGIN,
    POINTS,
    THEOREM,
    MarginProblem,
    MarginStatement,
)
from certattn.kernel.theorems.selection.stated_tokens import INDICES, QUERIES, read_labels, read_tokens

# Measured: see docs/coq.md.
_SECONDS_PRODUCT = 1e-5


@dataclass(frozen=True)
class _Rows:
    """The rows z_j: how the theorem writes them, the denominator and the integers that the check computes."""

    term: str
    denominator: str
    integers: str
    rewriting: str
    constants: list[Constant]
    shapes: list[Conjunct]

    def proof(self, tactic: str) -> str:
        """A proof about rows of integers."""
        return f"{self.rewriting} {tactic} {COMPUTED}"


def max_margin_instance(certificate: Certificate, *, fast: bool) -> Instance:
    """The whole statement. Raises NotExportableError for a point near the solution."""
    assertion = THEOREM.read(certificate)
    rows = _rows(assertion.problem.given)
    if assertion.form == "exactly":
        return _solution(assertion, rows, fast)
    if assertion.form == "none":
        return _contradiction(assertion, rows, fast)
    raise NotExportableError(
        "a direction near the solution, or bounds on another norm, have no form in Coq here; the exact solution, "
        "its constraints, support and margin, and contradictory constraints have"
    )


def _rows(given: Values) -> _Rows:
    """From what is given: labelled points, keys, tokens, with queries or without."""
    if POINTS in given:
        points = Table("points", given[POINTS].load())
        labels = whole("labels", read_labels(given, points.matrix.rows))
        term = f"(labelled_rows {labels.term} {points.term})"
        integers, proof = "(labelledZ labels points)", "rewrite labelled_mat."
        return _Rows(term, "points_den", integers, proof, [points, labels], [shape(points)])
    stated = read_tokens(given)
    inputs = keys_term(stated)
    indices: list[int] = given[INDICES]
    constants, shapes = [*inputs.constants, Indices("chosen", indices)], list(inputs.shapes)
    if QUERIES not in given:
        term, integers = f"(selection_rows chosen {inputs.term})", f"(selectionZ chosen {inputs.integers})"
        rewriting = f"{inputs.rewriting} rewrite selection_mat.".lstrip()
        return _Rows(term, inputs.denominator, integers, rewriting, constants, shapes)
    asked = given[QUERIES].load()
    if asked.rows == 1:
        asked = asked.take_rows([0] * len(stated.tokens.lengths))
    queries = Table("queries", asked)
    constants.append(queries)
    shapes.append(shape(queries))
    term = f"(matrix_rows chosen {inputs.term} {queries.term})"
    integers = f"(matricesZ chosen {inputs.integers} queries)"
    return _Rows(term, f"({inputs.denominator} * queries_den)", integers, "rewrite matrices_mat.", constants, shapes)


def _solution(assertion: MarginStatement, rows: _Rows, fast: bool) -> Instance:
    problem, solved = assertion.problem, assertion.solved
    count = problem.rows.rows
    # What is stated, where it is: that it is what the multipliers make is for Coq to prove.
    point = Row("point", assertion.point if assertion.point is not None else solved.solution)
    multipliers = _dense("multipliers", dict(solved.multipliers), count)
    levels = whole("levels", problem.levels)
    constants = [*rows.constants, levels, point, multipliers]
    by = "with (dl := multipliers_den) (L := multipliers)."
    size, system = natural(problem.rows.columns), f"{rows.term} {levels.term} {point.term}"
    conjuncts = [*rows.shapes, _row_shape(rows, problem)]
    conjuncts.append(Conjunct(f"least_point {size} {system}", f"{rows.rewriting} apply kkt_sound {by} exact optimal."))
    if assertion.listed is not None:
        marks = Marks("neighbours", [j in assertion.listed for j in range(count)])
        constants.append(marks)
        apart = "more_than_equal"
        if GAP in assertion.asserts:
            gap = Number("gap", assertion.asserts[GAP])
            constants.append(gap)
            apart = f"(at_least_by {gap.arguments})"
        conjuncts.append(Conjunct(f"tight_exactly {apart} neighbours {system}", rows.proof("apply tight_sound.")))
    if assertion.support is not None:
        constants.append(Marks("support", [j in assertion.support for j in range(count)]))
        conjuncts.append(
            Conjunct(f"supported {size} support {system}", rows.proof(f"apply support_sound {by} exact optimal."))
        )
    bounds = assertion.asserts.get(MARGIN)
    for name, end in (("at_least", AT_LEAST), ("at_most", AT_MOST)):
        if bounds is not None and end in bounds:
            number = Number(f"margin_{name}", bounds[end])
            constants.append(number)
            sides = (number.term, f"margin {point.term}")
            low, high = sides if name == "at_least" else sides[::-1]
            conjuncts.append(Conjunct(f"({low} <= {high})%R", f"apply margin_{name}. {COMPUTED}"))
    # Evaluated once, for the solution and its support.
    numbers = f"{rows.denominator} point_den multipliers_den {rows.integers} point multipliers levels"
    preparation = f"assert (optimal : kkt_check {size} {numbers} = true). {{ {COMPUTED} }}"
    return _instance(constants, conjuncts, problem, point.matrix.denominator.bit_length(), fast, preparation)


def _contradiction(assertion: MarginStatement, rows: _Rows, fast: bool) -> Instance:
    problem = assertion.problem
    levels = whole("levels", problem.levels)
    weights = _dense("weights", dict(assertion.numbers), problem.rows.rows)
    statement = f"(forall q, ~ feasible {rows.term} {levels.term} q)"
    size = natural(problem.rows.columns)
    proof = f"apply (farkas_sound {size} {rows.denominator} weights_den {rows.integers} weights levels)."
    conjuncts = [*rows.shapes, _row_shape(rows, problem), Conjunct(statement, rows.proof(proof))]
    return _instance([*rows.constants, levels, weights], conjuncts, problem, 24, fast)


def _row_shape(rows: _Rows, problem: MarginProblem) -> Conjunct:
    size = f"{natural(problem.rows.rows)} {natural(problem.rows.columns)}"
    return Conjunct(f"shaped {size} {rows.term}", rows.proof("apply shaped_mat."))


def _dense(name: str, sparse: dict[int, fmpq], count: int) -> Row:
    return Row.of(name, [sparse.get(j, fmpq(0)) for j in range(count)])


def _instance(
    constants: list[Constant],
    conjuncts: list[Conjunct],
    problem: MarginProblem,
    bits: int,
    fast: bool,
    preparation: str = "",
) -> Instance:
    products = problem.rows.rows * problem.rows.columns * (1 + bits // 24) * 2
    cost = cost_of(constants, products * _SECONDS_PRODUCT)
    return Instance(
        ["Digits", "Statements", "Integers", "Rows", "Margin"],
        constants,
        conjuncts,
        cost,
        fast=fast,
        preparation=preparation,
    )
