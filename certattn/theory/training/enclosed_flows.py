"""Checks: Taylor coefficients of the flow of the regression risk, what they leave over, and the error of a step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import gradient, matrix, positive_symbol, real, vector

Expr = Any

_T = real("t")


def _symbolic(entries: list[Expr]) -> list[SymbolicNumber]:
    return [SymbolicNumber(entry) for entry in entries]


def _velocity(Sigma: sympy.Matrix, A: sympy.Matrix, b: Expr) -> list[Expr]:
    """-grad R at a point, by differentiation of R = 1/2 tr(E Sigma E')."""
    size = Sigma.rows
    names, factor = matrix("x", size, size), real("y")
    E = factor * Sigma * names - sympy.eye(size)
    slopes = gradient((E * Sigma * E.T).trace() / 2, [*names, factor])
    at = dict(zip([*names, factor], [*A, b], strict=True))
    return [-slope.subs(at, simultaneous=True) for slope in slopes]


def _polynomials(coefficients: list[list[Expr]]) -> list[Expr]:
    return [sum((entry[i] * _T**k for k, entry in enumerate(coefficients)), sympy.Integer(0))
            for i in range(len(coefficients[0]))]  # fmt: skip


def _powers(expression: Expr) -> list[Expr]:
    """Coefficients in t, from t^0 on."""
    found = sympy.Poly(sympy.expand(expression), _T).all_coeffs()
    return list(reversed(found))


def _part(powers: list[Expr], k: int) -> Expr:
    return powers[k] if k < len(powers) else sympy.Integer(0)


def check_coefficients(kernel: Kernel) -> Iterator[Check]:
    """p' - F(p) has no coefficients below the order: over symbols, and to a high order for numbers."""
    symbols = matrix("s", 2, 2)
    symbols[0, 1] = symbols[1, 0]
    for what, order, Sigma, A, b in (
        ("d = 1", 2, matrix("s", 1, 1), matrix("a", 1, 1), real("b")),
        ("d = 2", 1, symbols, matrix("a", 2, 2), real("b")),
        *((f"numbers, d = {d}", 5, *_instance(d)) for d in (1, 2, 3)),
    ):
        flow = kernel.regression_flow.RegressionFlow(kernel.exact(Sigma))
        coefficients = plain(flow.coefficients(_symbolic([*A, b]), order))
        path = _polynomials(coefficients)
        # Below the order, F(p) has the coefficients that it has for p cut off before its last term.
        short = [sympy.expand(place) for place in _polynomials(coefficients[:-1])]
        velocity = _velocity(Sigma, sympy.Matrix(*A.shape, short[:-1]), short[-1])
        yield equal(f"z_0, {what}", sympy.Matrix(coefficients[0]), sympy.Matrix([*A, b]))
        for i, (place, speed) in enumerate(zip(path, velocity, strict=True)):
            defect = _powers(sympy.diff(place, _T) - speed)
            for k in range(order):
                yield equal(f"coefficient {k} of entry {i}, {what}", _part(defect, k), 0)


def _instance(size: int) -> tuple[sympy.Matrix, sympy.Matrix, Expr]:
    """Sigma, A and b that do not commute."""
    Sigma = sympy.Matrix(size, size, lambda i, j: sympy.Rational(2, 1 + abs(i - j)))
    A = sympy.Matrix(size, size, lambda i, j: sympy.Rational((3 * i + 5 * j) % 7 - 3, 4 + i))
    return Sigma, A, sympy.Rational(3, 4)


def check_excess(kernel: Kernel) -> Iterator[Check]:
    """The norms, and that in one dimension the bound is the number itself where all are positive."""
    lam, x, y = (positive_symbol(name) for name in ("lam", "x", "y"))
    # |Sigma^2 P Sigma|_F^2 = sum_ij s_i^4 s_j^2 P_ij^2, and lam^6 - x^4 y^2 is a sum of what is >= 0 for x, y <= lam.
    s, P = [positive_symbol(f"s_{i}") for i in range(2)], matrix("p", 2, 2)
    image = sympy.diag(*s) ** 2 * P * sympy.diag(*s)
    squares = sum(s[i] ** 4 * s[j] ** 2 * P[i, j] ** 2 for i in range(2) for j in range(2))
    yield equal("|Sigma^2 P Sigma|_F^2", sum(entry**2 for entry in image), squares)
    parts = lam**4 * (lam - y) * (lam + y) + y**2 * (lam - x) * (lam + x) * (lam**2 + x**2)
    yield equal("lam^6 - x^4 y^2", lam**6 - x**4 * y**2, parts)
    for order in (1, 2, 3):
        sigma, more, b = positive_symbol("s"), positive_symbol("e"), positive_symbol("b_0")
        # b s a - 1 = e > 0 at the start; the other coefficients are any positive numbers.
        first = [(1 + more) / (sigma * b), b]
        rest = [[positive_symbol(f"a_{k}"), positive_symbol(f"b_{k}")] for k in range(1, order + 1)]
        coefficients = [first, *rest]
        flow = kernel.regression_flow.RegressionFlow(kernel.exact(sympy.Matrix([[sigma]])))
        found = plain(flow.excess([_symbolic(entry) for entry in coefficients], None))
        A, factor = _polynomials(coefficients)
        speeds = [_powers(speed) for speed in _velocity(sympy.Matrix([[sigma]]), sympy.Matrix([[A]]), factor)]
        for k in range(order, 3 * order + 1):
            wanted = sum(_part(powers, k) ** 2 for powers in speeds)
            yield equal(f"|f_{k}|^2 of order {order}", found[k - order] ** 2, wanted)
        yield equal(f"nothing after, order {order}", sympy.Integer(max(map(len, speeds))), 3 * order + 1)


def check_expansion(kernel: Kernel) -> Iterator[Check]:
    """S at two points, and the norm of what lies between: squares that are >= 0."""
    for d in (1, 2):
        A, H, Sigma = matrix("a", d, d), matrix("eta", d, d), matrix("s", d, d)
        b, h = real("b"), real("h")
        eye = sympy.eye(d)
        change = Sigma * ((b + h) * Sigma * (A + H) - eye) * Sigma - Sigma * (b * Sigma * A - eye) * Sigma
        yield equal(f"change of S, d = {d}", change, Sigma**2 * (b * H + h * A + h * H) * Sigma)
    # a = |A|, e = |H|: (a^2 + b^2)(e^2 + h^2) - (b e + h a)^2 and (e^2 + h^2) / 2 - h e are squares.
    a, b, e, h = (positive_symbol(name) for name in ("a", "b", "e", "h"))
    yield equal("Cauchy and Schwarz", (a**2 + b**2) * (e**2 + h**2) - (b * e + h * a) ** 2, (a * e - b * h) ** 2)
    yield equal("h e <= r^2 / 2", (e**2 + h**2) / 2 - h * e, (e - h) ** 2 / 2)
    length, radius = positive_symbol("n"), positive_symbol("r")
    found = plain(kernel.regression_flow.product_reach(SymbolicNumber(length), SymbolicNumber(radius)))
    yield equal("the kernel's bound", found, length * radius + radius**2 / 2)


def check_error(kernel: Kernel) -> Iterator[Check]:
    """u' = mu u + f_n t^n + ..., solved: its value at h, and the kernel's bounds of it."""
    flow = kernel.validated_flow
    r, h, t = (positive_symbol(name) for name in ("r", "h", "t"))
    for order in (1, 2, 4):
        bounds = [positive_symbol(f"f_{order + i}") for i in range(3)]
        source = sum((f * t ** (order + i) for i, f in enumerate(bounds)), sympy.Integer(0))
        whole = plain(flow.accumulated(_symbolic(bounds), order, SymbolicNumber(h)))
        yield equal(f"D, order {order}", whole, sympy.integrate(source, (t, 0, h)))
        # For mu = 0 the solution is r + D, and both of the kernel's bounds are it.
        for bound in plain(list(flow.carried(*_symbolic([r, whole, h, sympy.Integer(0)])))):
            yield equal(f"mu = 0, order {order}", bound, r + whole)
    m, D = positive_symbol("m"), positive_symbol("D")
    for sign in (1, -1):
        within, after = plain(list(flow.carried(*_symbolic([r, D, h, sign * m]))))
        growth = sympy.exp(m * h) if sign > 0 else sympy.Integer(1)
        yield equal(f"within, mu = {sign} m", within, growth * (r + D))
        yield equal(f"after, mu = {sign} m", after, sympy.exp(sign * m * h) * r + growth * D)
    # The solution with a constant source a on [0, h] is below them: the kernel's bound less it grows from 0 on.
    mu, a = positive_symbol("mu"), positive_symbol("a")
    solution = sympy.exp(mu * h) * r + a * (sympy.exp(mu * h) - 1) / mu
    yield equal("u' = mu u + a", sympy.diff(solution, h), mu * solution + a)
    yield equal("u(0) = r", sympy.limit(solution, h, 0), r)
    bound = plain(list(flow.carried(*_symbolic([r, a * h, h, mu]))))[1]
    yield equal("the bound less the solution", sympy.diff(bound - solution, h), a * h * mu * sympy.exp(mu * h))


def check_pieces(kernel: Kernel) -> Iterator[Check]:
    """The kernel's coefficients around another time, values, and differences from a line."""
    flow, m, s = kernel.validated_flow, real("m"), real("s")
    for order in (1, 2, 5):
        coefficients = [vector(f"z_{k}", 2) for k in range(order + 1)]
        path = _polynomials(coefficients)
        given = [_symbolic(entry) for entry in coefficients]
        moved = plain(flow.moved_by(given, SymbolicNumber(m)))
        values = plain(flow.value_at(given, SymbolicNumber(m)))
        slope, place = vector("v", 2), vector("x", 2)
        less = _polynomials(plain(flow.Arc(given, None).minus(_symbolic(place), _symbolic(slope)).coefficients))
        for i in range(2):
            around = sum((entry[i] * s**k for k, entry in enumerate(moved)), sympy.Integer(0))
            yield equal(f"p(m + s), order {order}, entry {i}", around, path[i].subs(_T, m + s))
            yield equal(f"p(m), order {order}, entry {i}", values[i], path[i].subs(_T, m))
            yield equal(f"p - l, order {order}, entry {i}", less[i], path[i] - place[i] - _T * slope[i])


def check_invariant(kernel: Kernel) -> Iterator[Check]:
    """|A + H|^2 - (b + h)^2: Lagrange's identity for what is of first order."""
    for d in (1, 2):
        A, H, b, h = list(matrix("a", d, d)), list(matrix("eta", d, d)), real("b"), real("h")
        first = 2 * sum(x * y for x, y in zip([*A, -b], [*H, h], strict=True))
        second = sum(x * x for x in H) - h**2
        change = sum((x + y) ** 2 - x**2 for x, y in zip(A, H, strict=True)) - (b + h) ** 2 + b**2
        yield equal(f"the change, d = {d}", change, first + second)
        u, v = [*A, -b], [*H, h]
        squares = sum((u[i] * v[j] - u[j] * v[i]) ** 2 for i in range(len(u)) for j in range(i))
        lengths = sum(x * x for x in u) * sum(x * x for x in v)
        yield equal(f"Lagrange, d = {d}", lengths - (first / 2) ** 2, squares)
    length, radius = positive_symbol("n"), positive_symbol("r")
    found = plain(kernel.regression_flow.invariant_reach(SymbolicNumber(length), SymbolicNumber(radius)))
    yield equal("the kernel's bound", found, 2 * radius * length + radius**2)
