"""Whether bounds on a least norm are true, and whether the witness of `max-margin` shows them.

The least norm is found in doubles: as the least (|K|^2 + |Q|^2)/2 for K'Q that satisfies the constraints, by a linear
program, or as the least |p|_l. What the witness shows is computed in fractions, and powers by mpmath.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Protocol

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import linprog, minimize

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import dot, is_semidefinite, to_real

Rows = Sequence[Sequence[Fraction]]
# The search in doubles has about so many digits, and so many of the point.
_NEAR, _NEAR_POINT = 1e-6, 2e-2


class Norm(Protocol):
    """A norm: the least one of a problem and where it is, that of a point, and bounds that a witness shows."""

    def least(self, problem: Any) -> tuple[float, Any]: ...

    def size(self, point: Sequence[Fraction]) -> float: ...

    def upper(self, point: Sequence[Fraction]) -> Any: ...

    def is_dual(self, flat: Sequence[Fraction]) -> bool: ...


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


@dataclass(frozen=True)
class Nuclear:
    """The sum of singular values, with K and Q."""

    shape: tuple[int, int]
    K: Rows
    Q: Rows

    def least(self, problem: Any) -> tuple[float, Any]:
        return least_norm(problem.rows, problem.levels, problem.shape), None

    def size(self, point: Sequence[Fraction]) -> float:
        return float(np.linalg.svd(np.array(point, dtype=float).reshape(self.shape), compute_uv=False).sum())

    @property
    def product(self) -> list[Fraction]:
        return [dot(x, y) for x in zip(*self.K, strict=True) for y in zip(*self.Q, strict=True)]

    def upper(self, point: Sequence[Fraction]) -> Fraction:
        norm = sum((x * x for part in (self.K, self.Q) for row in part for x in row), Fraction(0)) / 2
        return norm + sum((abs(x - y) for x, y in zip(point, self.product, strict=True)), Fraction(0))

    def is_dual(self, flat: Sequence[Fraction]) -> bool:
        """Whether no singular value exceeds 1."""
        _, m = self.shape
        columns = [flat[k::m] for k in range(m)]
        return is_semidefinite(
            [[Fraction(i == j) - dot(x, y) for j, y in enumerate(columns)] for i, x in enumerate(columns)]
        )


@dataclass(frozen=True)
class Power:
    """|p|_l, l = None for the largest size."""

    exponent: Fraction | None

    def least(self, problem: Any) -> tuple[float, Any]:
        return least_power(problem.rows, problem.levels, self.exponent)

    def size(self, point: Sequence[Fraction]) -> float:
        return float(_power_norm(point, self.exponent))

    def upper(self, point: Sequence[Fraction]) -> Any:
        return _power_norm(point, self.exponent)

    def is_dual(self, flat: Sequence[Fraction]) -> bool:
        l = self.exponent  # noqa: E741 - its name
        return bool(_power_norm(flat, Fraction(1) if l is None else None if l == 1 else l / (l - 1)) <= 1)

    def reach(self, size: Any, low: Fraction) -> Any:
        """How far the point of least norm may be, with the constants of uniform convexity."""
        l = to_real(self.exponent)  # noqa: E741 - its name
        with mp.workdps(60):
            s = max(l, mpf(2))
            return ((size**s - to_real(low) ** s) * (1 / (l - 1) if l <= 2 else 2 ** (l - 1) - 1)) ** (1 / s)


def _power_norm(point: Sequence[Fraction], l: Fraction | None) -> Any:  # noqa: E741 - its name
    sizes = [abs(x) for x in point]
    if l is None or max(sizes) == 0:
        return max(sizes)
    if l == 1:
        return sum(sizes, Fraction(0))
    with mp.workdps(60):
        top = to_real(max(sizes))
        return top * sum((to_real(x) / top) ** to_real(l) for x in sizes) ** (1 / to_real(l))


@cache
def least_power(
    rows: tuple[tuple[Fraction, ...], ...], levels: tuple[Fraction, ...], exponent: Fraction | None
) -> tuple[float, Any]:
    """min |p|_l, and where it is where that is one point; inf where no point is feasible."""
    A, r = np.array(rows, dtype=float), np.array(levels, dtype=float)
    count, d = A.shape
    ones, unit = np.ones((d, 1)), np.eye(d)
    if exponent == 1:
        found = linprog(np.ones(2 * d), A_ub=-np.hstack([A, -A]), b_ub=-r)
        return (float(found.fun), None) if found.status == 0 else (np.inf, None)
    below = np.vstack([np.hstack([-A, np.zeros((count, 1))]), np.hstack([unit, -ones]), np.hstack([-unit, -ones])])
    bounds = [(None, None)] * d + [(0, None)]
    largest = linprog(np.eye(d + 1)[d], A_ub=below, b_ub=np.concatenate([-r, np.zeros(2 * d)]), bounds=bounds)
    if largest.status != 0 or exponent is None:
        return (float(largest.fun), None) if largest.status == 0 else (np.inf, None)
    l = float(exponent)  # noqa: E741 - its name
    scale = float(largest.fun)
    # Of the l-th powers, in units in which the largest size is 1.
    found = minimize(
        lambda p: (np.abs(p) ** l).sum() / l,
        largest.x[:d] / scale + 0.01,
        jac=lambda p: np.sign(p) * np.abs(p) ** (l - 1),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda p: scale * (A @ p) - r, "jac": lambda p: scale * A},
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    point = scale * found.x
    return (float((np.abs(point) ** l).sum() ** (1 / l)), point)


def judge_norm(problem: Any, asserts: dict[str, Any], multipliers: dict[int, Fraction], norm: Any) -> Judgement:
    """Of `excess`, `within` and the bounds `at_least` and `at_most` in `asserts`, and the `direction`, or None."""
    least, solution = norm.least(problem)
    point = norm.product if asserts["direction"] is None else asserts["direction"]
    products = [dot(row, point) for row in problem.rows]
    margin = min(x for x, level in zip(products, problem.levels, strict=True) if level)
    feasible = margin > 0 and min(products) >= 0
    if (asserts["direction"] is not None and not feasible) or least == np.inf:
        return Judgement(Truth.FALSE, 0.0, "direction", False)
    sides = []
    if asserts["excess"] is not None:
        sides.append(("excess", norm.size(point) / float(margin), float(1 + asserts["excess"]) * least, _NEAR))
    if asserts["within"] is not None:
        away = [Fraction(float(x)) / margin - Fraction(float(y)) for x, y in zip(point, solution, strict=True)]
        # Of powers the least point is flat, and found to fewer digits.
        sides.append(("within", norm.size(away), float(asserts["within"]), _NEAR_POINT))
    if asserts["at_least"] is not None:
        sides.append(("at_least", float(asserts["at_least"]) * least, 1.0, _NEAR))
    if asserts["at_most"] is not None:
        sides.append(("at_most", 1.0, float(asserts["at_most"]) * least, _NEAR))
    flat = [sum((w * problem.rows[j][k] for j, w in multipliers.items()), Fraction(0)) for k in range(len(point))]
    if not feasible or not norm.is_dual(flat):
        return _judged(sides, False)
    low, high = sum((w * problem.levels[j] for j, w in multipliers.items()), Fraction(0)), norm.upper(point)
    with mp.workdps(60):
        exact = isinstance(high, Fraction)
        up, below, length = high, low if exact else to_real(low), margin if exact else to_real(margin)
        # Beyond the other end a bound is false, also where doubles do not tell.
        if asserts["at_least"] is not None and asserts["at_least"] * low > 1:
            return Judgement(Truth.FALSE, 0.0, "at_least", False)
        stated = {name: x if exact or x is None else to_real(x) for name, x in asserts.items() if name != "direction"}
        if stated["at_most"] is not None and stated["at_most"] * up < length:
            return Judgement(Truth.FALSE, 0.0, "at_most", False)
        shown = (
            (stated["excess"] is None or up <= (1 + stated["excess"]) * below * length)
            and (stated["within"] is None or norm.reach(up / length, low) <= stated["within"])
            and (stated["at_least"] is None or stated["at_least"] * up <= length)
            and (asserts["at_most"] is None or asserts["at_most"] * low >= 1)
        )
    return _judged(sides, bool(shown))


def _judged(sides: Sequence[tuple[str, float, float, float]], shown: bool) -> Judgement:
    """Of left <= right for each, as far as doubles tell."""
    found = [
        (_compared(*side[1:]), (side[2] - side[1]) / max(side[1:3]), side[0]) for side in sides if max(side[1:3]) > 0
    ]
    for truth in (Truth.FALSE, Truth.EQUAL):
        for each, slack, name in found:
            if each is truth:
                return Judgement(truth, slack if truth is Truth.FALSE else 0.0, name, shown)
    return Judgement(Truth.TRUE, float(shown), "", shown)


def _compared(left: float, right: float, near: float) -> Truth:
    """Whether left <= right, as far as doubles tell."""
    if abs(left - right) <= near * max(left, right):
        return Truth.EQUAL
    return Truth.TRUE if left < right else Truth.FALSE
