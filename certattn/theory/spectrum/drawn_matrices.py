"""Checks: the singular values of one drawn attention matrix, from moments of queries to the equation of their law."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import sympy

from certattn.theory.exactness import Check, all_of, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.spectrum.spectral_laws import as_numbers, elementary, law_over_symbols
from certattn.theory.symbolic_flint import SymbolicNumber, expression
from certattn.theory.symbols import matrix, positive_symbol, real, vector

Expr = Any

d, x, L = positive_symbol("d"), positive_symbol("x"), positive_symbol("L")
cut, coherence, excess, theta = (positive_symbol(name) for name in ("c", "m", "z", "theta"))
share, tail = positive_symbol("epsilon"), positive_symbol("delta")
eta, p = positive_symbol("eta"), L * d
alpha2 = sympy.exp(x) - 1 - x


def _draw(kernel: Kernel, ratio: Expr = L, **known: Expr) -> Any:
    """The kernel's numbers over symbols; those that are `known` by a symbol of their own."""
    typical = kernel.typical_queries.TypicalQueries(*map(SymbolicNumber, (cut, coherence, excess)))
    first, second = map(SymbolicNumber, (d, ratio)), map(SymbolicNumber, (theta, share, tail))
    drawn = kernel.drawn_spectrum.Draw(*first, SymbolicNumber(x), typical, *second)
    # They are computed once and then kept there.
    drawn.__dict__.update({name: SymbolicNumber(value) for name, value in known.items()})
    return drawn


def _exceeds(name: str, found: Any, mean: Expr, variance: Expr) -> Check:
    """found = mean + sqrt(variance / share)."""
    return equal(name, sympy.expand((expression(found) - mean) ** 2 * share), sympy.expand(variance))


# -- queries


def check_moments(kernel: Kernel) -> Iterator[Check]:
    """Moments of |x|^2 and of x.x', and of means over one drawn matrix of queries."""
    n, a = positive_symbol("p"), real("a")

    def length(k: int) -> Expr:
        """E |x|^2k"""
        return sympy.diff((1 - 2 * a) ** (-n / 2), a, k).subs(a, 0)

    def product(k: int) -> Expr:
        """E (x.x')^k, from E e^(a x.x') = E e^(a^2 |x|^2 / 2)."""
        return sympy.diff((1 - a**2) ** (-n / 2), a, k).subs(a, 0)

    g = real("g")

    def mean(power: int) -> Expr:
        """E (g - 1)^power, g = |x|^2 / p."""
        return sum(c * length(k) / n**k for (k,), c in sympy.Poly((g - 1) ** power, g).terms())

    second, fourth = 3 * n * (n + 2) / n**4, 105 * n * (n + 2) * (n + 4) * (n + 6) / n**8
    yield equal("E (g - 1)^2", mean(2), 2 / n)
    yield equal("Var (g - 1)^2", mean(4) - mean(2) ** 2, 8 / n**2 + 48 / n**3)
    yield equal("E G_ij^4", product(4) / n**4, second)
    yield equal("E G_ij^8", product(8) / n**8, fourth)
    # Given x_i, G_ij is N(0, |x_i|^2 / p^2).
    shared = 9 * (length(4) - length(2) ** 2) / n**8
    yield equal("the covariance of G_ij^4 and G_ik^4", shared, 72 * (n + 2) * (n + 3) / n**7)
    for size in (2, 3, 4, 5):
        pairs = list(itertools.combinations(range(size), 2))
        overlaps = [len({*left} & {*right}) for left in pairs for right in pairs]
        yield equal(f"pairs, d = {size}", overlaps.count(2), sympy.Rational(size * (size - 1), 2))
        yield equal(f"pairs that share one query, d = {size}", overlaps.count(1), size * (size - 1) * (size - 2))
    draw = _draw(kernel)
    at = lambda value: value.subs(n, p)  # noqa: E731
    yield _exceeds("mean of (g_i - 1)^2", draw.lengths, at(2 / n), at(8 / n**2 + 48 / n**3) / d)
    # d (d-1) and d (d-1) (d-2) are at most d^2 and d^3; each unordered pair counts twice.
    spread = 4 / d**2 * (d**2 / 2 * at(fourth) + d**3 * at(shared))
    yield _exceeds("mean of sum G_ij^4", draw.products, d * at(second), spread)


def check_sizes(kernel: Kernel) -> Iterator[Check]:
    """What typical queries have at most, whatever the number of tokens."""
    sizes, s = _draw(kernel).sizes, real("s")
    row = cut**2 / L
    yield equal("|G|", expression(sizes.norm), (sympy.sqrt(d) + sympy.sqrt(p) + excess) ** 2 / p)
    yield equal("G_ii and |G_ij|", [expression(sizes.longest), expression(sizes.coherence)], [cut, coherence])
    yield equal("rows", expression(sizes.row), (cut**2 * d * p / p**2))
    yield equal("|G|_F^2 / d", expression(sizes.gram), cut**2 + row)
    own = (sympy.exp(x * cut) - 1) ** 2
    yield equal("Sigma_ii^2", expression(sizes.diagonal), own)
    yield equal("with e^(4 x G_ii) - 1", expression(sizes.fourth), own * (sympy.exp(4 * x * cut) - 1))
    # (e^(xy) - 1)/y grows with y: it is x times the average of e^(s x y) over s.
    average = x * sympy.integrate(sympy.exp(s * x * coherence), (s, 0, 1))
    off = elementary(expression(sizes.off_diagonal))
    yield equal("a row of Sigma_ij^2", off, row * average**2)
    variance = expression(kernel.drawn_spectrum.variance(sizes, SymbolicNumber(x)))
    yield Check("the variance of quadratic forms", expression(_draw(kernel).form) == variance)


def check_covariances(kernel: Kernel) -> Iterator[Check]:
    """Sigma - Sigma_lin on the diagonal, by its slope, and off it, by the exponential's remainder."""
    g, q2, q4 = real("g"), positive_symbol("q2"), positive_symbol("q4")
    diagonal = sympy.exp(x * g) - x * g
    yield equal("at g = 1", diagonal.subs(g, 1), 1 + alpha2)
    yield equal("the slope", sympy.diff(diagonal, g), x * (sympy.exp(x * g) - 1))
    yield positive("the slope grows", sympy.diff(diagonal, g, 2))
    y = x * coherence
    bend = x**2 * (sympy.exp(y) - 1 - y) / y**2
    found = elementary(expression(_draw(kernel, lengths=q2, products=q4).covariances))
    wanted = (x * (sympy.exp(x * cut) - 1)) ** 2 * q2 + bend**2 * q4
    yield equal("|Sigma - Sigma_lin|_F^2 / d", found, wanted)


# -- from attention to T


def check_normalisers(kernel: Kernel) -> Iterator[Check]:
    """The sum of squared row means, and the resolvent's trace along the scales of rows."""
    v, third, fourth = real("v"), real("m3"), real("m4")
    for size in (1, 2, 3):
        t = vector("t", size)
        moments = (1, 0, v, third, fourth)
        square = sympy.Poly(sum(t) ** 4, *t)
        total = sum(c * sympy.prod(moments[n] for n in powers) for powers, c in square.terms())
        wanted = size * (fourth - v**2) + 2 * size * (size - 1) * v**2
        yield equal(f"Var (t_1 + ... + t_d)^2, d = {size}", total - (size * v) ** 2, wanted)
    h = real("h")
    taylor = sympy.exp(x * (1 + h)) - 1
    values = [sympy.diff(taylor, h, k).subs(h, 0) for k in range(2)]
    yield equal("Taylor's formula", values, [sympy.exp(x) - 1, x * sympy.exp(x)])
    yield equal("its rest", sympy.diff(taylor, h, 2), x**2 * sympy.exp(x * (1 + h)))
    V, q2 = positive_symbol("V"), positive_symbol("q2")
    draw = _draw(kernel, form=V, lengths=q2)
    # d^-4 (d Var|t|^2 + 2 d^2 tr Sigma^2), Var|t|^2 <= d V and tr Sigma^2 = d s.
    spread = (d * d * V + 2 * d**2 * d * expression(draw.sizes.square)) / d**4
    mean = sympy.exp(x) - 1 + x**2 * sympy.exp(x * cut) * q2 / 2
    # Laurent and Massart: a chi-square number of n = d p degrees of freedom is below n + 2 sqrt(n rho) + 2 rho.
    rho, n = sympy.log(1 / tail), d * p
    first = x * sympy.exp(x) * (2 * sympy.sqrt(n * rho) + 2 * rho) / n
    found = elementary(expression(draw.normalisers)) - mean - first
    yield equal("the sum of squares", sympy.expand(found**2 * share), sympy.expand(elementary(spread)))
    yield from _check_scales(kernel)


def _check_scales(kernel: Kernel) -> Iterator[Check]:
    M, a, v = matrix("M", 2, 2), [positive_symbol("a_1"), positive_symbol("a_2")], real("v")
    scaled = sympy.diag(*(each ** (-v) for each in a)) * M
    trace = (scaled * scaled.T + eta * sympy.eye(2)).inv().trace()
    R = (M * M.T + eta * sympy.eye(2)).inv()
    weight = M * M.T * R * R
    wanted = 2 * sum(sympy.log(each) * weight[i, i] for i, each in enumerate(a))
    yield equal("along the scales of rows", sympy.diff(trace, v).subs(v, 0), wanted)
    yield equal("M M'R^2 = R - eta R^2", weight, R - eta * R * R)
    u, y, w = positive_symbol("u"), real("y"), positive_symbol("w")
    gap = 1 / (4 * eta) - u / (u + eta) ** 2
    yield equal("at most 1/(4 eta)", gap, (u - eta) ** 2 / (4 * eta * (u + eta) ** 2))
    yield equal("the slope of log(1 + y)", sympy.diff(sympy.log(1 + y), y), 1 / (1 + y))
    found = expression(_draw(kernel, normalisers=w).from_normalisers(SymbolicNumber(eta)))
    # By Cauchy and Schwarz sum |mean(t_i)| <= sqrt(d w).
    rows = sympy.Rational(2) / d * sympy.sqrt(d * w) / (1 - theta) / (4 * eta)
    yield equal("from attention to T", found, rows + w / (d * eta * (eta + w)))


# -- from T to Y


def check_columns(kernel: Kernel) -> Iterator[Check]:
    """The martingale of the columns, and Gaussian columns."""
    V, e, level = positive_symbol("V"), positive_symbol("e"), SymbolicNumber(eta)
    draw, y = _draw(kernel, form=V, covariances=e**2), positive_symbol("y")
    # Var(t'Bt) <= d V eta^-4, over d^2, times 1/d^2, of d columns; each step is 1/(d eta) at most.
    variance, rho = d * (d * V / eta**4 / d**2) / d**2, sympy.log(2 / tail)
    found = expression(draw.from_columns(level))
    freedman = y**2 / (2 * (variance + y / (d * eta) / 3)) - rho
    yield equal("Freedman's inequality", sympy.expand(sympy.numer(sympy.together(freedman)).subs(y, found)), 0)
    yield positive("the larger root", (found - rho / (3 * d * eta)).subs(tail, sympy.Rational(1, 2)))
    linear = (alpha2 + x * cut) ** 2 + x**2 * cut**2 / L
    wanted = (V + 2 * linear) / (d * eta**3) + e / eta**2
    yield equal("Gaussian columns", expression(draw.from_gaussian_columns(level)), wanted)


# -- from Y to the law


def _resolvent(Y: sympy.Matrix) -> sympy.Matrix:
    return (Y * Y.T + eta * sympy.eye(Y.rows)).inv()


def check_derivatives(kernel: Kernel) -> Iterator[Check]:
    """What an entry of Y changes in R and in R Y, and the sums over all entries."""
    Y = matrix("Y", 2, 2)
    R, units = _resolvent(Y), list(itertools.product(range(2), repeat=2))
    slopes = {}
    for i, j in units:
        E = sympy.zeros(2, 2)
        E[i, j] = 1
        slopes[i, j] = sympy.diff(R, Y[i, j])
        yield equal(f"R by Y_{i + 1}{j + 1}", slopes[i, j], -R * (E * Y.T + Y * E.T) * R)

    def derived(k: int, j: int) -> sympy.Matrix:
        """R Y by Y_kj."""
        E = sympy.zeros(2, 2)
        E[k, j] = 1
        return slopes[k, j] * Y + R * E

    s, rest = R.trace() / 2, R - eta * R * R
    own = sum(derived(i, j)[i, j] for i, j in units) / 4
    yield equal("by parts in Z", own, eta * s**2 - rest.trace() / 2 / 2)
    # Y has the part u X K' with X X' = H; d = 2.
    H = sympy.Matrix(2, 2, lambda i, j: real(f"h_{min(i, j)}{max(i, j)}"))
    keys = sum(H[i, k] * derived(k, j)[i, j] for i, j in units for k in range(2)) / 4
    yield equal("by parts in K", keys, eta * s * (H * R).trace() / 2 - (H * rest).trace() / 4)
    for width in (1, 2):
        X, K = matrix("X", 2, width), matrix("K", 2, width)
        U = X * K.T
        found = sum(R[i, i] for i in range(2)) * width
        for i, a in itertools.product(range(2), range(width)):
            found += sum(K[j, a] * (slopes[i, j] * X[:, a])[i] for j in range(2))
        wanted = 2 * s * width - 2 * s * (R * Y * U.T).trace() - (R * U * Y.T * R).trace()
        yield equal(f"by parts in X, p = {width}", found, wanted)


def check_equation(kernel: Kernel) -> Iterator[Check]:
    """The three equations without their errors are one, of the limit law, and what errors change."""
    s, t, u = positive_symbol("s"), real("t"), real("u")
    errors = e1, e2, e3 = vector("e", 3)
    law = law_over_symbols(kernel)
    A, B, b = law.alpha2, law.beta2, law.pole
    equations = [
        u - (B * eta * s * t + e2),
        t - (s - u * s / law.lambda_ + e3),
    ]
    (found,) = sympy.solve(equations, [t, u], dict=True)
    phi = 1 - eta * s - A * eta * s**2 - B * eta * s**2 / (1 + b * eta * s**2)
    rest = 1 - eta * s - (A * eta * s**2 + found[u] + e1)
    change = e1 + (B * eta * s * e3 + e2) / (1 + b * eta * s**2)
    yield equal("what the errors change", rest, phi - change)
    del errors
    # zG = 1 + C(G) at z = i sqrt(eta), G = -i sqrt(eta) s.
    w = -sympy.I * sympy.sqrt(eta) * s
    z = sympy.I * sympy.sqrt(eta)
    yield equal("phi = 0 is the law's equation", sympy.expand(z * w - w * law.inverse(w) + phi), 0)
    r = positive_symbol("r")
    transform = 1 / (2 * (z - r)) + 1 / (2 * (z + r))
    yield equal("G = -i sqrt(eta) s", transform, -sympy.I * sympy.sqrt(eta) / (r**2 + eta))
    slope = sympy.diff(phi, s) + eta + 2 * A * eta * s
    yield equal("the slope", slope, -2 * B * eta * s / (1 + b * eta * s**2) ** 2)
    seen: list[Any] = []

    def zero(function: Callable[[Any], Any], below: Any, above: Any) -> Any:
        seen.extend([function, below, above])
        return above

    with patch.object(kernel.drawn_spectrum, "zero_between", zero):
        kernel.drawn_spectrum.limit_transform(as_numbers(law), SymbolicNumber(eta))
    function, below, above = seen
    yield equal("the kernel's equation", expression(function(SymbolicNumber(s))), phi)
    yield equal("between 0 and 1/eta", [expression(below), expression(above)], [1 / eta, 0])
    yield equal("at 0", phi.subs(s, 0), 1)
    yield positive("below 0 at 1/eta", sympy.together(-phi.subs(s, 1 / eta)))


def _largest(name: str, function: Expr, y: Expr, place: Expr, value: Expr) -> Iterator[Check]:
    """A function with one critical point y > 0, at which it has a value."""
    yield equal(f"{name}, where", sympy.diff(function, y).subs(y, place), 0)
    yield equal(name, function.subs(y, place), value)


def check_variances(kernel: Kernel) -> Iterator[Check]:
    """Slopes of functions of singular values, sums of squared gradients over Z, X and K, and the kernel's bounds."""
    y, N = positive_symbol("y"), positive_symbol("N")
    ell = 3 * sympy.sqrt(3) / 8 / eta ** sympy.Rational(3, 2)
    yield from _largest("|R Y|", y / (y**2 + eta), y, sympy.sqrt(eta), 1 / (2 * sympy.sqrt(eta)))
    yield from _largest("|R^2 Y|", y / (y**2 + eta) ** 2, y, sympy.sqrt(eta / 3), ell / 2)
    slope = sympy.diff(y / (y**2 + eta), y)
    yield equal("the slope of R Y", 1 / eta - slope, y**2 * (y**2 + 3 * eta) / (eta * (y**2 + eta) ** 2))
    yield equal("from below", slope + 1 / eta, (2 * eta**2 + eta * y**2 + y**4) / (eta * (y**2 + eta) ** 2))
    sixth = sympy.integrate(6 * y**5 * 2 * sympy.exp(-(y**2) / 2), (y, 0, sympy.oo))
    yield equal("the sixth moment", sixth, 96)
    yield Check("below 3^6", bool(sixth < 3**6))
    # Gradients in Z, X and K: alpha/sqrt(d), beta |K|/sqrt(dp), beta |X|/sqrt(dp) times what dY is multiplied with.
    a2 = positive_symbol("A")
    blocks = [a2 / d, x * N / d, x * N / d]
    trace = sum(block * ell**2 / d for block in blocks)
    yield equal("Var s", trace, ell**2 / d**2 * (a2 + 2 * x * N))
    through = (2 / d * sympy.sqrt(d) / (2 * sympy.sqrt(eta)) / eta) ** 2 * N**2
    own = (2 / (d * p)) ** 2 * d * p / eta**2
    # (a + b)^2 <= 2 a^2 + 2 b^2 in X.
    weighted = blocks[0] * through + 2 * blocks[1] * through + 2 * own + blocks[2] * through
    most = (8 / (L * eta**2) + 2 * N**2 / eta**3 * (a2 + 2 * x * N)) / d**2
    yield positive("Var tau", sympy.expand(most - weighted))
    direct = (1 / (d * eta)) ** 2 * x * p * N**2
    second = (1 / (2 * sympy.sqrt(d * eta))) ** 2
    linear = blocks[0] * direct + sum(2 * block * (direct + second) for block in blocks[1:])
    stated = (x * L * N**2 / eta**2 * (a2 + 4 * x * N) + x * N / eta) / d**2
    yield equal("Var upsilon", linear, stated)
    norm = (sympy.sqrt(d) + sympy.sqrt(p) + 3) ** 2 / p
    at = lambda value: sympy.sqrt(value * d**2).subs({a2: alpha2, N: norm}) / d  # noqa: E731
    s_, t_, u_ = at(sympy.factor(trace)), at(most), at(stated)
    errors = [
        alpha2 * eta * s_**2 + alpha2 / (4 * eta * d),
        x * (eta * s_ * t_ + 1 / (4 * eta * d)),
        u_ * s_ / L + sympy.sqrt(x) * ell / (2 * p),
    ]
    found = expression(_draw(kernel).from_law(SymbolicNumber(eta)))
    wanted = (errors[0] + errors[1] + x * errors[2]) / eta
    yield Check("from Y to the law", _same_roots(found, wanted))
    # A normal vector: beyond sqrt(2 rho) Lipschitz constants with a probability of at most 2 e^-rho.
    constant = ell / sympy.sqrt(d) * sympy.sqrt(x) / sympy.sqrt(d * p) * (sympy.sqrt(d) + sympy.sqrt(p))
    found = expression(_draw(kernel).from_queries(SymbolicNumber(eta)))
    rho = sympy.log(2 / tail)
    yield equal("from the queries", sympy.expand(found**2), sympy.expand(constant**2 * 2 * rho))


def _same_roots(left: Expr, right: Expr) -> bool:
    """Equality of sums of products of square roots, whose arguments are multiplied out first."""

    def roots(part: Expr) -> Expr:
        return sympy.expand(sympy.together(part.base)) ** part.exp

    def closed(value: Expr) -> Expr:
        return value.replace(lambda part: part.is_Pow and part.exp == sympy.Rational(1, 2) and part.base.is_Add, roots)

    return equal("", closed(left), closed(right)).holds


# -- all steps; every larger d, and quarter circle laws


def check_all_steps(kernel: Kernel) -> Iterator[Check]:
    """The triangle inequality, and how many events there are."""
    V, w, e, level = positive_symbol("V"), positive_symbol("w"), positive_symbol("e"), SymbolicNumber(eta)
    draw = _draw(kernel, form=V, normalisers=w, covariances=e**2)
    steps = (draw.from_normalisers, draw.from_columns, draw.from_gaussian_columns, draw.from_queries, draw.from_law)
    rest = expression(draw.bound(level)) - sum(expression(step(level)) for step in steps)
    yield Check("five steps", sympy.expand(rest) == 0)
    # Of `share`: squared lengths, products, normalisers. Of `tail`: the mean length; at each eta columns and queries.
    drawn = kernel.drawn_spectrum
    yield equal("events", [drawn.SHARES, drawn.TAILS, drawn.TAILS_AT_ETA], [3, 1, 2])


def check_more_tokens(kernel: Kernel) -> Iterator[Check]:
    """The logarithm of each exception has a slope of at most 0 where the kernel's numbers are at least 1."""
    draw = _draw(kernel)
    D, P = draw.d, draw.p
    rate = d * theta**2 / 2 * sympy.exp(-cut * x)
    found = expression(draw.improbable)
    wanted = expression(draw.typical.improbable(D, P)) + d * sympy.exp(-rate)
    yield Check("queries and normalisers", sympy.expand(found - wanted) == 0)
    long = cut - 1 - sympy.log(cut)
    for ratio in (sympy.Rational(1, 3), sympy.Integer(2)):
        width = ratio * d
        lengths, products, normalisers = map(expression, _draw(kernel, ratio).falls())
        logarithms = {
            "lengths": [sympy.log(d) - width / 2 * long, sympy.log(d) - (d - 1) / 2 * long],
            "products": [2 * sympy.log(d) - coherence**2 * width / (2 * cut)],
            "normalisers": [sympy.log(d) - rate],
        }
        slopes = {name: [1 - d * sympy.diff(one, d) for one in many] for name, many in logarithms.items()}
        at = f"lambda = {ratio}"
        yield all_of(f"lengths, {at}", [equal("", lengths, min(ratio, 1) * d / 2 * long)])
        held = [
            equal("", slope, factor * d / 2 * long) for slope, factor in zip(slopes["lengths"], (ratio, 1), strict=True)
        ]
        yield all_of(f"slopes of long queries, {at}", held)
        (slope,) = slopes["products"]
        # 2 - 2 products: the slope is of two logarithms.
        yield equal(f"products, {at}", slope + 1, 2 * products)
        (slope,) = slopes["normalisers"]
        yield equal(f"normalisers, {at}", slope, normalisers)


def check_quarter_circle(kernel: Kernel) -> Iterator[Check]:
    """The transform of the law with the one free cumulant m, and that it falls with m and as eta y falls."""
    m, s, y = positive_symbol("m"), positive_symbol("s"), positive_symbol("y")
    found = expression(kernel.drawn_spectrum.quarter_circle_transform(SymbolicNumber(m), SymbolicNumber(eta)))
    w, z = -sympy.I * sympy.sqrt(eta) * s, sympy.I * sympy.sqrt(eta)
    square = sympy.expand(w * (1 / w + m * w - z))
    yield equal("K(G) = z", square, 1 - eta * s - m * eta * s**2)
    root = sympy.sqrt(eta**2 + 4 * m * eta)
    yield equal("the transform", found, 2 / (eta + root))
    yield equal("solves it", sympy.radsimp(sympy.expand(square.subs(s, 2 / (eta + root)))), 0)
    yield positive("falls with m", -sympy.diff(found, m))
    yield positive("1/(y^2 + eta) falls", -sympy.diff(1 / (y**2 + eta), y))
    yield equal("from 1/eta", (1 / (y**2 + eta)).subs(y, 0), 1 / eta)
    yield equal("to 0", sympy.limit(1 / (y**2 + eta), y, sympy.oo), 0)
