"""Checks: distances of finitely many numbers to a law, scales of a law, quarter circles and their moments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.spectrum.spectral_laws import law_over_symbols
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import positive_symbol, real

Expr = Any
_COUNTS = (1, 2, 3)


def check_steps(kernel: Kernel) -> Iterator[Check]:
    """D+ and D- against the limits of |F_n - F| from both sides of every number."""
    for count in _COUNTS:
        places = [real(f"x_{k}") for k in range(1, count + 1)]
        tails = {x: sympy.Symbol(f"T_{k}", nonnegative=True) for k, x in enumerate(places, 1)}
        found = kernel.law_distance.one_sided_distances(
            [SymbolicNumber(x) for x in places], lambda x, tails=tails: SymbolicNumber(tails[x.expr])
        )
        known = list(tails.values())
        # Before x_k the share k/n is at least as large, from x_k on (k-1)/n.
        before = [sympy.Rational(k, count) - T for k, T in enumerate(known, 1)]
        after = [T - sympy.Rational(k - 1, count) for k, T in enumerate(known, 1)]
        yield _same_max(f"D+ of {count}", plain(found.above), [sympy.Integer(0), *before])
        yield _same_max(f"D- of {count}", plain(found.below), [sympy.Integer(0), *after])
        yield _same_max(f"the distance of {count}", plain(found.distance), [sympy.Integer(0), *before, *after])
        sums = [first + second for first, second in zip(before, after, strict=True)]
        yield equal(f"both terms add up to 1/n, n = {count}", sums, [sympy.Rational(1, count)] * count)
    # Where x_k = x_(k+1), the terms left out by the limits are below the others.
    step = sympy.Rational(1, 3)
    T = positive_symbol("T")
    yield positive("the later of two equal numbers has the larger D+", (2 * step - T) - (step - T))
    yield positive("the earlier of them has the larger D-", (T - 0) - (T - step))


def _same_max(name: str, found: Expr, terms: list[Expr]) -> Check:
    return Check(name, found == sympy.Max(*terms))


def check_scales(kernel: Kernel) -> Iterator[Check]:
    """T(x/c) grows with c where T falls, so that min and max of the two differences enclose the smallest distance."""
    x, c, u = positive_symbol("x"), positive_symbol("c"), positive_symbol("u")
    falling = {"e^-u": sympy.exp(-u), "1/(1+u)": 1 / (1 + u), "1/(1+u)^2": 1 / (1 + u) ** 2}
    for name, tail in falling.items():
        moved = plain(
            kernel.law_distance.scaled(lambda y, tail=tail: SymbolicNumber(tail.subs(u, y.expr)), c)(SymbolicNumber(x))
        )
        yield equal(f"P(c X > x) = T(x/c) for {name}", moved, tail.subs(u, x / c))
        yield positive(f"it grows with c for {name}", sympy.simplify(sympy.diff(moved, c)))
    f = positive_symbol("f")
    yield positive("its derivative is x f(x/c)/c^2, -f the derivative of T", -f * sympy.diff(x / c, c))
    a, b = positive_symbol("a"), positive_symbol("b")
    pair = kernel.law_distance.OneSided(SymbolicNumber(a), SymbolicNumber(b))
    yield Check("the distance is the larger one", plain(pair.distance) == sympy.Max(a, b))
    yield Check("the least is the smaller one", plain(pair.least) == sympy.Min(a, b))


def check_circles(kernel: Kernel) -> Iterator[Check]:
    """The tail of the quarter circle, from its density."""
    m, r = positive_symbol("m"), positive_symbol("r")
    tail = plain(kernel.law_distance.inner_tail(SymbolicNumber(r)))
    # The density times dx/dr, x = 2 sqrt(m) r; both sides times sqrt(1 - r^2).
    root = sympy.sqrt((1 - r) * (1 + r))
    density = sympy.sqrt(4 * m) * root / (sympy.pi * m) * sympy.diff(2 * sympy.sqrt(m) * r, r)
    slope = sympy.expand(sympy.diff(tail, r) * root).subs(sympy.sqrt(1 - r**2), root)
    yield equal("its derivative is less the density", sympy.simplify(slope), sympy.simplify(-density * root))
    yield equal("at 0 it is 1", tail.subs(r, 0), 1)
    yield equal("at the edge it is 0", tail.subs(r, 1), 0)
    yield Check("it falls", bool(sympy.diff(tail, r).subs(r, sympy.Rational(1, 2)) < 0))


def circle_moment(order: int, m: Expr) -> Expr:
    """The integral of x^order sqrt(4m - x^2)/(pi m) over [0, 2 sqrt(m)], by x = 2 sqrt(m) sin(t)."""
    t = real("t")
    part = (2 * sympy.sqrt(m) * sympy.sin(t)) ** order * 4 * sympy.cos(t) ** 2 / sympy.pi
    return sympy.integrate(sympy.expand(part), (t, 0, sympy.pi / 2))


def check_fourth(kernel: Kernel) -> Iterator[Check]:
    """m_4 - 2 m_2^2 of the law and of quarter circles."""
    law = law_over_symbols(kernel)
    second, fourth = law.moments(2)
    yield equal("m_4 - 2 m_2^2", sympy.expand(fourth - 2 * second**2), sympy.expand(law.fourth_excess))
    yield equal("beta^4/lambda", law.fourth_excess, law.beta2**2 / law.lambda_)
    yield positive("it is positive", law.fourth_excess)
    yield equal("m_4/m_2^2 - 2", law.relative_excess, sympy.simplify(fourth / second**2 - 2))
    yield equal("by the share r", law.relative_excess, (1 - law.share) ** 2 / law.lambda_)
    m, c = positive_symbol("m"), positive_symbol("c")
    moments = [circle_moment(order, m) for order in (0, 2, 4)]
    yield equal("moments of a quarter circle", moments, [1, m, 2 * m**2])
    alpha2 = kernel.equivalent_formulas.LawNumbers(sympy.Integer(0), law.beta2, law.lambda_)
    yield equal("it does not depend on alpha^2", alpha2.fourth_excess, law.fourth_excess)
    yield equal("m_4/m_2^2 at every scale", (c**4 * fourth) / (c**2 * second) ** 2, fourth / second**2)


def check_cells(kernel: Kernel) -> Iterator[Check]:
    """T - S <= T(a) - S(b) on [a, b]: what is left is what T has fallen by since a, and S falls by until b."""
    start, end = positive_symbol("T_a"), positive_symbol("S_b")
    fallen, rest = (sympy.Symbol(name, nonnegative=True) for name in ("e", "f"))
    left = (SymbolicNumber(0), SymbolicNumber(start), SymbolicNumber(0))
    right = (SymbolicNumber(1), SymbolicNumber(0), SymbolicNumber(end))
    bound = plain(kernel.law_distance._bound(left, right))
    inside = (start - fallen) - (end + rest)
    yield equal("T(a) - S(b) - (T(x) - S(x))", bound - inside, fallen + rest)
    yield Check("which is not negative", (fallen + rest).is_nonnegative is True)
