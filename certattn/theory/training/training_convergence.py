"""Derivation of the constants of the claim `training-convergence`.

That the flow conserves |A|_F^2 - b^2, its gradient, and |K|_F^2 >= 2 l^3 R are derived for `regression-risk`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, evaluated, numbers
from certattn.theory.symbols import matrix, positive_symbol, positive_vector, real

Expr = Any
_SIZE = 2


def _constants(kernel: Kernel) -> tuple[list[Expr], Any]:
    """Eigenvalues s_1 and s_2 of Sigma, s_1 the smallest, and the kernel's constants of them."""
    s = positive_vector("s", _SIZE)
    powers = {p: sum(x**p for x in s) for p in (1, 4, -2, -5)}
    found = kernel.training_convergence.CovarianceConstants(
        *numbers([s[0], s[1], powers[1], powers[4], powers[-2], powers[-5]])
    )
    return s, found


def check_products(kernel: Kernel) -> Iterator[Check]:
    """<bA, X> for X = Sigma^2 and X = Sigma^-1, by hand in an eigenbasis; the kernel's bounds."""
    s, constants = _constants(kernel)
    F = matrix("f", _SIZE, _SIZE)
    S = sympy.diag(*s)
    root = sympy.diag(*(sympy.sqrt(x) for x in s))
    # bA = Sigma^-1 (I + F Sigma^(-1/2)), F = E Sigma^(1/2).
    product = S.inv() * (sympy.eye(_SIZE) + F * root.inv())
    risk = positive_symbol("R")
    r = sympy.sqrt(2 * risk)
    bounds = []
    for power in (2, -1):
        X = S**power
        weight = S.inv() * X * root.inv()
        inner = (product.T * X).trace()
        yield equal(f"<bA, Sigma^{power}>", inner, (S.inv() * X).trace() + (F.T * weight).trace())
        length, size = sympy.sqrt((X * X).trace()), sympy.sqrt((weight * weight).trace())
        bounds.append(((S.inv() * X).trace() - r * size) / length)
    # The kernel takes the larger of them, and 0.
    least = evaluated(constants.least_product, risk)
    found = [part for part in least.args if part != 0] if isinstance(least, sympy.Max) else []
    yield Check("the larger of two bounds and 0", isinstance(least, sympy.Max) and 0 in least.args and len(found) == 2)
    for bound in bounds:
        yield Check("is one of them", any(equal("", part, bound).holds for part in found))
    # |Sigma^-1 F Sigma^(-1/2)|^2 = sum f_ij^2 / (s_i^2 s_j), and s_1 is the smallest.
    moved = S.inv() * F * root.inv()
    terms = sum(F[i, j] ** 2 / (s[i] ** 2 * s[j]) for i in range(_SIZE) for j in range(_SIZE))
    yield equal("|Sigma^-1 E|^2", (moved.T * moved).trace(), terms)
    most = sympy.sqrt((S**-2).trace()) + r / s[0] ** sympy.Rational(3, 2)
    yield equal("M", evaluated(constants.largest_product, risk), most)


def check_factor(kernel: Kernel) -> Iterator[Check]:
    """z (z + delta) = p^2, and z decreases with delta and grows with p."""
    delta, p = real("delta"), positive_symbol("p")
    z = evaluated(kernel.regression.squared_factor, delta, p)
    yield equal("z (z + delta)", z * (z + delta), p**2)
    root = sympy.sqrt(delta**2 + 4 * p**2)
    yield equal("dz/d delta", sympy.diff(z, delta), -z / root)
    yield equal("dz/dp", sympy.diff(z, p), 2 * p / root)
    yield equal("z at p = 0, delta = -1", evaluated(kernel.regression.squared_factor, -1, 0), 1)


def check_flow(kernel: Kernel) -> Iterator[Check]:
    """The rate of the flow, from l^3 b^2, and of its length."""
    s, constants = _constants(kernel)
    delta, risk = real("delta"), positive_symbol("R")
    module = kernel.training_convergence
    rates, risk = module.FlowRates(constants, SymbolicNumber(delta)), SymbolicNumber(risk)
    least = constants.least_product(risk)
    yield equal("c", rates.rate(risk), s[0] ** 3 * evaluated(kernel.regression.squared_factor, delta, least))
    yield equal("2c", rates.decay(risk), 2 * rates.rate(risk))
    yield equal("|bA| in the limit", constants.bayes_product(), sympy.sqrt(sum(x**-2 for x in s)))
    # |grad R| >= sqrt(2cR), so -d sqrt(R) = |grad R|^2 / (2 sqrt R) dt >= |grad R| sqrt(c/2) dt.
    c, g = positive_symbol("c"), positive_symbol("g")
    yield equal("-d sqrt R", g**2 / (2 * sympy.sqrt(risk)), g * sympy.sqrt(c / 2) * (g / sympy.sqrt(2 * c * risk)))


def check_curvature(kernel: Kernel) -> Iterator[Check]:
    """The two bounds of |h Sigma A Sigma^(1/2) + b Sigma H Sigma^(1/2)|^2, and of Sigma E Sigma."""
    s, constants = _constants(kernel)
    delta, eta, first, risk = real("delta"), positive_symbol("eta"), positive_symbol("R_0"), positive_symbol("R")
    rates = kernel.training_convergence.DescentRates(constants, *numbers([delta, eta, first]))
    lam, M = s[1], evaluated(constants.largest_product, risk)
    yield equal("D", rates.drift, 2 * eta * first)
    grown = sympy.Abs(delta) + 2 * eta * first
    yield equal("by norms", evaluated(rates.curvature_by_norms, risk), lam**3 * sympy.sqrt(grown**2 + 4 * M**2))
    # (|A|^2 + b^2)^2 = (|A|^2 - b^2)^2 + 4 b^2 |A|^2.
    a, b = positive_symbol("a"), positive_symbol("b")
    yield equal("|theta|^4", (a**2 + b**2) ** 2, (a**2 - b**2) ** 2 + 4 * (b * a) ** 2)
    # (x h + y k)^2 <= (x^2 + y^2)(h^2 + k^2), x and y bounds of the two parts of D.
    x, y, h, k = (positive_symbol(name) for name in "xyhk")
    yield equal("Cauchy", (x**2 + y**2) * (h**2 + k**2) - (x * h + y * k) ** 2, (x * k - y * h) ** 2)
    square = positive_symbol("z")
    expected = lam**3 * square + (sympy.sqrt(sum(s)) + sympy.sqrt(2 * risk)) ** 2 / square
    found = evaluated(rates.curvature_at, square, risk)
    yield equal("by b^2", found, expected)
    yield positive("it is convex in b^2", sympy.diff(found, square, 2))
    rest = lam ** sympy.Rational(3, 2) * sympy.sqrt(2 * risk)
    yield equal("|Sigma E Sigma|", evaluated(rates.rest_of_curvature, risk), rest)
    least, factor = evaluated(constants.least_product, risk), kernel.regression.squared_factor
    wanted = evaluated(factor, delta + 2 * eta * first, least)
    yield equal("the least b^2", evaluated(rates.least_square, risk), wanted)
    wanted = evaluated(factor, delta - 2 * eta * first, M)
    yield equal("the largest b^2", evaluated(rates.largest_square, risk), wanted)


def check_descent(kernel: Kernel) -> Iterator[Check]:
    """The steps of the induction, and the kernel's rates of them, with any bound beta of second derivatives."""
    eta, beta, risk, g = (positive_symbol(name) for name in ("eta", "beta", "R", "g"))
    s, constants = _constants(kernel)

    class Rates(kernel.training_convergence.DescentRates):  # type: ignore[name-defined]
        """With a symbol for beta."""

        def smoothness(self, risk: Any) -> SymbolicNumber:
            return SymbolicNumber(beta)

    rates = Rates(constants, *numbers([real("delta"), eta, positive_symbol("R_0")]))
    kappa = 1 - eta * beta / 2
    yield equal("kappa", evaluated(rates.share, risk), kappa)
    yield equal("R_k - R_(k+1), at least", eta * g**2 - eta**2 * g**2 * beta / 2, eta * kappa * g**2)
    least = evaluated(rates.least_square, risk)
    yield equal("c", evaluated(rates.rate, risk), kappa * s[0] ** 3 * least)
    yield equal("1 - 2 eta c", evaluated(rates.factor, risk), 1 - 2 * eta * kappa * s[0] ** 3 * least)
    yield equal("its logarithm", sympy.exp(-evaluated(rates.decay, risk)), evaluated(rates.factor, risk))
    # eta^2 |grad R|^2 <= 2 eta (eta beta) R, and 2 eta beta kappa <= 1.
    yield equal("1 - 2 eta beta kappa", 1 - 2 * eta * beta * kappa, (1 - eta * beta) ** 2)
    yield equal("how far delta goes", evaluated(rates.wander, risk), eta * risk / kappa)
    c = kappa * s[0] ** 3 * least
    yield equal("the length", evaluated(rates.length, risk), sympy.sqrt(2 * risk / (kappa * c)))
    # sqrt R_k - sqrt R_(k+1) >= (R_k - R_(k+1)) / (2 sqrt R_k) >= eta kappa g sqrt(c/(2 kappa)).
    p, q = positive_symbol("p"), positive_symbol("q")
    yield equal("roots", (p - q) - (p**2 - q**2) / (2 * p), (p - q) ** 2 / (2 * p))
