"""Checks: the excess loss of token selection, its derivatives and their bounds, derived and as the kernel has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, equal_logarithms, same
from certattn.theory.kernel_reading import Kernel
from certattn.theory.nonnegativity import is_nonnegative
from certattn.theory.symbolic_flint import SymbolicNumber, evaluated, expression, numbered, numbers, plain
from certattn.theory.symbols import positive_symbol, real, vector

Expr = Any

# Tokens of each input, and the dimension of the keys.
_SHAPES = (((2,), 1), ((3,), 1), ((3,), 2), ((2, 2), 1), ((3, 2), 1))


class _Polynomial:
    """l(x) = a x + b x^2 / 2 + c x^3 / 6: with c = 0, first and second derivatives see no more of any loss."""

    def __init__(self, third: Expr = 0) -> None:
        self._a, self._b, self._c = real("a"), real("b"), third

    def value(self, x: Any) -> Any:
        return self._a * x + self._b * x**2 / 2 + self._c * x**3 / 6

    def slope(self, x: Any) -> Any:
        return -(self._a + self._b * x + self._c * x**2 / 2)

    def curvature(self, x: Any) -> Any:
        return SymbolicNumber(self._b + self._c * x)

    def jerk(self, x: Any) -> Any:
        return SymbolicNumber(-self._c)

    def excess(self, score: Any, gap: Any) -> Any:
        return self.value(score - gap) - self.value(score)


def _with_parts(bound: Expr) -> Expr:
    """max(x, 0) as a symbol of its own, and max(-x, 0) as that symbol less x."""
    known: list[tuple[Expr, Expr]] = []

    def part(*arguments: Expr) -> Expr:
        (x,) = (argument for argument in arguments if argument != 0)
        for other, symbol in known:
            if same(x, other) or same(x, -other):
                return symbol if same(x, other) else symbol - other
        known.append((x, real(f"part_{len(known)}")))
        return known[-1][1]

    return bound.replace(sympy.Max, part)


class _Instance:
    """Inputs of so many tokens with symbols for everything, and F by its definition."""

    def __init__(self, kernel: Kernel, tokens: Sequence[int], dimension: int, third: Expr = 0) -> None:
        self.loss = _Polynomial(third)
        self.point = vector("p", dimension)
        self.keys = [[vector(f"k_{i}{t}", dimension) for t in range(size)] for i, size in enumerate(tokens)]
        self.scores = [[real(f"gamma_{i}{t}") for t in range(size)] for i, size in enumerate(tokens)]
        module = kernel.selection_landscape
        inputs = []
        for keys, scores in zip(self.keys, self.scores, strict=True):
            rows = [
                ([a - b for a, b in zip(keys[0], key, strict=True)], scores[0] - score)
                for key, score in zip(keys[1:], scores[1:], strict=True)
            ]
            inputs.append(module.Contrasts(SymbolicNumber(scores[0]), tuple(map(tuple, numbers(rows)))))
        self.kernel = module.Landscape(tuple(inputs), self.loss)

    def excess(self) -> Expr:
        """sum_i l(gamma_i' s_i) - l(gamma_i0), s_i the softmax of the keys' products with p."""
        total = sympy.Integer(0)
        for keys, scores in zip(self.keys, self.scores, strict=True):
            masses = [sympy.exp(sum(x * y for x, y in zip(key, self.point, strict=True))) for key in keys]
            output = sum(mass * score for mass, score in zip(masses, scores, strict=True)) / sum(masses)
            total += self.loss.value(output) - self.loss.value(scores[0])
        return total


def check_losses(kernel: Kernel) -> Iterator[Check]:
    """Slopes, curvatures and excesses, from the losses themselves."""
    x, score, gap, excess = real("x"), real("c"), real("G"), positive_symbol("F")
    for name, loss in kernel.losses.LOSSES.items():
        value = evaluated(loss.value, x)
        yield equal(f"{name}: slope", sympy.diff(value, x), -evaluated(loss.slope, x))
        yield equal(f"{name}: curvature", sympy.diff(value, x, 2), evaluated(loss.curvature, x))
        jerk = evaluated(loss.jerk, x).rewrite(sympy.exp)
        yield equal(f"{name}: jerk", -sympy.diff(value, x, 3), jerk)
        derived = evaluated(loss.value, score - gap) - evaluated(loss.value, score)
        yield equal_logarithms(f"{name}: excess", derived, evaluated(loss.excess, score, gap))
        inverse = evaluated(loss.excess, score, evaluated(loss.inverse_excess, score, excess))
        yield equal_logarithms(f"{name}: inverse of the excess", inverse, excess)


def check_gradient(kernel: Kernel) -> Iterator[Check]:
    """F and -grad F, differentiated from the definition."""
    for tokens, dimension in _SHAPES:
        instance = _Instance(kernel, tokens, dimension)
        excess, shown = instance.excess(), f"{tokens} tokens, d = {dimension}"
        yield equal(f"F, {shown}", excess, evaluated(instance.kernel.excess, instance.point))
        slopes = [-sympy.diff(excess, x) for x in instance.point]
        yield equal(f"-grad F, {shown}", slopes, evaluated(instance.kernel.downhill, instance.point))


def check_hessian(kernel: Kernel) -> Iterator[Check]:
    """The second derivatives as a third cumulant; their trace is what the kernel's two bounds differ by."""
    for tokens, dimension in (((2,), 1), ((2,), 2), ((3,), 1)):
        instance = _Instance(kernel, tokens, dimension)
        point, shown = instance.point, f"{tokens} tokens, d = {dimension}"
        excess, derived = instance.excess(), _cumulants(instance)
        hessian = [[sympy.diff(excess, x, y) for x in point] for y in point]
        yield equal(f"Hess F, {shown}", hessian, derived)
        way = vector("y", dimension)
        along = [-sum(entry * y for entry, y in zip(row, way, strict=True)) for row in hessian]
        products = [instance.kernel.products(numbers(each)) for each in (point, way)]
        yield equal(f"derivative of -grad F along y, {shown}", along, plain(instance.kernel.turning(*products)))
        upward, downward = evaluated(instance.kernel.curvatures, point)
        trace = sum(derived[k][k] for k in range(dimension))
        yield equal(f"trace of Hess F, {shown}", _with_parts(upward - downward), trace)


def check_bends(kernel: Kernel) -> Iterator[Check]:
    """The second derivative of -grad F along a vector, for a loss of unspecified third derivative.

    Of three tokens the keys and scores are numbers, for otherwise it takes minutes.
    """
    for tokens, dimension in (((2,), 1), ((3,), 1)):
        instance = _Instance(kernel, tokens, dimension, real("c"))
        way = vector("y", dimension)
        derived = [-sympy.diff(instance.excess(), x) for x in instance.point]
        for _ in range(2):
            derived = [
                sum(sympy.diff(entry, x) * y for x, y in zip(instance.point, way, strict=True)) for entry in derived
            ]
        ((_, shares, gap),) = instance.kernel.shares(numbers(instance.point))
        (contrasts,) = instance.kernel.inputs
        rows = [([0] * dimension, 1 - sum(shares), -gap)]
        rows += [(z, share, g - gap) for share, (z, g) in zip(shares, contrasts.rows, strict=True)]
        slide = [sum(s * h * z[k] for z, s, h in rows) for k in range(dimension)]
        centre = [sum(s * z[k] for z, s, _ in rows) for k in range(dimension)]
        aways = [[x - y for x, y in zip(z, centre, strict=True)] for z, _, _ in rows]
        *moves, fall = [sum(x * y for x, y in zip(z, way, strict=True)) for z in (*aways, slide)]
        terms = [(s, h, b, b**2) for (_, s, h), b in zip(rows, moves, strict=True)]
        score = contrasts.score - gap
        slopes = instance.loss.slope(score), instance.loss.curvature(score), instance.loss.jerk(score)
        weights, factor = kernel.selection_landscape.bend(slopes, terms, (fall, fall**2))
        found = [
            sum(w * away[k] for w, away in zip(weights, aways, strict=True)) + factor * slide[k]
            for k in range(dimension)
        ]
        symbols = [x for keys in instance.keys for key in keys for x in key] + instance.scores[0]
        values = dict(zip(symbols, map(sympy.Integer, (2, 5, -3, 4, 1, 7)), strict=False)) if tokens == (3,) else {}
        left, right = ([sympy.sympify(x).subs(values) for x in each] for each in (derived, plain(found)))
        shown = f"{tokens} tokens, d = {dimension}"
        yield equal(f"second derivative of -grad F along y, {shown}", left, right)


def check_narrow_shares(kernel: Kernel) -> Iterator[Check]:
    """The softmax weights in the form whose balls are narrowest."""
    for size in (1, 2, 3):
        products = vector("x", size)
        powers = [sympy.Integer(1), *(sympy.exp(-x) for x in products)]
        found = plain(kernel.selection_landscape.narrow_shares(numbers(products)))
        yield equal(f"softmax weights of {size + 1} tokens", [power / sum(powers) for power in powers], found)


def _cumulants(instance: _Instance) -> list[list[Expr]]:
    """sum_i f'' grad G grad G' + f' E[(g - G)(z - zbar)(z - zbar)'], from the kernel's softmax weights."""
    size = range(len(instance.point))
    total = [[sympy.Integer(0) for _ in size] for _ in size]
    for contrasts, (_, shares, gap) in zip(
        instance.kernel.inputs, instance.kernel.shares(numbers(instance.point)), strict=True
    ):
        tokens = [(1 - sum(shares), [0 for _ in size], 0)]
        tokens += [(share, z, g) for share, (z, g) in zip(shares, contrasts.rows, strict=True)]
        centre = [sum(share * z[k] for share, z, _ in tokens) for k in size]
        slide = [sum(share * (g - gap) * z[k] for share, z, g in tokens) for k in size]
        score = contrasts.score - gap
        slope, curvature = instance.loss.slope(score), instance.loss.curvature(score)
        for a in size:
            for b in size:
                bend = sum(share * (g - gap) * (z[a] - centre[a]) * (z[b] - centre[b]) for share, z, g in tokens)
                total[a][b] += curvature * slide[a] * slide[b] + slope * bend
    return total


def check_curvature_bound(kernel: Kernel) -> Iterator[Check]:
    """|E (g - G)(a - abar)^2| <= Gamma D^2 / 8, and B_F.

    By scaling D = 2 and |y| <= 1. With m = |E y|, s = E y^2 and t = E y^3, Var(y^2 - 2 y E y) is at most `spread`.
    """
    m, s, t = real("m"), real("s"), real("t")
    # q = E y^4 <= s, and E(1 - y^2)(1 -+ y) >= 0 gives -m t <= -m^2 + m (1 - s).
    second_moment = s - 4 * m**2 + 4 * m * (1 - s) + 4 * m**2 * s
    spread = second_moment - (s - 2 * m**2) ** 2
    top = (1 - 4 * m + 8 * m**2) / 2
    small = (2 * m - 1) ** 2 * (sympy.Rational(3, 4) + m - 3 * m**2)
    yield equal("1 - Var as a square and what remains", 1 - spread, (s - top) ** 2 + small)
    yield equal("at s = 1", (1 - spread).subs(s, 1), (1 - 2 * m**2) ** 2)
    edge = sympy.Rational(69, 100)
    remains = sympy.Rational(3, 4) + m - 3 * m**2
    yield Check("what remains is >= 0 for m <= 0.69", is_nonnegative(remains.subs(m, edge * t), [t]))
    beyond = (top - 1).subs(m, edge + (1 - edge) * t)
    yield Check("s <= 1 is left of the square's zero for m >= 0.69", is_nonnegative(beyond, [t]))
    squares, ranges, steepest, bends = (vector(name, 2) for name in ("D2", "Gamma", "M1", "M0"))
    covariance = [gamma**2 * square / 16 for gamma, square in zip(ranges, squares, strict=True)]
    cumulant = [gamma * square / 8 for gamma, square in zip(ranges, squares, strict=True)]
    derived = sum(bends[i] * covariance[i] + steepest[i] * cumulant[i] for i in range(2))
    kernel_bound = kernel.selection_constants.curvature_bound(
        zip(*map(numbers, (squares, ranges, steepest, bends)), strict=True)
    )
    yield equal("B_F", derived, kernel_bound)


def check_weight(kernel: Kernel) -> Iterator[Check]:
    """e^y >= 1 + y for the ratios of the terms to their shares, which have mean 0 in the exponent."""
    for size in (1, 2, 3):
        shares = [positive_symbol(f"m_{j}") for j in range(size - 1)]
        shares.append(1 - sum(shares))
        masses, products = [positive_symbol(f"w_{j}") for j in range(size)], vector("x", size)
        log_weight = expression(kernel.margin_points.log_weight(*map(numbered, (masses, shares))))
        height = sum(share * x for share, x in zip(shares, products, strict=True))
        ratios = [
            sympy.log(mass / share) - x - log_weight + height
            for mass, share, x in zip(masses, shares, products, strict=True)
        ]
        mean = sum(share * y for share, y in zip(shares, ratios, strict=True))
        yield equal(f"the exponents have mean 0, {size} pairs", sympy.expand(mean), 0)
        y = real("y")
        yield equal("e^y - 1 - y has its minimum at 0", sympy.diff(sympy.exp(y) - 1 - y, y), sympy.exp(y) - 1)


def check_margin(kernel: Kernel) -> Iterator[Check]:
    """sum lambda_j = |p|^2 for tight constraints, and the mean of <z_j, q> is that of <p, q>."""
    for size, dimension in ((1, 2), (1, 3), (2, 2)):
        Z = sympy.Matrix(size, dimension, lambda i, j: real(f"z_{i}{j}"))
        multipliers = (Z * Z.T).LUsolve(sympy.ones(size, 1))
        p, q = Z.T * multipliers, sympy.Matrix(vector("q", dimension))
        total = sum(multipliers)
        shown = f"{size} tight constraints in R^{dimension}"
        yield equal(f"sum lambda = |p|^2, {shown}", total, (p.T * p)[0])
        mean = sum(multipliers[j] * (Z.row(j) * q)[0] for j in range(size)) / total
        yield equal(f"the mean of <z, q>, {shown}", mean, (p.T * q)[0] / (p.T * p)[0])


def check_descent(kernel: Kernel) -> Iterator[Check]:
    """What a step gains, the potential, and how both enter the bound of the kernel."""
    instance = _Instance(kernel, (3,), 1)
    ((_, shares, gap),) = instance.kernel.shares(numbers(instance.point))
    (weights,) = evaluated(instance.kernel.weights, instance.point)
    slope = instance.loss.slope(instance.scores[0][0] - gap)
    yield equal("sum omega = f' G s_alpha", sum(weights), slope * gap * (1 - sum(shares)))
    F, a, y = positive_symbol("F"), positive_symbol("a"), real("y")
    potential = sympy.log(1 / F - 1 / a)
    yield equal("psi' = -1 / (F (1 - F/a))", sympy.diff(potential, F), -1 / (F * (1 - F / a)))
    yield equal("(F (1 - F/a))' = 1 - 2 F/a", sympy.diff(F * (1 - F / a), F), 1 - 2 * F / a)
    yield equal("1 / (1 - y) - 1 - y = y^2 / (1 - y)", 1 / (1 - y) - 1 - y, y**2 / (1 - y))
    yield from _check_basin(kernel)


class _Constants:
    """The numbers of `SelectionConstants` that bounds are made of, as symbols."""

    def __init__(self) -> None:
        names = ("margin", "concentration", "least_gain", "curvature_bound")
        self.margin, self.concentration, self.least_gain, self.curvature_bound = (
            SymbolicNumber(positive_symbol(name)) for name in names
        )
        self.log_weight = self.concentration.log()


def _check_basin(kernel: Kernel) -> Iterator[Check]:
    constants = _Constants()
    h, F, norm, k, s, rho = (SymbolicNumber(positive_symbol(name)) for name in ("h", "F", "N", "k", "s", "rho"))
    start, slope = kernel.global_selection.logarithm(constants, F, s, rho, h)
    inverse = 1 / F + k * h * (1 - rho) * (constants.margin * s) ** 2
    derived = constants.concentration * s * inverse
    yield equal("w s_0 / F_k", expression(derived), expression(start + slope * k))
    # |p_k| - N <= (psi(F_k) - psi(F)) / Xi + errors, and Xi <p_k, u> >= log w + psi(F_k): their difference.
    later, bend = (SymbolicNumber(positive_symbol(name)) for name in ("F_k", "rho_0"))
    a, weight = constants.least_gain, constants.concentration
    plain, refined = kernel.global_selection.excursions(constants, F, norm, s, (bend, rho))
    share = (1 - rho) * s * constants.margin
    for name, potential, constant, errors, found in (
        ("J", lambda x: (1 / x).log(), (weight * s).log(), bend + F / a, plain),
        ("J_2", lambda x: (1 / x - 1 / a).log(), weight.log(), bend, refined),
    ):
        length = norm + (potential(later) - potential(F)) / constants.margin + errors / share
        reached = (constant + potential(later)) / constants.margin
        yield equal_logarithms(name, expression(length - reached), expression(found))


def check_equal_scores(kernel: Kernel) -> Iterator[Check]:
    """Theorem A2: gradients of the margins m_i, and the bounds of the kernel."""
    for tokens, dimension in (((3,), 1), ((2, 3), 1)):
        instance = _Instance(kernel, tokens, dimension)
        equal_gaps = {scores[t]: scores[1] for scores in instance.scores for t in range(2, len(scores))}
        derived = [sympy.Integer(0)] * dimension
        rows = zip(instance.kernel.inputs, instance.kernel.shares(numbers(instance.point)), strict=True)
        powers = evaluated(instance.kernel.exponentials, instance.point)
        for (contrasts, (_, shares, gap)), odds in zip(rows, powers, strict=True):
            chosen = 1 - sum(shares)
            slope = instance.loss.slope(contrasts.score - gap)
            omega = slope * contrasts.rows[0][1] * chosen * (1 - chosen)
            margin = -sympy.log(sum(odds))
            derived = [x + omega * sympy.diff(margin, p) for x, p in zip(derived, instance.point, strict=True)]
        left = [sympy.sympify(x).subs(equal_gaps) for x in derived]
        right = [x.subs(equal_gaps) for x in evaluated(instance.kernel.downhill, instance.point)]
        yield equal(f"-grad F = sum omega_i grad m_i, {tokens} tokens", left, right)
    constants, size = _Constants(), SymbolicNumber(positive_symbol("D2"))
    constants.__dict__["diameters_squared"] = {0: size}
    h, F, norm, odds = (SymbolicNumber(positive_symbol(name)) for name in ("h", "F", "N", "S"))
    module = kernel.global_selection
    kept = 1 - h * constants.curvature_bound / 2
    least = sympy.log(1 / expression(odds)) - expression(size / 8 * (h * F / kept))
    yield equal_logarithms(
        "the least softmax weight",
        sympy.log(1 / (1 + sympy.exp(-least))),
        sympy.log(expression(module.lasting(constants, h, F, {0: odds}))),
    )
    k, share = SymbolicNumber(positive_symbol("k")), SymbolicNumber(positive_symbol("s"))
    inverse = 1 / F + k * kept * (constants.margin * share) ** 2
    yield equal("F after k", expression(1 / inverse), expression(module.excess_after(constants, h, F, share, k)))
    yield equal(
        "|p| after k", expression((module.norm_after(constants, h, F, norm, k) - norm) ** 2), expression(k * F / kept)
    )
