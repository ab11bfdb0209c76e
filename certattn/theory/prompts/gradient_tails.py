"""Checks: tails of the entries of a softmax covariance's error, derived and as the kernel has them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.prompts.gradient_bounds import prompt_parts
from certattn.theory.symbolic_flint import SymbolicNumber, evaluated, expression, numbers
from certattn.theory.symbols import matrix, positive_symbol, positive_vector, real, vector

Expr = Any


def check_event(kernel: Kernel) -> Iterator[Check]:
    """<u, S v> / Z - eps is sum Y_i over a positive number."""
    eps = positive_symbol("eps")
    for length, d in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 2)):
        w, y, C, S = prompt_parts(length, d)
        u, v = matrix("u", d, 1), matrix("v", d, 1)
        Z = sum(w) / length
        products = [(y[i, :] * u)[0] * (y[i, :] * v)[0] for i in range(length)]
        covariance = (u.T * C * v)[0]
        Y = sum(w[i] * (products[i] - covariance - eps) for i in range(length))
        yield equal(f"the event, {length} tokens in R^{d}", (u.T * S * v)[0] / Z - eps, Y / (length * Z))


def check_frames(kernel: Kernel) -> Iterator[Check]:
    """|F X G'|_F^2 - |X|_F^2 is a sum of quadratic forms of F'F - I and G'G - I."""
    for rows, columns in ((1, 1), (1, 2), (2, 2)):
        X, F, G = matrix("X", rows, columns), matrix("F", rows + 1, rows), matrix("G", columns, columns)
        outer = (F * X * G.T) * (F * X * G.T).T
        first = (X.T * (F.T * F - sympy.eye(rows)) * X).trace()
        second = (F * X * (G.T * G - sympy.eye(columns)) * X.T * F.T).trace()
        yield equal(f"frames around a {rows} x {columns} matrix", outer.trace() - (X * X.T).trace(), first + second)


def _laws(kernel: Kernel) -> list[tuple[str, Any, int]]:
    """Laws with a name and an order up to which they are compared."""
    laws = kernel.laws
    plane = laws.Gaussian(numbers(vector("m", 2)), numbers([[real("g11"), real("g12")], [real("g12"), real("g22")]]))
    sizes = numbers(positive_vector("c", 2))
    signs, box = laws.Rademacher(sizes), laws.Box(sizes)
    atoms = laws.Atoms(numbers(matrix("y", 2, 2)), numbers(positive_vector("w", 2)))
    return [
        ("a Gaussian on a line", laws.Gaussian(numbers(vector("m", 1)), numbers([[real("g")]])), 3),
        ("a Gaussian in the plane", plane, 1),
        ("signs", signs, 2),
        ("a box", box, 2),
        ("atoms", atoms, 2),
        ("a mixture", laws.Mixture([signs, atoms], numbers(positive_vector("pi", 2))), 2),
    ]


def check_pair_series(kernel: Kernel) -> Iterator[Check]:
    """The coefficient of t^i r^j is that of t^(i+j) along u + x v, of x^j, for every law."""
    x = real("x")
    for name, law, order in _laws(kernel):
        a, u, v = (vector(letter, law.dimension) for letter in "auv")
        table = kernel.series.pair_series(law, *map(numbers, (a, u, v)), order)
        along = [p + x * q for p, q in zip(u, v, strict=True)]
        line = kernel.series.mgf_series(law, *map(numbers, (a, along)), 2 * order)
        for i, j in itertools.product(range(order + 1), repeat=2):
            yield equal(f"t^{i} r^{j}, {name}", table[i][j], sympy.expand(line[i + j]).coeff(x, j))


def check_weighted_moments(kernel: Kernel) -> Iterator[Check]:
    """Moments of weights and of two outputs, from their definition as a sum over atoms, and those of Y and D."""
    a, points, masses = vector("a", 2), matrix("y", 2, 2).tolist(), positive_vector("p", 2)
    law = kernel.laws.Atoms(numbers(points), numbers(masses))
    u, v, centre, eps = vector("u", 2), vector("v", 2), vector("c", 2), real("eps")

    def dot(left: list[Expr], right: list[Expr]) -> Expr:
        return sum(x * y for x, y in zip(left, right, strict=True))

    def mean(k: int, value: Any, around: list[Expr]) -> Expr:
        total = sum(p * sympy.exp(dot(a, y)) for p, y in zip(masses, points, strict=True))
        terms = (
            p * (sympy.exp(dot(a, y)) / total) ** k * value([q - c for q, c in zip(y, around, strict=True)])
            for p, y in zip(masses, points, strict=True)
        )
        return sum(terms)

    for k in (0, 1, 2):
        table = kernel.series.weighted_moments(law, *map(numbers, (a, centre)), k, *map(numbers, (u, v)), 2)
        for i, j in ((0, 0), (1, 0), (1, 1), (2, 1), (2, 2)):
            wanted = mean(k, lambda y, i=i, j=j: dot(u, y) ** i * dot(v, y) ** j, centre)
            yield equal(f"E w^{k} <u,y>^{i} <v,y>^{j}", math.factorial(i) * math.factorial(j) * table[i][j], wanted)
    # Of Y and D: the moments of the weights stand under names of their own.
    products = kernel.weighted_sums
    known = {k: [sympy.Symbol(f"m{k}{j}") for j in range(k + 1)] for k in range(4)}
    known[1][0], known[0][0] = sympy.Integer(1), sympy.Integer(1)
    for sign in (1, -1):
        moments = products.ProductMoments(law, *map(numbers, (a, u, v)), known)
        summand = products.product_summand(moments, sign, SymbolicNumber(eps))
        h, w = sympy.symbols("h w")
        for k in (1, 2, 3):
            Y = sympy.Poly(sympy.expand((w * (sign * h - sign * known[1][1] - eps)) ** k), w, h)
            wanted = sum(c * known[i][j] for (i, j), c in Y.terms()) / math.factorial(k)
            yield equal(f"E Y^{k} / {k}!, sign {sign}", summand.power_mean(k), wanted)
        series = summand.centred_series(3)
        D = sympy.Poly(sympy.expand((w * (sign * h - sign * known[1][1] - eps) + eps) ** 3), w, h)
        wanted = sum(c * known[i][j] for (i, j), c in D.terms()) / 6
        yield equal(f"E D^3 / 3!, sign {sign}", series[3], wanted)
        yield equal(f"E D = 0, sign {sign}", series[1], sympy.Integer(0))
        D = sympy.Poly(sympy.expand((w * (sign * h - sign * known[1][1] - eps) + eps) ** 2), w, h)
        yield equal(f"E D^2, sign {sign}", summand.variance(), sum(c * known[i][j] for (i, j), c in D.terms()))


def check_largest(kernel: Kernel) -> Iterator[Check]:
    """What bounds D on a bounded support, and the exponential of atoms."""
    x, y, s, z = real("x"), real("y"), positive_symbol("s"), positive_symbol("z")
    yield equal("a product by squares", x * y, ((x + y) ** 2 - (x - y) ** 2) / 4)
    gap = sympy.exp(z - 1) - z
    yield equal("e^(z-1) - z is 0 at 1", gap.subs(z, 1), sympy.Integer(0))
    yield equal("and so is its slope", sympy.diff(gap, z).subs(z, 1), sympy.Integer(0))
    yield equal("which increases", sympy.diff(gap, z, 2), sympy.exp(z - 1))
    yield equal("its square, z = s x / 2", (sympy.exp(s * z / 2 - 1)) ** 2 * 4 / s**2, 4 * sympy.exp(s * z - 2) / s**2)
    products, laws = kernel.weighted_sums, kernel.laws
    a, u, v, eps = vector("a", 1), vector("u", 1), vector("v", 1), positive_symbol("eps")
    for sign in (1, -1):
        # Signs of size 0, which lie at the tilted mean.
        signs = laws.Rademacher(numbers([0]))
        known = {0: [sympy.Integer(1)], 1: [sympy.Integer(1), real("k")]}
        summand = products.product_summand(
            products.ProductMoments(signs, *map(numbers, (a, u, v)), known), sign, SymbolicNumber(eps)
        )
        wanted = sympy.exp(-2) / s**2 + sympy.Max(-(sign * real("k") + eps), 0) + eps
        yield equal(
            f"the largest D at one point, sign {sign}",
            summand.largest(signs, SymbolicNumber(s)) - wanted,
            sympy.Integer(0),
        )
        # A size c: the reach is c |a + s (u + v)|, less Lambda(a) and s times the mean.
        c = positive_symbol("c")
        signs = laws.Rademacher(numbers([c]))
        summand = products.product_summand(
            products.ProductMoments(signs, *map(numbers, (a, u, v)), known), sign, SymbolicNumber(eps)
        )
        joint, mean, log_mgf = u[0] + sign * v[0], evaluated(signs.tilted_mean, a)[0], evaluated(signs.log_mgf, a)
        ends = [sympy.exp(c * sympy.Abs(a[0] + e * s * joint) - log_mgf - e * s * joint * mean - 2) for e in (1, -1)]
        rest = sympy.Max(-(sign * real("k") + eps), 0) * sympy.exp(c * sympy.Abs(a[0]) - log_mgf)
        wanted = sympy.Max(*ends) / s**2 + rest + eps
        yield Check(
            f"the largest D of a sign, sign {sign}",
            sympy.expand(summand.largest(signs, SymbolicNumber(s)) - wanted) == 0,
        )
    weights, k = positive_vector("p", 2), real("k")
    two = laws.Atoms(numbers([[0], [1]]), numbers(weights))
    known = {0: [sympy.Integer(1)], 1: [sympy.Integer(1), k]}
    summand = products.product_summand(
        products.ProductMoments(two, *map(numbers, (a, u, v)), known), 1, SymbolicNumber(eps)
    )
    masses = [sympy.Integer(1), sympy.exp(a[0])]
    total = sum(p * mass for p, mass in zip(weights, masses, strict=True))
    share = weights[1] * masses[1] / total
    by_hand = sum(
        p * sympy.exp(s * mass / total * (u[0] * v[0] * (point - share) ** 2 - k - eps))
        for p, mass, point in zip(weights, masses, (0, 1), strict=True)
    )
    found = expression(products.atoms_exponential(summand, SymbolicNumber(s)))
    yield Check("E e^(s Y) of two atoms", sympy.expand(_factored(found) - _factored(by_hand)) == 0)


def _factored(expression: Expr) -> Expr:
    """With e^{a + log b} as b e^a, and exponents as one fraction each."""
    merged = sympy.powsimp(sympy.expand_log(expression.replace(sympy.exp, lambda x: sympy.exp(sympy.expand(x)))))
    return merged.replace(sympy.exp, lambda x: sympy.exp(sympy.factor(sympy.together(x))))
