"""Checks: means over prompts of finitely many tokens, by which of the tokens agree; and bounds that fall with L.

The kernel's own sums are read with a single node lambda and with symbols for e^(-lambda w). What they add up has to be
the mean over all prompts, listed one by one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import factorial
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicMatrix, SymbolicNumber, expression, numbers
from certattn.theory.symbols import positive_symbol, real

Expr = Any
_LAMBDA = positive_symbol("lambda")
_MASSES = [sympy.Rational(1, 2), sympy.Rational(1, 3), sympy.Rational(1, 6)]
# E w = 1.
_WEIGHTS = [sympy.Rational(1, 2), sympy.Rational(5, 4), sympy.Integer(2)]
_TOKENS = [[1, 0], [-2, 1], [3, 2]]
_VALUES = [[1, 2], [0, -1]]
_DECAYS = [positive_symbol(f"e_{i + 1}") for i in range(3)]


def _sums(kernel: Kernel, length: int) -> Any:
    """The kernel's sums over the single node lambda, of exact transforms: there is no error."""

    class Sums(kernel.finite_scores.FiniteScores):  # type: ignore[name-defined]
        def __init__(self) -> None:
            self.length, self.masses, self.weights = length, numbers(_MASSES), numbers(_WEIGHTS)
            self.steps, self._rates = 1, [SymbolicNumber(_LAMBDA)]
            self.__dict__["_decays"] = SymbolicMatrix([_DECAYS])
            self.__dict__["_falls"] = SymbolicMatrix([[e - 1 for e in _DECAYS]])

        def _powers(self, exponent: int) -> list[SymbolicNumber]:
            return [plain**exponent for plain, _ in self._transforms]

        def error(self, degree: int, tokens: int | None = None) -> SymbolicNumber:
            return SymbolicNumber(0)

    return Sums()


def _about_limit(rows: Sequence[Sequence[Any]]) -> list[list[Expr]]:
    """Rows less their mean under the weights."""
    mean = [sum(m * w * row[j] for m, w, row in zip(_MASSES, _WEIGHTS, rows, strict=True)) for j in range(len(rows[0]))]
    return [[x - t for x, t in zip(row, mean, strict=True)] for row in rows]


def _listed(length: int, degree: int, product: Any) -> Expr:
    """E of lambda^k e^(-lambda Z) times a polynomial in the weights, over all prompts, over Gamma(k).

    `product` is given the tokens of a prompt.
    """
    total = sympy.Integer(0)
    for prompt in itertools.product(range(3), repeat=length):
        chance = sympy.prod([_MASSES[g] * _DECAYS[g] for g in prompt])
        total += chance * product(prompt)
    return total * _LAMBDA**degree / factorial(degree - 1)


def _weighed(prompt: Sequence[int], rows: Sequence[Sequence[Expr]]) -> list[Expr]:
    """sum w_i f(x_i), entry by entry."""
    return [sum(_WEIGHTS[g] * rows[g][j] for g in prompt) for j in range(len(rows[0]))]


def check_means(kernel: Kernel) -> Iterator[Check]:
    """E|sum p y|^2, E sum p y and E sum p^2 before the integral over lambda, from the kernel's means."""
    y = _about_limit(_TOKENS)
    for length in (1, 2, 3):
        means = kernel.finite_means.FiniteMeans(
            _sums(kernel, length),
            numbers([[m * x for x in row] for m, row in zip(_MASSES, y, strict=True)]),
            numbers([m * sum(x * x for x in row) for m, row in zip(_MASSES, y, strict=True)]),
        )
        square = _listed(length, 2, lambda prompt: sum(x * x for x in _weighed(prompt, y)))
        yield equal(f"the mean square, L = {length}", expression(means.mean_square), square)
        collision = _listed(length, 2, lambda prompt: sum(_WEIGHTS[g] ** 2 for g in prompt))
        yield equal(f"the collision probability, L = {length}", expression(means.collision), collision)
        # Without what the error of the sums adds to it, which is 0 here.
        for j, found in enumerate(means.mean()):
            mean = _listed(length, 2, lambda prompt, j=j: sum(_WEIGHTS[g] for g in prompt) * _weighed(prompt, y)[j])
            yield equal(f"coordinate {j + 1} of the mean, L = {length}", expression(found), mean)


def check_covariance(kernel: Kernel) -> Iterator[Check]:
    """Q_2 - 2 Q_3 + Q_4 before the integral, each with its own power of lambda."""
    covariances = kernel.finite_covariances
    values = kernel.exact_matrix.ExactMatrix.rational(numbers(_VALUES))
    tokens = [
        [(SymbolicNumber(m), kernel.exact_matrix.ExactMatrix.row_vector(numbers(x)))]
        for m, x in zip(_MASSES, _TOKENS, strict=True)
    ]
    columns = covariances._Columns(tokens, numbers(_WEIGHTS), values)
    y = _about_limit(_TOKENS)
    z = [[sum(v * t for v, t in zip(row, x, strict=True)) for row in _VALUES] for x in y]
    M = _about_limit([[u * t for u in zs for t in ys] for zs, ys in zip(z, y, strict=True)])

    def three(prompt: Sequence[int]) -> Expr:
        u, v, D = (_weighed(prompt, rows) for rows in (z, y, M))
        return sum(s * t * D[i * len(v) + j] for i, s in enumerate(u) for j, t in enumerate(v))

    for length in (1, 2, 3, 4):
        found = expression(covariances._mean_square(_sums(kernel, length), columns))
        two = _listed(length, 2, lambda prompt: sum(x * x for x in _weighed(prompt, M)))
        four = _listed(
            length,
            4,
            lambda prompt: sum(x * x for x in _weighed(prompt, z)) * sum(x * x for x in _weighed(prompt, y)),
        )
        yield equal(f"the covariance, L = {length}", found, two - 2 * _listed(length, 3, three) + four)
    a, b = real("a"), real("b")
    yield equal("a^2 + b^2 - 2 a b is a square", a**2 + b**2 - 2 * a * b, (a - b) ** 2)


def check_nodes(kernel: Kernel) -> Iterator[Check]:
    """What the error of the sums over the nodes is made of."""
    x, c, first, h = (positive_symbol(name) for name in ("x", "c", "a", "h"))
    for k in (2, 3, 4):
        # With x = e^r, dr = dx / x.
        whole = sympy.integrate(x ** (k - 1) * sympy.exp(-c * x), (x, 0, sympy.oo))
        yield equal(f"int e^(kr) exp(-c e^r) dr, k = {k}", whole, sympy.factorial(k - 1) / c**k)
        beyond = sympy.integrate(x ** (k - 1) * sympy.exp(-x), (x, first, sympy.oo))
        closed = sympy.exp(-first) * factorial(k - 1) * sum(first**i / factorial(i) for i in range(k))
        yield equal(f"Gamma(k, a), k = {k}", beyond, closed)
        ratio = sympy.exp(-k * h)
        yield equal(f"the geometric series, k = {k}", ratio / (1 - ratio), 1 / (sympy.exp(k * h) - 1))
        slope = sympy.diff(sympy.exp(k * x) * sympy.exp(-sympy.exp(x)), x)
        turned = (k - sympy.exp(x)) * sympy.exp(k * x) * sympy.exp(-sympy.exp(x))
        yield equal(f"e_k falls from log k on, k = {k}", slope, turned)
    scores = [SymbolicNumber(positive_symbol(f"s_{i + 1}")) for i in range(2)]
    yield equal(
        "the larger of two", expression(kernel.finite_scores._largest(scores)), sympy.Max(*map(expression, scores))
    )


def check_falling(kernel: Kernel) -> Iterator[Check]:
    """The bounds for every length: by the kernel's formula, and why they fall."""
    n, x, L = positive_symbol("n"), positive_symbol("x"), sympy.Symbol("L", integer=True, positive=True)
    sums = _sums(kernel, 5)
    powers = {(4, 2): positive_symbol("I_1"), (3, 4): positive_symbol("I_2")}
    sums.inverse_power = lambda tokens, degree: SymbolicNumber(powers[tokens, degree])
    sizes = [positive_symbol(f"y_{i + 1}") for i in range(3)]
    seconds = [m * y**2 for m, y in zip(_MASSES, sizes, strict=True)]
    means = kernel.finite_means.FiniteMeans(sums, [], numbers(seconds))
    squares = [m * w**2 for m, w in zip(_MASSES, _WEIGHTS, strict=True)]
    spread = sum(s * y**2 for s, y in zip(squares, sizes, strict=True))
    pairs = sum(s * y for s, y in zip(squares, sizes, strict=True))
    bound = 5 * spread * powers[4, 2] + 6 * 25 * pairs**2 * powers[3, 4]
    yield equal("the bound of the mean square", expression(means.falling_mean_square()), bound)
    yield equal(
        "the bound of the collision probability", expression(means.falling_collision()), 5 * sum(squares) * powers[4, 2]
    )
    # |e^-x - 1| <= x, so |E w y (e^(-lambda w) - 1)| <= lambda E w^2 |y|, and int lambda^3 phi^(L-2) = 6 E Z^-4.
    shown = 2 * sympy.exp(-x / 2) * sympy.sinh(x / 2)
    yield equal("x - 1 + e^-x has the slope 1 - e^-x", sympy.diff(x - 1 + sympy.exp(-x), x), shown)
    yield positive("which is positive", shown)
    z = positive_symbol("z")
    integral = sympy.integrate(x**3 * sympy.exp(-x * z), (x, 0, sympy.oo))
    yield equal("int lambda^3 e^(-lambda z)", integral, 6 / z**4)
    yield positive("z^-k is convex", sympy.diff(z**-4, z, 2))
    w = [positive_symbol(f"w_{i + 1}") for i in range(4)]
    means_of_three = [(sum(w) - one) / 3 for one in w]
    yield equal("a mean is the mean of means of all but one", sum(means_of_three) / 4, sum(w) / 4)
    yield positive("L/(L-1)^2 falls", -sympy.factor(sympy.diff((n + 1) / n**2, n)))
    yield positive("L^2/(L-2)^4 falls", -sympy.factor(sympy.diff((n + 2) ** 2 / n**4, n)))
    yield equal("L (L-1) is at most L^2", L**2 - L * (L - 1), L)
