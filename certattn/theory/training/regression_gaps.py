"""Checks: the risk of a finite prompt less that of the infinite one, and its bounds over a ball."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, evaluated, expression, numbers
from certattn.theory.symbols import positive_symbol, real

Expr = Any


def check_identity(kernel: Kernel) -> Iterator[Check]:
    """E |b tau_hat - x|^2 - |b tau - x|^2 from the mean and mean square of tau_hat - tau."""
    gap, moments = kernel.risk_gap, kernel.mean_square
    b, q, kappa, trace, square, inner, plain = (real(name) for name in ("b", "q", "kappa", "T", "tau2", "tau_x", "x2"))
    # tau_hat = tau + e: E e = -q tau, E |e|^2 as for values V = I with |Gamma a|^2 = |tau|^2.
    mean = moments.bias_factor(q)
    size = moments.gaussian_mean_square(q, kappa, trace, square)
    finite = b**2 * (square + 2 * mean * square + size) - 2 * b * (1 + mean) * inner + plain
    infinite = b**2 * square - 2 * b * inner + plain
    factors = zip(gap.collision_factors(b), (trace, 2 * inner, square), strict=True)
    found = q * sum(x * y for x, y in factors) + kappa * gap.spread_factor(b) * square
    yield equal("the bracket of the identity", finite - infinite, found)
    yield equal("2b <tau, x> - b^2 |tau|^2 = |x|^2 - |b tau - x|^2", 2 * b * inner - b**2 * square, plain - infinite)


def check_ball(kernel: Kernel) -> Iterator[Check]:
    """The excess and the shortfall from averages over g ~ N(0, 1), and the best eta."""
    T, lam, A2, b2, plain, weighted = (positive_symbol(n) for n in ("T", "lambda", "A2", "b2", "M_0", "M_1"))
    ball = kernel.risk_gap.Ball(*numbers([A2, b2, T, lam]))
    Y = T * plain + lam * (weighted - plain)
    yield equal("r^2", ball.scale(), lam**2 * A2)
    yield equal("Y", ball.query_average(plain, weighted), Y)
    yield equal("the excess", ball.excess(plain, weighted), (b2 * T * plain + Y) / 2)
    X, y, eta = positive_symbol("X"), positive_symbol("Y"), positive_symbol("eta")
    bound = (sympy.Rational(5, 2) + 1 / eta) * X / 2 + eta * y / 2
    best = bound.subs(eta, sympy.sqrt(X / y))
    least = sympy.simplify(best - (sympy.Rational(5, 4) * X + sympy.sqrt(X * y)))
    yield Check("the least over eta", least == 0)
    rest = (sympy.sqrt(y) * eta - sympy.sqrt(X)) ** 2 / (2 * eta)
    yield equal(
        "which is a lower bound of all",
        sympy.expand(bound - sympy.Rational(5, 4) * X),
        sympy.expand(rest + sympy.sqrt(X) * sympy.sqrt(y)),
    )
    whole = b2 * lam * ball.scale() * weighted
    found = expression(ball.shortfall(plain, weighted)) - sympy.Rational(5, 4) * whole
    yield equal("the shortfall", found**2, whole * Y)
    # The conditional mean of g'Sigma g given <u, g>, for a diagonal Sigma and a unit vector in the plane.
    s1, s2, c, g = (positive_symbol(name) for name in ("s_1", "s_2", "c", "g"))
    h = real("h")
    sine = sympy.sqrt(1 - c**2)
    first, second = c * g - sine * h, sine * g + c * h
    form = sympy.expand(s1 * first**2 + s2 * second**2)
    mean = form.coeff(h, 0) + form.coeff(h, 2)
    along = s1 * c**2 + s2 * (1 - c**2)
    yield equal("E[g'Sigma g | <u, g>]", mean, s1 + s2 + along * (g**2 - 1))


def check_majorants(kernel: Kernel) -> Iterator[Check]:
    """Where the logistic function bends, its tangent, powers, and Gaussian means of ramps."""
    majorants = kernel.risk_gap
    v, L, theta, x = (positive_symbol(name) for name in ("v", "L", "theta", "x"))
    q = expression(kernel.mean_square.logistic(L, SymbolicNumber(v)))
    yield equal("its second derivative", sympy.diff(q, v, 2), q * (1 - q) * (1 - 2 * q))
    bend = sympy.log(L - 1)
    yield equal("1/2 at v_0", q.subs(v, bend), sympy.Rational(1, 2))
    yield equal("slope 1/4 at v_0", sympy.diff(q, v).subs(v, bend), sympy.Rational(1, 4))
    factor = evaluated(majorants.power_factor, theta, L)
    peak = theta**theta * (1 - theta) ** (1 - theta)
    yield Check(
        "the factor of a power", sympy.simplify(sympy.log(factor / (peak * (L - 1) ** -theta)).expand(force=True)) == 0
    )
    ratio = sympy.log(x) * (1 - theta) - sympy.log(1 + x)
    yield equal(
        "x^(1-theta) / (1 + x) is largest at x = (1 - theta) / theta",
        sympy.diff(ratio, x).subs(x, (1 - theta) / theta),
        0,
    )
    g, rest = real("g"), positive_symbol("D")
    density = sympy.exp(-rest * g**2 / 2) / sympy.sqrt(2 * sympy.pi)
    for k in (0, 1, 2, 3):
        mean = sympy.integrate(g ** (2 * k) * density, (g, -sympy.oo, sympy.oo))
        yield equal(f"E[e^(theta r^2 g^2) g^{2 * k}]", mean, majorants.power_moment(k, SymbolicNumber(rest)))
    start, scale, lower, upper = (positive_symbol(name) for name in ("c", "r2", "T_k", "T_l"))
    yield equal("a ramp", majorants.ramp(start, scale, lower, upper), scale * upper - start * lower)
    y, u = positive_symbol("y"), positive_symbol("u")
    for k in (0, 1, 2):
        # g^2 = 2 u: g^(2k) times the density of g becomes that of a gamma law.
        inner = 2 * (2 * u) ** k * sympy.exp(-u) / sympy.sqrt(2 * sympy.pi) / sympy.sqrt(2 * u)
        law = 2**k * u ** (k - sympy.Rational(1, 2)) * sympy.exp(-u) / sympy.sqrt(sympy.pi)
        yield equal(f"E[g^{2 * k}; g^2 > y] is an incomplete gamma function", inner, law)
    h, last = positive_symbol("h"), positive_symbol("q")
    worst = sympy.Rational(13, 12) * last * y * (h - y) / 2
    found = kernel.risk_gap.chord_excess(h, last)
    yield equal("a parabola above its chord, at the middle", worst.subs(y, h / 2), found.expr)


def check_lines(kernel: Kernel) -> Iterator[Check]:
    """What stands for a part of kappa: concave, from 0 with slope 1 on to 1; and how much what is averaged bends."""
    means, lines, weights = kernel.gap_means, kernel.gap_lines, kernel.weight_growth
    x, v = positive_symbol("x"), positive_symbol("v")
    f, m = evaluated(means.capped, x), means.ORDER
    y = m * x
    below = sum(y**j / sympy.factorial(j) for j in range(m)) * sympy.exp(-y)
    yield equal("its slope is the probability of N < m, N ~ Poisson(m x)", sympy.diff(f, x), below)
    yield equal("which falls", sympy.diff(below, x), -m * y ** (m - 1) / sympy.factorial(m - 1) * sympy.exp(-y))
    yield equal("it begins at 0", sympy.simplify(f.subs(x, 0)), 0)
    yield equal("and ends at 1", sympy.limit(f, x, sympy.oo), 1)
    # With q = 1 and the largest derivatives beside it, g = G v at most.
    concave, curved, rising = (c.expr for c in (weights.MOST_CONCAVE, weights.KAPPA_CONVEX, lines.MOST_RISING))
    q, kappa = sympy.Function("q")(v), sympy.Function("kappa")(v)
    a, b, G = (positive_symbol(name) for name in ("a", "b", "G"))
    h, g = a - b * v, G * v
    bent = sympy.expand(-sympy.diff(q * h - kappa * g, v, 2))
    orders = [(q.diff(v, 2), -concave), (kappa.diff(v, 2), curved), (q.diff(v), 1), (kappa.diff(v), rising)]
    for derivative, most in orders:
        bent = bent.subs(derivative, most)
    yield equal("minus the second derivative", bent, concave * h + 2 * b + curved * G * v + 2 * rising * G)
