"""Majorants of q = E sum p_i^2: their averages by quadrature in doubles, tables, and how q depends on L and v."""

from __future__ import annotations

from itertools import pairwise
from math import log, pi, sqrt

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.mathematics.weight_growth import MOST_CONCAVE
from certattn.kernel.theorems.training.risk_gap import (
    Logistic,
    Majorant,
    Power,
    Tabulated,
    chord_excess,
    outer_moment,
)

TABLE = Tabulated((fmpq(0), fmpq(1), fmpq(3)), (fmpq(1, 10), fmpq(1, 5), fmpq(1)))
_GRID = np.linspace(0, 30, 600_001)


def values(majorant: Majorant, v: np.ndarray) -> np.ndarray:
    """Q once more, in doubles."""
    if isinstance(majorant, Logistic):
        start = log(majorant.length - 1)
        curve = 1 / (1 + (majorant.length - 1) * np.exp(-np.minimum(v, start)))
        return np.where(v <= start, curve, 0.5 + (v - start) / 4)
    if isinstance(majorant, Power):
        theta = float(majorant.theta.p) / float(majorant.theta.q)
        return theta**theta * (1 - theta) ** (1 - theta) * (majorant.length - 1.0) ** -theta * np.exp(theta * v)
    return np.where(v < 1, 0.1 + 0.1 * v, 0.2 + 0.4 * (v - 1))


@pytest.mark.parametrize("scale", [fmpq(1, 16), fmpq(1, 3), fmpq(2)])
@pytest.mark.parametrize(
    "majorant", [Logistic(2), Logistic(3), Logistic(50), Logistic(10**6), Power(50, fmpq(1, 5)), TABLE], ids=str
)
def test_averages(majorant: Majorant, scale: fmpq) -> None:
    square = _GRID * _GRID
    v = float(scale.p) / float(scale.q) * square
    for k in (0, 1, 2, 3):
        weighed = values(majorant, v) * square**k * 2 * np.exp(-square / 2) / sqrt(2 * pi)
        expected = float(np.sum((weighed[1:] + weighed[:-1]) / 2)) * _GRID[1]
        with working_precision(64):
            found = majorant.average(k, arb(scale), 64)
        assert abs(float(found) - expected) < 1e-8 * expected
        assert found.rad() < found.mid() * arb(10) ** -9


def test_averages_that_are_infinite_are_not_finite() -> None:
    with working_precision(64):
        assert Power(10, fmpq(1, 2)).average(0, arb(1), 64).is_finite() is not True
        assert Logistic(10).average(0, arb(0), 64).is_finite() is not True


def test_outer_moments_of_all_numbers_are_those_of_a_normal_variable() -> None:
    with working_precision(64):
        for k, moment in enumerate((1, 1, 3, 15)):
            assert outer_moment(k, arb(0)).contains(arb(moment))


def q_at(length: int, v: fmpq) -> arb:
    with working_precision(64):
        return PowerSums(length, v, 2, 40).mean(2)


@pytest.mark.parametrize("length", [2, 3, 10, 60])
def test_a_table_of_q_itself_is_below_q_between_its_nodes(length: int) -> None:
    """Lifted by what q may exceed its chords by it is above."""
    nodes = tuple(fmpq(k, 2) for k in range(6))
    known = [q_at(length, v) for v in nodes]
    with working_precision(64):
        exact = [fmpq(int(float(q) * 10**9), 10**9) for q in known]
        lift = [fmpq(int(float(chord_excess(fmpq(1, 2), q)) * 10**9) + 3, 10**9) for q in known]
        above = tuple(q + max(e, f) for q, e, f in zip(exact, lift, [*lift[1:], lift[-1]], strict=True))
        assert (Tabulated(nodes, above).least_excess(length, 40) >= 0) is True
        assert (Tabulated(nodes, tuple(exact)).least_excess(length, 40) < 0) is True


@pytest.mark.parametrize("length", [2, 3, 10, 60, 1000])
def test_chords_and_q_itself(length: int) -> None:
    """q at the middle of a cell exceeds its chord by less than is said."""
    for k in range(8):
        a, b = fmpq(k, 1), fmpq(k + 1, 1)
        left, middle, right = (q_at(length, v) for v in (a, (a + b) / 2, b))
        assert (middle - (left + right) / 2 <= chord_excess(b - a, right)) is True
    assert fmpq(13, 12) == MOST_CONCAVE


@pytest.mark.parametrize("v", [fmpq(1, 10), fmpq(1), fmpq(6), fmpq(20)])
def test_longer_prompts_have_smaller_q(v: fmpq) -> None:
    found = [q_at(length, v) for length in (2, 3, 4, 5, 9, 17, 100, 1000, 10**6)]
    assert all((a > b) is True for a, b in pairwise(found))


def test_what_is_convex_and_what_is_not() -> None:
    assert TABLE.least_bend() == fmpq(1, 10)
    falling = Tabulated((fmpq(0), fmpq(1), fmpq(2)), (fmpq(1), fmpq(1, 2), fmpq(1)))
    bent = Tabulated((fmpq(0), fmpq(1), fmpq(2)), (fmpq(0), fmpq(1), fmpq(3, 2)))
    assert falling.least_bend() < 0
    assert bent.least_bend() < 0
