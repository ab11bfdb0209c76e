"""Checks: the largest density of the law, the critical points of K, and where the gap closes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.spectrum.spectral_laws import _polynomial, as_numbers, law_over_symbols
from certattn.theory.symbolic_flint import expression
from certattn.theory.symbols import positive_symbol, real

Expr = Any


def check_density(kernel: Kernel) -> Iterator[Check]:
    """Im K(w), the bound of |w|^2 where it is not negative, and the point where it is met."""
    law = law_over_symbols(kernel)
    A, B, b = law.alpha2, law.beta2, law.pole
    x, y = real("x"), real("y")
    w = x + sympy.I * y
    u = x**2 + y**2
    square = (1 - b * (x**2 - y**2)) ** 2 + (2 * b * x * y) ** 2
    # 1/w = conj(w)/u and w/(1 - b w^2) = w conj(1 - b w^2)/|1 - b w^2|^2.
    conjugate = 1 - b * (x**2 - y**2) + 2 * sympy.I * b * x * y
    yield equal("|1 - b w^2|^2", sympy.expand((1 - b * w**2) * conjugate), sympy.expand(square))
    whole = sympy.expand((x - sympy.I * y) / u + A * w + B * w * conjugate / square)
    yield equal("K", whole, law.inverse(w))
    imaginary = sympy.im(sympy.expand(x - sympy.I * y)) / u + A * y + B * sympy.im(sympy.expand(w * conjugate)) / square
    yield equal("Im K", imaginary, -y * (1 / u - A - B * (1 + b * u) / square))
    rest = sympy.expand((1 + b * u) ** 2 - square)
    yield equal("|1 - b w^2| <= 1 + b u", rest, 4 * b * x**2)
    U = positive_symbol("u")
    form = A * b * U**2 + (law.variance - b) * U - 1
    yield equal("1/u >= alpha^2 + beta^2/(1 + b u)", (A + B / (1 + b * U) - 1 / U) * U * (1 + b * U), form)
    found = expression(as_numbers(law).largest_square())
    yield equal("u_0 is a root", form.subs(U, found), 0)
    other = 2 / ((law.variance - b) - sympy.sqrt((law.variance - b) ** 2 + 4 * A * b))
    yield equal("the other root is negative", found * other, -1 / (A * b))
    s = positive_symbol("s")
    at = _polynomial(law.quartic(sympy.Integer(0)), -sympy.I * s)
    yield equal("P(-i sqrt(u); 0)", at, form.subs(U, s**2))


def check_critical(kernel: Kernel) -> Iterator[Check]:
    """h, the convexity of K below its pole, and K at critical points."""
    law = law_over_symbols(kernel)
    A, lam, b = law.alpha2, law.lambda_, law.pole
    w, v = positive_symbol("w"), positive_symbol("v")
    h = _polynomial(law.critical(), v)
    rho = A / law.beta2
    yield equal("h", h, -((1 - v) ** 2) + lam * rho * v * (1 - v) ** 2 + lam * v * (1 + v))
    at = h.subs(v, b * w**2)
    yield equal("the sign of K'", at, w**2 * (1 - b * w**2) ** 2 * sympy.diff(law.inverse(w), w))
    yield equal("h at 0", h.subs(v, 0), -1)
    yield equal("h at 1", h.subs(v, 1), 2 * lam)
    second = sympy.diff(law.inverse(w), w, 2)
    inner = positive_symbol("t")
    # w^2 = t/((1+t) b) runs over all squares below the pole as t > 0 does.
    below = sympy.simplify(second.subs(w, sympy.sqrt(inner / ((1 + inner) * b))))
    yield positive("K is convex below its pole", sympy.factor(below))
    value = law.inverse(sympy.sqrt(v / b)) * sympy.sqrt(v / b) / 2
    # The solution of h = 0 for alpha^2, put into K.
    solved = sympy.solve(h, A)
    yield equal("K where h = 0", value.subs(A, solved[0]), 1 - lam * v**2 / (1 - v) ** 2)
    positive_there = lam * v + lam * rho * v * (1 - v) ** 2
    yield equal("where h = 0 it is positive", (1 - v) ** 2 - lam * v**2, positive_there.subs(A, solved[0]))
    # h < 0 at and below 0 for lambda < 1: with v = -t, (1+t)^2 is larger than t (t - 1).
    yield positive("no zero of h below 0", sympy.expand((1 + inner) ** 2 - inner * (inner - 1)))
    yield equal("h at -t", h.subs(v, -inner), -((1 + inner) ** 2) * (1 + lam * rho * inner) + lam * inner * (inner - 1))


def check_gap(kernel: Kernel) -> Iterator[Check]:
    """Where lambda rho = q(v) has a double root, and the discriminant."""
    formulas = kernel.equivalent_formulas
    law = law_over_symbols(kernel)
    A, B, lam = law.alpha2, law.beta2, law.lambda_
    v, t, s = positive_symbol("v"), positive_symbol("t"), positive_symbol("s")
    h = _polynomial(law.critical(), v)
    q = 1 / v - lam * (1 + v) / (v - 1) ** 2
    yield equal("h = 0 is lambda rho = q(v)", h, v * (v - 1) ** 2 * (lam * A / B - q))
    at = (v - 1) ** 3 / (v**2 * (v + 3))
    yield equal("q' vanishes", sympy.diff(q, v).subs(lam, at), 0)
    yield equal("q'", sympy.diff(q, v), (lam / at - 1) / v**2)
    rho = (3 * v + 1) / (v - 1) ** 3
    yield equal("the largest q is lambda rho_c", q.subs(lam, at), at * rho)
    yield equal("lambda by t", (formulas.place_of_double_root(t, lam)).subs(lam, at.subs(v, 1 / t)), 0)
    yield equal("the sign by t", sympy.diff(formulas.place_of_double_root(t, lam), t), -3 * (1 - t) ** 2 - 3 * lam)
    yield equal("rho_c by t", formulas.critical_ratio(t), rho.subs(v, 1 / t))
    slope = sympy.factor(sympy.diff(at, v).subs(v, 1 + t))
    yield positive("lambda grows with v", slope)
    yield equal("lambda tends to 1", sympy.limit(at, v, sympy.oo), 1)
    discriminant = sympy.discriminant(h.subs(A, s * law.pole), v)
    yield equal(
        "the discriminant", sympy.expand(discriminant), sympy.expand(lam * law.discriminant().subs(A, s * law.pole))
    )
    double = {A: rho * B, lam: at}
    yield equal("no discriminant at a double root", sympy.simplify(law.discriminant().subs(double)), 0)
    # lambda >= 1: h > 0 beyond 1, term by term in v = 1 + t and lambda = 1 + s.
    beyond = sympy.expand(h.subs({v: 1 + t, lam: 1 + s}).subs(A, 0))
    yield positive("no gap for lambda >= 1", beyond)
