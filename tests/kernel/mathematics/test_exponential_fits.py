"""q and kappa at complex variances, interpolation errors, and fits by sums of exponentials."""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np
import pytest
from flint import arb, arb_poly, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exponential_fits import (
    ExponentialSum,
    Piece,
    Samples,
    chebyshev_nodes,
    ellipse_errors,
    interpolation_errors,
    samples,
    weights,
    within_range,
)

_Y = np.linspace(-40, 40, 1601)
_T = np.linspace(-35, 12, 471)


@cache
def transforms(v: complex) -> list[np.ndarray]:
    """Psi_0 .. Psi_4 at the nodes _T."""
    density = np.exp(-((_Y + v / 2) ** 2) / (2 * v)) / np.sqrt(2 * np.pi * v) * (_Y[1] - _Y[0])
    x = np.exp(np.minimum(_T[:, None] + _Y[None, :], 300.0))
    decay = np.exp(-np.minimum(x, 700.0))
    return [(np.where(x < 600, x, 0.0) ** k * decay) @ density for k in range(5)]


def moments(length: int, v: complex) -> tuple[complex, complex]:
    """q and kappa by quadrature of their integrals, at a complex variance."""
    psi, dt = transforms(v), _T[1] - _T[0]
    phi = psi[0]
    q = length * np.sum(psi[2] * phi ** (length - 1)) * dt
    three = length * np.sum(psi[3] * phi ** (length - 1)) * dt / 2
    pairs = length * np.sum(psi[4] * phi ** (length - 1)) + length * (length - 1) * np.sum(
        psi[2] ** 2 * phi ** max(length - 2, 0)
    )
    return q, three - pairs * dt / 6


def bound(length: int, v: complex) -> tuple[float, float]:
    """The bounds of the docstring, with E q_N by the binomial law and quadrature."""
    x, y = v.real, abs(v.imag)
    c = (1 + (y / x) ** 2) ** 0.25 * np.exp(y * y / (8 * x))
    p, wide = 1 - c * y / 3, x + y * y / x
    assert p > 0
    mean = sum(
        comb(length, n) * p**n * (1 - p) ** (length - n) * moments(n, wide)[0].real for n in range(1, length + 1)
    )
    assert mean <= 2 * np.exp(wide) / (p * length)
    return c / p * mean, 2 * (c / p) ** 2 * mean


@pytest.mark.parametrize("v", [0.5 + 0.3j, 1 + 1j, 3 + 1.5j, 3 - 0.5j, 8 + 2j, 15 + 1j])
@pytest.mark.parametrize("length", [2, 20])
def test_moments_at_complex_variances_keep_their_bounds(length: int, v: complex) -> None:
    q, kappa = moments(length, v)
    most_q, most_kappa = bound(length, v)
    assert abs(q) <= most_q
    assert abs(kappa) <= most_kappa


def test_the_quadrature_here_agrees_with_the_kernel() -> None:
    for length in (2, 20):
        for v in (fmpq(1), fmpq(8)):
            with working_precision(64):
                q, kappa = weights(length, v, 32)
            found = moments(length, complex(float(v.p) / float(v.q)))
            assert abs(float(q) - found[0]) < 1e-4
            assert abs(float(kappa) - found[1]) < 1e-4


@pytest.mark.parametrize(("first", "last"), [(fmpq(1, 4), fmpq(1)), (fmpq(1), fmpq(4)), (fmpq(9), fmpq(14))])
@pytest.mark.parametrize("length", [4, 300])
def test_interpolation_is_off_by_less_than_is_said(length: int, first: fmpq, last: fmpq) -> None:
    order = 8
    with working_precision(64):
        errors = interpolation_errors(length, (first + last) / 2, (last - first) / 2, order)
        nodes = np.array([float(v) for v in chebyshev_nodes(first, last, order)])
        known = [weights(length, fmpq(int(v * 2**40), 2**40), 32) for v in nodes]
        between = [(first * (9 - j) + last * j) / 9 for j in range(10)]
        true = [weights(length, v, 32) for v in between]
    at = np.array([float(v.p) / float(v.q) for v in between])
    for index, error in ((0, errors.q), (1, errors.kappa)):
        fit = np.polynomial.Chebyshev.fit(nodes, [float(pair[index]) for pair in known], order)
        off = max(abs(fit(v) - float(pair[index])) for v, pair in zip(at, true, strict=True))
        assert off < float(error) + 1e-9


@pytest.mark.parametrize(("middle", "radius"), [(fmpq(1, 2), fmpq(1, 20)), (fmpq(9), fmpq(1)), (fmpq(10), fmpq(4))])
def test_the_best_of_ten_ellipses_is_taken(middle: fmpq, radius: fmpq) -> None:
    """With semi-axes of a tenth, two tenths, ... of the smaller of the middle and 2."""
    with working_precision(64):
        tried = [ellipse_errors(100, middle, radius, fmpq(k, 10) * min(middle, fmpq(2)), 8) for k in range(1, 11)]
        found = interpolation_errors(100, middle, radius, 8)
        least = min((errors for errors in tried if errors.q.is_finite()), key=lambda errors: float(errors.q))
    assert (found.q.mid(), found.kappa.mid()) == (least.q.mid(), least.kappa.mid())


def test_ellipses_that_do_not_fit_say_nothing() -> None:
    with working_precision(64):
        assert ellipse_errors(10, fmpq(1), fmpq(9, 10), fmpq(1), 8).q.is_finite() is not True
        assert ellipse_errors(10, fmpq(50), fmpq(1), fmpq(9), 8).q.is_finite() is not True
        assert interpolation_errors(10, fmpq(50), fmpq(1), 8).q.is_finite() is True


# -- fits


def test_a_polynomial_is_within_its_range_over_an_interval() -> None:
    with working_precision(64):
        polynomial = arb_poly([1, -3, 0, fmpq(5, 2)])
        found = within_range(polynomial, arb(fmpq(1, 2)).union(arb(1)))
        for k in range(11):
            assert found.contains(polynomial(arb(fmpq(10 + k, 20))))


def exponential(rate: fmpq, growth: fmpq, nodes: tuple[fmpq, ...], orders: tuple[int, ...]) -> Samples:
    """f(v) = e^(-rate v), of which everything is known, and h(v) = f(v) e^(-growth v)."""

    def f(v: arb, faster: fmpq) -> arb:
        return (-(rate + faster) * v).exp()

    pieces = []
    for first, last, order in zip(nodes[1:], nodes[2:], orders, strict=False):
        scaled = arb((last - first) / 2) * (rate + growth)
        own = scaled ** (order + 1) * f(arb(first), growth) / (2**order * arb(order + 1).gamma() * (order + 1))
        pieces.append(Piece(first, last, [f(v, growth) for v in chebyshev_nodes(first, last, order)], own))
    ends = (f(arb(0), fmpq(0)), f(arb(nodes[1]), fmpq(0)))
    return Samples(nodes[1], ends, arb(rate) ** 2, pieces, arb(0).union(f(arb(nodes[-1]), fmpq(0))))


def test_the_miss_of_an_exponential_by_another() -> None:
    """sup |e^(-v/2) - c e^(-v/2)| = 1 - c, and more where the exponents differ."""
    nodes, orders = (fmpq(0), fmpq(1, 64), fmpq(1), fmpq(4), fmpq(40)), (10, 12, 30)
    zero, one, quarter, half = fmpq(0), fmpq(1), fmpq(1, 4), fmpq(1, 2)
    with working_precision(64):
        known, faster = (exponential(half, growth, nodes, orders) for growth in (zero, quarter))
        assert (ExponentialSum(zero, half, (zero, one)).miss(known, 64) < fmpq(1, 10**3)) is True
        near = ExponentialSum(zero, half, (zero, fmpq(9, 10))).miss(known, 64)
        assert (near >= fmpq(1, 10)) is True
        # e^(-v/4) - e^(-v/2) is 1/4 at most, and 4/27 at most times e^(-v/4).
        other = ExponentialSum(zero, quarter, (zero, one))
        assert (other.miss(known, 64) >= quarter) is True
        grown = ExponentialSum(quarter, quarter, (zero, zero, one))
        assert grown.exponents()[2] == -quarter
        assert (grown.miss(faster, 64) >= fmpq(4, 27)) is True
        assert (grown.miss(faster, 64) < other.miss(known, 64)) is True
        assert (ExponentialSum(quarter, quarter, (zero, zero, zero, one)).miss(faster, 64) < fmpq(1, 10**3)) is True
        assert (ExponentialSum(quarter, quarter, (zero, zero, zero, half)).miss(faster, 64) >= half) is True


def test_samples_hold_for_real_prompts() -> None:
    """A constant fit misses q by what it has to."""
    with working_precision(64):
        of_q, of_kappa = samples(3, (fmpq(0), fmpq(1, 4), fmpq(1), fmpq(3)), (6, 8), fmpq(0), 32)
        miss = ExponentialSum(fmpq(0), fmpq(1), (fmpq(1, 3),)).miss(of_q, 64)
        assert (miss >= fmpq(2, 3)) is True
        assert (ExponentialSum(fmpq(0), fmpq(1), (fmpq(0),)).miss(of_kappa, 64) >= fmpq(1, 4)) is True


@pytest.mark.parametrize("growth", [fmpq(0), fmpq(3, 4)])
def test_misses_are_above_what_is_seen_between_the_nodes(growth: fmpq) -> None:
    """A crude fit of real moments, at variances that are nodes of nothing."""
    length, nodes, orders = 30, (fmpq(0), fmpq(1, 8), fmpq(1, 2), fmpq(2), fmpq(6)), (10, 12, 18)
    fit = ExponentialSum(growth, fmpq(1, 2), (fmpq(1, 100), fmpq(1, 20), -fmpq(1, 50)))
    with working_precision(64):
        known = samples(length, nodes, orders, growth, 32)
        for index, of in enumerate(known):
            for miss in fit.misses(of, 64):
                for k in range(1, 8):
                    v = miss.first + (fmpq(2 * k, 15) * (miss.last - miss.first) if miss.last is not None else k)
                    value = sum(
                        c * (w * v).exp() for c, w in zip(fit.coefficients, map(arb, fit.exponents()), strict=True)
                    )
                    off = abs(weights(length, v, 32)[index] - value) * (-growth * arb(v)).exp()
                    assert (off <= miss.bound) is True
