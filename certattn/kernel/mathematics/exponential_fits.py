"""Sums of exponentials that are close to a function on v >= 0, and by how much they miss it.

f is a function on v >= 0, p(v) = e^(theta v) P(z), P(z) = sum_k c_k z^k, k = 0..n, z = e^(-d v), d > 0, theta >= 0.
The miss is a bound of |f - p| e^(-theta v) = |h - P(z)|, h(v) = f(v) e^(-theta v). What is known of f and h is

    near 0         f at the ends of [0, s], and that |f''| <= m there:
                   |f - p| <= (the larger miss at the ends) + (m + sup |p''|) s^2 / 8
    on a piece     h at the k + 1 Chebyshev nodes of [m - r, m + r], and how far h is from interpolating these values:
                   |h - P| <= (2k + 1) (the largest miss at a node) + that + r^(k+1) sup |P^(k+1)| / (2^k (k+1)!)
    beyond         the range of f, and that e^(-theta v) falls; z is between 0 and its value at the last end.

The derivatives of P by v are polynomials in z, which are bounded around the middle of an interval by their expansions
there. Averages of p over a Gaussian x, v a quadratic form of x, are sums of determinants: `query_averages`.

Such functions of the variance v of the scores are q = E P_2 and kappa = E[P_3 - P_2^2], P_k = sum p_i^k, p the softmax
weights of L independent Gaussian scores. They are known near 0 by |q''|, |kappa''| <= 17/4 q, on pieces because they
are analytic, and beyond the last piece by q <= 1, q growing, and 0 <= kappa <= 1/4. Chebyshev nodes are not rational:
q and kappa are enclosed at rational numbers beside them, and |q'|, |kappa'| <= 50.

Both continue to complex v = x + i y, x > 0, and with

    c = (1 + y^2/x^2)^(1/4) e^(y^2/(8x)),   p = 1 - c |y| / 3 > 0,   x' = x + y^2/x,   N ~ Bin(L, p)

    |q(v)| <= (c/p) E q_N(x'),   |kappa(v)| <= 2 (c/p)^2 E q_N(x'),   E q_N(x') <= min(1, 2 e^x' / (p L)).

Over the ellipse with the foci m -+ r and the semi-axes a = (r^2 + y^2)^(1/2) < m and y, all of these are largest with
y/x <= t = y / (m^2 - a^2)^(1/2), y^2/x <= t y and x' <= m + a + t y, and |e^(-theta v)| <= e^(-theta (m - a)). A
function that is at most M there is off its interpolation at the n + 1 Chebyshev nodes of [m - r, m + r] by at most
4 M rho^-n / (rho - 1), rho = (a + y) / r.

`docs/claims/training/risk-gap.md` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from flint import arb, arb_poly, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.lognormal_laplace import within
from certattn.kernel.mathematics.softmax_powers import PowerSums


@dataclass(frozen=True)
class Piece:
    """h on [first, last]: balls around its values at the Chebyshev nodes, and how far it is from interpolating them."""

    first: fmpq
    last: fmpq
    values: Sequence[arb]
    error: arb


@dataclass(frozen=True)
class Samples:
    """f near 0: its values at 0 and `start`, a bound of |f''|; h on pieces from there on, one at least; f beyond."""

    start: fmpq
    values: tuple[arb, arb]
    bend: arb
    pieces: Sequence[Piece]
    beyond: arb


@dataclass(frozen=True)
class Miss:
    """A bound of |f(v) - p(v)| e^(-theta v) over first <= v <= last, or v >= first where `last` is None.

    `bound` is a number without error.
    """

    first: fmpq
    last: fmpq | None
    bound: arb


def chebyshev_nodes(first: fmpq, last: fmpq, order: int) -> list[arb]:
    """m + r cos((2j + 1) pi / (2k + 2)), j = 0..k = `order`."""
    middle, radius = (first + last) / 2, (last - first) / 2
    return [middle + radius * (arb.pi() * fmpq(2 * j + 1, 2 * order + 2)).cos() for j in range(order + 1)]


@dataclass(frozen=True)
class ExponentialSum:
    """p(v) = e^(theta v) sum_k c_k e^(-k d v), theta = `growth` >= 0, d = `rate` > 0."""

    growth: fmpq
    rate: fmpq
    coefficients: tuple[fmpq, ...]

    def exponents(self) -> list[fmpq]:
        """theta - k d, for every k."""
        return [self.growth - k * self.rate for k in range(len(self.coefficients))]

    def miss(self, samples: Samples, bits: int) -> arb:
        """A bound of |f(v) - p(v)| e^(-theta v) over all v >= 0."""
        with working_precision(bits + self.extra_bits()):
            worst = arb(0)
            for part in self.misses(samples, bits):
                worst = worst.max(part.bound)
            return worst

    def misses(self, samples: Samples, bits: int) -> list[Miss]:
        """The same over each part of v >= 0: near 0, on every piece, and beyond."""
        with working_precision(bits + self.extra_bits()):
            found = [Miss(fmpq(0), samples.start, self._near_zero(samples).abs_upper())]
            for piece in samples.pieces:
                found.append(Miss(piece.first, piece.last, self._on_piece(piece).abs_upper()))
            last = samples.pieces[-1].last
            range_ = within_range(self._polynomial(), self._power(arb(last)).union(arb(0)))
            beyond = samples.beyond * (-self.growth * arb(last)).exp().union(arb(0))
            return [*found, Miss(last, None, abs(beyond - range_).abs_upper())]

    def extra_bits(self) -> int:
        """Bits that may cancel in p and its averages."""
        largest = max(abs(c) for c in self.coefficients)
        return int(largest.ceil()).bit_length() + len(self.coefficients)

    def _power(self, v: arb) -> arb:
        """z = e^(-d v)."""
        return (-self.rate * v).exp()

    def _polynomial(self, factors: Sequence[fmpq] | None = None) -> arb_poly:
        """P, or sum c_k b_k z^k for factors b_k."""
        if factors is None:
            return arb_poly(list(self.coefficients))
        return arb_poly([c * b for c, b in zip(self.coefficients, factors, strict=True)])

    def _largest(self, factors: Sequence[fmpq], first: fmpq, last: fmpq) -> arb:
        """Of |sum c_k b_k z^k| on an interval of v."""
        interval = self._power(arb(first)).union(self._power(arb(last)))
        return abs(within_range(self._polynomial(factors), interval))

    def _near_zero(self, samples: Samples) -> arb:
        P, h = self._polynomial(), samples.start
        grown = [(self.growth * arb(v)).exp() for v in (fmpq(0), h)]
        ends = zip(samples.values, (fmpq(0), h), grown, strict=True)
        first, last = (abs(f - P(self._power(arb(v))) * grown) for f, v, grown in ends)
        squares = [exponent**2 for exponent in self.exponents()]
        bend: arb = samples.bend + self._largest(squares, fmpq(0), h) * grown[1]
        return first.max(last) + bend * h * h / 8

    def _on_piece(self, piece: Piece) -> arb:
        P, order = self._polynomial(), len(piece.values) - 1
        nodes = chebyshev_nodes(piece.first, piece.last, order)
        largest = arb(0)
        for h, v in zip(piece.values, nodes, strict=True):
            largest = largest.max(abs(h - P(self._power(v))))
        powers = [(k * self.rate) ** (order + 1) for k in range(len(self.coefficients))]
        derivative = self._largest(powers, piece.first, piece.last)
        radius = arb((piece.last - piece.first) / 2)
        own: arb = radius ** (order + 1) * derivative / (2**order * math.factorial(order + 1))
        return (2 * order + 1) * largest + piece.error + own


def within_range(polynomial: arb_poly, interval: arb) -> arb:
    """A ball around the values of a polynomial on an interval: its expansion around the middle, term by term."""
    middle, radius = interval.mid(), interval.rad()
    first, *others = polynomial(arb_poly([middle, 1])).coeffs() or [arb(0)]
    total: arb = first
    for k, term in enumerate(others, 1):
        total += term * within(radius**k)
    return total


# -- how q and kappa grow where the variance is complex

# |d^2 q/dv^2| and |d^2 kappa/dv^2| are at most this times q.
MOST_CURVED = fmpq(17, 4)
# On a piece around m the ellipses that are tried have these semi-axes y, in multiples of the smaller of m and 2.
_ZERO = fmpq(0)
_SHARES = tuple(fmpq(k, 10) for k in range(1, 11))


@dataclass(frozen=True)
class InterpolationErrors:
    """Of q and of kappa on a piece, from the same nodes."""

    q: arb
    kappa: arb


def interpolation_errors(
    length: int, middle: fmpq, radius: fmpq, order: int, growth: fmpq = _ZERO
) -> InterpolationErrors:
    """Of q e^(-theta v) and kappa e^(-theta v), theta = `growth` >= 0, at `order` + 1 Chebyshev nodes of
    [middle - radius, middle + radius], 0 < radius < middle: of all ellipses that are tried the one with the smallest
    error of q; not finite where no ellipse fits."""
    best = InterpolationErrors(arb("inf"), arb("inf"))
    for share in _SHARES:
        found = ellipse_errors(length, middle, radius, share * min(middle, fmpq(2)), order, growth)
        if (found.q < best.q) is True:
            best = found
    return best


def ellipse_errors(
    length: int, middle: fmpq, radius: fmpq, height: fmpq, order: int, growth: fmpq = _ZERO
) -> InterpolationErrors:
    """The errors by the ellipse of semi-axis y = `height`; infinite where it does not fit."""
    half_width = arb(radius * radius + height * height).sqrt()
    inside = arb(middle * middle - radius * radius - height * height)
    if (inside > 0) is not True:
        return InterpolationErrors(arb("inf"), arb("inf"))
    steepest = height / inside.sqrt()
    density = density_growth(steepest, height)
    kept = kept_share(density, height)
    if (kept > 0) is not True:
        return InterpolationErrors(arb("inf"), arb("inf"))
    thinned = thinned_collision(length, kept, middle + half_width + steepest * height).min(arb(1))
    ratio = density / kept
    rho = (half_width + height) / radius
    factor = 4 / (rho**order * (rho - 1)) * thinned * (-growth * (middle - half_width)).exp()
    return InterpolationErrors(ratio * factor, 2 * ratio * ratio * factor)


def density_growth(slope: arb, height: fmpq) -> arb:
    """c = (1 + t^2)^(1/4) e^(t y / 8), t = y / x the slope of v = x + iy."""
    return root(root(1 + slope * slope)) * (slope * height / 8).exp()


def kept_share(growth: arb, height: fmpq) -> arb:
    """p = 1 - c y / 3."""
    return 1 - growth * height / 3


def thinned_collision(length: int, share: arb, variance: arb) -> arb:
    """2 e^x' / (p L), an upper bound of E q_N(x')."""
    return 2 * variance.exp() / (share * length)


# -- q and kappa at variances

# |dq/dv| and |d kappa/dv| are at most this.
_MOST_STEEP = 50
# Every certificate about one length asks for the same variances, at every precision, and its prover before. There are
# 64 points on each of some 30 pieces at most, as provers choose them.
_REMEMBERED = 2048
_FEWEST_BITS = 16


def samples(
    length: int, nodes: Sequence[fmpq], orders: Sequence[int], growth: fmpq, bits: int
) -> tuple[Samples, Samples]:
    """Of q and of kappa at the precision `bits`, for nodes 0 < v_1 < ...; `orders` of the pieces from v_1 on."""
    start = nodes[1]
    zero, first = (weights(length, v, bits) for v in (fmpq(0), start))
    pieces = [on_piece(length, a, b, n, growth, bits) for (a, b), n in zip(pairwise(nodes[1:]), orders, strict=True)]
    last, _ = weights(length, nodes[-1], bits)
    bend = MOST_CURVED * first[0]
    of_q = Samples(start, (zero[0], first[0]), bend, [q for q, _ in pieces], last.union(arb(1)))
    beyond = arb(0).union(arb(fmpq(1, 4)))
    return of_q, Samples(start, (zero[1], first[1]), bend, [kappa for _, kappa in pieces], beyond)


@lru_cache(_REMEMBERED)
def weights(length: int, variance: fmpq, bits: int) -> tuple[arb, arb]:
    """q and kappa, to about `bits` bits."""
    powers = PowerSums(length, variance, 4, bits)
    with working_precision(powers.bits):
        return powers.mean(2), powers.mean(3) - powers.mean(2, 2)


def on_piece(length: int, first: fmpq, last: fmpq, order: int, growth: fmpq, bits: int) -> tuple[Piece, Piece]:
    """q e^(-theta v) and kappa e^(-theta v) at `order` + 1 Chebyshev nodes of [first, last], 0 < first < last.

    At the precision `bits` near v = 0; what e^(-theta v) makes small is not needed as sharply.
    """
    errors = interpolation_errors(length, (first + last) / 2, (last - first) / 2, order, growth)
    enough = max(_FEWEST_BITS, bits - int(growth * first * fmpq(10, 7)))
    known = [_beside(length, node, growth, enough) for node in chebyshev_nodes(first, last, order)]
    return (
        Piece(first, last, [q for q, _ in known], errors.q),
        Piece(first, last, [kappa for _, kappa in known], errors.kappa),
    )


def _beside(length: int, node: arb, growth: fmpq, bits: int) -> tuple[arb, arb]:
    """q and kappa at a ball, from those at its middle, times e^(-theta v)."""
    mantissa, exponent = node.mid().man_exp()
    slack, weight = within(_MOST_STEEP * node.rad()), (-growth * node).exp()
    q, kappa = weights(length, fmpq(mantissa) * fmpq(2) ** int(exponent), bits)
    return (q + slack) * weight, (kappa + slack) * weight
