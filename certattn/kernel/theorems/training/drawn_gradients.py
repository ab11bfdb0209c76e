"""How far the gradient on a drawn prompt is from that of the risk over infinite prompts, over balls of parameters.

For tokens x_i ~ N(0, Sigma), i <= L, a query x ~ N(0, Sigma) and w ~ N(0, I), a prompt has the loss
1/2 (b sum_i p_i <w, x_i> - <w, x>)^2, p the softmax of <x_i, A x>. Let Sigma = F F', x = F g, M = F'A F, and T and lam
be the trace and the largest eigenvalue of Sigma. A ball of parameters is known by

    mu >= ||M||,   beta >= |b|,   eps >= ||b M - I||          (operator norms),

and lengths by means of the power sums P_k of softmax weights of scores with the variance v = |M g|^2 <= mu^2 |g|^2,

    q = E P_2,   p = E P_3,

which grow with v and fall with L. Let zeta be the softmax mean of the vectors F^-1 x_i, less M g, and C their softmax
covariance. Given x,

    E|zeta|^2     <= z_2 = (d + v) q
    E|zeta|^4     <= z_4 = (1521/500 v^2 + 8/3 (d + 2) v + d (d + 2)) p
    E|C|_F^k      <= h_k = E|N(0, I)|^(2k) = d (d + 2) ... (d + 2k - 2)
    E|C - I|_F^2  <= c = min(d (d + 3), (v^2 + 2 (d + 1) v + d (d + 1)) q + 16 v^2 p)
    E[|zeta|^2 |C|_F^2]     <= (z_4 h_4)^(1/2)
    E[|zeta|^2 |C - I|_F^2] <= z_4^(1/2) (c (h_6^(1/3) + d)^3)^(1/4).

With |f| = (E f^2)^(1/2), over queries too, let

    n_1 = (eps + beta mu) ||g| zeta| + beta ||zeta|^2|
    n_2 = 3^(1/2) beta eps ||g|^2 (C - I)|
          + beta^2 min(3^(1/2) ||g| |zeta| |C||, (d + 2)^(1/2) ||g| zeta| + 3^(1/2) ||g| |zeta| |C - I||)
    h(s, t)^2 = 3 lam^2 (n_1 + s ||g|^2|)^2 + lam^4 (n_2 + t (d + 2)^(1/2) ||g|^2|)^2.

Let G be the mean square of the gradient on one infinitely long prompt at the centre of the ball, r the radius, and
eps = eps_0 + eps_1 with eps_0 at the centre. The gradient on one prompt has the mean square, at most,

    min(h(eps mu, eps beta)^2, (G^(1/2) + h(eps_1 mu + eps_0 lam r, eps_1 beta + eps_0 r))^2).

`docs/claims/training/stochastic-descent.md` has the proofs, also of `gap` and `slope_gap`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import natural_power, root
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE, PowerSums

# Variances at which the moments of the weights are known: up to the first number in steps of the second.
_STEPS = ((2, fmpq(1, 16)), (6, fmpq(1, 8)), (16, fmpq(1, 2)), (MOST_VARIANCE, fmpq(4)))
_BITS = 16
_REMEMBERED = 256

# Of v^2 and (d + 2) v in z_4 / p, and of v^2 p in c.
FOURTH = fmpq(1521, 500), fmpq(8, 3)
SPREAD = fmpq(16)


def _nodes() -> list[fmpq]:
    found = [fmpq(0)]
    for end, step in _STEPS:
        while found[-1] < end:
            found.append(found[-1] + step)
    return found


NODES = _nodes()


@lru_cache(_REMEMBERED)
def _powers(length: int, variance: fmpq) -> tuple[arb, arb]:
    """q and p, at most."""
    powers = PowerSums(length, variance, 3, _BITS)
    return powers.mean(2).upper(), powers.mean(3).upper()


def normal_moment(dimension: int, k: int) -> int:
    """E|N(0, I)|^(2k) = d (d + 2) ... (d + 2k - 2)."""
    found = 1
    for i in range(k):
        found *= dimension + 2 * i
    return found


def mean_square(d: int, v: arb, q: arb) -> arb:
    """z_2."""
    return (d + v) * q


def mean_fourth(d: int, v: arb, p: arb) -> arb:
    """z_4."""
    return (FOURTH[0] * v * v + FOURTH[1] * (d + 2) * v + d * (d + 2)) * p


def spread(d: int, v: arb, q: arb, p: arb) -> arb:
    """c."""
    return ((v * v + (2 * d + 2) * v + d * (d + 1)) * q + SPREAD * v * v * p).min(arb(d * (d + 3)))


@dataclass(frozen=True)
class Profile:
    """A function of the variance that grows with it: at most so much up to each node, and like a power beyond."""

    values: Sequence[arb]
    power: int


class Profiles:
    """Of prompts of `length` tokens or more, of the dimension d."""

    def __init__(self, dimension: int, length: int) -> None:
        self.dimension = d = dimension
        known = [(arb(v), *_powers(length, v)) for v in NODES[1:]]
        known.append((known[-1][0], arb(1), arb(1)))
        fourth = [mean_fourth(d, v, p) for v, _, p in known]
        spreads = [spread(d, v, q, p) for v, q, p in known]
        sixth = natural_power(root_of(arb(normal_moment(d, 6)), 3) + d, 3)
        self.weight = Profile([q for _, q, _ in known], 0)
        self.square = Profile([mean_square(d, v, q) for v, q, _ in known], 1)
        self.fourth = Profile(fourth, 2)
        self.spread = Profile(spreads, 0)
        self.whole = Profile([root(x * normal_moment(d, 4)) for x in fourth], 1)
        self.product = Profile([root(x) * root(root(c * sixth)) for x, c in zip(fourth, spreads, strict=True)], 1)

    def at(self, largest: arb) -> Averages:
        """Over queries, where ||M|| is at most so large."""
        return Averages(self, largest)


def root_of(x: arb, n: int) -> arb:
    """x^(1/n) for x > 0."""
    return (x.log() / n).exp()


@dataclass(frozen=True)
class Averages:
    """E[|g|^(2i) f(mu^2 |g|^2)] for g ~ N(0, I)."""

    of: Profiles
    mu: arb

    @cached_property
    def _outer(self) -> list[list[arb]]:
        """E[|g|^(2i); mu^2 |g|^2 > v] = 2^i Gamma(d/2 + i, y) / Gamma(d/2), y = v / (2 mu^2), node by node, i <= 4."""
        half = arb(fmpq(self.of.dimension, 2))
        whole, found = half.gamma(), []
        for v in NODES:
            y = v / (2 * self.mu * self.mu)
            tail = arb(1) if v == 0 else y.gamma_upper(half) / whole
            row = [tail]
            rest = arb(0) if v == 0 else (half * y.log() - y).exp() / whole
            for i in range(4):
                # Gamma(s + 1, y) = s Gamma(s, y) + y^s e^-y.
                row.append(2 * ((half + i) * row[-1] + rest))
                rest = rest * y * 2
            found.append(row)
        return found

    def mean(self, i: int, f: Profile) -> arb:
        """At most that, for i <= 2."""
        outer, total = self._outer, arb(0)
        for (inner, outside), value in zip(pairwise(outer), f.values, strict=False):
            total += value * (inner[i] - outside[i])
        beyond = natural_power(self.mu * self.mu / NODES[-1], f.power)
        return total + f.values[-1] * beyond * outer[-1][i + f.power]


@dataclass(frozen=True)
class Region:
    """A ball of parameters: mu, beta and r; eps_0, G and eps_1; lam and T of Sigma."""

    averages: Averages
    factor: arb
    radius: arb
    centre_error: arb
    centre_noise: arb
    moved: arb
    largest: arb
    trace: arb

    @property
    def error(self) -> arb:
        """eps."""
        return self.centre_error + self.moved

    def gap(self) -> arb:
        """R_L - R <= 1/2 E[q (b^2 T + lam |g|^2)]."""
        weight, mean = self.averages.of.weight, self.averages.mean
        return (self.factor * self.factor * self.trace * mean(0, weight) + self.largest * mean(1, weight)) / 2

    def slope_gap(self) -> arb:
        """The gradient of R_L - R is no longer than this."""
        q0, q1, q2 = (self.averages.mean(i, self.averages.of.weight) for i in range(3))
        lam, mu, b, eps = self.largest, self.averages.mu, self.factor, self.error
        # Along b it is between -(the second) and the first.
        cross = lam * eps * mu * q1
        along_b = (b * self.trace * q0 + cross).max(cross + fmpq(3, 2) * b * lam * mu * mu * q1)
        along_A = lam * mu * (b * b * self.trace * q1 + lam * (eps * eps).max(arb(1)) * q2)
        along_A += b * lam * lam * (eps * q1 + 2 * b * natural_power(mu, 3) * q2 + fmpq(3, 2) * b * mu * q1)
        return root(along_b * along_b + along_A * along_A)

    def noise(self) -> arb:
        """E|gradient on one prompt|^2."""
        of, mean = self.averages.of, self.averages.mean
        d, lam, mu, b, eps = of.dimension, self.largest, self.averages.mu, self.factor, self.error
        whole, square = root(arb(d * (d + 2))), root(mean(1, of.square))
        three, plain = root(arb(3)), root(arb(d + 2))
        mixed = (three * root(mean(1, of.whole))).min(plain * square + three * root(mean(1, of.product)))
        n1 = (eps + b * mu) * square + b * root(mean(0, of.fourth))
        n2 = b * (eps * three * root(mean(2, of.spread)) + b * mixed)
        moved1 = self.moved * mu + self.centre_error * lam * self.radius
        moved2 = b * self.moved + self.radius * self.centre_error

        def together(first: arb, second: arb) -> arb:
            """lam^2 (3 n_1^2 + lam^2 n_2^2) with so much more of |g|^2."""
            found = natural_power(n1 + first * whole, 2) * 3 + natural_power(lam * (n2 + plain * second * whole), 2)
            return lam * lam * found

        near_centre = natural_power(root(self.centre_noise) + root(together(moved1, moved2)), 2)
        return near_centre.min(together(eps * mu, eps * b))
