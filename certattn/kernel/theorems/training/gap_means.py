"""Means of the softmax weights' moments at the variance v = n w of the scores, n of the chi-squared law.

For d degrees of freedom, w > 0, p_w the density of v, and phi one of v^k q, v kappa and kappa f(eps v),

    E phi(n w) = int phi(V(s)) p_w(V(s)) V'(s) ds,   V(s) = 3/2 log(1 + e^s)

by the trapezoid rule with step h, whose nodes are the same for every w: a product of matrices. For |Im s| <= alpha
(`weight_averages`) |q(V)| <= Q, |kappa(V)| <= 2 Q^2 and |f(eps V)| <= 1 + cos(alpha)^(1-m), so that it is off by at
most strip_error(alpha, h) times

    cos(alpha)^(-1 - max(0, d/2 - 1) - k) w^k E n^k   and these.

All phi are >= 0: what nodes on the left leave, where q is known at the first and v^(d/2) sums geometrically, and on
the right, where q <= 1 and E n^k is known, is added to means of q and left out of those of kappa.

    f(x) = 1 - sum over j < m of (1 - j/m) (m x)^j / j! e^(-m x) = E min(N/m, 1),   N ~ Poisson(m x),

is concave, grows, and is at most min(x, 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.lognormal_laplace import strip_error
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE
from certattn.kernel.mathematics.weight_averages import SCALE, STRIP, on_the_line
from certattn.kernel.mathematics.weight_growth import weights_near

# m, and the largest k.
ORDER, DEGREE = 4, 3
# The nodes begin at e^-_LEFT of the least w, but not below e^_FARTHEST; e^-_NATS is about how far the rule is off.
_LEFT, _FARTHEST, _NATS = 24, -120, 11
_FEWEST_STEPS = 3


def capped(x: arb) -> arb:
    """f(x), x >= 0."""
    y, total, term = ORDER * x, arb(0), arb(1)
    for j in range(ORDER):
        total += (1 - fmpq(j, ORDER)) * term
        term *= y / (j + 1)
    return 1 - total * (-y).exp()


def moment(dimension: int, k: int) -> int:
    """E n^k = d (d + 2) ... (d + 2k - 2)."""
    return math.prod(dimension + 2 * i for i in range(k))


@dataclass(frozen=True)
class Means:
    """At one w: at least E n^k q for k = 0..3, at most E n kappa and E kappa f(eps v) for every eps."""

    q: Sequence[arb]
    kappa: arb
    capped: Sequence[arb]


@dataclass(frozen=True)
class Rule:
    """For prompts of `length` tokens in `dimension` d, the w from `least` > 0 to `most`, and the `caps` eps."""

    length: int
    dimension: int
    least: arb
    most: arb
    caps: tuple[fmpq, ...]
    bits: int

    def at_zero(self) -> Means:
        """Where w = 0: all weights are 1/L."""
        q = [arb(fmpq(moment(self.dimension, k), self.length)) for k in range(DEGREE + 1)]
        return Means(q, arb(0), [arb(0)] * len(self.caps))

    def at(self, each: Sequence[fmpq]) -> list[Means]:
        """For every w > 0 of these."""
        density = arb_mat([[self._density(j, arb(w)) for j in range(len(self._nodes))] for w in each])
        table = density * self._columns
        return [self._means(arb(w), [table[i, j] for j in range(table.ncols())]) for i, w in enumerate(each)]

    @cached_property
    def _steps(self) -> int:
        """1/h."""
        nats = _NATS + fmpq(7, 10) * self.length.bit_length() + fmpq(6, 10) * self.dimension
        return max(_FEWEST_STEPS, int((nats / (6 * STRIP)).ceil()))

    def _angle(self, k: int) -> fmpq:
        """Minus the power of cos(alpha), for what grows like v^k."""
        return 1 + max(fmpq(0), fmpq(self.dimension, 2) - 1) + k

    @cached_property
    def _nodes(self) -> list[arb]:
        """s, from v near 0 to where v is beyond what is known, or seldom is."""
        end = (self.most * (2 * self.dimension + 40)).min(arb(MOST_VARIANCE)) / SCALE
        first = (self.least.log() - _LEFT).max(arb(_FARTHEST))
        return [arb(fmpq(j, self._steps)) for j in range(_floor(first * self._steps), _floor(end * self._steps))]

    @cached_property
    def _variances(self) -> list[tuple[arb, arb]]:
        """V, and log V."""
        found = [SCALE * s.exp().log1p() for s in self._nodes]
        return [(v, v.log()) for v in found]

    @cached_property
    def _factors(self) -> list[arb]:
        """h V' / (V 2^(d/2) Gamma(d/2))."""
        half = arb(fmpq(self.dimension, 2))
        whole = arb(2) ** half * half.gamma() * self._steps
        return [SCALE / (1 + (-s).exp()) / (v * whole) for s, (v, _) in zip(self._nodes, self._variances, strict=True)]

    @cached_property
    def _known(self) -> list[tuple[arb, arb]]:
        return [weights_near(self.length, v, self.bits) for v, _ in self._variances]

    @cached_property
    def _columns(self) -> arb_mat:
        rows = []
        for (v, _), (q, kappa) in zip(self._variances, self._known, strict=True):
            powers = [v**k for k in range(DEGREE + 1)]
            caps = [kappa * capped(cap * v) for cap in self.caps]
            rows.append([*(q * power for power in powers), *powers, kappa * v, *caps])
        return arb_mat(rows)

    def _density(self, j: int, w: arb) -> arb:
        """h p_w(V) V'."""
        v, logarithm = self._variances[j]
        return ((logarithm - w.log()) * fmpq(self.dimension, 2) - v / (2 * w)).exp() * self._factors[j]

    def _off(self, k: int) -> arb:
        """What the rule is off by, in units of w^k E n^k, where phi / v^k is at most 1 in the strip."""
        strip = arb(STRIP)
        return strip_error(strip, fmpq(1, self._steps)) * strip.cos() ** -arb(self._angle(k))

    def _left(self, w: arb) -> arb:
        """h times the sum of p_w(V) V' to the left of the nodes: V' and V are at most 3/2 e^s, and V' <= V."""
        half, s = arb(fmpq(self.dimension, 2)), self._nodes[0]
        first = (half * (SCALE * s.exp() / (2 * w)).log()).exp() / half.gamma()
        return first / (self._steps * (half / self._steps).expm1())

    def _means(self, w: arb, sums: Sequence[arb]) -> Means:
        count, ratio, left = DEGREE + 1, _ratio(), self._left(w)
        (v, _), (first, _) = self._variances[0], self._known[0]
        q = []
        for k in range(count):
            whole = moment(self.dimension, k)
            taken, seen = sums[count + k] / w**k, sums[k] / w**k
            right = (whole * (1 + self._off(k)) - taken).max(arb(0))
            q.append(seen + left * first * (v / w) ** k + right + ratio * self._off(k) * whole)
        spread = 2 * ratio * ratio
        plain = sums[2 * count] / w - spread * self._off(1) * self.dimension
        cap = spread * self._off(0) * (1 + arb(STRIP).cos() ** (1 - ORDER))
        return Means(q, plain.max(arb(0)), [(total - cap).max(arb(0)) for total in sums[2 * count + 1 :]])


def _ratio() -> arb:
    """Q."""
    density, share = on_the_line()
    return density / share


def _floor(value: arb) -> int:
    """About; 0 where nothing is known."""
    return int(value.mid().floor().unique_fmpz() or 0)
