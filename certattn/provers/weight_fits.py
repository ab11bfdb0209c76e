"""Sums of exponentials close to the moments of softmax weights, for averages over Gaussian queries.

With z = e^(-d v) both q and kappa are nearly e^(theta v) times polynomials, which are interpolated at Chebyshev nodes
of 0 <= z <= 1 (v = 0 is z = 1). They are compared on pieces that grow from 0 on by a constant factor, to a
largest length.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import ceil, exp, log, log2, log10, prod, sqrt
from typing import Any

import numpy as np
from flint import arb, fmpq, fmpq_poly

from certattn.kernel.document.tree import Plain
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.exponential_fits import (
    MOST_CURVED,
    ExponentialSum,
    interpolation_errors,
    on_piece,
    weights,
)
from certattn.kernel.mathematics.fitted_averages import NODE_BITS, Fits
from certattn.kernel.mathematics.query_averages import QueryAverage
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE, PowerSums
from certattn.provers.output import texts
from certattn.provers.rounding import as_float, midpoint, round_nearest

# The degree of fits that are to be accurate to 10^-n is _DEGREES[0] + n _DEGREES[1].
_DEGREES = (10, 7)
# Coefficients and rates are rounded to multiples of these.
_COEFFICIENT_UNIT = fmpq(1, 10**13)
_RATE_UNIT = fmpq(1, 2**12)
_BITS, _FEWEST_BITS = 48, 24
# z at the end of the pieces.
_LEAST = fmpq(1, 32)
_TRIALS = 24
# Of the pieces.
_LONGEST = fmpq(5)
# Fewest and most points of a piece, less one.
_ORDERS = (4, 60)

# Called with the points at which q and kappa are known, and how many there will be.
Said = Callable[[int, int], None]


def look(length: int, found: Fits, said: Said) -> None:
    """Enclose q and kappa at all points at which fits are compared: the enclosures are kept for the bounds.

    Most of the prover's time goes by here.
    """
    pieces = list(zip(pairwise(found.nodes[1:]), found.orders, strict=True))
    done, total = 0, sum(order + 1 for order in found.orders)
    with working_precision(2 * NODE_BITS):
        for (first, last), order in pieces:
            on_piece(length, first, last, order, found.growth, NODE_BITS)
            done += order + 1
            said(done, total)


def fits(of_q: QueryAverage, length: int, accuracy: float) -> Fits:
    """The witness, for an average to about this part of itself.

    `of_q` is as large as what q is multiplied by; what kappa is multiplied by is at most six times as large.
    """
    queries = _Queries(of_q)
    size = _size(queries, length)
    growth, end = _growth(queries, size, accuracy)
    allowed = accuracy * size / queries.weight(as_float(growth)) / 4
    nodes = _nodes(end, min(1.0, (8 * allowed * length / as_float(MOST_CURVED)) ** 0.5))
    rate = round_nearest(fmpq(int(1e6 * -log(as_float(_LEAST)) / as_float(nodes[-1])), 10**6), _RATE_UNIT)
    degree = _DEGREES[0] + ceil(-_DEGREES[1] * log10(accuracy))
    q, kappa = _interpolated(length, growth, max(rate, _RATE_UNIT), degree)
    orders = [_order(length, a, b, growth, allowed) for a, b in pairwise(nodes[1:])]
    return Fits(tuple(nodes), tuple(orders), q, kappa)


def stated_fits(found: Fits) -> dict[str, Plain]:
    """As a witness states them."""
    return {
        "rate": format_rational(found.q.rate),
        "growth": format_rational(found.growth),
        "nodes": texts(found.nodes),
        "orders": [str(order) for order in found.orders],
        "q": texts(found.q.coefficients),
        "kappa": texts(found.kappa.coefficients),
    }


def _size(queries: _Queries, length: int) -> float:
    """About the average: at the mean variance of the scores."""
    mean = min(queries.mean, float(MOST_VARIANCE) / 2)
    q = float(PowerSums(length, fmpq(int(mean * 2**20), 2**20), 2, 24).mean(2).mid())
    return q * queries.weight(0.0) / 2


def _order(length: int, first: fmpq, last: fmpq, growth: fmpq, allowed: float) -> int:
    """How many points, less one, the interpolation of q and of 6 kappa needs on a piece."""
    with working_precision(64):
        for order in range(_ORDERS[0], _ORDERS[1], 2):
            errors = interpolation_errors(length, (first + last) / 2, (last - first) / 2, order, growth)
            if float(errors.q + 6 * errors.kappa) < allowed:
                return order
    return _ORDERS[1]


def _nodes(end: float, first: float) -> list[fmpq]:
    """0, a power of 1/2, then growing fourfold up to pieces of a largest length."""
    found = [fmpq(0), fmpq(1, 2 ** max(0, ceil(-log2(first))))]
    while as_float(found[-1]) < end:
        found.append(min(found[-1] + min(3 * found[-1], _LONGEST), fmpq(MOST_VARIANCE)))
    return found


class _Queries:
    """An average over queries in doubles: means of what is averaged, times e^(theta v)."""

    def __init__(self, of: QueryAverage) -> None:
        self.constant, S = as_float(of.constant), _doubles(of.covariance)
        squares, frame = np.linalg.eigh(S)
        root = frame * np.sqrt(np.maximum(squares, 0))
        levels, axes = np.linalg.eigh(root.T @ _doubles(of.N) @ root)
        self._levels, self._root = np.maximum(levels, 0), root @ axes
        self._B, self._centre = _doubles(of.B), _doubles(of.mean)[0]
        self._pull = self._root.T @ _doubles(of.N) @ self._centre
        self._offset = float(self._centre @ _doubles(of.N) @ self._centre)
        self.widest = float(self._levels.max())
        self.mean = float(self._levels.sum()) + self._offset

    def weight(self, theta: float) -> float:
        """H(theta) of `query_averages`; infinite where it is."""
        rest = 1 - 2 * theta * self._levels
        if rest.min() <= 0:
            return float("inf")
        middle = self._centre + self._root @ (2 * theta * self._pull / rest)
        exponent = theta * (self._offset + float(self._pull @ (2 * theta * self._pull / rest)))
        spread = float(np.einsum("ji,jk,ki,i->", self._root, self._B, self._root, 1 / rest))
        return (
            exp(min(exponent, 700.0)) * (self.constant + spread + float(middle @ self._B @ middle)) / sqrt(prod(rest))
        )


def _doubles(matrix: ExactMatrix) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([[as_float(x) for x in row] for row in matrix.to_rows()])


def _growth(queries: _Queries, size: float, accuracy: float) -> tuple[fmpq, float]:
    """The theta with the shortest pieces, and where they may end: what lies beyond is a small part of the whole."""
    most = min(1.0, 0.5 / max(queries.widest, 1e-9))
    widest = float(MOST_VARIANCE)
    best = (fmpq(0), widest, float("inf"))
    for k in range(1, _TRIALS):
        theta = round_nearest(fmpq(int(1e6 * most * k / _TRIALS), 10**6), fmpq(1, 10**3))
        weight = queries.weight(as_float(theta))
        if theta <= 0 or weight == float("inf"):
            continue
        end = (log(weight / (accuracy * size)) + 1) / as_float(theta)
        # Where the pieces cannot go on so far, what lies beyond is to be small.
        price = end if end <= widest else widest + log(weight) - widest * as_float(theta) + 700
        if price < best[2]:
            best = (theta, min(end, widest), price)
    return best[0], best[1]


def _interpolated(length: int, growth: fmpq, rate: fmpq, degree: int) -> tuple[ExponentialSum, ExponentialSum]:
    """Polynomials in z through q and kappa, times e^(-theta v), at Chebyshev nodes."""
    of_q, of_kappa = [], []
    for v in _chebyshev_variances(rate, degree):
        # Beyond the largest variance hardly anything is left.
        q, kappa = weights(length, min(v, fmpq(MOST_VARIANCE)), max(_FEWEST_BITS, _BITS - int(growth * v)))
        weight = (-growth * arb(v)).exp()
        of_q.append(q * weight)
        of_kappa.append(kappa * weight)
    return _sum_of(growth, rate, of_q), _sum_of(growth, rate, of_kappa)


def _chebyshev_variances(rate: fmpq, degree: int) -> list[fmpq]:
    """v = -log(z) / d at the nodes of z."""
    found = []
    with working_precision(128):
        for k in range(degree + 1):
            x = (arb.pi() * fmpq(2 * k + 1, 2 * degree + 2)).cos()
            z = (1 + x) / 2
            found.append(round_nearest(midpoint(-z.log() / rate), fmpq(1, 2**32)))
    return found


def _sum_of(growth: fmpq, rate: fmpq, values: list[arb]) -> ExponentialSum:
    """The interpolating polynomial, from its Chebyshev coefficients."""
    size = len(values)
    x = fmpq_poly([-1, 2])
    before, here, total = fmpq_poly([1]), x, fmpq_poly([])
    with working_precision(128):
        for n in range(size):
            angles = [(arb.pi() * fmpq(n * (2 * k + 1), 2 * size)).cos() for k in range(size)]
            summed = sum((f * angle for f, angle in zip(values, angles, strict=True)), arb(0))
            coefficient = round_nearest(midpoint(summed * (1 if n == 0 else 2) / size), _COEFFICIENT_UNIT)
            total += coefficient * before
            before, here = here, 2 * x * here - before
    return ExponentialSum(growth, rate, tuple(round_nearest(c, _COEFFICIENT_UNIT) for c in total.coeffs()))
