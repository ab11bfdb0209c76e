"""Means over Gaussian queries of the logistic bound on the mean square.

For z ~ N(m, Sigma), T >= 0, rational positive semidefinite B and N, and w with 2 Re(w) |M| < 1, where
M = Sigma^(1/2) N Sigma^(1/2),

    H(w) = E[(T + z'B z) e^(w z'N z)] = det(I - 2 w M)^(-1/2) e^(w m'N mu) (T + tr B S + mu'B mu)
    S = (Sigma^-1 - 2 w N)^-1,   mu = m + 2 w S N m:   z is N(mu, S) under the weight.

With Sigma = R D R', D > 0 diagonal of its rank, S = R A^-1 R' and det(I - 2 w M) = det D det A, where
A = D^-1 - 2 w R'N R: a singular Sigma is covered, and all but the inverse is rational. Then

    integral   E[(T + z'Bz) / (1 + (L-1) e^(-z'Nz))]
               = 1/(2 pi) int pi / sin(pi w) (L-1)^(-w) H(w) dy over w = theta + iy, 0 < theta < 1     (Mellin-Barnes)

|H(w)| <= H(Re w) and |sin(pi w)| >= sin(pi Re w) cosh(pi Im w), so that the line Re w = r weighs at most
W(r) = H(r) (L-1)^(-r) / (2 sin(pi r)): the trapezoid rule of step h is off by at most
(W(theta - c) + W(theta + c)) / (e^(2 pi c/h) - 1), and what lies beyond |y| = J h adds 4/pi e^(-pi J h) W(theta).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import acb, acb_mat, arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.methods import method

# The strip around the contour ends at this share of its distance from the poles.
_SHARE = fmpq(7, 8)
# Scores that vary hugely leave a narrow strip and need a fine step: beyond this, no answer.
_MOST_NODES = 50_000


def triangular_factor(covariance: ExactMatrix) -> tuple[ExactMatrix, list[fmpq]] | None:
    """R and D > 0 with R D R' the positive semidefinite matrix, exactly; None for the zero matrix.

    Elimination: where a pivot of a semidefinite matrix is 0, so are its row and column.
    """
    rest = covariance.to_rows()
    size = len(rest)
    columns, pivots = [], []
    for k in range(size):
        pivot = rest[k][k]
        if pivot == 0:
            continue
        column = [rest[i][k] / pivot for i in range(size)]
        columns.append(column)
        pivots.append(pivot)
        rest = [[rest[i][j] - column[i] * rest[k][j] for j in range(size)] for i in range(size)]
    return (ExactMatrix.rational(columns).T, pivots) if pivots else None


@dataclass(frozen=True)
class QueryAverage:
    """E over z ~ N(mean, covariance) of (constant + z'B z) times a function of the variance z'N z of the scores."""

    mean: ExactMatrix
    covariance: ExactMatrix
    constant: fmpq
    B: ExactMatrix
    N: ExactMatrix

    @cached_property
    def _factor(self) -> tuple[ExactMatrix, list[fmpq]] | None:
        return triangular_factor(self.covariance)

    @cached_property
    def _reduced(self) -> tuple[ExactMatrix, ExactMatrix, ExactMatrix]:
        """D^-1, R'N R and R."""
        assert self._factor is not None
        R, pivots = self._factor
        inverse = [[1 / p if i == j else fmpq(0) for j in range(len(pivots))] for i, p in enumerate(pivots)]
        return ExactMatrix.rational(inverse), R.T @ self.N @ R, R

    def admits(self, theta: fmpq) -> bool:
        """Whether 2 theta |M| < 1: whether A at theta is positive definite, exactly."""
        if self._factor is None:
            return True
        inverse, N, _ = self._reduced
        A = inverse - N.scaled(2 * theta)
        return A.is_positive_semidefinite() and A.numerators.det() != 0

    def plain(self) -> fmpq:
        """E[constant + z'B z], exactly: q = 1 for a single token."""
        second = self.covariance + self.mean.T @ self.mean
        return self.constant + (self.B @ second).trace()

    def exponential(self, theta: fmpq) -> arb:
        """H(theta), for an admitted theta >= 0."""
        moment, determinant = self._moment(acb(arb(theta)))
        return moment.real / determinant.real.sqrt()

    # -- the logistic bound

    @method
    def integral(self, length: int, bits: int) -> arb:
        """E[(T + z'Bz) / (1 + (L-1) e^(-z'Nz))] for L >= 2, to about `bits` bits; at most what it is for 1 token."""
        with working_precision(bits + length.bit_length() + 16):
            found = self._trapezoid(length, fmpq(7, 10) * (bits + length.bit_length()) + 4)
            plain = arb(self.plain())
            return found.min(plain) if found.is_finite() is True else plain

    def _trapezoid(self, length: int, nats: fmpq) -> arb:
        theta, half_width = self._contour()
        steps = int((nats / (6 * half_width)).ceil())
        if self._factor is not None:
            steps = max(steps, _ceiling(self._turning(theta) / 3))
        last = int((steps * nats / 3).ceil())
        if last > _MOST_NODES:
            return arb.nan()
        total = self._sum(length, theta, steps, last)
        if total.is_finite() is not True:
            return arb.nan()
        outer = self._weight(length, theta - half_width) + self._weight(length, theta + half_width)
        error = outer / (2 * arb.pi() * half_width * steps).expm1()
        error += 4 / arb.pi() * (-arb.pi() * fmpq(last, steps)).exp() * self._weight(length, theta)
        return total + error.union(-error)

    def _contour(self) -> tuple[fmpq, fmpq]:
        """theta, and c such that theta - c > 0, theta + c < 1 and theta + c is admitted."""
        top = fmpq(1)
        while self.admits(top) is not True:
            top /= 2
        theta = top / 2
        return theta, theta * _SHARE

    def _weight(self, length: int, real_part: fmpq) -> arb:
        """W(r)."""
        sine = (arb.pi() * real_part).sin()
        return self.exponential(real_part) / (arb(length - 1) ** arb(real_part) * 2 * sine)

    def _turning(self, theta: fmpq) -> arb:
        """2 tr R'N R A(theta)^-1 = sum 2 mu / (1 - 2 theta mu): how fast the argument of det A turns at most."""
        inverse, N, _ = self._reduced
        A = _complex(inverse) - _complex(N) * (2 * acb(arb(theta)))
        return 2 * A.solve(_complex(N)).trace().real

    def _sum(self, length: int, theta: fmpq, steps: int, last: int) -> arb:
        """h / (2 pi) times the sum of the integrand over w = theta + i j h, |j| <= last.

        The root of det A is followed from y = 0, where it is positive: between nodes the argument turns by
        less than pi, so that the principal logarithm of the quotient is the change of the logarithm.
        """
        if self._factor is not None and (self._turning(theta) / steps < arb.pi()) is not True:
            return arb.nan()
        logarithm, before, total = acb(0), acb(1), arb(0)
        rate = arb(length - 1).log()
        for j in range(last + 1):
            w = acb(arb(theta), arb(fmpq(j, steps)))
            moment, determinant = self._moment(w)
            logarithm += (determinant / before).log() if j > 0 else acb(determinant.real.log())
            before = determinant
            value = arb.pi() / (arb.pi() * w).sin() * (-w * rate - logarithm / 2).exp() * moment
            total += value.real * (2 if j > 0 else 1)
        return total / (2 * arb.pi() * steps)

    def _moment(self, w: acb) -> tuple[acb, acb]:
        """H(w) det(I - 2 w M)^(1/2), and det(I - 2 w M)."""
        m, B, N = _complex(self.mean.T), _complex(self.B), _complex(self.N)
        trace, determinant, mu = acb(0), acb(1), m
        if self._factor is not None:
            inverse, reduced, factor = map(_complex, self._reduced)
            A, transposed = inverse - reduced * (2 * w), factor.transpose()
            determinant = A.det() / inverse.det()
            trace = A.solve(transposed * B * factor).trace()
            mu = m + factor * A.solve(transposed * N * m) * (2 * w)
        exponent = (m.transpose() * N * mu)[0, 0] * w
        return exponent.exp() * (arb(self.constant) + trace + (mu.transpose() * B * mu)[0, 0]), determinant


def _complex(matrix: ExactMatrix) -> acb_mat:
    return acb_mat(arb_mat(matrix.numerators) * (1 / arb(matrix.denominator)))


def _ceiling(value: arb) -> int:
    """An integer that is about the ball's upper end, or above; 1 for an unbounded ball."""
    return int(value.upper().ceil().unique_fmpz() or 1) if value.is_finite() is True else 1
