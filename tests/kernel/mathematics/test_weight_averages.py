"""Averages over the variance of the scores: against mpmath, other quadrature, and each bound against what it bounds."""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics import score_variances, weight_averages
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.concentrated_scores import Moments, balls, concentrated_mean
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.query_averages import QueryAverage
from certattn.kernel.mathematics.score_variances import ScoreVariance
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.mathematics.weight_averages import WeightAverage, _Rule, on_the_line
from certattn.kernel.mathematics.weight_growth import near_zero, weights

Rows = list[list[str]]


def matrix(rows: Rows) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(*map(int, f"{x}/1".split("/")[:2])) for x in row] for row in rows])


def average(mean: Rows, covariance: Rows, constant: fmpq, B: Rows, N: Rows) -> QueryAverage:
    return QueryAverage(matrix(mean), matrix(covariance), constant, matrix(B), matrix(N))


PLANE = ([["1", "-1/2"]], [["1", "1/2"], ["1/2", "1"]], [["1/2", "1/4"], ["1/4", "1/3"]])
CENTRED = ([["0", "0"]], [["1", "1/2"], ["1/2", "1"]], [["1/2", "1/4"], ["1/4", "1/3"]])
OF_RANK_ONE = ([["1", "1/2"]], [["1", "1/2"], ["1/2", "1/2"]], [["1/8", "1/4"], ["1/4", "1/2"]])
BESIDE = ([["1", "1/2"]], [["1", "0"], ["0", "0"]], [["1/2", "1/4"], ["1/4", "1/3"]])
STILL = ([["1", "1/2"]], [["0", "0"], ["0", "0"]], [["1/2", "1/4"], ["1/4", "1/3"]])
INDEFINITE = [["1", "2"], ["2", "-3"]]
LAWS = {
    "in the plane": PLANE,
    "centred": CENTRED,
    "of rank one": OF_RANK_ONE,
    "beside the origin": BESIDE,
    "still": STILL,
}


def doubles(found: ExactMatrix) -> np.ndarray:
    return np.array([[float(int(x.p)) / float(int(x.q)) for x in row] for row in found.to_rows()])


@cache
def at_knots(length: int) -> tuple[np.ndarray, list[float], list[float]]:
    """Variances of scores; q and kappa there."""
    knots = np.concatenate([np.linspace(0, 4, 41), np.linspace(4.25, 40, 80)])
    known = [PowerSums(length, fmpq(int(x * 2**20), 2**20), 4, 32) for x in knots]
    return knots, [float(p.mean(2)) for p in known], [float(p.mean(3) - p.mean(2, 2)) for p in known]


@pytest.mark.heavy
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("length", [2, 50])
def test_against_drawn_queries(name: str, length: int) -> None:
    """q and kappa by splines of `PowerSums` at the variances of 400,000 queries; f is indefinite, with a constant."""
    mean, covariance, N = LAWS[name]
    f = average(mean, covariance, fmpq(1, 2), INDEFINITE, N)
    g = average(mean, covariance, fmpq(-1), [["2", "0"], ["0", "1"]], N)
    with working_precision(64):
        found = WeightAverage(length, f, g).value()
    rng = np.random.default_rng(7)
    levels, frame = np.linalg.eigh(doubles(f.covariance))
    z = rng.normal(size=(400_000, 2)) @ (frame * np.sqrt(np.maximum(levels, 0))).T + doubles(f.mean)
    v = np.einsum("ni,ij,nj->n", z, doubles(f.N), z)
    knots, squares, cubes = at_knots(length)
    q, kappa = np.interp(v, knots, squares), np.interp(v, knots, cubes)
    sample = q * (0.5 + np.einsum("ni,ij,nj->n", z, doubles(f.B), z)) + kappa * (
        -1 + np.einsum("ni,ij,nj->n", z, doubles(g.B), z)
    )
    error = 4 * sample.std() / len(sample) ** 0.5 + 2e-3 * np.abs(sample).mean()
    assert abs(float(found) - sample.mean()) < error
    assert float(found.rad()) < 1e-5 * np.abs(sample).mean()


@pytest.mark.parametrize("name", [name for name in LAWS if name != "still"])
def test_the_densities_have_the_moments_of_the_forms(name: str) -> None:
    """Their integrals over t, by mpmath, are E f e^(-t) in closed form."""
    mean, covariance, N = LAWS[name]
    f = average(mean, covariance, fmpq(1, 2), INDEFINITE, N)
    with working_precision(96):
        law = ScoreVariance(f)
        densities = law.densities([law.form(f)], 60)
        assert densities is not None
        one = QueryAverage(f.mean, f.covariance, fmpq(1), ExactMatrix.zero(2, 2), f.N)
        for density, form in zip(densities, (one, f), strict=True):
            for theta in (fmpq(0), fmpq(-1)):
                wanted = form.exponential(theta)

                def integrand(s: mpmath.mpf, density: object = density, theta: fmpq = theta) -> mpmath.mpf:
                    t = mpmath.exp(s)
                    at = density.at_least(arb(mpmath.nstr(t, 25)))  # type: ignore[attr-defined]
                    v = t + mpmath.mpf(int(law.offset.p)) / int(law.offset.q)
                    return mpmath.mpf(at.mid().str(25, radius=False)) * t * mpmath.exp(int(theta.p) * v)

                total = mpmath.quad(integrand, [-70, -40, -20, -10, -4, 0, 2, 3, 4, 4.6])
                assert abs(total - mpmath.mpf(wanted.mid().str(25, radius=False))) < 1e-9 * abs(total) + 1e-12


@pytest.mark.parametrize("name", ["in the plane", "centred", "of rank one"])
def test_what_the_densities_weigh_off_the_line(name: str) -> None:
    """|w_f(V) V'| is at most G w_F(Re V) d Re V / dr for Im s up to alpha, by Ruben's series at complex t."""
    mean, covariance, N = LAWS[name]
    f = average(mean, covariance, fmpq(1, 2), INDEFINITE, N)
    with working_precision(128):
        law = ScoreVariance(f)
        form = law.form(f)
        densities = law.densities([form], 60)
        assert densities is not None
        G = float(_Rule(10, law, f, (form, form), [*densities, densities[1]])._weighs())
        one, signed = densities

        def at(density: object, t: complex) -> complex:
            y = t / (2 * float(str(float(arb(density.beta)))))  # type: ignore[attr-defined]
            series = [float(a) for a in density.series.coeffs()]  # type: ignore[attr-defined]
            total = sum(a * y**j for j, a in enumerate(series[:400]) if a)
            return total * y ** (float(arb(density.shape)) - 1) * np.exp(-y) / (2 * float(arb(density.beta)))  # type: ignore[attr-defined]

        c, b = (float(x) for x in weight_averages._size(form))
        for alpha in (0.4, 1.0, 1.25):
            for r in np.linspace(-8, 4, 25):
                s = complex(r, alpha)
                t, slope = 1.5 * np.log(1 + np.exp(s)), 1.5 / (1 + np.exp(-s))
                most = G * abs(at(one, t.real)) * (c + b * t.real) * slope.real
                assert abs(at(signed, t) * slope) <= most * (1 + 1e-9)


def test_the_line_on_which_errors_are_bounded() -> None:
    """c and p at many points of it and below are inside of what the cells give."""
    most, least = (float(x) for x in on_the_line())
    for alpha in (0.3, 0.9, 1.25):
        for r in np.linspace(-12, 12, 200):
            v = 1.5 * np.log(1 + np.exp(complex(r, alpha)))
            c = (1 + (v.imag / v.real) ** 2) ** 0.25 * np.exp(v.imag**2 / (8 * v.real))
            assert c <= most
            assert 1 - c * v.imag / 3 >= least
    assert least > 0.3


@pytest.mark.parametrize("length", [2, 3, 7, 1000])
def test_tangents_near_zero_hold_the_moments(length: int) -> None:
    for v in (fmpq(1, 10**4), fmpq(1, 50), fmpq(1, 4)):
        with working_precision(96):
            tangents = near_zero(length, v)
            powers = PowerSums(length, v, 4, 64)
            known = (powers.mean(2), powers.mean(3) - powers.mean(2, 2))
            fewer = weights(length, v, 64)
        for tangent, exact, other in zip(tangents, known, fewer, strict=True):
            assert tangent.overlaps(exact)
            assert other.overlaps(exact)


def test_beyond_the_largest_variance_q_is_above_what_it_is_there() -> None:
    q, kappa = weights(10, fmpq(65), 32)
    assert q.overlaps(arb(1))
    assert q.lower() > 0.5
    assert kappa.upper() <= arb("0.2501")


def test_eigenvalues_that_are_far_apart_have_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_variances, "_MOST_TERMS", 20)
    f = average(*PLANE[:2], fmpq(1), INDEFINITE, PLANE[2])
    with working_precision(64):
        assert not WeightAverage(10, f, f).value().is_finite()


# -- laws that hardly vary

NARROW = [(1, 64, 100), (1, 700, 100), (3, 32, 50), (2, 10**6, 1000), (0, 10**3, 10), (0, 10**8, 17)]


def on_a_line(mean: int, precision: int, length: int) -> WeightAverage:
    """q (1 + z^2) - 6 kappa z^2 for z ~ N(mean, 1/precision) and v = z^2."""
    law = ([[str(mean)]], [[f"1/{precision}"]])
    f, g = (average(*law, constant, [[B]], [["1"]]) for constant, B in ((fmpq(1), "1"), (fmpq(0), "-6")))
    return WeightAverage(length, f, g)


def by_hermite(mean: int, precision: int, length: int, nodes: int = 24) -> float:
    points, mass = np.polynomial.hermite_e.hermegauss(nodes)
    total = 0.0
    for x, weight in zip(points, mass / mass.sum(), strict=True):
        square = (mean + x / precision**0.5) ** 2
        powers = PowerSums(length, fmpq(int(max(square, 1e-12) * 2**80), 2**80), 4, 40)
        q, kappa = float(powers.mean(2)), float(powers.mean(3) - powers.mean(2, 2))
        total += weight * (q * (1 + square) - 6 * kappa * square)
    return total


@pytest.mark.heavy
@pytest.mark.parametrize(("mean", "precision", "length"), NARROW)
def test_narrow_laws_against_gauss_and_hermite(mean: int, precision: int, length: int) -> None:
    """Far from 0 beside their spread, or close to it: by series of a thousand terms, or by tangents."""
    with working_precision(64):
        found = on_a_line(mean, precision, length).value()
    wanted = by_hermite(mean, precision, length)
    assert abs(float(found.mid()) - wanted) < float(found.rad()) + 1e-9 * wanted
    assert float(found.rad()) < 2e-3 * wanted


@pytest.mark.heavy
def test_tangents_hold_the_mean_where_the_law_is_not_narrow() -> None:
    """They are crude there, not wrong; f is indefinite, or of one sign."""
    for mean, precision in ((1, 8), (1, 64), (2, 32), (0, 10)):
        known = on_a_line(mean, precision, 30)
        with working_precision(128):
            crude = concentrated_mean(30, known.of_q, known.of_kappa, 64)
            assert crude.is_finite()
            assert crude.overlaps(known.value())
    mean_, covariance, N = [["1", "1/2"]], [["1/50", "1/99"], ["1/99", "1/50"]], PLANE[2]
    f = average(mean_, covariance, fmpq(-1, 2), INDEFINITE, N)
    g = average(mean_, covariance, fmpq(1), [["-1", "0"], ["0", "-2"]], N)
    with working_precision(128):
        assert concentrated_mean(9, f, g, 64).overlaps(WeightAverage(9, f, g)._by_rule(*rule_of(f, g), 32))


def rule_of(f: QueryAverage, g: QueryAverage) -> tuple[ScoreVariance, score_variances.Form, score_variances.Form]:
    law = ScoreVariance(f)
    return law, law.form(f), law.form(g)


def test_moments_by_joint_cumulants() -> None:
    """E[(v - c)^2 (2 + z'B z)], plain and weighted with e^v, against drawn z."""
    f = average([["1/2", "-1/3"]], [["1/8", "1/16"], ["1/16", "1/5"]], fmpq(2), INDEFINITE, PLANE[2])
    plain = Moments.of(f)
    tilted = plain.tilted()
    assert tilted is not None
    found = [float(law.square(fmpq(1, 3), fmpq(2), balls(f.B))) for law in (plain, tilted)]
    rng = np.random.default_rng(3)
    z = rng.multivariate_normal(doubles(f.mean)[0], doubles(f.covariance), size=1_000_000)
    v, form = (np.einsum("ni,ij,nj->n", z, doubles(each), z) for each in (f.N, f.B))
    values = (v - 1 / 3) ** 2 * (2 + form)
    assert found[0] == pytest.approx(values.mean(), abs=4 * values.std() / 1000)
    assert found[1] == pytest.approx((values * np.exp(v)).mean() / np.exp(v).mean(), rel=0.03)


def test_densities_of_one_eigenvalue_have_all_their_terms() -> None:
    """The least eigenvalue is 1/64 exactly, and the series of the exponent ends after two terms; that of G does not."""
    known = on_a_line(7, 64, 256)
    with working_precision(128):
        law = ScoreVariance(known.of_q)
        total = sum(law._series([law.form(known.of_q)], 4000)[0], arb(0))
    assert float(total) == pytest.approx(50 + 1 / 64, rel=1e-9)


def test_scores_that_vary_too_differently_say_so() -> None:
    law = ([["0", "0"]], [["1", "0"], ["0", "1/1000"]])
    f = average(*law, fmpq(1), [["1", "0"], ["0", "1"]], [["1", "0"], ["0", "1"]])
    with working_precision(64):
        assert not WeightAverage(256, f, f).value().is_finite()
    assert "1002 times" in WeightAverage(256, f, f).unknown()
