"""The mean square of the error of a softmax-weighted covariance, for Gaussian tokens, exactly.

L independent tokens of N(m, Gamma) are weighted by p = softmax(<a, x_i>); their covariance is C_L, the
tilted covariance of the law is Gamma. With b = Gamma a, the power sums P_k = sum_i p_i^k, and any V,

    E |V (C_L - Gamma)|_F^2 =  E[P_2 - 2P_3 + 2P_2^2]  |V Gamma|_F^2
                             + E[P_2 - 2P_3 + P_2^2]   tr(V Gamma V') tr Gamma
                             + E[...]  (|V b|^2 tr Gamma + |b|^2 tr(V Gamma V'))
                             + E[...]  <V b, V Gamma b>
                             + E[...]  |V b|^2 |b|^2,

with the polynomials in the power sums below, found by Stein's identity. They are at most P_2, P_2, P_2,
5/2 P_2 in absolute value, and 13 P_2, which bounds the whole by q = E P_2 alone. The proofs stand in
`docs/claims/prompts/gradient-mean-square.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix

if TYPE_CHECKING:
    from certattn.kernel.theorems.prompts.mathematics.over_queries import QueryPolynomial

# A polynomial in the power sums: the exponents of a product P_(k_1) P_(k_2) ..., and its coefficient.
PowerSumPolynomial = Mapping[tuple[int, ...], int]
PowerSumMean = Callable[..., arb]

CROSS: PowerSumPolynomial = {(2,): 1, (3,): -2, (2, 2): 2}
TRACES: PowerSumPolynomial = {(2,): 1, (3,): -2, (2, 2): 1}
ONE_SHIFT: PowerSumPolynomial = {(2,): 1, (2, 2): 7, (3,): -14, (2, 2, 2): 20, (2, 3): -52, (4,): 38}
MIXED: PowerSumPolynomial = {(2,): 2, (2, 2): 22, (3,): -36, (2, 2, 2): 80, (2, 3): -184, (4,): 116}
TWO_SHIFTS: PowerSumPolynomial = {
    (2,): 1, (2, 2): 27, (3,): -62, (2, 2, 2): 240, (2, 3): -680, (4,): 594,
    (2, 2, 2, 2): 840, (2, 2, 3): -2880, (2, 4): 2480, (3, 3): 1020, (5,): -1580,
}  # fmt: skip
# The largest sum of exponents of a product.
DEGREE = 8

# Upper bounds of the polynomials divided by P_2; that of MIXED bounds its absolute value.
MOST_MIXED = fmpq(5, 2)
MOST_TWO_SHIFTS = 13


# An exact number, or a polynomial in the query.
Q = TypeVar("Q", fmpq, "QueryPolynomial")


@dataclass(frozen=True)
class CovarianceShape(Generic[Q]):
    """What the formula takes from Gamma, V and a: six exact numbers, or polynomials in the query."""

    cross: Q  # |V Gamma|_F^2
    value_trace: Q  # tr(V Gamma V')
    trace: Q  # tr Gamma
    value_shift: Q  # |V b|^2
    shift: Q  # |b|^2
    mixed: Q  # <V b, V Gamma b>

    @property
    def traces(self) -> Q:
        return self.value_trace * self.trace

    @property
    def one_shift(self) -> Q:
        return self.value_shift * self.trace + self.shift * self.value_trace

    @property
    def two_shifts(self) -> Q:
        return self.value_shift * self.shift


def covariance_shape(
    covariance: ExactMatrix, values: ExactMatrix, base: ExactMatrix, factor: fmpq
) -> CovarianceShape[fmpq]:
    """The shape for the tilt a = sqrt(factor) * base (1 x d): b enters by its products only."""
    moved = values @ covariance
    shift = base @ covariance
    value_shift = shift @ values.T
    return CovarianceShape(
        cross=_inner(moved, moved),
        value_trace=_inner(moved, values),
        trace=covariance.trace(),
        value_shift=factor * _inner(value_shift, value_shift),
        shift=factor * _inner(shift, shift),
        mixed=factor * _inner(value_shift, shift @ moved.T),
    )


def _inner(left: ExactMatrix, right: ExactMatrix) -> fmpq:
    """sum_ij left_ij right_ij."""
    return sum((x * y for a, b in zip(left.to_rows(), right.to_rows(), strict=True) for x, y in zip(a, b, strict=True)),
               fmpq(0))  # fmt: skip


def polynomial_mean(polynomial: PowerSumPolynomial, mean: PowerSumMean) -> arb:
    """The mean of a polynomial, from the means of products of power sums."""
    first, *rest = (coefficient * mean(*exponents) for exponents, coefficient in polynomial.items())
    return sum(rest, first)


def covariance_mean_square(shape: CovarianceShape[fmpq], mean: PowerSumMean) -> arb:
    """E |V (C_L - Gamma)|_F^2; `mean(2, 3)` is E P_2 P_3."""
    return (
        polynomial_mean(CROSS, mean) * shape.cross
        + polynomial_mean(TRACES, mean) * shape.traces
        + polynomial_mean(ONE_SHIFT, mean) * shape.one_shift
        + polynomial_mean(MIXED, mean) * shape.mixed
        + polynomial_mean(TWO_SHIFTS, mean) * shape.two_shifts
    )


def covariance_square_bound(shape: CovarianceShape[Q]) -> Q:
    """A number B with E |V (C_L - Gamma)|_F^2 <= q B, q = E P_2 the mean of the sum of squared weights."""
    return (
        shape.cross
        + shape.traces
        + shape.one_shift
        + MOST_MIXED * abs(shape.mixed)
        + MOST_TWO_SHIFTS * shape.two_shifts
    )
