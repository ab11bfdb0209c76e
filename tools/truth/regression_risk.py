"""Whether a certificate of `regression-risk` is true, over the fractions.

The risk is a sum of squares over w's coordinates. It has degree 4 along a line, so five of its values give every
derivative exactly: no formula of a gradient is used. A Bayes point is where the risk is 0, a saddle where it is not
although all its derivatives are. Endpoints are solved for with mpmath.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.truth.judgement import Comparison, Judgement, exactly, judge_all, worst
from tools.truth.reading import (
    Table,
    dot,
    identity_matrix,
    read_covariance,
    read_items,
    read_number,
    read_table,
    read_vector,
    require,
    require_record,
    solved,
    times,
    to_real,
    transposed,
)

Risk = Callable[[Table, Fraction], Fraction]
_KEYS = {"risk", "gradient", "invariant", "second_derivative", "stationary", "predictions", "endpoint", "shift"}


def judge_risk(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or false; for an endpoint as far as digits go."""
    require_record(given, "given", {"covariance", "parameters"})
    require_record(asserts, "asserts", set(), _KEYS)
    require_record(witness, "witness", set())
    require(len(asserts) > 0, "nothing is stated")
    covariance = read_covariance(given["covariance"], folder)
    size = len(covariance)
    A, b = _parameters(given["parameters"], size, folder)
    found = [exactly(name, left == right) for name, left, right in _identities(covariance, A, b, asserts, folder)]
    if "endpoint" in asserts:
        found += _endpoint(covariance, A, b, asserts["endpoint"], folder)
    return worst(found)


def risk_of(covariance: Table) -> Risk:
    """1/2 E (w'(b Sigma A - I) x)^2: w has independent coordinates of variance 1, x the covariance Sigma."""
    size = len(covariance)

    def risk(A: Table, b: Fraction) -> Fraction:
        total = Fraction(0)
        for i in range(size):
            row = [b * sum(covariance[i][k] * A[k][j] for k in range(size)) - (i == j) for j in range(size)]
            total += sum(row[j] * covariance[j][k] * row[k] for j in range(size) for k in range(size))
        return total / 2

    return risk


def derivatives(risk: Risk, A: Table, b: Fraction, H: Table, h: Fraction) -> tuple[Fraction, Fraction]:
    """The first two along a line, of a polynomial of degree 4 in t from its values at t = -2, ..., 2."""
    values = []
    for t in (-2, -1, 0, 1, 2):
        moved = [[x + t * y for x, y in zip(row, other, strict=True)] for row, other in zip(A, H, strict=True)]
        values.append(risk(moved, b + t * h))
    first = (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / 12
    second = (-values[0] + 16 * values[1] - 30 * values[2] + 16 * values[3] - values[4]) / 12
    return first, second


def slopes(risk: Risk, A: Table, b: Fraction) -> tuple[Table, Fraction]:
    """The gradient, coordinate by coordinate."""
    size = len(A)
    zero = [[Fraction(0)] * size] * size

    def along(i: int, j: int) -> Fraction:
        unit = [[Fraction((k, m) == (i, j)) for m in range(size)] for k in range(size)]
        return derivatives(risk, A, b, unit, Fraction(0))[0]

    return [[along(i, j) for j in range(size)] for i in range(size)], derivatives(risk, A, b, zero, Fraction(1))[0]


def _identities(covariance: Table, A: Table, b: Fraction, asserts: Any, folder: Path) -> list[tuple[str, Any, Any]]:
    """What is stated beside what is true, by name."""
    size, risk = len(A), risk_of(covariance)
    found: list[tuple[str, Any, Any]] = []
    if "risk" in asserts:
        found.append(("risk", read_number(asserts["risk"]), risk(A, b)))
    if "gradient" in asserts:
        found.append(("gradient", _parameters(asserts["gradient"], size, folder), slopes(risk, A, b)))
    if "invariant" in asserts:
        found.append(("invariant", read_number(asserts["invariant"]), _invariant(A, b)))
    if "second_derivative" in asserts:
        stated = asserts["second_derivative"]
        require_record(stated, "second_derivative", {"along", "value"})
        H, h = _parameters(stated["along"], size, folder)
        found.append(("second_derivative", read_number(stated["value"]), derivatives(risk, A, b, H, h)[1]))
    if "stationary" in asserts:
        require(asserts["stationary"] in ("bayes", "saddle"), "a kind of stationary point")
        flat = risk(A, b) == 0 if asserts["stationary"] == "bayes" else _is_saddle(risk, A, b)
        found.append(("stationary", True, flat))
    for index, stated in enumerate(read_items(asserts, "predictions")):
        require_record(stated, "a prediction", {"w", "query", "value"})
        w, x = read_vector(stated["w"], folder), read_vector(stated["query"], folder)
        require(len(w) == len(x) == size, "w or x of another dimension")
        truth = b * dot(w, times(covariance, times(A, x)))
        found.append((f"predictions[{index}]", read_number(stated["value"]), truth))
    if "shift" in asserts:
        product = [[b * entry for entry in row] for row in A]
        found.append(("shift", *shifted(asserts["shift"], covariance, product, folder)))
    return found


def shifted(stated: Any, covariance: Table, product: Table, folder: Path) -> tuple[Fraction, Fraction]:
    """The stated risk at test time, and 1/2 E (w'z)^2 with z = F x: sum_ij of W_ij E z_i z_j, at bA."""
    require_record(stated, "shift", {"risk"}, {"tokens", "query", "tasks"})
    require(len(stated) > 1, "nothing is shifted")
    size = range(len(covariance))
    laws = {"tokens": covariance, "query": covariance, "tasks": identity_matrix(len(covariance))}
    for name in laws.keys() & stated.keys():
        laws[name] = read_covariance(stated[name], folder, singular=True)
        require(len(laws[name]) == len(covariance), "a covariance of another size")
    tokens, query, tasks = laws.values()
    rows = [[dot(tokens[i], [product[k][j] for k in size]) - (i == j) for j in size] for i in size]
    images = [times(query, row) for row in rows]
    risk = sum((tasks[i][j] * dot(rows[i], images[j]) for i in size for j in size), Fraction(0)) / 2
    return read_number(stated["risk"]), risk


def _is_saddle(risk: Risk, A: Table, b: Fraction) -> bool:
    table, slope = slopes(risk, A, b)
    return slope == 0 and all(entry == 0 for row in table for entry in row) and risk(A, b) != 0


def _invariant(A: Table, b: Fraction) -> Fraction:
    return sum((entry * entry for row in A for entry in row), Fraction(0)) - b * b


def _parameters(stated: Any, size: int, folder: Path) -> tuple[Table, Fraction]:
    require_record(stated, "parameters", {"A", "b"})
    A, b = read_table(stated["A"], folder), read_number(stated["b"])
    require((len(A), len(A[0])) == (size, size), "A of another shape")
    return A, b


def _endpoint(covariance: Table, A: Table, b: Fraction, stated: Any, folder: Path) -> list[Judgement]:
    """The root b of b^2 (b^2 + delta) = |Sigma^-1|_F^2 with the sign of the given b, and Sigma^-1 / b."""
    size = len(A)
    require_record(stated, "endpoint", {"A", "b", "radius"}, {"trace"})
    end, end_b = _parameters({"A": stated["A"], "b": stated["b"]}, size, folder)
    radius, delta = read_number(stated["radius"]), _invariant(A, b)
    require(radius >= 0 and b != 0, "an endpoint")
    columns = [solved(covariance, unit) for unit in identity_matrix(size)]
    inverse = transposed([column for column in columns if column is not None])
    squares = sum((entry * entry for row in inverse for entry in row), Fraction(0))

    def root() -> mpf:
        """By Newton's method from above, where b^4 + delta b^2 is convex and increasing."""
        d, s = to_real(delta), to_real(squares)
        x = mp.sqrt(abs(d)) + mp.sqrt(mp.sqrt(s))
        for _ in range(10_000):
            step = (x**4 + d * x**2 - s) / (4 * x**3 + 2 * d * x)
            x -= step
            if abs(step) < mpf(10) ** (3 - mp.dps) * x:
                break
        return x if b > 0 else -x

    def largest() -> mpf:
        at = root()
        pairs = [(inverse[i][j], end[i][j]) for i in range(size) for j in range(size)]
        return max(abs(to_real(x) / at - to_real(y)) for x, y in pairs)

    found = [judge_all([Comparison("endpoint.A", largest, radius)])]
    found.append(judge_all([Comparison("endpoint.b", lambda: abs(root() - to_real(end_b)), radius)]))
    if "trace" in stated:
        found.append(exactly("endpoint.trace", read_number(stated["trace"]) == squares))
    return found
