"""Mean square errors of attention over queries: averaged over a Gaussian law, or bounded over a box of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from flint import arb, fmpq, fmpq_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import langevin
from certattn.kernel.mathematics.laws import Vector

# -- Gaussian queries
#
# Averages over a centred Gaussian law of queries that is weighted by the exponential of a quadratic form.
#
# For z ~ N(0, S), W positive semidefinite and r >= 0 put N = I - 2 r W S. Its eigenvalues are 1 - 2 r l for
# the eigenvalues l of M = S^{1/2} W S^{1/2}, all real, and where all of them are > 0
#
#     E[e^{r z'Wz} f(z)] = det(N)^{-1/2} E f(y),   y ~ N(0, S N^{-1}):
#
# complete the square, with S^{1/2} (I - 2 r M)^{-1} S^{1/2} = S N^{-1}. For f a product of quadratic forms
# E f(y) is a sum over their partitions of products of joint cumulants (Isserlis' theorem):
#
#     kappa(A_1, ..., A_k) = 2^{k-1} sum over the orders (i_2, ..., i_k) of 2..k of tr(A_1 S A_{i_2} S ... A_{i_k} S).
#
# All of it is rational where S, W, r and the forms are.


@dataclass(frozen=True)
class QueryPolynomial:
    """A function of the query z that is >= 0: the sum of coefficient * product of the forms z'Az.

    Coefficients are >= 0 and the symmetric matrices A positive semidefinite. Such functions are added
    and multiplied like numbers, so that formulas of numbers can be read
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


# -- boxes
#
# The mean square error of attention over tokens that are uniform on a box, for every query of a box at once.
#
# Tokens x uniform on prod [-c_j, c_j] under a tilt a with |a_j| <= A_j, and y_j = c_j A_j. Coordinate by coordinate,
# with w = e^{<a, x> - Lambda(a)} and the Langevin function L(y) = coth y - 1/y,
#
#     R_2 = E w^2 = prod_j t_j coth t_j <= prod_j y_j coth y_j,   t_j = c_j |a_j|,
#     |tau_j(2a) - tau_j(a)| = c_j delta(t_j),   delta(t) = 1/(2t) - 1/sinh(2t) <= min(t/3, 1/4),
#     E_{2a} (x_j - tau_j(a))^2 = c_j^2 delta(t_j) / t_j <= c_j^2 / 3,
#     |x_j - tau_j(a)| <= c_j (1 + L(y_j)).
#
# So E w^2 |V (x - tau)|^2 <= R_2 m for the m of `_second_moment`, and every |V (x - tau)|^2 is at most the squared
# reach. Where Z, the mean of w over N tokens, is at least 1 - t, which fails with probability at most
# e^{-N t^2 / (2 R_2)}, the error of the output is a mean of N terms over Z:
#
#     E |V (tau_hat - tau)|^2 <= R_2 m / (N (1 - t)^2) + reach^2 e^{-N t^2 / (2 R_2)}.
#
# For C_hat - C = S/Z - (tau_hat - tau)(tau_hat - tau)' with S the mean of w ((x - tau)(x - tau)' - C), and with
# Y^2 >= |x - tau|^2 and c^2 >= |V C|_F^2, squares of sums are at most twice the sums of squares:
#
#     E |V (C_hat - C)|_F^2 <= R_2 (6 Y^2 m + 4 c^2) / (N (1 - t)^2) + 2 (h^2 + c^2) e^{-N t^2 / (2 R_2)},
#
# h^2 = sum_r (sum_j |V_rj| c_j)^2 sum_j c_j^2, which |V C_hat|_F^2 <= tr(V C_hat V') tr C_hat never exceeds
# (Popoviciu).


@dataclass(frozen=True)
class BoxBounds:
    """E |error|^2 <= second_moment / (N (1 - t)^2) + largest e^{-N t^2 / (2 R_2)}, and |error|^2 <= largest always."""

    second_weight: arb
    second_moment: arb
    largest: arb

    def mean_square(self, length: arb, t: arb) -> arb:
        """The bound for N = `length` tokens: decreasing in N."""
        return self.second_moment / (length * (1 - t) ** 2) + self.largest * (-length * self.rate(t)).exp()

    def rate(self, t: arb) -> arb:
        """t^2 / (2 R_2)."""
        return t * t / (2 * self.second_weight)


@dataclass(frozen=True)
class TokenBox:
    """Half-widths c_j of the tokens, sizes A_j of the tilts, and the rows of |V|, entry by entry."""

    sizes: Vector
    tilts: Vector
    values: Sequence[Vector]

    def output(self) -> BoxBounds:
        """For |V (tau_hat - tau)|^2."""
        R = self._second_weight()
        return BoxBounds(R, R * self._second_moment(), self._reach())

    def covariance(self, factor: arb) -> BoxBounds:
        """For factor * |V (C_hat - C)|_F^2."""
        R, product = self._second_weight(), self._product()
        reach = sum(far**2 for far in self._far())
        size = sum(sum(v * c for v, c in zip(row, self.sizes, strict=True)) ** 2 for row in self.values)
        moment = R * (6 * reach * self._second_moment() + 4 * product)
        largest = 2 * (size * sum(c * c for c in self.sizes) + product)
        return BoxBounds(R, factor * moment, factor * largest)

    def _scores(self) -> list[arb]:
        """y_j."""
        return [c * a for c, a in zip(self.sizes, self.tilts, strict=True)]

    def _means(self) -> list[arb]:
        """L(y_j)."""
        return [langevin(y) for y in self._scores()]

    def _second_weight(self) -> arb:
        """prod_j y_j coth y_j, with y coth y = 1 + y L(y)."""
        found = arb(1)
        for y, mean in zip(self._scores(), self._means(), strict=True):
            found = found * (1 + y * mean)
        return found

    def _second_moment(self) -> arb:
        """m = sum_r [ sum_j V_rj^2 c_j^2 / 3 + sum_(j != k) |V_rj V_rk| c_j c_k delta_j delta_k ]."""
        found = arb(0)
        for row in self.values:
            parts = [v * c for v, c in zip(row, self.sizes, strict=True)]
            drifts = [part * _smaller(y / 3, fmpq(1, 4)) for part, y in zip(parts, self._scores(), strict=True)]
            found = found + sum(part**2 / 3 - drift**2 for part, drift in zip(parts, drifts, strict=True))
            found = found + sum(drifts) ** 2
        return found

    def _far(self) -> list[arb]:
        """c_j (1 + L(y_j)) >= |x_j - tau_j|."""
        return [c * (1 + mean) for c, mean in zip(self.sizes, self._means(), strict=True)]

    def _reach(self) -> arb:
        """sum_r (sum_j |V_rj| c_j (1 + L(y_j)))^2."""
        far = self._far()
        return sum((sum((v * x for v, x in zip(row, far, strict=True)), arb(0)) ** 2 for row in self.values), arb(0))

    def _product(self) -> arb:
        """sum_rj V_rj^2 (c_j^2 / 3)^2 >= |V C|_F^2: C is diagonal, with entries at most c_j^2 / 3."""
        return sum(((v * c * c) ** 2 / 9 for row in self.values for v, c in zip(row, self.sizes, strict=True)), arb(0))


def _smaller(x: arb, y: fmpq) -> arb:
    """min(x, y)."""
    return (x + y - abs(x - y)) / 2
