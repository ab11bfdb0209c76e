"""Checks: what a class says of tilted laws, of errors over queries, and of the distance of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import sympy
from flint import arb, fmpq

from certattn.theory.exactness import Check, Expr, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import positive_symbol, real

S, SIGMA, U, V, D, T, ETA, LENGTH, RADIUS = (
    positive_symbol(name) for name in ("s", "sigma", "U", "V", "d", "t", "eta", "L", "r")
)
_Q, _CELLS, _END = fmpq(27, 20), 240, fmpq(6, 5)
_PURE = sympy.Function("M", positive=True)


@dataclass(frozen=True)
class _Queries:
    """E |z|^power e^{rate |z|^2} = M(power, rate)."""

    def moment(self, power: int, rate: Any) -> SymbolicNumber:
        return SymbolicNumber(_PURE(power, plain(rate)))


@dataclass(frozen=True)
class _Bounded:
    """|z| = r."""

    def moment(self, power: int, rate: Any) -> SymbolicNumber:
        return SymbolicNumber(RADIUS**power * sympy.exp(plain(rate) * RADIUS**2))


class _Tokens:
    """Polynomials of two symbols each."""

    def kept(self) -> list[SymbolicNumber]:
        return [SymbolicNumber(positive_symbol(name)) for name in ("a0", "a1")]

    def always(self, log_length: Any, t: Any, eta: Any) -> list[SymbolicNumber]:
        return [SymbolicNumber(positive_symbol(name)) for name in ("b0", "b1")]


def _polynomial(coefficients: Sequence[Any], of: Expr) -> Expr:
    return sum((plain(c) * of**n for n, c in enumerate(coefficients)), sympy.Integer(0))


def _region(kernel: Kernel, queries: Any) -> Any:
    return kernel.class_region.Region(queries, *map(SymbolicNumber, (SIGMA, D, U, V)))


def _has_no_root(polynomial: Expr, of: Expr, least: Expr) -> bool:
    """Whether it is positive from there on."""
    found = sympy.Poly(polynomial, of)
    return bool(found.eval(least) > 0 and found.count_roots(least, None) == 0)


def check_shift(kernel: Kernel) -> Iterator[Check]:
    """tau is the integral of C along the tilt."""
    q = positive_symbol("q")
    size = _polynomial(kernel.class_region.SPREAD, S)
    yield equal("|C|", size, (1 + S) ** 2)
    yield equal("the integral", _polynomial(kernel.class_region.SHIFT, S),
                sympy.integrate(sympy.expand(size.subs(S, q * S) * S), (q, 0, 1)))  # fmt: skip


def check_third(kernel: Kernel) -> Iterator[Check]:
    """The two bounds of third moments, and the kernel's polynomial above one of them everywhere."""
    v, x, c, g = positive_symbol("v"), positive_symbol("x"), real("c"), real("g")
    series = sum(v ** (2 * k) / sympy.factorial(2 * k) for k in range(1, 5))
    rest = sympy.Rational(1, 2) - 20 * v / 61 + v**2 / 24 + v**4 / 720 + v**6 / 40320
    yield equal("cosh v - 1 less 20 v^3 / 61, up to v^8", series - 20 * v**3 / 61, v**2 * rest)
    yield Check("is positive", _has_no_root(rest, v, sympy.Integer(0)))
    ends = [_END * n / _CELLS for n in range(_CELLS + 1)]
    skew = [fmpq(*(int(part) for part in sympy.fraction(plain(k)))) for k in kernel.class_region.SKEW]
    values = [sum((k * end**n for n, k in enumerate(skew)), fmpq(0)) for end in ends]
    bounds = [fmpq(61, 20) / _Q**3 * ((arb(end + _Q) ** 2 / 2).exp() - 1) for end in ends]
    holds = all((bound <= value) is True for bound, value in zip(bounds[1:], values, strict=False))
    yield Check("up to 6/5 it is below the polynomial", holds)
    half = sympy.Rational(1, 2)
    yield equal("the exponent of the Gaussian mean", g * c + g**2 / 2 - g**2, -half * (g - c) ** 2 + c**2 / 2)
    curve = sympy.diff(sympy.log(x) ** sympy.Rational(3, 2), x, 2)
    yield equal("(ln x)^(3/2) is concave where ln x >= 1/2", curve,
                3 * (half - sympy.log(x)) / (2 * x**2 * sympy.sqrt(sympy.log(x))))  # fmt: skip
    root = 1 + 3 * x / 2 + 3 * x**2 / 8
    yield equal("(1 + x)^(3/2) <= 1 + 3x/2 + 3x^2/8", root**2 - (1 + x) ** 3, x**3 / 8 + 9 * x**4 / 64)
    beyond = sympy.expand((_polynomial(kernel.class_region.SKEW, S) - 8 * S**3 * root.subs(x, 1 / S**2)) * S)
    yield Check("from 6/5 on that is below the polynomial", _has_no_root(beyond, S, sympy.Rational(6, 5)))


def check_derivatives(kernel: Kernel) -> Iterator[Check]:
    """Mean squares of DT, and the largest eigenvalue for D^2 T."""
    region, zero, unit = _region(kernel, _Queries()), sympy.Integer(0), SIGMA * U

    def mean(polynomial: Expr, power: int) -> Expr:
        coefficients = reversed(sympy.Poly(polynomial, S).all_coeffs())
        return sum(c * unit**n * _PURE(n + power, zero) for n, c in enumerate(coefficients))

    shift, spread, skew = S + S**2 + S**3 / 3, (1 + S) ** 2, 2 + 4 * S + 8 * S**2 + 8 * S**3
    limit = SIGMA**2 * sympy.Min(mean(4 * S**2, 0), sympy.expand(mean(shift**2, 0)))
    yield equal("E |tau|^2", plain(region.limit_square()), limit)
    slope = plain(region.slope_square()) - plain(region.limit_square())
    yield equal("E |DT|^2", slope, V**2 * SIGMA**4 * mean(spread**2, 2))
    found = plain(region.bend())
    mixed, pure = SIGMA**4 * mean(spread**2, 2), V**2 * SIGMA**6 * mean(skew**2, 4)
    # The larger root of x^2 = m x + n^2.
    yield equal("the largest eigenvalue", sympy.expand((2 * found - sympy.sqrt(pure)) ** 2), pure + 4 * mixed)


def check_scatter(kernel: Kernel) -> Iterator[Check]:
    """The kernel's polynomials A_S and B_S."""
    log = positive_symbol("l")
    tokens = kernel.class_region.Scatter(SymbolicNumber(SIGMA**2), SymbolicNumber(D))
    square = 4 * (1 + S**2) * (D + S**2)
    yield equal("A_S", _polynomial(tokens.kept(), S**2), SIGMA**4 * ((D + 4 + 4 * S**2) ** 2 + square))
    always = tokens.always(*map(SymbolicNumber, (log, T, ETA)))
    largest = 2 * (1 + T + log) / ETA + (D + 4 * S**2) / (1 - ETA)
    yield equal("B_S", _polynomial(always, S**2), SIGMA**4 * (largest**2 + square))


def check_powers(kernel: Kernel) -> Iterator[Check]:
    """x^j against (e^{cx} - 1): 0 at 0, and the slope is no less, with equality at cx = j - 1."""
    x, c = positive_symbol("x"), positive_symbol("c")
    for j in (1, 2, 3, 4):
        factor = j / c * (sympy.Integer(j - 1) / (sympy.E * c)) ** (j - 1)
        bound = factor * (sympy.exp(c * x) - 1)
        yield equal(f"x^{j}: at 0", bound.subs(x, 0), 0)
        slope = sympy.diff(bound, x)
        if j > 1:
            place = sympy.Integer(j - 1) / c
            yield equal(f"x^{j}: equal slopes", slope.subs(x, place), j * place ** (j - 1))
            apart = c * x - (j - 1) - (j - 1) * sympy.log(c * x / (j - 1))
            yield equal(f"x^{j}: elsewhere more", sympy.diff(apart, x), (c * x - (j - 1)) / x)
        else:
            yield equal("x: the slope", slope, sympy.exp(c * x))


def check_errors(kernel: Kernel) -> Iterator[Check]:
    """Mean squares of errors and of biases, and their squares, for bounded queries and for sub-Gaussian ones."""
    module, tokens = kernel.class_region, _Tokens()
    kept, always = (list(map(plain, part)) for part in (tokens.kept(), tokens.always(None, None, None)))
    length, t, eta = map(SymbolicNumber, (LENGTH, T, ETA))
    region, proof = _region(kernel, _Bounded()), module.Numbers(length, t, eta, None)
    score = (SIGMA * U * RADIUS) ** 2
    depth = LENGTH * T**2 * sympy.exp(-2 * score) / 2
    square = _polynomial(kept, score) * sympy.exp(2 * score) / (LENGTH * (1 - T) ** 2) + _polynomial(
        always, score
    ) * sympy.exp(-depth)
    yield equal("h", plain(region.shortfall(length, t)), depth)
    yield equal("bounded: errors", plain(region.error_square(tokens, 2, proof)), RADIUS**2 * square)
    share = (sympy.exp(2 * score) - 1) / LENGTH
    yield equal("bounded: biases", plain(region.bias_square(tokens, 2, proof)), RADIUS**2 * square * share)
    yield equal("bounded: squares", plain(region.error_fourth(tokens, 2, proof)), RADIUS**2 * square**2)
    region, unit = _region(kernel, _Queries()), SIGMA * U

    def mean(coefficients: Sequence[Expr], power: int, rate: Expr) -> Expr:
        return sum(c * unit ** (2 * n) * _PURE(2 * n + power, rate * unit**2) for n, c in enumerate(coefficients))

    def bound(power: int, rate: Expr) -> Expr:
        A, B = mean(kept, power, rate), mean(always, power, rate)
        return (A / (1 - T) ** 2 + 2 * B / (sympy.E * T**2)) / LENGTH

    proof = module.Numbers(length, t, eta, SymbolicNumber(1))
    yield equal("errors, theta = 1", plain(region.error_square(tokens, 2, proof)), bound(2, sympy.Integer(2)))
    biased = 2 * unit**2 * bound(4, sympy.Integer(4)) / LENGTH
    yield equal("biases, theta = 1", plain(region.bias_square(tokens, 2, proof)), biased)
    A, B = (mean(_square(part), 2, sympy.Integer(4)) for part in (kept, always))
    fourth = (2 * A / (1 - T) ** 4 + 8 * B / (sympy.E * T**2) ** 2) / LENGTH**2
    yield equal("squares, theta = 1", plain(region.error_fourth(tokens, 2, proof)), fourth)
    half = sympy.Rational(1, 2)
    proof = module.Numbers(length, t, eta, SymbolicNumber(half))

    def root(power: int) -> Expr:
        A, B = mean(kept, power, sympy.Integer(2)), mean(always, power, sympy.Integer(2))
        return sympy.sqrt(B) * sympy.sqrt(A / (1 - T) ** 2 + 2 * B / (sympy.E * T**2)) / sympy.sqrt(LENGTH)

    found = plain(region.bias_square(tokens, 2, proof))
    yield equal("biases, theta = 1/2", found, (half * root(2) + unit**2 * root(4)) / sympy.sqrt(LENGTH))
    theta, x = positive_symbol("theta"), positive_symbol("x")
    apart = 1 - theta + theta * x - x**theta
    yield equal("1 - theta + theta x touches x^theta at 1", [apart.subs(x, 1), sympy.diff(apart, x).subs(x, 1)], [0, 0])
    yield equal("which is concave", sympy.diff(apart, x, 2), theta * (1 - theta) * x ** (theta - 2))


def _square(coefficients: Sequence[Expr]) -> list[Expr]:
    found = sympy.Poly(_polynomial(coefficients, S) ** 2, S).all_coeffs()
    return [sympy.expand(c) for c in reversed(found)]


def check_gap(kernel: Kernel) -> Iterator[Check]:
    """The bound of the difference of the gradients, and of quadratic losses that with biases."""
    module = kernel.theorem_4_3
    smooth, force, slope = (positive_symbol(name) for name in ("lambda", "F", "gamma"))
    e1, e2, b1, b2, b3 = (positive_symbol(name) for name in ("e1", "e2", "b1", "b2", "b3"))

    class Near:
        sigma, dimension, V = map(SymbolicNumber, (SIGMA, D, V))

        def error_square(self, tokens: Any, power: int, proof: Any) -> SymbolicNumber:
            return SymbolicNumber(e2**2 if power else e1**2)

        def bias_square(self, tokens: Any, power: int, proof: Any) -> SymbolicNumber:
            return SymbolicNumber(b2**2 if power else b1**2)

        def error_fourth(self, tokens: Any, power: int, proof: Any) -> SymbolicNumber:
            return SymbolicNumber(b3**2)

    def gap(shape: str) -> Expr:
        loss = {module.SMOOTHNESS: SymbolicNumber(smooth), module.SHAPE: shape}
        hint = {module.FALL: SymbolicNumber(T), module.ETA: SymbolicNumber(ETA)}
        stated = SimpleNamespace(given={module.LENGTH: 2, module.LOSS: loss}, hint=hint)
        return plain(module.Training(stated).gap(Near(), SymbolicNumber(force), SymbolicNumber(slope)))

    turned, moved = sympy.sqrt(e1**2 + V**2 * e2**2), smooth * V * e1
    first = (force + moved) * turned + moved * slope
    yield equal("(11)", gap("convex"), first)
    second = force * sympy.sqrt(b1**2 + V**2 * (b2 + b3) ** 2) + smooth * V * b1 * slope + moved * turned
    # The smaller one of the two.
    yield equal("(12)", sum(sympy.Min.make_args(gap("quadratic"))), first + second)
    b, g, h, E = (positive_symbol(name) for name in ("b", "g", "h", "E"))
    solution = sympy.exp(b * h) * E + g * (sympy.exp(b * h) - 1) / b
    yield equal("(13)", sympy.diff(solution, h), b * solution + g)
