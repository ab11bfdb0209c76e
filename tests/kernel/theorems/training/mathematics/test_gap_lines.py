"""Lines above what a query adds: the lemmas in numbers, the bound once more in doubles, and gaps in the ball."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from flint import arb, fmpq
from scipy.stats import chi2

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.weight_growth import (
    KAPPA_CONCAVE,
    KAPPA_CONVEX,
    MOST_CONCAVE,
    MOST_CONVEX,
    weights,
)
from certattn.kernel.theorems.training.gap_lines import FALLS, MOST_RISING, Gap, Lines, added, share_caps
from certattn.kernel.theorems.training.gap_means import Rule, capped
from certattn.provers.training.gap_slopes import lines
from tools.truth.mean_square import moments
from tools.truth.risk_gap import _capped, _moments_of, gap, lines_excess

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
def test_kappa_rises_no_faster_than_it_is_bounded(length: int) -> None:
    for k in range(1, 12):
        v, h = fmpq(k * k, 4), fmpq(1, 1000)
        (q, low), (_, high) = weights(length, v, 48), weights(length, v + h, 48)
        assert float(((high - low) / h / q).mid()) <= float(arb(MOST_RISING).mid())


@pytest.mark.heavy
@pytest.mark.parametrize("length", [2, 3, 5, 40, 400])
def test_q_and_kappa_bend_no_more_than_they_are_bounded(length: int) -> None:
    """Second differences are means of second derivatives."""
    h = fmpq(1, 100)
    for k in range(14):
        v = fmpq(k * k, 6)
        three = [weights(length, v + j * h, 64) for j in (1, 2, 3)]
        for i, (concave, convex) in enumerate(((MOST_CONCAVE, MOST_CONVEX), (KAPPA_CONCAVE, KAPPA_CONVEX))):
            first, middle, last = (found[i] for found in three)
            bend = (first - 2 * middle + last) / h**2
            assert (-concave * three[2][0] <= bend <= convex * three[2][0]) is True


def test_bounds_of_bends_hold_for_any_weights() -> None:
    """Few large ones and many small ones, with the two of 1/2 among them that are the worst for kappa from below."""
    rng = np.random.default_rng(5)
    scores = [rng.normal(size=(2000, n)) * spread for n in (2, 3, 4, 8, 30) for spread in (0.1, 1, 2, 4, 8, 16)]
    for u in (np.zeros((1, 2)), *scores):
        p = np.exp(u - u.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        P2, P3, P4, P5 = ((p**k).sum(axis=1) for k in (2, 3, 4, 5))
        q = P2 - 16 * P3 + 48 * P4 + 9 * P2**2 - 72 * P2 * P3 + 30 * P2**3
        kappa = 9 * P3 - 4 * P2**2 - 113 * P4 + 138 * P2 * P3 - 50 * P2**3 + 340 * P5 - 580 * P2 * P4
        kappa += -220 * P3**2 + 690 * P2**2 * P3 - 210 * P2**4
        for bend, concave, convex in ((q, MOST_CONCAVE, MOST_CONVEX), (kappa, KAPPA_CONCAVE, KAPPA_CONVEX)):
            low, high = (float(c.p) / float(c.q) for c in (-concave, convex))
            assert np.all((low - 1e-12 <= bend / P2) & (bend / P2 <= high + 1e-12))


@pytest.mark.parametrize(
    ("length", "squares", "A2", "b2"), [(10, [1.0], 0.25, 1.0), (30, [0.5, 1.0], 0.8, 1.5), (25, [1, 1, 1], 0.3, 4.0)]
)
def test_the_bound_is_that_of_the_page(length: int, squares: list[float], A2: float, b2: float) -> None:
    """By the second opinion, with q and kappa by quadrature."""
    found = made(length, squares, A2, b2)
    few = Lines(length, (*found.nodes[:-1:3], found.nodes[-1]), found.plain_slope, found.slopes[::5])
    w, slopes = (np.array([float(x.p) / float(x.q) for x in xs]) for xs in (few.nodes, (few.plain_slope, *few.slopes)))
    again = lines_excess(np.diag(squares), A2, b2, length, w, slopes)
    # What the rules may be off by is added.
    assert again * (1 - 1e-6) <= bound(few, squares, A2, b2) <= again * 1.0003


@pytest.mark.heavy
@pytest.mark.parametrize("w", [fmpq(1, 50), fmpq(1, 2), fmpq(3)])
@pytest.mark.parametrize(("length", "dimension"), [(4, 1), (40, 2), (500, 5)])
def test_means_over_the_length_of_the_query(length: int, dimension: int, w: fmpq) -> None:
    """By Gauss's rule, with q and kappa by quadrature: means of q from above, those of kappa from below."""
    caps = (fmpq(1, 3), fmpq(1, 30))
    with working_precision(64):
        (seen,) = Rule(length, dimension, arb(fmpq(1, 50)), arb(3), caps, 32).at([w])
    points, masses = np.polynomial.legendre.leggauss(160)
    end = np.sqrt(chi2.isf(1e-12, dimension))
    n = ((points + 1) * end / 2) ** 2
    masses = masses * end * np.sqrt(n) * chi2.pdf(n, dimension)
    v = n * float(w.p) / float(w.q)
    known = np.array([moments(np.sqrt(x), length, 801) for x in v])
    q, kappa = known[:, 0], (known[:, 0] * (1 + v) - known[:, 2]) / (6 * v)
    for k in range(4):
        mean = masses @ (n**k * q)
        assert mean * (1 - 1e-5) - 1e-7 <= float(seen.q[k]) <= mean * 1.03 + 1e-6
    factors = [n, *(_capped(float(cap.p) / float(cap.q) * v) for cap in caps)]
    for value, factor in zip((seen.kappa, *seen.capped), factors, strict=True):
        mean = masses @ (factor * kappa)
        assert mean * 0.99 - 2e-5 <= float(value) <= mean + 1e-7


def test_what_is_capped_is_below_both_lines() -> None:
    with working_precision(64):
        for k in range(1, 40):
            x = arb(fmpq(k, 10))
            assert capped(x) < x
            assert capped(x) < 1
            assert capped(x) > capped(x - fmpq(1, 20))
            assert float(capped(x).mid()) == pytest.approx(float(_capped(np.array(k / 10))), rel=1e-12)


@pytest.mark.parametrize("most", [fmpq(3), fmpq(1), fmpq(2, 3), fmpq(1, 2), fmpq(1, 5), fmpq(0)])
def test_shares_mean_no_more_than_is_left(most: fmpq) -> None:
    caps = (fmpq(1), fmpq(1, 2), fmpq(1, 4))
    shares = share_caps(caps, arb(most))
    assert all(share >= 0 for _, share in shares)
    mean = sum((share * caps[k] for k, share in shares), arb(0))
    assert mean <= most + fmpq(1, 10**12)
    assert mean >= min(most, fmpq(1)) - fmpq(1, 10**12)
    assert sum((share for _, share in shares), arb(0)) < 1 + fmpq(1, 10**12)


@pytest.mark.parametrize(("squares", "b2"), [([1.0], 1.0), ([1.0, 1.0], 5.0), ([0.4, 1.0], 2.0)])
def test_lines_between_nodes_are_above_what_is_averaged(squares: list[float], b2: float) -> None:
    """At points in the cells, for the true bracket of every direction, at the length and at longer ones."""
    low, high, d, trace = squares[0], squares[-1], len(squares), sum(squares)
    points, masses = np.polynomial.legendre.leggauss(120)
    end = np.sqrt(chi2.isf(1e-10, d))
    n = ((points + 1) * end / 2) ** 2
    masses = masses * end * np.sqrt(n) * chi2.pdf(n, d)
    with working_precision(64):
        task = Gap(d, arb(trace), arb(low), arb(high), arb(1), arb(b2))
        nodes = tuple(fmpq(k, 12) for k in range(13))
        cells = [added(task, cell) for cell in Lines(15, nodes, fmpq(0), (fmpq(0),)).cells(task, 32)]
    for length in (15, 22, 60):
        logarithm, kappa_of = _moments_of(length, 40.0)
        for cell in cells:
            for part in (0.0, 0.3, 0.7, 1.0):
                left, right = (float(x.p) / float(x.q) for x in (cell.cell.left, cell.cell.right))
                w = left + part * (right - left)
                s = np.sqrt(np.minimum(n * w, 40.0))
                q, kappa = np.exp(logarithm(s)), kappa_of(s)
                for share in np.linspace(low, high, 4):
                    size = np.sqrt(share * b2 * n * w)
                    bracket = q * (b2 * trace + 2 * size * np.sqrt(high * n) - size**2) - 6 * kappa * size**2
                    assert masses @ bracket <= float(cell.above(fmpq(0))) + 1e-6


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
