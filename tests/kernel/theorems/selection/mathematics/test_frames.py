"""Parts of vectors along a span and beside it, against numpy's projections."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.frames import Frame


@pytest.mark.parametrize("rank", range(4))
def test_lengths_are_those_of_projections(rank: int) -> None:
    """Across a direction u in dimension 4, with a span of any rank; its own rows have no part beside it."""
    rng = np.random.default_rng(rank)
    for _ in range(20):
        # u is the last axis.
        table = np.zeros((5, 4), dtype=int)
        table[:, :3] = rng.integers(-5, 6, (5, rank)) @ rng.integers(-5, 6, (rank, 3))
        vectors = np.zeros((6, 4), dtype=int)
        vectors[:, :3] = rng.integers(-9, 10, (6, 3))
        with working_precision(128):
            frame = Frame(ExactMatrix.rational([[fmpq(int(x)) for x in row] for row in table]))
            both = np.vstack([table, vectors])
            found = frame.lengths(arb_mat([[arb(int(x)) for x in row] for row in both]))
        _, sizes, axes = np.linalg.svd(table[:, :3].astype(float))
        axes = axes[: int((sizes > 1e-9).sum())]
        along = both[:, :3] @ axes.T @ axes
        assert np.allclose([float(inside) for inside, _ in found], np.linalg.norm(along, axis=1), atol=1e-12)
        beside = [float(outside.mid()) for _, outside in found]
        assert np.allclose(beside, np.linalg.norm(both[:, :3] - along, axis=1), atol=1e-12)


def test_nothing_is_beside_a_span_of_all_that_is_across() -> None:
    with working_precision(64):
        frame = Frame(ExactMatrix.rational([[fmpq(1), fmpq(0), fmpq(0)], [fmpq(1), fmpq(1), fmpq(0)]]))
        ((inside, outside),) = frame.lengths(arb_mat([[arb(3), arb(4), arb(0)]]))
    assert inside.overlaps(arb(5))
    assert outside == 0


def test_all_is_beside_a_span_of_nothing() -> None:
    with working_precision(64):
        frame = Frame(ExactMatrix.rational([[fmpq(0), fmpq(0), fmpq(0)]]))
        ((inside, outside),) = frame.lengths(arb_mat([[arb(3), arb(4), arb(0)]]))
    assert inside == 0
    assert outside.overlaps(arb(5))
