"""Checks: expected moments of the matrix of exponential scores, from Gaussian integrals and walks; and their limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import prod
from typing import Any

import sympy
from sympy import QQ, ZZ
from sympy.polys.matrices import DomainMatrix
from sympy.polys.rings import PolyElement, ring

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, expression
from certattn.theory.symbols import matrix, positive_symbol, real, vector

Expr = Any


def scores(kernel: Kernel, d: Expr, p: Expr, x: Expr) -> Any:
    """The kernel's T over symbols, x = beta^2."""
    return kernel.score_matrix.ScoreMatrix(SymbolicNumber(d), SymbolicNumber(p), SymbolicNumber(x))


class Powers:
    """u^(-p/2) as a symbol for each polynomial u, the same in both expressions that are compared."""

    def __init__(self, p: Expr) -> None:
        self.p = p
        self.symbols: dict[Expr, Expr] = {sympy.Integer(1): sympy.Integer(1)}

    def __call__(self, base: Expr) -> Expr:
        return self.symbols.setdefault(sympy.expand(base), sympy.Dummy(positive=True))

    def of(self, value: Any) -> Expr:
        """The kernel's expression, which has exp(-p log(u) / 2)."""
        return expression(value).replace(sympy.exp, self._power)

    def _power(self, exponent: Expr) -> Expr:
        factor, logarithm = exponent.as_independent(sympy.log)
        known = factor == -self.p / 2 and isinstance(logarithm, sympy.log)
        return self(logarithm.args[0]) if known else sympy.exp(exponent)


# -- one product of entries


def check_products(kernel: Kernel) -> Iterator[Check]:
    """E prod e_ij^N_ij: first over the keys, then over the queries, a coordinate at a time."""
    root = positive_symbol("r")
    for rows, columns in ((1, 1), (1, 2), (2, 2), (2, 3), (3, 2)):
        N, x = matrix("n", rows, columns), vector("x", rows)
        # b = r^2: the key j has the exponent sum_i N_ij r x_i in this coordinate.
        keys = sum((root * sum(N[i, j] * x[i] for i in range(rows))) ** 2 for j in range(columns)) / 2
        normaliser = root**2 / 2 * sum(N[i, j] * x[i] ** 2 for i in range(rows) for j in range(columns))
        table = tuple(tuple(N.row(i)) for i in range(rows))
        form = sympy.Matrix(kernel.score_matrix.exponent_form(table))
        point = sympy.Matrix(x)
        wanted = root**2 / 2 * (point.T * form * point)[0]
        yield equal(f"exponent of the queries, N {rows} x {columns}", keys - normaliser, wanted)
    b = real("b")
    for table in (
        ((1,),),
        ((4,),),
        ((1, 1), (1, 1)),
        ((2, 1), (0, 3)),
        ((1, 1, 0), (0, 1, 1), (1, 0, 1)),
        ((0, 2), (1, 0)),
    ):
        form = sympy.Matrix(kernel.score_matrix.exponent_form(table))
        wanted = (sympy.eye(form.rows) - b * form).det()
        found = kernel.score_matrix.determinant(tuple(tuple(int(q) for q in form.row(i)) for i in range(form.rows)))
        yield equal(f"det(I - b Q) of N = {table}", sum(c * b**n for n, c in enumerate(found)), wanted)
    s, y = real("s"), real("y")
    normal = sympy.exp(-(y**2) / 2) / sympy.sqrt(2 * sympy.pi)
    mean = sympy.integrate(sympy.exp(s * y) * normal, (y, -sympy.oo, sympy.oo))
    yield equal("E exp(s k) = exp(s^2/2), k ~ N(0, 1)", sympy.simplify(mean), sympy.exp(s**2 / 2))
    yield from _gaussian_integrals()


def _gaussian_integrals() -> Iterator[Check]:
    """E exp(x'Mx/2) = det(I - M)^(-1/2): one variable after the other, by pivots of I - M."""
    a, c, y = positive_symbol("a"), real("c"), real("y")
    inner = sympy.exp(-a * y**2 / 2 + c * y) / sympy.sqrt(2 * sympy.pi)
    found = sympy.integrate(inner, (y, -sympy.oo, sympy.oo))
    yield equal("one variable", sympy.simplify(found), sympy.exp(c**2 / (2 * a)) / sympy.sqrt(a))
    for size in (2, 3):
        A = sympy.Matrix(size, size, lambda i, j: real(f"a_{min(i, j)}{max(i, j)}"))
        x = sympy.Matrix(vector("x", size))
        pivot, rest = A[0, 0], A[1:, 0]
        schur = A[1:, 1:] - rest * rest.T / pivot
        # -x'Ax/2 = -pivot y^2/2 - c y + (rest of it), c = sum of the rest.
        linear = -(rest.T * sympy.Matrix(x[1:]))[0]
        left = (x.T * A * x)[0]
        tail = sympy.Matrix(x[1:])
        right = pivot * x[0] ** 2 - 2 * linear * x[0] + linear**2 / pivot + (tail.T * schur * tail)[0]
        yield equal(f"what is left of the exponent, {size} variables", left, right)
        yield equal(f"the determinant, {size} variables", A.det(), pivot * schur.det())


# -- walks


def check_walks(kernel: Kernel) -> Iterator[Check]:
    """The trace of (MM')^k multiplied out for matrices of symbols, beside set partitions."""
    for d, k in ((1, 1), (2, 1), (1, 2), (2, 2), (3, 2), (1, 3), (2, 3), (3, 3), (1, 4), (2, 4)):
        wanted = _brute_force(d, k)
        found: Counter[tuple[int, ...]] = Counter()
        for r, c, terms in kernel.score_matrix.walk_sums(k):
            choices = _falling(d, r) * _falling(d, c)
            for polynomial, coefficient in terms:
                found[polynomial] += choices * coefficient
        nonzero = {polynomial: count for polynomial, count in found.items() if count != 0}
        yield Check(f"d^(k+1) E m_2k, d = {d}, k = {k}", bool(nonzero) and nonzero == wanted)
    for k, number in ((1, 1), (2, 2), (3, 5), (4, 15)):
        yield Check(f"partitions of {k}", len(set(kernel.score_matrix.partitions(k))) == number)


def _brute_force(d: int, k: int) -> dict[tuple[int, ...], int]:
    """tr (MM')^k, M = (e_ij - 1), as a sum of products; the coefficients of each det(I - b Q)."""
    polynomials, *generators = ring([f"e{i}{j}" for i in range(d) for j in range(d)], ZZ)
    M = [[generators[i * d + j] - 1 for j in range(d)] for i in range(d)]
    square = [[sum(M[i][m] * M[j][m] for m in range(d)) for j in range(d)] for i in range(d)]
    power = [[polynomials(int(i == j)) for j in range(d)] for i in range(d)]
    for _ in range(k):
        power = [[sum(power[i][m] * square[m][j] for m in range(d)) for j in range(d)] for i in range(d)]
    trace = sum((power[i][i] for i in range(d)), polynomials(0))
    found: Counter[tuple[int, ...]] = Counter()
    known: dict[tuple[tuple[int, ...], ...], tuple[int, ...]] = {}
    for exponents, coefficient in trace.terms():
        N = [exponents[i * d : (i + 1) * d] for i in range(d)]
        key = tuple(
            tuple(sum(N[i][m] * N[j][m] for m in range(d)) - (sum(N[i]) if i == j else 0) for j in range(d))
            for i in range(d)
        )
        if key not in known:
            rows = [[ZZ(entry) for entry in row] for row in key]
            known[key] = _trimmed([int(entry) for entry in DomainMatrix(rows, (d, d), ZZ).charpoly()])
        found[known[key]] += int(coefficient)
    return {polynomial: count for polynomial, count in found.items() if count != 0}


def _trimmed(coefficients: list[int]) -> tuple[int, ...]:
    while coefficients[-1] == 0:
        coefficients = coefficients[:-1]
    return tuple(coefficients)


def _falling(d: int, r: int) -> int:
    return prod(d - i for i in range(r))


# -- closed forms


def check_closed_forms(kernel: Kernel) -> Iterator[Check]:
    """E m_2 and E m_4 as formulas in d, p and beta^2."""
    d, p, x = positive_symbol("d"), positive_symbol("p"), positive_symbol("x")
    T, f, b = scores(kernel, d, p, x), Powers(p), x / p
    yield equal("E m_2 = phi(1) - 1", f.of(T.moment_formula(2)), f(1 - 2 * b) - 1)
    single = f(1 - 12 * b) - 4 * f(1 - 6 * b) + 6 * f(1 - 2 * b) - 3
    row = f(1 - 4 * b) - 2 * f(1 - 2 * b) + 1
    column = (
        f((1 - 6 * b) * (1 + 2 * b)) - 4 * f(1 - 2 * b - 4 * b**2) + 4 * f(1 - b**2) + 2 * f(1 - 2 * b) - 3
    )  # fmt: skip
    square = f(1 - 4 * b**2) - 2 * f(1 - b**2) + 1
    fourth = single / d + (d - 1) / d * (row + column) + (d - 1) ** 2 / d * square
    yield equal("E m_4", f.of(T.moment_formula(4)), fourth)
    yield equal("E t^2", f.of(T.entry_moment(2)), f(1 - 2 * b) - 1)
    yield equal("E t^4", f.of(T.entry_moment(4)), single)
    sixth = sum((-1) ** (6 - n) * sympy.binomial(6, n) * f(1 - n * (n - 1) * b) for n in range(7))
    yield equal("E t^6", f.of(T.entry_moment(6)), sixth)
    yield equal("part of the entries, order 6", f.of(T.entry_part(6)), sixth / d**2)
    # m_2 = d^-2 sum t_ij^2: pairs of entries that are the same, share a row, share a column, share nothing.
    mean = f(1 - 2 * b) - 1
    total = d**2 * single + d**2 * (d - 1) * (row + column) + d**2 * (d - 1) ** 2 * mean**2
    variance = total / d**4 - mean**2
    yield equal("Var m_2", f.of(T.second_moment_variance()), variance)


def check_pairs(kernel: Kernel) -> Iterator[Check]:
    """E t^2 t'^2 of two entries in one row, in one column, and in neither: products of powers of e."""
    p, x = positive_symbol("p"), positive_symbol("x")
    f, b = Powers(p), x / p
    d = positive_symbol("d")
    T = scores(kernel, d, p, x)
    same_row = _pair_mean(kernel, f, b, lambda n, m: ((n, m),))
    same_column = _pair_mean(kernel, f, b, lambda n, m: ((n,), (m,)))
    apart = _pair_mean(kernel, f, b, lambda n, m: ((n, 0), (0, m)))
    yield equal("one row", same_row, f(1 - 4 * b) - 2 * f(1 - 2 * b) + 1)
    mean = f(1 - 2 * b) - 1
    products = _apart(f, apart, b)
    yield equal("neither", products, mean**2)
    single = f.of(T.entry_moment(4))
    pairs = single + (d - 1) * (same_row + same_column) + (d - 1) ** 2 * mean**2
    yield equal("Var m_2 from pairs", f.of(T.second_moment_variance()), pairs / d**2 - mean**2)


def _pair_mean(kernel: Kernel, f: Powers, b: Expr, table: Any) -> Expr:
    """E (e - 1)^2 (e' - 1)^2, multiplied out."""
    weights, total = (1, -2, 1), sympy.Integer(0)
    for n, left in enumerate(weights):
        for m, right in enumerate(weights):
            Q = sympy.Matrix(kernel.score_matrix.exponent_form(table(n, m)))
            total += left * right * f((sympy.eye(Q.rows) - b * Q).det())
    return total


def _apart(f: Powers, total: Expr, b: Expr) -> Expr:
    """Independent entries: the determinant is a product, and so is its power."""
    return total.subs(f((1 - 2 * b) ** 2), f(1 - 2 * b) ** 2)


# -- the limit


def check_limits(kernel: Kernel) -> Iterator[Check]:
    """E m_2k in powers of 1/d, p = lambda d: the constant term is the limit's moment, what grows with d cancels."""
    x, L = positive_symbol("x"), positive_symbol("L")
    for k in (1, 2, 3, 4):
        found = _expansion(kernel, k, 0)
        limit = expression(kernel.score_matrix.limit_moment(2 * k, SymbolicNumber(x), SymbolicNumber(1 / L)))
        constant = found.pop(0)
        yield Check(f"no power of d is left, k = {k}", all(value == 0 for value in found.values()))
        yield equal(f"lim E m_{2 * k} = m_{2 * k}", _as_expression(constant, x, L), limit)
    first = _as_expression(_expansion(kernel, 2, 1)[1], x, L)
    e = sympy.exp(x)
    wanted = e**6 - 4 * e**3 - 2 * e**2 + 10 * e - 5 + (14 * e**2 - 12 * e) * x**2 * L + 7 * x**4 * L**2 / 4
    yield equal("E m_4 = m_4 + c_1/d + ...", first, wanted)


def _expansion(kernel: Kernel, k: int, order: int) -> dict[int, PolyElement]:
    """Coefficients of d^(-n), n <= order, as polynomials in x = beta^2, L = 1/lambda and E = e^x.

    -(p/2) log det(I - bQ) = (1/2) sum_q tr(Q^q) x^q (L/d)^(q-1) / q.
    """
    polynomials, x, L, E = ring("x, L, E", QQ)
    found: dict[int, PolyElement] = {}
    for r, c, terms in kernel.score_matrix.walk_sums(k):
        lead = k + 1 - r - c
        count = order - lead
        if count < 0:
            continue
        choices = [Fraction(1)] + [Fraction(0)] * count
        for i in [*range(r), *range(c)]:
            choices = [choices[n] - (i * choices[n - 1] if n else 0) for n in range(count + 1)]
        series = [polynomials(0)] * (count + 1)
        for polynomial, coefficient in terms:
            traces = _traces(polynomial, count + 1)
            exponents = [
                x ** (n + 1) * L**n * QQ(traces[n], 2 * (n + 1)) if n else polynomials(0) for n in range(count + 1)
            ]
            term = [polynomials(1)] + [polynomials(0)] * count
            for n in range(1, count + 1):
                term[n] = sum((exponents[m] * term[n - m] * m for m in range(1, n + 1)), polynomials(0)) * QQ(1, n)
            factor = E ** (traces[0] // 2) * coefficient
            series = [total + factor * part for total, part in zip(series, term, strict=True)]
        for n in range(count + 1):
            value = sum(
                (series[n - m] * QQ(choices[m].numerator, choices[m].denominator) for m in range(n + 1)), polynomials(0)
            )
            found[lead + n] = found.get(lead + n, polynomials(0)) + value
    return found


def _traces(polynomial: tuple[int, ...], count: int) -> list[int]:
    """tr Q, tr Q^2, ... from the coefficients of det(I - bQ), by Newton's identities."""
    symmetric = [(-1) ** n * c for n, c in enumerate(polynomial)] + [0] * (count + 1)
    traces: list[int] = []
    for q in range(1, count + 1):
        total = (-1) ** (q - 1) * q * symmetric[q]
        total += sum((-1) ** (j - 1) * symmetric[j] * traces[q - j - 1] for j in range(1, q))
        traces.append(total)
    return traces


def _as_expression(polynomial: PolyElement, x: Expr, L: Expr) -> Expr:
    return polynomial.as_expr().subs(dict(zip(sympy.symbols("x, L, E"), (x, L, sympy.exp(x)), strict=True)))


def check_entries(kernel: Kernel) -> Iterator[Check]:
    """tr (TT')^k is at least the sum of the 2k-th powers of the entries; how that part grows with beta and d."""
    for d, k in ((2, 2), (3, 2), (2, 3)):
        polynomials, *entries = ring([f"t{i}{j}" for i in range(d) for j in range(d)], ZZ)
        squares = [entry * entry for entry in entries]
        rest = sum((sum(squares[i * d : (i + 1) * d]) ** k for i in range(d)), polynomials(0))
        rest -= sum((square**k for square in squares), polynomials(0))
        # (TT')_ii^k - sum_j T_ij^2k: a sum of even products with coefficients >= 0.
        holds = all(c >= 0 and all(n % 2 == 0 for n in powers) for powers, c in rest.terms())
        yield Check(f"sum_i (TT')_ii^k >= sum_ij T_ij^2k, d = {d}, k = {k}", holds)
    x, d, p = positive_symbol("x"), positive_symbol("d"), positive_symbol("p")
    T = scores(kernel, d, p, x)
    for order in (4, 6, 8):
        k = order // 2
        large = sympy.exp(k * (order - 1) * x) / d ** (k - 1) / (sympy.catalan(k) * sympy.exp(k * x))
        growth = (sympy.exp(order * x) / d) ** (k - 1) / sympy.catalan(k)
        yield equal(f"order {order}: the ratio beyond (1/2k) log d", large, growth)
        power = expression(T.mean_power(order)).subs(p, 1 / positive_symbol("u"))
        limit = sympy.limit(sympy.log(power), positive_symbol("u"), 0)
        yield equal(f"E e^{order} as p grows", limit, k * (order - 1) * x)
