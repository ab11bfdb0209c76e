"""Attention of random queries and keys: moments, the normaliser, universality."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from typing import Any

from algebra import definite, partitions, raised
from arrays import Matrix, matrix
from decisions import at_most, below, bounded, bounds, capped, same, within
from fields import fields, items, listed, numbers, one_of, present, refuse, some, witness_of
from functions import exp, log, power, zero
from intervals import I, absolute, iv, largest, root, smallest, square, summed
from matrices import less_unit, scaled, times
from outcomes import Rejected
from scalars import natural, positive, probability, rational
from vectors import dot, integers


@cache
def determinant(q: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """The coefficients in b of det(I - b q), by sums of principal minors (all subsets of rows)."""
    n, found = len(q), [1]
    for k in range(1, n + 1):
        minors = 0
        for rows in combinations(range(n), k):
            for order in permutations(range(k)):
                sign = 1
                for i in range(k):
                    for j in range(i):
                        sign = -sign if order[j] > order[i] else sign
                minors += sign * math.prod(q[rows[i]][rows[order[i]]] for i in range(k))
        found.append((-1) ** k * minors)
    while found[-1] == 0:
        found.pop()
    return tuple(found)


@cache
def walks(k: int) -> dict[tuple[int, int], dict[tuple[int, ...], int]]:
    """For r classes of queries and c of keys: how often each det(I - b Q) occurs, with sign, in the means of
    prod_a (e(i_a, j_a) - 1)(e(i_a+1, j_a) - 1)."""
    found: dict[tuple[int, int], dict[tuple[int, ...], int]] = {}
    for rows in partitions(k):
        for cols in partitions(k):
            r, c = max(rows) + 1, max(cols) + 1
            powers: dict[tuple[int, ...], int] = {(0,) * (r * c): 1}  # the product, as a polynomial in the e(i, j)
            for a in range(k):
                for i in (rows[a], rows[(a + 1) % k]):
                    step: dict[tuple[int, ...], int] = {}
                    spot = i * c + cols[a]
                    for n, times_ in powers.items():
                        up = (*n[:spot], n[spot] + 1, *n[spot + 1 :])
                        step[up] = step.get(up, 0) + times_
                        step[n] = step.get(n, 0) - times_
                    powers = step
            table = found.setdefault((r, c), {})
            for n, times_ in powers.items():
                N = [n[i * c : (i + 1) * c] for i in range(r)]
                Q = tuple(
                    tuple(dot(x, y) - (sum(x) if i == j else 0) for j, y in enumerate(N)) for i, x in enumerate(N)
                )
                key = determinant(Q)
                table[key] = table.get(key, 0) + times_
    return found


def expected_moment(k: int, x: Fraction, p: int, d: int) -> I:
    """E m_2k(T) for p > 2k(2k-1)x, x = beta^2; det^(-p/2) once for each determinant."""
    weights: dict[tuple[int, ...], int] = {}
    for (r, c), table in walks(k).items():
        factor = math.perm(d, r) * math.perm(d, c)
        for key, n in table.items():
            weights[key] = weights.get(key, 0) + factor * n
    total = iv(0)
    for key, n in weights.items():
        if n:
            value = sum((q * (x / p) ** i for i, q in enumerate(key)), start=Fraction(0))
            total += (power(value, Fraction(-p, 2)) if value != 1 else iv(1)) * n
    return total / d ** (k + 1)


def limit_moment(k: int, x: Fraction, lam: Fraction, m: Any) -> Any:
    """m_2k = [w^2k] (1 + C)^(2k+1)/(2k+1), C = m w^2 + x^2/lam w^4 + x^3/lam^2 w^6 + ..., m = alpha^2 + beta^2 ."""
    series: list[Any] = [Fraction(1), m] + [x**n / lam ** (n - 1) for n in range(2, k + 1)]
    return raised(series, 2 * k + 1, k)[k] / (2 * k + 1)


def random_size(given: dict[str, Any]) -> tuple[Fraction, Fraction, int, int]:
    """beta^2, lambda, d and p = lambda d of random queries and keys."""
    beta, lam, d = positive(given["beta"], "beta"), positive(given["lambda"], "lambda"), natural(given["d"], "d", 2)
    refuse((lam * d).denominator != 1, "given: lambda d is no whole number")
    return beta * beta, lam, d, int(lam * d)


def orders(
    node: Any, where: str, need: str = "order", may: str = "at_least at_most"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Items of a list with an order 2k of 2, 4, 6, 8, as k."""
    for item in items(node, where):
        f = fields(item, where, need, may)
        yield int(one_of(f["order"], f"{where}.order", "2", "4", "6", "8")) // 2, f


def finite_moments(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/finite-moments.md"""
    witness_of(w)
    x, lam, d, p = random_size(fields(g, "given", "beta lambda d"))
    asserts = some(a, "asserts", "moments ratios entry_parts variance infinite smallest thresholds")
    m2 = exp(x) - 1

    def finite(k: int, p: int) -> bool:
        """Whether E m_2k(T) is finite."""
        return p > 2 * k * (2 * k - 1) * x

    for kind in ("moments", "ratios", "entry_parts"):
        for k, f in orders(asserts[kind], kind):
            below(2 * k * (2 * k - 1) * x, p, f"{kind}: E m_{2 * k} is finite")
            value = (
                entry(2 * k, x, p) * Fraction(1, d ** (k - 1)) if kind == "entry_parts" else expected_moment(k, x, p, d)
            )
            value = value if kind == "moments" else value / limit_moment(k, x, lam, m2)
            del f["order"]
            within(value, *bounds(present(f), kind), f"{kind} {2 * k}")

    def variance() -> I:
        """Of m_2(T)."""
        below(12 * x, p, "variance.finite")
        return energy_variance(x, p, d)

    bounded(asserts, "variance", variance)
    for node in items(asserts["infinite"], "infinite"):
        same(finite(int(one_of(node, "infinite", "2", "4", "6", "8")) // 2, p), False, "infinite")
    for k, f in orders(asserts["smallest"], "smallest", "order within from", ""):
        close, first = positive(f["within"], "within"), natural(f["from"], "from", 1, d - 1)
        refuse(d - first > 20_000, "smallest: at most 20,000 sizes are looked at")
        for size in range(first, d + 1):
            if size == d:
                same(finite(k, p), True, "smallest.finite")
            if (lam * size).denominator == 1 and finite(k, int(lam * size)):
                far = absolute(expected_moment(k, x, int(lam * size), size) / limit_moment(k, x, lam, m2) - 1)
                at_most(far, close, "smallest.at") if size == d else below(close, far, f"smallest.before, at {size}")
    for k, f in orders(asserts["thresholds"], "thresholds", "order beta", ""):
        pair = 2 * k * x, log(Fraction(d))
        lower, upper = pair if one_of(f["beta"], "thresholds.beta", "below", "above") == "below" else pair[::-1]
        below(lower, upper, "thresholds")


def entry(n: int, x: Fraction, p: int) -> I:
    """E t^n for one entry, t = e - 1."""
    return summed(math.comb(n, i) * (-1) ** (n - i) * phi(i * (i - 1), x, p) for i in range(n + 1))


def energy_variance(x: Fraction, p: int, d: int) -> I:
    """Of m_2(T), for p > 12x."""
    u = x / p  # entries of one row share the query, those of one column the key: r and c are E t^2 t'^2
    r = phi(4, x, p) - 2 * phi(2, x, p) + 1
    c = power((1 - 6 * u) * (1 + 2 * u), Fraction(-p, 2)) - 4 * power(1 - 2 * u - 4 * u * u, Fraction(-p, 2))
    c += 4 * power(1 - u * u, Fraction(-p, 2)) + 2 * phi(2, x, p) - 3
    mean = square(phi(2, x, p) - 1)
    return (entry(4, x, p) - mean) / d**2 + (r + c - 2 * mean) * Fraction(d - 1, d * d)


def phi(n: int, x: Fraction, p: int) -> I:
    """(1 - n x/p)^(-p/2), the mean of e^(n x |q|^2/2p) over q of N(0, I_p)."""
    return power(1 - n * x / p, Fraction(-p, 2)) if n else iv(1)


def normaliser(x: Fraction, d: int, p: int, theta: Fraction, cut: Fraction) -> I:
    """The bound of E W_2^2 of docs/claims/spectrum/normalizer-bound.md."""
    refuse(not 0 < theta < 1 or cut <= 1, "witness: 0 < theta < 1 and cut > 1")
    below(12 * x, p, "finite")
    typical = ((phi(4, x, p) - 2 * phi(2, x, p) + 1) * (d - 1) + fourth(x, p)) / ((1 - theta) * d) ** 2
    return typical + low_row(x, d, p, theta, cut) * (d - 1)


def fourth(x: Fraction, p: int) -> I:
    """E t^4."""
    return phi(12, x, p) - 4 * phi(6, x, p) + 6 * phi(2, x, p) - 3


def low_row(x: Fraction, d: int, p: int, theta: Fraction, cut: Fraction) -> I:
    """The probability that a row has a low normaliser, or a long query."""
    return exp(-exp(-cut * x) * (d * theta**2 / 2)) + exp((log(cut) + 1 - cut) * Fraction(p, 2))


def normalizer_bound(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/normalizer-bound.md"""
    x, _, d, p = random_size(fields(g, "given", "beta lambda d"))
    asserts = some(a, "asserts", "mean_square distance drawn")
    theta, cut = numbers(w, "witness", "theta cut")
    bound = normaliser(x, d, p, theta, cut)
    capped(asserts, "mean_square", lambda: bound)
    capped(asserts, "distance", lambda: root(bound))
    if asserts["drawn"] is not None:
        drawn(some(asserts["drawn"], "drawn", "second stable_rank entropy top", "probability"), x, d, p, theta, cut)


def drawn(f: dict[str, Any], x: Fraction, d: int, p: int, theta: Fraction, cut: Fraction) -> None:
    """What a drawn matrix is like: the section of that page about it."""
    chance, rest = probability(f["probability"], "drawn.probability"), 1 - theta
    failing = low_row(x, d, p, theta, cut) * d
    squares = []
    if f["stable_rank"] is not None:
        squares += numbers(f["stable_rank"], "drawn.stable_rank", "at_most")
    for item in items(f["top"], "drawn.top"):
        each = fields(item, "drawn.top", "count at_most")
        count = natural(each["count"], "drawn.top.count", 1, d)
        squares.append(positive(each["at_most"], "drawn.top.at_most") ** 2 * d / count)
    if squares:
        room = rest**2 * (min(squares) - 1) - (phi(2, x, p) - 1)
        below(0, room, "drawn: E m_2(T)")
        spread = energy_variance(x, p, d)
        failing += spread / (spread + square(room))
    if f["entropy"] is not None:
        (least,) = numbers(f["entropy"], "drawn.entropy", "at_least")
        room = (log(Fraction(d)) - least) * rest - x / 2
        below(0, room, "drawn: beta^2 / 2")
        spread = divergence_variance(x, p, d)
        failing += spread / (spread + square(room))
    if f["second"] is not None:
        node = fields(f["second"], "drawn.second", "at_most")
        unit = (positive(node["at_most"], "drawn.second.at_most") * rest) ** 2 * d
        finite = [k for k in (2, 3, 4) if p > 2 * k * (2 * k - 1) * x]
        failing += smallest([iv(1), *(expected_moment(k, x, p, d) * (d / unit**k) for k in finite)])
    at_most(failing, chance, "drawn.probability")


def divergence_variance(x: Fraction, p: int, d: int) -> I:
    """Of the mean of f(e) = e log e - e + 1 over all entries; u = x/p, h = p/2."""
    u, h = x / p, Fraction(p, 2)
    g, s = 1 - 2 * u, 1 - u * u
    # by a at 2: (1 - (a^2 - a) u)^-h and its two derivatives; by a and c at 1: their product less (a c u)^2
    one = power(g, -h) * (1 - 2 * (h * 3 * u / g) + h * (h + 1) * 9 * u * u / g**2 + h * 2 * u / g) + x - 1
    v = u + 2 * u * u
    two = power(s, -h) * (1 - 2 * (h * v / s) + h * (h + 1) * v * v / s**2 + h * 3 * u * u / s) + x - 1
    mean = (x / 2) ** 2
    return (one - mean) / d**2 + (x * u / 2 + two - mean) * Fraction(d - 1, d * d)


def norm_of(m: Matrix) -> Fraction:
    """A bound of the largest eigenvalue of a positive semidefinite matrix: guessed in floats, then proved."""
    v = [1.0 + i / len(m) for i in range(len(m))]
    f = [[float(x) for x in row] for row in m]
    size = 1.0
    for _ in range(300):
        v = times(f, v)
        size = max(map(abs, v)) or 1.0
        v = [x / size for x in v]
    guess = Fraction(size * (1 + 1e-7) + 1e-12)
    definite(scaled(-1, less_unit(m, guess)), "a bound of a norm")
    return guess


@dataclass
class Sizes:
    """Of queries, as docs/claims/spectrum/universality-bound.md names them: |G|, c, r, mu, gamma, and means over i of
    Sigma_ii^2, of Sigma_ii^2 (e^(4x G_ii) - 1) and of the sum over j != i of Sigma_ij^2."""

    norm: Any
    c: Any
    r: Any
    mu: Any
    gamma: Any
    own: Any
    fourth: Any
    others: Any


def sizes_of(X: Matrix, x: Fraction) -> Sizes:
    """Of given queries."""
    ints, den = integers(X)
    d, p = len(X), len(X[0])
    G = [[Fraction(dot(u, v), den * den * p) for v in ints] for u in ints]
    off = [[y for j, y in enumerate(row) if j != i] for i, row in enumerate(G)]
    own = [square(exp(x * G[i][i]) - 1) for i in range(d)]
    return Sizes(
        norm_of(G),
        max(G[i][i] for i in range(d)),
        max(sum(y * y for y in row) for row in off),
        max(abs(y) for row in off for y in row),
        sum(y * y for row in G for y in row) / d,
        summed(own) / d,
        summed(s * (exp(4 * x * G[i][i]) - 1) for i, s in enumerate(own)) / d,
        summed(square(exp(x * y) - 1) for row in off for y in row) / d,
    )


def form_variance(s: Sizes, x: Fraction) -> I:
    """V: the variance of t'Bt is at most d V."""

    def beyond(t: int) -> Any:
        """(e^(t x mu) - 1 - t x mu) / mu^2, which is (t x)^2/2 at mu = 0."""
        return (exp(t * x * s.mu) - 1 - t * x * s.mu) / s.mu**2 if s.mu else Fraction(t * t) * x * x / 2

    def e2(y: Any) -> I:
        """e^y - 1 - y"""
        return exp(y) - 1 - y

    def plain(t: int) -> I:
        """A(t)"""
        return t * x * root(s.gamma) + e2(t * x * s.c) + root(s.r) * s.mu * beyond(t)

    def norms(t: int) -> I:
        """D(t)"""
        return t * x * s.norm + e2(t * x * s.c) + s.r * beyond(t)

    parts = [
        s.fourth + s.own * (4 * x * s.norm + s.r * beyond(4)),
        square(plain(2)) - 2 * square(plain(1)),
        4 * s.others * norms(1),
        square(exp(x * s.mu) - 1) * (square(norms(2)) - 2 * square(norms(1))),
    ]
    return square(summed(root(part) for part in parts))


def typical(hint: dict[str, Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    """c, mu and z of typical queries."""
    cut, mu, z = hint["cut"], hint["coherence"], hint["excess"]
    refuse(cut <= 1 or mu <= 0 or z <= 0, "witness: cut > 1, coherence > 0 and excess > 0")
    return cut, mu, z


def atypical(d: int, p: Fraction, cut: Fraction, mu: Fraction, z: Fraction) -> I:
    """The probability of other queries is at most this."""
    long = log(cut) + 1 - cut
    lengths = exp(long * p / 2) + exp(long * Fraction(d - 1, 2))
    return d * lengths + d * d * exp(-(mu**2) * p / (2 * cut)) + exp(-z * z / 2)


def universality_bound(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/universality-bound.md"""
    given = fields(g, "given", "beta eta", "queries lambda d")
    asserts = some(a, "asserts", "universality concentration linearisation equivalence")
    eta = positive(given["eta"], "eta")
    fixed = given["queries"] is not None
    if fixed:
        if given["lambda"] is not None or given["d"] is not None or asserts["linearisation"] or asserts["equivalence"]:
            raise Rejected("given queries: no lambda, d, linearisation or equivalence")
        X = matrix(given["queries"], "given.queries")
        x, d, p = positive(given["beta"], "beta") ** 2, len(X), len(X[0])
        refuse(d < 2, "given.queries: two at least")
    else:
        x, _, d, p = random_size(given)
    b = x / p
    hinted_ = not fixed and (asserts["universality"] is not None or asserts["equivalence"] is not None)
    hint = {k: rational(v, k) for k, v in witness_of(w, "theta cut coherence excess" if hinted_ else "").items()}
    universal, forms, rare = iv(0), iv(0), iv(0)

    def f(n: int) -> I:
        """(1 - n b^2)^(-p/2)"""
        return power(1 - n * b * b, Fraction(-p, 2))

    if fixed and asserts["universality"] is not None:
        sizes = sizes_of(X, x)
        universal = (form_variance(sizes, x) + 2 * (sizes.own + sizes.others)) / (d * eta**3)
    elif hinted_:
        cut, mu, z = typical(hint)
        below(12 * x, p, "universality.finite")
        rare = atypical(d, Fraction(p), cut, mu, z)
        one, two = phi(2, x, p), phi(4, x, p)
        sizes = Sizes(
            square(root(Fraction(d)) + root(Fraction(p)) + z) / p,
            cut,
            cut**2 * (d - 1) / p,
            mu,
            1 + Fraction(d + 1, p),
            two - 2 * one + 1,
            phi(12, x, p) - 2 * phi(10, x, p) + phi(8, x, p) - two + 2 * one - 1,
            (f(4) - 2 * f(1) + 1) * (d - 1),
        )
        forms = form_variance(sizes, x)
        universal = (forms + 2 * (sizes.own + sizes.others)) / (d * eta**3) + rare / eta
    capped(asserts, "universality", lambda: universal)
    if asserts["concentration"] is not None:
        t, most = numbers(asserts["concentration"], "concentration", "deviation at_most")
        refuse(t <= 0, "concentration.deviation: not positive")
        at_most(exp(-(2 if fixed else 1) * d * (eta * t) ** 2) * 2, most, "concentration")
    if asserts["linearisation"] is None and asserts["equivalence"] is None:
        return
    below(4 * x, p, "linearisation.finite")
    e = exp(x)
    g2 = f(4) + 1 + p * b * b - 2 * f(1) - f(1) * (2 * p * b * b / (1 - b * b))
    c2 = e - x
    g1 = phi(4, x, p) - phi(2, x, p) * (2 * x / (1 - 2 * b)) + x * x * (1 + Fraction(2, p))
    g1 += square(c2) - 2 * c2 * (phi(2, x, p) - x)
    linear = g2 * (d * (d - 1)) + g1 * d
    bounded(asserts, "linearisation", lambda: linear)

    def equivalence() -> I:
        """Of the resolvents of attention and of its equivalent: normalisers, one dimension, columns, covariances."""
        alpha2, mean = e - 1 - x, phi(2, x, p) - 1
        gauss = square(alpha2) + 2 * alpha2 * x + x * x * (1 + Fraction(d + 1, p))
        total = slope(eta) * root(normaliser(x, d, p, hint["theta"], hint["cut"])) + mean / ((mean + eta) * (d * eta))
        total += (forms + 2 * gauss) / (d * eta**3) + root(linear / d) / eta**2
        return total + rare / eta

    capped(asserts, "equivalence", equivalence)


def slope(eta: Fraction) -> I:
    """The largest slope of 1/(y^2 + eta)."""
    return 3 * root(Fraction(3)) / (8 * eta * root(eta))


def attention_spectrum(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/attention-spectrum.md"""
    given = fields(g, "given", "beta lambda from")
    asserts = fields(a, "asserts", "probability transform", "apart")
    x, lam = positive(given["beta"], "beta") ** 2, positive(given["lambda"], "lambda")
    d, chance = natural(given["from"], "from", 2), rational(asserts["probability"], "probability")
    refuse(not 0 < chance < 1, "asserts.probability: not between 0 and 1")
    near = [numbers(node, "transform", "eta within") for node in listed(asserts["transform"], "transform")]
    refuse(any(n <= 0 for pair in near for n in pair), "transform: a number that is not positive")
    apart = asserts["apart"] is not None
    names = "cut coherence excess theta share tail" + " moment" * apart
    hint = {k: rational(v, k) for k, v in witness_of(w, names).items()}
    cut, mu, z = typical(hint)
    theta, eps, delta = hint["theta"], hint["share"], hint["tail"]
    refuse(not 0 < theta < 1 or eps <= 0 or not 0 < delta < 1, "witness: 0 < theta < 1, share > 0, 0 < tail < 1")
    p, ec = lam * d, exp(cut * x)
    low = Fraction(d) * theta**2 / 2 / ec
    at_most(1, min(lam, Fraction(1)) * d * (cut - 1 - log(cut)) / 2, "falls.lengths")
    at_most(1, mu**2 * p / (4 * cut), "falls.products")
    at_most(1, low, "falls.normalisers")
    failing = atypical(d, p, cut, mu, z) + d * exp(-low) + 3 * eps + (1 + 2 * len(near)) * delta
    at_most(failing, chance, "probability")

    def chebyshev(variance: Any) -> I:
        """The deviation that has a probability of epsilon."""
        return root(variance / eps)

    # queries
    q2 = Fraction(2) / p + chebyshev((8 / p**2 + 48 / p**3) / d)
    pairs = 210 * (1 + 2 / p) * (1 + 4 / p) * (1 + 6 / p) / p**4 + 288 * d * (1 + 2 / p) * (1 + 3 / p) / p**5
    q4 = 3 * d * (p + 2) / p**3 + chebyshev(pairs)
    e, row = exp(x), cut**2 / lam
    remainder = (exp(x * mu) - 1 - x * mu) / mu**2  # x^2 phi_2(x mu)
    apart_square = square(x * (ec - 1)) * q2 + square(remainder) * q4  # |Sigma - Sigma_lin|_F^2 / d
    own = square(ec - 1)
    norm = square(root(Fraction(d)) + root(p) + z) / p
    across = row * square((exp(x * mu) - 1) / mu)
    sizes = Sizes(norm, cut, row, mu, cut**2 + row, own, own * (exp(4 * x * cut) - 1), across)
    forms = form_variance(sizes, x)
    # the squares of means of rows
    rate = log(1 / delta) / (p * d)
    sum_ = e - 1 + x * e * 2 * (root(rate) + rate) + x * x / 2 * ec * q2
    sum_ += chebyshev(forms / d**2 + 2 * (own + across) / d)
    alpha2, two = e - 1 - x, log(2 / delta)
    gauss = square(alpha2 + x * cut) + x * x * row
    big = square(root(Fraction(d)) + root(p) + 3) / p

    def bound(eta: Fraction) -> I:
        """Of |s_M - s_mu| at -eta: the five steps."""
        ell = slope(eta)
        first = root(sum_ / d) / (2 * eta * (1 - theta)) + sum_ / ((sum_ + eta) * (d * eta))
        half = two / (3 * d * eta)
        second = half + root(square(half) + 2 * two * forms / (d**2 * eta**4))
        third = (forms + 2 * gauss) / (d * eta**3) + root(apart_square) / eta**2
        fourth = ell * root(x) / d * (1 + 1 / root(lam)) * root(2 * two)
        var_s = square(ell) / d**2 * (alpha2 + 2 * x * big)
        var_tau = (8 / (lam * eta**2) + 2 * square(big) / eta**3 * (alpha2 + 2 * x * big)) / d**2
        var_ups = (x * lam * square(big) / eta**2 * (alpha2 + 4 * x * big) + x * big / eta) / d**2
        e1 = alpha2 * eta * var_s + alpha2 / (4 * eta * d)
        e2 = x * (eta * root(var_s) * root(var_tau) + 1 / (4 * eta * d))
        e3 = root(var_ups) * root(var_s) / lam + root(x) * ell / (2 * p)
        return first + second + third + fourth + (e1 + e2 + x * e3) / eta

    for eta, most in near:
        at_most(bound(eta), most, f"transform at {eta}")
    if not apart:
        return
    m = hint["moment"]
    refuse(m <= 0, "witness.moment: not positive")
    (least,) = numbers(asserts["apart"], "apart", "at_least")
    refuse(least <= 0, "apart.at_least: not positive")
    gaps = []
    for eta, most in near:

        def falling_(s: Fraction, eta: Fraction = eta) -> I:
            """phi(s), which falls from 1 to below 0, with the sign turned."""
            t = eta * s * s
            return alpha2 * t + x * t / (1 + x / lam * t) + eta * s - 1

        s_mu = zero(falling_, Fraction(0), 1 / eta)
        gap = 2 / (eta + root(eta**2 + 4 * m * eta)) - s_mu
        gaps.append((eta * (gap - most), eta * (-gap - most)))
    for k, name in enumerate(("apart.smaller", "apart.larger")):
        at_most(least, largest([pair[k] for pair in gaps]), name)
