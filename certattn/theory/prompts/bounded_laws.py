"""Checks: tokens uniform on spheres and balls, and truncated Gaussians."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import mul
from typing import Any

import sympy

from certattn.theory import first_principles
from certattn.theory.exactness import Check, equal, equal_logarithms, equal_series
from certattn.theory.first_principles import TiltedLaw, TruncatedIntegral
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import forms, numbers, plain
from certattn.theory.symbols import matrix, positive_symbol, positive_vector, real, vector

Expr = Any


def _agree(kernel: Kernel, what: str, law: Any, derived: TiltedLaw, tilt: Sequence[Expr]) -> Iterator[Check]:
    """Log-MGF, tilted mean, covariance and third cumulant (a column of it) of the kernel against those from the MGF."""
    at, moments = numbers(tilt), kernel.law_moments
    yield equal_logarithms(f"log-MGF of {what}", law.log_mgf(at), derived.log_mgf())
    yield equal(f"tilted mean of {what}", law.tilted_mean(at), derived.mean())
    covariance = plain(moments.tilted_covariance(law, at))
    yield equal(f"tilted covariance of {what}", covariance, derived.covariance())
    d = len(tilt)
    along = [sympy.Integer(int(j == d - 1)) for j in range(d)]
    third = plain(moments.third_cumulant(law, at, numbers(along)))
    slopes = [sympy.diff(derived.covariance()[i][0], tilt[-1]) for i in range(d)]
    yield equal(f"third cumulant of {what}", [third[i][0] for i in range(d)], slopes)


def _fourth_agrees(kernel: Kernel, what: str, law: Any, derived: TiltedLaw, tilt: Sequence[Expr]) -> Iterator[Check]:
    """E (<V, x - c>^2)^2 without a tilt."""
    V, centre = vector("v", len(tilt)), vector("k", len(tilt))
    G = [[x * y for y in V] for x in V]
    found = kernel.law_moments.fourth(law, numbers(centre), numbers(G))
    raised = derived.weigh(lambda x: sum(v * (s - c) for v, s, c in zip(V, x, centre, strict=True)) ** 4)
    still = raised.subs(dict.fromkeys(tilt, 0), simultaneous=True)
    yield equal(f"the fourth moment of {what}", found, still.replace(sympy.hyper, _at_zero))


def _series_agrees(kernel: Kernel, what: str, law: Any, derived: TiltedLaw, tilt: Sequence[Expr]) -> Iterator[Check]:
    """Coefficients of E e^<a + t u + r v, x> in t and r."""
    u, v = vector("u", len(tilt)), vector("v", len(tilt))
    table = kernel.series.pair_series(law, *map(numbers, (tilt, u, v)), 2)
    for i, j in ((0, 0), (0, 1), (1, 1), (2, 1)):
        raised = derived.weigh(_powers(u, i, v, j))
        yield equal(f"coefficient {i}, {j} of the series of {what}", table[i][j], raised / sympy.factorial(i))


def _powers(u: Sequence[Expr], i: int, v: Sequence[Expr], j: int) -> Callable[[Sequence[Expr]], Expr]:
    """<u, x>^i <v, x>^j."""
    return lambda x: sum(map(mul, u, x)) ** i * sum(map(mul, v, x)) ** j


def _at_zero(above: Any, below: Any, z: Expr) -> Expr:
    return sympy.Integer(1) if z == 0 else sympy.hyper(above, below, z)


# -- spheres and balls


def check_spheres(kernel: Kernel) -> Iterator[Check]:
    """E e^<a, x> = 0F1(; b; z), term by term in every dimension; then the kernel's two forms for d = 1 to 3."""
    yield from _check_series()
    R2, m = positive_symbol("Q"), vector("m", 3)
    for dimension in (1, 2, 3):
        a = positive_vector("a", dimension)
        for solid in (False, True):
            law = kernel.laws.Radial(*numbers([R2]), dimension, solid)
            derived = first_principles.sphere(R2, solid, a)
            what = f"a {'ball' if solid else 'sphere'} in dimension {dimension}"
            for large in (False, True):
                with forms(large=large):
                    checks = list(_agree(kernel, f"{what}, {'large' if large else 'small'}", law, derived, a))
                yield from checks
            if dimension < 3:
                yield from _fourth_agrees(kernel, what, law, derived, a)
                with forms(large=False):
                    checks = list(_series_agrees(kernel, what, law, derived, a))
                yield from checks
        far = kernel.laws.Shifted(law, numbers(m[:dimension]))
        moved = first_principles.about(m[:dimension], first_principles.sphere(R2, True, a).normaliser(), a)
        with forms(large=False):
            checks = list(_agree(kernel, f"a ball about a point in dimension {dimension}", far, moved, a))
        yield from checks


def _check_series() -> Iterator[Check]:
    n, d, r = sympy.Symbol("n", integer=True, nonnegative=True), positive_symbol("d"), positive_symbol("r")
    size, b, g = positive_symbol("alpha"), positive_symbol("b"), real("g")
    density = sympy.exp(-(r**2) / 2)
    radial = sympy.integrate(r ** (2 * n + d - 1) * density, (r, 0, sympy.oo))
    radial /= sympy.integrate(r ** (d - 1) * density, (r, 0, sympy.oo))
    half, z = sympy.Rational(1, 2), size**2 / 4
    yield equal_series("E |g|^(2n) of d normals is 2^n (d/2)_n", radial, 2**n * sympy.rf(d / 2, n), n)
    one = 2 * sympy.integrate(r ** (2 * n) * density, (r, 0, sympy.oo)) / sympy.sqrt(2 * sympy.pi)
    yield equal_series("E g^(2n) of one is 2^n (1/2)_n", one, 2**n * sympy.rf(half, n), n)
    odd = sympy.integrate(g * sympy.exp(-(g**2) / 2), (g, -sympy.oo, sympy.oo))
    yield equal("the mean of one normal is 0", odd, 0)
    # As <a, g> = |g| <a, x> with |g| independent of the direction x.
    power = size ** (2 * n) * sympy.rf(half, n) / sympy.rf(d / 2, n)
    term = power / sympy.factorial(2 * n)
    wanted = z**n / (sympy.rf(d / 2, n) * sympy.factorial(n))
    yield equal_series("the series of the sphere is 0F1(; d/2; z)", term, wanted, n)
    share = sympy.integrate(r ** (2 * n) * d * r ** (d - 1), (r, 0, 1))
    solid = z**n / (sympy.rf(d / 2 + 1, n) * sympy.factorial(n))
    yield equal_series("the series of the ball is 0F1(; d/2 + 1; z)", sympy.simplify(share) * term, solid, n)
    bessel = (size / 2) ** (2 * n + b - 1) / (sympy.factorial(n) * sympy.gamma(n + b))
    outside = sympy.gamma(b) * (2 / size) ** (b - 1)
    wanted = z**n / (sympy.rf(b, n) * sympy.factorial(n))
    yield equal_series("0F1 through a Bessel function", sympy.powsimp(outside * bessel), wanted, n)


# -- truncated Gaussians


def check_truncated(kernel: Kernel) -> Iterator[Check]:
    """The change of variables to [-1, 1], with the kernel's integrals by their names; then what it sums for them."""

    def named(k: Any, slope: Any, top: int) -> Any:
        return numbers([TruncatedIntegral(n, *plain([k, slope])) for n in range(top + 1)])

    kernel.truncated_normals.truncated_normal_moments = named
    for dimension in (1, 2):
        m, low, high = (vector(name, dimension) for name in ("m", "p", "q"))
        v, a = positive_vector("v", dimension), vector("a", dimension)
        law = kernel.laws.truncated_gaussian(*map(numbers, (m, v, low, high)))
        derived = first_principles.truncated_gaussian(m, v, low, high, a)
        what = f"a truncated Gaussian in dimension {dimension}"
        yield from _agree(kernel, what, law, derived, a)
        if dimension == 1:
            yield from _fourth_agrees(kernel, what, law, derived, a)
            yield from _series_agrees(kernel, what, law, derived, a)
    yield from _check_fourth_of_two(kernel)
    y, k, slope, j = real("y"), positive_symbol("k"), real("l"), sympy.Symbol("j", integer=True, nonnegative=True)
    bell = sympy.exp(-k * y**2 / 2)
    whole = sympy.diff(y ** (2 * j + 1) * bell, y) / bell
    parts = (2 * j + 1) * y ** (2 * j) - k * y ** (2 * j + 2)
    rest = sympy.expand(sympy.powsimp(sympy.expand(whole - parts)))
    yield equal("by parts: (2j + 1) J_j = 2 e^(-k/2) + k J_(j + 1)", rest, 0)
    for parity in (0, 1):
        found = kernel.truncated_normals._shares(*numbers([slope]), parity, 4)
        powers = [slope**i / sympy.factorial(i) for i in range(parity, 10, 2)]
        yield equal(f"the shares l^m / m! of parity {parity}", found, powers)


def _check_fourth_of_two(kernel: Kernel) -> Iterator[Check]:
    """Independent coordinates of any moments: E ((x - c)'G(x - c))^2 for two rows of V, by its monomials."""
    V, c = matrix("V", 2, 2), vector("c", 2)
    G = V.T * V
    x = [real("x_1"), real("x_2")]
    moments = [vector("mu", 3), vector("nu", 3)]
    raised = sympy.Poly(((sympy.Matrix(x) - sympy.Matrix(c)).T * G * (sympy.Matrix(x) - sympy.Matrix(c)))[0] ** 2, *x)
    known = [[sympy.Integer(1), sympy.Integer(0), *row] for row in moments]
    wanted = sum(f * known[0][i] * known[1][j] for (i, j), f in raised.terms())
    found = kernel.law_moments._product_fourth([tuple(numbers(row)) for row in moments], numbers(c), numbers(G))
    yield equal("the fourth moment of independent coordinates", found, wanted)
