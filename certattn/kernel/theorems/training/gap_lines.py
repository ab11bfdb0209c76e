"""Over a ball of parameters: R_L - R by lines above what the query adds, for `risk-gap`.

Given x = Sigma^(1/2) g, let n = |g|^2 and v = x'A'Sigma A x, the variance of the scores. E[v | n] <= n r^2 / d for
every A, so that a bound that is a line in v, given n, has a mean that needs no worst A. For c = b^2, any nu > 0, every
L >= L_0, and q, kappa at L_0, what is averaged in R_L - R is, with l and lam the extreme eigenvalues of Sigma, at most

    phi(n, v) = max(q h - 6 l c v kappa, (q - 9/2 kappa) h, 0),    h = cT + nu lam n - (1 - 1/nu) s c v,

s = l for nu >= 1 and lam for nu < 1: 2 <y, x> <= nu |x|^2 + |y|^2 / nu for y = b Sigma A x, l c v <= |y|^2 <= lam c v.
This grows with n, and is convex in n. On a shell n_i <= n <= n_(i+1), where nu may depend on v, for every m >= 0

    phi(n, v) <= m v + u(n),   v <= n_(i+1) r^2,

u linear between the largest phi(n_i, v) - m v and the same at n_(i+1).

Beyond the last node and the last shell q <= 1 and nu = 1. R_L - R is quadratic in b: between b = k rho_b / K and the
next it is at most the larger of its ends and psi / (8 K^2), psi an upper bound of 7/3 lam rho_b^2 E[q v], by lines too.

Between nodes of distance h, where q and kappa are known, functions exceed their chords by at most k h^2 / 8, where
their second derivative is at least -k. It is bounded by 0 <= q' <= q, -8/7 q <= kappa' <= 5/18 q and |q''|, |kappa''|
<= 17/4 q; kappa may be replaced by a part of it. The means are sums of probabilities of chi-squared laws.

Proofs: docs/claims/training/risk-gap.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from flint import arb, fmpq

from certattn.kernel.mathematics.weight_growth import MOST_CURVED, weights
from certattn.kernel.methods import method

# q - (9/2) kappa falls with L.
FALLS = fmpq(9, 2)
# d kappa/dv is at most this times q; minus it at most that.
MOST_RISING, MOST_FALLING = fmpq(5, 18), fmpq(8, 7)
# q + 6 kappa is at most this times q.
SUM = fmpq(7, 3)
# Parts of kappa that are used: on a cell, the best.
PARTS = (fmpq(1, 4), fmpq(1))
# What nu is chosen from.
LADDER = tuple(fmpq(6, 5) ** k for k in range(12, -13, -1))


@dataclass(frozen=True)
class Moments:
    """q and kappa at a variance v of the scores."""

    v: fmpq
    q: arb
    kappa: arb


@dataclass(frozen=True)
class Gap:
    """The task and the ball: d, T, l, lam, r^2, and c the largest b^2."""

    dimension: int
    trace: arb
    smallest: arb
    largest: arb
    scale: arb
    b_squared: arb

    def shrunk(self, part: fmpq) -> Gap:
        """With b this part of the largest."""
        return replace(self, b_squared=self.b_squared * part * part)

    def nu(self, n: fmpq, v: fmpq) -> fmpq:
        """Near the best where Sigma = I; any is right."""
        square = self.b_squared * v / n
        for nu in LADDER:
            if (nu * nu <= square) is True:
                return nu
        return LADDER[-1]


@dataclass(frozen=True)
class Cell:
    """q and kappa at two neighbouring nodes."""

    left: Moments
    right: Moments

    def largest(self, slope: fmpq, first: arb, last: arb, bend: arb) -> arb:
        """At least f(v) - `slope` v between the nodes, from f at both; f'' >= -`bend` q there, q at the right one."""
        left, right = self.left, self.right
        width = right.v - left.v
        return (first - slope * left.v).max(last - slope * right.v) + bend * right.q * width * width / 8


def phi(gap: Gap, n: arb, shell: fmpq, cell: Cell, slope: fmpq, enough: arb) -> arb:
    """At least phi(n, v) - `slope` v on the cell, no better than `enough`; nu for the end of the shell."""
    left, right, c = cell.left, cell.right, gap.b_squared
    nu = gap.nu(shell, right.v)
    start = c * gap.trace + nu * gap.largest * n
    tilt = -(1 - 1 / nu) * c * (gap.smallest if nu >= 1 else gap.largest)
    first, last, spread = start + tilt * left.v, start + tilt * right.v, 6 * gap.smallest * c
    size, steep = abs(first).max(abs(last)), 2 * abs(tilt)
    bend = MOST_CURVED * size + steep
    # With a part of kappa less is gained, and less is lost between the nodes.
    best = right.q * first.max(last) - slope * left.v
    for part in PARTS:
        if (best <= enough) is True:
            break
        larger = cell.largest(
            slope,
            left.q * first - part * spread * left.v * left.kappa,
            right.q * last - part * spread * right.v * right.kappa,
            bend + part * spread * (MOST_CURVED * right.v + 2 * MOST_RISING),
        )
        falls = part * FALLS
        other = cell.largest(
            slope,
            (left.q - falls * left.kappa) * first,
            (right.q - falls * right.kappa) * last,
            bend + falls * (MOST_CURVED * size + MOST_FALLING * steep),
        )
        best = best.min(larger.max(other))
    return best.max(-slope * arb(left.v))


def plain(gap: Gap, n: arb, shell: fmpq, cell: Cell, slope: fmpq, enough: arb) -> arb:
    """At least q v - `slope` v on the cell, whatever n."""
    left, right = cell.left, cell.right
    return cell.largest(slope, left.q * left.v, right.q * right.v, arb(MOST_CURVED * right.v))


Bound = Callable[[Gap, arb, fmpq, Cell, fmpq, arb], arb]


@dataclass(frozen=True)
class Lines:
    """Nodes 0 = v_0 < v_1 < ..., ends 0 < n_1 < n_2 < ... of shells, the first from 0 on.

    For each shell the slopes of the lines above phi for b = rho_b k/K, k = 1..K, and of the one above q v.
    """

    length: int
    nodes: tuple[fmpq, ...]
    ends: tuple[fmpq, ...]
    slopes: tuple[tuple[fmpq, ...], ...]
    plain_slopes: tuple[fmpq, ...]

    @method
    def excess(self, gap: Gap, bits: int) -> arb:
        """A bound of R_L - R over the ball, for every L >= `length`."""
        known = [Moments(v, *weights(self.length, v, bits)) for v in self.nodes]
        cells = [Cell(left, right) for left, right in pairwise(known)]
        outer, worst, count = outer_moments(gap.dimension, self.ends[-1]), arb(0), len(self.slopes)
        for k, slopes in enumerate(self.slopes, 1):
            part = gap.shrunk(fmpq(k, count))
            beyond = part.b_squared * gap.trace * outer[0] + gap.largest * outer[1]
            worst = worst.max(self._average(part, cells, slopes, phi) + beyond)
        mixed = self._average(gap, cells, self.plain_slopes, plain) + gap.scale / gap.dimension * outer[1]
        return worst / 2 + SUM * gap.largest * gap.b_squared * mixed / (8 * count * count)

    def _average(self, gap: Gap, cells: Sequence[Cell], slopes: Sequence[fmpq], bound: Bound) -> arb:
        """At least the mean up to the last shell."""
        total, inner = arb(0), outer_moments(gap.dimension, fmpq(0))
        for (left, right), slope in zip(pairwise((fmpq(0), *self.ends)), slopes, strict=True):
            beyond = outer_moments(gap.dimension, right)
            share, weighted = inner[0] - beyond[0], inner[1] - beyond[1]
            low, high = (largest_above(gap, arb(n), right, cells, slope, bound) for n in (left, right))
            total += low * share + (high - low) / (right - left) * (weighted - left * share)
            total += slope * gap.scale / gap.dimension * weighted
            inner = beyond
        return total


def largest_above(gap: Gap, n: arb, shell: fmpq, cells: Sequence[Cell], slope: fmpq, bound: Bound) -> arb:
    """At least f(n, v) - `slope` v for 0 <= v <= r^2 n_(i+1), the `shell` up to n_(i+1), f >= 0."""
    worst, end = arb(0), shell * gap.scale
    for cell in cells:
        worst = worst.max(bound(gap, n, shell, cell, slope, worst))
        if (cell.right.v >= end) is True:
            return worst
    # There q <= 1, and f is at most what it is for q = 1, kappa = 0 and nu = 1.
    most = gap.b_squared * gap.trace + gap.largest * n if bound is phi else end
    return worst.max(most - slope * cells[-1].right.v)


def outer_moments(dimension: int, y: fmpq) -> tuple[arb, arb]:
    """P(n > y) and E[n; n > y] for n of the chi-squared law."""
    half, at = arb(fmpq(dimension, 2)), arb(y / 2)
    whole = half.gamma()
    return at.gamma_upper(half) / whole, 2 * at.gamma_upper(half + 1) / whole
