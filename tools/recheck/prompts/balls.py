"""The norm of output-tail at every query of a ball: docs/claims/prompts/output-tail.md, "A ball of queries"."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

from algebra import semidefinite
from arrays import vector
from decisions import at_most, below
from fields import fields, items, one_of, refuse, witness_of
from functions import exp, log, pi, upper
from intervals import I, absolute, iv, largest, root, smallest, square, summed
from laws import Law, of_sphere, tilted_covariance
from matrices import around, identity, less_unit, matmul, scaled, times
from outcomes import NotCovered
from scalars import natural, positive, probability, rational
from softmax import bilinear, scale_iv, scale_of
from vectors import dot, minus

# Powers of f of which a moment is taken, and how large f may be.
ORDERS, HIGHEST = 16, 32


def over_ball(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """P(|T_L - T| > eps at some query of the ball) <= delta, for one length or every one from it on."""
    given = fields(g, "given", "law length queries", "K Q U V scale")
    law, scale = Law(given["law"]), scale_of(given["scale"])
    L, onwards = lengths(given["length"], "length")
    U, V = bilinear(given, law.d)
    ball = fields(given["queries"], "queries", "centre radius")
    centre, radius = vector(ball["centre"], "centre", len(U[0])), positive(ball["radius"], "radius")
    f = fields(fields(a, "asserts", "norm")["norm"], "norm", "norm exceeds probability")
    one_of(f["norm"], "norm", "l2", "linf")
    eps, delta = positive(f["exceeds"], "exceeds"), probability(f["probability"], "probability")
    gaussian = law.kind == "gaussian"
    stated = "tilt_norm value_norm shells" + (" within" if gaussian else "")
    hint = fields(witness_of(w, "norm")["norm"], "witness.norm", stated)
    kappa, nu = rational(hint["tilt_norm"], "tilt_norm"), positive(hint["value_norm"], "value_norm")
    refuse(kappa < 0, "witness.norm: norms >= 0")
    names = ("to", "tilts", "outputs", "heights", "lambda")
    shells = [fields(node, "shells", " ".join(names)) for node in items(hint["shells"], "shells")]
    rows = [[positive(one[name], name) for name in names] for one in shells]
    refuse(not rows or any(b[0] <= a[0] for a, b in pairwise(rows)), "shells: each ends farther out")

    gamma, far, shape = spread(law)
    for M, most, name in (
        ([list(column) for column in zip(*U, strict=True)], kappa, "tilt_norm"),
        (V, nu, "value_norm"),
    ):
        semidefinite([[-x for x in row] for row in less_unit(around(M, gamma), most**2)], name)
    tilt, size = times(U, centre), scale_iv(scale)
    middle = absolute(size) * root(dot(tilt, times(gamma, tilt)))
    reach = absolute(size) * radius * kappa
    at_most(middle + reach, rows[-1][0], "shells")
    if not any(map(any, around(V, gamma))):
        return  # outputs are constant
    start = largest([middle - reach, 0])
    within = iv(positive(hint["within"], "within")) if gaussian else far
    problem = Problem(law.d, min(law.d, len(U[0])), len(V), iv(eps), iv(nu), within, gaussian)
    if not gaussian:
        problem.centre = Centre(law, [size * x for x in tilt], V, middle, reach, within)
    total = L * chi_tail(law.d, within) if gaussian else iv(0)
    for to, *numbers in rows:
        # An empty shell would have a negative volume.
        at_most(start, to, "shells: each ends beyond where it begins")
        least = square(start) / 2 if gaussian else iv(0) if shape is None else low(shape, start)
        if problem.centre is not None:
            least = largest([least, problem.centre.least])
        shell = Shell(start, iv(to), least, *map(iv, numbers))
        if gaussian and onwards:
            problem.falls(shell)
        total = total + problem.volumes(shell, reach) * exp(-problem.rate(shell) * L)
        start = iv(to)
    at_most(total, delta, "norm")


def low(shape: Fraction, size: I) -> I:
    """log 0F1(; b; b |alpha|^2 / 2): at most log E e^<alpha,y>, for it is concave in |alpha|^2."""
    return log(of_sphere(shape, square(size) * shape / 2, 0)[0])


def spread(law: Law) -> tuple[list[list[Fraction]], I, Fraction | None]:
    """At least the covariance under every tilt; how large y is at most; and b, if tokens are made of spheres."""
    unit, half = identity(law.d), Fraction(1, 2)
    if law.kind == "gaussian":
        return law.cov, iv(0), None
    if law.kind in ("rademacher", "box"):
        shape = half if law.kind == "rademacher" else 3 * half
        variances = [c * c / (2 * shape) for c in law.sizes]
        return diagonal(variances), root(iv(2 * shape * law.d)), shape
    if law.kind in ("sphere", "ball"):
        return scaled(law.r2 / (2 * law.b), unit), root(iv(2 * law.b)), law.b
    if law.kind == "truncated-gaussian":
        variances = [c * c / max(k, Fraction(3)) for c, (k, _) in zip(law.sizes, law.bumps, strict=True)]
        means = [absolute(law.bump(j, 0, 1)[1]) for j in range(law.d)]
        squares = [square(1 + m) * c * c / v for m, c, v in zip(means, law.sizes, variances, strict=True)]
        return diagonal(variances), root(summed(squares)), None
    if law.kind == "atoms":
        at = [dot(law.weights, column) for column in zip(*law.points, strict=True)]
        return scaled(max(dot(minus(y, at), minus(y, at)) for y in law.points), unit), iv(1), None
    raise NotCovered("every query of a ball for a mixture")


def diagonal(entries: list[Fraction]) -> list[list[Fraction]]:
    """The diagonal matrix with these entries."""
    return [[x if i == j else Fraction(0) for j in range(len(entries))] for i, x in enumerate(entries)]


def lengths(node: Any, where: str) -> tuple[int, bool]:
    """A number of tokens, or at_least: the first of all."""
    if isinstance(node, dict):
        return natural(fields(node, where, "at_least")["at_least"], where, 1), True
    return natural(node, where, 1), False


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


def remainders(x: I) -> list[I]:
    """At least 1/p! + x/(p + 1)! + ..., p = 0..ORDERS; of what is left each term is at most half the last."""
    found = []
    for p in range(ORDERS + 1):
        term, total, j = 1 / iv(math.factorial(p)), iv(0), p
        while j < 2 * HIGHEST:
            total, j = total + term, j + 1
            term = term * x / j
        found.append(total + 2 * term)
    return found


class Shell:
    """Tilts from a size to another, the least log E e^<alpha,y>, h, k, l and lambda."""

    def __init__(self, start: I, to: I, least: I, h: I, k: I, height: I, slope: I) -> None:
        self.start, self.to, self.least, self.most = start, to, least, square(to) / 2
        self.h, self.k, self.height, self.slope = h, k, height, slope


class Centre:
    """Bounded tokens by a, the tilt of the ball's centre: the least log E e^<alpha,y> of the ball; and at 2 a that, the
    norm and the trace of V C V', and how far V tau is from that at a; and how far other tilts are from it."""

    def __init__(self, law: Law, a: list[Any], V: Any, size: I, reach: I, within: I) -> None:
        double, plain = [2 * x for x in a], law.tilted([Fraction(0)] * law.d)[1]
        (once, mean), (twice, far) = law.tilted(a), law.tilted(double)
        self.least = once - dot(a, plain) - reach * smallest([size, within])
        self.log_mgf, self.reach = twice - dot(double, plain), reach
        self.off = root(summed(square(iv(x)) for x in times(V, minus(far, mean))))
        C = around(V, tilted_covariance(law, double))
        self.trace = summed(C[i][i] for i in range(len(V)))
        for _ in range(3):
            C = matmul(C, C)
        # The largest eigenvalue of M^8 is at most its Frobenius norm.
        self.norm = root(root(root(root(summed(square(iv(x)) for row in C for x in row)))))


class Problem:
    """Dimensions of tokens, tilts and outputs, the threshold, the norm of W and how far tokens reach."""

    def __init__(self, d: int, tilts: int, outputs: int, eps: I, nu: I, r: I, gaussian: bool) -> None:
        self.d, self.tilts, self.outputs, self.eps, self.nu, self.r, self.gaussian = (
            d, tilts, outputs, eps, nu, r, gaussian,
        )  # fmt: skip
        self.centre: Centre | None = None

    def volumes(self, s: Shell, reach: I) -> I:
        """Of what all averages are taken over, in units of one of them."""
        annulus = (s.to + s.h) ** self.tilts - largest([s.start - s.h, 0]) ** self.tilts
        tilts = smallest([annulus, (reach + s.h) ** self.tilts]) / s.h**self.tilts
        directions = ((1 + s.k) ** self.outputs - largest([1 - s.k, 0]) ** self.outputs) / s.k**self.outputs
        return tilts * directions * (1 + self.nu * (1 + s.k) * s.h / s.height)

    def falls(self, s: Shell) -> None:
        """With the length, for Gaussian tokens."""
        size = s.to + s.h
        far = self.r - size + s.h + (s.height - self.eps) / (self.nu * (1 + s.k))
        below(iv(0), far, "within: for every length")
        below(size + 1 / far, self.r / 2, "within: for every length")
        at_most(iv(2 * (self.d - 2)), square(self.r), "within: for every length")

    def rate(self, s: Shell) -> I:
        """gamma"""
        steep, size, room = self.nu * (1 + s.k), s.to + s.h, s.height - self.eps
        drift = self.eps
        if self.gaussian:
            x = self.r - s.to
            below(iv(0), x, "within: farther out than the tilts")
            drift = self.eps * (1 - chi_tail(self.d, x)) - self.nu * chi_mean(self.d) * chi_tail(self.d + 1, x)
            below(iv(0), drift, "within: what is cut off")
            gap, room = self.r - size, room + steep * s.h
            below(iv(0), gap, "within: farther out than the tilts")
            below(iv(0), steep * (gap - 1 / gap) + room, "within: where f is largest")
            top = steep * gap + room
        else:
            top = largest([steep * (self.r + smallest([s.to, self.r])) + room, 0])
        top = s.slope * exp(size * self.r) * top
        below(top, iv(HIGHEST), "lambda: f is too large")
        rest = remainders(top)
        found = []
        for f2 in [self.square] if self.gaussian else [self.square, self.by_size, self.by_centre]:
            ends = zip(
                *[[s.slope * exp(x) * drift - y for y in self.rest(s, x, rest, f2(s, x))] for x in (s.least, s.most)],
                strict=False,
            )
            # For one bound and order concave in E e^<alpha,y>.
            found += [smallest(both) for both in ends]
        return largest(found)

    def rest(self, s: Shell, log_mgf: I, rest: list[I], f2: I) -> list[I]:
        """E e^f - 1 - f, by order: the moments below it, over factorials, and what is left by that of this order."""
        before, found = f2 / 2, [rest[2] * f2]
        for p in range(3, ORDERS + 1):
            moment = self.power(s, log_mgf, p)
            found.append(before + rest[p] * moment)
            before = before + moment / math.factorial(p)
            if moment.a > iv(1).a:
                # Larger ones only make it worse.
                break
        return found

    def multiple(self, s: Shell, log_mgf: I, p: int) -> I:
        """log E e^<p alpha,y>"""
        far, gain = s.to * self.r, p * square(s.to) / 2
        if not self.gaussian and (s.most + gain).a > far.b:
            return log_mgf + (p - 1) * far
        return p * log_mgf + (p - 1) * gain

    def square(self, s: Shell, log_mgf: I) -> I:
        """E f^2"""
        far, nu2 = s.to + 2 * s.h, square(self.nu)
        size = nu2 * (1 + square(far)) + 2 * self.eps * self.nu * far + square(self.eps) + square(s.height) / 3
        size = size + nu2 * square(s.k) * (min(self.d, self.outputs) + square(far)) / (self.outputs + 2)
        exponent = self.multiple(s, log_mgf, 2) + 2 * square(s.h) + 8 * square(s.h * s.to) / (self.tilts + 2)
        return square(s.slope) * exp(exponent) * size

    def by_size(self, s: Shell, log_mgf: I) -> I:
        """E f^2 for bounded tokens: <alpha, y> <= |alpha| r, once of twice."""
        size = square(self.nu) * (1 + square(s.k) * min(self.d, self.outputs) / (self.outputs + 2))
        size = size + square(self.eps) + square(s.height) / 3
        return square(s.slope) * exp(log_mgf + s.to * self.r + self.wide(s)) * size

    def wide(self, s: Shell) -> I:
        """log E e^<2 eta,y>"""
        return 2 * square(s.h * self.r) / (self.tilts + 2)

    def by_centre(self, s: Shell, log_mgf: I) -> I:
        """E f^2 for bounded tokens, at the tilt 2 a: |<alpha - a, y>| <= reach r."""
        c = self.centre
        assert c is not None
        far = c.off + self.nu * c.reach
        size = c.norm + square(s.k) * (c.trace + square(far)) / (self.outputs + 2)
        size = size + square(far + self.eps) + square(s.height) / 3
        return square(s.slope) * exp(c.log_mgf + 2 * c.reach * self.r + self.wide(s)) * size

    def power(self, s: Shell, log_mgf: I, p: int) -> I:
        """E f^p where f > 0"""
        about = (p - 1) * s.to * self.nu - self.eps
        x = (about + root(square(about) + 4 * p * square(self.nu))) / 2
        first, second = p * (p - 1) * s.to * self.nu / x, square(p * self.nu / x) / 2
        exponent = self.multiple(s, log_mgf, p) + square(p * s.h) / 2
        pull = s.h * p**2 * (s.to + self.nu * (1 + s.k) / x)
        exponent = exponent + square(pull) / (2 * (self.tilts + 2)) + first * (1 + square(s.k) / 2)
        exponent = exponent + second * (1 + square(s.k)) + square(s.k * (first + 2 * second)) / (2 * (self.outputs + 2))
        return exp(exponent + square(p * s.height / x) / 6 - p * (1 + self.eps / x) + p * log(s.slope * x))
