"""Moments of random matrices as sums over walks, with integers only.

Let T be d x d with entries (e_ij - 1) / sqrt(d), where the means E prod e_ij^N_ij stay the same when rows are permuted,
or columns. Then (1/d) E tr (TT')^k is d^(-k-1) times the sum, over all indices i_1, ..., i_k and j_1, ..., j_k, of

    E prod_a (e_(i_a j_a) - 1) (e_(i_(a+1) j_a) - 1),      i_(k+1) = i_1.

Which indices are equal is a pair of set partitions; r and c classes have d (d-1) ... (d-r+1) and d (d-1) ... (d-c+1)
choices of indices. The products are multiplied out: a sum of products of e_ij^N_ij with integer coefficients.

If e_ij = exp(beta S_ij - beta^2 |x_i|^2 / (2p)), S_ij = x_i.k_j / sqrt(p), all x_i and k_j independent N(0, I_p), then

    E prod e_ij^N_ij = det(I - b Q)^(-p/2),   Q = N N' - diag(N 1),   b = beta^2 / p,

where I - b Q is positive definite, and infinite otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from math import comb

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
