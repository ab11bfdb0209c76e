"""Whether a certificate of `max-margin` is true: a second opinion in fractions.

The solution is found by trying every set of linearly independent constraints: some of them hold with equality and have
multipliers >= 0 there. Where none is a solution, there is none. Meant for a few constraints in a few dimensions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from tools.truth.judgement import Judgement, Truth
from tools.truth.norm_margin import Nuclear, Power, judge_norm
from tools.truth.reading import (
    dot,
    minus,
    read_bounds,
    read_count,
    read_counts,
    read_inputs,
    read_number,
    read_point,
    read_table,
    read_vector,
    require,
    require_mapping,
    require_record,
    solved,
    times,
)

Name = tuple[int, int] | int
Point = tuple[Fraction, ...]


@dataclass(frozen=True)
class _Problem:
    rows: tuple[Point, ...]
    levels: Point
    names: tuple[Name, ...]
    shape: tuple[int, int]


def judge_margin(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    problem = _problem(given, folder)
    if "norm" in given:
        return _normed(problem, given["norm"], asserts, witness, folder)
    exact, near = {"solution", "neighbours", "support"}, {"direction", "within", "neighbours_among"}
    require_record(asserts, "asserts", set(), exact | near | {"gap", "margin", "constraints"})
    numbers = _hints(witness, problem, folder)
    if "constraints" in asserts:
        return _contradiction(problem, asserts, numbers)
    require("multipliers" in numbers, "no multipliers")
    if "direction" in asserts or "within" in asserts:
        return _near(problem, asserts, numbers["multipliers"], folder)
    return _exact(problem, asserts, numbers["multipliers"], folder)


def _hints(witness: Any, problem: _Problem, folder: Path) -> dict[str, dict[int, Fraction]]:
    require_record(witness, "witness", set(), {"multipliers", "weights", "factors"})
    if "factors" in witness:
        _factors(witness["factors"], folder)
    return {f: _numbered(witness[f], f.removesuffix("s"), problem) for f in ("multipliers", "weights") if f in witness}


def _factors(node: Any, folder: Path) -> tuple[Any, Any]:
    require_record(node, "factors", {"K", "Q"})
    return read_table(node["K"], folder), read_table(node["Q"], folder)


# -- the forms


def _normed(problem: _Problem, name: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    exponent = None if name in ("nuclear", "infinity") else read_number(name)
    require(exponent is None or exponent >= 1, "an exponent below 1")
    convex = {"within"} if exponent is not None and exponent > 1 else set()
    require_record(asserts, "asserts", set(), {"direction", "excess", "margin", "constraints"} | convex)
    numbers = _hints(witness, problem, folder)
    if "constraints" in asserts:
        return _contradiction(problem, asserts, numbers)
    require("multipliers" in numbers, "no multipliers")
    says = {"excess", "within"} & set(asserts)
    require(bool(asserts) and ("direction" in asserts) == bool(says), "a direction without what is said of it")
    if name == "nuclear":
        require("factors" in witness, "no factors")
        K, Q = _factors(witness["factors"], folder)
        require(len(K) == len(Q) and (len(K[0]), len(Q[0])) == problem.shape, "factors of another shape")
        norm: Any = Nuclear(problem.shape, K, Q)
    else:
        require("direction" in asserts, "no direction")
        norm = Power(exponent)
    stated: dict[str, Any] = {"at_least": None, "at_most": None, **dict.fromkeys(("excess", "within", "direction"))}
    stated |= {**_bounds(asserts), **{field: read_number(asserts[field]) for field in says}}
    require(min((stated[field] for field in says), default=0) >= 0, "a negative excess or distance")
    if "direction" in asserts:
        stated["direction"] = _point(asserts["direction"], problem, folder)
    return judge_norm(problem, stated, numbers["multipliers"], norm)


def _contradiction(problem: _Problem, asserts: Any, numbers: dict[str, dict[int, Fraction]]) -> Judgement:
    require(asserts == {"constraints": "contradictory"}, "contradictory constraints and nothing else")
    require("weights" in numbers, "no weights")
    weights = numbers["weights"]
    shown = not any(_combined(problem, weights)) and sum(w * problem.levels[j] for j, w in weights.items()) > 0
    return _judged(_solution(problem) is None, shown, "constraints")


def _exact(problem: _Problem, asserts: Any, multipliers: dict[int, Fraction], folder: Path) -> Judgement:
    require(not {"neighbours_among"} & set(asserts), "another form")
    require(bool({"solution", "neighbours", "support", "margin"} & set(asserts)), "nothing is asserted")
    solution = _solution(problem)
    stated = {field: _named(asserts[field], problem) for field in ("neighbours", "support") if field in asserts}
    point = _point(asserts["solution"], problem, folder) if "solution" in asserts else None
    gap = _gap(asserts, "neighbours", stated, problem)
    bounds = _bounds(asserts)
    if solution is None:
        return _judged(False, False, "no solution")
    slacks = _slacks(problem, solution)
    tight = {j for j, slack in enumerate(slacks) if slack == 0}
    others = [slack for j, slack in enumerate(slacks) if j not in stated.get("neighbours", set())]
    parts = {
        "solution": point is None or point == solution,
        "neighbours": "neighbours" not in stated or stated["neighbours"] == tight,
        "gap": gap is None or min(others) >= gap,
        "margin": _within(bounds, dot(solution, solution)),
    }
    shown = _combined(problem, multipliers) == solution and set(multipliers) <= tight
    if "support" in stated:
        shown = shown and set(multipliers) == stated["support"]
        supported = _supported(problem, solution, tight, stated["support"])
        if supported is None and all(parts.values()):
            return Judgement(Truth.OPEN, 0.0, "support", shown)
        parts["support"] = supported is not False
    wrong = [name for name, holds in parts.items() if not holds]
    return _judged(not wrong, shown, ", ".join(wrong))


def _near(problem: _Problem, asserts: Any, multipliers: dict[int, Fraction], folder: Path) -> Judgement:
    require(set(asserts) <= {"direction", "within", "neighbours_among", "gap", "margin"}, "another form")
    require({"direction", "within"} <= set(asserts), "one of direction and within")
    direction, radius = _point(asserts["direction"], problem, folder), read_number(asserts["within"])
    require(radius >= 0, "a negative radius")
    stated = {f: _named(asserts[f], problem) for f in ("neighbours_among",) if f in asserts}
    gap = _gap(asserts, "neighbours_among", stated, problem)
    bounds = _bounds(asserts)
    products = [dot(row, direction) for row in problem.rows]
    margin = min(x for x, level in zip(products, problem.levels, strict=True) if level)
    solution = _solution(problem)
    if margin <= 0 or any(x < 0 for x in products) or solution is None:
        return _judged(False, False, "direction")
    near = tuple(x / margin for x in direction)
    slacks, among = _slacks(problem, solution), stated.get("neighbours_among", set(range(len(products))))
    others = [j for j in range(len(products)) if j not in among]
    dual_point = _combined(problem, multipliers)
    dual = 2 * sum(x * problem.levels[j] for j, x in multipliers.items()) - dot(dual_point, dual_point)
    size, away = dot(near, near), dot(minus(near, solution), minus(near, solution))
    parts = {
        "within": away <= radius**2,
        "neighbours_among": all(slacks[j] > 0 for j in others),
        "gap": gap is None or all(slacks[j] >= gap for j in others),
        "margin": _within(bounds, dot(solution, solution)),
    }
    # Multipliers that make the solution itself show how far it is, and others a bound of it.
    reach = away if dual_point == solution else size - dual
    shown = reach <= radius**2 and _within(bounds, size, upper=False) and _within(bounds, dual, lower=False)
    for j in others:
        room = products[j] / margin - problem.levels[j] - (gap or 0)
        square = dot(problem.rows[j], problem.rows[j]) * radius**2
        shown = shown and room >= 0 and (room**2 >= square if gap is not None else room**2 > square)
    wrong = [name for name, holds in parts.items() if not holds]
    return _judged(not wrong, shown, ", ".join(wrong))


def _judged(true: bool, shown: bool, where: str) -> Judgement:
    """Numbers here are exact: what is true is true by far, unless the witness does not show it."""
    return Judgement(Truth.TRUE if true else Truth.FALSE, float(true and shown), where, shown)


# -- parts of an assertion


def _gap(asserts: Any, field: str, stated: dict[str, set[int]], problem: _Problem) -> Fraction | None:
    if "gap" not in asserts:
        return None
    gap = read_number(asserts["gap"])
    require(gap > 0, "a gap that is not positive")
    require(field in stated and len(stated[field]) < len(problem.rows), "a gap about nothing")
    return gap


def _bounds(asserts: Any) -> dict[str, Fraction]:
    if "margin" not in asserts:
        return {}
    bounds = read_bounds(asserts["margin"], "margin")
    require(min(bounds.values()) >= 0, "bounds on the margin")
    return bounds


def _within(bounds: dict[str, Fraction], norm: Fraction, lower: bool = True, upper: bool = True) -> bool:
    """Whether 1/sqrt(norm) keeps the bounds; of a norm <= 0 nothing is known."""
    least = not lower or "at_least" not in bounds or norm * bounds["at_least"] ** 2 <= 1
    return least and (not upper or "at_most" not in bounds or norm * bounds["at_most"] ** 2 >= 1)


def _supported(problem: _Problem, solution: Point, tight: set[int], support: set[int]) -> bool | None:
    """Whether there are multipliers > 0 exactly there; None where that is not decided here."""
    if not support <= tight:
        return False
    found = _multipliers(problem, sorted(support))
    if found is None:
        return None
    return all(x > 0 for x in found) and _combined(problem, dict(zip(sorted(support), found, strict=True))) == solution


# -- the solution


@cache
def _solution(problem: _Problem) -> Point | None:
    for active in _subsets(problem):
        found = _multipliers(problem, active)
        if found is not None and all(x >= 0 for x in found):
            point = _combined(problem, dict(zip(active, found, strict=True)))
            if min(_slacks(problem, point)) >= 0:
                return point
    return None


def _subsets(problem: _Problem) -> Iterator[list[int]]:
    count = len(problem.rows)
    for size in range(1, min(count, len(problem.rows[0])) + 1):
        yield from map(list, itertools.combinations(range(count), size))


def _multipliers(problem: _Problem, active: list[int]) -> list[Fraction] | None:
    """Those with which the constraints hold with equality; None if their rows are linearly dependent."""
    rows = [problem.rows[j] for j in active]
    return solved([[dot(a, b) for b in rows] for a in rows], [problem.levels[j] for j in active])


def _combined(problem: _Problem, weights: dict[int, Fraction]) -> Point:
    width = len(problem.rows[0])
    return tuple(sum((w * problem.rows[j][k] for j, w in weights.items()), Fraction(0)) for k in range(width))


def _slacks(problem: _Problem, point: Point) -> list[Fraction]:
    return [dot(row, point) - level for row, level in zip(problem.rows, problem.levels, strict=True)]


# -- reading


def _problem(given: Any, folder: Path) -> _Problem:
    require_mapping(given, "given")
    if "points" in given:
        require_record(given, "given", {"points", "labels"}, {"norm"})
        require(given.get("norm") != "nuclear", "a nuclear norm of vectors")
        points, labels = read_table(given["points"], folder), read_vector(given["labels"], folder)
        require(len(points) == len(labels) and all(abs(label) == 1 for label in labels), "labels")
        rows = tuple(tuple(y * x for x in point) for point, y in zip(points, labels, strict=True))
        return _Problem(rows, (Fraction(1),) * len(rows), tuple(range(len(rows))), (1, len(rows[0])))
    field = "keys" if "keys" in given or "queries" in given else "tokens"
    require("queries" in given or given.get("norm") != "nuclear", "a nuclear norm of vectors")
    own = {"queries"} if "queries" in given else {"W"} if field == "tokens" else set()
    require_record(
        given, "given", {field, "indices"} | (own & {"queries"}), {"lengths", "relaxed", "norm"} | (own & {"W"})
    )
    inputs = read_inputs(given, field, folder)
    if "W" in given:
        W = read_table(given["W"], folder)
        require(len(W[0]) == len(inputs[0][0]), "W of another shape")
        inputs = [[times(W, token) for token in part] for part in inputs]
    chosen = read_counts(given["indices"])
    require(len(chosen) == len(inputs), "an index for each input")
    require(all(a < len(part) for a, part in zip(chosen, inputs, strict=True)), "indices of tokens")
    relaxed = read_counts(given["relaxed"]) if "relaxed" in given else []
    require(len(set(relaxed)) == len(relaxed) and all(i < len(inputs) for i in relaxed), "relaxed inputs")
    queries = read_table(given["queries"], folder) if "queries" in given else [[Fraction(1)]]
    require(len(queries) in (1, len(inputs)), "queries")
    rows, levels, names = [], [], []
    for i, (part, a) in enumerate(zip(inputs, chosen, strict=True)):
        query = queries[i if len(queries) > 1 else 0]
        for t, token in enumerate(part):
            if t != a:
                rows.append(tuple((x - y) * q for x, y in zip(part[a], token, strict=True) for q in query))
                levels.append(Fraction(i not in relaxed))
                names.append((i, t))
    require(any(levels), "no constraint, or only relaxed ones")
    shape = (len(inputs[0][0]), len(queries[0])) if "queries" in given else (1, len(inputs[0][0]))
    return _Problem(tuple(rows), tuple(levels), tuple(names), shape)


def _point(node: Any, problem: _Problem, folder: Path) -> Point:
    return tuple(read_point(node, problem.shape, folder))


def _name(item: Any, others: set[str], problem: _Problem) -> int:
    require_mapping(item, "a constraint")
    name: Name
    if "point" in item:
        require_record(item, "a constraint", {"point"} | others)
        name = read_count(item["point"])
    else:
        require_record(item, "a constraint", {"input", "token"} | others)
        name = (read_count(item["input"]), read_count(item["token"]))
    require(name in problem.names, "a constraint that is none")
    return problem.names.index(name)


def _named(node: Any, problem: _Problem) -> set[int]:
    require(isinstance(node, list) and node != [], "a list of constraints")
    found = [_name(item, set(), problem) for item in node]
    require(len(set(found)) == len(found), "a constraint twice")
    return set(found)


def _numbered(node: Any, number: str, problem: _Problem) -> dict[int, Fraction]:
    require(isinstance(node, list) and node != [], "a list of constraints")
    found = {}
    for item in node:
        row = _name(item, {number}, problem)
        require(row not in found, "a constraint twice")
        found[row] = read_number(item[number])
        require(found[row] > 0, f"a {number} that is not positive")
    return found
