"""The gradient flow of the regression risk, as a vector field: (A, b)' = -grad R(A, b).

With S = Sigma E Sigma = b Sigma^2 A Sigma - Sigma^2 (see `regression`), A' = -b S and b' = -tr(A'S). For power series
A(t) = sum_k A_k t^k, and b, S likewise,

    S_k = Sigma^2 P_k Sigma - [k = 0] Sigma^2,                P_k = sum_j b_j A_(k-j)
    (k + 1) A_(k+1) = -sum_j b_j S_(k-j),                     (k + 1) b_(k+1) = -sum_j tr(A_j'S_(k-j)).

The flow moves two points apart at most at the rate |S|_F at the points between: the second derivative of R along
(H, h) is |D Sigma^(1/2)|^2 + 2 h tr(H'S) >= -|S|_F (|H|^2 + h^2). With lam the largest eigenvalue of Sigma, and
|(A, b) - (A_0, b_0)| <= r,

    |S|_F <= |S_0|_F + lam^3 (|(A_0, b_0)| r + r^2 / 2),

for b_0 H + h A_0 + h H is no larger than the bracket where |(H, h)| <= r.
"""

from __future__ import annotations

from functools import cached_property

from flint import arb, arb_mat, arb_poly, ctx

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.mathematics.validated_flow import Vector
from certattn.kernel.theorems.training.regression import BallMatrix, Parameters, regression_of_balls, shaped


def product_reach(length: arb, radius: arb) -> arb:
    """|bA - b_0 A_0|_F, at most, where (A_0, b_0) has the length and (A, b) is within the radius of it."""
    return length * radius + radius * radius / 2


def invariant_reach(length: arb, radius: arb) -> arb:
    """By how much |A|_F^2 - b^2 differs there from |A_0|_F^2 - b_0^2, at most: 2 |(A_0, b_0)| r + r^2."""
    return 2 * length * radius + radius * radius


class RegressionFlow:
    """F for a covariance Sigma, positive definite, at the working precision.

    A field of `validated_flow`: it asks for `coefficients`, `excess` and `expansion`.
    """

    def __init__(self, covariance: ExactMatrix) -> None:
        size = covariance.rows
        self._size = size
        self._regression = regression_of_balls(covariance)
        self._right = self._regression.covariance.balls
        self._left = BallMatrix.around(covariance @ covariance).balls

    @cached_property
    def _cube(self) -> arb:
        """lam^3."""
        return largest_eigenvalue(self._right, ctx.prec) ** 3

    def parameters(self, vector: Vector) -> Parameters:
        """The vector as (A, b)."""
        return shaped(vector, self._size)

    def risk(self, enclosed: Enclosure) -> arb:
        """R at every point of an enclosure; it is never negative."""
        risk: arb = self._regression.risk(self.parameters(enclosed.box)).nonnegative_part()
        return risk

    def coefficients(self, point: Vector, order: int) -> list[Vector]:
        """z_0, ..., z_order: the Taylor coefficients of the solution from a point."""
        A, S, b = _Rows(order + 1, self._size**2), _Rows(order + 1, self._size**2), [point[-1]]
        A.append(point[:-1])
        # The products tr(A_i'S_j), summed by i + j.
        products = [arb(0)] * (2 * order)
        for k in range(order):
            product = self._left * self._square(A.convolved(b)) * self._right
            S.append((product - self._left if k == 0 else product).entries())
            for i, number in enumerate(A.inner(S.last)):
                products[i + k] += number
            for j, number in enumerate(S.inner(A.last)[:k]):
                products[j + k] += number
            factor = arb(-1) / (k + 1)
            following = [factor * entry for entry in S.convolved(b)]
            b.append(factor * products[k])
            A.append(following)
        return [[*row, last] for row, last in zip(A.rows, b, strict=True)]

    def excess(self, coefficients: list[Vector], duration: arb) -> Vector:
        """Bounds e_n, e_(n+1), ... with |F(p(t)) - p'(t)| <= e_n t^n + e_(n+1) t^(n+1) + ... for t >= 0,
        whatever the duration.

        They are the sizes of what F(p(t)) has beyond t^(n-1), by norms: |S_k|_F <= lam^3 |P_k|_F for k >= 1.
        """
        order = len(coefficients) - 1
        A = arb_poly([l2_norm(entry[:-1]).upper() for entry in coefficients])
        b = arb_poly([abs(entry[-1]).upper() for entry in coefficients])
        S = A * b * self._cube
        S[0] = self._residual(coefficients[0])
        left, right = b * S, A * S
        return [l2_norm([left[k], right[k]]).upper() for k in range(order, 3 * order + 1)]

    def expansion(self, ball: Enclosure) -> arb:
        """A bound of the logarithmic norm of F over a ball: |S|_F there."""
        return self._residual(ball.centre) + self._cube * product_reach(l2_norm(ball.centre), ball.error)

    def _residual(self, point: Vector) -> arb:
        """|S|_F at a point."""
        return l2_norm(self._regression.residual(self.parameters(point)).entries())

    def _square(self, entries: Vector) -> arb_mat:
        return arb_mat(self._size, self._size, entries)


class _Rows:
    """Coefficient matrices of a power series, a row each; there is room for so many."""

    def __init__(self, room: int, width: int) -> None:
        self.rows: list[Vector] = []
        self._table = arb_mat(room, width)

    @property
    def last(self) -> Vector:
        return self.rows[-1]

    def append(self, row: Vector) -> None:
        for j, entry in enumerate(row):
            self._table[len(self.rows), j] = entry
        self.rows.append(row)

    def convolved(self, numbers: Vector) -> Vector:
        """sum_j numbers_j row_(k-j) for the last k of the numbers."""
        room = self._table.nrows()
        return (arb_mat(1, room, [*reversed(numbers), *[arb(0)] * (room - len(numbers))]) * self._table).entries()

    def inner(self, vector: Vector) -> Vector:
        """The inner product of each row so far with a vector."""
        return (self._table * arb_mat(len(vector), 1, vector)).entries()[: len(self.rows)]
