"""Moments of the norms of a softmax mean's and a softmax covariance's error, for Gaussian tokens, exactly.

L independent tokens of N(m, Gamma) have the scores z_i = <a, x_i - m> of variance v = a'Gamma a, and weights
p = softmax(z). With b = Gamma a and R = Gamma - b b'/v, tokens are x_i = m + z_i b/v + r_i, where the r_i ~ N(0, R) do
not depend on the scores. So given the scores, with Lambda = diag(p) - p p', for a symmetric F and K = V R V',

    tau_L - tau = (z'p - v) b/v + N(0, P_2 R),        C_L - Gamma = sum_ij Lambda_ij x_i x_j' - Gamma,

    log E e^(t |V (tau_L - tau)|^2)
        = sum_n 2^(n-1) t^n (P_2^n tr K^n / n + P_2^(n-1) (z'p - v)^2 b'V'K^(n-1) V b / v^2),
    log E e^(t tr F (C_L - Gamma)) = sum_n t^n (A_n T_n + B_n G_n) - t (A_1 + v B_1),
        T_n = tr Lambda^n,   G_n = z' Lambda^n z,   A_n = tr (2FR)^n / (2n),   B_n = b' (2FR)^(n-1) 2F b / (2 v^2),

which gives every moment as a polynomial in sums S_(k,j) = sum_i p_i^k z_i^j. Stein's identity E z_i f = v E df/dz_i,
with dp_l/dz_i = p_l ((l = i) - p_i), takes the z away one by one; what is left are power sums P_k = S_(k,0).

|x|^2 = sum_i x_i^2 and |x|^4 = sum_(i<j) ((x_i + x_j)^4 + (x_i - x_j)^4) / 6 + (4 - N)/3 sum_i x_i^4 for x in R^N lead
from forms tr F (C_L - Gamma) to |V (C_L - Gamma)|_F. The proofs stand in `docs/claims/prompts/gradient-tail.md`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import factorial

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax_powers import PowerSums

# Products of factors, sorted: of S_(k,j) as (k, j), or of the T_n and G_n as (n, 0) and (n, 1).
Monomial = tuple[tuple[int, int], ...]
Polynomial = Mapping[Monomial, fmpq]
# What is left: the exponents of a product P_(k_1) P_(k_2) ..., and its coefficient.
PowerSumTerms = Mapping[tuple[int, ...], fmpq]

# The orders p of moments E |.|^p: those of a mean go farther for what they cost.
_ONE: Polynomial = {(): fmpq(1)}


# -- polynomials


def _plus(*polynomials: Polynomial) -> Polynomial:
    total: dict[Monomial, fmpq] = defaultdict(fmpq)
    for polynomial in polynomials:
        for monomial, coefficient in polynomial.items():
            total[monomial] += coefficient
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient != 0}


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    total: dict[Monomial, fmpq] = defaultdict(fmpq)
    for first, x in left.items():
        for second, y in right.items():
            total[tuple(sorted(first + second))] += x * y
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient != 0}


def _scaled(polynomial: Polynomial, factor: fmpq | int) -> Polynomial:
    return {monomial: factor * coefficient for monomial, coefficient in polynomial.items()}


def _sum_of(k: int, j: int) -> Polynomial:
    """S_(k,j), where S_(1,0) = 1."""
    return _ONE if (k, j) == (1, 0) else {((k, j),): fmpq(1)}


# -- powers of Lambda
#
# A vector is a sum of vectors p^k z^j, entry by entry, each times a polynomial.

_Vector = Mapping[tuple[int, int], Polynomial]


def _moved(vector: _Vector) -> _Vector:
    """Lambda times it: Lambda p^k z^j = p^(k+1) z^j - S_(k+1,j) p."""
    found: dict[tuple[int, int], Polynomial] = defaultdict(dict)
    for (k, j), factor in vector.items():
        found[k + 1, j] = _plus(found[k + 1, j], factor)
        found[1, 0] = _plus(found[1, 0], _scaled(_times(factor, _sum_of(k + 1, j)), -1))
    return found


def _inner(k: int, j: int, vector: _Vector) -> Polynomial:
    """Its inner product with p^k z^j."""
    return _plus(*(_times(factor, _sum_of(k + n, j + m)) for (n, m), factor in vector.items()))


def _power(vector: _Vector, n: int) -> _Vector:
    """Lambda^n times it."""
    for _ in range(n):
        vector = _moved(vector)
    return vector


def trace_of_power(n: int, k: int = 0) -> Polynomial:
    """tr diag(p)^k Lambda^n, by tr D^k (D - p p') Lambda^(n-1) = tr D^(k+1) Lambda^(n-1) - p' Lambda^(n-1) D^k p."""
    if n == 0:
        return _sum_of(k, 0)
    rest = _inner(1, 0, _power({(k + 1, 0): _ONE}, n - 1))
    return _plus(trace_of_power(n - 1, k + 1), _scaled(rest, -1))


def form_of_power(n: int) -> Polynomial:
    """z' Lambda^n z."""
    return _inner(0, 1, _power({(0, 1): _ONE}, n))


# -- Stein's identity


class WithoutScores:
    """Polynomials in S_(k,j) with the same mean, that have no z: j = 0 in every factor."""

    def __init__(self, variance: fmpq) -> None:
        self._variance = variance
        self._known: dict[Monomial, Polynomial] = {}

    def of(self, polynomial: Polynomial) -> Polynomial:
        return _plus(*(_scaled(self._of(monomial), factor) for monomial, factor in polynomial.items()))

    def _of(self, monomial: Monomial) -> Polynomial:
        if monomial not in self._known:
            index = next((i for i, (_, j) in enumerate(monomial) if j > 0), None)
            if index is None:
                return {monomial: fmpq(1)}
            rest = (*monomial[:index], *monomial[index + 1 :])
            self._known[monomial] = _scaled(self.of(_derivative(*monomial[index], rest)), self._variance)
        return self._known[monomial]


def _derivative(k: int, j: int, rest: Monomial) -> Polynomial:
    """sum_i d/dz_i (p_i^k z_i^(j-1) rest): E S_(k,j) rest is v times its mean."""
    terms: dict[Monomial, fmpq] = defaultdict(fmpq)

    def add(factor: int, *sums: tuple[int, int]) -> None:
        if factor != 0:
            terms[tuple(sorted(each for each in sums if each != (1, 0)))] += factor

    add(k, (k, j - 1), *rest)
    add(-k, (k + 1, j - 1), *rest)
    if j > 1:
        add(j - 1, (k, j - 2), *rest)
    for index, (n, m) in enumerate(rest):
        others = (*rest[:index], *rest[index + 1 :])
        if m > 0:
            add(m, (k + n, j + m - 2), *others)
        add(n, (k + n, j + m - 1), *others)
        add(-n, (k + 1, j - 1), *rest)
    return terms


# -- linear forms


class QuadraticForms:
    """E (tr F (C_L - Gamma))^p for symmetric F, as polynomials in T_1 - 1, G_1 - v, T_n and G_n.

    The tilt is sqrt(`factor`) * `base` (1 x d).
    """

    def __init__(self, covariance: ExactMatrix, base: ExactMatrix, factor: fmpq) -> None:
        self.shift = base @ covariance  # b, times 1/sqrt(factor)
        self.variance = factor * (self.shift @ base.T).entry(0, 0)
        # Where all scores agree, b = 0 and no part of a token goes with them.
        share = factor / self.variance if self.variance != 0 else fmpq(0)
        self.rest = covariance - (self.shift.T @ self.shift).scaled(share)
        # What makes products of two b into those over v^2.
        self.scale = share / self.variance if self.variance != 0 else fmpq(0)

    def moment(self, form: ExactMatrix, order: int) -> Polynomial:
        """p! times the coefficient of t^p in the exponential of what is in the header."""
        double = form + form  # 2F
        step, image, power = double @ self.rest, self.shift @ double, ExactMatrix.identity(form.rows)
        logarithm: list[Polynomial] = [{}]
        for n in range(1, order + 1):
            power = power @ step
            along = self.scale * (image @ self.shift.T).entry(0, 0) / 2
            terms = {((n, 0),): power.trace() / (2 * n), ((n, 1),): along}
            logarithm.append({monomial: value for monomial, value in terms.items() if value != 0})
            image = image @ self.rest @ double
        return _scaled(_exponential(logarithm)[order], factorial(order))


def _exponential(logarithm: Sequence[Polynomial]) -> list[Polynomial]:
    """The series of e^f: n e_n = sum_k k f_k e_(n-k)."""
    found: list[Polynomial] = [_ONE]
    for n in range(1, len(logarithm)):
        terms = (_scaled(_times(logarithm[k], found[n - k]), fmpq(k, n)) for k in range(1, n + 1))
        found.append(_plus(*terms))
    return found


def linear_forms(order: int, size: int) -> Iterator[tuple[fmpq, dict[int, int]]]:
    """Weights c and vectors f in R^N, by their entries that are not 0, with |x|^p = sum c <f, x>^p for p = 2 or 4."""
    for i in range(size):
        yield fmpq(1) if order == 2 else fmpq(4 - size, 3), {i: 1}
    if order == 4:
        for i, j in combinations(range(size), 2):
            yield fmpq(1, 6), {i: 1, j: 1}
            yield fmpq(1, 6), {i: 1, j: -1}


# -- norms


def covariance_norm_moment(
    covariance: ExactMatrix, values: ExactMatrix, base: ExactMatrix, factor: fmpq, order: int
) -> PowerSumTerms:
    """E |V (C_L - Gamma)|_F^p, p = 2 or 4, for the tilt sqrt(factor) * base (1 x d)."""
    forms, size = QuadraticForms(covariance, base, factor), values.columns
    entries = [
        _symmetric(row, [fmpq(int(j == column)) for column in range(size)])
        for row in values.to_rows()
        for j in range(size)
    ]
    total: Polynomial = {}
    for weight, places in linear_forms(order, len(entries)):
        form = _combined([(sign, entries[index]) for index, sign in places.items()])
        total = _plus(total, _scaled(forms.moment(form, order), weight))
    meanings = {
        (n, kind): form_of_power(n) if kind else trace_of_power(n) for n in range(1, order + 1) for kind in (0, 1)
    }
    for kind, limit in ((0, fmpq(1)), (1, forms.variance)):
        meanings[1, kind] = _plus(meanings[1, kind], {(): -limit})
    return _in_power_sums(total, meanings, forms.variance)


def _symmetric(u: Sequence[fmpq], v: Sequence[fmpq]) -> ExactMatrix:
    """(u v' + v u') / 2."""
    pairs = list(zip(u, v, strict=True))
    return ExactMatrix.rational([[(a * d + b * c) / 2 for c, d in pairs] for a, b in pairs])


def _combined(terms: Sequence[tuple[int, ExactMatrix]]) -> ExactMatrix:
    first, *rest = (matrix if sign > 0 else -matrix for sign, matrix in terms)
    for each in rest:
        first = first + each
    return first


def mean_norm_moment(
    covariance: ExactMatrix, values: ExactMatrix, base: ExactMatrix, factor: fmpq, order: int
) -> PowerSumTerms:
    """E |V (tau_L - tau)|^p for even p, for the tilt sqrt(factor) * base (1 x d)."""
    forms = QuadraticForms(covariance, base, factor)
    spread, image = values @ forms.rest @ values.T, forms.shift @ values.T
    power, along = spread, image
    logarithm: list[Polynomial] = [{}]
    # P_2 is written as (1, 0), and z'p - v as (1, 1).
    for n in range(1, order // 2 + 1):
        double = fmpq(2) ** (n - 1)
        shifted = double * forms.scale * (along @ image.T).entry(0, 0)
        logarithm.append(
            _plus({((1, 0),) * n: double * power.trace() / n}, {(*(((1, 0),) * (n - 1)), (1, 1), (1, 1)): shifted})
        )
        power, along = power @ spread, along @ spread
    total = _scaled(_exponential(logarithm)[order // 2], factorial(order // 2))
    meanings = {(1, 0): _sum_of(2, 0), (1, 1): _plus(_sum_of(1, 1), {(): -forms.variance})}
    return _in_power_sums(total, meanings, forms.variance)


def _in_power_sums(
    polynomial: Polynomial, meanings: Mapping[tuple[int, int], Polynomial], variance: fmpq
) -> PowerSumTerms:
    """The mean over the scores of a polynomial whose factors stand for polynomials in S_(k,j)."""
    total: Polynomial = {}
    for monomial, coefficient in polynomial.items():
        term: Polynomial = {(): coefficient}
        for factor in monomial:
            term = _times(term, meanings[factor])
        total = _plus(total, term)
    reduced = WithoutScores(variance).of(total)
    return {tuple(k for k, _ in monomial): coefficient for monomial, coefficient in reduced.items()}


def degree_of(terms: PowerSumTerms) -> int:
    """The largest sum of exponents."""
    return max(map(sum, terms), default=0)


def mean_of(terms: PowerSumTerms, powers: PowerSums) -> arb:
    """The number that they stand for."""
    return sum((arb(coefficient) * powers.mean(*exponents) for exponents, coefficient in terms.items()), arb(0))
