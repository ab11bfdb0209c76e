"""Multipliers of a max-margin head that are positive wherever they can be, and comparators for the joint path.

For tight rows a_i (<a_i, v> = 1, a_i = u / |v| + b_i with b_i orthogonal to u) the q that minimises
sum_i e^{-<b_i, q>} has weights w_i in proportion to e^{-<b_i, q>} with sum_i w_i b_i = 0: these are the multipliers of
the largest entropy, up to a factor, and r u + q the head that the loss prefers at a large norm r.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, hard_margin
from certattn.provers.rounding import as_float
from certattn.provers.selection.active_set import independent_rows
from certattn.provers.selection.quadratic_program import NotSeparableError, max_margin_multipliers

Array = np.ndarray[Any, Any]

_STEPS = 200
# Where the spread of the exponents grows beyond this, some weight tends to 0: no minimum is attained. Steps go on to
# a little more, so that such a weight is told from one that is only small.
_SPREAD, _MORE = 20.0, 25.0
_DIGITS = 12


def floats(matrix: ExactMatrix) -> Array:
    return np.array([[as_float(x) for x in row] for row in matrix.to_rows()])


def offset(solution: MaxMargin) -> tuple[Array, dict[int, float]] | None:
    """q, and the weights of the tight rows, which sum to 1. Where no q attains the minimum, as some row has no weight
    in it, that of the others; None where steps do not end."""
    tight = list(solution.tight)
    while tight:
        q, exponents = _least(solution, tight)
        if np.ptp(exponents) <= _SPREAD:
            return q, dict(zip(tight, map(float, _weights(exponents)), strict=True))
        # The products of the other rows with q grow without bound.
        tight = [row for row, x in zip(tight, exponents, strict=True) if x <= exponents.min() + _SPREAD]
    return None


def _least(solution: MaxMargin, tight: Sequence[int]) -> tuple[Array, Array]:
    """q, and the exponents <b_i, q> of these rows."""
    rows = floats(solution.rows.take_rows(tight))
    v = floats(solution.solution)[0]
    across = rows - np.outer(rows @ v, v) / (v @ v)
    scale = max(float(np.abs(across).max()), 1e-300)
    scaled, q = across / scale, np.zeros(len(v))
    for _ in range(_STEPS):
        weights = _weights(scaled @ q)
        gradient = -weights @ scaled
        if np.linalg.norm(gradient) < 1e-13:
            break
        hessian = (scaled * weights[:, None]).T @ scaled - np.outer(gradient, gradient)
        step = -np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
        size = float(np.abs(scaled @ step).max())
        q = q + step * min(1.0, 1.0 / size if size > 0 else 1.0)
        if np.ptp(scaled @ q) > _MORE:
            break
    return q / scale, scaled @ q


def _weights(exponents: Array) -> Array:
    powers = np.exp(exponents.min() - exponents)
    found: Array = powers / powers.sum()
    return found


def full_multipliers(solution: MaxMargin, weights: Mapping[int, float]) -> dict[int, fmpq] | None:
    """Multipliers of the same point near these weights of tight rows, all positive; None where none are found."""
    total = solution.norm_squared
    basis = independent_rows(solution.rows, sorted(weights, key=lambda row: -weights[row]))
    near = {row: fmpq(round(weight * 10**_DIGITS), 10**_DIGITS) * total for row, weight in weights.items()}
    rest = [row for row in weights if row not in basis]
    target = solution.solution
    for row in rest:
        target = target - solution.rows.take_rows([row]).scaled(near[row])
    found = {row: near[row] for row in rest} | _combination(solution.rows.take_rows(basis), basis, target)
    return found if min(found.values()) > 0 else None


def _combination(rows: ExactMatrix, names: Sequence[int], target: ExactMatrix) -> dict[int, fmpq]:
    """The multiples of linearly independent rows whose sum is the target."""
    gram, right = rows @ rows.T, rows @ target.T
    size = rows.rows
    table = fmpq_mat(size, size, [x for row in gram.to_rows() for x in row])
    solved = table.solve(fmpq_mat(size, 1, [x for row in right.to_rows() for x in row]))
    return {name: solved[k, 0] for k, name in enumerate(names)}


def comparator(solution: MaxMargin, q: Array, norm: fmpq) -> list[fmpq] | None:
    """A point of this norm or a little less in the direction of norm * u + q, u that of the solution; None where q is
    no small part of it."""
    point = floats(solution.solution)[0]
    size = as_float(norm)
    if not size > 2 * np.linalg.norm(q):
        return None
    shifted = size * point / np.linalg.norm(point) + q
    unit = shifted / np.linalg.norm(shifted) * (1 - 1e-14)
    entries = [fmpq(round(float(x) * 10**15), 10**15) * norm for x in unit]
    return entries if sum((x * x for x in entries), fmpq(0)) <= norm * norm else None


def attention_offset(attention: MaxMargin) -> Array | None:
    """The shortest q with <z_j, q> >= 1 for tight pairs of level 0 and >= 0 for other tight pairs.

    A multiple of it, added to p_mm, breaks the ties between tokens of inputs outside the support. None without ties.
    """
    tight = list(attention.tight)
    levels = [1 - attention.levels[j] for j in tight]
    if not any(levels):
        return None
    rows = attention.rows.take_rows(tight)
    try:
        found = hard_margin(rows, max_margin_multipliers(rows, levels)).solution
    except NotSeparableError:
        return None
    shift: Array = floats(found)[0]
    return shift
