"""Expected moments of the matrix T of exponential scores at finite size, exactly, and those of their limit law.

d queries x_i and d keys k_j, all independent N(0, I_p), S_ij = x_i.k_j / sqrt(p),

    T_ij = (exp(beta S_ij - beta^2 |x_i|^2 / (2p)) - 1) / sqrt(d),      m_2k(T) = (1/d) tr (TT')^k.

E m_2k(T) is finite exactly where p > 2k (2k - 1) beta^2; `walk_sums` has the formula. For p = lambda d, d -> infinity,
it tends to the moment m_2k of the free convolution of a semicircle of variance alpha^2 = e^(beta^2) - 1 - beta^2 with
the law of W_Q W_K' beta / sqrt(d p) (Hayase, Collins and Karakida 2026, arXiv 2510.06685, have the limit of the law).

Formulas are generic in their number type. Where I - b Q is not positive definite they may have a value that means
nothing: whoever uses them asks for `has_moment` first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.theorems.spectrum.mathematics.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.mathematics.walk_sums import Determinant, walk_sums

ORDERS = (2, 4, 6, 8)


def moment_condition(order: int, beta2: fmpq) -> fmpq:
    """E m_order(T), and E e^order of an entry e, are finite exactly where p is above this: order (order - 1) beta^2."""
    return order * (order - 1) * beta2


@dataclass(frozen=True)
class ScoreMatrix:
    """The size d, the width p of queries and keys, and beta^2: whole numbers and a rational."""

    d: int
    p: int
    beta2: fmpq

    @cached_property
    def b(self) -> fmpq:
        """beta^2 / p."""
        return fmpq(self.beta2) / self.p

    def power(self, base: fmpq) -> arb:
        """base^(-p/2) at the working precision; NaN where the base is not positive."""
        return (arb(base).log() * (-self.p) / 2).exp()

    def mean_exponential(self, a: int) -> arb:
        """phi(a) = E exp(a beta^2 |x|^2 / p) = (1 - 2a b)^(-p/2), for p > 2a beta^2."""
        return self.power(1 - 2 * a * self.b)

    def mean_power(self, order: int) -> arb:
        """E e^order = (1 - order (order - 1) b)^(-p/2) of e = exp(beta S_ij - beta^2 |x_i|^2 / (2p))."""
        return self.power(1 - moment_condition(order, self.b))

    def entry_moment(self, order: int) -> arb:
        """E (e - 1)^order, by powers of e."""
        total, coefficient = arb(0), 1
        for k in range(order, -1, -1):
            total += coefficient * self.mean_power(k)
            coefficient = -coefficient * k // (order - k + 1)
        return total

    def has_moment(self, order: int) -> bool:
        """Whether E m_order(T) is finite, decided exactly."""
        return (self.p > moment_condition(order, self.beta2)) is True

    def moment(self, order: int) -> arb:
        """E m_order(T); NaN where it is infinite, though the formula may have a value there."""
        return self.moment_formula(order) if self.has_moment(order) else arb.nan()

    def moment_formula(self, order: int) -> arb:
        """E m_order(T), for p > order (order - 1) beta^2."""
        k, total = order // 2, arb(0)
        powers: dict[Determinant, arb] = {}
        for r, c, terms in walk_sums(k):
            choices = falling_factorial(self.d, r) * falling_factorial(self.d, c)
            if choices == 0:
                continue
            part = arb(0)
            for polynomial, coefficient in terms:
                if polynomial not in powers:
                    powers[polynomial] = self.power(value_at(polynomial, self.b))
                part += coefficient * powers[polynomial]
            total += choices * part
        return total / arb(self.d) ** (k + 1)

    def entry_part(self, order: int) -> arb:
        """d^(1-k) E (e - 1)^2k, order = 2k: the part of E m_2k(T) that is the 2k-th powers of the entries of T."""
        return self.entry_moment(order) / arb(self.d) ** (order // 2 - 1)

    def second_moment_variance(self) -> arb:
        """Var m_2(T), for p > 12 beta^2: from E t^4 and the means of t^2 t'^2 in one row and in one column."""
        power, b, d = self.power, self.b, self.d
        mean = self.mean_exponential(1) - 1
        same_row = power(1 - 4 * b) - 2 * power(1 - 2 * b) + 1
        products = power((1 - 6 * b) * (1 + 2 * b)) - 4 * power(1 - 2 * b - 4 * b * b) + 4 * power(1 - b * b)
        same_column = products + 2 * power(1 - 2 * b) - 3
        shared = same_row + same_column - 2 * mean * mean
        return (self.entry_moment(4) - mean * mean) / arb(d) ** 2 + shared * (d - 1) / arb(d) ** 2


def falling_factorial(d: int, r: int) -> int:
    """d (d-1) ... (d-r+1): 0 for r > d."""
    product = 1
    for i in range(r):
        product = product * (d - i)
    return product


def value_at(coefficients: Determinant, b: fmpq) -> fmpq:
    """A polynomial, the constant coefficient first."""
    value = 0 * b
    for coefficient in reversed(coefficients):
        value = value * b + coefficient
    return value


def limit_moment(order: int, beta2: fmpq, lambda_: fmpq) -> arb:
    """m_order of the limit law: claim `equivalent-law`."""
    square = arb(beta2)
    law = LawNumbers(square.exp() - 1 - square, square, arb(lambda_))
    moment: arb = law.moments(order // 2)[-1]
    return moment
