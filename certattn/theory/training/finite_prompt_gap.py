"""Checks: training on finite prompts where Sigma and A have the same eigenvectors, near a closed form.

q and kappa are functions of the variance v of the scores; where a derivative is taken, exponentials stand for them and
for what is left out of them, as their means are closed forms too. Ranks n_i are symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive, same
from certattn.theory.kernel_reading import Kernel
from certattn.theory.nonnegativity import is_nonnegative
from certattn.theory.stein_reduction import S, combined, mean, power_sums, times, weighted_sum
from certattn.theory.symbolic_flint import SymbolicNumber, numbers, plain
from certattn.theory.symbols import column, matrix, positive_symbol, positive_vector, real, vector

Expr = Any
HALF = sympy.Rational(1, 2)


def inner(x: sympy.Matrix, y: sympy.Matrix) -> Expr:
    return (x.T * y)[0]


@dataclass(frozen=True)
class Groups:
    """sigma_i, a_i, n_i and b > 0, as symbols; `chi` stands for the chi_i."""

    sigma: Sequence[Expr]
    a: Sequence[Expr]
    n: Sequence[Expr]
    b: Expr
    chi: Sequence[Expr]

    @classmethod
    def of(cls, count: int) -> Groups:
        """So many."""
        sigma, a, n, chi = (positive_vector(name, count) for name in ("sigma", "a", "n", "chi"))
        return cls(sigma, a, n, positive_symbol("b"), chi)

    @property
    def trace(self) -> Expr:
        """T."""
        return sum(n * s for n, s in zip(self.n, self.sigma, strict=True))

    @property
    def v(self) -> Expr:
        """The variance of the scores."""
        return sum(s**2 * a**2 * x for s, a, x in zip(self.sigma, self.a, self.chi, strict=True))

    @property
    def P(self) -> Expr:  # noqa: N802 - as on the page
        """What q is multiplied by."""
        parts = zip(self.sigma, self.a, self.chi, strict=True)
        return self.b**2 * self.trace / 2 + self.b * sum(s**2 * a * x for s, a, x in parts)

    @property
    def K(self) -> Expr:  # noqa: N802 - as on the page
        """What k is multiplied by."""
        return self.b**2 / 2 * sum(s**3 * a**2 * x for s, a, x in zip(self.sigma, self.a, self.chi, strict=True))

    @property
    def risk(self) -> Expr:
        """R."""
        parts = zip(self.sigma, self.a, self.n, strict=True)
        return sum(n * s * (1 - self.b * s * a) ** 2 for s, a, n in parts) / 2

    def tilts(self, r: Expr) -> list[Expr]:
        """t_i."""
        return [1 / (1 - 2 * r * s**2 * a**2) for s, a in zip(self.sigma, self.a, strict=True)]

    def mass(self, r: Expr) -> Expr:
        """D = E e^(rv)."""
        return sympy.Mul(*(t ** (n / 2) for t, n in zip(self.tilts(r), self.n, strict=True)))

    def mean(self, polynomial: Expr, r: Expr) -> Expr:
        """E[e^(rv) polynomial] over D, monomial by monomial: E chi^m = 2^m (n/2) (n/2 + 1) ... under the law."""
        total = sympy.Integer(0)
        for powers, factor in sympy.Poly(sympy.expand(polynomial), *self.chi).terms():
            for m, n, t in zip(powers, self.n, self.tilts(r), strict=True):
                factor *= t**m * sympy.Mul(*(n + 2 * j for j in range(m)))
            total += factor
        return total

    def slope(self, polynomial: Expr, r: Expr, i: int) -> Expr:
        """The derivative along a_i of E[e^(rv) polynomial], over D; that of log D is that of sum n_j/2 log t_j."""
        log = sum(n / 2 * sympy.log(t) for n, t in zip(self.n, self.tilts(r), strict=True))
        found = self.mean(polynomial, r)
        return found * sympy.diff(log, self.a[i]) + sympy.diff(found, self.a[i])

    def spectrum(self, kernel: Kernel) -> Any:
        """As the kernel has it: ranks stay as they are."""
        return kernel.finite_gap.Spectrum(numbers(list(self.sigma)), list(self.n))


def check_gap(kernel: Kernel) -> Iterator[Check]:
    """1/2 E|b tau_hat - x|^2 from E tau_hat = (1-q) tau and E|tau_hat - tau|^2 = q (T + |tau|^2) - 6 kappa |tau|^2."""
    b, q, kappa, trace = real("b"), real("q"), real("kappa"), real("T")
    for d in (1, 2, 3):
        tau, x = column(vector("t", d)), column(vector("x", d))
        size = inner(tau, tau)
        first = (1 - q) * tau
        second = q * (trace + size) - 6 * kappa * size + 2 * inner(first, tau) - size
        risk = (b**2 * second - 2 * b * inner(first, x) + inner(x, x)) / 2
        gap = q * (b**2 * trace / 2 + b * inner(tau, x)) - (q + 6 * kappa) * b**2 * size / 2
        yield equal(f"R_L - R given x, d = {d}", risk - inner(b * tau - x, b * tau - x) / 2, gap)


def check_form(kernel: Kernel) -> Iterator[Check]:
    """What R_L is made of, where Sigma and A have one basis of eigenvectors; and what a gradient of this form is."""
    groups = Groups.of(2)
    sigma, A = (sympy.diag(*entries) for entries in (groups.sigma, groups.a))
    g = column(vector("g", 2))
    x = sympy.diag(*(sympy.sqrt(s) for s in groups.sigma)) * g
    tau = sigma * A * x
    one = dict.fromkeys(groups.n, 1) | {chi: g[i] ** 2 for i, chi in enumerate(groups.chi)}
    b, trace = groups.b, sigma.trace()
    yield equal("v", inner(x, A.T * tau), groups.v.subs(one))
    yield equal("P", b**2 * trace / 2 + b * inner(tau, x), groups.P.subs(one))
    yield equal("K", b**2 * inner(tau, tau) / 2, groups.K.subs(one))
    error = b * sigma * A - sympy.eye(2)
    yield equal("R = 1/2 tr E Sigma E'", (error * sigma * error.T).trace() / 2, groups.risk.subs(one))
    # A reflection that commutes with X makes u an eigenvector of X: X u = (u'Xu) u.
    u, X = column(vector("u", 2)), matrix("x", 2, 2)
    turned = sympy.eye(2) - 2 * u * u.T
    apart = (turned * X - X * turned) * u
    yield equal("[I - 2uu', X] u = 2 (|u|^2 X u - (u'Xu) u)", apart, 2 * (X * u * inner(u, u) - u * inner(u, X * u)))
    # The derivative along P_i of a function of A's entries is n_i times the i-th part of a gradient sum g_i P_i.
    yield equal("<sum g_i P_i, P_i> = n_i g_i", (sympy.diag(*u) * sympy.diag(1, 0)).trace(), u[0])


def check_growth(kernel: Kernel) -> Iterator[Check]:
    """dkappa/dv by Stein's identity, and |dkappa/dv| <= q/3."""
    t, P2, P3 = weighted_sum(1, 1), weighted_sum(2, 0), weighted_sum(3, 0)
    third = combined((3, weighted_sum(3, 1)), (-3, times(P3, t)))
    square = combined((4, times(P2, weighted_sum(2, 1))), (-4, times(times(P2, P2), t)))
    rate = mean(combined((1, third), (-1, square)))
    P = power_sums
    stated = 3 * P(3) - 2 * P(2, 2) - 13 * P(4) + 22 * P(2, 3) - 10 * P(2, 2, 2)
    yield equal("dkappa/ds = 2 s E[...]", rate, 2 * S * stated)
    # Under the weights p: P_2 = E X, P_3 = E X^2, P_4 = E X^3 for X = p_i; divided by a = P_2.
    a, beta, c, s, u = (real(name) for name in ("a", "beta", "c", "sigma", "u"))
    form = 3 * beta - 2 * a - 13 * c + 22 * a * beta - 10 * a**2
    x, y = beta - sympy.Rational(4, 9), a - sympy.Rational(7, 18)
    above = sympy.Rational(5, 18) - form.subs(c, beta**2)
    yield equal("5/18 - [...] at the least P_4 is a quadratic form", above, 13 * x**2 - 22 * x * y + 10 * y**2)
    yield equal("which is positive", 13 * 10 - 11**2, 9)
    most = s * beta - s * (s - beta) ** 2 / (1 - s)
    # E X^2 (s - X) >= (E X (s - X))^2 / E(s - X) where X <= s, and s^2 = a is possible: no p_i^2 exceeds P_2.
    second = a * beta
    largest = (s * second - (s * a - second) ** 2 / (s - a)) / a
    yield equal("the largest P_4 / a at s^2 = a", largest.subs(a, s**2), most)
    below = sympy.Rational(1, 3) + form.subs({a: s**2, c: most})
    polynomial = sympy.expand(sympy.cancel(below.subs(beta, s**2 + s * (1 - s) * u)))
    yield Check("1/3 + [...] >= 0 at the largest P_4", is_nonnegative(polynomial, [s, u]))
    rising = plain(kernel.finite_gap.MOST_RISING)
    yield equal("q + 6 kappa rises at most like this times q", rising, 1 + 6 * sympy.Rational(5, 18))
    yield positive("and falls no faster than it may rise", rising - 6 * sympy.Rational(1, 3))


def check_ranges(kernel: Kernel) -> Iterator[Check]:
    """kappa by means that are integrals, what is left of a cubic, and how much q and w bend; k by both."""
    q, kappa = (positive_symbol(name) for name in ("q", "kappa"))
    fits = kernel.weight_fits
    w = q - plain(fits.SHARE) * kappa
    yield equal("k = 7/3 q - 4/3 w", q + 6 * kappa, plain(fits.spread_of(SymbolicNumber(q), SymbolicNumber(w))))
    p = positive_vector("p", 3)
    pairs = [(x, y) for i, x in enumerate(p) for j, y in enumerate(p) if i != j]
    third, second = (sum(x**k for x in p) for k in (3, 2))
    difference = sum(x**3 * y - x**2 * y**2 for x, y in pairs)
    yield equal("P_3 P_1 - P_2^2", third * sum(p) - second**2, difference)
    yield from _cubics(fits._DEGREE)
    growth = kernel.weight_growth
    of_q = [plain(x) for x in (growth.MOST_CONCAVE, growth.MOST_CONVEX)]
    of_kappa = [plain(x) for x in (growth.KAPPA_CONCAVE, growth.KAPPA_CONVEX)]
    # -w'' = -q'' + 9/2 kappa'': where kappa is convex w is concave.
    bends = [of_q, [x + sympy.Rational(9, 2) * y for x, y in zip(of_q, reversed(of_kappa), strict=True)]]
    yield equal("how much q and w bend", [plain(list(pair)) for pair in fits.BENDS], bends)
    h, x = positive_symbol("h"), real("x")
    yield equal("x (h - x) / 2 is at most h^2 / 8", h**2 / 8 - x * (h - x) / 2, (x - h / 2) ** 2 / 2)


def _cubics(degree: int) -> Iterator[Check]:
    """A function less the cubic through four of its values, which is a divided difference times a product."""
    x, u = positive_vector("x", 4), vector("u", 4)
    at, value = positive_symbol("L"), real("U")
    cubic = sum(y * sympy.Mul(*((at - z) / (a - z) for z in x if z is not a)) for a, y in zip(x, u, strict=True))
    places, values = [*x, at], [*u, value]
    divided = sum(y / sympy.Mul(*(a - z for z in places if z is not a)) for a, y in zip(places, values, strict=True))
    yield equal("u - C", value - cubic, divided * sympy.Mul(*(at - a for a in x)))
    s = positive_symbol("s")
    yield equal("the fourth derivative of e^(-sL)", sympy.diff(sympy.exp(-s * at), at, 4), s**4 * sympy.exp(-s * at))
    t, first, last = real("t"), *(positive_symbol(name) for name in ("l", "m"))
    forms = [sympy.binomial(degree, k) * t**k * (1 - t) ** (degree - k) for k in range(degree + 1)]
    length = sum((first + (last - first) * sympy.Rational(k, degree)) * B for k, B in enumerate(forms))
    yield equal("L in the form of Bernstein", length, first + (last - first) * t)


def check_tilt(kernel: Kernel) -> Iterator[Check]:
    """e^(rv) makes t_i chi_i of chi_i, and the moments of the chi-squared law; the kernel's means."""
    n, t, y, m = (positive_symbol(name) for name in ("n", "t", "y", "m"))
    # 2 r sigma^2 a^2 = 1 - 1/t. Densities up to the constant of the law, at t y for y of the law.
    density = y ** (n / 2 - 1) * sympy.exp(-y / 2)
    left = sympy.exp((1 - 1 / t) * y / 2) * density
    right = t ** (n / 2) * (density.subs(y, y / t) / t)
    logs = [sympy.expand_log(sympy.log(side), force=True) for side in (left, right)]
    yield equal("e^(rv) times the density", *logs)
    moment = 2**m * sympy.gamma(n / 2 + m) / sympy.gamma(n / 2)
    for k, wanted in ((1, n), (2, n * (n + 2))):
        yield equal(f"E Y^{k}", sympy.gammasimp(moment.subs(m, k)), wanted)
    groups, r = Groups.of(2), real("r")
    masses, tilts = positive_symbol("D"), positive_vector("t", 2)
    law = kernel.finite_gap._Tilted(groups.spectrum(kernel), [(SymbolicNumber(masses), numbers(tilts))])
    stated = dict(zip(groups.tilts(r), tilts, strict=True))
    constant, factors = real("w"), vector("w", 2)
    W = constant + sum(w * x for w, x in zip(factors, groups.chi, strict=True))
    yield equal("E e^(rv)", plain(law.mean()), masses)
    for i, chi in enumerate(groups.chi):
        wanted = groups.mean(chi, r).subs(stated)
        yield equal(f"E[e^(rv) chi_{i + 1}]", plain(law.first(i)), masses * wanted)
        found = law.product(SymbolicNumber(constant), numbers(factors), i)
        yield equal(f"E[e^(rv) chi_{i + 1} W]", plain(found), masses * groups.mean(chi * W, r).subs(stated))


def check_closed_form(kernel: Kernel) -> Iterator[Check]:
    """R and G with all derivatives up to the fourth order, as the kernel finds them."""
    groups = Groups.of(2)
    variables = [*groups.a, groups.b]
    of, at = groups.spectrum(kernel), numbers(list(groups.a))
    jet = kernel.finite_gap.infinite_risk(of, at, SymbolicNumber(groups.b), 4)
    for key in _keys(3):
        yield equal(f"R along {key}", plain(jet.along(*key)), _along(groups.risk, variables, key))
    # A product of functions of one variable each, times what the kernel takes as a sum: by names of functions.
    F, X, Y = ([sympy.Function(f"{name}_{i + 1}")(x) for i, x in enumerate(groups.a)] for name in "FXY")
    D, T, b, mu = F[0] * F[1], real("T"), groups.b, real("mu")
    (c, k), (c1, k1) = ((real(f"c{i}"), real(f"k{i}")) for i in "01")
    whole = D * (b**2 * ((c + mu * c1) * T / 2 - (k + mu * k1) * sum(X)) + b * (c + mu * c1) * sum(Y))
    factors = [_ladder(f, x, f) for f, x in zip(F, groups.a, strict=True)]
    squares, others = ([_ladder(f, x, sympy.Integer(1)) for f, x in zip(fs, groups.a, strict=True)] for fs in (X, Y))
    found = kernel.finite_gap._Products(SymbolicNumber(D), *map(numbers, (factors, squares, others)))
    terms = [(found, [tuple(map(SymbolicNumber, pair)) for pair in ((c, k), (c1, k1))])]
    jet = kernel.finite_gap._jet(terms, *(SymbolicNumber(x) for x in (T, b, mu)), 4)
    for key in _keys(4):
        yield equal(f"the kernel's product along {key}", plain(jet.along(*key)), _along(whole, [*variables, mu], key))
    yield from _term(kernel)


def _term(kernel: Kernel) -> Iterator[Check]:
    """The kernel's E[e^(rv) (c P - k K)], for a rate below 0, and each factor's derivatives."""
    groups, r = Groups.of(1), sympy.Symbol("r", negative=True)
    c, k = real("c"), real("k")
    (a,), (n,), (s,), (t,) = groups.a, groups.n, groups.sigma, groups.tilts(r)
    of = groups.spectrum(kernel)
    found = kernel.finite_gap._products(of, SymbolicNumber(r), numbers([a]))
    D, b = plain(found.mass), groups.b
    yield equal("D", D, sympy.sqrt(t) ** n)
    X, Y = plain(found.squares[0][0]), plain(found.plain[0][0])
    value = b**2 * (c * groups.trace / 2 - k * X) + b * c * Y
    yield equal("E[e^(rv) (c P - k K)]", value, groups.mean(c * groups.P - k * groups.K, r))
    # Of t^(n/2), relative to it, by the logarithm's derivative.
    rate, relative = sympy.diff(n / 2 * sympy.log(t), a), sympy.Integer(1)
    for order in range(5):
        where = f", {order} times"
        yield equal(f"t^(n/2){where}", plain(found.factors[0][order]), relative)
        relative = relative * rate + sympy.diff(relative, a)
        of_square = n * s**3 / 2 * sympy.diff(a**2 * t, a, order)
        yield equal(f"a^2 t{where}", plain(found.squares[0][order]), of_square)
        yield equal(f"a t{where}", plain(found.plain[0][order]), n * s**2 * sympy.diff(a * t, a, order))


def _keys(size: int) -> Iterator[tuple[int, ...]]:
    """Variables along which to go, four at most."""
    for order in range(5):
        yield from combinations_with_replacement(range(size), order)


def _along(function: Expr, variables: Sequence[Expr], key: tuple[int, ...]) -> Expr:
    for i in key:
        function = sympy.diff(function, variables[i])
    return function


def _ladder(function: Expr, variable: Expr, unit: Expr) -> list[Expr]:
    """The function and four derivatives, over a unit."""
    return [sympy.diff(function, variable, order) / unit for order in range(5)]


def check_parts(kernel: Kernel) -> Iterator[Check]:
    """Both integrations by parts, where what is left out is an exponential: each mean is a closed form then."""
    for count in (1, 2):
        groups, r = Groups.of(count), real("r")
        for i in range(count):
            a, n, s, chi = groups.a[i], groups.n[i], groups.sigma[i], groups.chi[i]
            direct = sympy.diff(groups.P, a), sympy.diff(groups.K, a)
            total = [groups.slope(part, r, i) for part in (groups.P, groups.K)]
            radial = [groups.mean((chi - n) * part, r) / a for part in (groups.P, groups.K)]
            where = f"along a_{i + 1} of {count}"
            wanted = radial[0] - groups.b * s**2 * groups.mean(chi, r)
            yield equal(f"d E[e P] {where}", total[0], wanted)
            yield equal(f"d E[e' K] {where}", total[1], radial[1])
            # By way of v alone.
            for name, part, along, d in zip("PK", (groups.P, groups.K), direct, total, strict=True):
                slope = 2 * s**2 * a * r * groups.mean(chi * part, r)
                yield equal(f"by way of v, {name} {where}", d - groups.mean(along, r), slope)
    yield from _by_variance(kernel)


def _by_variance(kernel: Kernel) -> Iterator[Check]:
    """The kernel's S_i."""
    groups, r = Groups.of(2), sympy.Symbol("r", negative=True)
    c, k = real("c"), real("k")
    D = _mass(groups, r)
    near = [tuple(map(SymbolicNumber, (r, c, k)))]
    of, at, b = groups.spectrum(kernel), numbers(list(groups.a)), SymbolicNumber(groups.b)
    for i, (s, a, chi) in enumerate(zip(groups.sigma, groups.a, groups.chi, strict=True)):
        found = plain(kernel.finite_gap._by_variance(of, near, at, b, i))
        wanted = 2 * s**2 * a * r * groups.mean(chi * (c * groups.P - k * groups.K), r)
        yield equal(f"S_{i + 1}", found / D, wanted)


def _fit(kernel: Kernel, rate: Expr, near: Sequence[Expr], *errors: tuple[Expr, Expr]) -> Any:
    """Of one exponential each: factors of f and f' and the errors of q and of w; h and h' are the same as f and f'."""
    fits = kernel.weight_fits
    share, *rest = (fits.ExponentialSum([tuple(numbers(list(term)))]) for term in ((near[1], rate), *errors))
    plain_sum = fits.ExponentialSum([tuple(numbers([near[0], rate]))])
    found = fits.WeightFit(2, None, *(fits.Fit(plain_sum, share, error) for error in rest))
    # The kernel sorts the terms by their rates; here all sums have the same one.
    pairs = [tuple(SymbolicNumber(x) for x in (c, plain(fits.spread_of(c, c)))) for c in near]
    vars(found)["terms"] = [(SymbolicNumber(rate), *pairs)]
    return found


def check_distances(kernel: Kernel) -> Iterator[Check]:
    """E|tY - n| and E[|tY - n| tY] by incomplete gamma functions; for even n by integration, too."""
    n, t, y = (positive_symbol(name) for name in ("n", "t", "y"))

    def density(n: Expr) -> Expr:
        return y ** (n / 2 - 1) * sympy.exp(-y / 2) / (2 ** (n / 2) * sympy.gamma(n / 2))

    for j, factor in ((1, n), (2, n * (n + 2))):
        ratio = sympy.powsimp(y**j * density(n) / density(n + 2 * j), force=True)
        yield equal(f"y^{j} f_n = E Y^{j} f_(n+{2 * j})", sympy.gammasimp(sympy.simplify(ratio)), factor)
    for even in (2, 4):
        found = kernel.finite_gap._distances(even, SymbolicNumber(t))
        f, apart = density(sympy.Integer(even)), t * y - even
        for name, part, value in zip(("E|tY - n|", "E[|tY - n| tY]"), (1, t * y), plain(list(found)), strict=True):
            whole = sympy.integrate(sympy.expand(part * apart * f), y)
            # From 0 to n/t it counts with the other sign.
            at, least = whole.subs(y, even / t), whole.subs(y, 0)
            most = sympy.limit(whole, y, sympy.oo)
            yield equal(f"{name}, n = {even}", value, most - 2 * at + least)


def check_rest(kernel: Kernel) -> Iterator[Check]:
    """The kernel's bounds of what is left out, with one exponential for each sum, against the formulas."""
    groups, r, growth = Groups.of(2), *(sympy.Symbol(name, negative=True) for name in "rg")
    c0, c1, mu, e, e2 = (positive_symbol(name) for name in ("c", "c_1", "mu", "e", "h"))
    fit, c = _fit(kernel, r, (c0, c1), (e, growth), (e2, growth)), c0 + mu * c1
    of = groups.spectrum(kernel)
    found = kernel.finite_gap.rest(of, fit, numbers(list(groups.a)), SymbolicNumber(groups.b), SymbolicNumber(mu))
    D = {x: _mass(groups, x) for x in (r, growth)}

    def left(of_Q: Expr, of_K: Expr) -> Expr:
        return D[growth] * groups.mean(e * of_Q + sympy.Rational(4, 3) * e2 * of_K, growth)

    # |Q| and |dQ/db| by the sizes of their coefficients.
    b, trace = groups.b, sum(n * s for n, s in zip(groups.n, groups.sigma, strict=True))
    Q = groups.P - sympy.Rational(7, 3) * groups.K
    sizes = [b**2 * trace / 2, b * trace]
    for s, a, chi in zip(groups.sigma, groups.a, groups.chi, strict=True):
        parts = [
            b * s**2 * a * (1 - sympy.Rational(7, 6) * b * s * a),
            s**2 * a * (1 - sympy.Rational(7, 3) * b * s * a),
        ]
        yield equal("a coefficient of Q", sympy.diff(Q, chi), parts[0])
        yield equal("and of dQ/db", sympy.diff(Q, chi, b), parts[1])
        sizes = [size + abs(part) * chi for size, part in zip(sizes, parts, strict=True)]
    yield equal("|R_L - R - G|", plain(found.value), left(sizes[0], groups.K))
    yield equal("its derivative along b", plain(found.gradient[2]), left(sizes[1], sympy.diff(groups.K, b)))
    # The first group stands for each.
    s, a, n, chi = groups.sigma[0], groups.a[0], groups.n[0], groups.chi[0]
    direct = b * s**2 * (1 - sympy.Rational(7, 3) * b * s * a)
    yield equal("dQ/da_1 without v", sympy.diff(Q, a), direct * chi)
    size, weighted = plain(list(kernel.finite_gap._distances(n, SymbolicNumber(groups.tilts(growth)[0]))))
    far = b * s**2 * left(chi, sympy.Integer(0))
    for factor, part in ((e, sizes[0]), (sympy.Rational(4, 3) * e2, groups.K)):
        others, own = part.subs(chi, 0), sympy.diff(part, chi)
        means = groups.mean(others, growth) * size, own * weighted
        far += factor * D[growth] * sum(means) / a
    steep = chi * (groups.P + sympy.Rational(8, 3) * groups.K)
    known = c * D[r] * groups.mean(steep, r) + e * D[growth] * groups.mean(steep, growth)
    alone = [tuple(map(SymbolicNumber, (r, c, c)))]
    by_variance = kernel.finite_gap._by_variance(of, alone, numbers(list(groups.a)), SymbolicNumber(groups.b), 0)
    near = plain(abs(by_variance)) + left(abs(direct) * chi, sympy.diff(groups.K, a)) + 2 * s**2 * a * known
    smaller = plain(found.gradient[0])
    for name, bound in (("by parts", far), ("by the slopes", near)):
        yield Check(f"along a_1 {name}", smaller.func is sympy.Min and any(same(x, bound) for x in smaller.args))


def _mass(groups: Groups, r: Expr) -> Expr:
    """D as the kernel has it."""
    return sympy.Mul(*(sympy.sqrt(t) ** n for t, n in zip(groups.tilts(r), groups.n, strict=True)))


def check_tube(kernel: Kernel) -> Iterator[Check]:
    """How a flow parts from a parabola, and from a polygon."""
    t, h = real("t"), positive_symbol("h")
    for d in (1, 2):
        s, w, z, x, F = (column(vector(name, d)) for name in "swzxF")
        J = matrix("J", d, d)
        parabola = z + s * t + w * t * (t - h) / 2
        m = z + s * h / 2
        rate = F + J * (parabola + x - m) - parabola.diff(t)
        middle = t - h / 2
        stated = (F - s) + (J * s - w) * middle + J * w * t * (t - h) / 2 + J * x
        yield equal(f"(y - p)' without what the field is off by, {d} coordinates", rate, stated)
    yield equal("|t (t - h) / 2| is at most h^2 / 8", h**2 / 8 - t * (h - t) / 2, (t - h / 2) ** 2 / 2)
    yield equal("|t - h/2| is at most h/2", h**2 / 4 - (t - h / 2) ** 2, t * (h - t))
    mu, e0, beta, speed = (positive_symbol(name) for name in ("mu", "e0", "beta", "c"))
    leg = sympy.exp(mu * t) * (e0 + beta * t**2 * speed / 2)
    yield equal("the bound beside a polygon", sympy.diff(leg, t), mu * leg + beta * t * speed * sympy.exp(mu * t))
