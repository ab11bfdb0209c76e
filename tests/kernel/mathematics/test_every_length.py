"""The logistic bound against the integrand it bounds, and the lengths from which ratios decrease."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.every_length import display, log_peak, logistic_bound

THETAS = ["0", "1/10", "1/2", "9/10", "1"]


def number(text: str) -> fmpq:
    p, _, q = text.partition("/")
    return fmpq(int(p), int(q or 1))


@pytest.mark.parametrize("theta", THETAS)
def test_the_peak_is_the_maximum_over_x(theta: str) -> None:
    exact = number(theta)
    power = int(exact.p) / int(exact.q)
    with working_precision(64):
        peak = float(log_peak(arb(exact)).exp().mid())
    x = np.exp(np.linspace(-60, 60, 400001))
    found = (x ** (1 - power) / (1 + x)).max()
    assert found <= peak * (1 + 1e-12)
    assert found == pytest.approx(peak, rel=1e-6)


def test_a_ball_around_1_does_not_pass_for_1() -> None:
    """0 ln 0 is 0 for an exact 0 only."""
    with working_precision(64):
        assert log_peak(arb(1)) == 0
        assert not log_peak(arb(1) - arb(0, 1e-30)).is_finite()


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("length", [2, 3, 10, 10**6])
def test_the_logistic_bound_is_above_the_average(theta: str, length: int) -> None:
    """One query z ~ N(0, 1/4), s2 = z^2 and f = 1 + z^2."""
    exact, S = number(theta), 0.25
    power = int(exact.p) / int(exact.q)
    z, step = np.linspace(-8, 8, 40001, retstep=True)
    mass = np.exp(-(z**2) / (2 * S)) / math.sqrt(2 * math.pi * S) * step
    average = (mass * (1 + z**2) / (1 + (length - 1) * np.exp(-(z**2)))).sum()
    determinant = 1 - 2 * power * S
    with working_precision(64):
        bound = logistic_bound(arb(length), arb(exact), arb(determinant), 1 + arb(S) / arb(determinant))
        assert average <= float(arb(bound).upper())


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("rho", [0.05, 0.4, 0.9, 1.0])
def test_the_first_length_is_the_worst(rho: float, power: int) -> None:
    lengths = np.arange(2, 3000)
    with working_precision(64):
        forms = np.array([float(display(arb(int(n)), arb(rho), arb(1), power).mid()) for n in lengths])
    assert forms == pytest.approx(np.log(lengths) ** power / lengths**rho)
    for theta in (rho, (1 + rho) / 2, 1.0):
        assert (np.diff((lengths - 1.0) ** -theta / forms) < 0).all()
    for kappa in (rho / 2, rho / 50):
        onwards = lengths * kappa >= rho
        ratios = (3 / lengths + 5 * np.exp(-kappa * lengths)) / forms
        assert (np.diff(ratios[onwards]) < 0).all()


def test_the_display_is_0_at_length_1() -> None:
    with working_precision(64):
        assert all(display(arb(1), arb(0.3), arb(2), power) == 0 for power in (1, 2))
