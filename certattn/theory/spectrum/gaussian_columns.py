"""Checks: what the normaliser of attention changes, and how far exponential scores are from Gaussian columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.spectrum.score_walks import Powers, scores
from certattn.theory.symbolic_flint import SymbolicNumber, expression
from certattn.theory.symbols import column, positive_symbol, real, vector

Expr = Any


def _symbols(kernel: Kernel) -> tuple[Expr, Expr, Expr, Powers, Any]:
    d, p, x = positive_symbol("d"), positive_symbol("p"), positive_symbol("x")
    return d, p, x, Powers(p), scores(kernel, d, p, x)


# -- the normaliser


def check_rows(kernel: Kernel) -> Iterator[Check]:
    """Softmax, its normaliser divided out, and the square of a row of what that changes."""
    for d in (2, 3):
        e = sympy.Matrix(d, d, lambda i, j: positive_symbol(f"e_{i}{j}"))
        t, ones = e - sympy.ones(d, d), sympy.ones(d, d)
        Pi = sympy.eye(d) - ones / d
        A = sympy.Matrix(d, d, lambda i, j, e=e: e[i, j] / sum(e.row(i)))
        D = sympy.diag(*(1 + sum(t.row(i)) / d for i in range(d)))
        left, right = d * (A - ones / d), D.inv() * t * Pi
        yield equal(f"sqrt(d) (A - 11'/d) = D^-1 T Pi, d = {d}", left, right)
        for i in range(d):
            mean = sum(e.row(i)) / d
            squares = sum(entry**2 for entry in e.row(i)) / d
            change = (left - t * Pi).row(i)
            wanted = ((1 - mean) / mean) ** 2 * (squares - mean**2)
            yield equal(f"row {i} of the change, d = {d}", sum(entry**2 for entry in change) / d, wanted)
            spread = sum(entry**2 for entry in t.row(i)) / d - (mean - 1) ** 2
            yield equal(f"mean(e^2) - mean(e)^2 = mean(t^2) - mean(t)^2, row {i}, d = {d}", squares - mean**2, spread)


def check_typical(kernel: Kernel) -> Iterator[Check]:
    """E[mean(t)^2 mean(t^2)] for independent centred t with the moments of exponential scores."""
    v, third, fourth = real("v"), real("m3"), real("m4")
    for d in (1, 2, 3):
        t = vector("t", d)
        polynomial = sympy.Poly(sum(t) ** 2 * sum(entry**2 for entry in t) / sympy.Integer(d) ** 3, *t)
        moments = (1, 0, v, third, fourth)
        total = sum(c * sympy.prod(moments[n] for n in powers) for powers, c in polynomial.terms())
        yield equal(f"given the query, d = {d}", total, ((d - 1) * v**2 + fourth) / sympy.Integer(d) ** 2)
    d, p, x, f, T = _symbols(kernel)
    b = x / p
    variance = f(1 - 4 * b) - 2 * f(1 - 2 * b) + 1
    single = f(1 - 12 * b) - 4 * f(1 - 6 * b) + 6 * f(1 - 2 * b) - 3
    found = f.of(kernel.gaussian_equivalence.normalizer_square(T))
    yield equal("the mean over queries", found, ((d - 1) * variance + single) / d**2)


def check_rare(kernel: Kernel) -> Iterator[Check]:
    """Chernoff's bounds of long queries and of low normalisers, and all parts together."""
    p, cut, theta, d, x = (positive_symbol(name) for name in ("p", "c", "theta", "d", "x"))
    rate = (1 - 1 / cut) / 2
    logarithm = -rate * cut * p - p / 2 * sympy.log(1 - 2 * rate)
    found = expression(kernel.gaussian_equivalence.long_query(SymbolicNumber(p), SymbolicNumber(cut)))
    yield equal(
        "(c e^(1-c))^(p/2)", sympy.expand_log(sympy.log(found), force=True), sympy.expand_log(logarithm, force=True)
    )
    y, h, m = positive_symbol("y"), real("h"), positive_symbol("m")
    low = 1 - y + y**2 / 2 - sympy.exp(-y)
    yield equal("e^-y <= 1 - y + y^2/2, from its second derivative", sympy.diff(low, y, 2), 1 - sympy.exp(-y))
    yield equal("at 0", [low.subs(y, 0), sympy.diff(low, y).subs(y, 0)], [0, 0])
    exponent = -h * d * theta + d * h**2 * m / 2
    best = sympy.solve(sympy.diff(exponent, h), h)[0]
    yield equal("the best rate", exponent.subs(h, best), -d * theta**2 / (2 * m))
    T = scores(kernel, d, p, x)
    equivalence = kernel.gaussian_equivalence
    whole = expression(equivalence.normalizer_bound(T, SymbolicNumber(theta), SymbolicNumber(cut)))
    low_mean = sympy.exp(-d * theta**2 / (2 * sympy.exp(cut * x)))
    wanted = expression(equivalence.normalizer_square(T)) / (1 - theta) ** 2 + (d - 1) * (low_mean + found)
    yield Check("all parts", sympy.expand(whole - wanted) == 0 or sympy.simplify(whole - wanted) == 0)


# -- the covariance


def check_covariance(kernel: Kernel) -> Iterator[Check]:
    """E[e_i e_l | queries] = exp(beta^2 x_i.x_l / p), and what a tilt by e_i^2 does to the others."""
    p, beta = positive_symbol("p"), positive_symbol("b")
    for size in (1, 2, 3):
        x, y, k = column(vector("x", size)), column(vector("y", size)), column(vector("k", size))
        both = beta**2 * (x + y).dot(x + y) / (2 * p) - beta**2 * (x.dot(x) + y.dot(y)) / (2 * p)
        yield equal(f"exponent of e_i e_l, p = {size}", sympy.expand(both), sympy.expand(beta**2 * x.dot(y) / p))
        root = sympy.sqrt(p)
        tilt = 2 * beta * k.dot(x) / root - beta**2 * x.dot(x) / p - k.dot(k) / 2
        moved = k - 2 * beta * x / root
        wanted = beta**2 * x.dot(x) / p - moved.dot(moved) / 2
        yield equal(f"e_i^2 times the Gaussian density, p = {size}", sympy.expand(tilt), sympy.expand(wanted))
        other = beta * (k + 2 * beta * x / root).dot(y) / root - beta**2 * y.dot(y) / (2 * p)
        factor = beta * k.dot(y) / root - beta**2 * y.dot(y) / (2 * p) + 2 * beta**2 * x.dot(y) / p
        yield equal(f"e_j after the shift, p = {size}", sympy.expand(other), sympy.expand(factor))


def check_linearisation(kernel: Kernel) -> Iterator[Check]:
    """E |Sigma - Sigma_lin|_F^2 from the generating functions of x.x' and of |x|^2."""
    d, p, x, f, T = _symbols(kernel)
    b, a = x / p, real("a")

    def pair(n: int, m: int) -> Expr:
        """E y^m e^(n y), y = beta^2 x.x' / p: derivatives of (1 - a^2 b^2)^(-p/2)."""
        return sympy.diff((1 - a**2 * b**2) ** (-p / 2), a, m).subs(a, n)

    def single(n: int, m: int) -> Expr:
        """E u^m e^(n u), u = beta^2 |x|^2 / p: derivatives of (1 - 2ab)^(-p/2)."""
        return sympy.diff((1 - 2 * a * b) ** (-p / 2), a, m).subs(a, n)

    def mean(rule: Any, c: Expr) -> Expr:
        """E (e^y - y - c)^2."""
        square = rule(2, 0) - 2 * rule(1, 1) - 2 * c * rule(1, 0)
        return square + rule(0, 2) + 2 * c * rule(0, 1) + c**2

    wanted = d * (d - 1) * mean(pair, sympy.Integer(1)) + d * mean(single, sympy.exp(x) - x)
    found = expression(kernel.gaussian_equivalence.linearisation(T)).rewrite(sympy.Pow)
    yield equal("E |Sigma - Sigma_lin|_F^2", _as_powers(found, f), _as_powers(wanted, f))
    distance = expression(kernel.gaussian_equivalence.covariance_distance(T))
    linear = expression(kernel.gaussian_equivalence.linearisation(T))
    yield equal("over alpha^2 d", _as_powers(distance, f), _as_powers(linear, f) / (d * (sympy.exp(x) - 1 - x)))


def _as_powers(value: Expr, f: Powers) -> Expr:
    """u^(-p/2) as symbols also where a whole power of u stands beside them."""
    half = -f.p / 2

    def symbol(part: Expr) -> Expr:
        whole = sympy.expand(part.exp - half)
        return f(part.base) * part.base**whole if whole.is_Integer else part

    return f.of(value).replace(lambda part: part.is_Pow and part.exp.has(f.p), symbol)


# -- universality


def check_columns(kernel: Kernel) -> Iterator[Check]:
    """What one column adds to the resolvent, and its difference from the value at the means."""
    r, q, s, u = real("r"), real("q"), real("s"), real("u")
    kappa = s / (1 + u)
    yield equal("the difference", r / (1 + q) - s / (1 + u), ((r - s) - kappa * (q - u)) / (1 + q))
    at_mean = ((r - s) - kappa * (q - u)) / (1 + u)
    second = -((r - s) - kappa * (q - u)) * (q - u) / ((1 + q) * (1 + u))
    yield equal("its part of second order", r / (1 + q) - s / (1 + u) - at_mean, second)
    eta, k, y = positive_symbol("eta"), real("k"), real("y")
    yield equal("the lowest of y^2 - k y", y**2 - k * y - (-(k**2) / 4), (y - k / 2) ** 2)
    yield equal("at the end", (y**2 - k * y).subs(y, 1 / eta), 1 / eta**2 - k / eta)
    for size in (1, 2):
        t = column(vector("t", size))
        # Any symmetric matrix in the place of MM' + eta.
        square = sympy.Matrix(size, size, lambda i, j: real(f"m_{min(i, j)}{max(i, j)}"))
        whole = (square + t * t.T).inv().trace()
        inverse = square.inv()
        changed = (t.T * inverse**2 * t)[0] / (1 + (t.T * inverse * t)[0])
        yield equal(f"one more column, size {size}", whole, inverse.trace() - changed)


def check_given_queries(kernel: Kernel) -> Iterator[Check]:
    """The sizes of two and three queries in dimension 1, and the bound."""
    x, eta = positive_symbol("x"), positive_symbol("eta")
    equivalence = kernel.gaussian_equivalence
    for d in (2, 3):
        points = vector("q", d)
        sizes = equivalence.sizes_of(kernel.exact(column(points)), SymbolicNumber(x), 64)
        G = sympy.Matrix(d, d, lambda i, j, points=points: points[i] * points[j])
        Sigma = G.applyfunc(lambda g: sympy.exp(x * g) - 1)
        U = G.applyfunc(lambda g: sympy.exp(2 * x * g) - 1)
        slopes = sum(sympy.exp(x * G[i, i]) * sum(entry**2 for entry in U.row(i)) for i in range(d))
        yield equal(f"|G|, d = {d}", expression(sizes.norm), sum(point**2 for point in points))
        yield equal(f"slopes, d = {d}", expression(sizes.slopes), slopes)
        yield equal(f"tr Sigma, d = {d}", expression(sizes.trace), Sigma.trace())
        yield equal(f"|Sigma|_F^2, d = {d}", expression(sizes.square), sum(entry**2 for entry in Sigma))
        ends = {sympy.exp(x * G[i, i]) for i in range(d)}
        yield Check(f"longest, d = {d}", set(expression(sizes.longest).args) == {sympy.Integer(1), *ends})
    names = ("norm", "longest", "slopes", "trace", "square")
    g, e, u, t, s = (positive_symbol(name) for name in names)
    d = positive_symbol("d")
    sizes = equivalence.CovarianceSizes(*(SymbolicNumber(value) for value in (g, e, u, t, s)))
    bound = equivalence.universality_bound(sizes, SymbolicNumber(d), SymbolicNumber(x), SymbolicNumber(eta))
    wanted = (4 * x * g * (u + e**5 * t) + 2 * s) / (d**2 * eta**3)
    yield equal("the bound", expression(bound), wanted)


def check_random_queries(kernel: Kernel) -> Iterator[Check]:
    """Means of |Sigma|_F^2, |U|_F^2 and tr Sigma over queries; deviations; and all steps together."""
    d, p, x, f, T = _symbols(kernel)
    b, equivalence = x / p, kernel.gaussian_equivalence
    cut, excess, eta, y, theta = (positive_symbol(name) for name in ("c", "z", "eta", "y", "theta"))
    sizes = equivalence.mean_sizes(T, SymbolicNumber(cut), SymbolicNumber(excess))

    def squares(n: int) -> Expr:
        """E of the squared Frobenius norm of (e^(n y_ij) - 1), y = beta^2 G."""
        single = f(1 - 4 * n * b) - 2 * f(1 - 2 * n * b) + 1
        pair = f(1 - 4 * n**2 * b**2) - 2 * f(1 - n**2 * b**2) + 1
        return d * single + d * (d - 1) * pair

    yield equal("E |Sigma|_F^2", f.of(sizes.square), squares(1))
    yield equal("E |U|_F^2", f.of(sizes.slopes), sympy.exp(cut * x) * squares(2))
    yield equal("E tr Sigma", f.of(sizes.trace), d * (f(1 - 2 * b) - 1))
    yield equal("e^(beta^2 s^2)", expression(sizes.longest), sympy.exp(cut * x))
    yield equal("|G|", expression(sizes.norm), (sympy.sqrt(d) + sympy.sqrt(p) + excess) ** 2 / p)
    E, C, Z = (SymbolicNumber(value) for value in (eta, cut, excess))
    outside = d * expression(equivalence.long_query(SymbolicNumber(p), C)) + sympy.exp(-(excess**2) / 2)
    inside = expression(equivalence.universality_bound(sizes, SymbolicNumber(d), SymbolicNumber(x), E))
    found = expression(equivalence.mean_universality(T, E, C, Z))
    yield Check("typical queries and others", sympy.expand(found - inside - outside / eta) == 0)
    for given, factor in ((True, 2), (False, 1)):
        # d columns, or d columns and d rows, change s by at most 1/(d eta) each.
        count = 2 * d / factor
        wanted = 2 * sympy.exp(-2 * y**2 / (count / (d * eta) ** 2))
        deviation = expression(equivalence.deviation_bound(SymbolicNumber(d), E, SymbolicNumber(y), given))
        yield equal(f"McDiarmid, {'given' if given else 'random'} queries", deviation, wanted)
    slope = -sympy.diff(1 / (y**2 + eta), y)
    yield equal("where the slope is largest", sympy.diff(slope, y).subs(y, sympy.sqrt(eta / 3)), 0)
    yield equal("the largest slope", expression(equivalence.lipschitz(E)), slope.subs(y, sympy.sqrt(eta / 3)))
    theta_ = SymbolicNumber(theta)
    whole = expression(equivalence.equivalence_bound(T, E, theta_, C, Z))
    first = sympy.sqrt(expression(equivalence.normalizer_bound(T, theta_, C)))
    second = sympy.sqrt(expression(equivalence.covariance_distance(T)))
    lipschitz = expression(equivalence.lipschitz(E))
    rest = whole - lipschitz * (first + second) - 1 / (d * eta) - found
    yield Check("all steps", sympy.expand(rest) == 0)
