"""What a finite prompt adds to the risk of in-context regression: closed formulas.

Tokens and query x ~ N(0, Sigma), w ~ N(0, I), parameters (A, b); T = tr Sigma, tau = Sigma A x,
v = x'A'Sigma A x, and q = E P_2, kappa = E[P_3 - P_2^2] at the length L and the variance v of the scores
(`mean_square`). The risk R_L of a prompt of L tokens and that of the infinite prompt, R, differ by

    (1)  R_L - R = 1/2 E_x[ q (b^2 T - b^2 |tau|^2 + 2b <tau, x>) - 6 b^2 kappa |tau|^2 ].

For |A|_F <= rho_A and |b| <= rho_b, with lam the largest eigenvalue of Sigma, r = lam rho_A, g ~ N(0, 1), Q a
nondecreasing convex function above q, and M_k = E[Q(r^2 g^2) g^(2k)]

    (2)  R_L - R <= 1/2 (rho_b^2 T M_0 + Y),   Y = E[Q(r^2 g^2) (T + lam (g^2 - 1))] = T M_0 + lam (M_1 - M_0)
    (3)  R - R_L <= 5/4 X + (X Y)^(1/2),       X = rho_b^2 lam r^2 M_1.

`docs/claims/training/risk-gap.md` has the proofs. Generic in the number type.
"""

from __future__ import annotations

from dataclasses import dataclass

from certattn.kernel.mathematics.functions import Functions, Number


@dataclass(frozen=True)
class QueryTerms:
    """Numbers of one query, or forms of it: |tau|^2, 2 <tau, x>, and the constant T."""

    square: Number
    cross: Number
    trace: Number


def collision_factor(b: Number, at: QueryTerms) -> Number:
    """b^2 T - b^2 |tau|^2 + 2b <tau, x>: what multiplies q in (1)."""
    return b * b * at.trace + (b * at.cross - b * b * at.square)


def spread_factor(b: Number, at: QueryTerms) -> Number:
    """-6 b^2 |tau|^2: what multiplies kappa in (1)."""
    return -6 * b * b * at.square


@dataclass(frozen=True)
class Ball:
    """All (A, b) with |A|_F^2 <= rho_A^2, b^2 <= rho_b^2; T and lam of Sigma."""

    A_squared: Number
    b_squared: Number
    trace: Number
    largest: Number

    def scale(self) -> Number:
        """r^2 = lam^2 rho_A^2."""
        return self.largest * self.largest * self.A_squared

    def query_average(self, plain: Number, weighted: Number) -> Number:
        """Y, from M_0 and M_1."""
        return self.trace * plain + self.largest * (weighted - plain)

    def excess(self, plain: Number, weighted: Number) -> Number:
        """(2)."""
        return (self.b_squared * self.trace * plain + self.query_average(plain, weighted)) / 2

    def shortfall(self, plain: Number, weighted: Number, fn: Functions) -> Number:
        """(3): the least of (5/2 + 1/eta) X/2 + eta Y/2 over eta > 0."""
        X = self.b_squared * self.largest * self.scale() * weighted
        Y = self.query_average(plain, weighted)
        return 5 * X / 4 + fn.sqrt(X * Y)
