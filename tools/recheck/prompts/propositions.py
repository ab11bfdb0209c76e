"""How near finite prompts come to the infinite one: proposition-3-1 and proposition-3-4, published and repaired."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import Any

from algebra import semidefinite
from arrays import Matrix
from decisions import at_most, below, same
from fields import fields, listed, numbers, one_of, refuse, witness_of
from functions import cosh, exp, langevin, log, sinhc
from intervals import I, iv, root, smallest, square, summed
from laws import Law, second_moments
from matrices import around, combined, frobenius, gram, identity, less_unit, matmul, scaled, trace, transposed
from outcomes import NotCovered, NotProved, Rejected
from prompts.classes import of_a_class
from prompts.gaussians import peak, reweighted
from prompts.mean_squares import over_queries
from scalars import natural, positive, probability, rational
from softmax import bilinear, scale_of
from vectors import dot, norm2


def mean_of_forms(forms: Sequence[Matrix], S: Matrix) -> Fraction:
    """E prod y'Ay over y of N(0, S), for up to three symmetric A: joint cumulants are tr AS, 2 tr ASBS, 8 tr ASBSCS."""
    x = [matmul(f, S) for f in forms]
    t = [trace(m) for m in x]
    if len(x) == 1:
        return t[0]
    if len(x) == 2:
        return t[0] * t[1] + 2 * trace(matmul(x[0], x[1]))
    pairs = sum(t[k] * trace(matmul(x[i], x[j])) for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0)))
    return math.prod(t) + 2 * pairs + 8 * trace(matmul(matmul(x[0], x[1]), x[2]))


def symmetric(m: Matrix) -> Matrix:
    """(m + m')/2"""
    return [[(x + y) / 2 for x, y in zip(r, s, strict=True)] for r, s in zip(m, transposed(m), strict=True)]


def sub_gaussian(law: Law, sigma2: Fraction) -> None:
    """The sufficient conditions of docs/claims/prompts/proposition-3-1.md."""
    if law.kind == "gaussian":
        semidefinite(scaled(-1, less_unit(law.cov, sigma2)), "sigma^2 - Gamma")
    elif law.kind == "mixture":
        for part in law.parts:
            same(any(second_moments(part)[0]), False, "a component that is centred")
            sub_gaussian(part, sigma2)
    else:
        worst = max(map(norm2, law.points)) if law.kind == "atoms" else max(law.sizes) ** 2
        at_most(worst, sigma2 * (3 if law.kind == "box" else 1), "sigma is enough for the law")


def proposition_3_1(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/proposition-3-1.md"""
    proposition(g, a, w, "T")


def proposition_3_4(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/proposition-3-4.md; the gradient in V is proposition 3.1 with V = I."""
    kind = one_of(fields(a, "asserts", "gradient", "published repaired")["gradient"], "gradient", "U", "V")
    proposition(g, {k: v for k, v in a.items() if k != "gradient"}, w, kind)


def below_display(c1: Fraction, rho: Fraction, sigma2: Fraction, power: int, L: int, bound: Any, what: str) -> None:
    """bound L^rho/(sigma^6 ln L)^power <= c1"""
    x = log(Fraction(L))
    at_most(bound * exp(x * rho) / ((x * x if power == 2 else x) * sigma2 ** (3 * power)), c1, f"{what}, at {L}")


def for_a_class(g: dict[str, Any], a: dict[str, Any], w: Any, kind: str) -> None:
    """The repaired form for every law of a class."""
    c1, c2 = numbers(fields(a, "asserts", "repaired")["repaired"], "repaired", "c1 c2")
    refuse(c1 <= 0 or c2 <= 0, "repaired: positive constants")
    about = fields(g["class"], "class", "sigma", "dimension radius query_dimension query_sigma")
    sigma2 = positive(about["sigma"], "sigma") ** 2
    refuse(sigma2 < 1, "sigma: at least 1")
    steps = listed(fields(w, "witness", "steps", "norm")["steps"], "steps")
    last = fields(steps[-1], "steps", "from theta t", "eta gap slope delta")
    at_most(c2 / sigma2, rational(last["theta"], "theta"), "steps: the last theta is at least c2/sigma^2")
    of_a_class(g, w, kind, partial(below_display, c1, c2 / sigma2, sigma2, 2 if kind == "U" else 1))


def proposition(g: dict[str, Any], a: dict[str, Any], w: Any, kind: str) -> None:
    """Both propositions; kind T is the output, V and U the gradients."""
    if isinstance(g, dict) and "class" in g:
        for_a_class(g, a, w, kind)
        return
    given = fields(g, "given", "law queries", "K Q U V scale sigma length constants")
    law, queries, (s2, _) = Law(given["law"], "law"), Law(given["queries"], "queries"), scale_of(given["scale"])
    U, V = bilinear(given, law.d)
    refuse(len(U[0]) != queries.d, "given: queries of another dimension")
    V = identity(law.d) if kind == "V" else V
    (mean, C), (mz, S) = second_moments(law), second_moments(queries)
    refuse(any(mean) or any(mz), "given: a law that is not centred")
    asserts, sigma2 = fields(a, "asserts", "", "published repaired"), None
    power = 2 if kind == "U" else 1  # of sigma^6 ln L
    if given["sigma"] is not None:
        sigma2 = positive(given["sigma"], "given.sigma") ** 2
        refuse(sigma2 < 1, "given.sigma: at least 1")
        sub_gaussian(law, sigma2)
    refuse((asserts["published"] is None) == (asserts["repaired"] is None), "asserts: published or repaired")
    VC = matmul(V, C)
    spread, size = frobenius(VC, V), frobenius(VC)
    if asserts["published"] is not None:
        witness_of(w)
        sub_gaussian(queries, Fraction(1))
        claimed, L = one_of(asserts["published"], "published", "fails", "holds"), natural(given["length"], "length", 1)
        flat = not any(map(any, U))
        if kind == "U":
            if not ((law.kind == "gaussian" and (L == 1 or flat)) or (L == 1 and flat)):
                raise Rejected("an instance whose mean square is not known")
            left = s2 * trace(S) * (size + (L - 1) * (size + spread * trace(C))) / L**2
        elif flat:
            left = spread / L
        else:
            if L != 1 or law.kind != "gaussian":
                raise Rejected("an instance whose mean square is not known")
            move = matmul(VC, U)
            left = spread + s2 * trace(around(move, S))
        right: Any = Fraction(0)  # at length 1, where log L = 0, whatever the constants
        if L > 1 or given["constants"] is not None:
            refuse(sigma2 is None, "given.sigma: needed above length 1, and beside constants")
            c1, c2 = numbers(given["constants"], "constants", "c1 c2")
            refuse(c1 <= 0 or c2 <= 0, "constants: positive")
        if L > 1:
            ln = log(Fraction(L))
            right = (ln * ln if power == 2 else ln) * (c1 * sigma2 ** (3 * power)) * exp(ln * (-c2 / sigma2))
        below(right, left, "published") if claimed == "fails" else at_most(left, right, "published")
        return
    if given["length"] is not None or given["constants"] is not None or sigma2 is None:
        raise Rejected("a repaired form has a sigma, and no length or constants")
    c1, c2 = numbers(asserts["repaired"], "repaired", "c1 c2")
    rho = c2 / sigma2
    refuse(c1 <= 0 or c2 <= 0, "repaired: positive constants")

    holds = partial(below_display, c1, rho, sigma2, power)

    if law.kind == queries.kind == "gaussian":
        steps = [fields(x, "steps", "from", "theta") for x in listed(fields(w, "witness", "steps")["steps"], "steps")]
        starts = [natural(x["from"], "steps.from", 2, 10**18) for x in steps]
        refuse(starts[0] != 2 or starts != sorted(set(starts)), "steps: they begin at 2, and rise")
        W = around(transposed(U), C)
        CU = matmul(C, U)
        VCU, VCCU = matmul(V, CU), matmul(VC, CU)
        out, own = scaled(s2, gram(VCU)), scaled(s2, gram(CU))  # |Vb|^2 and |b|^2 as forms of z
        for i, x in enumerate(steps):
            last = i == len(steps) - 1
            ends = {starts[i], starts[i] if last else starts[i + 1] - 1}  # of which one is the worst
            if x["theta"] is None:
                refuse(last, "steps: the last has a theta")
                if kind == "U":
                    raise NotProved("steps: a theta, for the gradient in U")
                about = {"mean": given["queries"]["mean"], "covariance": given["queries"]["covariance"]}
                most = smallest([exp(log(iv(L)) * -rho) * log(iv(L)) * (c1 * sigma2**3) for L in ends])
                of_V = None if kind == "V" else given["V"]
                over_queries({**given, "queries": about, "V": of_V}, law, starts[i], None, most)
                continue
            theta = rational(x["theta"], "theta")
            refuse(not 0 <= theta <= 1, "steps.theta: not between 0 and 1")
            det, T = reweighted(S, scaled(theta * s2, W), "1 - 2 theta s^2 S W")
            if kind != "U":
                mean_f = spread + mean_of_forms([out], T)
            else:
                ident = identity(queries.d)
                mixed = symmetric(scaled(s2, matmul(transposed(VCU), VCCU)))
                try:
                    semidefinite(mixed, "the mixed form")
                except NotProved:
                    mixed = combined([trace(C) / 2, s2 / trace(C) / 2], [out, gram(VCCU)])
                mean_f = (size + spread * trace(C)) * mean_of_forms([ident], T)
                mean_f += trace(C) * mean_of_forms([ident, out], T) + spread * mean_of_forms([ident, own], T)
                mean_f += Fraction(5, 2) * mean_of_forms([ident, mixed], T) + 13 * mean_of_forms([ident, out, own], T)
                mean_f *= s2
            factor = peak(theta) * mean_f / root(det)
            if last:
                at_most(rho, theta, "steps: the last theta is at least c2/sigma^2")
            for L in ends:
                holds(L, factor * (exp(log(Fraction(L - 1)) * -theta) if L > 2 else iv(1)), f"steps[{i}]")
        return
    if law.kind != "box" or queries.kind not in ("box", "rademacher"):
        raise NotCovered("repaired forms of other laws than Gaussian and box")
    hint = fields(w, "witness", "t from")
    t, first = probability(hint["t"], "witness.t"), natural(hint["from"], "from", 2, 100_000)
    size_s = root(s2)
    y = [size_s * (c * dot(map(abs, row), queries.sizes)) for c, row in zip(law.sizes, U, strict=True)]
    R2 = math.prod((cosh(x) / sinhc(x) for x in y), start=iv(1))
    reach = [(1 + langevin(x)) * c for x, c in zip(y, law.sizes, strict=True)]
    delta = [smallest([x / 3, iv(Fraction(1, 4))]) * c for x, c in zip(y, law.sizes, strict=True)]
    m = summed(row[j] ** 2 * law.sizes[j] ** 2 / 3 for row in V for j in range(law.d))
    m += summed(abs(row[j] * row[k]) * delta[j] * delta[k] for row in V for j, k in permutations(range(law.d), 2))
    always: Any = summed(square(dot([abs(v) for v in row], reach)) for row in V)
    part, factor = R2 * m, iv(1)
    if kind == "U":
        Y2 = summed(map(square, reach))
        c2_ = sum((v * c * c / 3) ** 2 for row in V for v, c in zip(row, law.sizes, strict=True))
        h2 = sum(dot([abs(v) for v in row], law.sizes) ** 2 for row in V) * norm2(law.sizes)
        part, always = R2 * (6 * Y2 * m + 4 * c2_), iv(2 * (h2 + c2_))
        factor = iv(s2 * trace(S))
    kappa = t * t / (2 * R2)
    at_most(rho, kappa * first, "monotone")
    at_most(rho, 1, "monotone: c2/sigma^2 is at most 1")

    def bound(L: int) -> I:
        """(6) of the page"""
        return (part / (L * (1 - t) ** 2) + always * exp(-kappa * L)) * factor

    plus_U, plus_V = ([[abs(x) for x in row] for row in m] for m in (U, V))
    moved = matmul(plus_V, C)
    drift = [[sum(row[j] * sum(row) for row in moved) * (i == j) for i in range(law.d)] for j in range(law.d)]
    W, B = (scaled(s2, around(transposed(plus_U), m)) for m in (C, drift))
    spread = frobenius(moved, plus_V)

    def short(L: int) -> list[I]:
        """By the geometric mean of the weights, where it is finite."""
        found, e = iv(0), Fraction(1, L)
        for k, rate, a, b in ((e, 2 - 2 * e, 1, (1 - 2 * e) ** 2), (4 * (1 - e) * e * e, 1 - 2 * e, 0, 1)):
            try:
                det, T = reweighted(S, scaled(rate, W), "short prompts")
            except NotProved:
                return []
            found += k * (a * spread + b * trace(matmul(B, T))) / root(det)
        return [found]

    for L in range(2, first):
        known = short(L) if kind != "U" and L <= 200 else []
        holds(L, smallest([bound(L), always * factor, *known]), "before")
    holds(first, bound(first), "onwards")
