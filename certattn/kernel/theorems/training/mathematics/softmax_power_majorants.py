"""Functions of the variance of the scores that lie above q = E sum_i p_i^2, and their Gaussian averages.

p are the softmax weights of L independent scores of variance v >= 0, q = q(L, v). A majorant is a nondecreasing
convex function Q on v >= 0 with Q(v) >= q(L, v). Three kinds, for L >= 2:

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

from abc import ABC, abstractmethod
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


class Majorant(ABC):
    """A nondecreasing convex function Q >= q(L, .)."""

    @abstractmethod
    def average(self, k: int, scale: arb, bits: int) -> arb:
        """E[Q(r^2 g^2) g^(2k)] for r^2 = `scale` > 0, at the working precision `bits`.

        Not finite where the average is infinite or nothing is proved.
        """


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
class Logistic(Majorant):
    """The logistic bound up to v_0 = log(L-1), and its tangent there."""

    length: int

    def average(self, k: int, scale: arb, bits: int) -> arb:
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
class Power(Majorant):
    """A multiple of e^(theta v)."""

    length: int
    theta: fmpq

    def average(self, k: int, scale: arb, bits: int) -> arb:
        """`power_factor` times `power_moment`."""
        rest = 1 - 2 * self.theta * scale
        if (rest > 0) is not True:
            return arb.nan()
        found: arb = power_factor(arb(self.theta), arb(self.length), BALLS) * power_moment(k, rest, BALLS)
        return found


@dataclass(frozen=True)
class Tabulated(Majorant):
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
        """Q is its value at 0 and ramps that start at the nodes."""
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


@lru_cache(_REMEMBERED)
def _collision(length: int, variance: fmpq, bits: int) -> arb:
    """q, to about `bits` bits."""
    return PowerSums(length, variance, 2, bits).mean(2)
