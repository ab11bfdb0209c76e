"""Expected moments of the matrix T of exponential scores at finite size, exactly, and those of their limit law.

d queries x_i and d keys k_j, all independent N(0, I_p), S_ij = x_i.k_j / sqrt(p),

    T_ij = (exp(beta S_ij - beta^2 |x_i|^2 / (2p)) - 1) / sqrt(d),      m_2k(T) = (1/d) tr (TT')^k.

E m_2k(T) is finite exactly where p > 2k (2k - 1) beta^2; `walk_sums` computes it. For p = lambda d, d -> infinity,
it tends to the moment m_2k of the free convolution of a semicircle of variance alpha^2 = e^(beta^2) - 1 - beta^2 with
the law of W_Q W_K' beta / sqrt(d p) (Hayase, Collins and Karakida 2026, arXiv 2510.06685, have the limit of the law).

Where I - b Q is not positive definite they may have a value that means
nothing: whoever uses them asks for `has_moment` first.

They are sums over walks, with integers only. Let T be d x d with entries (e_ij - 1) / sqrt(d), where the means
E prod e_ij^N_ij stay the same when rows are permuted, or columns. Then (1/d) E tr (TT')^k is d^(-k-1) times the sum,
over all indices i_1, ..., i_k and j_1, ..., j_k, of

    E prod_a (e_(i_a j_a) - 1) (e_(i_(a+1) j_a) - 1),      i_(k+1) = i_1.

Which indices are equal is a pair of set partitions; r and c classes have d (d-1) ... (d-r+1) and d (d-1) ... (d-c+1)
choices of indices. The products are multiplied out: a sum of products of e_ij^N_ij with integer coefficients.

If e_ij = exp(beta S_ij - beta^2 |x_i|^2 / (2p)), S_ij = x_i.k_j / sqrt(p), all x_i and k_j independent N(0, I_p), then

    E prod e_ij^N_ij = det(I - b Q)^(-p/2),   Q = N N' - diag(N 1),   b = beta^2 / p,

where I - b Q is positive definite, and infinite otherwise.

What theorems about random score matrices are given: beta, lambda = p / d, and the size d; and what is typical.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from math import comb

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.document.schema import Count, Field, Rational, Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers

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
    return law.moments(order // 2)[-1]


# -- sums over walks


Table = tuple[tuple[int, ...], ...]
# Coefficients of det(I - b Q) in b, the constant one first.
Determinant = tuple[int, ...]
Terms = tuple[tuple[Determinant, int], ...]


@cache
def walk_sums(k: int) -> tuple[tuple[int, int, Terms], ...]:
    """(r, c, terms): d^(k+1) (1/d) E tr (TT')^k is the sum of (d)_r (d)_c sum coefficient * det(I - b Q)^(-p/2)."""
    found: dict[tuple[int, int], Counter[Determinant]] = {}
    for (r, c), tables in _multiplied_out(k).items():
        total: Counter[Determinant] = Counter()
        for table, coefficient in tables.items():
            total[determinant(exponent_form(table))] += coefficient
        found[r, c] = total
    return tuple((r, c, _without_zeros(terms)) for (r, c), terms in sorted(found.items()))


def partitions(size: int) -> Iterator[tuple[int, ...]]:
    """The set partitions of 0, ..., size - 1: the class of each, classes numbered as they come."""

    def extended(classes: tuple[int, ...], used: int) -> Iterator[tuple[int, ...]]:
        if len(classes) == size:
            yield classes
            return
        for label in range(used + 1):
            yield from extended((*classes, label), max(used, label + 1))

    yield from extended((), 0)


def closed_walk(rows: tuple[int, ...], columns: tuple[int, ...]) -> Table:
    """How often each entry (i, j) stands in the product of a walk with these classes: r x c."""
    counts = [[0] * (max(columns) + 1) for _ in range(max(rows) + 1)]
    for a, j in enumerate(columns):
        counts[rows[a]][j] += 1
        counts[rows[(a + 1) % len(rows)]][j] += 1
    return tuple(tuple(row) for row in counts)


def expanded(walk: Table) -> Iterator[tuple[Table, int]]:
    """prod (e_ij - 1)^m_ij as a sum of coefficients times prod e_ij^N_ij."""
    flat, width = [m for row in walk for m in row], len(walk[0])
    for powers in product(*(range(m + 1) for m in flat)):
        coefficient = 1
        for m, n in zip(flat, powers, strict=True):
            coefficient *= comb(m, n) * (-1) ** (m - n)
        yield tuple(powers[i : i + width] for i in range(0, len(powers), width)), coefficient


def sorted_table(table: Table) -> Table:
    """A permutation of its rows and columns without those that are 0: the mean of the product is the same."""
    for _ in range(2):
        rows = sorted(row for row in table if any(row))
        table = tuple(zip(*rows, strict=True))
    return table


@cache
def exponent_form(powers: Table) -> Table:
    """Q = N N' - diag(N 1)."""
    return tuple(
        tuple(
            sum(x * y for x, y in zip(row, other, strict=True)) - (sum(row) if i == j else 0)
            for j, other in enumerate(powers)
        )
        for i, row in enumerate(powers)
    )


@cache
def determinant(form: Table) -> Determinant:
    """The coefficients of det(I - b Q), by the recursion of Faddeev and LeVerrier; every division is exact."""
    size, coefficients = len(form), [1]
    power = [[0] * size for _ in range(size)]
    for step in range(1, size + 1):
        shifted = [[x + (coefficients[-1] if i == j else 0) for j, x in enumerate(row)] for i, row in enumerate(power)]
        power = [[sum(form[i][m] * shifted[m][j] for m in range(size)) for j in range(size)] for i in range(size)]
        coefficients.append(-sum(power[i][i] for i in range(size)) // step)
    while coefficients[-1] == 0:
        coefficients.pop()
    return tuple(coefficients)


def _multiplied_out(k: int) -> dict[tuple[int, int], Counter[Table]]:
    """For every number of classes of rows and of columns: products of e_ij^N_ij with their coefficients."""
    walks: dict[tuple[int, int], Counter[Table]] = {}
    classes = list(partitions(k))
    for rows, columns in product(classes, classes):
        size = max(rows) + 1, max(columns) + 1
        walks.setdefault(size, Counter())[sorted_table(closed_walk(rows, columns))] += 1
    found: dict[tuple[int, int], Counter[Table]] = {}
    for size, counted in walks.items():
        total = found.setdefault(size, Counter())
        for walk, times in counted.items():
            for powers, coefficient in expanded(walk):
                total[sorted_table(powers)] += times * coefficient
    return found


def _without_zeros(terms: Counter[Determinant]) -> Terms:
    return tuple((polynomial, coefficient) for polynomial, coefficient in sorted(terms.items()) if coefficient != 0)


# -- as certificates state it

BETA = Field("beta", Rational(above=0), "beta > 0, the inverse temperature of the scores")
LAMBDA = Field("lambda", Rational(above=0), "lambda = p / d > 0, the width p of queries and keys over the number d")
SIZE = Field("d", Count(2), "the number d of queries and of keys; lambda d is a whole number")
MOST = Field("at_most", Rational(), "it is at most this")
THETA = Field("theta", Rational(), "0 < theta < 1: normalisers of at least 1 - theta of their mean are typical")
CUT = Field("cut", Rational(), "cut > 1: queries with |x|^2 <= cut p are typical")


def score_matrix(given: Values) -> ScoreMatrix:
    """d, p = lambda d and beta^2. Raises MalformedError where lambda d is no whole number."""
    d, width = given[SIZE], given[LAMBDA] * given[SIZE]
    if width.q != 1:
        expected = f"d with lambda d a whole number: a multiple of {given[LAMBDA].q}"
        raise given.node(SIZE).malformed(expected, f"lambda d = {describe(width)}")
    return ScoreMatrix(d, int(width.p), given[BETA] * given[BETA])


def typical(witness: Values) -> Iterator[Obligation]:
    """That theta and cut are what the bounds are proved for."""
    theta, cut = witness[THETA], witness[CUT]
    yield Obligation("theta.above", theta, ">", fmpq(0), Part.WITNESS)
    yield Obligation("theta.below", theta, "<", fmpq(1), Part.WITNESS)
    yield Obligation("cut", cut, ">", fmpq(1), Part.WITNESS)


TYPICAL = ("theta.above", "theta.below", "cut")
