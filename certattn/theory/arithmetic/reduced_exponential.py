"""Checks: the exponential by argument reduction, its polynomial, and the kernel's bounds on both."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import positive_symbol, real

Expr = Any

R = positive_symbol("R")
_MOVED = 2 * (sympy.sqrt(2) - 1) * R**2
_CONSTANTS = ("l1", "l2", "inverse", "c2", "c3")


def _function(**constants: Expr) -> Any:
    """The constants of an exponential, as the kernel's formulas ask for them."""
    return SimpleNamespace(**{name: SymbolicNumber(value) for name, value in constants.items()})


def check_split(kernel: Kernel) -> Iterator[Check]:
    s, m, j = real("s"), sympy.Symbol("m", integer=True), sympy.Symbol("j", integer=True)
    size = kernel.exponential_bound.SIZE
    step = sympy.log(2) / size
    # 2^m = e^(m ln 2)
    product = sympy.exp(m * sympy.log(2)) * sympy.exp(j * sympy.log(2) / size) * sympy.exp(s - (size * m + j) * step)
    yield equal("e^s = 2^m 2^(j/2048) e^r", product, sympy.exp(s))
    yield equal("the table has 2048 entries", size, 2048)


def check_operations(kernel: Kernel) -> Iterator[Check]:
    s, x, k, entry = (real(name) for name in ("s", "x", "k", "T_j"))
    constants = {name: real(name) for name in _CONSTANTS}
    arguments = [SymbolicNumber(symbol) for symbol in (s, x, k, entry)]
    computed = kernel.binary64_exponential.assemble(_function(**constants), *arguments, lambda value: value)
    r = s - k * (constants["l1"] + constants["l2"]) + x
    cubic = 1 + r + constants["c2"] * r**2 + constants["c3"] * r**3
    yield equal("w = T_j (1 + r + C2 r^2 + C3 r^3)", plain(computed), entry * cubic)


def check_remainder(kernel: Kernel) -> Iterator[Check]:
    r, c2, c3 = real("r"), real("c2"), real("c3")
    taylor = sum(sympy.exp(r).diff(r, n).subs(r, 0) * r**n / sympy.factorial(n) for n in range(1, 6))
    a, b = sympy.Rational(1, 2) - c2, sympy.Rational(1, 6) - c3
    left = r * (1 + c2 * r + c3 * r**2) - taylor
    yield equal("the first five terms", left, -(a * r**2 + r**4 / 24) - r * (b * r**2 + r**4 / 120))
    n = sympy.Symbol("n", integer=True, nonnegative=True)
    ratio = sympy.Mul(*(n + i for i in range(1, 7))) / 720
    both = sympy.factorial(n + 6) / (720 * sympy.factorial(n))
    yield equal("(n + 6)! / (720 n!) as a product", sympy.combsimp(both), ratio)
    rest = sympy.Poly(sympy.expand(ratio - 1), n).all_coeffs()
    yield Check("(n + 6)! >= 720 n!", all(coefficient >= 0 for coefficient in rest))
    yield equal(
        "the sixth coefficient", sympy.exp(r).diff(r, 6).subs(r, 0) / sympy.factorial(6), ratio.subs(n, 0) / 720
    )


def check_parabola(kernel: Kernel) -> Iterator[Check]:
    a, c, x, end = real("a"), positive_symbol("c"), real("x"), positive_symbol("X")
    value = a * x + c * x**2
    at_end = value.subs(x, end)
    yield equal("from the vertex", value, c * (x + a / (2 * c)) ** 2 - a**2 / (4 * c))
    yield equal("from the chord", value, x / end * at_end - c * x * (end - x))
    yield equal("the slope changes its sign at the vertex alone", value.diff(x).subs(x, -a / (2 * c)), 0)
    yield equal("and grows", value.diff(x, 2), 2 * c)
    largest = kernel.exponential_bound._largest_on_parabola

    def run(a: Expr, end: Expr) -> Expr:
        return plain(largest(SymbolicNumber(a), SymbolicNumber(c), SymbolicNumber(end)))

    p = positive_symbol("p")
    yield equal("rising from 0: the end", run(p, end), p * end + c * end**2)
    vertex = p / (2 * c)
    yield equal("the end before the vertex", run(-p, vertex / 2), abs(value.subs({a: -p, x: vertex / 2})))
    yield equal("the vertex", run(-p, vertex * 3 / 2), p**2 / (4 * c))
    yield equal("the end beyond the vertex", run(-p, vertex * 4), value.subs({a: -p, x: vertex * 4}))


def check_balance(kernel: Kernel) -> Iterator[Check]:
    end = R**2
    for name, following in (("C2", 24), ("C3", 120)):
        c = sympy.Rational(1, following)
        a = -_MOVED / following
        at_end, at_vertex = a * end + c * end**2, -(a**2) / (4 * c)
        yield equal(f"{name}: the end and the vertex balance", at_end, -at_vertex)
        yield equal(f"{name}: the maximum", at_end, (sympy.sqrt(2) - 1) ** 2 * R**4 / following)
        free = real("a")
        yield positive(f"{name}: less raises the end", (free * end + c * end**2).diff(free))
        yield positive(
            f"{name}: more raises the vertex", (positive_symbol("p") ** 2 / (4 * c)).diff(positive_symbol("p"))
        )
    # The kernel asks whether a vertex lies beyond the end: numbers answer that, symbols do not.
    for radius in (sympy.Rational(1), sympy.Rational(1, 5909)):
        moved = _MOVED.subs(R, radius)
        function = _function(c2=sympy.Rational(1, 2) + moved / 24, c3=sympy.Rational(1, 6) + moved / 120)
        found = plain(kernel.exponential_bound._approximation_error(function, SymbolicNumber(radius)))
        largest = (sympy.sqrt(2) - 1) ** 2 * (R**4 / 24 + R**5 / 120) + R**6 * sympy.exp(R) / 720
        yield equal(f"the kernel's bound for R = {radius}", found, largest.subs(R, radius))


def check_assembly(kernel: Kernel) -> Iterator[Check]:
    t, E, d, f, r, j = (real(name) for name in ("t", "E", "d", "f", "r", "j"))
    power = sympy.exp(j * sympy.log(2) / kernel.exponential_bound.SIZE)
    entry, P = power * (1 + t), sympy.exp(r) - 1 + E
    result = (entry + entry * P * (1 + d)) * (1 + f)
    relative = (1 + t) * (1 + (E + d * P) * sympy.exp(-r)) * (1 + f)
    yield equal("w / (2^(j/2048) e^r)", result / (power * sympy.exp(r)), relative)
