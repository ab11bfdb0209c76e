"""Lines above what a query adds: the lemmas in numbers, the bound once more in doubles, and gaps in the ball."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.weight_growth import weights
from certattn.kernel.theorems.training.gap_lines import FALLS, MOST_FALLING, MOST_RISING, Gap, Lines
from certattn.provers.training.gap_shells import lines
from tools.truth.risk_gap import gap, lines_excess

Array = np.ndarray


def bound(found: Lines, squares: list[float], A_squared: float, b_squared: float) -> float:
    low, high = min(squares), max(squares)
    with working_precision(64):
        task = Gap(len(squares), arb(sum(squares)), arb(low), arb(high), arb(high * high * A_squared), arb(b_squared))
        return float(found.excess(task, 32).mid())


def made(length: int, squares: list[float], A_squared: float, b_squared: float) -> Lines:
    low, high = min(squares), max(squares)
    with working_precision(64):
        scale = arb(high * high * A_squared)
        return lines(length, Gap(len(squares), arb(sum(squares)), arb(low), arb(high), scale, arb(b_squared)))


@pytest.mark.parametrize("v", [fmpq(1, 8), fmpq(1), fmpq(3), fmpq(9)])
def test_what_is_taken_off_q_leaves_what_falls_with_the_length(v: fmpq) -> None:
    """For every theta up to 9/2; 6 would do too, but is not proved."""
    known = [weights(length, v, 32) for length in (2, 3, 5, 9, 20, 60, 300)]
    for theta in (fmpq(0), fmpq(2), FALLS):
        values = [float((q - theta * kappa).mid()) for q, kappa in known]
        assert all(a > b > 0 for a, b in pairwise(values))


def derivatives(v: float, t: Array) -> tuple[Array, ...]:
    """h and its first three derivatives, h = Psi_2 / Psi_1, by sums in doubles."""
    y = np.linspace(-v / 2 - 12 * np.sqrt(v), 5.5 * v + 12 * np.sqrt(v), 4001)
    lam = np.minimum(np.exp(t[:, None] + y), 700)
    masses = np.exp(-((y + v / 2) ** 2) / (2 * v))
    first, *rest = ((lam**k * np.exp(-lam)) @ masses for k in range(1, 6))
    h, c3, c4, c5 = (psi / first for psi in rest)
    fall = 1 - h
    d3, d4 = 3 * c3 - c4 - c3 * fall, 4 * c4 - c5 - c4 * fall
    h1 = h + h * h - c3
    h2 = h1 + 2 * h * h1 - d3
    h3 = h2 + 2 * h1**2 + 2 * h * h2 - (3 * d3 - d4 - d3 * fall + c3 * h1)
    return h, h1, h2, h3


@pytest.mark.parametrize("v", [0.05, 0.5, 2, 8, 16])
def test_the_barrier_of_the_proof_holds(v: float) -> None:
    h, h1, h2, h3 = derivatives(v, np.linspace(-5 - 1.6 * v, 4, 300))
    seen = (h1 > 1e-7) & (h < 30)
    a = (h2 / h1)[seen]
    w = (2 * h - h1 - h * h2 / h1 + h3 / h1)[seen]
    assert np.all((a > 0) & (a <= 1 + 1e-6))
    assert np.all((h1 <= h + 1e-9)[seen])
    assert np.all(w >= a * a + a * np.log(a) - 1e-6)
    assert np.all(1 - w <= 4 / 3)


@pytest.mark.parametrize("length", [2, 5, 40, 400])
def test_kappa_rises_and_falls_no_faster_than_it_is_bounded(length: int) -> None:
    for k in range(1, 12):
        v, h = fmpq(k * k, 4), fmpq(1, 1000)
        (q, low), (_, high) = weights(length, v, 48), weights(length, v + h, 48)
        steep = float(((high - low) / h / q).mid())
        assert -float(arb(MOST_FALLING).mid()) <= steep <= float(arb(MOST_RISING).mid())


@pytest.mark.parametrize(
    ("length", "squares", "A2", "b2"), [(10, [1.0], 0.25, 1.0), (30, [0.5, 1.0], 0.8, 1.5), (25, [1, 1, 1], 0.3, 4.0)]
)
def test_the_bound_is_that_of_the_page(length: int, squares: list[float], A2: float, b2: float) -> None:
    """By the second opinion, with q and kappa by quadrature."""
    found = made(length, squares, A2, b2)
    few = Lines(length, found.nodes[::4], found.ends[::5], tuple(s[::5] for s in found.slopes), found.plain_slopes[::5])
    columns = (few.ends, few.plain_slopes, *few.slopes)
    shells = np.array([[float(x.p) / float(x.q) for x in column] for column in columns]).T
    v = np.array([float(x.p) / float(x.q) for x in few.nodes])
    again = lines_excess(np.diag(squares), A2, b2, length, v, shells)
    assert bound(few, squares, A2, b2) == pytest.approx(again, rel=1e-5)


@pytest.mark.parametrize(
    ("squares", "A2", "b2"),
    [
        ([0.7, 1.0], 1.0, 2.0),
        pytest.param([1.0], 1.0, 1.0, marks=pytest.mark.heavy),
        pytest.param([1.0, 1.0], 1.4, 1.4, marks=pytest.mark.heavy),
    ],
)
def test_no_gap_in_the_ball_is_above_the_bound(squares: list[float], A2: float, b2: float) -> None:
    """At the length and at longer ones, for parameters on the sphere and inside of it."""
    most = bound(made(20, squares, A2, b2), squares, A2, b2)
    rng, d, best = np.random.default_rng(0), len(squares), 0.0
    for length in (20, 33, 70):
        for shape in (np.eye(d), *(rng.standard_normal((d, d)) for _ in range(6))):
            A = shape * np.sqrt(A2) / np.linalg.norm(shape)
            for part in (0.8, 1.0):
                best = max(best, *(gap(np.diag(squares), part * A, s * np.sqrt(b2), length) for s in (-1, 0.8, 1)))
    assert 0.5 * most < best <= most
