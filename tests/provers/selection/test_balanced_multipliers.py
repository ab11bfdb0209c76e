"""Multipliers where they are not unique: those for which w is largest."""

from __future__ import annotations

from pathlib import Path

import pytest
from flint import arb, fmpq

import certattn
from certattn import Verdict
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, hard_margin, log_weight
from certattn.provers.selection.balanced_multipliers import balanced
from certattn.provers.selection.quadratic_program import max_margin_multipliers


def instance(rows: list[list[int]], gaps: list[int]) -> tuple[Selection, MaxMargin, dict[int, float]]:
    """One input: the chosen token has key 0 and score 0, the others these keys' negatives and scores -gap."""
    keys = ExactMatrix.rational([[fmpq(0)] * len(rows[0]), *([fmpq(-x) for x in row] for row in rows)])
    tokens = Tokens(keys, (len(rows) + 1,), (fmpq(0), *(fmpq(-gap) for gap in gaps)))
    selection = Selection(tokens, (0,))
    solution = hard_margin(selection.differences, max_margin_multipliers(selection.differences))
    return selection, solution, {j: float(gap) for j, gap in enumerate(gaps) if gap > 0}


def weight(solution: MaxMargin, gains: dict[int, float]) -> float:
    return float(log_weight({j: arb(gain) for j, gain in gains.items()}, solution.multipliers))


@pytest.mark.parametrize(
    ("rows", "gaps"),
    [
        ([[1, 0], [1, 0], [1, 0]], [1, 2, 5]),
        ([[1, 1], [1, -1], [1, 0], [3, 1]], [1, 1, 4, 2]),
        ([[1, 1, 0], [1, -1, 0], [1, 0, 1], [1, 0, -1], [1, 0, 0], [1, 0, 0]], [1, 2, 3, 4, 5, 6]),
    ],
)
def test_the_point_stays_and_w_is_largest(rows: list[list[int]], gaps: list[int]) -> None:
    selection, solution, gains = instance(rows, gaps)
    found = balanced(selection, solution, gains)
    assert found.solution == solution.solution
    assert found.conditions.multiplier > 0
    assert found.conditions.complementarity == 0
    with working_precision(128):
        best = weight(found, gains)
        assert best > weight(solution, gains) + 1e-3
        # Along the segment from any other multipliers w does not grow.
        for part in (fmpq(1, 100), fmpq(1, 2)):
            mixed = {j: (1 - part) * found.multipliers.get(j, fmpq(0)) for j in gains}
            for j, value in solution.multipliers.items():
                mixed[j] += part * value
            assert weight(hard_margin(solution.rows, {j: v for j, v in mixed.items() if v > 0}), gains) <= best + 1e-12


def test_unique_multipliers_and_a_bad_neighbour_are_left_alone() -> None:
    selection, solution, gains = instance([[1, 1], [1, -1]], [1, 1])
    assert balanced(selection, solution, gains) is solution
    selection, solution, gains = instance([[1, 0], [1, 0]], [1, -1])
    assert balanced(selection, solution, gains) is solution


def test_a_neighbour_without_weight_on_any_face_is_left_out() -> None:
    """(1, 1) is tight, and no multipliers but 0 fit it."""
    selection, solution, gains = instance([[1, 0], [1, 0], [1, 1]], [1, 1, 1])
    found = balanced(selection, solution, gains)
    assert found.solution == solution.solution
    assert set(found.multipliers) == {0, 1}


@pytest.mark.parametrize("copies", [1, 2, 6])
@pytest.mark.parametrize("theorem", ["global", "local"])
def test_copies_of_a_token(copies: int, theorem: str, tmp_path: Path) -> None:
    out = tmp_path / "copies.yaml"
    certattn.generate(
        "selection-direction",
        out,
        keys=[[[0, 0], [1, 1]], [[1, -1], *([[0, 0]] * copies)]],
        scores=[[0, 1], [1, *([0] * copies)]],
        loss="logistic",
        descent={"rule": "gradient", "step": 1},
        start=[3, 0],
        theorem=theorem,
    )
    assert certattn.check(out).verdict is Verdict.VERIFIED
