"""What a finite prompt adds to the risk of in-context regression: closed formulas.

Tokens and query x ~ N(0, Sigma), w ~ N(0, I), parameters (A, b); T = tr Sigma, tau = Sigma A x,
v = x'A'Sigma A x, and q = E P_2, kappa = E[P_3 - P_2^2] at the length L and the variance v of the scores
(`mean_square`). The risk R_L of a prompt of L tokens and that of the infinite prompt, R, differ by

    (1)  R_L - R = 1/2 E_x[ q (b^2 T - b^2 |tau|^2 + 2b <tau, x>) - 6 b^2 kappa |tau|^2 ].

For |A|_F <= rho_A and |b| <= rho_b, with lam the largest eigenvalue of Sigma, r = lam rho_A, g ~ N(0, 1), Q a
nondecreasing convex function above q, and M_k = E[Q(r^2 g^2) g^(2k)]

    (2)  R_L - R <= 1/2 (rho_b^2 T M_0 + Y),   Y = E[Q(r^2 g^2) (T + lam (g^2 - 1))] = T M_0 + lam (M_1 - M_0)
    (3)  R - R_L <= 5/4 X + (X Y)^(1/2),       X = rho_b^2 lam r^2 M_1.

Three kinds of such functions Q of the variance of the scores, with Q(v) >= q(L, v) for L >= 2, are

    logistic    1/(1 + (L-1) e^(-v)) for v <= v_0 = log(L-1), its tangent 1/2 + (v - v_0)/4 beyond
    power       theta^theta (1-theta)^(1-theta) (L-1)^(-theta) e^(theta v), 0 < theta <= 1
    tabulated   linear between nodes (v_i, Q_i), v_0 = 0, and beyond the last node like before it

They rest on 0 <= dq/dv <= q (1 - q), q(L, 0) = 1/L, and d^2 q/dv^2 >= -13/12 q. And q(L, v) does not increase with
L: what is above q at one length is above it at every larger one.

Of each the average E[Q(r^2 g^2) g^(2k)], g ~ N(0, 1), is enclosed, with

    T_k(y) = E[g^(2k); g^2 > y] = 2^k Gamma(k + 1/2, y/2) / pi^(1/2)

where the function is linear, and one integral for the logistic part. `docs/claims/training/risk-gap.md` has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from flint import acb, arb, fmpq

from certattn.kernel.mathematics.every_length import log_peak
from certattn.kernel.mathematics.functions import BALLS, Functions, Number
from certattn.kernel.mathematics.quadrature import integral
from certattn.kernel.mathematics.softmax_powers import PowerSums

# -d^2 q/dv^2 is at most this times q.
MOST_CONCAVE = fmpq(13, 12)
# Nodes are asked for again at every precision.
_REMEMBERED = 1024


# -- the formulas


@dataclass(frozen=True)
class QueryTerms:
    """Numbers of one query, or forms of it: |tau|^2, 2 <tau, x>, and the constant T."""

    square: Number
    cross: Number
    trace: Number


def collision_factor(b: Number, at: QueryTerms) -> Number:
    """b^2 T - b^2 |tau|^2 + 2b <tau, x>: what multiplies q in (1)."""
    return b * b * at.trace + (b * at.cross - b * b * at.square)


def spread_factor(b: Number, at: QueryTerms) -> Number:
    """-6 b^2 |tau|^2: what multiplies kappa in (1)."""
    return -6 * b * b * at.square


@dataclass(frozen=True)
class Ball:
    """All (A, b) with |A|_F^2 <= rho_A^2, b^2 <= rho_b^2; T and lam of Sigma."""

    A_squared: Number
    b_squared: Number
    trace: Number
    largest: Number

    def scale(self) -> Number:
        """r^2 = lam^2 rho_A^2."""
        return self.largest * self.largest * self.A_squared

    def query_average(self, plain: Number, weighted: Number) -> Number:
        """Y, from M_0 and M_1."""
        return self.trace * plain + self.largest * (weighted - plain)

    def excess(self, plain: Number, weighted: Number) -> Number:
        """(2)."""
        return (self.b_squared * self.trace * plain + self.query_average(plain, weighted)) / 2

    def shortfall(self, plain: Number, weighted: Number, fn: Functions) -> Number:
        """(3): the least of (5/2 + 1/eta) X/2 + eta Y/2 over eta > 0."""
        X = self.b_squared * self.largest * self.scale() * weighted
        Y = self.query_average(plain, weighted)
        return 5 * X / 4 + fn.sqrt(X * Y)


# -- majorants


def outer_moment(k: int, y: arb) -> arb:
    """T_k(y) = E[g^(2k); g^2 > y], y >= 0."""
    return arb(2) ** k * (y / 2).gamma_upper(arb(k) + arb(fmpq(1, 2))) / arb.pi().sqrt()


def ramp_average(k: int, start: arb, scale: arb) -> arb:
    """E[(r^2 g^2 - start)_+ g^(2k)], start >= 0."""
    y = start / scale
    found: arb = ramp(start, scale, outer_moment(k, y), outer_moment(k + 1, y))
    return found


def ramp(start: Number, scale: Number, lower: Number, upper: Number) -> Number:
    """E[(r^2 g^2 - start)_+ g^(2k)] from T_k and T_(k+1) at start / r^2."""
    return scale * upper - start * lower


def chord_excess(step: Number, last: Number) -> Number:
    """13/12 h^2/8 q: how far q exceeds its chord on a cell of width h where it is at most `last`."""
    return MOST_CONCAVE * step * step / 8 * last


def power_factor(theta: Number, length: Number, fn: Functions) -> Number:
    """theta^theta (1-theta)^(1-theta) (L-1)^(-theta)."""
    return fn.exp(log_peak(theta, fn) - theta * fn.log(length - 1))


def power_moment(k: int, rest: Number, fn: Functions) -> Number:
    """E[e^(theta r^2 g^2) g^(2k)] = (2k-1)!! (1 - 2 theta r^2)^(-k - 1/2), rest = 1 - 2 theta r^2 > 0."""
    found = 1 / fn.sqrt(rest)
    for odd in range(1, 2 * k, 2):
        found = found * odd / rest
    return found


@dataclass(frozen=True)
class Logistic:
    """The logistic bound up to v_0 = log(L-1), and its tangent there."""

    length: int

    def average(self, k: int, scale: arb, bits: int) -> arb:
        """E[Q(r^2 g^2) g^(2k)] for r^2 = `scale` > 0, at the working precision; not finite where none is proved."""
        start = arb(self.length - 1).log()
        y = start / scale
        if y.is_finite() is not True:
            return arb.nan()
        # The tangent is 1/2 and a quarter of a ramp.
        beyond = outer_moment(k, y) / 2 + ramp_average(k, start, scale) / 4
        return beyond + (self._logistic_part(k, scale, y.sqrt(), bits) if self.length > 2 else 0)

    def _logistic_part(self, k: int, scale: arb, end: arb, bits: int) -> arb:
        """2 int_0^end g^(2k) density(g) / (1 + (L-1) e^(-r^2 g^2)) dg; at poles off the line balls are not finite."""
        share = arb(1) / (self.length - 1)
        factor = share * 2 / (2 * arb.pi()).sqrt()

        def integrand(g: acb) -> acb:
            # (L-1) times what is wanted is about 1, whatever L is.
            square = g * g
            return square**k * (-square / 2).exp() / (share + (-scale * square).exp())

        return factor * integral(integrand, arb(0), end, bits)


@dataclass(frozen=True)
class Power:
    """A multiple of e^(theta v)."""

    length: int
    theta: fmpq

    def average(self, k: int, scale: arb, bits: int) -> arb:
        """The same: `power_factor` times `power_moment`, and not finite where the average is infinite."""
        rest = 1 - 2 * self.theta * scale
        if (rest > 0) is not True:
            return arb.nan()
        found: arb = power_factor(arb(self.theta), arb(self.length), BALLS) * power_moment(k, rest, BALLS)
        return found


@dataclass(frozen=True)
class Tabulated:
    """Linear between the nodes (v_i, Q_i), 0 = v_0 < v_1 < ...; at least two of them."""

    nodes: tuple[fmpq, ...]
    values: tuple[fmpq, ...]

    def slopes(self) -> list[fmpq]:
        """Of every cell."""
        ends = list(zip(self.nodes, self.values, strict=True))
        return [(high - low) / (b - a) for (a, low), (b, high) in pairwise(ends)]

    def least_bend(self) -> fmpq:
        """The least of the first slope and the growths of the slope: Q is convex and nondecreasing where it is >= 0."""
        slopes = self.slopes()
        return min([slopes[0], *(b - a for a, b in pairwise(slopes))])

    def average(self, k: int, scale: arb, bits: int) -> arb:
        """The same: Q is its value at 0 and ramps that start at the nodes."""
        moment = outer_moment(k, arb(0))
        total, before = self.values[0] * moment, fmpq(0)
        for start, slope in zip(self.nodes, self.slopes(), strict=False):
            if slope != before:
                total += (slope - before) * ramp_average(k, arb(start), scale)
            before = slope
        return total

    def least_excess(self, length: int, bits: int) -> arb:
        """A ball below the least of Q - q(L, .) up to the last node.

        Between nodes of distance h q exceeds its chord by at most 13/12 h^2/8 times q at the right one.
        """
        q = [_collision(length, node, bits) for node in self.nodes]
        above = [value - known for value, known in zip(self.values, q, strict=True)]
        found = above[0]
        for (a, b), (left, right), last in zip(pairwise(self.nodes), pairwise(above), q[1:], strict=False):
            found = found.min(left.min(right) - chord_excess(b - a, last))
        return found


Majorant = Logistic | Power | Tabulated


@lru_cache(_REMEMBERED)
def _collision(length: int, variance: fmpq, bits: int) -> arb:
    """q, to about `bits` bits."""
    return PowerSums(length, variance, 2, bits).mean(2)
