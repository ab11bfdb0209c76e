"""Over a ball of parameters: R_L - R by a line above what a direction of the query adds, for `risk-gap`.

The query is x = Sigma^(1/2) g with g = n^(1/2) u, n = |g|^2 of the chi-squared law and u uniform on the sphere,
independent; v = x'A'Sigma A x, the variance of the scores, is n w with 0 <= w = u'M u <= r^2 and E w <= r^2 / d for
every A. For c = b^2, any nu > 0 and y = b Sigma A x, with l and lam the extreme eigenvalues of Sigma,

    cT + 2 <y, x> - |y|^2 <= h = cT + eta(w) n,   eta(w) = nu lam - (1 - 1/nu) s c w,

s = l for nu >= 1 and lam for nu < 1. Let eta >= 0, and gamma, eps >= 0 with gamma w <= 9/2 eta(w) and
gamma + 9/2 cT eps <= 6 l c. Then kappa may be used g(v) = gamma v + 9/2 cT f(eps v) times, as f(x) <= min(x, 1):
g <= 6 |y|^2, and g <= 9/2 h, so that q h - kappa g falls with L. With q and kappa at L_0, for every m >= 0

    2 (R_L - R) <= E F(w) <= m r^2 / d + the largest of F(w) - m w,   F(w) = E_n [q(n w) h - kappa(n w) g(n w)].

R_L - R is quadratic in b: between b = k rho_b / K and the next it is at most the larger of its ends and psi / (8 K^2),
psi an upper bound of 7/3 lam rho_b^2 E[q v], by a line too.

Between nodes of distance k, where F is known, it exceeds its chord by at most k^2 / 8 times a bound of -F'', by
0 <= q' <= q, -13/12 q <= q'', kappa' <= 5/18 q and kappa'' <= 5/8 q; nu, gamma and eps are fixed on each cell.

Proofs: docs/claims/training/risk-gap.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from flint import arb, fmpq

from certattn.kernel.mathematics.weight_growth import KAPPA_CONVEX, MOST_CONCAVE
from certattn.kernel.methods import method
from certattn.kernel.theorems.training.gap_means import Means, Rule

# q - (9/2) kappa falls with L.
FALLS = fmpq(9, 2)
# d kappa/dv is at most this times q.
MOST_RISING = fmpq(5, 18)
# q + 6 kappa is at most this times q.
SUM = fmpq(7, 3)
# eps is 4/3 l/T, the largest that is of use, times one of these.
_CAPS = tuple(fmpq(4, 5) ** k for k in range(16))
# nu - 1 is halved at most so often.
_HALVINGS = 8
# nu and the largest eps are multiples of 1 / _UNIT.
_UNIT = 2**20


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

    @cached_property
    def caps(self) -> tuple[fmpq, ...]:
        """What eps may be, whatever b is."""
        largest = _rounded(self.smallest / self.trace) * 4 / 3
        return tuple(largest * part for part in _CAPS)


@dataclass(frozen=True)
class Cell:
    """Two neighbouring nodes w, and the means at both."""

    left: fmpq
    right: fmpq
    first: Means
    last: Means


@dataclass(frozen=True)
class Known:
    """Of a function on a cell: at least what it is at both nodes, and at least minus its second derivative."""

    cell: Cell
    first: arb
    last: arb
    bend: arb

    def above(self, slope: fmpq) -> arb:
        """At least the function minus `slope` w."""
        left, right = self.cell.left, self.cell.right
        chord = (self.first - slope * left).max(self.last - slope * right)
        return chord + self.bend * (right - left) ** 2 / 8


def eta(gap: Gap, nu: fmpq, w: fmpq) -> arb:
    """What n is multiplied by in h."""
    return nu * gap.largest - _tilt(gap, nu) * w


def _tilt(gap: Gap, nu: fmpq) -> arb:
    return (1 - 1 / nu) * gap.b_squared * (gap.smallest if nu >= 1 else gap.largest)


def choose_nu(gap: Gap, cell: Cell) -> fmpq:
    """Near the best of those with eta >= 0 at both nodes; 1 is one."""
    flat = gap.b_squared * (cell.left + cell.right) / 2
    steep = gap.smallest * flat / gap.largest
    nu = max(_rounded(steep.sqrt()), fmpq(1)) if (steep > 1) is True else min(_rounded(flat.sqrt()), fmpq(1))
    for _ in range(_HALVINGS):
        if nu > 0 and all((eta(gap, nu, w) >= 0) is True for w in (cell.left, cell.right)):
            return nu
        nu = (nu + 1) / 2
    return fmpq(1)


def _rounded(value: arb) -> fmpq:
    return fmpq(int((value * _UNIT).mid().floor().unique_fmpz() or 0), _UNIT)


def share_caps(caps: Sequence[fmpq], most: arb) -> list[tuple[int, arb]]:
    """Shares >= 0 of eps of the list, at most 1 together, that mean at most `most` >= 0, and about that."""
    low = next((k for k, eps in enumerate(caps) if (eps <= most) is True), len(caps))
    least = caps[low] if low < len(caps) else fmpq(0)
    if low == 0 or (least <= most <= caps[low - 1]) is not True:
        return [(low, arb(1))] if low < len(caps) else []
    share = (most - least) / (caps[low - 1] - least)
    return [(low - 1, share), *([(low, 1 - share)] if low < len(caps) else [])]


def added(gap: Gap, cell: Cell) -> Known:
    """F on the cell."""
    trace, spread = gap.b_squared * gap.trace, 6 * gap.smallest * gap.b_squared
    nu = choose_nu(gap, cell)
    ends = eta(gap, nu, cell.left), eta(gap, nu, cell.right)
    gamma = (FALLS * ends[1] / cell.right).min(spread)
    if cell.left > 0:
        gamma = gamma.min(FALLS * ends[0] / cell.left)
    shares = share_caps(gap.caps, (spread - gamma) / (FALLS * trace))

    def at(w: fmpq, means: Means, factor: arb) -> arb:
        capped = sum((share * means.capped[k] for k, share in shares), arb(0))
        return trace * means.q[0] + factor * means.q[1] - gamma * w * means.kappa - FALLS * trace * capped

    flat = MOST_CONCAVE * trace + 2 * _tilt(gap, nu).max(arb(0)) + 2 * MOST_RISING * spread
    steep = MOST_CONCAVE * ends[0].max(ends[1]) + KAPPA_CONVEX * spread * cell.right
    bend = flat * cell.last.q[2] + steep * cell.last.q[3]
    return Known(cell, at(cell.left, cell.first, ends[0]), at(cell.right, cell.last, ends[1]), bend)


def product(gap: Gap, cell: Cell) -> Known:
    """E_n[q v] on the cell."""
    first, last = cell.left * cell.first.q[1], cell.right * cell.last.q[1]
    return Known(cell, first, last, MOST_CONCAVE * cell.right * cell.last.q[3])


@dataclass(frozen=True)
class Lines:
    """Nodes 0 = w_0 < w_1 < ..., and the slopes of lines: above E_n[q v], and above F for b = rho_b k/K, k = 1..K."""

    length: int
    nodes: tuple[fmpq, ...]
    plain_slope: fmpq
    slopes: tuple[fmpq, ...]

    @method
    def excess(self, gap: Gap, bits: int) -> arb:
        """A bound of R_L - R over the ball, for every L >= `length`; the last node is at least r^2."""
        cells, count = self.cells(gap, bits), len(self.slopes)
        worst = arb(0)
        for part, slope in zip(self.parts(gap), self.slopes, strict=True):
            worst = worst.max(mean(gap, [added(part, cell) for cell in cells], slope))
        mixed = mean(gap, [product(gap, cell) for cell in cells], self.plain_slope)
        return worst / 2 + SUM * gap.largest * gap.b_squared * mixed / (8 * count * count)

    def parts(self, gap: Gap) -> list[Gap]:
        """For b = rho_b k/K."""
        return [gap.shrunk(fmpq(k, len(self.slopes))) for k in range(1, len(self.slopes) + 1)]

    def cells(self, gap: Gap, bits: int) -> list[Cell]:
        """From node to node."""
        rule = Rule(self.length, gap.dimension, arb(self.nodes[1]), arb(self.nodes[-1]), gap.caps, bits)
        means = [rule.at_zero(), *rule.at(self.nodes[1:])]
        ends = list(zip(self.nodes, means, strict=True))
        return [Cell(a, b, first, last) for (a, first), (b, last) in pairwise(ends)]


def mean(gap: Gap, cells: Sequence[Known], slope: fmpq) -> arb:
    """At least the mean over u of a function that is nowhere above all of these."""
    worst = arb(0)
    for known in cells:
        worst = worst.max(known.above(slope))
    return worst + slope * gap.scale / gap.dimension
