"""Descents in doubles, from many points at once, against the formulas written out for one point and one input."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Tokens
from certattn.kernel.theorems.selection.mathematics.selection_constants import GRADIENT, NORMALISED, Rule
from certattn.provers.selection.scouted_descent import scouted_descents

KEYS, SCORES, LENGTHS = [[1, 0], [-1, 2], [0, -1], [2, 1], [0, 3]], [3, 1, 2, 1, 2], (3, 2)
TOKENS = Tokens(ExactMatrix.rational([[fmpq(x) for x in row] for row in KEYS]), LENGTHS, tuple(map(fmpq, SCORES)))


def downhill(point: np.ndarray) -> np.ndarray:
    """-grad F of the exponential loss."""
    total, first = np.zeros(2), 0
    for length in LENGTHS:
        keys, scores = np.array(KEYS[first : first + length]), np.array(SCORES[first : first + length])
        weights = np.exp(keys @ point) / np.exp(keys @ point).sum()
        mean = weights @ scores
        total += np.exp(-mean) * (weights * (scores - mean)) @ keys
        first += length
    return total


@pytest.mark.parametrize("kind", [GRADIENT, NORMALISED])
def test_many_points_at_once_go_where_each_goes(kind: str) -> None:
    starts = np.array([[0.0, 0.0], [1.0, -2.0], [-0.5, 3.0]])
    *_, (last, found) = scouted_descents(TOKENS, "exponential", Rule(kind, fmpq(1, 2), len(LENGTHS)), starts, 20)
    assert last == 20
    for point, end in zip(starts.copy(), found, strict=True):
        for _ in range(last):
            way = downhill(point)
            point += way / np.linalg.norm(way) / 2 if kind == NORMALISED else way / 4
        assert end == pytest.approx(point, rel=1e-9)


def test_a_point_that_is_not_finite_leaves_the_others_as_they_are() -> None:
    starts = np.array([[np.nan, 0.0], [1.0, 0.0]])
    *_, (_, found) = scouted_descents(TOKENS, "exponential", Rule(NORMALISED, fmpq(1, 2), 2), starts, 3)
    assert np.isnan(found[0]).any()
    assert np.isfinite(found[1]).all()
    assert not list(scouted_descents(TOKENS, "exponential", Rule(GRADIENT, fmpq(1), 2), starts[:1], 3))
