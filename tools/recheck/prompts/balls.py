"""The norm of output-tail at every query of a ball: docs/claims/prompts/output-tail.md, "A ball of queries"."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from algebra import semidefinite
from arrays import vector
from decisions import at_most, below
from fields import fields, items, one_of, refuse, witness_of
from functions import exp, pi, upper
from intervals import I, absolute, iv, largest, root, smallest, square, summed
from laws import Law
from matrices import around, less_unit, times
from outcomes import NotCovered
from scalars import natural, positive, probability, rational
from softmax import bilinear, scale_iv, scale_of
from vectors import dot

# Scores above and below 0, and what is perpendicular: cells that are no coarser than those of the page's proof need be.
ABOVE, BELOW, ACROSS = 320, 80, 24
QUARTER = Fraction(1, 4)


def over_ball(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """P(|T_L - T| > eps at some query of the ball) <= delta, for Gaussian tokens."""
    given = fields(g, "given", "law length queries", "K Q U V scale")
    law, scale = Law(given["law"]), scale_of(given["scale"])
    if law.kind != "gaussian" or isinstance(given["length"], dict):
        raise NotCovered("a ball of queries for other tokens, or for every length")
    U, V = bilinear(given, law.d)
    ball = fields(given["queries"], "queries", "centre radius")
    centre, radius = vector(ball["centre"], "centre", len(U[0])), positive(ball["radius"], "radius")
    f = fields(fields(a, "asserts", "norm")["norm"], "norm", "norm exceeds probability")
    one_of(f["norm"], "norm", "l2", "linf")
    eps, delta = positive(f["exceeds"], "exceeds"), probability(f["probability"], "probability")
    hint = fields(witness_of(w, "norm")["norm"], "witness.norm", "within tilt_norm value_norm shells")
    kappa, nu = (rational(hint[name], name) for name in ("tilt_norm", "value_norm"))
    refuse(kappa < 0 or nu < 0, "witness.norm: norms >= 0")
    shells = [fields(node, "shells", "to tilts outputs lambda") for node in items(hint["shells"], "shells")]
    rows = [[positive(one[name], name) for name in ("to", "tilts", "outputs", "lambda")] for one in shells]
    refuse(not rows or any(b[0] <= a[0] for a, b in pairwise(rows)), "shells: each ends farther out")

    for M, most, name in (
        ([list(column) for column in zip(*U, strict=True)], kappa, "tilt_norm"),
        (V, nu, "value_norm"),
    ):
        semidefinite([[-x for x in row] for row in less_unit(around(M, law.cov), most**2)], name)
    tilt, size = times(U, centre), scale_iv(scale)
    middle = absolute(size) * root(dot(tilt, times(law.cov, tilt)))
    reach = absolute(size) * radius * kappa
    at_most(middle + reach, rows[-1][0], "shells")
    start, problem = (
        largest([middle - reach, 0]),
        Problem(law.d, len(V), iv(eps), iv(nu), positive(hint["within"], "within")),
    )
    L = natural(given["length"], "length", 1)
    total = L * chi_tail(law.d, iv(problem.r))
    for to, h, k, slope in rows:
        total = total + problem.volumes(start, to, h, k, reach) * exp(-problem.rate(start, to, h, k, slope) * L)
        start = iv(to)
    at_most(total, delta, "norm")


def chi_tail(d: int, x: I) -> I:
    """P(chi_d > x): (1 + x^2/2 + x^4/8 + ...) e^(-x^2/2), d/2 terms; for odd d 2 Q(x) and terms x, x^3/3, x^5/15."""
    total, term = (2 * upper(x), root(2 / pi()) * x) if d % 2 else (iv(0), iv(1))
    density = exp(-square(x) / 2)
    for j in range(d % 2, d - 1, 2):
        total, term = total + term * density, term * square(x) / (j + 2)
    return total


def chi_mean(d: int) -> I:
    """E chi_d: E chi_d E chi_(d+1) = d."""
    found = root(2 / pi())
    for j in range(1, d):
        found = j / found
    return found


def psi(x: I) -> I:
    """At most (e^x - 1 - x) / x^2, x >= 0."""
    return 1 / (2 - 2 * x / 3) if x.b <= iv(QUARTER).a else (exp(x) - 1 - x) / square(x)


class Problem:
    """Dimensions, the threshold, the norm of W and how far tokens reach."""

    def __init__(self, d: int, outputs: int, eps: I, nu: I, r: Fraction) -> None:
        self.d, self.outputs, self.eps, self.nu, self.r = d, outputs, eps, nu, r
        self.across = [r * i / ACROSS for i in range(ACROSS + 1)]
        tails = [chi_tail(d - 1, iv(p)) for p in self.across] if d > 1 else []
        self.chances = [x - y for x, y in pairwise(tails)]

    def volumes(self, start: I, to: Fraction, h: Fraction, k: Fraction, reach: I) -> I:
        """Of what all averages are taken over, in units of one of them."""
        annulus = (to + h) ** self.d - largest([start - h, 0]) ** self.d
        return smallest([annulus, (reach + h) ** self.d]) / h**self.d * (1 + 1 / k) ** self.outputs

    def rate(self, start: I, to: Fraction, h: Fraction, k: Fraction, slope: Fraction) -> I:
        """gamma"""
        refuse(self.r <= to, "within: farther out than the tilts")
        x, d = iv(self.r - to), self.d
        drift = self.eps * (1 - chi_tail(d, x)) - self.nu * chi_mean(d) * chi_tail(d + 1, x)
        below(iv(0), drift, "within: what is cut off")
        return slope * exp(square(start) / 2) * drift - slope**2 * self.rest(start, to, h, k, slope)

    def rest(self, start: I, to: Fraction, h: Fraction, k: Fraction, slope: Fraction) -> I:
        """E f^2 psi(f) / lambda^2, cell by cell."""
        least, most, s = largest([start - h, 0]), iv(to + h), h**2 / (self.d + 2)
        size2, parts = square(self.nu) * (1 + k**2 * Fraction(self.outputs, self.outputs + 2)), []
        for count, beta, sign in ((ABOVE, most, 1), (BELOW, least, -1)):
            ends = [sign * self.r * i / count for i in range(count + 1)]
            tails = [upper(end - 2 * beta) for end in ends]
            for i in range(count):
                near, far = ends[i], ends[i + 1]
                gap = largest([absolute(end - b) for end in (near, far) for b in (least, most)])
                c = gap + s * abs(far)
                steep = slope * exp(beta * max(near, far))

                def height(p: Fraction, gap: I = gap, steep: I = steep) -> I:
                    """At least f at |p| = p."""
                    reached = root(square(gap) + p**2) + s * self.r
                    return steep * largest([self.nu * (1 + k) * reached - self.eps, 0])

                def mean(share: Fraction, c: I = c) -> I:
                    """At least the mean square of the bracket of f, for |p|^2 / (d - 1) = share."""
                    return (
                        size2 * largest([square(c), (1 + s) ** 2 * share])
                        + 2 * self.eps * root(size2) * c
                        + square(self.eps)
                    )

                if self.d == 1:
                    inner = psi(height(Fraction(0))) * mean(Fraction(0))
                elif (top := height(self.r)).b <= iv(QUARTER).a:
                    inner = psi(top) * mean(Fraction(1))
                else:
                    inner = summed(
                        chance * psi(height(p1)) * mean(p1**2 / (self.d - 1))
                        for chance, (p0, p1) in zip(self.chances, pairwise(self.across), strict=True)
                        if p0**2 + near**2 <= self.r**2
                    )
                mass = tails[i] - tails[i + 1] if sign > 0 else tails[i + 1] - tails[i]
                parts.append(exp(2 * square(beta)) * mass * inner)
        return summed(parts)
