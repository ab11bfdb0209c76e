"""Sums of exponentials that are close to a function on v >= 0, and by how much they miss it.

f is a function on v >= 0, p(v) = sum_k c_k e^(-k d v), k = 0..n, d > 0. What is known of f is

    near 0         its values at the ends of [0, h], and that |f''| <= m there:
                   |f - p| <= (the larger miss at the ends) + (m + sup |p''|) h^2 / 8
    on a piece     its values at the k + 1 Chebyshev nodes of [m - r, m + r], and how far f is from interpolating them:
                   |f - p| <= (2k + 1) (the largest miss at a node) + that + r^(k+1) sup |p^(k+1)| / (2^k (k+1)!)
    beyond         its range; z = e^(-d v) is between 0 and its value at the last end.

The derivatives of p are polynomials in z, which are bounded around the middle of an interval by their expansions
there. Averages of p over a Gaussian x, v a quadratic form of x, are sums of determinants: `query_averages`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, arb_poly, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.lognormal_laplace import within


@dataclass(frozen=True)
class Piece:
    """f on [first, last]: balls around its values at the Chebyshev nodes, and how far it is from interpolating them."""

    first: fmpq
    last: fmpq
    values: Sequence[arb]
    error: arb


@dataclass(frozen=True)
class Samples:
    """f near 0: its values at 0 and `start`, a bound of |f''|; on pieces from there on, one at least; beyond."""

    start: fmpq
    values: tuple[arb, arb]
    bend: arb
    pieces: Sequence[Piece]
    beyond: arb


@dataclass(frozen=True)
class Miss:
    """A bound of |f(v) - p(v)| e^(-growth v) over first <= v <= last, or v >= first where `last` is None.

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
    """p(v) = sum_k c_k e^(-k d v), d = `rate` > 0."""

    rate: fmpq
    coefficients: tuple[fmpq, ...]

    def exponents(self) -> list[fmpq]:
        """-k d, for every k."""
        return [-k * self.rate for k in range(len(self.coefficients))]

    def miss(self, samples: Samples, growth: fmpq, bits: int) -> arb:
        """A bound of |f(v) - p(v)| e^(-growth v) over all v >= 0, growth >= 0."""
        with working_precision(bits + self.extra_bits()):
            worst = arb(0)
            for part in self.misses(samples, growth, bits):
                worst = worst.max(part.bound)
            return worst

    def misses(self, samples: Samples, growth: fmpq, bits: int) -> list[Miss]:
        """The same over each part of v >= 0: near 0, on every piece, and beyond."""
        with working_precision(bits + self.extra_bits()):
            found = [Miss(fmpq(0), samples.start, self._near_zero(samples).abs_upper())]
            for piece in samples.pieces:
                weight = (-growth * arb(piece.first)).exp()
                found.append(Miss(piece.first, piece.last, (self._on_piece(piece) * weight).abs_upper()))
            last = samples.pieces[-1].last
            range_ = within_range(self._derivative(0), self._power(arb(last)).union(arb(0)))
            beyond = abs(samples.beyond - range_) * (-growth * arb(last)).exp()
            return [*found, Miss(last, None, beyond.abs_upper())]

    def extra_bits(self) -> int:
        """Bits that may cancel in p and its averages."""
        largest = max(abs(c) for c in self.coefficients)
        return int(largest.ceil()).bit_length() + len(self.coefficients)

    def _power(self, v: arb) -> arb:
        """z = e^(-d v)."""
        return (-self.rate * v).exp()

    def _derivative(self, order: int) -> arb_poly:
        """Of p, but for the sign: the polynomial sum c_k (k d)^order z^k."""
        return arb_poly([c * (k * self.rate) ** order for k, c in enumerate(self.coefficients)])

    def _largest_derivative(self, order: int, first: fmpq, last: fmpq) -> arb:
        interval = self._power(arb(first)).union(self._power(arb(last)))
        return abs(within_range(self._derivative(order), interval))

    def _near_zero(self, samples: Samples) -> arb:
        p, h = self._derivative(0), samples.start
        ends = zip(samples.values, (fmpq(0), h), strict=True)
        first, last = (abs(f - p(self._power(arb(v)))) for f, v in ends)
        bend: arb = samples.bend + self._largest_derivative(2, fmpq(0), h)
        return first.max(last) + bend * h * h / 8

    def _on_piece(self, piece: Piece) -> arb:
        p, order = self._derivative(0), len(piece.values) - 1
        nodes = chebyshev_nodes(piece.first, piece.last, order)
        largest = arb(0)
        for f, v in zip(piece.values, nodes, strict=True):
            largest = largest.max(abs(f - p(self._power(v))))
        derivative = self._largest_derivative(order + 1, piece.first, piece.last)
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
