"""The gap near its closed form, beside differences, integrals and moments in doubles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement, product
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.weight_fits import ExponentialSum, Fit, WeightFit
from certattn.kernel.theorems.training.finite_gap import (
    Jet,
    Rest,
    Spectrum,
    _distances,
    fitted_gap,
    infinite_risk,
    rest,
    tilt,
)

Array = np.ndarray[Any, Any]
Function = Callable[[Array], Array]
Tool = Callable[[str], ModuleType]
Terms = list[tuple[fmpq, fmpq]]


def terms(*pairs: tuple[str, str]) -> ExponentialSum:
    """From factors and rates."""
    return ExponentialSum([(number(c), number(r)) for c, r in pairs])


def number(text: str) -> fmpq:
    digits, _, places = text.partition(".")
    return fmpq(int(digits + places), 10 ** len(places))


# From 100 to 400 tokens, as in the tests of fits.
SHORT = WeightFit(
    100,
    400,
    Fit(
        terms(("0.4506", "0"), ("-1.151", "-0.125"), ("0.7708", "-0.25"), ("-0.05821", "-0.5"), ("-0.01338", "-2")),
        terms(("0.117", "0"), ("0.2003", "-0.125"), ("-0.4474", "-0.25"), ("0.131", "-0.5"), ("0.009619", "-2")),
        terms(("0.01167", "0.2998")),
    ),
    Fit(
        terms(("0.2606", "0"), ("-0.3696", "-0.125"), ("-0.02567", "-0.25"), ("0.1448", "-0.5"), ("-0.01097", "-2")),
        terms(
            ("0.09343", "0"), ("-0.07261", "-0.125"), ("-0.01614", "-0.25"), ("0.006378", "-0.5"), ("-0.001229", "-2")
        ),
        terms(("0.05527", "0.2998")),
    ),
)
NONE = terms(("0", "0"))
PLACES = [
    ([1.0], [1], [0.7], 0.9),
    ([0.5], [3], [-0.8], 1.4),
    ([1.25, 0.5], [1, 2], [0.3, -0.6], -0.8),
    ([0.75, 0.25], [4, 1], [0.0, 1.5], 1.1),
]
EACH = pytest.mark.parametrize(("sigma", "counts", "a", "b"), PLACES)


def keys(size: int, order: int, once: int | None = None) -> list[tuple[int, ...]]:
    """The variables along which there are derivatives, of which one comes once at most."""
    found = [key for n in range(order + 1) for key in combinations_with_replacement(range(size), n)]
    return [key for key in found if once is None or key.count(once) < 2]


def spectrum(sigma: Sequence[float], counts: Sequence[int]) -> Spectrum:
    return Spectrum([arb(x) for x in sigma], counts)


def values(of: ExponentialSum) -> Function:
    pairs = [(int(c.p) / int(c.q), int(r.p) / int(r.q)) for c, r in of.terms]
    return lambda v: sum((c * np.exp(r * v) for c, r in pairs), np.zeros_like(v))


def near(fit: Fit, mu: float) -> Function:
    f, g = values(fit.near), values(fit.share)
    return lambda v: f(v) + mu * g(v)


def of_k(fit: WeightFit, mu: float) -> Function:
    """Near q + 6 kappa = 7/3 q - 4/3 (q - 9/2 kappa)."""
    q, w = near(fit.q, mu), near(fit.w, mu)
    return lambda v: 7 / 3 * q(v) - 4 / 3 * w(v)


# -- means over chi-squared laws, by the trapezoid rule in the logarithm


def law(counts: Sequence[int], nodes: int = 400) -> tuple[Array, Array]:
    """Rows of (chi_1, ..., chi_p), and their weights."""
    each = []
    for n in counts:
        s = np.linspace(-36 / n, 5.2, nodes)
        chi = np.exp(s)
        weights = chi ** (n / 2) * np.exp(-chi / 2) / (2 ** (n / 2) * math.gamma(n / 2)) * (s[1] - s[0])
        each.append((chi, weights))
    grids = np.meshgrid(*(chi for chi, _ in each), indexing="ij")
    weights = np.ones(1)
    for _, one in each:
        weights = np.multiply.outer(weights, one)
    return np.stack([grid.ravel() for grid in grids], axis=1), weights.ravel()


def gap(sigma: Array, counts: Sequence[int], point: Array, q: Function, k: Function) -> float:
    """E[q P - k K], with the formula of the page for one query."""
    chi, weights = law(counts)
    a, b = point[:-1], float(point[-1])
    trace = float((np.array(counts) * sigma).sum())
    v = chi @ (sigma * a) ** 2
    P = b * b * trace / 2 + b * (chi @ (sigma**2 * a))
    K = b * b * (chi @ (sigma**3 * a**2)) / 2
    return float(((q(v) * P - k(v) * K) * weights).sum())


def slope(f: Callable[[Array], float], point: Array, h: float = 1e-4) -> Array:
    """By central differences."""
    steps = h * np.eye(len(point))
    return np.array([(f(point + step) - f(point - step)) / (2 * h) for step in steps])


# -- derivatives


MU = 0.375


@EACH
@pytest.mark.parametrize("part", ["infinite", "fitted", "both"])
def test_derivatives_are_those_of_the_value(
    sigma: list[float], counts: list[int], a: list[float], b: float, part: str
) -> None:
    """Each of order n + 1 as a difference of two of order n, along A, b and the length."""
    of = spectrum(sigma, counts)
    last = None if part == "infinite" else len(a) + 1

    def jet(point: list[arb]) -> Jet:
        *x, y, mu = point if last is not None else [*point, arb(0)]
        infinite = infinite_risk(of, x, y, 4)
        if part == "infinite":
            return infinite
        fitted = fitted_gap(of, SHORT, x, y, mu, 4)
        return fitted if part == "fitted" else fitted + infinite

    with working_precision(256):
        point, h = [arb(x) for x in ([*a, b] if last is None else [*a, b, MU])], arb(2) ** -60
        here = jet(point)
        assert set(here.parts) == set(keys(len(point), 4, last))
        for i in range(len(point)):
            up, down = (jet([x + sign * h if j == i else x for j, x in enumerate(point)]) for sign in (1, -1))
            for key in keys(len(point), 3, last):
                difference = (up.along(*key) - down.along(*key)) / (2 * h)
                assert abs(difference - here.along(i, *key)) < arb(2) ** -80


@EACH
def test_lower_orders_are_parts_of_higher_ones(sigma: list[float], counts: list[int], a: list[float], b: float) -> None:
    of, x = spectrum(sigma, counts), [arb(each) for each in a]
    whole = fitted_gap(of, SHORT, x, arb(b), arb(MU), 4)
    for order in range(4):
        low = fitted_gap(of, SHORT, x, arb(b), arb(MU), order)
        assert all(part.overlaps(whole.parts[key]) for key, part in low.parts.items())
        assert set(low.parts) == set(keys(len(a) + 2, order, len(a) + 1))


@EACH
@pytest.mark.parametrize("mu", [0, 0.25, 1])
def test_the_closed_form_is_the_mean(
    sigma: list[float], counts: list[int], a: list[float], b: float, mu: float
) -> None:
    of, x, s, n = spectrum(sigma, counts), [arb(each) for each in a], np.array(sigma), np.array(counts)
    found = fitted_gap(of, SHORT, x, arb(b), arb(mu), 0).along()
    truth = gap(s, counts, np.array([*a, b]), near(SHORT.q, mu), of_k(SHORT, mu))
    assert abs(float(found) - truth) < 1e-7
    infinite = (n * s * (1 - b * s * np.array(a)) ** 2).sum() / 2
    assert abs(float(infinite_risk(of, x, arb(b), 0).along()) - infinite) < 1e-12


def test_the_gap_is_that_of_simulated_prompts(tool: Tool) -> None:
    """R_L of 7 tokens, Sigma = diag(5/4, 1/2, 1/2) and A = diag(0.3, -0.6, -0.6)."""
    sigma, counts, point, length, size = np.array([1.25, 0.5]), [1, 2], np.array([0.3, -0.6, 0.8]), 7, 100_000
    q, k = moments(tool, length)
    rng, deviations, A = np.random.default_rng(5), np.sqrt([1.25, 0.5, 0.5]), np.array([0.3, -0.6, -0.6])
    tokens, x = rng.normal(size=(size, length, 3)) * deviations, rng.normal(size=(size, 3)) * deviations
    p = np.exp(np.einsum("nld,nd->nl", tokens, x * A))
    p /= p.sum(axis=1, keepdims=True)
    mean = np.einsum("nl,nld->nd", p, tokens)
    losses = ((0.8 * mean - x) ** 2).sum(axis=1) / 2
    infinite = float((np.array(counts) * sigma * (1 - 0.8 * sigma * point[:-1]) ** 2).sum() / 2)
    assert abs(infinite + gap(sigma, counts, point, q, k) - losses.mean()) < 5 * losses.std() / size**0.5


# -- what is left out


def moments(tool: Tool, length: int) -> tuple[Function, Function]:
    """q and q + 6 kappa, between nodes by a spline in the root of v."""
    spread = tool("truth.risk_transfer").spread(length)

    def at(v: Array) -> tuple[Array, Array]:
        q, kappa = spread(v)
        return q, q + 6 * kappa

    return lambda v: at(v)[0], lambda v: at(v)[1]


# Of interpolated moments.
LOOSE = 2e-5


@EACH
@pytest.mark.parametrize("length", [100, 150, 400])
def test_prompts_of_a_length_keep_to_the_rest(
    sigma: list[float], counts: list[int], a: list[float], b: float, length: int, tool: Tool
) -> None:
    q, k = moments(tool, length)
    mu = 100 / length
    error, spread = (lambda v: q(v) - near(SHORT.q, mu)(v)), (lambda v: k(v) - of_k(SHORT, mu)(v))
    point, s = np.array([*a, b]), np.array(sigma)
    bounds = rest(spectrum(sigma, counts), SHORT, [arb(x) for x in a], arb(b), arb(mu))

    def off(at: Array) -> float:
        return gap(s, counts, at, error, spread)

    assert abs(off(point)) <= float(bounds.value) + LOOSE
    for found, bound in zip(slope(off, point), bounds.gradient, strict=True):
        assert abs(found) <= float(bound) + LOOSE
        assert float(bound) < 2


# Large sums near the moments: of the two bounds the one that takes any error for possible is smaller.
STEEP = WeightFit(
    100, 400, Fit(NONE, terms(("90", "-0.25")), SHORT.q.error), Fit(terms(("90", "-0.5")), NONE, SHORT.w.error)
)


@EACH
@pytest.mark.parametrize("fit", [SHORT, STEEP], ids=["short", "steep"])
@pytest.mark.parametrize("where", [-1.0, 0.05, 0.3, 1.0])
def test_any_error_keeps_to_the_rest(
    sigma: list[float], counts: list[int], a: list[float], b: float, fit: WeightFit, where: float
) -> None:
    """As large as it may be, with a sign that changes somewhere, if not too suddenly."""
    point, s = np.array([*a, b]), np.array(sigma)
    bounds = rest(spectrum(sigma, counts), fit, [arb(x) for x in a], arb(b), arb(MU))
    for sign in (1, -1):

        def off(at: Array, sign: int = sign) -> float:
            def error(v: Array) -> Array:
                return np.tanh(20 * (v - where)) * values(fit.q.error)(v)

            def spread(v: Array) -> Array:
                other = sign * np.tanh(20 * (v - where)) * values(fit.w.error)(v)
                return 7 / 3 * error(v) - 4 / 3 * other

            return gap(s, counts, at, error, spread)

        found = slope(off, point)
        assert abs(off(point)) <= float(bounds.value) + 1e-7
        assert abs(found[-1]) <= float(bounds.gradient[-1]) + 1e-6
        if fit is STEEP:
            for x, one, bound in zip(a, found, bounds.gradient, strict=False):
                assert x == 0 or abs(one) <= float(bound) + 1e-6


def test_the_rest_over_a_box_is_that_of_each_of_its_points() -> None:
    of = spectrum([1.25, 0.5], [1, 2])
    box = [arb(0.3, 0.05), arb(-0.6, 0.1), arb(0.8, 0.2), arb(0.6, 0.4)]
    whole = rest(of, SHORT, box[:2], box[2], box[3])
    for signs in product((-1, 0, 1), repeat=4):
        *a, b, mu = (arb(x.mid()) + sign * arb(x.rad()) for x, sign in zip(box, signs, strict=True))
        here = rest(of, SHORT, a, b, mu)
        assert not here.value > whole.value
        assert all(not x > y for x, y in zip(here.gradient, whole.gradient, strict=True))


def test_a_rest_at_0_is_that_of_moments_that_grow(tool: Tool) -> None:
    """At A = 0 nothing is divided by A, and with it near 0 the smaller bound is taken."""
    of = spectrum([1.0], [1])
    at, near, over = (rest(of, SHORT, [a], arb(1), arb(MU)) for a in (arb(0), arb("1e-9"), arb(0, 1e-9)))
    assert at.gradient[0].is_finite()
    for other in (near, over):
        assert abs(other.gradient[0] - at.gradient[0]) < 1e-6


# -- absolute deviations


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("t", ["0.4", "1", "1.3", "4"])
def test_distances_of_chi_squared_laws(n: int, t: str) -> None:
    """Where |tY - n| has its corner the mean is cut in two."""
    size, weighted = 0.0, 0.0
    corner = math.log(n / float(t))
    for low, high in ((corner - 60, corner), (corner, corner + 6)):
        x, w = np.polynomial.legendre.leggauss(300)
        s = low + (x + 1) * (high - low) / 2
        y = np.exp(s)
        density = y ** (n / 2) * np.exp(-y / 2) / (2 ** (n / 2) * math.gamma(n / 2)) * w * (high - low) / 2
        size += float((abs(float(t) * y - n) * density).sum())
        weighted += float((abs(float(t) * y - n) * float(t) * y * density).sum())
    found = _distances(n, arb(t))
    assert abs(float(found[0]) - size) < 1e-6 * size
    assert abs(float(found[1]) - weighted) < 1e-5 * weighted


# -- means that do not exist


@pytest.mark.parametrize("a", [arb("1.4"), arb("1.5"), arb("-2"), arb("1.3", "0.2")])
def test_what_is_infinite_is_not_bounded(a: arb) -> None:
    """E e^(r v) is infinite for 2 r sigma^2 a^2 >= 1: here from |a| = 1.31 on."""
    of = spectrum([1.0], [1])
    found: Rest = rest(of, SHORT, [a], arb(1), arb(MU))
    assert not found.value.is_finite()
    assert not found.gradient[1].is_finite()
    assert not found.gradient[0].is_finite()


def test_tilts_that_are_known() -> None:
    assert tilt(fmpq(1, 4), arb(1), arb(1)).contains(2)
    assert tilt(fmpq(-1), arb(2), arb(1)).contains(fmpq(1, 9))
    assert tilt(fmpq(0), arb(2), arb(0, 1)) == 1
    for a in (arb("1.42"), arb(0, "1.42")):
        assert not tilt(fmpq(1, 4), arb(1), a).is_finite()
