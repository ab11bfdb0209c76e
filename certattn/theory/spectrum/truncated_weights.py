"""Checks: moments of weights that are cut off, from integrals, and how the equation for the cut grows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive, vanishes
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import positive_symbol, real

Expr = Any


def _weights(kernel: Kernel) -> tuple[Any, Expr, Expr]:
    """The kernel's numbers over symbols, beta and tau; log tau is a real symbol."""
    beta, height = positive_symbol("beta"), real("L")
    return (
        kernel.limit_law.TruncatedWeights(SymbolicNumber(beta**2), SymbolicNumber(sympy.exp(height))),
        beta,
        height,
    )


def _same(name: str, left: Any, right: Expr) -> Check:
    """Equal once all error functions are written as one."""
    difference = sympy.expand((plain(left) - right).rewrite(sympy.erf))
    return Check(name, vanishes(sympy.simplify(difference)))


def _setting() -> tuple[Expr, Expr, Expr, Expr, Expr]:
    """g, the density of a standard normal, the weight, c and tau."""
    beta, height, g = positive_symbol("beta"), real("L"), real("g")
    density = sympy.exp(-(g**2) / 2) / sympy.sqrt(2 * sympy.pi)
    return g, density, sympy.exp(beta * g - beta**2 / 2), height / beta + beta / 2, sympy.exp(height)


def _primitives() -> dict[tuple[int, int], Expr]:
    """Functions whose slopes are to be g^along w^power density, by power and along."""
    g, density, weight, _, _ = _setting()
    beta = positive_symbol("beta")

    def plain_power(power: int) -> Expr:
        # Completing the square: w^k is e^(k (k-1) beta^2/2) times what moves the normal by k beta.
        factor = sympy.exp(power * (power - 1) * beta**2 / 2)
        return -factor * sympy.erfc((g - power * beta) / sympy.sqrt(2)) / 2

    powers = {(power, 0): plain_power(power) for power in (0, 1, 2)}
    return powers | {(0, 1): -density, (1, 1): beta * plain_power(1) - weight * density}


def _integrals() -> dict[str, Expr]:
    """P(g > c) and the means of f, g f and f^2, on both sides of c; the kernel has no part in them."""
    g, _, _, cut, tau = _setting()
    primitives = _primitives()

    def mean(power: int, along: int) -> Expr:
        below, above = primitives[power, along], primitives[0, along]
        low, high = sympy.limit(below, g, -sympy.oo), sympy.limit(above, g, sympy.oo)
        return below.subs(g, cut) - low + tau**power * (high - above.subs(g, cut))

    above = -primitives[0, 0].subs(g, cut)
    return {"P(g > c)": above, "E f": mean(1, 0), "E g f": mean(1, 1), "E f^2": mean(2, 0)}


def check_moments(kernel: Kernel) -> Iterator[Check]:
    """Mean, part along g and mean square of f = min(e^(beta g - beta^2/2), tau), by integration on both sides of c."""
    found, _, _ = _weights(kernel)
    g, density, weight, cut, tau = _setting()
    yield equal("the weight at c is tau", sympy.simplify(weight.subs(g, cut)), tau)
    yield positive("it grows", sympy.diff(weight, g))
    for (power, along), primitive in _primitives().items():
        slope = sympy.diff(primitive, g)
        wanted = g**along * weight**power * density
        yield equal(f"a primitive of g^{along} w^{power}", sympy.simplify(slope / wanted), 1)
    numbers = {"P(g > c)": found.share_cut, "E f": found.mean, "E g f": found.slope, "E f^2": found.second}
    for name, integral in _integrals().items():
        yield _same(name, numbers[name], integral)
    # What the law is made of, by the three numbers alone.
    E, S, H = positive_symbol("E"), positive_symbol("S"), positive_symbol("H")
    found.mean, found.second, found.slope = map(SymbolicNumber, (E, S, H))
    yield equal("m, the variance of f/E f", plain(found.variance), (S - E**2) / E**2)
    yield equal("beta_tau, its part along g", sympy.sqrt(plain(found.beta2)), H / E)
    # The mean square of f/E f - 1 - (H/E) g, as E g = 0, E g^2 = 1 and E g f = H.
    rest = S / E**2 + 1 + (H / E) ** 2 - 2 - 2 * (H / E) * (H / E)
    yield equal("alpha_tau^2, the variance of the rest", plain(found.alpha2), rest)


def check_limits(kernel: Kernel) -> Iterator[Check]:
    """Without a cut, tau and so c to infinity, the numbers are those of softmax."""
    found, beta, height = _weights(kernel)
    limits = (
        ("E f", found.mean, sympy.Integer(1)),
        ("E g f", found.slope, beta),
        ("E f^2", found.second, sympy.exp(beta**2)),
    )
    for name, number, limit in limits:
        at = plain(number).subs(beta, sympy.Integer(1))
        yield equal(f"{name} at beta = 1", sympy.limit(at, height, sympy.oo), limit.subs(beta, 1))


def check_growth(kernel: Kernel) -> Iterator[Check]:
    """The slope of m, and that t^2 - d m(t) grows where d Q(c) <= (E f)^2."""
    found, beta, height = _weights(kernel)
    _, _, _, cut, tau = _setting()
    tokens = positive_symbol("d")

    def slope(number: Any) -> Expr:
        """By tau, of an expression in log tau."""
        return sympy.diff(plain(number), height) / tau

    Q, E, S = plain(found.share_cut), plain(found.mean), plain(found.second)
    density = sympy.exp(-(cut**2) / 2) / sympy.sqrt(2 * sympy.pi)
    yield _same(
        "Q(c) falls, by the density at c over beta tau", SymbolicNumber(slope(found.share_cut)), -density / (beta * tau)
    )
    yield _same("(E f)' = Q(c)", SymbolicNumber(slope(found.mean)), Q)
    yield _same("(E f^2)' = 2 tau Q(c)", SymbolicNumber(slope(found.second)), 2 * tau * Q)
    steep = SymbolicNumber(slope(found.variance))
    yield _same("m' = 2 Q(c) (tau - E f^2/E f)/(E f)^2", steep, 2 * Q / E**2 * (tau - S / E))
    left, right = (plain(side) for side in found.growth(tokens))
    yield equal("what is compared: d Q(c)", left, tokens * Q)
    yield equal("what is compared: (E f)^2", right, E**2)
    q, e, s, t = (positive_symbol(name) for name in ("q", "e", "s", "t"))
    grows = 2 * t - tokens * 2 * q / e**2 * (t - s / e)
    rest = 2 * tokens * q * s / e**3
    yield equal(
        "(t^2 - d m)' by e^2 - d q", sympy.expand(grows - rest), sympy.expand(2 * t * (e**2 - tokens * q) / e**2)
    )
    yield positive("what is added to it", rest)
