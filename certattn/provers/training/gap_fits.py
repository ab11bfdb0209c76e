"""Sums of exponentials close to the moments of softmax weights, for `risk-gap` at given parameters.

With z = e^(-d v) both q and kappa are nearly polynomials: they are interpolated at Chebyshev nodes of an interval of
z that ends at 1 (v = 0). They are compared on pieces that grow from 0 on by a constant factor, to a largest length.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import ceil, exp, log, log2, log10

import numpy as np
from flint import arb, fmpq, fmpq_poly

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.exponential_fits import (
    MOST_CURVED,
    ExponentialSum,
    interpolation_errors,
    on_piece,
    weights,
)
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE, PowerSums
from certattn.kernel.theorems.training.regression import Parameters
from certattn.kernel.theorems.training.risk_gap import NODE_BITS, Fits
from certattn.provers.rounding import as_float, midpoint, round_nearest

# The degree of fits that are to be accurate to 10^-n is _DEGREES[0] + n _DEGREES[1].
_DEGREES = (8, 6)
# Coefficients and rates are rounded to multiples of these.
_COEFFICIENT_UNIT = fmpq(1, 10**13)
_RATE_UNIT = fmpq(1, 2**12)
_BITS = 48
# The interval of z is [1/16, 1].
_LEAST = fmpq(1, 16)
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
            on_piece(length, first, last, order, NODE_BITS)
            done += order + 1
            said(done, total)


def fits(covariance: ExactMatrix, parameters: Parameters, length: int, accuracy: float) -> Fits:
    """The witness for given parameters, for R_L - R to about this part of itself."""
    forms = _Forms(covariance, parameters)
    growth, end = _growth(forms, length, accuracy)
    allowed = accuracy * forms.size(length) / forms.weight(as_float(growth)) / 4
    nodes = _nodes(end, min(1.0, (8 * allowed * length / as_float(MOST_CURVED)) ** 0.5))
    rate = round_nearest(fmpq(int(1e6 * -log(as_float(_LEAST)) / as_float(nodes[-1])), 10**6), _RATE_UNIT)
    degree = _DEGREES[0] + ceil(-_DEGREES[1] * log10(accuracy))
    q, kappa = _interpolated(length, max(rate, _RATE_UNIT), degree)
    orders = [_order(length, a, b, allowed * exp(as_float(growth * a))) for a, b in pairwise(nodes[1:])]
    return Fits(tuple(nodes), tuple(orders), q, kappa, growth)


def _order(length: int, first: fmpq, last: fmpq, allowed: float) -> int:
    """How many points, less one, the interpolation of q and of 6 kappa needs on a piece."""
    with working_precision(64):
        for order in range(_ORDERS[0], _ORDERS[1], 2):
            errors = interpolation_errors(length, (first + last) / 2, (last - first) / 2, order)
            if float(errors.q + 6 * errors.kappa) < allowed:
                return order
    return _ORDERS[1]


def _nodes(end: float, first: float) -> list[fmpq]:
    """0, a power of 1/2, then growing fourfold up to pieces of a largest length."""
    found = [fmpq(0), fmpq(1, 2 ** max(0, ceil(-log2(first))))]
    while as_float(found[-1]) < end:
        found.append(min(found[-1] + min(3 * found[-1], _LONGEST), fmpq(MOST_VARIANCE)))
    return found


class _Forms:
    """In doubles: the variances of the scores along their axes, and how large the query terms are there."""

    def __init__(self, covariance: ExactMatrix, parameters: Parameters) -> None:
        Sigma, A = (np.array([[as_float(x) for x in row] for row in M.to_rows()]) for M in (covariance, parameters.A))
        squares, frame = np.linalg.eigh(Sigma)
        root = frame * np.sqrt(squares) @ frame.T
        moved = root @ A @ root
        self.levels, axes = np.linalg.eigh(moved.T @ moved)
        self.b = as_float(parameters.b)
        self.trace = float(np.trace(Sigma))
        self.sizes = np.einsum("ji,jk,ki->i", axes, Sigma, axes)

    def size(self, length: int) -> float:
        """About R_L - R: at the mean variance of the scores."""
        mean = min(float(self.levels.sum()), float(MOST_VARIANCE) / 2)
        q = float(PowerSums(length, fmpq(int(mean * 2**20), 2**20), 2, 24).mean(2).mid())
        return q * self.weight(0.0) / 2

    def weight(self, theta: float) -> float:
        """About E[e^(theta v) (b^2 T + |x|^2)]; infinite where it is."""
        rest = 1 - 2 * theta * self.levels
        if rest.min() <= 0:
            return float("inf")
        return float((self.b**2 * self.trace + (self.sizes / rest).sum()) / np.sqrt(np.prod(rest)))


def _growth(forms: _Forms, length: int, accuracy: float) -> tuple[fmpq, float]:
    """The theta with the shortest pieces, and where they may end: what lies beyond is a small part of the whole."""
    most = min(1.0, 0.5 / max(float(forms.levels.max()), 1e-9))
    widest = float(MOST_VARIANCE)
    best, size = (fmpq(0), widest, float("inf")), forms.size(length)
    for k in range(1, _TRIALS):
        theta = round_nearest(fmpq(int(1e6 * most * k / _TRIALS), 10**6), fmpq(1, 10**3))
        weight = forms.weight(as_float(theta))
        if theta <= 0 or weight == float("inf"):
            continue
        end = (log(weight / (accuracy * size)) + 1) / as_float(theta)
        # Where the pieces cannot go on so far, what lies beyond is to be small.
        price = end if end <= widest else widest + log(weight) - widest * as_float(theta) + 700
        if price < best[2]:
            best = (theta, min(end, widest), price)
    return best[0], best[1]


def _interpolated(length: int, rate: fmpq, degree: int) -> tuple[ExponentialSum, ExponentialSum]:
    """Polynomials in z through q and kappa at Chebyshev nodes."""
    values = [weights(length, v, _BITS) for v in _chebyshev_variances(rate, degree)]
    return _sum_of(rate, [q for q, _ in values]), _sum_of(rate, [kappa for _, kappa in values])


def _chebyshev_variances(rate: fmpq, degree: int) -> list[fmpq]:
    """v = -log(z) / d at the nodes of z."""
    found = []
    with working_precision(128):
        for k in range(degree + 1):
            x = (arb.pi() * fmpq(2 * k + 1, 2 * degree + 2)).cos()
            z = _LEAST + (1 - _LEAST) * (1 + x) / 2
            found.append(round_nearest(midpoint(-z.log() / rate), fmpq(1, 2**32)))
    return found


def _sum_of(rate: fmpq, values: list[arb]) -> ExponentialSum:
    """The interpolating polynomial, from its Chebyshev coefficients."""
    size = len(values)
    x = fmpq_poly([-(1 + _LEAST) / (1 - _LEAST), 2 / (1 - _LEAST)])
    before, here, total = fmpq_poly([1]), x, fmpq_poly([])
    with working_precision(128):
        for n in range(size):
            angles = [(arb.pi() * fmpq(n * (2 * k + 1), 2 * size)).cos() for k in range(size)]
            summed = sum((f * angle for f, angle in zip(values, angles, strict=True)), arb(0))
            coefficient = round_nearest(midpoint(summed * (1 if n == 0 else 2) / size), _COEFFICIENT_UNIT)
            total += coefficient * before
            before, here = here, 2 * x * here - before
    return ExponentialSum(rate, tuple(round_nearest(c, _COEFFICIENT_UNIT) for c in total.coeffs()))
