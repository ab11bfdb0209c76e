"""Checks: the two suprema of the limit law under a causal mask, the pair that is known, and how far it is off."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.spectrum.spectral_laws import as_numbers, law_over_symbols
from certattn.theory.symbolic_flint import evaluated, numbers, plain
from certattn.theory.symbols import positive_symbol, real

Expr = Any


def check_suprema(kernel: Kernel) -> Iterator[Check]:
    """Sums of squares, with a' = b n - rho a^2 and c' = -rho + b n c^2."""
    a, c, n, rho, b = (positive_symbol(name) for name in ("a", "c", "n", "rho", "b"))
    phi, slope = real("phi"), real("phi'")
    a_slope, c_slope = b * n - rho * a**2, -rho + b * n * c**2

    def grows(coefficient: Expr, its_slope: Expr) -> Expr:
        """The derivative of a coefficient times phi^2."""
        return its_slope * phi**2 + 2 * coefficient * phi * slope

    energy = slope**2 / rho + b * n * phi**2
    left, right = slope - a * rho * phi, slope + rho / c * phi
    yield equal("left of y", energy, grows(a, a_slope) + left**2 / rho)
    yield equal("right of y", energy, -grows(1 / c, -c_slope / c**2) + right**2 / rho)
    dual = slope**2 / n + b * rho * phi**2
    left, right = slope - n * b / a * phi, slope + n * b * c * phi
    yield equal("left of x, of the other one", dual, grows(b / a, -b * a_slope / a**2) + left**2 / n)
    yield equal("right of x, of the other one", dual, -grows(b * c, b * c_slope) + right**2 / n)
    yield equal("g", 1 / (a + 1 / c), c / (1 + a * c))
    yield equal("h", 1 / (b / a + b * c), a / (b * (1 + a * c)))


def _turn(kernel: Kernel) -> Any:
    """The kernel's formulas over symbols."""
    A, B, u, k = (positive_symbol(name) for name in ("A", "B", "u", "k"))
    return kernel.causal_formulas.Turn(*numbers([A, B, u, k]))


def _along(kernel: Kernel) -> Any:
    """All that varies along the way, by v and S with S^2 = N^2 - q v (1-v) and v' = -C S; theta' = sigma' theta."""
    turn = _turn(kernel)
    A, B, u, k = plain([turn.alpha2, turn.beta2, turn.turn, turn.level])
    v, rate, theta, S = positive_symbol("v"), positive_symbol("C"), positive_symbol("theta"), real("S")
    N = plain(turn.above(numbers([v])[0]))
    q = (N**2 - S**2) / (v * (1 - v))
    growth = rate * (A + B * (2 * v - 1))
    # 2 S S' = (2 N dN/dv - q (1-2v)) v'.
    root_slope = -rate * (2 * N * sympy.diff(N, v) - q * (1 - 2 * v)) / 2

    def slope(expression: Expr) -> Expr:
        return (
            sympy.diff(expression, v) * -rate * S
            + sympy.diff(expression, S) * root_slope
            + sympy.diff(expression, theta) * growth * theta
        )

    b, n = q * rate / 4, rate * theta
    first, second = rate * (N - S) / (2 * v), rate * (N + S) / (2 * v)
    return SimpleNamespace(
        A=A, B=B, u=u, k=k, v=v, S=S, N=N, q=q, b=b, n=n, rate=rate, theta=theta, growth=growth, slope=slope,
        a=first * theta, c=second / (b * n),
    )  # fmt: skip


def check_pair(kernel: Kernel) -> Iterator[Check]:
    """The pair solves the equations: derivatives, and values at both ends."""
    s = _along(kernel)
    # q is one number on the way, and b with it: their derivative along it vanishes.
    yield equal("q does not change", s.slope(s.q), 0)
    yield equal("a c", s.a * s.c, 1 / s.v - 1)
    yield equal("a'", s.slope(s.a), s.b * s.n - s.a**2 / s.theta)
    yield equal("c'", s.slope(s.c), -1 / s.theta + s.b * s.n * s.c**2)
    lam = s.B / s.b
    inverse = -s.A / s.theta + s.slope(s.B * s.c / (1 + s.a * s.c))
    yield equal("(1/n)'", s.slope(1 / s.n), inverse)
    yield equal("theta'", s.slope(s.theta), s.A * s.n + s.slope(lam * s.a / (1 + s.a * s.c)))
    begin, end = {s.v: 1, s.S: s.k - s.A}, {s.v: 1, s.S: -(s.k - s.A)}
    yield equal("N at 1", s.N.subs(s.v, 1), s.k - s.A)
    # b is kept as a symbol here, as q is 0/0 at v = 1.
    b = positive_symbol("b")
    yield equal("a at 0", s.a.subs(begin), 0)
    yield equal("b n c at 1", (s.c * s.b * s.n).subs(end), 0)
    at_begin = (s.rate * (s.N + s.S) / (2 * s.v) / (b * s.n)).subs(begin)
    yield equal("c at 0", at_begin, (s.k - s.A) / (b * s.theta))


def check_numbers(kernel: Kernel) -> Iterator[Check]:
    """R, its coefficients, lambda, eta and the transform, as the kernel has them."""
    s, turn = _along(kernel), _turn(kernel)
    v, u = s.v, s.u
    R = evaluated(turn.cubic, v)
    above = s.N.subs(v, u)
    q = above**2 / (u * (1 - u))
    yield equal("q", plain(turn.ratio), q)
    yield equal("R", (v - u) * R, s.N**2 - q * v * (1 - v))
    y = positive_symbol("y")
    coefficients = plain(turn.bernstein())
    basis = [(1 - y) ** 3, 3 * y * (1 - y) ** 2, 3 * y**2 * (1 - y), y**3]
    whole = sum(coefficient * part for coefficient, part in zip(coefficients, basis, strict=True))
    yield equal("R in the Bernstein basis", whole, R.subs(v, u + (1 - u) * y))
    rate, eta, mean = s.rate, positive_symbol("eta"), positive_symbol("I_1")
    lam = evaluated(turn.lambda_, rate)
    yield equal("lambda", lam, s.B / (q * rate / 4))
    # n(1) = C theta(1) = 1, and sigma(1) is the mean of its derivative; dx = -dv/(C S) there and back.
    sigma = rate * (s.A - s.B) + 2 * rate * s.B * (2 * mean / rate)
    yield equal("sigma'", s.growth, rate * (s.A - s.B) + 2 * rate * s.B * v)
    yield equal("log eta", evaluated(turn.log_eta, rate, mean), -sympy.log(rate) - sigma)
    transform = evaluated(turn.transform, rate, eta)
    at_begin = lam * (s.k - s.A) / eta
    yield equal("1/n at 0", 1 + s.A * transform + at_begin, 1 / (rate * eta))
    yield equal("beta^2 c at 0", at_begin, s.B * (s.k - s.A) / (q * rate / 4 * eta))


def check_distance(kernel: Kernel) -> Iterator[Check]:
    """Logarithms of sums move less than those of their parts, and the factor of two solutions."""
    eta, X, r = positive_symbol("eta"), positive_symbol("X"), positive_symbol("r")
    share = X / (eta + X)
    log_sum = sympy.log(eta + X)
    yield equal("the part of the sum", sympy.diff(log_sum, X) * X, share)
    yield equal("the part of eta", sympy.diff(log_sum, eta) * eta, 1 - share)
    m = positive_symbol("m")
    kappa = m / (eta + m)
    yield equal("kappa/(1 - kappa)", kappa / (1 - kappa), m / eta)
    yield equal("the largest share, of n", (m / eta) / (1 + m / eta), kappa)
    t = positive_symbol("t")
    # D <= kappa (D + r) + (1 - kappa) t.
    distance = t + m / eta * r
    yield equal("the fixed distance", kappa * (distance + r) + (1 - kappa) * t, distance)


def check_moments(kernel: Kernel) -> Iterator[Check]:
    """The series solves the equations as far as it goes; walks of two and four steps, and no linear part."""
    law = as_numbers(law_over_symbols(kernel))
    A, B, lam = plain([law.alpha2, law.beta2, law.lambda_])
    found = plain(kernel.causal_formulas.moments(law, 3))
    x, y, t = real("x"), real("y"), positive_symbol("t")
    m = A + B
    yield equal("m_2", found[0], m * sympy.integrate(1, (y, 0, x), (x, 0, 1)))
    # From a row i, or a column, twice there and back; around four tokens, with columns up to the smaller of two rows.
    rows = sympy.integrate(x**2, (x, 0, 1)) + sympy.integrate((1 - y) ** 2, (y, 0, 1))
    around = 2 * sympy.integrate(y**2, (y, 0, x), (x, 0, 1))
    yield equal("m_4", found[1], m**2 * rows + B**2 / lam * around)
    none = type(law)(*numbers([A, sympy.Integer(0), lam]))
    for n, moment in enumerate(plain(kernel.causal_formulas.moments(none, 4)), start=1):
        yield equal(f"m_{2 * n} without a linear part", moment, sympy.Integer(n) ** n / sympy.factorial(n + 1) * A**n)
    # Two terms of every series, of which a and c are b x - ... and t (1 - x) - ...; what is left out begins with t^3.
    b = B / lam
    n_2, rho_2 = 1 - m * (1 - x) * t, t - m * x * t**2
    a = b * x - t * (b * m * (x - x**2 / 2) + b**2 * x**3 / 3)
    c = t * (1 - x) - t**2 * (m * (1 - x**2) / 2 + b * (1 - x) ** 3 / 3)

    def low(expression: Expr, order: int) -> Expr:
        return sympy.series(sympy.expand(expression), t, 0, order).removeO()

    beyond = lambda f: sympy.integrate(f, (x, x, 1))  # noqa: E731
    yield equal("a to the first order", low(sympy.diff(a, x) - b * n_2 + rho_2 * a**2, 2), 0)
    yield equal("c to the second order", low(sympy.diff(c, x) + rho_2 - b * n_2 * c**2, 3), 0)
    whole = 1 + A * beyond(rho_2) + B * low(c / (1 + a * c), 2)
    yield equal("n to the first order", low(n_2 * whole, 2), 1)
    above = A * sympy.integrate(n_2, (x, 0, x)) + lam * low(a / (1 + a * c), 2)
    yield equal("rho to the second order", low(rho_2 * (1 + t * above), 3), t)
    yield equal("m_2 by the series", sympy.integrate(rho_2, (x, 0, 1)), t - found[0] * t**2)
