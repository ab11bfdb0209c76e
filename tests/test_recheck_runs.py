"""The second checker on training and descent: its numbers against simulation, quadrature and closed forms."""

from __future__ import annotations

import itertools
import math
import random
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

sys.path.append(str(Path(__file__).parents[1]))
from tools.fuzz.two_readers import recheck

SIGMA = [["1", "1/4"], ["1/4", "3/4"]]
S = np.array([[1, 0.25], [0.25, 0.75]])


@pytest.fixture(autouse=True)
def bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recheck.intervals, "P", 96)


def value(x: Any) -> float:
    """The middle of an interval."""
    x = recheck.iv(x)
    return float((x.a + x.b) / 2 / 2**recheck.intervals.P)


def place(A: Any, b: Any) -> Any:
    task = recheck.Task(SIGMA)
    exact = [[Fraction(x) for x in row] for row in A]
    return recheck.Place(task, (exact, Fraction(b)))


def gauss_hermite(n: int, dimension: int) -> list[tuple[float, np.ndarray[Any, Any]]]:
    """Nodes and weights for a standard normal vector, exact for polynomials of degree below 2n in each coordinate."""
    x, w = np.polynomial.hermite_e.hermegauss(n)
    w = w / w.sum()
    grid = itertools.product(range(n), repeat=dimension)
    return [(math.prod(w[k] for k in ks), np.array([x[k] for k in ks])) for ks in grid]


def test_the_mean_square_of_a_gradient_against_quadrature() -> None:
    A, b = np.array([[0.75, 0.125], [-0.25, 0.5]]), 0.75
    F, found, mean = np.linalg.cholesky(S), 0.0, 0.0
    for weight, point in gauss_hermite(4, 4):
        w, x = point[:2], F @ point[2:]
        error = w @ (b * S @ A @ x - x)
        square = (error * (w @ S @ A @ x)) ** 2 + np.sum((error * b * np.outer(S @ w, x)) ** 2)
        found, mean = found + weight * square, mean + weight * error**2 / 2
    ours = place([["3/4", "1/8"], ["-1/4", "1/2"]], "3/4")
    assert value(ours.square) == pytest.approx(found, rel=1e-10)
    assert value(ours.task.risk(ours.at)) == pytest.approx(mean, rel=1e-10)
    assert value(ours.phi) ** 2 / 2 == pytest.approx(mean, rel=1e-10)


@pytest.mark.parametrize("d", [1, 2])
def test_moments_of_the_scatter_of_prompts_against_quadrature(d: int) -> None:
    """E|Y|^2 and E|Y|^4 of Y = XX' - I, X = w g', by which the page bounds |S - I|."""
    second = fourth = 0.0
    for weight, point in gauss_hermite(9 if d == 2 else 12, 2 * d):
        x = np.outer(point[:d], point[d:]).ravel()
        size = np.sum((np.outer(x, x) - np.eye(d * d)) ** 2)
        second, fourth = second + weight * size, fourth + weight * size**2
    m2, m3, m4 = (recheck.chi_moment(d, n) for n in (2, 3, 4))
    assert second == pytest.approx(m2**2 - d * d, rel=1e-9)
    assert fourth == pytest.approx(m4**2 - 4 * m3**2 + (4 + 2 * d * d) * m2**2 - 3 * d**4, rel=1e-9)


def hessian(A: np.ndarray[Any, Any], b: float, form: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Second derivatives of <Phi, form Phi>/2, Phi = F(b F'AF - I), which is quadratic in (A, b): by its second
    differences, which are exact up to rounding."""
    F, n, step = np.linalg.cholesky(S), 5, 0.5

    def phi(t: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(F @ (t[4] * F.T @ t[:4].reshape(2, 2) @ F - np.eye(2))).ravel()

    t, units = np.append(A.ravel(), b), np.eye(n) * step
    first = np.array([(phi(t + u) - phi(t - u)) / (2 * step) for u in units])
    second = np.array([[(phi(t + u + v) - phi(t + u) - phi(t + v) + phi(t)) / step**2 for v in units] for u in units])
    bend = np.einsum("ijk,kl,l->ij", second, form, phi(t))
    # second differences of a quadratic on the diagonal are those of u + u: the same formula
    return np.asarray(first @ form @ first.T + bend)


def test_curvature_between_two_points_is_within_its_bounds() -> None:
    draw, radius, spread = np.random.default_rng(3), Fraction(1, 10), Fraction(1, 4)
    A, b = np.array([[0.75, 0.125], [-0.25, 0.5]]), 0.75
    ours = place([["3/4", "1/8"], ["-1/4", "1/2"]], "3/4")
    low = value(ours.floor(recheck.iv(radius), spread))
    high = value((1 + spread) * ours.ceiling(recheck.iv(radius)))
    for _ in range(40):
        e = draw.normal(size=5)
        e *= float(radius) / np.linalg.norm(e)
        form = draw.normal(size=(4, 4))
        form = form + form.T
        form = np.eye(4) + form * float(spread) / np.linalg.norm(form)
        parts = [hessian(A + u * e[:4].reshape(2, 2), b + u * e[4], form) for u in np.linspace(0, 1, 21)]
        mean = (parts[0] + parts[-1]) / 2 / 20 + sum(parts[1:-1], np.zeros((5, 5))) / 20
        found = np.linalg.eigvalsh(mean)
        assert low <= found[0]
        assert found[-1] <= high
    assert low > -2  # it says something


def test_the_flow_on_the_line_has_a_closed_form() -> None:
    """From A = b = 1/2 with S = 1: A = b = (1 + 3 e^(-2t))^(-1/2)."""
    task = recheck.Task([["1"]])
    flow = recheck.Flow(task, ([[Fraction(1, 2)]], Fraction(1, 2)))
    for time in (Fraction(1, 3), Fraction(7, 5), Fraction(6)):
        flow.to(time)
        with mpmath.workprec(400):
            true = (1 + 3 * mpmath.exp(-2 * mpmath.mpf(time.numerator) / time.denominator)) ** mpmath.mpf(-0.5)
            for centre in flow.centre:
                assert abs(centre - true * 2**96) <= flow.radius
        assert flow.radius < 2**20


@pytest.mark.parametrize("seed", range(4))
def test_the_flow_in_the_plane_against_an_integrator(seed: int) -> None:
    draw = random.Random(seed)
    start = [Fraction(draw.randint(-8, 8), 10) for _ in range(4)], Fraction(draw.randint(-8, 8), 10)
    task = recheck.Task(SIGMA)
    flow = recheck.Flow(task, ([start[0][:2], start[0][2:]], start[1]))

    def field(t: float, z: Any) -> Any:
        A, b = z[:4].reshape(2, 2), z[4]
        K = S @ (b * S @ A - np.eye(2)) @ S
        return -np.append(b * K, np.sum(A * K))

    begin = np.array([float(x) for x in [*start[0], start[1]]])
    path = solve_ivp(field, (0, 12), begin, rtol=1e-12, atol=1e-13, dense_output=True, method="DOP853")
    pieces: list[Any] = []
    for time in (Fraction(1, 2), Fraction(3), Fraction(12)):
        flow.to(time, pieces.append)
        near = np.array([x / 2**96 for x in flow.centre])
        assert np.linalg.norm(near - path.sol(float(time))) < 1e-9
        assert flow.radius < 2**40
    for piece in pieces:
        for s in (0.25, 0.75):
            there = np.array([sum(c * s**k for k, c in enumerate(column)) / 2**96 for column in piece.columns])
            assert np.linalg.norm(there - path.sol(float(piece.begin) + s * float(piece.size))) < 1e-9


def test_where_a_flow_settles_it_stays() -> None:
    task = recheck.Task(SIGMA)
    start = [[Fraction(1, 2), Fraction(0)], [Fraction(1, 10), Fraction(3, 5)]], Fraction(1, 2)
    early, late = recheck.Flow(task, start), recheck.Flow(task, start)
    early.to(Fraction(1000))
    assert early.settled is not None
    late.settle = lambda: None
    late.to(early.settled[0] + 5)
    early.time = late.time
    centre, off, _ = early.place()
    assert value(recheck.apart(centre, late.middle())) <= (off.b + late.radius) / 2**96


def test_errors_of_prompts_against_drawn_ones() -> None:
    """E|mean - tau|^2 and E|scatter|^2, and their biases, for Gaussian tokens on the line: below the bounds for a law,
    and those below the bounds for the class."""
    draw, L, a = np.random.default_rng(5), 12, 0.8
    x = draw.normal(size=(200_000, L))
    p = np.exp(a * x)
    p /= p.sum(axis=1, keepdims=True)
    mean = (p * x).sum(axis=1) - a
    scatter = (p * ((x - a) ** 2 - 1)).sum(axis=1)
    one, sigma = recheck.iv(1), recheck.iv(Fraction(4, 5))
    law = recheck.Tokens(1, one, recheck.gaussian([[Fraction(1)]])[1:])
    everyone = recheck.Tokens(1, one, None)
    for tokens in (law, everyone):
        square, spread, share = (value(y) for y in tokens.errors(sigma, L))
        assert np.mean(mean**2) <= square
        assert np.mean(scatter**2) <= spread
        assert np.mean(mean) ** 2 <= square * share
        assert np.mean(scatter) ** 2 <= spread * share
    assert value(law.errors(sigma, L)[0]) < 20 * np.mean(mean**2)
    for part in ("mean", "covariance", "third"):
        assert value(getattr(law, part)(sigma)) <= value(getattr(everyone, part)(sigma))


def test_a_rate_is_kept_by_the_flow() -> None:
    task = recheck.Task(SIGMA)
    start = [[Fraction(1, 2), Fraction(0)], [Fraction(0), Fraction(1, 2)]], Fraction(1)
    flow, risk = recheck.Flow(task, start), task.exact_risk(start)
    rate = recheck.Rate(task, flow.delta, risk, None)
    for time in (1, 4, 9):
        flow.to(Fraction(time))
        bound, logarithm = rate.later(recheck.iv(risk), Fraction(time))
        true = value(flow.place()[2])
        assert true <= value(bound)
        assert value(logarithm) == pytest.approx(math.log(value(bound)))
    length, here = 0.0, flow.place()[0]
    before = (start[0], start[1])
    for part in range(1, 40):
        again = recheck.Flow(task, start)
        again.to(Fraction(part * part, 100))
        length, before = length + value(recheck.apart(before, again.middle())), again.middle()
    assert length <= value(rate.length(recheck.iv(risk)))
    assert value(recheck.apart(here, task.bayes(flow.delta, 1))) <= value(rate.length(recheck.iv(risk)))


def test_theorem_a_is_kept_by_descent() -> None:
    """The authors' first example from (0, 1): 20,000 steps in doubles beside what is proved from the start on."""
    given = {
        "keys": [[["-0.1", "1"], ["1", "0"], ["0", "0"]]], "scores": [["1", "0.9", "0.9"]], "loss": "logistic",
        "queries": None, "tokens": None, "W": None, "v": None, "labels": None, "lengths": None,
    }  # fmt: skip
    of = recheck.Inputs(given, ["0"])
    mults = {(0, 2): Fraction(100, 101)}
    best, _ = recheck.shortest(of.rows, dict.fromkeys(of.rows, 1), mults, "p")
    here, h = [recheck.iv(0), recheck.iv(1)], recheck.iv(1)
    total, long = of.total(here), recheck.root(recheck.norm2(here))
    theory = recheck.Convergence(of, mults, best, h, h, total, long)
    keys, scores, p = np.array([[-0.1, 1], [1, 0], [0, 0]]), np.array([1, 0.9, 0.9]), np.array([0.0, 1.0])
    top = np.array([float(x) for x in best])
    for k in range(1, 20_001):
        s = np.exp(keys @ p)
        s /= s.sum()
        score = s @ scores
        p = p + s * (scores - score) @ keys / (1 + math.exp(score))
        if k == 200:
            for _ in range(200):
                here = of.descended(here, h)
            assert [value(x) for x in here] == pytest.approx(p, abs=1e-11)
        if k in (5_000, 20_000):
            s = np.exp(keys @ p)
            s /= s.sum()
            loss = math.log1p(math.exp(-(s @ scores))) - math.log1p(math.exp(-1))
            assert s[0] >= value(theory.later("weights", Fraction(k)))
            assert loss <= value(theory.later("losses", Fraction(k)))
            assert np.linalg.norm(p) >= value(theory.later("norms", Fraction(k)))
            angle = 1 - p @ top / np.linalg.norm(p) / np.linalg.norm(top)
            assert angle <= value(theory.later("angles", Fraction(k)))


def test_means_of_majorants_against_quadrature() -> None:
    """E Q(r^2 c^2) c^(2k) of a table, of the logistic bound and of a power."""
    r2, L, theta = Fraction(3, 2), 50, Fraction(1, 5)
    table = [(Fraction(0), Fraction(1, 5)), (Fraction(1), Fraction(1, 4)), (Fraction(4), Fraction(2))]
    top = mpmath.log(L - 1)

    def lines(v: Any) -> Any:
        return mpmath.mpf("0.2") + v / 20 if v < 1 else mpmath.mpf("0.25") + (v - 1) * 7 / 12 + max(v - 4, 0) / 3

    def logistic(v: Any) -> Any:
        return 1 / (1 + (L - 1) * mpmath.exp(-v)) if v < top else (v - top) / 4 + mpmath.mpf(1) / 2

    def power(v: Any) -> Any:
        return (mpmath.mpf(1) / 5) ** 0.2 * (mpmath.mpf(4) / 5) ** 0.8 * mpmath.exp(v / 5) / mpmath.mpf(L - 1) ** 0.2

    bends = [0, *sorted([mpmath.sqrt(2 / mpmath.mpf(3)), mpmath.sqrt(8 / mpmath.mpf(3)), mpmath.sqrt(top / 1.5),
                         1, 2, 2.5, 3, 4, 5, 6, 8, 14])]  # fmt: skip
    for ours, f in (
        (recheck.ramps(table, Fraction(11, 12), recheck.iv(r2)), lines),
        (recheck.by_chords(L, recheck.iv(r2)), logistic),
        (recheck.by_power(L, recheck.iv(r2), theta), power),
    ):
        for k, found in enumerate(ours):
            true = 2 * mpmath.quad(lambda c, f=f, k=k: f(c * c * 1.5) * c ** (2 * k) * mpmath.npdf(c), bends)
            assert found.a / 2**96 - 1e-12 <= true <= found.b / 2**96 + 1e-12
            assert found.b - found.a <= 2**96 * 1e-3
