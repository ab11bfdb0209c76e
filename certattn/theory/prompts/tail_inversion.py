"""Checks: the probability that a sum is positive, from its characteristic function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, expression
from certattn.theory.symbols import positive_symbol, real

Expr = Any
_ORDERS = range(1, 9)


def check_square_wave(kernel: Kernel) -> Iterator[Check]:
    """Fourier coefficients of sign(sin y), by integration, and where it is the sign of y."""
    y = real("y")
    for k in _ORDERS:
        half = sympy.integrate(sympy.sin(k * y), (y, 0, sympy.pi))
        # The wave is odd: 1/pi times twice the half.
        wanted = 4 / (sympy.pi * k) if k % 2 else 0
        yield equal(f"the coefficient of sin {k}y", 2 * half / sympy.pi, wanted)
    t, j = positive_symbol("Delta"), sympy.Symbol("k", integer=True, nonnegative=True)
    yield equal("the k-th frequency at y = Delta S / 2", (2 * j + 1) * t / 2, (j + sympy.Rational(1, 2)) * t)
    yield equal("its weight, halved", 4 / (sympy.pi * (2 * j + 1)) / 2, 1 / (sympy.pi * (j + sympy.Rational(1, 2))))


def check_characteristic_function(kernel: Kernel) -> Iterator[Check]:
    """The mean over h given g, and E 1/(w sigma)."""
    h, g, t, w, level = real("h"), real("g"), positive_symbol("t"), positive_symbol("w"), real("l")
    sigma = positive_symbol("sigma")
    # e^(ith w sigma) against the normal density: complete the square, h -> h + i t w sigma.
    exponent = sympy.I * t * w * (level + sigma * h) - h**2 / 2
    shifted = sympy.I * t * w * level - t**2 * w**2 * sigma**2 / 2 - (h - sympy.I * t * w * sigma) ** 2 / 2
    yield equal("the square in h", sympy.expand(exponent), sympy.expand(shifted))
    alpha, s = real("alpha"), positive_symbol("s")
    density = sympy.exp(-(g**2) / 2) / sympy.sqrt(2 * sympy.pi)
    mean = sympy.integrate(density * sympy.exp(-s * g), (g, -sympy.oo, sympy.oo))
    balls = {name: SymbolicNumber(x) for name, x in
             {"alpha": alpha, "mu": real("mu"), "s": s, "c": real("c"), "sigma": sigma}.items()}  # fmt: skip
    plane = kernel.capped_sums.Plane(**balls, flat_score=False, tied=False, slope_sign=1)
    found = kernel.tail_inversion.WeightedPart(SymbolicNumber(1), plane).inverse_mean()
    yield equal("E 1/(w sigma)", expression(found), mean * sympy.exp(-alpha) / sigma)


def check_left_out(kernel: Kernel) -> Iterator[Check]:
    """e^(-y^2/2) <= 1/y for y > 0, and the sum of 1/(k + 1/2)^2 from K on."""
    y, k = positive_symbol("y"), positive_symbol("k")
    value = y * sympy.exp(-(y**2) / 2)
    yield equal("y e^(-y^2/2) turns at 1 only", sympy.diff(value, y) * sympy.exp(y**2 / 2), (1 - y) * (1 + y))
    yield positive("and is below 1 there", 1 - sympy.exp(sympy.Rational(-1, 2)))
    yield equal(
        "(k + 1/2)^2 exceeds k (k + 1) by 1/4", (k + sympy.Rational(1, 2)) ** 2, k * (k + 1) + sympy.Rational(1, 4)
    )
    yield equal("1/(k (k + 1)) telescopes", 1 / (k * (k + 1)), 1 / k - 1 / (k + 1))


def check_strip(kernel: Kernel) -> Iterator[Check]:
    """The size of the integrand on the line Im g = b, and its integral."""
    g, b, s, c, mu = real("g"), real("b"), positive_symbol("s"), real("c"), real("mu")
    X, sigma, B = positive_symbol("X"), positive_symbol("sigma"), positive_symbol("B")
    turned = sympy.exp(sympy.I * s * b)
    # X = t |w|, and w = |w| e^(isb).
    exponent = sympy.I * X * turned * (mu + c * (g + sympy.I * b)) - X**2 * turned**2 * sigma**2 / 2
    A = sympy.sin(s * b) * (mu + c * g) + sympy.cos(s * b) * c * b
    size = -X * A - X**2 * sympy.cos(2 * s * b) * sigma**2 / 2
    found = sympy.re(sympy.expand_complex(exponent))
    yield Check("the real part of the exponent", sympy.simplify(sympy.expand_trig(found - size)) == 0)
    normal = sympy.re(sympy.expand_complex(-((g + sympy.I * b) ** 2) / 2))
    yield equal("the density grows by e^(b^2/2)", normal, -(g**2) / 2 + b**2 / 2)
    a = real("A")
    yield equal(
        "A^2/2B exceeds -XA - X^2 B/2 by a square", a**2 / (2 * B) + X * a + X**2 * B / 2, (a + X * B) ** 2 / (2 * B)
    )
    p, q = real("p"), real("q")
    kappa = q**2 / B
    middle = p * q / (B * (1 - kappa))
    whole = -(1 - kappa) * (g - middle) ** 2 / 2 + p**2 / (2 * B * (1 - kappa))
    yield equal("the square in g", -(g**2) / 2 + (p + q * g) ** 2 / (2 * B), whole)
