"""Means of q f + kappa g over a Gaussian z where the variance v = z'N z of the scores hardly varies.

Beside c = E v >= 0, for x = q and x = kappa of `weight_growth`, with q'/q between 0 and 1,

    x(v) = x(c) + x'(c) (v - c) + r,       |r| <= C/2 q(c) (1 + e^(v - c)) (v - c)^2,
    x'(c) = (x(c + h) - x(c)) / h + r',    |r'| <= C/2 q(c + h) h,

where C q >= |x''|, C = 13/12 for q and 3/2 for kappa, so that E[x f] needs E f, E (v - c) f and, with a quadratic
form F >= |f|, E F (v - c)^2 with and without e^(v - c).
Weighted with e^v, the law of z is N(mu, S), S = (I - 2 Sigma N)^-1 Sigma and mu = m + 2 S N m, as in `query_averages`.
`docs/claims/prompts/output-mean-square.md` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.lognormal_laplace import within
from certattn.kernel.mathematics.query_averages import QueryAverage
from certattn.kernel.mathematics.weight_growth import KAPPA_CONCAVE, KAPPA_CONVEX, MOST_CONCAVE, MOST_CONVEX, weights_at

# h.
_STEP = fmpq(1, 64)
# C of q and of kappa.
_CURVED = max(MOST_CONCAVE, MOST_CONVEX), max(KAPPA_CONCAVE, KAPPA_CONVEX)


def concentrated_mean(length: int, of_q: QueryAverage, of_kappa: QueryAverage, bits: int) -> arb:
    """E[q f + kappa g] for L >= 2, q and kappa to so many bits; not finite where e^v has no mean."""
    if not of_q.admits(fmpq(1)):
        return arb.nan()
    zero = ExactMatrix.zero(of_q.N.rows, of_q.N.columns)
    centre = QueryAverage(of_q.mean, of_q.covariance, fmpq(0), of_q.N, of_q.N).plain()
    plain = Moments.of(of_q)
    tilted = plain.tilted()
    if tilted is None:
        return arb.nan()
    growth = QueryAverage(of_q.mean, of_q.covariance, fmpq(1), zero, of_q.N).exponential(fmpq(1)) * (-arb(centre)).exp()
    here, there = (weights_at(length, v, bits) for v in (centre, centre + _STEP))
    total = arb(0)
    for k, average in enumerate((of_q, of_kappa)):
        curved = _CURVED[k] / 2
        slope = (there[k] - here[k]) / _STEP + within(curved * there[0] * _STEP)
        B, constant, form = balls(average.B), abs(average.constant), _form_above(average.B)
        # E (v - c) f is their covariance.
        total += here[k] * average.plain() + slope * plain.pair(plain.N, B)
        squares = plain.square(centre, constant, form) + growth * tilted.square(centre, constant, form)
        total += within(curved * here[0] * squares)
    return total


def _form_above(B: ExactMatrix) -> arb_mat:
    """A form that is at least |z'B z|."""
    for signed in (B, -B):
        if signed.is_positive_semidefinite():
            return balls(signed)
    # No eigenvalue is above the largest sum of the sizes of a row's entries.
    most = max(sum((abs(entry) for entry in row), fmpq(0)) for row in B.to_rows())
    return balls(ExactMatrix.identity(B.rows).scaled(most))


@dataclass(frozen=True)
class Moments:
    """Moments of quadratic forms of z ~ N(m, S), in balls, and N of v = z'N z."""

    m: arb_mat
    S: arb_mat
    N: arb_mat

    @classmethod
    def of(cls, average: QueryAverage) -> Moments:
        return cls(balls(average.mean.T), balls(average.covariance), balls(average.N))

    def tilted(self) -> Moments | None:
        """Of the law that is weighted with e^v; None where the working precision does not tell."""
        one = balls(ExactMatrix.identity(self.S.nrows()))
        try:
            S = (one - self.S * self.N * 2).solve(self.S)
        except ZeroDivisionError:
            return None
        return Moments(self.m + S * self.N * self.m * 2, S, self.N)

    def mean(self, B: arb_mat) -> arb:
        """E z'B z."""
        return _trace(B * self.S) + self._at(B)

    def pair(self, A: arb_mat, B: arb_mat) -> arb:
        """The covariance of z'A z and z'B z."""
        return 2 * _trace(A * self.S * B * self.S) + 4 * self._at(A * self.S * B)

    def square(self, centre: fmpq, constant: fmpq, B: arb_mat) -> arb:
        """E[(v - centre)^2 (constant + z'B z)], by joint cumulants."""
        N, S = self.N, self.S
        off, mean = self.mean(N) - centre, constant + self.mean(B)
        triple = 8 * (_trace(N * S * N * S * B * S) + 2 * self._at(N * S * N * S * B) + self._at(N * S * B * S * N))
        return mean * (off * off + self.pair(N, N)) + 2 * off * self.pair(N, B) + triple

    def _at(self, A: arb_mat) -> arb:
        """m'A m."""
        return (self.m.transpose() * A * self.m)[0, 0]


def balls(matrix: ExactMatrix) -> arb_mat:
    return arb_mat(matrix.numerators) * (1 / arb(matrix.denominator))


def _trace(matrix: arb_mat) -> arb:
    return sum((matrix[i, i] for i in range(matrix.nrows())), arb(0))
