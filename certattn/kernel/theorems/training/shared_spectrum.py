"""Sigma and A with the same eigenvectors, by their eigenvalues: for `risk-transfer`.

Symmetric matrices that commute are polynomials of one of Sigma, A and A + k Sigma, k = 1, 2, ...: of M, say, as soon as
M tells apart what both together tell apart, which all but at most d^2 of the k do. The coefficients are found exactly;
the eigenvalues are those polynomials at the roots of M's characteristic polynomial.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from flint import acb, arb, fmpq, fmpq_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix


@dataclass(frozen=True)
class SharedSpectrum:
    """M with the exact coefficients of Sigma and A as polynomials of it."""

    generator: ExactMatrix
    covariance: list[fmpq]
    matrix: list[fmpq]

    def eigenvalues(self) -> list[tuple[arb, arb, int]]:
        """Those of Sigma and A on each eigenspace of M, and its dimension, at the working precision."""
        polynomial = fmpq_mat(self.generator.numerators).charpoly().numer()
        roots = cast("list[tuple[acb, int]]", polynomial.complex_roots())
        found = []
        for root, count in roots:
            # M is symmetric: all roots are real.
            x = root.real / self.generator.denominator
            found.append((_value(self.covariance, x), _value(self.matrix, x), count))
        return found


def shared_spectrum(covariance: ExactMatrix, matrix: ExactMatrix) -> SharedSpectrum | None:
    """None where A is not symmetric or does not commute with Sigma, which is."""
    if matrix.is_symmetric() is not True or ((covariance @ matrix) == (matrix @ covariance)) is not True:
        return None
    for generator in _generators(covariance, matrix):
        powers = _powers(generator)
        found = [_as_polynomial(powers, of) for of in (covariance, matrix)]
        if found[0] is not None and found[1] is not None:
            return SharedSpectrum(generator, found[0], found[1])
    return None


def _generators(covariance: ExactMatrix, matrix: ExactMatrix) -> Iterator[ExactMatrix]:
    yield covariance
    yield matrix
    for k in range(1, covariance.rows**2 + 2):
        yield matrix + covariance.scaled(fmpq(k))


def _powers(matrix: ExactMatrix) -> list[ExactMatrix]:
    """I, M, M^2, ..., as many as M has different eigenvalues: these are linearly independent."""
    polynomial = fmpq_mat(matrix.numerators).charpoly()
    different = (polynomial // polynomial.gcd(polynomial.derivative())).degree()
    found = [ExactMatrix.identity(matrix.rows)]
    while len(found) < different:
        found.append(found[-1] @ matrix)
    return found


def _as_polynomial(powers: list[ExactMatrix], of: ExactMatrix) -> list[fmpq] | None:
    """Coefficients c with sum c_k M^k = `of`; None where there are none."""
    n = len(powers)
    gram = fmpq_mat(n, n, [x.inner(y) for x in powers for y in powers])
    c = gram.solve(fmpq_mat(n, 1, [x.inner(of) for x in powers])).entries()
    total = ExactMatrix.zero(of.rows, of.rows)
    for x, power in zip(c, powers, strict=True):
        total = total + power.scaled(x)
    return c if (total == of) is True else None


def _value(coefficients: list[fmpq], x: arb) -> arb:
    """By Horner's rule."""
    total = arb(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total
