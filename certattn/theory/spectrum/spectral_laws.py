"""Checks: the variance of softmax weights; cumulants, moments, quartic equation and primitive of the limit law."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, vanishes
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import evaluated, numbers, plain
from certattn.theory.symbols import positive_symbol, real

Expr = Any


def elementary(expression: Expr) -> Expr:
    """The exponential's remainder as the elementary function that it is."""

    def close(above: Any, below: Any, z: Expr) -> Expr:
        # 1F1(1; 3; z) = 2 (e^z - 1 - z)/z^2, term by term: (1)_k/((3)_k k!) = 2/(k+2)!; 1F1(1; 2; z) by 1/(k+1)!.
        closed = {(2,): (sympy.exp(z) - 1) / z, (3,): 2 * (sympy.exp(z) - 1 - z) / z**2}
        if tuple(above) != (1,) or tuple(below) not in closed:
            raise ValueError(f"1F1({above}; {below}; .) is not known here")
        return closed[tuple(below)]

    return expression.replace(sympy.hyper, close)


def law_over_symbols(kernel: Kernel) -> Any:
    """The kernel's numbers of a law, all positive symbols."""
    alpha2, beta2, lambda_ = (positive_symbol(name) for name in ("A", "B", "lambda"))
    return kernel.equivalent_formulas.LawNumbers(alpha2, beta2, lambda_)


def as_numbers(law: Any) -> Any:
    """A law of expressions as one of the kernel's numbers."""
    return type(law)(*numbers([law.alpha2, law.beta2, law.lambda_]))


def check_energy(kernel: Kernel) -> Iterator[Check]:
    """The variance of e^(beta g - beta^2/2), its part along g, and what remains."""
    formulas = kernel.equivalent_formulas
    beta, x = positive_symbol("beta"), positive_symbol("x")
    g, k = real("g"), sympy.Symbol("k", integer=True, nonnegative=True)
    density = sympy.exp(-(g**2) / 2) / sympy.sqrt(2 * sympy.pi)

    def mean(function: Expr) -> Expr:
        # Completing the square gives Gaussian integrals.
        return sympy.integrate(sympy.expand(function) * density, (g, -sympy.oo, sympy.oo), conds="none")

    weight = sympy.exp(beta * g - beta**2 / 2)
    variance = sympy.simplify(mean(weight**2) - 1)
    yield equal("the mean is 1", sympy.simplify(mean(weight)), 1)
    yield equal("the variance", variance, sympy.exp(beta**2) - 1)
    yield equal("the linear part", sympy.simplify(mean(weight * g)), beta)
    for below in (2, 3):
        term = sympy.rf(1, k) / (sympy.rf(below, k) * sympy.factorial(k))
        ratio = sympy.simplify(sympy.combsimp(term / (sympy.factorial(below - 1) / sympy.factorial(k + below - 1))))
        yield equal(f"the series of 1F1(1; {below}; z)", ratio, 1)
    alpha2 = elementary(evaluated(formulas.nonlinear_energy, x))
    yield equal("alpha^2", alpha2, (variance - beta**2).subs(beta, sympy.sqrt(x)))
    rho = elementary(evaluated(formulas.energy_ratio, x))
    yield equal("rho", rho, (sympy.exp(x) - 1 - x) / x)
    share = formulas.LawNumbers(alpha2, x, 1).share
    yield equal("the nonlinear share", share, 1 - x / (sympy.exp(x) - 1))
    yield equal("rho at a share", formulas.ratio_of_share(share), alpha2 / x)
    s = real("s")
    yield equal("rho as an average", sympy.integrate(sympy.exp(s * x) - 1, (s, 0, 1)), rho)


def check_cumulants(kernel: Kernel) -> Iterator[Check]:
    """lambda E l^2n of jumps l = +-beta/sqrt(lambda), and the variance of the other part."""
    law = law_over_symbols(kernel)
    A, B, lam = law.alpha2, law.beta2, law.lambda_
    found = law.cumulants(6)
    yield equal("b", law.pole, B / lam)
    for n in range(1, 7):
        jumps = (sympy.sqrt(B / lam) ** (2 * n) + (-sympy.sqrt(B / lam)) ** (2 * n)) / 2
        yield equal(f"kappa_{2 * n}", found[n - 1], lam * jumps + (A if n == 1 else 0))
    w = positive_symbol("w")
    rest = law.inverse(w) - 1 / w - sum(kappa * w ** (2 * n - 1) for n, kappa in enumerate(found, start=1))
    # What the sum leaves out is the geometric series from its seventh term on.
    yield equal("the rest of the series", rest, law.beta2 * w * (law.pole * w**2) ** 6 / (1 - law.pole * w**2))


def check_quartic(kernel: Kernel) -> Iterator[Check]:
    """P, its values where K is not defined, its roots for large z, and roots near a number."""
    law = law_over_symbols(kernel)
    w, z, y = sympy.Symbol("w"), sympy.Symbol("z"), positive_symbol("y")
    b = law.pole
    P = _polynomial(law.quartic(z), w)
    yield equal("P", P, w * (1 - b * w**2) * (z - law.inverse(w)))
    yield equal("P at 0", P.subs(w, 0), -1)
    for sign in (1, -1):
        yield equal(f"P at a pole, {sign}", P.subs(w, sign / sympy.sqrt(b)), -law.lambda_)
    # For z = iy: w ~ 1/z, w ~ z/alpha^2 and w ~ +-b^(-1/2) - c/z solve P = 0 to the leading order.
    at = sympy.I * y
    yield Check("w ~ 1/z", _limit(P.subs({w: 1 / z, z: at}), y) == 0)
    yield Check("w ~ z/alpha^2", _limit((P / z**2 / w**2).subs(w, z / law.alpha2).subs(z, at), y) == 0)
    c = law.lambda_ / 2
    for sign in (1, -1):
        near = P.subs(w, sign / sympy.sqrt(b) - c / z).subs(z, at)
        yield Check(f"w ~ {sign}/sqrt(b) - c/z, c > 0", _limit(near, y) == 0)
    yield equal("1/z is below the real line", sympy.im(1 / at), -1 / y)
    yield equal("z/alpha^2 is above it", sympy.im(at / law.alpha2), y / law.alpha2)
    yield equal("-c/z is above it", sympy.im(-c / at), c / y)
    roots = sympy.symbols("w_1:5")
    product = sympy.prod([w - root for root in roots])
    total = sum(1 / (w - root) for root in roots)
    yield equal("the logarithmic derivative", sympy.diff(product, w) / product, total)


def _limit(expression: Expr, y: Expr) -> Expr:
    """As y grows, of a rational function."""
    numerator, denominator = sympy.fraction(sympy.together(sympy.expand(expression)))
    above, below = sympy.Poly(numerator, y), sympy.Poly(denominator, y)
    above = sympy.Poly([sympy.simplify(entry) for entry in above.all_coeffs()], y)
    return sympy.Integer(0) if above.is_zero or above.degree() < below.degree() else sympy.oo


def _polynomial(coefficients: list[Any], x: Expr) -> Expr:
    return sum((coefficient * x**k for k, coefficient in enumerate(plain(coefficients))), sympy.Integer(0))


def check_primitive(kernel: Kernel) -> Iterator[Check]:
    """Phi' = w K', Phi = w K - a primitive of K, and its imaginary part where it is known."""
    law = law_over_symbols(kernel)
    w, y, v = sympy.Symbol("w"), positive_symbol("y"), positive_symbol("v")
    primitive = as_numbers(law).primitive
    Phi = evaluated(primitive, w)
    slope = law.inverse_slope(w)
    yield equal("K'", slope, sympy.diff(law.inverse(w), w))
    yield equal("Phi' = w K'", sympy.diff(Phi, w), w * slope)
    # At w = -iy, y > 0: the logarithms of 1 +- i sqrt(b) y are conjugate, Log(-iy) = log y - i pi/2.
    root = sympy.sqrt(law.pole) * y
    both = sympy.log(1 + sympy.I * root) + sympy.log(1 - sympy.I * root)
    rest = evaluated(primitive, -sympy.I * y) - law.lambda_ * both / 2 + sympy.log(-sympy.I * y)
    yield equal("all but logarithms is real", sympy.im(sympy.simplify(rest)), 0)
    yield equal("the mass of all", 2 / sympy.pi * -sympy.arg(-sympy.I * y), 1)
    # In a gap sqrt(b) w = 1 + v > 1. From below the real line 1 - sqrt(b) w = -v has the argument +pi, as here.
    outside = sympy.simplify(evaluated(primitive, (1 + v) / sympy.sqrt(law.pole)))
    yield equal("the mass above a gap", 2 / sympy.pi * sympy.im(sympy.expand_log(outside)), law.lambda_)


def check_moments(kernel: Kernel) -> Iterator[Check]:
    """The series of moments solves z = K(G(z)); closed forms up to m_8; the excess kurtosis."""
    law = law_over_symbols(kernel)
    B, m, r = law.beta2, law.variance, 1 / law.lambda_
    found = law.moments(4)
    closed = [
        m,
        2 * m**2 + r * B**2,
        5 * m**3 + 6 * r * B**2 * m + r**2 * B**3,
        14 * m**4 + 28 * r * B**2 * m**2 + r**2 * (8 * B**3 * m + 4 * B**4) + r**3 * B**4,
    ]
    for n, (moment, form) in enumerate(zip(found, closed, strict=True), start=1):
        yield equal(f"m_{2 * n}", moment, form)
    t = sympy.Symbol("t")
    # With t = 1/z: G = t (1 + m_2 t^2 + ...), and P(G; 1/t) t must vanish up to the order that m_6 reaches.
    G = t * (1 + sum(moment * t ** (2 * n) for n, moment in enumerate(found[:3], start=1)))
    series = sympy.expand(_polynomial(law.quartic(1 / t), G))
    for order in range(0, 7):
        yield Check(f"z = K(G) at order {order}", vanishes(series.coeff(t, order)))
    kurtosis = found[1] / found[0] ** 2 - 2
    yield equal("the excess kurtosis", kurtosis, (1 - law.share) ** 2 * r)
