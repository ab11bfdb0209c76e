"""The mean square of attention's error over short prompts, by the geometric mean of the weights.

Let Lambda be the logarithm of the moment-generating function of the tokens, y = x - tau(a), b = -2a/L. The
normaliser is at least the geometric mean of its terms, (1/L) sum_i e^{<a, x_i>} >= e^{<a, x_1 + ... + x_L>/L}, and what
is left has independent factors: for every law

    E |V (tau_hat - tau)|^2 <= (1/L) e^{Lambda(2a+b) + (L-1) Lambda(b)} E_{2a+b} |V y|^2
                             + (1 - 1/L) e^{2 Lambda(a+b) + (L-2) Lambda(b)} |V (tau(a+b) - tau(a))|^2.

Tokens uniform on a box have Lambda(u) <= u'Gamma u / 2 for their covariance Gamma, and coordinates of variance at
most Gamma_jj under every tilt. With v = a'Gamma a, S = tr V Gamma V' and |V Gamma |a||^2 <= B the right side is at most

    (1/L) e^{2 (1 - 1/L) v} (S + (1 - 2/L)^2 B) + (4/L^2) (1 - 1/L) e^{(1 - 2/L) v} B.

Of queries whose coordinates are independent, symmetric and uniform every moment is at most that of a Gaussian of
the same covariance; so is then the mean of what has no negative coefficients: |U| and |V|, entry by entry, in the place
of U and V. `docs/claims/prompts/proposition-3-1.md` has the proofs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.methods import method
from certattn.kernel.theorems.prompts.mathematics.over_queries import constant, quadratic, weighted_queries


def terms(share: fmpq) -> Sequence[tuple[fmpq, fmpq, fmpq | int, fmpq | int]]:
    """(c, r, k, l) of every term c e^{r v} (k S + l B) of the bound at one query, for `share` = 1/L."""
    return [
        (share, 2 * (1 - share), 1, (1 - 2 * share) ** 2),
        (4 * (1 - share) * share**2, 1 - 2 * share, 0, 1),
    ]


@dataclass(frozen=True)
class UniformOnBoxes:
    """Tokens and queries uniform on boxes about 0, of these covariances; U and V without signs; s^2."""

    tokens: ExactMatrix
    queries: ExactMatrix
    U: ExactMatrix
    V: ExactMatrix
    factor: fmpq

    @method
    def mean_square(self, length: int) -> arb | None:
        """A bound of E |V (tau_hat - tau)|^2, None where it is infinite."""
        W = self.U.T @ self.tokens @ self.U
        spread = constant((self.V @ self.tokens @ self.V.T).trace())
        shift = quadratic(self.U.T @ self._drift() @ self.U, self.factor)
        total = arb(0)
        for weight, rate, of_spread, of_shift in terms(fmpq(1, length)):
            weighted = weighted_queries(self.queries, W, rate * self.factor)
            if weighted is None:
                return None
            total += weight * weighted.mean(spread * of_spread + shift * of_shift) / arb(weighted.determinant).sqrt()
        return total

    def _drift(self) -> ExactMatrix:
        """D with sum_r (sum_j V_rj Gamma_jj |a_j|)^2 <= a'Da: Jensen's inequality, with V_rj Gamma_jj as weights."""
        moved = self.V @ self.tokens
        sums = [sum(row, fmpq(0)) for row in moved.to_rows()]
        entries = (ExactMatrix.row_vector(sums) @ moved).row(0)
        size = len(entries)
        return ExactMatrix.rational([[entries[i] if i == j else fmpq(0) for j in range(size)] for i in range(size)])
