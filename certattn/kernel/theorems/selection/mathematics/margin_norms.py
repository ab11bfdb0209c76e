"""Max-margin problems of other norms than the Euclidean one, by weak duality.

    min |p|   subject to   <z_j, p> >= r_j,   |p| a norm, and |y|^ = max over |p| <= 1 of <y, p> its dual.

Lower bound. Let lambda_j >= 0 and y = sum_j lambda_j z_j with |y|^ <= 1. Every feasible p has |p| >= <y, p> >= sum_j
lambda_j r_j. The upper bound is that of any feasible point.

Powers. |p|_l = (sum |p_k|^l)^(1/l) for l >= 1, and the largest |p_k| for l infinite; its dual is |y|_l' with
1/l + 1/l' = 1 (Hoelder). Let 1 < l < infinity, p of least norm and q feasible: then p is the only one, and

    |q - p|_l^2 <= (|q|_l^2 - |p|_l^2) / (l - 1)            for l <= 2, as |p|_l^2 is 2-uniformly convex,
    |q - p|_l^l <= (2^(l - 1) - 1) (|q|_l^l - |p|_l^l)      for l >= 2, by Clarkson's inequality and halving.

The nuclear norm, for W = K'Q of which K and Q are both trained: |W|_* is the sum of the singular values, <A, B> =
tr(A'B), and the dual norm the largest singular value: it is at most 1 where I - MM' has no negative eigenvalue. For
every K and Q of as many rows,

    |W|_* <= (|K|_F^2 + |Q|_F^2) / 2 + sum_ab |(W - K'Q)_ab|,

as |K'Q|_* = tr(U'K'QV) <= |KU|_F |QV|_F <= |K|_F |Q|_F for the singular vectors U, V of K'Q, and a matrix with one
entry c, else 0, has the nuclear norm |c|. Equality holds for W = U S V', K = S^(1/2) U' and Q = S^(1/2) V'.

Tarzanagh, Li, Thrampoulidis and Oymak 2023, problem (Att-SVM) with the nuclear norm; Clarkson 1936; Ball, Carlen and
Lieb 1994. Proofs: page of `max-margin`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from flint import arb, fmpq, fmpz_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import natural_power
from certattn.kernel.theorems.selection.mathematics.margin_points import Direction, combination, total_level

# An exact number, or a ball that holds it.
Enclosure = arb | fmpq


class Norm(Protocol):
    """A norm of points in one row, and its dual."""

    def bound(self, point: ExactMatrix) -> Enclosure:
        """Of the norm of the point, from above."""
        ...

    def dual(self, point: ExactMatrix) -> tuple[Enclosure, fmpq]:
        """Two numbers: where the first is at most the second, the dual norm of the point is at most 1."""
        ...


@dataclass(frozen=True)
class PowerNorm:
    """|p|_l, with l >= 1, or None for infinity."""

    exponent: fmpq | None

    def bound(self, point: ExactMatrix) -> Enclosure:
        """The norm itself; exact for l = 1 and infinity."""
        return power_norm([abs(entry) for entry in point.row(0)], self.exponent)

    def dual(self, point: ExactMatrix) -> tuple[Enclosure, fmpq]:
        """|y|_l' and 1."""
        return power_norm([abs(entry) for entry in point.row(0)], conjugate(self.exponent)), fmpq(1)

    @property
    def is_uniformly_convex(self) -> bool:
        return self.exponent is not None and (self.exponent > 1) is True


def conjugate(exponent: fmpq | None) -> fmpq | None:
    """l' with 1/l + 1/l' = 1."""
    if exponent is None:
        return fmpq(1)
    return None if exponent == 1 else exponent / (exponent - 1)


def power_norm(sizes: Sequence[fmpq], exponent: fmpq | None) -> Enclosure:
    """|p|_l for the |p_k|. The largest is divided by, so that no power is too large or small for a ball."""
    largest = max(sizes)
    if exponent is None or largest == 0:
        return largest
    if exponent == 1:
        return sum(sizes, fmpq(0))
    total = sum((power(size / largest, exponent) for size in sizes), arb(0))
    return arb(largest) * power(total, 1 / exponent)


def power(x: Enclosure, exponent: fmpq) -> arb:
    """x^e for x >= 0 and e > 0."""
    x = arb(x)
    if exponent.q == 1:
        return natural_power(x, int(exponent.p))
    return x if x == 0 else (x.log() * arb(exponent)).exp()


def reach(exponent: fmpq, norm: Enclosure, least: Enclosure) -> arb:
    """A bound of |q - p|_l^s for |q|_l <= `norm` and |p|_l >= `least` >= 0, with the s of `reach_power`."""
    s = reach_power(exponent)
    factor = 1 / arb(exponent - 1) if exponent <= 2 else power(arb(2), exponent - 1) - 1
    return factor * (power(norm, s) - power(least, s))


def reach_power(exponent: fmpq) -> fmpq:
    """max(l, 2)."""
    return max(exponent, fmpq(2))


def turn(exponent: fmpq, share: fmpq) -> arb:
    """A bound of |u - w|_l^s, s as before, for |u|_l = |w|_l = 1 with |(u + w)/2|_l >= (1 + share)/2."""
    middle = (1 + share) / 2
    if exponent <= 2:
        return 4 / arb(exponent - 1) * (1 - power(middle, fmpq(2)))
    return power(fmpq(2), exponent) * (1 - power(middle, exponent))


@dataclass(frozen=True)
class NuclearNorm:
    """|W|_*, W of `shape` in one row, with factors K and Q of a W near those that are bounded."""

    shape: tuple[int, int]
    K: ExactMatrix
    Q: ExactMatrix

    def bound(self, point: ExactMatrix) -> fmpq:
        rest = point - self.product
        beside = sum((abs(entry) for entry in rest.row(0)), fmpq(0))
        return (self.K.inner(self.K) + self.Q.inner(self.Q)) / 2 + beside

    def dual(self, point: ExactMatrix) -> tuple[fmpq, fmpq]:
        """How many coefficients show that I - MM' has a negative eigenvalue, and 0."""
        return fmpq(self.room(point).negative_signs()), fmpq(0)

    @cached_property
    def product(self) -> ExactMatrix:
        """K'Q, row after row."""
        matrix = self.K.T @ self.Q
        return ExactMatrix(fmpz_mat(1, matrix.rows * matrix.columns, matrix.numerators.entries()), matrix.denominator)

    def room(self, point: ExactMatrix) -> ExactMatrix:
        """I - MM', or I - M'M where it is smaller: both or neither have a negative eigenvalue."""
        M = ExactMatrix(fmpz_mat(*self.shape, point.numerators.entries()), point.denominator)
        product = M @ M.T if M.rows <= M.columns else M.T @ M
        return ExactMatrix.identity(product.rows) - product


@dataclass(frozen=True)
class NormMargin(Direction):
    """A direction p~, a norm, and multipliers lambda_j by row. The feasible q = p~ / m has |q| <= `size` / m."""

    norm: Norm
    multipliers: Mapping[int, fmpq]

    def size(self) -> Enclosure:
        """A bound of |p~|."""
        return self.norm.bound(self.direction)

    def dual(self) -> tuple[Enclosure, fmpq]:
        """Of y = sum_j lambda_j z_j."""
        return self.norm.dual(self.combined)

    @cached_property
    def combined(self) -> ExactMatrix:
        return combination(self.rows, self.multipliers)

    @cached_property
    def least(self) -> fmpq:
        """sum_j lambda_j r_j, at most |p| for every feasible p where |y|^ <= 1."""
        return total_level(self.levels, self.multipliers)
