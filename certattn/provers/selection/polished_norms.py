"""Points of least norm |p|_l to many digits, from those in doubles: which constraints are tight is believed of them.

For l = 1 and infinity a vertex is solved for, exactly. For others Newton's method in many bits solves <z_j, p> = r_j of
the tight constraints, p being the gradient of |y|_l'^2 / 2 at y = sum_j lambda_j z_j.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.margin_norms import PowerNorm, conjugate, power, power_norm
from certattn.kernel.theorems.selection.max_margin import MarginProblem
from certattn.provers.rounding import as_float, last_place, midpoint, round_nearest
from certattn.provers.selection.active_set import independent_rows
from certattn.provers.selection.smooth_powers import Found, size_in_doubles

Array = np.ndarray[Any, Any]
Polished = tuple[ExactMatrix, Mapping[int, fmpq]]

# What counts as 0 beside the largest, in doubles.
_NEGLIGIBLE = 1e-5
_NEWTON = 30
# Digits of what a vertex leaves open.
_GUESSED = 12


def exact_powers(problem: MarginProblem, norm: PowerNorm, found: Found, digits: int) -> Polished | None:
    """A vertex of l = 1 or infinity, with its multipliers; None where doubles do not tell which it is.

    With an unknown for each entry that is not 0, or that is not the largest, and one for the largest size, the tight
    constraints are C x = r, and the multipliers C' lambda = c. Where they leave some of x open, doubles do not.
    """
    sizes, numbers = np.abs(found.point), found.multipliers
    active = [int(j) for j in np.argsort(-numbers) if numbers[j] > _NEGLIGIBLE * numbers.max()]
    signs = [fmpq(int(np.sign(x))) for x in found.point]
    if norm.exponent is None:
        free = [int(k) for k in np.flatnonzero(sizes < (1 - _NEGLIGIBLE) * sizes.max())]
        bound = [k for k in range(len(sizes)) if k not in set(free)]
    else:
        free, bound = [int(k) for k in np.flatnonzero(sizes > _NEGLIGIBLE * sizes.max())], []
    top = [round_nearest(fmpq(*float(sizes.max()).as_integer_ratio()), fmpq(1, 10**12))] if bound else []
    guess = [*top, *_rounded([fmpq(*float(x).as_integer_ratio()) for x in found.point], min(digits, _GUESSED))]
    guess = [*top, *(guess[len(top) + k] for k in free)]
    wanted = [fmpq(1), *(fmpq(0) for _ in free)] if bound else [signs[k] for k in free]
    rows = [problem.rows.row(j) for j in active]
    edges = [[sum((row[k] * signs[k] for k in bound), fmpq(0))] if bound else [] for row in rows]
    table = [[*edge, *(row[k] for k in free)] for edge, row in zip(edges, rows, strict=True)]
    solved = _solved(ExactMatrix.rational(table), [problem.levels[j] for j in active], wanted, guess)
    if solved is None:
        return None
    entries, multipliers = solved
    if min(multipliers.values()) < 0:
        return None
    point = [signs[k] * entries[0] for k in range(len(sizes))] if bound else [fmpq(0)] * len(sizes)
    for k, entry in zip(free, entries[len(top) :], strict=True):
        point[k] = entry
    return ExactMatrix.row_vector(point), {active[i]: value for i, value in multipliers.items() if value > 0}


def _solved(
    C: ExactMatrix, levels: list[fmpq], wanted: list[fmpq], guess: list[fmpq]
) -> tuple[list[fmpq], dict[int, fmpq]] | None:
    """C x = r and C' lambda = c on as many independent rows and columns as there are, the first ones, and x beside them
    as guessed; None where C is 0."""
    rows = independent_rows(C, list(range(C.rows)))
    if not rows:
        return None
    kept = C.take_rows(rows)
    columns = independent_rows(kept.T, list(range(kept.columns)))
    others, square = [k for k in range(kept.columns) if k not in set(columns)], kept.T.take_rows(columns).T
    beside = [sum((kept.entry(i, k) * guess[k] for k in others), fmpq(0)) for i in range(kept.rows)]
    right = fmpq_mat(len(rows), 1, [levels[j] - x for j, x in zip(rows, beside, strict=True)])
    table, entries = fmpq_mat(square.to_rows()), list(guess)
    for k, entry in zip(columns, table.solve(right).entries(), strict=True):
        entries[k] = entry
    numbers = table.transpose().solve(fmpq_mat(len(columns), 1, [wanted[k] for k in columns])).entries()
    return entries, dict(zip(rows, numbers, strict=True))


def polished_powers(problem: MarginProblem, norm: PowerNorm, found: Found, digits: int) -> Polished | None:
    """For 1 < l < infinity, rounded to so many digits; None where Newton's method does not come to a solution."""
    assert norm.exponent is not None
    dual = conjugate(norm.exponent)
    assert dual is not None
    slacks = np.array([float(x) for x in _products(problem, found)])
    numbers = found.multipliers * float(np.abs(found.point).max())
    active = [int(j) for j in np.flatnonzero(numbers / numbers.max() > slacks)]
    columns = [k for k in range(problem.rows.columns) if any(problem.rows.entry(j, k) != 0 for j in active)]
    if not active:
        return None
    with working_precision(4 * digits + 128):
        Z = arb_mat([[arb(problem.rows.entry(j, k)) for k in columns] for j in active])
        levels = arb_mat(len(active), 1, [arb(problem.levels[j]) for j in active])
        unknown = _matched(problem, found, active, dual)
        for _ in range(_NEWTON):
            y = _middle(Z.transpose() * unknown)
            gradient, slope = _gradient(y, dual)
            rest = levels - Z * gradient
            try:
                step = (Z * slope * Z.transpose()).mid().solve(rest.mid())
            except ZeroDivisionError:
                return None
            unknown = _middle(unknown + step)
            if max(abs(entry) for entry in step.entries()) < max(abs(entry) for entry in unknown.entries()) * arb(
                10
            ) ** -(digits + 4):
                break
        if not all(entry.is_finite() for entry in unknown.entries()):
            return None
        y = _middle(Z.transpose() * unknown)
        gradient, _ = _gradient(y, dual)
        length = power_norm([abs(midpoint(entry)) for entry in y.entries()], dual)
        shorter = (1 - arb(10) ** -(digits - 1)) / length
        multipliers = _rounded([midpoint(entry * shorter) for entry in unknown.entries()], digits)
        entries = _rounded([midpoint(entry) for entry in gradient.entries()], digits)
    if min(multipliers) < 0:
        return None
    point = [fmpq(0)] * problem.rows.columns
    for k, entry in zip(columns, entries, strict=True):
        point[k] = entry
    kept = {j: value for j, value in zip(active, multipliers, strict=True) if value > 0}
    return ExactMatrix.row_vector(point), kept


def _products(problem: MarginProblem, found: Found) -> list[float]:
    """The slacks at the point, made to fit."""
    rows = np.array([[as_float(entry) for entry in row] for row in problem.rows.to_rows()])
    products, levels = rows @ found.point, np.array([as_float(level) for level in problem.levels])
    return list(products / products[levels > 0].min() - levels)


def _matched(problem: MarginProblem, found: Found, active: Sequence[int], dual: fmpq) -> arb_mat:
    """The multipliers in doubles, times what makes |y|_l' the norm of the point."""
    rows = np.array([[as_float(entry) for entry in problem.rows.row(j)] for j in active])
    y = found.multipliers[active] @ rows
    factor = size_in_doubles(found.point, conjugate(dual)) / size_in_doubles(y, dual)
    return arb_mat(len(active), 1, [arb(float(x) * factor) for x in found.multipliers[active]])


def _gradient(y: arb_mat, exponent: fmpq) -> tuple[arb_mat, arb_mat]:
    """Of |y|_l'^2 / 2: |y|^(2 - l') sign(y_k) |y_k|^(l' - 1), and its derivatives."""
    sizes = [abs(entry) for entry in y.entries()]
    signs = [arb(1) if entry > 0 else arb(-1) for entry in y.entries()]
    length = power(sum((power(size, exponent) for size in sizes), arb(0)), 1 / exponent)
    beside = [sign * power(size / length, exponent - 1) for sign, size in zip(signs, sizes, strict=True)]
    count, more = len(sizes), arb(exponent - 1)
    slope = [
        [(2 - arb(exponent)) * a * b + (more * power(size / length, exponent - 1) * length / size if i == k else 0)
         for k, b in enumerate(beside)]
        for i, (a, size) in enumerate(zip(beside, sizes, strict=True))
    ]  # fmt: skip
    return _middle(arb_mat(count, 1, [length * b for b in beside])), _middle(arb_mat(slope))


def _middle(matrix: arb_mat) -> arb_mat:
    return matrix.mid()


def _rounded(values: Sequence[fmpq], digits: int) -> list[fmpq]:
    unit = last_place(max(map(abs, values)), digits)
    return [round_nearest(value, unit) for value in values]
