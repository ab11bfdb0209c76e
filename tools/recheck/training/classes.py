"""Runs on long prompts beside those on infinite ones, for a class of tasks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from decisions import at_most
from fields import fields, one_of, refuse, witness_of
from functions import exp
from intervals import I, iv, largest, root, smallest, square
from laws import Law, second_moments
from matrices import frobenius, matmul, trace
from outcomes import NotCovered, NotProved
from scalars import natural, positive, rational
from vectors import norm2


class Tokens:
    """What is known of every law of a class under the tilt a: with s = sigma |a|, |tau|, |C|, the third cumulant, and
    the constants A, J of E|N/Z|^2 <= (A + J^2/L) e^(2 s^2)/L, for N/Z = mean - tau and for the scatter about tau."""

    def __init__(self, d: int, sigma: I, law: tuple[I, I, I] | None) -> None:
        """Dimension and sigma of a class; of a law also T, kappa and Psi."""
        self.d, self.sigma, self.law = d, sigma, law

    def mean(self, s: I) -> I:
        """|tau|"""
        if self.law:
            return self.sigma * s
        return self.sigma * smallest([2 * s, s + square(s) + s**3 / 3])

    def covariance(self, s: I) -> I:
        """|C|"""
        return square(self.sigma) * (iv(1) if self.law else square(1 + s))

    def third(self, s: I) -> I:
        """|D^3 Lambda(b, b)| / |b|^2"""
        return self.law[1] if self.law else self.sigma**3 * (2 + 4 * s + 8 * square(s) + 8 * s**3)

    def errors(self, s: I, L: int) -> tuple[I, I, I]:
        """E|N/Z|^2 of mean and scatter, and the square of the share of a bias in a root of them."""
        d, v, ss = self.d, square(self.sigma), square(s)
        if self.law:
            T, kappa, psi = self.law
            full, traced = (smallest([c * kappa, self.sigma * root(psi)]) for c in (root(iv(d)), iv(d)))
            A, J = T + v * ss, 2 * self.sigma * s
            middle = full * s / self.sigma + v * ss
            A2 = psi + 4 * traced * self.sigma * s + 2 * (T + v) * v * ss + square(middle)
            J2, rate = 2 * full * s / self.sigma + square(J) / 2, 1
        else:
            A, J = v * (d + 2 + 4 * ss), 2 * self.sigma * s * square(1 + s)
            A2 = square(v) * (square(d + 4 + 4 * ss) + 4 * (1 + ss) * (d + ss))
            J2, rate = 2 * root(iv(d)) * s * self.third(s) / self.sigma + square(J) / 2, 2
        grown = exp(2 * ss) / L
        share = smallest([iv(1), (exp(rate * ss) - 1) / L])
        return (A + square(J) / L) * grown, (A2 + square(J2) / L) * grown, share


def tokens_of(node: Any) -> Tokens:
    """A class of laws, or one law up to rotations."""
    f = fields(node, "class", "", "dimension sigma law query_radius query_dimension query_sigma")
    refuse((f["law"] is None) == (f["dimension"] is None), "class: dimension and sigma, or a law")
    refuse((f["dimension"] is None) != (f["sigma"] is None), "class: dimension and sigma together")
    if f["law"] is None:
        return Tokens(natural(f["dimension"], "class.dimension", 1), iv(positive(f["sigma"], "class.sigma")), None)
    law = Law(f["law"], "class.law")
    refuse(any(second_moments(law)[0]), "class.law: a mean that is not 0")
    variance, T, kappa, psi = constants(law)
    return Tokens(law.d, root(variance), (T, kappa, psi))


def constants(law: Law) -> tuple[I, I, I, I]:
    """sigma^2, T, kappa and Psi: bounds of |C|, tr C, third cumulants and E|yy' - C|^2 under every tilt."""
    if law.kind == "gaussian":
        return gaussian(law.cov)
    if law.kind in ("rademacher", "box"):
        sizes, sign = [iv(c) for c in law.sizes], law.kind == "rademacher"
        squares = [square(c) / (1 if sign else 3) for c in sizes]
        T, cubes = sum(squares, start=iv(0)), largest([c**3 for c in sizes])
        fourth = sum((square(square(c)) for c in sizes), start=iv(0))
        rest = iv(0) if sign else fourth * (Fraction(3, 25) - Fraction(1, 9))
        return largest(squares), T, cubes * (Fraction(77, 100) if sign else Fraction(11, 100)), square(T) + rest
    if law.kind in ("sphere", "ball"):
        variance = iv(law.r2 / (law.d + (2 if law.kind == "ball" else 0)))
        return variance, law.d * variance, *in_ball(iv(law.r2))
    if law.kind == "mixture" and any(part.kind == "gaussian" for part in law.parts):
        if any(part.kind != "gaussian" or part.cov != law.parts[0].cov for part in law.parts):
            raise NotProved("class.law: nothing is known of such mixtures under every tilt")
        r2 = iv(max(norm2(part.mean) for part in law.parts))
        v1, t1, (k1, p1), (v2, t2, k2, p2) = r2, r2, in_ball(r2), gaussian(law.parts[0].cov)
        return v1 + v2, t1 + t2, k1 + k2, p1 + p2 + 2 * t1 * t2 + 2 * smallest([v1 * t2, v2 * t1])
    r2 = square(farthest(law))
    return r2, r2, *in_ball(r2)


def in_ball(r2: I) -> tuple[I, I]:
    """kappa and Psi of what lies in a ball of this squared radius."""
    return r2 * root(r2) * Fraction(77, 100), square(r2) * Fraction(27, 16)


def gaussian(cov: list[list[Fraction]]) -> tuple[I, I, I, I]:
    """|G| by sums of rows and by |G^8|_F^(1/8)."""
    power = cov
    for _ in range(3):
        power = matmul(power, power)
    rows = max(sum(map(abs, row)) for row in cov)
    T, size = iv(trace(cov)), iv(frobenius(cov))
    return smallest([iv(rows), root(root(root(root(iv(frobenius(power))))))]), T, iv(0), square(T) + size


def farthest(law: Law) -> I:
    """The largest |x|."""
    if law.kind == "atoms":
        return root(iv(max(norm2(x) for x in law.points)))
    if law.kind == "mixture":
        return largest([farthest(part) for part in law.parts])
    if law.kind in ("sphere", "ball"):
        return root(iv(norm2(law.centre))) + root(iv(law.r2))
    return root(iv(norm2([abs(z) + c for z, c in zip(law.centre, law.sizes, strict=True)])))


def theorem_4_3(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/theorem-4-3.md, of bounded queries."""
    given = fields(g, "given", "class loss start length", "time step steps")
    hint = witness_of(w, "pieces", "theta eta")
    tokens, query = tokens_of(given["class"]), given["class"]
    refuse(
        ("query_radius" in query) == ("query_sigma" in query), "class: query_radius, or query_dimension and query_sigma"
    )
    refuse(("query_dimension" in query) != ("query_sigma" in query), "class: query_dimension and query_sigma together")
    f = fields(given["loss"], "loss", "smoothness shape", "at_zero risk")
    smooth, shape = (
        positive(f["smoothness"], "loss.smoothness"),
        one_of(f["shape"], "loss.shape", "smooth", "convex", "quadratic"),
    )
    refuse((f["at_zero"] is None) == (f["risk"] is None), "loss: at_zero or risk")
    size = rational(f["risk"] if f["at_zero"] is None else f["at_zero"], "loss")
    begin = fields(given["start"], "start", "U V")
    u0, v0 = rational(begin["U"], "start.U"), rational(begin["V"], "start.V")
    refuse(min(size, u0, v0) < 0, "given: a negative size")
    L, pieces = natural(given["length"], "length", 2), natural(hint["pieces"], "pieces", 1, 1000)
    flows = given["time"] is not None
    refuse(
        flows == (given["step"] is not None) or (given["step"] is None) != (given["steps"] is None),
        "given: a time, or step and steps",
    )
    step = iv(0) if flows else iv(positive(given["step"], "step"))
    time = iv(positive(given["time"], "time")) if flows else step * natural(given["steps"], "steps", 1)
    goal = positive(fields(a, "asserts", "distance")["distance"], "distance")
    if "query_sigma" in query:
        raise NotCovered("sub-Gaussian queries")
    refuse(
        hint["theta"] is not None or hint["eta"] is not None, "witness: theta and eta belong to sub-Gaussian queries"
    )
    r = iv(positive(query["query_radius"], "class.query_radius"))

    def scores(u: I) -> I:
        """s = sigma |U| |z|, at most"""
        return tokens.sigma * u * r

    def gamma(far: I) -> I:
        """A bound of |DT| so far from the start."""
        s = scores(u0 + far)
        return root(square(tokens.mean(s)) + square((v0 + far) * tokens.covariance(s) * r))

    top = root(iv(size)) + (root(iv(smooth) / 2) * v0 * tokens.mean(scores(iv(u0))) if f["at_zero"] is not None else 0)
    R0, delta = square(top), time / pieces
    slope, fall = root(2 * smooth * R0), R0 * (1 if flows else 2)
    moved, apart = iv(0), iv(0)
    for j in range(1, pieces + 1):
        free = smallest([root(fall * delta * j), moved + root(fall * delta)])
        moved = smallest([free, moved + delta * slope * gamma(free)])
        far = moved + goal
        s, v, turn = scores(u0 + far), v0 + far, gamma(far)
        n, m = tokens.covariance(s) * r, v * tokens.third(s) * square(r)
        beta, F = (m + root(square(m) + 4 * square(n))) / 2, slope + smooth * turn * goal
        bends = F * beta + smooth * square(turn)
        if not flows:
            at_most(step * bends, 1, "the step")
        rate = bends if shape == "smooth" else F * beta
        one, scatter, share = tokens.errors(s, L)
        two = square(r) * (scatter + 2 * tokens.covariance(s) * one)
        e1, both = root(one), root(one + square(v) * two)
        gap = (F + smooth * v * e1) * both + smooth * v * e1 * turn
        if shape == "quadratic":
            b1, b23 = root(one * share), r * (root(scatter * share) + one)
            other = F * root(square(b1) + square(v * b23)) + smooth * v * b1 * turn + smooth * v * e1 * both
            gap = smallest([gap, other])
        grown = exp(rate * delta)
        apart = grown * apart + gap * ((grown - 1) / rate if rate.a > 0 else delta * grown)
    at_most(apart, goal, "the distance")
