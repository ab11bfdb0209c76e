"""Mean squares over random prompts: output-mean-square and gradient-mean-square."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import intervals
from arrays import Matrix, Vector, vector
from decisions import at_most, below, bounded, bounds, close, within, within_bounds
from fields import fields, one_of, optional, refuse, some, witness_of
from functions import Complex, arctan, cdiv, cmul, csub, exp, log, pi, turn
from intervals import I, absolute, iv, plus_minus, root, smallest, square, summed
from laws import Law, series
from matrices import around, flat, frobenius, gram, identity, matmul, scaled, times, trace, transposed
from outcomes import NotCovered, NotProved, Rejected
from prompts.gaussians import RANDOM, gaussian_queries, reweighted, split, tilt_of
from prompts.ranges import starts_of, worst
from prompts.tails import Tails, lengths
from scalars import positive, probability, rational
from softmax import bilinear, scale_of
from vectors import dot, norm2, plus
from weight_means import FiniteMeans, collisions, exactly, logistic


def over_queries(given: dict[str, Any], law: Law, L: int, low: Any, high: Any) -> None:
    """The mean square over Gaussian queries too, by the bound `integral` of the page.

    H(w) = E (T + z'Bz) e^(w z'Nz) by elimination over complex intervals. A(w) = D^-1 - 2 w R'NR has a positive definite
    real part where Re w <= r and A(r) > 0; then so have all Schur complements: each pivot has a positive real part, its
    principal root is continuous and positive on the real line, and H takes their product.
    """
    (U, V), (s2, _) = bilinear(given, law.d), scale_of(given["scale"])
    m, S = gaussian_queries(given["queries"], len(U[0]))
    CU = matmul(law.cov, U)
    N = scaled(s2, matmul(transposed(U), CU))
    VCU = matmul(V, CU)
    B = scaled(s2, gram(VCU))
    T = trace(around(V, law.cov))
    plain = T + trace(matmul(B, S)) + dot(m, times(B, m))
    if L == 1:
        within(plain, low, high, "mean_square of one token")
        return
    if low is not None:
        raise NotProved("integral proves mean_square.at_most only")
    if iv(high).a >= iv(plain).b:  # the logistic bound is at most 1
        return

    def real(r: Fraction) -> I:
        """H(r); NotProved where 2 r |M| < 1 is false."""
        det, Sr = reweighted(S, scaled(r, N), "1 - 2 theta M")
        mu = plus(m, [2 * r * x for x in times(Sr, times(N, m))])
        size = T + trace(matmul(B, Sr)) + dot(mu, times(B, mu))
        return exp(iv(r * dot(times(N, m), mu))) * size / root(iv(det))

    far = log(iv(L - 1)) if L > 2 else iv(0)
    columns, ds = split(S)
    inner = around(columns, N) if columns else []
    reach, step = Fraction(0), Fraction(1, 2)
    for _ in range(12):  # the largest r < 1 of a grid with A(r) > 0
        try:
            reweighted(S, scaled(reach + step, N), "")
            reach += step
        except NotProved:
            pass
        step /= 2
    if not reach:
        raise NotCovered("queries whose scores vary hugely")

    def line(r: Fraction) -> I:
        """W(r)"""
        return real(r) * exp(far * -r) / (2 * turn(pi() * r)[1])

    def integrand(theta: Fraction, eta: Fraction) -> I:
        """The real part of pi/sin(pi w) (L-1)^-w H(w) at w = theta + i eta."""
        w: Complex = iv(theta), iv(eta)
        e = exp(pi() * eta)
        c, s = turn(pi() * theta)
        value = cdiv((pi(), iv(0)), (s * ((e + 1 / e) / 2), c * ((e - 1 / e) / 2)))
        c, s = turn(-far * eta)
        size = exp(far * -theta)
        value = cmul(value, (c * size, s * size))
        n = len(inner)
        A: list[list[Complex]] = [
            [((1 / ds[i] if i == j else 0) - 2 * x * w[0], -2 * x * w[1]) for j, x in enumerate(row)]
            for i, row in enumerate(inner)
        ]
        A = [row + [(iv(columns[i][j]), iv(0)) for j in range(len(m))] for i, row in enumerate(A)]
        for i in range(n):
            pivot = A[i][i]
            below(0, pivot[0], "the real part of a pivot")
            size = root(root(square(pivot[0]) + square(pivot[1])) * ds[i])
            half = arctan(pivot[1] / pivot[0]) / 2
            c, s = turn(half)
            value = cdiv(value, (size * c, size * s))
            for j in range(i + 1, n):
                f = cdiv(A[j][i], pivot)
                A[j] = [csub(x, cmul(f, y)) for x, y in zip(A[j], A[i], strict=True)]
        for i in reversed(range(n)):
            for j in range(n, n + len(m)):
                x = A[i][j]
                for k in range(i + 1, n):
                    x = csub(x, cmul(A[i][k], A[k][j]))
                A[i][j] = cdiv(x, A[i][i])
        # S_w = R A^-1 R', by real and imaginary parts
        solved = [[[x[part] for x in row[n:]] for row in A] for part in (0, 1)]
        Sw = [matmul(transposed(columns), x) if n else scaled(0, S) for x in solved]
        Nm = times(N, m)
        move = [times(Sw[part], Nm) for part in (0, 1)]
        mu = [cmul((2 * w[0], 2 * w[1]), t) for t in zip(*move, strict=True)]
        mu = [(x + t[0], t[1]) for x, t in zip(m, mu, strict=True)]
        power_ = cmul(w, (dot(Nm, [t[0] for t in mu]) + iv(0), dot(Nm, [t[1] for t in mu]) + iv(0)))
        size, (c, s) = exp(power_[0]), turn(power_[1])
        value = cmul(value, (size * c, size * s))
        re, im = iv(T) + trace(matmul(B, Sw[0])), iv(0) + trace(matmul(B, Sw[1]))
        for i, row in enumerate(B):
            for j, x in enumerate(row):
                t = cmul(mu[i], mu[j])
                re, im = re + t[0] * x, im + t[1] * x
        return cmul(value, (re, im))[0]

    theta = min((reach * k / 8 for k in range(1, 8)), key=lambda r: line(r).b)
    c_ = min(theta, reach - theta) * Fraction(15, 16)
    bits = min(intervals.P // 3, 300)
    h = Fraction(math.floor(float(c_) * 2 * math.pi / (bits * 0.7 + 8) * 2**20), 2**20)
    ends = math.ceil((bits * 0.7 + 8) / math.pi / h)
    if ends > 20_000:
        raise NotCovered("queries whose scores vary hugely")
    total = integrand(theta, Fraction(0)) + 2 * summed(integrand(theta, h * j) for j in range(1, ends + 1))
    off = (line(theta - c_) + line(theta + c_)) / (exp(2 * pi() * (c_ / h)) - 1)
    off += 4 / pi() * exp(-pi() * (ends * h)) * line(theta)
    at_most(total * h / (2 * pi()) + plus_minus(off), high, "mean_square.at_most")


def upper_bounds_only(lower: Sequence[Fraction | None]) -> None:
    """For every length from one on mean squares have upper bounds, which fall, and no lower ones."""
    if any(low is not None for low in lower):
        raise NotProved("a lower bound for every length from one on")


def exact_onwards(starts: list[int], law: Law, tilt: list[Any], base: Vector, V: Matrix, v: Any) -> list[Any]:
    """Bounds of the mean square and of q for every length from one on, as functions without arguments."""
    if law.kind != "gaussian":
        means = cache(lambda n: FiniteMeans(law, tilt, base, n))
        return [
            lambda: worst(starts, lambda n: means(n).mean_square(V), lambda n: means(n).falling(V)[0]),
            lambda: worst(starts, lambda n: means(n).collision(), lambda n: means(n).falling(V)[1]),
        ]
    E, S, B = cache(lambda n: collisions(v, n)), trace(around(V, law.cov)), norm2(times(V, times(law.cov, tilt)))
    return [
        lambda: worst(starts, lambda n: exactly(E(n), S, B), lambda n: logistic(v, n) * (S + B)),
        lambda: worst(starts, lambda n: E(n)(2), lambda n: logistic(v, n)),
    ]


def output_mean_square(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/output-mean-square.md"""
    given = fields(g, "given", "law length", RANDOM + " queries")
    law, (L, onwards) = Law(given["law"]), lengths(given["length"], "length")
    asserts = some(a, "asserts", "mean_square mean collision")
    low, high = optional(bounds, asserts["mean_square"], "mean_square", None) or (None, None)
    hint = witness_of(w, "" if w is None else "method", "method t lambda from")
    if onwards:
        upper_bounds_only([low, *(optional(bounds, asserts["collision"], "collision", None) or [None])[:1]])
        if hint["method"] in (None, "exact") and given["queries"] is None and hint["from"] is None:
            raise NotProved("the method exact is for one length")
    if given["queries"] is not None:
        method = one_of("exact" if hint["method"] is None else hint["method"], "method", "exact", "integral")
        if given["tilt"] is not None or given["query"] is not None or law.kind != "gaussian":
            raise Rejected("given.queries: for Gaussian tokens, without a query or tilt")
        witness_of(w, "", "method from" if method == "exact" else "method")
        if asserts["mean"] is not None or asserts["collision"] is not None:
            raise NotProved("of random queries nothing but the mean square is proved")
        if method == "exact" and onwards and hint["from"] is None:
            raise NotProved("the method exact is for one length")
        if method == "exact" and (onwards or L > 1):
            raise NotCovered("exact averages over queries")
        over_queries(given, law, L, low, high)
        return
    tilt, _, V, _, base = tilt_of(given, law)
    method = "exact" if hint["method"] is None else hint["method"]
    one_of(method, "method", "exact", "logistic", "moments", "general")
    if method == "general":
        fields(w, "witness", "method t lambda")
        if low is not None or asserts["mean"] is not None or asserts["collision"] is not None:
            raise NotProved("general proves mean_square.at_most only")
        at_most(general(law, tilt, V, L, hint, onwards), high, "mean_square.at_most")
        return
    if hint["from"] is not None:
        fields(w, "witness", "method from")
        refuse(method != "exact", "from: for the method exact")
        if asserts["mean"] is not None:
            raise NotProved("of every length nothing is proved of the mean")
        v = squared(given, law, tilt, dot(tilt, times(law.cov, tilt))) if law.kind == "gaussian" else None
        square_, q = exact_onwards(starts_of(hint["from"], L, onwards), law, tilt, base, V, v)
        at_most(square_(), high, "mean_square.at_most") if high is not None else None
        if asserts["collision"] is not None:
            at_most(q(), bounds(asserts["collision"], "collision")[1], "collision.at_most")
        return
    witness_of(w, "", "method")
    if law.kind != "gaussian":
        refuse(method == "logistic", "method: for Gaussian tokens")
        finite_mean_square(FiniteMeans(law, tilt, base, L), V, asserts, low, high, method)
        return
    refuse(method == "moments", "method: not for Gaussian tokens")
    b = times(law.cov, tilt)
    v, Vb = squared(given, law, tilt, dot(tilt, b)), times(V, b)
    S, B = trace(around(V, law.cov)), norm2(Vb)
    if method == "logistic":
        if asserts["mean"] is not None:
            raise NotProved("logistic proves nothing of the mean")
        q = logistic(v, L)
        within_bounds((S - B / 2) / L, q * (S + B), low, high, "mean_square")
        if asserts["collision"] is not None:
            within_bounds(Fraction(1, L), q, *bounds(asserts["collision"], "collision"), "collision")
        return
    E = collisions(v, L)
    q = E(2)
    bounded(asserts, "collision", lambda: q)
    if asserts["mean_square"] is not None:
        within(exactly(E, S, B), low, high, "mean_square")
    if asserts["mean"] is not None:
        f = fields(asserts["mean"], "mean", "value radius")
        for x, y in zip(Vb, vector(f["value"], "mean.value", len(V)), strict=True):
            close(iv(-q * x), y, rational(f["radius"], "radius"), "mean")


def finite_mean_square(
    means: FiniteMeans, V: Matrix, asserts: dict[str, Any], low: Any, high: Any, method: str
) -> None:
    """What is asserted of atoms and signs, by `exact` or `moments`."""
    if method == "moments":
        if low is not None or asserts["mean"] is not None:
            raise NotProved("moments proves upper bounds only")
        most, q = means.falling(V)
        at_most(most, high, "mean_square.at_most") if high is not None else None
        if asserts["collision"] is not None:
            within_bounds(Fraction(0), q, *bounds(asserts["collision"], "collision"), "collision")
        return
    bounded(asserts, "collision", means.collision)
    if asserts["mean_square"] is not None:
        within(means.mean_square(V), low, high, "mean_square")
    if asserts["mean"] is not None:
        f = fields(asserts["mean"], "mean", "value radius")
        for x, y in zip(means.mean(V), vector(f["value"], "mean.value", len(V)), strict=True):
            close(x, y, rational(f["radius"], "radius"), "mean")


def squared(given: dict[str, Any], law: Law, tilt: list[Any], v: Any) -> Any:
    """a' Gamma a, exactly also where the scale is a root."""
    if isinstance(v, Fraction):
        return v
    U, _ = bilinear(given, law.d)
    y = times(U, vector(given["query"], "query"))
    return scale_of(given["scale"])[0] * dot(y, times(law.cov, y))


def rare(law: Law, tilt: list[Any], L: int, tokens: int, hint: dict[str, Any]) -> tuple[Tails, Any, Fraction, I]:
    """The tilted law, R2 = E w^2, t, and e^(lambda L (1-t)) (1 - lambda + lambda^2 R2/2)^n: a bound of P(sum of n
    weights < L (1-t)).
    """
    # the rules of tails, which need scale and base, are not used here
    tails = Tails(law, tilt, L, (Fraction(1), 1), [Fraction(0)] * law.d)
    R2 = exp(law.tilted([2 * x for x in tilt])[0] - 2 * tails.value)
    t, lam = probability(hint["t"], "witness.t"), positive(hint["lambda"], "witness.lambda")
    return tails, R2, t, exp(log(1 - lam + R2 * (lam * lam / 2)) * tokens + lam * L * (1 - t))


def general(law: Law, tilt: list[Any], V: Matrix, L: int, hint: dict[str, Any], onwards: bool) -> I:
    """(5) of output-mean-square; for every length from L on with the largest n P^n: at n = 1/x, x = -log P, 1/(e x)."""
    tails, _, t, p = rare(law, tilt, L, L, hint)
    second = summed(tails.moments(u, None, 0, 2)[2] for u in V)
    fourth = summed(joint(law, [Fraction(0)] * law.d, u, v, tails.tau, 2, 2) * 4 for u in V for v in V)
    weighed = L * smallest([p, iv(1)])
    if onwards:
        decay = -log(rare(law, tilt, 1, 1, hint)[3])
        if decay.a <= 0:
            raise NotProved("the bound of a small normaliser does not fall with the length")
        if (decay * L).a < 1 << intervals.P:  # L is not known to be past 1/x
            weighed = exp(iv(-1)) / decay
    return second / (L * (1 - t) ** 2) + root(fourth * weighed)


def joint(law: Law, b: Sequence[Any], u: Sequence[Any], v: Sequence[Any], tau: Sequence[Any], i: int, j: int) -> Any:
    """E e^<b, x> <u, y>^i <v, y>^j / (i! j!), y = x - tau."""
    f = series(law, b, u, v, i, j)
    one, two = -dot(u, tau), -dot(v, tau)
    return summed(
        f[i - r][j - s] * one**r * two**s / (math.factorial(r) * math.factorial(s))
        for r in range(i + 1)
        for s in range(j + 1)
    )


# Of the exact mean square of the gradient in U: coefficients of E P_k1 P_k2 ..., for each of its five parts.
KAPPA = (
    {(2,): 1, (3,): -2, (2, 2): 2},
    {(2,): 1, (3,): -2, (2, 2): 1},
    {(2,): 1, (2, 2): 7, (3,): -14, (2, 2, 2): 20, (2, 3): -52, (4,): 38},
    {(2,): 2, (2, 2): 22, (3,): -36, (2, 2, 2): 80, (2, 3): -184, (4,): 116},
    {(2,): 1, (2, 2): 27, (3,): -62, (2, 2, 2): 240, (2, 3): -680, (4,): 594, (2, 2, 2, 2): 840}
    | {(2, 2, 3): -2880, (2, 4): 2480, (3, 3): 1020, (5,): -1580},
)


def gradient_mean_square(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/gradient-mean-square.md"""
    given = fields(g, "given", "law length", RANDOM)
    law, (L, onwards) = Law(given["law"]), lengths(given["length"], "length")
    tilt, z, V, scale, base = tilt_of(given, law)
    f, hint = fields(a, "asserts", "gradient mean_square"), fields(w, "witness", "method", "t lambda from")
    kind, (low, high) = one_of(f["gradient"], "gradient", "U", "V"), bounds(f["mean_square"], "mean_square")
    method = one_of(hint["method"], "method", "exact", "logistic", "moments", "general")
    if onwards:
        upper_bounds_only([low])
        if method not in ("logistic", "moments") and (hint["from"] is None or kind == "U"):
            raise NotProved("for every length from one on the method is logistic or moments")
    refuse(kind == "U" and z is None, "given.query: needed for the gradient in U")
    finite = law.kind != "gaussian" and method in ("exact", "moments")
    if hint["from"] is not None:
        refuse(len(w) > 2 or method != "exact", "from: for the method exact")
        starts, v = starts_of(hint["from"], L, onwards), None
        if law.kind == "gaussian":
            v = squared(given, law, tilt, dot(tilt, times(law.cov, tilt)))
        at_most(exact_onwards(starts, law, tilt, base, identity(law.d), v)[0](), high, "mean_square.at_most")
        return
    if method != "general" and (len(w) > 1 or not (finite or (law.kind == "gaussian" and method != "moments"))):
        raise Rejected("the method: for other tokens, or with parameters that it has not")
    factor = scale[0] * norm2(z or []) if kind == "U" else Fraction(1)
    if method == "general":
        refuse(low is not None, "general has no lower bound")
        at_most(general_gradient(law, tilt, V, L, hint, kind) * factor, high, "mean_square.at_most")
        return
    if finite:
        means = FiniteMeans(law, tilt, base, L)
        if method == "moments":
            refuse(low is not None or kind == "U", "moments has no lower bound, and none for U")
            at_most(means.falling(identity(law.d))[0], high, "mean_square.at_most")
            return
        found = means.covariance(V) * factor if kind == "U" else means.mean_square(identity(law.d))
        within(found, low, high, "mean_square")
        return
    C, b = law.cov, times(law.cov, tilt)
    v = squared(given, law, tilt, dot(tilt, b))
    if kind == "V":
        S, B = trace(C), norm2(b)
        if method == "logistic":
            within_bounds((S - B / 2) / L, logistic(v, L) * (S + B), low, high, "mean_square")
        else:
            within(exactly(collisions(v, L), S, B), low, high, "mean_square")
        return
    VC, Vb = matmul(V, C), times(V, b)
    size, spread, vb2, b2 = frobenius(VC), trace(matmul(VC, transposed(V))), norm2(Vb), norm2(b)
    mixed = dot(Vb, times(VC, b))
    if method == "logistic":
        refuse(low is not None, "logistic has no lower bound for U")
        whole = size + spread * trace(C) + vb2 * trace(C) + b2 * spread
        whole += Fraction(5, 2) * absolute(mixed) + 13 * vb2 * b2
        at_most(whole * factor * logistic(v, L), high, "mean_square.at_most")
        return
    E = collisions(v, L)
    kappa = [summed(n * E(*ks) for ks, n in row.items()) for row in KAPPA]
    parts = [size, spread * trace(C), vb2 * trace(C) + b2 * spread, mixed, vb2 * b2]
    within(summed(iv(x) * y for x, y in zip(kappa, parts, strict=True)) * factor, low, high, "mean_square")


def general_gradient(law: Law, tilt: list[Any], V: Matrix, L: int, hint: dict[str, Any], kind: str) -> I:
    """(4) of gradient-mean-square, with all means read off the series in two variables."""
    tails, R2, t, p = rare(law, tilt, L, L - 1, hint)
    ident = identity(law.d)

    def mean(k: int, u: Vector, v: Vector, i: int, j: int) -> Any:
        """E w^k <u, y>^i <v, y>^j"""
        value = joint(law, [k * x for x in tilt] if k else [Fraction(0)] * law.d, u, v, tails.tau, i, j)
        return value * (math.factorial(i) * math.factorial(j)) * exp(-tails.value * k)

    pairs = [(u, v) for u in V for v in ident]
    S2 = [[mean(2, u, v, 1, 1) for v in ident] for u in ident]  # Sigma
    if kind == "V":
        second = summed(mean(0, u, u, 1, 1) for u in ident)
        return trace(S2) / (L * (1 - t) ** 2) + second * p * L
    C = [[mean(1, u, v, 1, 1) for v in ident] for u in ident]
    VC, VS = matmul(V, C), matmul(V, S2)
    four = summed(mean(4, u, v, 2, 2) for u, v in pairs)
    vc2 = norm2(flat(VC))
    vs = summed(mean(2, u, v, 2, 2) for u, v in pairs) - 2 * frobenius(VC, VS) + R2 * vc2
    rest = trace(matmul(VS, transposed(V))) * trace(S2) + 2 * norm2(flat(VS))
    cross = (four + (L - 1) * rest) / L**3
    vy4 = summed(mean(0, u, v, 2, 2) for u in V for v in V)
    y4 = summed(mean(0, u, v, 2, 2) for u in ident for v in ident)
    typical = square(root(vs / L) / (1 - t) + root(cross) / (1 - t) ** 2)
    return typical + p * square(root(vc2) + root(iv(L)) * root(root(vy4 * y4)))
