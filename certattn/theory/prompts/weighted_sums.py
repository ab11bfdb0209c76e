"""Checks: the event of a softmax output, the moments of its summands, and the bounds that are made of them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy

from certattn.theory import first_principles
from certattn.theory.exactness import Check, equal, equal_series, positive, vanishes
from certattn.theory.first_principles import TiltedLaw
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, evaluated, expression, forms, numbers
from certattn.theory.symbols import matrix, positive_symbol, positive_vector, real, vector

Expr = Any


def check_event(kernel: Kernel) -> Iterator[Check]:
    """<u, tau_L - tau> - eps is sum Y_i over the sum of the weights; E Y = -eps."""
    eps = real("epsilon")
    for length in (1, 2, 3):
        w, y = positive_vector("w", length), vector("y", length)
        mean = sum(a * b for a, b in zip(w, y, strict=True)) / sum(w)
        total = sum(a * (b - eps) for a, b in zip(w, y, strict=True))
        yield equal(f"the normaliser drops out for {length} tokens", (mean - eps) * sum(w), total)
        yield positive(f"it is positive for {length} tokens", sum(w))
    for dimension in (1, 2):
        law = first_principles.density(dimension, vector("a", dimension))
        v = vector("v", dimension)
        shift = sympy.Dummy("tau", real=True)
        weighed = first_principles.split_integrals(law.weigh(_excess_power(v, shift + eps, 1)))
        found = (weighed / law.normaliser()).subs(shift, _dot(v, law.mean()))
        yield equal(f"E Y = -eps for any density in dimension {dimension}", sympy.expand(found), -eps)


def _excess_power(v: Sequence[Expr], level: Expr, k: int) -> first_principles.Function:
    """(<v, x> - level)^k as a function of the token x."""
    return lambda x: (_dot(v, x) - level) ** k


def _given(law: Callable[..., TiltedLaw], *parameters: Any) -> Callable[[Sequence[Expr]], TiltedLaw]:
    """A law as a function of its tilt."""
    return lambda tilt: law(*parameters, tilt)


def _dot(left: Sequence[Expr], right: Sequence[Expr]) -> Expr:
    return sum((x * y for x, y in zip(left, right, strict=True)), sympy.Integer(0))


# -- moments of one token

# A law by name: the kernel's, from its parameters, and the derived one for a tilt.
_Pair = tuple[str, Any, Callable[[Sequence[Expr]], TiltedLaw], int]


def check_token_moments(kernel: Kernel) -> Iterator[Check]:
    """E Y^k / k!, as the kernel takes it from a power series, against E[w^k (<v, x - tau> - eps)^k] / k!."""
    yield from _check_averages(kernel)
    eps = real("epsilon")
    for what, law, derived, most in _laws(kernel):
        dimension = law.dimension
        a = positive_vector("a", dimension)
        v = positive_vector("v", dimension)
        summand, plain = kernel.weighted_sums.Summand(law, *map(numbers, (a, v, eps))), derived(a)
        for k in range(most + 1):
            with forms(large=False):
                power_mean = expression(summand.power_mean(k))
            shift = sympy.Dummy("tau", real=True)
            raised = derived([k * entry for entry in a])
            moment = raised.weigh(_excess_power(v, shift + eps, k))
            wanted = (moment / plain.normaliser() ** k).subs(shift, _dot(v, plain.mean())) / sympy.factorial(k)
            found = _elementary(power_mean.subs(sympy.exp(0), 1))
            yield equal(f"E Y^{k} / {k}! of {what}", found, wanted)


def _laws(kernel: Kernel) -> Iterator[_Pair]:
    laws = kernel.laws
    for dimension, rank in ((1, 1), (2, 1)):
        m, B = vector("m", dimension), matrix("B", dimension, rank)
        yield (
            f"a Gaussian in dimension {dimension} of rank {rank}",
            laws.Gaussian(numbers(m), numbers(B * B.T)),
            _given(first_principles.gaussian, m, B),
            3 if dimension == 1 else 2,
        )
    for dimension in (1, 2):
        c = positive_vector("c", dimension)
        signs = laws.Rademacher(numbers(c))
        yield f"signs in dimension {dimension}", signs, _given(first_principles.signs, c), 3 if dimension == 1 else 1
    (c,) = positive_vector("c", 1)
    yield "an interval", laws.Box(numbers([c])), _given(first_principles.box, [c]), 2
    points, weights = [vector("x", 1), vector("y", 1)], positive_vector("w", 2)
    yield "two atoms", laws.Atoms(numbers(points), numbers(weights)), _given(first_principles.atoms, points, weights), 3
    m, b = real("m"), real("b")
    parts = [laws.Gaussian(*map(numbers, ([m], [[b * b]]))), laws.Atoms(*map(numbers, ([points[0]], [1])))]

    def mixed(a: Sequence[Expr]) -> TiltedLaw:
        gaussian = first_principles.gaussian([m], sympy.Matrix([[b]]), a)
        return first_principles.mixture([gaussian, first_principles.atoms([points[0]], [1], a)], weights)

    yield "a Gaussian mixed with a point", laws.Mixture(parts, numbers(weights)), mixed, 2


def _average(n: int, x: Expr) -> Expr:
    """The average of s^n e^{s x} over s in [-1, 1], x > 0, by integration."""
    return first_principles.uniform_moment(n, sympy.Integer(1), x)


def _elementary(found: Expr) -> Expr:
    """Every 1F2 of the kernel's through exponentials; `_check_averages` proves which."""

    def close(numerators: Any, denominators: Any, z: Expr) -> Expr:
        # The kernel asks for (n+1)/2; 1/2, (n+3)/2 where n is even, for (n+2)/2; 3/2, (n+4)/2 where it is odd.
        # For n = 0 and n = 1 two parameters agree, and sympy cancels them.
        x = 2 * sympy.sqrt(z)
        if len(numerators) == 0:
            n = int(2 * denominators[0]) - 3 if denominators[0] == sympy.Rational(3, 2) else 1
        else:
            odd = sympy.Rational(3, 2) in denominators
            n = int(2 * numerators[0]) - (2 if odd else 1)
        return _average(n, x) * (n + 1 if n % 2 == 0 else (n + 2) / x)

    return sympy.sympify(found).replace(sympy.hyper, close)


def _rising(parameters: Sequence[Expr], index: Expr) -> Expr:
    return sympy.prod([sympy.rf(parameter, index) for parameter in parameters])


def _check_averages(kernel: Kernel) -> Iterator[Check]:
    """The coefficients of sinh(x + t h)/(x + t h): h^n/n! times the average of s^n e^{s x}, term by term."""
    x, h, i = positive_symbol("x"), real("h"), sympy.Symbol("i", integer=True, nonnegative=True)
    s = real("s")
    for parity, share in ((2 * i, 1 / (2 * i + 1)), (2 * i + 1, sympy.Integer(0))):
        average = sympy.integrate(s**parity, (s, -1, 1)) / 2
        yield equal(f"the average of s^({parity})", sympy.simplify(average), share)
    for n in range(6):
        coefficient = expression(kernel.series.uniform_coefficient(*numbers([x, h]), n))
        (series,) = coefficient.atoms(sympy.hyper)
        above, below, z = series.args
        term = z**i / sympy.factorial(i) * _rising(above, i) / _rising(below, i)
        outside = coefficient / series * sympy.factorial(n) / h**n
        # The average of s^{n+k} over [-1, 1] is 1/(n+k+1) for even n+k and 0 for odd.
        k = 2 * i + n % 2
        wanted = x**k / (sympy.factorial(k) * (n + k + 1))
        yield equal_series(f"the average of s^{n} e^(sx), term by term", outside * term, wanted, i)
    for n in range(4):
        t = real("t")
        found = kernel.series.sign_coefficient(*numbers([x, h]), n)
        wanted = sympy.diff(sympy.cosh(x + t * h), t, n).subs(t, 0) / sympy.factorial(n)
        yield equal(f"coefficient {n} of cosh(x + t h)", found, wanted)


# -- Cantelli, and the moments of the sum


def check_cantelli(kernel: Kernel) -> Iterator[Check]:
    """v for Gaussian tokens in closed form; Cantelli's inequality from Markov's for (S + t)^2."""
    eps = real("epsilon")
    for dimension, rank in ((1, 1), (2, 1), (2, 2)):
        m, B, a, v = (
            vector("m", dimension), matrix("B", dimension, rank), vector("a", dimension), vector("v", dimension),
        )  # fmt: skip
        gamma = B * B.T
        s2, across, spread = (_dot(x, gamma * sympy.Matrix(y)) for x, y in ((a, a), (a, v), (v, v)))
        summand = kernel.weighted_sums.Summand(
            kernel.laws.Gaussian(numbers(m), numbers(gamma)), *map(numbers, (a, v, eps))
        )
        wanted = sympy.exp(s2) * (spread + (across - eps) ** 2) - eps**2
        yield equal(f"E D^2 of Gaussian tokens, dimension {dimension}, rank {rank}", summand.variance(), wanted)
    V, T = positive_symbol("V"), positive_symbol("T")
    yield equal("(V + t^2)/(T + t)^2 at t = V/T", (V + (V / T) ** 2) / (T + V / T) ** 2, V / (V + T**2))
    L, e, one = positive_symbol("L"), positive_symbol("epsilon"), positive_symbol("v")
    found = kernel.weighted_sums.cantelli(one, e, L)
    yield equal("Cantelli for L independent summands", found, (L * one) / (L * one + (L * e) ** 2))


def check_moments_of_a_sum(kernel: Kernel) -> Iterator[Check]:
    """E (D_1 + ... + D_L)^p, multiplied out over independent summands, against the power of the power series."""
    eps = positive_symbol("epsilon")
    for order, length in itertools.product((2, 4), (1, 2, 3, 5)):
        moments = [sympy.Integer(1), sympy.Integer(0), *vector("m", order)[1:]]
        wanted = sympy.Integer(0)
        for drawn in itertools.product(range(length), repeat=order):
            wanted += sympy.prod([moments[times] for times in Counter(drawn).values()])
        series = [moment / sympy.factorial(j) for j, moment in enumerate(moments)]
        found = kernel.weighted_sums.moment_bound(series, eps, length)
        yield equal(f"E S^{order} of {length} summands", found * (length * eps) ** order, wanted)
    for order, length in itertools.product((2, 4, 6), (1, 2, 5)):
        series = [sympy.Integer(1), sympy.Integer(0), *vector("m", order)[1:]]
        whole = kernel.weighted_sums.moment_bound(series, eps, length)
        terms = kernel.weighted_sums.moment_terms(series, eps)
        found = sum(term * sympy.Integer(length) ** (k - order) for k, term in enumerate(terms, 1))
        yield equal(f"the same in powers of L, order {order}, {length} summands", found, whole)


# -- bounded summands


def check_bounded(kernel: Kernel) -> Iterator[Check]:
    """The exponential by finitely many moments, its remainder, and the largest summand."""
    y, i, s = positive_symbol("y"), sympy.Symbol("i", integer=True, nonnegative=True), positive_symbol("s")
    for order in (2, 4, 6):
        remainder = expression(kernel.functions.exp_remainder(order, SymbolicNumber(y)))
        (series,) = remainder.atoms(sympy.hyper)
        (first,), (last,), z = series.args
        term = remainder / series * sympy.rf(first, i) * z**i / (sympy.rf(last, i) * sympy.factorial(i))
        name = f"y^{order} phi_{order}(y) is the exponential series from term {order} on"
        yield equal_series(name, y**order * term, y ** (order + i) / sympy.factorial(order + i), i)
        for k in range(4):
            weight = (1 - s) ** (order - 1) / sympy.factorial(order - 1)
            average = sympy.integrate(weight * s**k / sympy.factorial(k), (s, 0, 1))
            yield equal(f"phi_{order} as an average of e^(sy), term {k}", average, term.subs(i, k).subs(y, 1))
        slope, b, moments = real("lambda"), real("b"), vector("m", order + 1)
        series = [m / sympy.factorial(j) for j, m in enumerate(moments)]
        found = evaluated(kernel.weighted_sums.bounded_exponential, series, slope, b)
        phi = expression(kernel.functions.exp_remainder(order, SymbolicNumber(slope * b)))
        wanted = sum(slope**j * moments[j] / sympy.factorial(j) for j in range(order))
        yield Check(f"moments up to {order}", vanishes(found - wanted - slope**order * moments[order] * phi))
    yield from _check_largest(kernel)


def _check_largest(kernel: Kernel) -> Iterator[Check]:
    z, theta = real("z"), positive_symbol("theta")
    gap = sympy.exp(z - 1) - z
    yield equal("e^(z-1) = z at 1", gap.subs(z, 1), 0)
    yield equal("where its slope is 1 too", sympy.diff(gap, z).subs(z, 1), 0)
    yield positive("and it is convex: z <= e^(z-1)", sympy.diff(gap, z, 2))
    eps = positive_symbol("epsilon")
    for dimension in (1, 2):
        c, a, v = (positive_vector(name, dimension) for name in ("c", "a", "v"))
        law = kernel.laws.Rademacher(numbers(c))
        summand = kernel.weighted_sums.Summand(law, *map(numbers, (a, v, eps)))
        # At the corner c, where <a + theta v, x> is largest, w (<v, x - tau> - eps) is at most this.
        excess = _dot(v, c) - _dot(v, evaluated(law.tilted_mean, a)) - eps
        weight = sympy.exp(_dot(a, c) - evaluated(law.log_mgf, a))
        wanted = weight * sympy.exp(theta * excess - 1) / theta + eps
        yield equal(
            f"the largest D of signs in dimension {dimension}", summand.largest(law, SymbolicNumber(theta)), wanted
        )
        point = vector("x", dimension)
        weight = sympy.exp(_dot(a, point) - evaluated(law.log_mgf, a))
        excess = _dot(v, point) - _dot(v, evaluated(law.tilted_mean, a)) - eps
        yield equal(f"D at a token in dimension {dimension}", summand.at(numbers(point)), weight * excess + eps)


def check_norm(kernel: Kernel) -> Iterator[Check]:
    """sum <u_c, y>^2 - |y|^2 is the quadratic form of sum u_c u_c' - I."""
    for rows, columns in ((1, 1), (2, 2), (3, 2)):
        frame, y = matrix("u", rows, columns), sympy.Matrix(vector("y", columns))
        form = (y.T * (frame.T * frame - sympy.eye(columns)) * y)[0, 0]
        outputs = frame * y
        yield equal(f"{rows} vectors in dimension {columns}", _dot(outputs, outputs) - _dot(y, y), form)
