"""Averages over a centred Gaussian law of queries that is weighted by the exponential of a quadratic form.

For z ~ N(0, S), W positive semidefinite and r >= 0 put N = I - 2 r W S. Its eigenvalues are 1 - 2 r l for
the eigenvalues l of M = S^{1/2} W S^{1/2}, all real, and where all of them are > 0

    E[e^{r z'Wz} f(z)] = det(N)^{-1/2} E f(y),   y ~ N(0, S N^{-1}):

complete the square, with S^{1/2} (I - 2 r M)^{-1} S^{1/2} = S N^{-1}. For f a product of quadratic forms
E f(y) is a sum over their partitions of products of joint cumulants (Isserlis' theorem):

    kappa(A_1, ..., A_k) = 2^{k-1} sum over the orders (i_2, ..., i_k) of 2..k of tr(A_1 S A_{i_2} S ... A_{i_k} S).

All of it is rational where S, W, r and the forms are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from flint import fmpq, fmpq_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix


@dataclass(frozen=True)
class QueryPolynomial:
    """A function of the query z that is >= 0: the sum of coefficient * product of the forms z'Az.

    Coefficients are >= 0 and the symmetric matrices A positive semidefinite. Such functions are added
    and multiplied like numbers, so that formulas that are generic in their number type can be read
    with them.
    """

    terms: tuple[tuple[fmpq, tuple[ExactMatrix, ...]], ...]

    def __add__(self, other: QueryPolynomial) -> QueryPolynomial:
        return QueryPolynomial(self.terms + other.terms)

    def __mul__(self, other: QueryPolynomial | fmpq | int) -> QueryPolynomial:
        factor = other if isinstance(other, QueryPolynomial) else constant(fmpq(other))
        return QueryPolynomial(tuple((a * b, (*f, *g)) for a, f in self.terms for b, g in factor.terms))

    __rmul__ = __mul__

    def __abs__(self) -> QueryPolynomial:
        return self


def constant(value: fmpq) -> QueryPolynomial:
    """A number >= 0 as a function of the query."""
    return QueryPolynomial(((value, ()),))


def quadratic(matrix: ExactMatrix, factor: fmpq | int = 1) -> QueryPolynomial:
    """factor * z'Az for a positive semidefinite A and a factor >= 0."""
    return QueryPolynomial(((fmpq(factor), (matrix,)),))


@dataclass(frozen=True)
class WeightedQueries:
    """E[e^{r z'Wz} f(z)] = determinant^{-1/2} E f(y), y ~ N(0, covariance)."""

    determinant: fmpq
    covariance: ExactMatrix

    def mean(self, polynomial: QueryPolynomial) -> fmpq:
        """E f(y)."""
        return sum((c * product_mean(forms, self.covariance) for c, forms in polynomial.terms), fmpq(0))


def weighted_queries(S: ExactMatrix, W: ExactMatrix, rate: fmpq) -> WeightedQueries | None:
    """N(0, S) weighted by e^{r z'Wz}, r = `rate` >= 0; None where the average of the weight is infinite."""
    N = shrinking(S, W, rate)
    if has_positive_eigenvalues(N) is not True:
        return None
    return WeightedQueries(determinant(N), S @ inverse(N))


def shrinking(S: ExactMatrix, W: ExactMatrix, rate: fmpq) -> ExactMatrix:
    """N = I - 2 r W S."""
    return ExactMatrix.identity(S.rows) - (W @ S).scaled(2 * rate)


def has_positive_eigenvalues(matrix: ExactMatrix) -> bool:
    """Whether all eigenvalues are > 0, for a matrix whose eigenvalues are real.

    The characteristic polynomial has real roots only, so by Descartes' rule all are > 0 if and only
    if its coefficients alternate in sign and none vanishes.
    """
    coefficients = matrix.numerators.charpoly().coeffs()
    degree = len(coefficients) - 1
    return all((-1) ** (degree - k) * c > 0 for k, c in enumerate(coefficients))


def determinant(matrix: ExactMatrix) -> fmpq:
    return fmpq(matrix.numerators.det(), matrix.denominator**matrix.rows)


def inverse(matrix: ExactMatrix) -> ExactMatrix:
    """The inverse of an invertible matrix."""
    found = fmpq_mat(matrix.numerators).inv() * matrix.denominator
    return ExactMatrix.rational(found.tolist())


def product_mean(forms: Sequence[ExactMatrix], covariance: ExactMatrix) -> fmpq:
    """E prod y'A_i y for y ~ N(0, covariance): a sum over the blocks in which the first form may stand."""
    if not forms:
        return fmpq(1)
    first, others = forms[0], list(forms[1:])
    total = fmpq(0)
    for chosen in range(2 ** len(others)):
        block = [form for i, form in enumerate(others) if chosen >> i & 1]
        rest = [form for i, form in enumerate(others) if not chosen >> i & 1]
        total += joint_cumulant(first, block, covariance) * product_mean(rest, covariance)
    return total


def joint_cumulant(first: ExactMatrix, others: Sequence[ExactMatrix], covariance: ExactMatrix) -> fmpq:
    """kappa(A_1, ..., A_k) of the forms y'A_i y, each A_i symmetric."""
    start, parts = first @ covariance, [form @ covariance for form in others]
    total = fmpq(0)
    for order in permutations(parts):
        product = start
        for part in order:
            product = product @ part
        total += product.trace()
    return total * fmpq(2 ** len(parts))
