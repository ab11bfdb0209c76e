"""Multipliers of a max-margin head that are positive wherever they can be, against linear programs."""

from __future__ import annotations

import random

import numpy as np
import pytest
from flint import fmpq
from scipy.optimize import linprog

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, hard_margin
from certattn.provers.selection.joint_multipliers import floats, full_multipliers, offset
from certattn.provers.selection.quadratic_program import max_margin_multipliers


def drawn(seed: int) -> ExactMatrix:
    """Points (1, b) with small integers b, some of them multiples of others."""
    draw = random.Random(seed)
    dimension, count = draw.choice([1, 2, 3]), draw.randint(2, 8)
    across = [[draw.randint(-2, 2) for _ in range(dimension)] for _ in range(count)]
    across.append([draw.choice([0, 0, -x, -2 * x]) for x in across[0]])
    across += [across[-1]] if draw.random() < 0.3 else []
    return ExactMatrix.rational([[fmpq(1), *map(fmpq, b)] for b in across])


def that_can_be_positive(solution: MaxMargin) -> set[int]:
    """The most t_i <= min(mu_i, 1) with sum mu_i a_i a multiple of the solution: 1 where mu_i can be positive."""
    tight = list(solution.tight)
    table, point, count = floats(solution.rows.take_rows(tight)).T, floats(solution.solution)[0], len(tight)
    found = linprog(
        np.concatenate([np.zeros(count), -np.ones(count), [0]]),
        A_ub=np.hstack([-np.eye(count), np.eye(count), np.zeros((count, 1))]),
        b_ub=np.zeros(count),
        A_eq=np.hstack([table, np.zeros((len(point), count)), -point[:, None]]),
        b_eq=np.zeros(len(point)),
        bounds=[(0, None)] * count + [(0, 1)] * count + [(0, None)],
    )
    return {row for row, t in zip(tight, found.x[count:], strict=False) if t > 0.5}


@pytest.mark.heavy
def test_multipliers_are_positive_wherever_they_can_be() -> None:
    with_none = 0
    for seed in range(150):
        basic = hard_margin(drawn(seed), max_margin_multipliers(drawn(seed)))
        known = offset(basic)
        assert known is not None
        multipliers = full_multipliers(basic, known[1])
        assert multipliers is not None
        solution = hard_margin(basic.rows, multipliers)
        assert solution.solution == basic.solution
        assert min(solution.conditions[:2]) >= 0
        assert solution.complementarity == 0
        assert set(multipliers) == that_can_be_positive(basic)
        with_none += len(multipliers) < len(basic.tight)
    assert with_none >= 20
