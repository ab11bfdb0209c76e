"""The limit law of singular values: equivalent-law, not-marchenko-pastur, spectral-distance."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import intervals
from arrays import matrix
from decisions import at_most, below, bounded, bounds, close, same, within, within_bounds
from fields import fields, items, kind_of, numbers, one_of, optional, refuse, some, witness_of
from functions import Complex, argument, cadd, cdiv, cmul, exp, log, pi, upper, zero, zero_beyond
from intervals import I, hull, iv, largest, middle, plus_minus, root, show, smallest, square, summed
from outcomes import NotProved, Rejected, Undecided
from scalars import natural, positive, probability, rational
from softmax import scale_of
from spectrum.random_matrices import limit_moment
from spectrum.singular import quarter_tail, singular, stated_matrix
from vectors import minus


class LimitLaw:
    """The law of
    docs/claims/spectrum/equivalent-law.md: edges by signs of h, values by discs around the root below the line.
    """

    def __init__(self, a2: Any, b2: Any, lam: Fraction) -> None:
        """alpha^2 and beta^2, numbers or intervals around them, and lambda, all positive."""
        self.a2, self.b2, self.lam = a2, b2, lam
        self.b, self.rho = self.b2 / self.lam, self.a2 / self.b2
        self.right = self.k(zero(self.h, Fraction(0), Fraction(1)))
        self.gap: tuple[I, I] | None = None
        if self.lam < 1:
            # about where h is least: h' = 3 s v^2 - 2 t v + s + 2 + lam
            s, lam = iv(self.rho).about() * float(self.lam), float(self.lam)
            t = 2 * s + 1 - lam
            square_ = t * t - 3 * s * (s + 2 + lam)
            if square_ > 0 and (least := (t + math.sqrt(square_)) / (3 * s)) > 1:
                v = Fraction(least)
                if iv(self.h(v)).b < 0:
                    self.gap = self.k(zero_beyond(self.h, v, 2 * v)), self.k(zero(lambda x: -self.h(x), Fraction(1), v))

    def h(self, v: Fraction) -> Any:
        """w^2 (1 - v)^2 K'(w) at v = b w^2"""
        return -((1 - v) ** 2) + self.lam * self.rho * v * (1 - v) ** 2 + self.lam * v * (1 + v)

    def k(self, v: I) -> I:
        """K(w) at w = sqrt(v/b)"""
        w = root(v / self.b)
        return 1 / w + self.a2 * w + self.b2 * w / (1 - v)

    def no_gap(self) -> None:
        """Prove that the support is an interval: lambda >= 1, or the discriminant of h is not positive."""
        if self.lam < 1:
            s, x = self.lam * self.rho, self.lam
            h = 8 * (1 - s) ** 3 - 3 * x * (5 * s * s + 26 * s + 5) + 6 * x * x * (1 - s) + x**3
            at_most(h, Fraction(0), "gap.none")

    def top(self) -> I:
        """The density at 0, the largest: (2/pi) sqrt(u0), alpha^2 b u^2 + (alpha^2 + beta^2 - b) u - 1 = 0."""
        q, m = self.a2 * self.b, iv(self.a2 + self.b2 - self.b)
        return 2 * root((root(square(m) + 4 * q) - m) / (2 * q)) / pi()

    def place(self, x: Fraction) -> str:
        """Whether x > 0 is beyond the support, in its gap, or inside."""
        if iv(x).a > self.right.b:
            return "beyond"
        if self.gap and self.gap[0].b < iv(x).a and iv(x).b < self.gap[1].a:
            return "gap"
        ends = [self.right, *(self.gap or ())]
        if any(end.a <= iv(x).b and iv(x).a <= end.b for end in ends):
            raise Undecided("a point next to an edge")
        return "inside"

    def stieltjes(self, re: Fraction, im: Fraction) -> Complex:
        """G(z): a disc around some w with the radius 4 |p/p'| holds a root of p = w (1 - b w^2) (z - K(w)); in the
        lower half plane there is only one, G(z)."""
        z: Complex = iv(re), iv(im)
        lead, second = (iv(self.a2 * self.b), iv(0)), cmul((iv(-self.b), iv(0)), z)
        coefficients: list[Complex] = [lead, second, (iv(self.b - self.a2 - self.b2), iv(0)), z, (iv(-1), iv(0))]
        f = [complex(x.about(), y.about()) for x, y in coefficients]
        roots = [complex(0.4, 0.9) ** i * (1 + abs(f[1] / f[0])) for i in range(4)]
        for _ in range(200):
            moved = 0.0
            for i in range(4):
                value, below_ = f[0], f[0]
                for c in f[1:]:
                    value = value * roots[i] + c
                for j in range(4):
                    below_ *= roots[i] - roots[j] if j != i else 1
                step_ = value / below_ if below_ else complex(0)
                roots[i] -= step_
                moved = max(moved, abs(step_))
            if moved < 1e-14:
                break
        guess = min(roots, key=lambda w: w.imag)
        w: Complex = iv(Fraction(guess.real)), iv(Fraction(guess.imag))
        for _ in range(intervals.P.bit_length()):
            value_, slope = coefficients[0], (iv(0), iv(0))
            for c in coefficients[1:]:
                slope = cadd(cmul(slope, w), value_)
                value_ = cadd(cmul(value_, w), c)
            step = cdiv(value_, slope)
            radius = 4 * root(square(step[0]) + square(step[1]))
            box = cadd(w, (plus_minus(radius), plus_minus(radius)))
            if radius.b < 1 << 24:
                break
            w = middle(w[0] - step[0]), middle(w[1] - step[1])
        if box[1].b >= 0:
            raise Undecided("a root next to the real line")
        return box

    def falling(self, x: Fraction) -> I:
        """The tail again; next to an edge between the values at certified neighbours, as tails fall."""
        if x <= 0:
            return iv(1)
        step = Fraction(1, 1 << 30)
        try:
            return iv(self.tail(x))
        except Undecided:
            return I(iv(self.tail(x + step)).a, iv(self.tail(max(x - step, Fraction(0)))).b)

    def tail_over(self, x: Any) -> I:
        """The tail at all points of an interval."""
        return hull(*(self.falling(Fraction(n, 1 << intervals.P)) for n in {iv(x).a, iv(x).b}))

    def density(self, x: Fraction) -> Any:
        """Of |x| under nu."""
        if x == 0:
            return self.top()
        return -2 * self.stieltjes(x, Fraction(0))[1] / pi() if self.place(x) == "inside" else Fraction(0)

    def tail(self, x: Fraction) -> Any:
        """mu((x, oo)) = (2/pi) Im Phi(G(x)), inside the support."""
        where = "inside" if x == 0 else self.place(x)
        if x == 0 or where != "inside":
            return Fraction(1) if x == 0 else Fraction(0) if where == "beyond" else self.lam
        w = self.stieltjes(x, Fraction(0))
        square_ = cmul(w, w)
        v = square_[0] * self.b, square_[1] * self.b
        one_less = 1 - v[0], -v[1]
        q = root(iv(self.b))
        total = square_[1] * self.a2 / 2 + self.lam * cdiv(v, one_less)[1] - argument(w)
        total += self.lam / 2 * (argument((1 - q * w[0], -q * w[1])) + argument((1 + q * w[0], q * w[1])))
        return total * 2 / pi()


def law_of(given: dict[str, Any]) -> LimitLaw:
    """The law of beta and lambda, or of alpha2, beta2 and lambda."""
    lam = positive(given["lambda"], "lambda")
    if given["beta"] is None:
        return LimitLaw(positive(given["alpha2"], "alpha2"), positive(given["beta2"], "beta2"), lam)
    beta = rational(given["beta"], "beta")
    if given["alpha2"] is not None or given["beta2"] is not None or not 0 < beta <= 1000:
        raise Rejected("given: beta in (0, 1000], or alpha2 and beta2")
    return LimitLaw(exp(beta**2) - 1 - beta**2, beta**2, lam)


def equivalent_law(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/equivalent-law.md"""
    witness_of(w)
    law = law_of(fields(g, "given", "lambda", "beta alpha2 beta2"))
    near_names = "right_edge threshold density_bound nonlinear_share"
    asserts = some(a, "asserts", near_names + " moments gap stieltjes density cdf share_reached")

    def beside(value: Any, f: dict[str, Any], what: str) -> None:
        """|value - stated| <= radius"""
        close(value, rational(f["value"], what), rational(f["radius"], what), what)

    def single(key: str, value: Callable[[], Any]) -> None:
        """A number up to a radius, if it is asserted."""
        if asserts[key] is not None:
            beside(value(), fields(asserts[key], key, "value radius"), key)

    def several(key: str, need: str) -> list[dict[str, Any]]:
        """The items of a list."""
        return [fields(x, key, need) for x in items(asserts[key], key)]

    def threshold() -> I:
        """beta_c"""
        below(law.lam, 1, "threshold.lambda")
        v = zero_beyond(lambda v: (v - 1) ** 3 - law.lam * v**2 * (v + 3), Fraction(1), Fraction(2))
        rho = (3 * v + 1) / (v - 1) ** 3
        return root(zero_beyond(lambda x: exp(x) - 1 - x - x * rho, Fraction(0), Fraction(1)))

    def reached(share: Fraction) -> I:
        """beta with 1 - x/(e^x - 1) = share, x = beta^2: where (1 - share)(e^x - 1) - x becomes positive."""
        low = min(share, Fraction(1, 2))  # 1 - x/(e^x - 1) < x, so it is below the share at x = share
        return root(zero_beyond(lambda x: (exp(x) - 1) * (1 - share) - x, low, Fraction(1)))

    for f in several("moments", "order value radius"):
        order = natural(f["order"], "moments.order", 2, 100)
        refuse(order % 2, "moments.order: even")
        beside(limit_moment(order // 2, law.b2, law.lam, law.a2 + law.b2), f, f"moment {order}")
    single("right_edge", lambda: law.right)
    single("threshold", threshold)
    single("density_bound", law.top)
    single("nonlinear_share", lambda: law.a2 / (law.a2 + law.b2))
    for f in several("share_reached", "share value radius"):
        beside(reached(probability(f["share"], "share")), f, "share_reached")
    for key in ("density", "cdf"):
        for f in several(key, "at value radius"):
            x = rational(f["at"], f"{key}.at")
            refuse(x < 0, f"{key}.at: negative")
            beside(law.density(x) if key == "density" else 1 - law.tail(x), f, f"{key} at {show(x)}")
    for f in several("stieltjes", "z value radius"):
        z, value = (numbers(f[k], k, "re im") for k in ("z", "value"))
        refuse(z[1] <= 0, "stieltjes.z: not in the upper half plane")
        off = minus(law.stieltjes(*z), value)
        at_most(root(summed(map(square, off))), rational(f["radius"], "radius"), "stieltjes")
    if asserts["gap"] is not None:
        gap = asserts["gap"]
        if kind_of(gap, "gap", "open", "none") == "none":
            fields(gap, "gap", "kind")
            law.no_gap()
            return
        f = fields(gap, "gap", "kind lower upper radius", "outer_mass")
        below(law.lam, 1, "gap.lambda")
        if law.gap is None:
            law.no_gap()
            raise NotProved("gap: there is none")
        for end, key in zip(law.gap, ("lower", "upper"), strict=True):
            close(end, rational(f[key], key), rational(f["radius"], "radius"), f"gap.{key}")
        if f["outer_mass"] is not None:
            same(rational(f["outer_mass"], "outer_mass"), law.lam, "gap.outer_mass")


def not_marchenko_pastur(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/not-marchenko-pastur.md, where it needs singular values of matrices of up to 300 rows."""
    given = fields(g, "given", "lambda", "beta alpha2 beta2 finite")
    asserts = some(a, "asserts", "fourth_moment excess distance scaled_distance separation scaled_separation")
    hint = witness_of(w, "", "scale law_scale quarter_circle_scale")
    apart = {k: asserts[k] for k in ("separation", "scaled_separation")}
    refuse((asserts["scaled_distance"] is None) != (hint["scale"] is None), "witness.scale: beside scaled_distance")
    refuse((given["finite"] is None) != all(x is None for x in apart.values()), "given.finite: beside a separation")
    law = law_of(given)
    m = law.a2 + law.b2
    finite, scales = None, {k: hint[k] for k in ("law_scale", "quarter_circle_scale")}
    if given["finite"] is not None:
        finite = stated_matrix(fields(given["finite"], "finite", "", "matrix queries keys scale centred"))
    distances(apart, scales, law, finite)
    if asserts["fourth_moment"] is not None:
        (fourth,) = numbers(asserts["fourth_moment"], "fourth_moment", "value")
        same(fourth, law.b2**2 / law.lam, "fourth_moment")
    if asserts["excess"] is not None:
        within(law.b2**2 / law.lam / (m * m), *bounds(asserts["excess"], "excess", None), "excess")

    tail = cache(law.falling)

    def furthest(c: Any, sign: int, bits: int = 17) -> I:
        """sup sign (T - S): differences at ends of cells from below, sign (T(a) - S(b)) on cells from above."""

        def most(x: Fraction, y: Fraction) -> I:
            """An upper bound from x to y, and the difference itself where they are the same."""
            return tail(x) - quarter_tail(y, c) if sign > 0 else quarter_tail(x, c) - tail(y)

        end = Fraction(max(law.right.b, iv(2 * c).b) + 2, 1 << intervals.P)
        low, cells = iv(0).a, [(Fraction(0), end)]
        for _ in range(bits):
            kept = []
            for x, y in cells:
                if most(x, y).b > low:
                    half = (x + y) / 2
                    low = max(low, most(half, half).a)
                    kept += [(x, half), (half, y)]
            cells = kept
            if len(cells) > 4000:
                break
        return I(low, max([low, *(most(x, y).b for x, y in cells)]))

    bounded(asserts, "distance", lambda: largest([furthest(root(iv(m)), s) for s in (1, -1)]))
    if asserts["scaled_distance"] is not None:
        scale, stated = positive(hint["scale"], "witness.scale"), bounds(asserts["scaled_distance"], "scaled_distance")
        both = [furthest(scale, s) for s in (1, -1)]
        within_bounds(smallest(both), largest(both), *stated, "scaled_distance")


def distances(
    asserts: dict[str, Any],
    scales: dict[str, Any],
    law: LimitLaw,
    finite: tuple[list[list[Any]], int, Any, bool] | None,
) -> None:
    """Distances of the singular values of a square matrix from laws, as
    docs/claims/spectrum/spectral-distance.md proves.
    """
    stated = {k: bounds(v, k, None if "separation" in k else Fraction(0)) for k, v in asserts.items() if v is not None}
    wanted = {
        "law_scale": {"scaled_law", "scaled_separation"} & stated.keys(),
        "quarter_circle_scale": {"scaled_quarter_circle", "separation", "scaled_separation"} & stated.keys(),
    }
    c = {k: Fraction(1) if v is None else rational(v, f"witness.{k}") for k, v in scales.items()}
    if any(bool(wanted[k]) != (v is not None) or c[k] <= 0 for k, v in scales.items()):
        raise Rejected("witness: a scale that is missing, not positive, or of no bound")
    if finite is None:
        return
    m, full, _, _ = finite
    n = len(m)
    refuse(n != len(m[0]), "given: a matrix that is not square")
    if not stated:
        return
    sigma = singular(m, n - full)

    def sides(tail: Callable[[Any], I]) -> tuple[I, I]:
        """D_+ and D_- of the singular values beside a law."""
        tails = [tail(x) for x in sigma]
        return (
            largest([Fraction(k + 1, n) - t for k, t in enumerate(tails)]),
            largest([t - Fraction(k, n) for k, t in enumerate(tails)]),
        )

    @cache
    def distance(name: str) -> I:
        """A distance; of one over all scales an interval from the lower to the upper end."""
        if name == "law":
            return largest(sides(law.tail_over))
        if name == "quarter_circle":
            return largest(sides(lambda x: quarter_tail(x, root(iv(law.a2 + law.b2)))))
        if name == "scaled_law":
            both = sides(lambda x: law.tail_over(iv(x) / c["law_scale"]))
        elif name == "scaled_quarter_circle":
            both = sides(lambda x: quarter_tail(x, iv(c["quarter_circle_scale"])))
        else:
            return distance("scaled_quarter_circle") - distance("scaled_law" if name.startswith("scaled") else "law")
        return I(smallest(both).a, largest(both).b)

    for name, (low, high) in stated.items():
        within_bounds(distance(name), distance(name), low, high, name)


def truncated(beta2: Any, tau: Fraction) -> tuple[I, I, I]:
    """E f, beta_tau and E f^2 of weights cut off at tau, and Q(c) by E f: the formulas of spectral-distance.md."""
    beta = root(iv(beta2))
    c = log(iv(tau)) / beta + beta / 2
    first = upper(beta - c) + tau * upper(c)
    return first, beta * upper(beta - c) / first, exp(iv(beta2)) * upper(2 * beta - c) + tau * tau * upper(c)


def spectral_distance(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/spectral-distance.md, of matrices of up to 300 rows."""
    given = fields(g, "given", "law", "matrix queries keys scale centred")
    node = fields(given["law"], "law", "", "beta lambda alpha2 beta2 from unit truncated_at")
    kinds = "fixed_point", "law", "quarter_circle", "scaled_law", "scaled_quarter_circle", "separation"
    asserts = some(a, "asserts", " ".join((*kinds, "scaled_separation")))
    hint = witness_of(w, "", "law_scale quarter_circle_scale")
    point = asserts.pop("fixed_point")
    tau = optional(rational, node["truncated_at"], "truncated_at")
    if (point is not None and tau is None) or (tau is not None and tau <= 0):
        raise Rejected("law.truncated_at: positive, and needed for a fixed point")
    m, full, energy, files = stated_matrix(given)
    if node["from"] is not None:
        one_of(node["from"], "law.from", "weights")
        if any(node[k] is not None for k in ("beta", "lambda", "alpha2", "beta2")) or given["matrix"] is not None:
            raise Rejected("law: from weights, of queries and keys, or numbers")
        unit = optional(positive, node["unit"], "law.unit") or Fraction(1)
        p = len(matrix(given["queries"], "given.queries")[0])
        beta2, lam = scale_of(given["scale"])[0] * p * unit**4, Fraction(p, len(m))
    elif node["lambda"] is None or node["unit"] is not None:
        raise Rejected("law: lambda, and no unit")
    else:
        lam = rational(node["lambda"], "lambda")
        beta2 = Fraction(0) if node["beta"] is None else rational(node["beta"], "beta") ** 2
        if node["beta"] is None and tau is not None:
            raise Rejected("law.truncated_at: beside beta or from")
    if tau is not None:
        refuse(node["alpha2"] is not None or node["beta2"] is not None, "law: two ways to give it")
        if lam <= 0 or not 0 < beta2 <= 10**6 or (node["beta"] is not None and node["beta"].startswith("-")):
            raise Rejected("law: numbers that are not positive")
        first, part, second = truncated(beta2, tau)
        law = LimitLaw(second / square(first) - 1 - square(part), square(part), lam)
    elif node["from"] is not None:
        law = LimitLaw(exp(iv(beta2)) - 1 - beta2, beta2, lam)
    else:
        law = law_of(node)
    if tau is not None or node["from"] is not None:
        below(0, smallest([law.a2, law.b2]), "alpha^2 and beta^2")
    if point is not None and tau is not None:
        f = fields(point, "fixed_point", "radius which")
        r, which = rational(f["radius"], "radius"), one_of(f["which"], "which", "largest", "some")
        refuse(not 0 < r < tau, "fixed_point.radius: above 0 and below tau")
        for sign in (-1, 1):
            t = tau + sign * r
            first, _, second = truncated(beta2, t)
            gap = len(m) * (second / square(first) - 1) - t * t
            at_most(0, gap * -sign, f"fixed_point.{'below' if sign < 0 else 'above'}")
            if sign < 0 and which == "largest":
                beta = root(iv(beta2))
                at_most(len(m) * upper(log(iv(t)) / beta + beta / 2), square(first), "fixed_point.growth")
    distances(asserts, hint, law, (m, full, energy, files))
