"""In-context linear regression with an infinite prompt: the risk that training descends.

A prompt has tokens (x_i, y_i), x_i ~ N(0, Sigma), y_i = <w, x_i>, w ~ N(0, I), and a query x. Attention with
U = [[A, 0], [0, 0]] and V = (0, b) predicts b w'Sigma A x for <w, x> (Boursier and Boyer 2026, section 4). With
E = b Sigma A - I,

    R(A, b) = 1/2 E (prediction - <w, x>)^2 = 1/2 tr(E Sigma E')
    dR/dA   = b Sigma E Sigma,      dR/db = tr(A'Sigma E Sigma)
    Hess R [(H, h)] = |D Sigma^(1/2)|^2 + 2 h tr(H'Sigma E Sigma),      D = h Sigma A + b Sigma H.

Gradient flow conserves |A|_F^2 - b^2: <A, dR/dA> = b dR/db. R vanishes exactly where b Sigma A = I.

The matrices are `ExactMatrix`, `BallMatrix` or symbols; the formulas are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# A matrix with @, +, -, .T, .scaled(number), .trace() and .inner(matrix), and its numbers.
AnyMatrix = Any
Number = Any


@dataclass(frozen=True)
class Parameters:
    """A, d x d, and b; or a direction (H, h) in which they move."""

    A: AnyMatrix
    b: Number

    def __add__(self, other: Parameters) -> Parameters:
        return Parameters(self.A + other.A, self.b + other.b)

    def __sub__(self, other: Parameters) -> Parameters:
        return Parameters(self.A - other.A, self.b - other.b)

    def scaled(self, factor: Number) -> Parameters:
        return Parameters(self.A.scaled(factor), self.b * factor)

    def inner(self, other: Parameters) -> Number:
        """tr(A'H) + b h."""
        return self.A.inner(other.A) + self.b * other.b

    def invariant(self) -> Number:
        """|A|_F^2 - b^2."""
        return self.A.inner(self.A) - self.b * self.b


@dataclass(frozen=True)
class Regression:
    """The task with the covariance Sigma of tokens and query, d x d; `identity` is I in the same kind of matrix."""

    covariance: AnyMatrix
    identity: AnyMatrix

    def error(self, at: Parameters) -> AnyMatrix:
        """E = b Sigma A - I."""
        return (self.covariance @ at.A).scaled(at.b) - self.identity

    def risk(self, at: Parameters) -> Number:
        """1/2 tr(E Sigma E')."""
        E = self.error(at)
        return (E @ self.covariance).inner(E) / 2

    def residual(self, at: Parameters) -> AnyMatrix:
        """Sigma E Sigma."""
        return self.covariance @ self.error(at) @ self.covariance

    def gradient(self, at: Parameters) -> Parameters:
        """(b Sigma E Sigma, tr(A'Sigma E Sigma))."""
        residual = self.residual(at)
        return Parameters(residual.scaled(at.b), at.A.inner(residual))

    def second_derivative(self, at: Parameters, along: Parameters) -> Number:
        """The second derivative of R along (H, h)."""
        D = (self.covariance @ at.A).scaled(along.b) + (self.covariance @ along.A).scaled(at.b)
        return (D @ self.covariance).inner(D) + 2 * along.b * along.A.inner(self.residual(at))
