"""Moments of weighted tokens and the bounds made of them, against sums and integrals by mpmath."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq
from mpmath import mp, mpf

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.functions import exp_remainder
from certattn.kernel.mathematics.laws import (
    Atoms,
    Box,
    Gaussian,
    Mixture,
    Rademacher,
    Radial,
    Shifted,
    TruncatedGaussian,
)
from certattn.kernel.theorems.prompts.mathematics.series import (
    linear_exponential,
    mgf_series,
    power,
    product,
    uniform_coefficient,
)
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import (
    Summand,
    bound_of_summands,
    bounded_exponential,
    bounded_parts,
    cantelli,
    chernoff,
    moment_bound,
    support_function,
)

BITS = 256
# E f(score, output) of one token, for the tilt A, the direction V.
A, V = [mpf("0.75"), mpf("-0.5")], [mpf("0.25"), mpf(1)]
Expectation = Callable[[Callable[[mpf, mpf], mpf]], mpf]


def balls(values: Sequence[mpf]) -> list[arb]:
    return [arb(fmpq(*map(int, fraction(value)))) for value in values]


def fraction(value: mpf) -> tuple[int, int]:
    """An exact dyadic number."""
    return int(value * 1024), 1024


def score(x: Sequence[mpf]) -> mpf:
    return mp.fdot(A, x)


def output(x: Sequence[mpf]) -> mpf:
    return mp.fdot(V, x)


def _points(points: Sequence[Sequence[Any]], weights: Sequence[Any]) -> Expectation:
    return lambda f: mp.fsum(w * f(score(p), output(p)) for w, p in zip(weights, points, strict=True))


def _grid(nodes: Any, weights: Any, sizes: tuple[int, int], centre: tuple[int, int], total: float) -> Expectation:
    """Quadrature by the product of one rule in doubles."""
    pairs = list(zip(nodes.tolist(), (weights / total).tolist(), strict=True))
    points = [(centre[0] + sizes[0] * mpf(x), centre[1] + sizes[1] * mpf(y)) for x, _ in pairs for y, _ in pairs]
    return _points(points, [mpf(v) * mpf(w) for _, v in pairs for _, w in pairs])


with mp.workdps(80):
    _ANGLES = [2 * mp.pi * k / 96 for k in range(96)]
    _CIRCLE = _points([(1 + 2 * mp.cos(t), 2 * mp.sin(t) - 1) for t in _ANGLES], [mpf(1) / 96] * 96)
_LEGENDRE, _SHARES = np.polynomial.legendre.leggauss(30)
_CUT = _SHARES * np.exp(_LEGENDRE - _LEGENDRE**2)
_SIGNS = _points(list(itertools.product((1, -1), (2, -2))), [mpf(1) / 4] * 4)
_ATOMS = _points([(0, 1), (2, -1)], [mpf(1) / 4, mpf(3) / 4])
_NORMAL = _grid(*np.polynomial.hermite_e.hermegauss(40), (1, 1), (1, -1), float(np.sqrt(2 * np.pi)))
LAWS: dict[str, tuple[Any, Expectation]] = {
    "signs": (Rademacher([fmpq(1), fmpq(2)]), _SIGNS),
    "atoms": (Atoms([[fmpq(0), fmpq(1)], [fmpq(2), fmpq(-1)]], [fmpq(1, 4), fmpq(3, 4)]), _ATOMS),
    "a box": (Box([fmpq(1), fmpq(2)]), _grid(*np.polynomial.legendre.leggauss(24), (1, 2), (0, 0), 2)),
    "signs about a point": (
        Shifted(Rademacher([fmpq(1), fmpq(2)]), [fmpq(1), fmpq(-3)]),
        _points(list(itertools.product((2, 0), (-1, -5))), [mpf(1) / 4] * 4)),
    "a box about a point": (
        Shifted(Box([fmpq(1), fmpq(2)]), [fmpq(1), fmpq(-3)]),
        _grid(*np.polynomial.legendre.leggauss(24), (1, 2), (1, -3), 2)),
    "truncated Gaussians about a point": (
        Shifted(TruncatedGaussian([fmpq(1), fmpq(2)], [fmpq(2), fmpq(2)], [fmpq(1), fmpq(1)]), [fmpq(1), fmpq(-3)]),
        _grid(_LEGENDRE, _CUT, (1, 2), (1, -3), float(_CUT.sum()))),
    "a circle about a point": (Shifted(Radial(fmpq(4), 2, solid=False), [fmpq(1), fmpq(-1)]), _CIRCLE),
    "a Gaussian": (Gaussian([fmpq(1), fmpq(-1)], [[fmpq(1), fmpq(0)], [fmpq(0), fmpq(1)]]), _NORMAL),
    "a mixture": (
        Mixture(
            [
                Rademacher([fmpq(1), fmpq(2)]),
                Atoms([[fmpq(0), fmpq(1)], [fmpq(2), fmpq(-1)]], [fmpq(1, 4), fmpq(3, 4)]),
            ],
            [fmpq(1, 3), fmpq(2, 3)],
        ),
        lambda f: (_SIGNS(f) + 2 * _ATOMS(f)) / 3),
}  # fmt: skip
laws = pytest.mark.parametrize("name", LAWS)
# Quadrature in doubles.
DIGITS = {"truncated Gaussians about a point": 11, "a box": 11, "a box about a point": 11, "a Gaussian": 10}


def near(found: arb, wanted: mpf, digits: int) -> bool:
    """Narrow, and what it should be as far as mpmath knows."""
    middle = mpf(found.mid().str(60, radius=False))
    return bool(found.rad() < arb(10) ** -30 and abs(middle - wanted) <= mpf(10) ** -digits * max(1, abs(wanted)))


def summand(law: Any, eps: fmpq) -> Summand:
    return Summand(law.map(arb), balls(A), balls(V), arb(eps))


# -- power series


def test_a_product_is_cut_off() -> None:
    assert product([1, 2, 3], [4, 5, 6]) == [4, 13, 28]


@pytest.mark.parametrize("exponent", range(1, 12))
def test_powers(exponent: int) -> None:
    series = [1, -2, 3, 5]
    wanted = [1, 0, 0, 0]
    for _ in range(exponent):
        wanted = product(wanted, series)
    assert power(series, exponent) == wanted


def test_exponentials_of_polynomials() -> None:
    with working_precision(BITS), mp.workdps(60):
        found = mgf_series(Gaussian([arb(2)], [[arb(6)]]), [arb(0)], [arb(1)], 6)
        wanted = mp.taylor(lambda t: mp.exp(2 * t + 3 * t * t), 0, 6)
        assert all(near(x, y, 40) for x, y in zip(found, wanted, strict=True))
        for x, n in zip(linear_exponential(arb(-3), 6), range(7), strict=True):
            assert near(x, mpf(-3) ** n / mp.factorial(n), 50)


# -- moments


@laws
@pytest.mark.parametrize("k", [0, 2, 3])
def test_the_series_holds_tilted_moments(name: str, k: int) -> None:
    law, expectation = LAWS[name]
    with working_precision(BITS), mp.workdps(40):
        found = mgf_series(law.map(arb), [k * a for a in balls(A)], balls(V), 4)
        for n in (0, 1, 4) if name not in DIGITS else (4,):
            wanted = expectation(lambda x, y, n=n: mp.exp(k * x) * y**n) / mp.factorial(n)
            assert near(found[n], wanted, DIGITS.get(name, 30))


@pytest.mark.parametrize("x", ["0", "1e-20", "0.3", "-2", "40", "-700"])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_averages_over_an_interval(x: str, n: int) -> None:
    with working_precision(BITS), mp.workdps(60):
        found = uniform_coefficient(arb(x), arb(2), n)
        # mp's own incomplete gamma function cancels near 0; the series of the integral does not.
        terms = ((mpf(x) ** k / mp.factorial(k)) / (n + k + 1) for k in range(2500) if (n + k) % 2 == 0)
        wanted = mp.fsum(terms) * mpf(2) ** n / mp.factorial(n)
        assert abs(mpf(found.mid().str(60, radius=False)) - wanted) <= mpf(10) ** -40 * abs(wanted)


@laws
def test_centred_moments(name: str) -> None:
    law, expectation = LAWS[name]
    eps = fmpq(1, 8)
    with working_precision(BITS), mp.workdps(40):
        y = summand(law, eps)
        total = expectation(lambda x, _: mp.exp(x))
        mean = expectation(lambda x, y: mp.exp(x) * y) / total

        def centred(j: int) -> mpf:
            return expectation(lambda x, y: (mp.exp(x) / total * (y - mean - mpf(1) / 8) + mpf(1) / 8) ** j)

        series = y.centred_series(4)
        for j in (0, 1, 4) if name not in DIGITS else (4,):
            assert near(series[j], centred(j) / mp.factorial(j), DIGITS.get(name, 30))
        assert near(2 * series[2] - y.variance(), mpf(0), 30)


# -- the largest summand


def test_parts_of_bounded_support() -> None:
    assert support_function(Box([arb(1), arb(2)]), [arb(2), arb(-3)]) == 8
    parts = bounded_parts(LAWS["a mixture"][0])
    assert parts is not None
    assert [type(part).__name__ for part in parts] == ["Rademacher", "Atoms"]
    assert bounded_parts(LAWS["a Gaussian"][0]) is None
    assert bounded_parts(Mixture([Box([fmpq(1)]), Gaussian([fmpq(0)], [[fmpq(1)]])], [fmpq(1, 2)] * 2)) is None


def largest(law: Any, y: Summand) -> arb:
    parts = bounded_parts(law)
    assert parts is not None
    return bound_of_summands(y, parts)


@pytest.mark.parametrize("name", ["signs", "atoms", "a box", "a mixture"])
@pytest.mark.parametrize("eps", [fmpq(1, 100), fmpq(1), fmpq(50)])
def test_no_summand_is_larger_than_the_bound(name: str, eps: fmpq) -> None:
    law = LAWS[name][0].map(arb)
    atoms = [[arb(0), arb(1)], [arb(2), arb(-1)]]
    lattice = [[arb(i) / 10, arb(j) / 5] for i in range(-10, 11) for j in range(-10, 11)]
    corners = [[arb(s), arb(2 * t)] for s in (1, -1) for t in (1, -1)]
    tokens = {"atoms": atoms, "a mixture": [*corners, *atoms], "signs": corners, "a box": lattice}[name]
    with working_precision(96):
        y = Summand(law, balls(A), balls(V), arb(eps))
        bound = largest(law, y)
        found = arb(eps)
        for x in tokens:
            assert y.at(x) <= bound + arb("1e-20")
            found = found.max(y.at(x))
        # The search finds about the best slope; the bound of signs is that of the box whose corners they are.
        if name in ("atoms", "a box"):
            assert bound <= found * arb("1.01") + arb("0.01")


# -- bounds


@pytest.mark.parametrize("order", [2, 4, 10])
@pytest.mark.parametrize("y", ["0", "1e-30", "0.7", "-3", "60"])
def test_the_remainder_of_the_exponential(order: int, y: str) -> None:
    with working_precision(BITS), mp.workdps(400):
        found = exp_remainder(order, arb(y))
        series = mp.fsum(mpf(y) ** k / mp.factorial(order + k) for k in range(400))
        assert abs(mpf(found.mid().str(60, radius=False)) - series) <= mpf(10) ** -40 * abs(series)


@pytest.mark.parametrize("length", [1, 2, 3, 7])
@pytest.mark.parametrize("order", [2, 4, 6])
def test_moments_of_a_sum_of_signs(length: int, order: int) -> None:
    """E S^p by counting the sums of `length` signs."""
    count = sum(sum(signs) ** order for signs in itertools.product((1, -1), repeat=length))
    with working_precision(BITS), mp.workdps(60):
        series = [arb(1) / math.factorial(j) if j % 2 == 0 else arb(0) for j in range(order + 1)]
        found = moment_bound(series, arb(1) / 2, length)
        assert near(found, mpf(count) / 2**length / (mpf(length) / 2) ** order, 50)


@pytest.mark.parametrize("name", ["signs", "atoms"])
@pytest.mark.parametrize("order", [2, 4, 8])
@pytest.mark.parametrize("slope", ["0.1", "1"])
def test_the_exponential_is_below_its_bound(name: str, order: int, slope: str) -> None:
    law, expectation = LAWS[name]
    with working_precision(BITS), mp.workdps(40):
        y = summand(law, fmpq(1, 8))
        total = expectation(lambda x, _: mp.exp(x))
        mean = expectation(lambda x, y: mp.exp(x) * y) / total

        def exponential(x: mpf, out: mpf) -> mpf:
            return mp.exp(mpf(slope) * (mp.exp(x) / total * (out - mean - mpf(1) / 8) + mpf(1) / 8))

        bound = bounded_exponential(y.centred_series(order), arb(slope), largest(law.map(arb), y))
        wanted = expectation(exponential)
        assert mpf(bound.lower().str(40, radius=False)) >= wanted
        if order == 8 and slope == "0.1":
            assert abs(mpf(bound.mid().str(40, radius=False)) / wanted - 1) < mpf(10) ** -7


def test_cantelli_and_chernoff() -> None:
    assert cantelli(fmpq(1), fmpq(1, 2), 12) == fmpq(1, 4)
    assert chernoff(fmpq(1, 2), 3) == fmpq(1, 8)
