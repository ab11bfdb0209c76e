"""Checks: what the normaliser of attention changes, and how far exponential scores are from Gaussian columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.spectrum.score_walks import Powers, scores
from certattn.theory.spectrum.spectral_laws import elementary
from certattn.theory.symbolic_flint import SymbolicNumber, expression
from certattn.theory.symbols import column, positive_symbol, real, vector

Expr = Any


def _symbols(kernel: Kernel) -> tuple[Expr, Expr, Expr, Powers, Any]:
    d, p, x = positive_symbol("d"), positive_symbol("p"), positive_symbol("x")
    return d, p, x, Powers(p), scores(kernel, d, p, x)


def quadratic_forms(kernel: Kernel) -> Any:
    """The module of this chapter: another one has one of the same name."""
    return kernel.module("kernel.theorems.spectrum.quadratic_forms")


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


def check_chaos(kernel: Kernel) -> Iterator[Check]:
    """Mean derivatives of products of exponentials, the parts of a quadratic form, and the variance of one entry."""
    for size in (1, 2):
        y, w, k = column(vector("y", size)), column(vector("w", size)), column(vector("k", size))
        both = y.dot(k) - y.dot(y) / 2 + w.dot(k) - w.dot(w) / 2
        moved = k - y - w
        wanted = -moved.dot(moved) / 2 + y.dot(w)
        yield equal(f"e_i e_j times the density, p = {size}", sympy.expand(both - k.dot(k) / 2), sympy.expand(wanted))
        for place in itertools.product(range(size), repeat=2):
            derived = sympy.diff(sympy.exp(both), *(k[i] for i in place)) / sympy.exp(both)
            yield equal(f"two derivatives, {place}", derived, sympy.prod(y[i] + w[i] for i in place))
    y, w, cov, u = real("y"), real("w"), real("s"), positive_symbol("u")
    for n in range(1, 6):
        # In one direction of the key: what is symmetric is a polynomial there.
        whole = (1 + cov) * (y + w) ** n - y**n - w**n
        mixed = sum(sympy.binomial(n, k) * y**k * w ** (n - k) for k in range(1, n))
        parts = mixed + cov * (y**n + w**n) + cov * mixed
        yield equal(f"the parts, n = {n}", whole, parts)
        diagonal = (cov * (y**n + w**n) + cov * mixed).subs(w, y)
        yield equal(f"Sigma on the diagonal, n = {n}", diagonal, 2**n * cov * y**n)
    entry = _series(lambda n: (2**n * sympy.exp(u) - 2) ** 2 * u**n, 1)
    moment = {k: sympy.exp(sympy.binomial(k, 2) * u) for k in range(5)}
    powers = {m: sum((-1) ** (m - k) * sympy.binomial(m, k) * moment[k] for k in range(m + 1)) for m in (2, 4)}
    yield equal("Var t^2 of one entry", sympy.expand(entry), sympy.expand(powers[4] - powers[2] ** 2))


def _series(term: Callable[[Expr], Expr], first: int) -> Expr:
    """The sum over n >= first of term(n)/n!, a sum of powers of numbers."""
    n = sympy.Symbol("n", integer=True, nonnegative=True)
    parts = []
    for part in sympy.Add.make_args(sympy.expand(term(n))):
        factor, power = part.as_independent(n)
        base = sympy.Integer(1)
        for each in sympy.Mul.make_args(power):
            if each != 1:
                root, exponent = each.as_base_exp()
                base *= root ** sympy.expand(exponent / n)
        parts.append(factor * (sympy.exp(base) - sum(base**k / sympy.factorial(k) for k in range(first))))
    return sum(parts, sympy.Integer(0))


def check_parts(kernel: Kernel) -> Iterator[Check]:
    """Squared lengths of the parts, sums over n, and the kernel's bound."""
    B = sympy.Matrix(2, 2, lambda i, j: real(f"B_{min(i, j)}{max(i, j)}"))
    y = vector("y", 2)
    gram = {k: sympy.Matrix(2, 2, lambda i, j, k=k: y[i] ** k * y[j] ** k) for k in (1, 2, 3)}
    for k, m in ((1, 1), (1, 2), (2, 3)):
        length = sum(B[i, j] * y[i] ** k * y[j] ** m for i in range(2) for j in range(2)) ** 2
        yield equal(f"tr B A_{k} B A_{m}", length, (B * gram[k] * B * gram[m]).trace())
    b = vector("b", 2)
    for n in (1, 2):
        length = (2**n * sum(b[i] * y[i] ** n for i in range(2))) ** 2
        found = 4**n * (column(b).T * gram[n] * column(b))[0]
        yield equal(f"the diagonal part, n = {n}", length, found)
    # With finitely many numbers a_k all sums are finite.
    a = dict(enumerate(vector("a", 4), start=1))
    A = lambda s: sum(s**k * a[k] / sympy.factorial(k) for k in a)  # noqa: E731
    total = sympy.Integer(0)
    for n in range(2, 9):
        inner = sum(sympy.binomial(n, k) * a[k] * a[n - k] for k in a if n - k in a)
        total += sympy.Integer(2**n - 2) / sympy.factorial(n) * inner
        weights = sum(sympy.binomial(n, k) for k in range(1, n))
        yield equal(f"weights of Cauchy and Schwarz, n = {n}", weights, 2**n - 2)
    yield equal("the sum over n", sympy.expand(total), sympy.expand(A(2) ** 2 - 2 * A(1) ** 2))
    yield from _check_variance(kernel)


def _check_variance(kernel: Kernel) -> Iterator[Check]:
    x = positive_symbol("x")
    names = ("g", "c", "r", "m", "gamma", "diagonal", "fourth", "off")
    g, c, r, m, gamma, diagonal, fourth, off = (positive_symbol(name) for name in names)

    def tail(s: Expr, first: int) -> tuple[Expr, Expr]:
        """The sum over k >= 2 of s^k x^k c^k/k! and of what products of two queries add, m^(k - first)."""
        return _series(lambda k: (s * x * c) ** k, 2), _series(lambda k: (s * x * m) ** k, 2) / m**first

    def plain(s: Expr) -> Expr:
        own, others = tail(sympy.Integer(s), 1)
        return s * x * sympy.sqrt(gamma) + own + sympy.sqrt(r) * others

    def norms(s: Expr) -> Expr:
        own, others = tail(sympy.Integer(s), 2)
        return s * x * g + own + r * others

    wanted = {
        "P": fourth + diagonal * (4 * x * g + r * tail(sympy.Integer(4), 2)[1]),
        "R": plain(2) ** 2 - 2 * plain(1) ** 2,
        "H": 4 * off * norms(1),
        "C": (sympy.exp(x * m) - 1) ** 2 * (norms(2) ** 2 - 2 * norms(1) ** 2),
    }
    sizes = quadratic_forms(kernel).QuerySizes(*map(SymbolicNumber, (g, c, r, m, gamma, diagonal, fourth, off)))
    base, exponent = expression(quadratic_forms(kernel).variance(sizes, SymbolicNumber(x))).as_base_exp()
    yield equal("the square of a sum", exponent, 2)
    roots = [elementary(part**2) for part in base.args] if base.is_Add else []
    yield equal("of four", len(roots), 4)
    for name, part in wanted.items():
        yield Check(name, sum(equal(name, found, part).holds for found in roots) == 1)
    yield equal("|Sigma|_F^2 / d", expression(sizes.square), diagonal + off)


def check_given_queries(kernel: Kernel) -> Iterator[Check]:
    """The sizes of two and three queries in dimension 1, and the bound."""
    x, eta = positive_symbol("x"), positive_symbol("eta")
    forms = quadratic_forms(kernel)
    for d in (2, 3):
        points = vector("q", d)
        sizes = forms.sizes_of(kernel.exact(column(points)), SymbolicNumber(x), 64)
        G = sympy.Matrix(d, d, lambda i, j, points=points: points[i] * points[j])
        Sigma = G.applyfunc(lambda g: sympy.exp(x * g) - 1)
        others = [[j for j in range(d) if j != i] for i in range(d)]
        rows = [sum(G[i, j] ** 2 for j in others[i]) for i in range(d)]
        pairs = [G[i, j] for i in range(d) for j in others[i]]
        own = [Sigma[i, i] ** 2 for i in range(d)]
        fourth = sum(own[i] * (sympy.exp(4 * x * G[i, i]) - 1) for i in range(d))
        off = sum(Sigma[i, j] ** 2 for i in range(d) for j in others[i])
        yield equal(f"|G|, d = {d}", expression(sizes.norm), sum(point**2 for point in points))
        yield equal(f"|G|_F^2 / d, d = {d}", expression(sizes.gram), sum(entry**2 for entry in G) / d)
        yield equal(f"squares of the diagonal, d = {d}", expression(sizes.diagonal), sum(own) / d)
        yield equal(f"with e^(4 x G_ii) - 1, d = {d}", expression(sizes.fourth), fourth / d)
        yield equal(f"squares off the diagonal, d = {d}", expression(sizes.off_diagonal), off / d)
        largest = {
            "longest": sympy.Max(0, *(G[i, i] for i in range(d))),
            "row": sympy.Max(0, *rows),
            "coherence": sympy.Max(0, *map(sympy.Abs, pairs)),
        }
        for name, value in largest.items():
            yield Check(f"{name}, d = {d}", expression(getattr(sizes, name)) == value)
    d, square, names = positive_symbol("d"), positive_symbol("q"), ("g", "c", "r", "m", "a", "e", "f", "o")
    sizes = forms.QuerySizes(*(SymbolicNumber(positive_symbol(name)) for name in names))
    bound = kernel.gaussian_equivalence.universality_bound(
        sizes, SymbolicNumber(d), SymbolicNumber(x), SymbolicNumber(eta)
    )
    V = expression(forms.variance(sizes, SymbolicNumber(x)))
    # Each kind of columns has Var(t'Bt) <= d V |B|^2: d columns, each with 1/d, of |R| |R^2 - kappa R| / d^2.
    column_ = (d * V + 2 * d * square) / d**2 / eta / eta**2 / d
    wanted = (d * column_).subs(square, expression(sizes.square))
    yield Check("the bound", sympy.expand(expression(bound) - wanted) == 0)


def check_random_queries(kernel: Kernel) -> Iterator[Check]:
    """What is typical, and means over queries."""
    d, p, x, f, T = _symbols(kernel)
    b, equivalence = x / p, kernel.gaussian_equivalence
    cut, m, z, eta = (positive_symbol(name) for name in ("c", "m", "z", "eta"))
    typical = kernel.typical_queries.TypicalQueries(*map(SymbolicNumber, (cut, m, z)))
    sizes = equivalence.mean_sizes(T, typical)

    def single(powers: Expr, y: Expr) -> Expr:
        """E of a polynomial in y = e^(beta^2 |x|^2 / p)."""
        return sum(c * f(1 - 2 * n * b) for (n,), c in sympy.Poly(powers, y).terms())

    y = real("y")
    pair = f(1 - 4 * b**2) - 2 * f(1 - b**2) + 1
    yield equal("E Sigma_ii^2", f.of(sizes.diagonal), single((y - 1) ** 2, y))
    yield equal("E Sigma_ii^2 (e^(4 x G_ii) - 1)", f.of(sizes.fourth), single((y - 1) ** 2 * (y**4 - 1), y))
    yield equal("E of a row of Sigma_ij^2", f.of(sizes.off_diagonal), (d - 1) * pair)
    yield equal("E |G|_F^2 / d", expression(sizes.gram), p * (p + 2) / p**2 + (d - 1) * p / p**2)
    yield equal("|G|", expression(sizes.norm), (sympy.sqrt(d) + sympy.sqrt(p) + z) ** 2 / p)
    yield equal("longest", expression(sizes.longest), cut)
    yield equal("rows", expression(sizes.row), cut**2 * (d - 1) * p / p**2)
    yield equal("coherence", expression(sizes.coherence), m)
    D, P, E = (SymbolicNumber(value) for value in (d, p, eta))
    C = SymbolicNumber(cut)
    long = lambda n: expression(kernel.typical_queries.long_query(SymbolicNumber(n), C))  # noqa: E731
    # Of N(0, cut p) beyond m p, twice half of e^(-u^2/2), and both orders of a pair.
    product = sympy.exp(-((m * p) ** 2) / (2 * cut * p))
    outside = d * long(p) + d * long(d - 1) + d**2 * product + sympy.exp(-(z**2) / 2)
    yield Check("what is not typical", sympy.expand(expression(typical.improbable(D, P)) - outside) == 0)
    inside = expression(equivalence.universality_bound(sizes, D, SymbolicNumber(x), E))
    found = expression(equivalence.mean_universality(T, E, typical))
    yield Check("typical queries and others", sympy.expand(found - inside - outside / eta) == 0)


def check_deviations(kernel: Kernel) -> Iterator[Check]:
    """Bounded differences."""
    d, eta, y = (positive_symbol(name) for name in ("d", "eta", "y"))
    for given, factor in ((True, 2), (False, 1)):
        # d columns, or d columns and d rows, change s by at most 1/(d eta) each.
        count = 2 * d / factor
        wanted = 2 * sympy.exp(-2 * y**2 / (count / (d * eta) ** 2))
        bound = kernel.gaussian_equivalence.deviation_bound(*map(SymbolicNumber, (d, eta, y)), given)
        yield equal(f"McDiarmid, {'given' if given else 'random'} queries", expression(bound), wanted)


def check_rank_one(kernel: Kernel) -> Iterator[Check]:
    """What taking a direction out of a square matrix does to the trace of its resolvent."""
    eta, t = positive_symbol("eta"), positive_symbol("t")
    # Unit vectors of the plane, and any symmetric matrix in the place of T'T.
    e = sympy.Matrix([2 * t, 1 - t**2]) / (1 + t**2)
    yield equal("a unit vector", e.dot(e), 1)
    S = sympy.Matrix(2, 2, lambda i, j: real(f"m_{min(i, j)}{max(i, j)}"))
    Pi, one = sympy.eye(2) - e * e.T, sympy.eye(2)
    W = (S + eta * one).inv()
    first, second = (e.T * W * e)[0], (e.T * W * W * e)[0]
    change = (first - eta * second) / (eta * first)
    yield equal("the change of the trace", (Pi * S * Pi + eta * one).inv().trace() - W.trace(), change)
    a, w = positive_symbol("a"), positive_symbol("w")
    yield equal("e'W^2e = (e'We)^2 at least", (a - eta * a**2) / (eta * a), 1 / eta - a)
    yield equal("e'We = 1/(eta + w) at least", 1 / eta - 1 / (eta + w), w / (eta * (eta + w)))
    yield equal("concave", sympy.diff(w / (eta * (eta + w)), w, 2), -2 / (eta + w) ** 3)


def check_all_steps(kernel: Kernel) -> Iterator[Check]:
    """From attention to T, from T to Y, and what queries that are not typical add."""
    d, p, x, _, T = _symbols(kernel)
    equivalence = kernel.gaussian_equivalence
    cut, m, z, eta, theta, y = (positive_symbol(name) for name in ("c", "m", "z", "eta", "theta", "y"))
    E, theta_ = SymbolicNumber(eta), SymbolicNumber(theta)
    slope = -sympy.diff(1 / (y**2 + eta), y)
    yield equal("where the slope is largest", sympy.diff(slope, y).subs(y, sympy.sqrt(eta / 3)), 0)
    yield equal("the largest slope", expression(equivalence.lipschitz(E)), slope.subs(y, sympy.sqrt(eta / 3)))
    typical = kernel.typical_queries.TypicalQueries(*map(SymbolicNumber, (cut, m, z)))
    whole = expression(equivalence.equivalence_bound(T, E, theta_, typical))
    normaliser = expression(equivalence.normalizer_bound(T, theta_, SymbolicNumber(cut)))
    mean = expression(T.mean_exponential(SymbolicNumber(1))) - 1
    sizes = equivalence.mean_sizes(T, typical)
    V = expression(quadratic_forms(kernel).variance(sizes, SymbolicNumber(x)))
    alpha2 = sympy.exp(x) - 1 - x
    # E |alpha^2 I + x G|_F^2 / d, with E G_ii = 1.
    linear = alpha2**2 + 2 * alpha2 * x + x**2 * (1 + (d + 1) / p)
    distance = expression(equivalence.linearisation(T))
    outside = expression(typical.improbable(SymbolicNumber(d), SymbolicNumber(p)))
    steps = [
        expression(equivalence.lipschitz(E)) * sympy.sqrt(normaliser),
        mean / (d * eta * (eta + mean)),
        (V + 2 * linear) / (d * eta**3),
        sympy.sqrt(distance / d) / eta**2,
        outside / eta,
    ]
    yield Check("all steps", sympy.expand(whole - sum(steps)) == 0)
