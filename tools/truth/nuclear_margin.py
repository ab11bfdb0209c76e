"""Whether bounds on a least nuclear norm are true, and whether the witness of `max-margin` shows them.

The least norm is found in doubles, as the least (|K|^2 + |Q|^2)/2 for K'Q that satisfies the constraints. What the
witness shows is computed in fractions, and that no singular value exceeds 1 by elimination.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import dot, is_semidefinite

Rows = Sequence[Sequence[Fraction]]
# The search in doubles has about so many digits.
_NEAR = 1e-6


@cache
def least_norm(rows: tuple[tuple[Fraction, ...], ...], levels: tuple[Fraction, ...], shape: tuple[int, int]) -> float:
    """min |W|_*, from the best of a few starts; inf where none of them comes to a feasible point."""
    A, r = np.array(rows, dtype=float), np.array(levels, dtype=float)
    scale = float(np.abs(A).max()) or 1.0
    (d, m), best = shape, np.inf
    rank, rng = min(d, m), np.random.default_rng(0)

    def product(x: Any) -> Any:
        return x[: rank * d].reshape(rank, d).T @ x[rank * d :].reshape(rank, m)

    for _ in range(5):
        found = minimize(
            lambda x: x @ x / 2,
            rng.standard_normal(rank * (d + m)),
            jac=lambda x: x,
            method="SLSQP",
            constraints={"type": "ineq", "fun": lambda x: A @ product(x).ravel() / scale - r},
            options={"maxiter": 1000, "ftol": 1e-15},
        )
        if (A @ product(found.x).ravel() / scale - r).min() > -(_NEAR**1.5):
            best = min(best, found.fun / scale)
    return float(best)


def judge_nuclear(
    problem: Any, asserts: dict[str, Any], multipliers: dict[int, Fraction], factors: tuple[Rows, Rows]
) -> Judgement:
    """Of `excess` and the bounds `at_least` and `at_most` in `asserts`, and the `direction` in one row, or None."""
    K, Q = factors
    least = least_norm(problem.rows, problem.levels, problem.shape)
    product = [dot(x, y) for x in zip(*K, strict=True) for y in zip(*Q, strict=True)]
    stated = asserts["direction"]
    point = product if stated is None else stated
    products = [dot(row, point) for row in problem.rows]
    margin = min(x for x, level in zip(products, problem.levels, strict=True) if level)
    feasible = margin > 0 and min(products) >= 0
    if (stated is not None and not feasible) or least == np.inf:
        return Judgement(Truth.FALSE, 0.0, "direction", False)
    sides = []
    if asserts["excess"] is not None:
        size = np.linalg.svd(np.array(point, dtype=float).reshape(problem.shape), compute_uv=False).sum()
        sides.append(("excess", float(size / float(margin)), float(1 + asserts["excess"]) * least))
    if asserts["at_least"] is not None:
        sides.append(("at_least", float(asserts["at_least"]) * least, 1.0))
    if asserts["at_most"] is not None:
        sides.append(("at_most", 1.0, float(asserts["at_most"]) * least))
    low, high = _enclosed(problem, multipliers, factors, point, product)
    if not feasible or low is None:
        return _judged(sides, False)
    # Beyond the other end a bound is false, also where doubles do not tell.
    if asserts["at_least"] is not None and asserts["at_least"] * low > 1:
        return Judgement(Truth.FALSE, 0.0, "at_least", False)
    if asserts["at_most"] is not None and asserts["at_most"] * high < margin:
        return Judgement(Truth.FALSE, 0.0, "at_most", False)
    shown = (
        (asserts["excess"] is None or high <= (1 + asserts["excess"]) * low * margin)
        and (asserts["at_least"] is None or asserts["at_least"] * high <= margin)
        and (asserts["at_most"] is None or asserts["at_most"] * low >= 1)
    )
    return _judged(sides, shown)


def _judged(sides: Sequence[tuple[str, float, float]], shown: bool) -> Judgement:
    """Of left <= right for each."""
    found = [(_compared(left, right), (right - left) / max(left, right), name) for name, left, right in sides]
    for truth in (Truth.FALSE, Truth.EQUAL):
        for each, slack, name in found:
            if each is truth:
                return Judgement(truth, slack if truth is Truth.FALSE else 0.0, name, shown)
    return Judgement(Truth.TRUE, float(shown), "", shown)


def _compared(left: float, right: float) -> Truth:
    """Whether left <= right, as far as doubles tell."""
    if abs(left - right) <= _NEAR * max(left, right):
        return Truth.EQUAL
    return Truth.TRUE if left < right else Truth.FALSE


def _enclosed(
    problem: Any,
    multipliers: dict[int, Fraction],
    factors: tuple[Rows, Rows],
    point: Sequence[Fraction],
    product: Sequence[Fraction],
) -> tuple[Fraction | None, Fraction]:
    """What multipliers show the least norm to be at least, if anything, and a bound on the norm of the point."""
    _, m = problem.shape
    flat = [sum((w * problem.rows[j][k] for j, w in multipliers.items()), Fraction(0)) for k in range(len(point))]
    columns = [flat[k::m] for k in range(m)]
    room = [[Fraction(i == j) - dot(x, y) for j, y in enumerate(columns)] for i, x in enumerate(columns)]
    low = sum((w * problem.levels[j] for j, w in multipliers.items()), Fraction(0))
    norm = sum((x * x for part in factors for row in part for x in row), Fraction(0)) / 2
    norm += sum((abs(x - y) for x, y in zip(point, product, strict=True)), Fraction(0))
    return (low if is_semidefinite(room) else None), norm
