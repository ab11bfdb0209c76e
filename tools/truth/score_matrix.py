"""Whether certificates about random score matrices are true, by mpmath.

Expected moments are summed over all pairs of set partitions and all subsets of the factors of a walk: no product is
expanded by multiplicities and no determinant kept as a polynomial. What infinite moments are is decided by fractions.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.truth.judgement import Comparison, Judgement, exactly, judge_all, worst
from tools.truth.reading import read_count, read_items, read_number, require, require_record, to_real

Powers = tuple[tuple[int, ...], ...]
_ORDERS = ("2", "4", "6", "8")
# As the checker: sizes that one assertion may be about.
_MOST_SIZES = 20_000


@dataclass(frozen=True)
class Scores:
    """d, p = lambda d and beta."""

    beta: Fraction
    lambda_: Fraction
    d: int

    @property
    def p(self) -> int:
        return int(self.lambda_ * self.d)

    def finite(self, order: int) -> bool:
        return self.p > order * (order - 1) * self.beta**2

    def moment(self, order: int) -> mpf:
        return _moment(self, order, mp.prec)

    def mean(self, N: Powers) -> mpf:
        """Of a product of weights with these powers."""
        b, rows = to_real(self.beta) ** 2 / self.p, len(N)
        form = mp.matrix(rows, rows)
        for i, m in itertools.product(range(rows), repeat=2):
            entry = sum(x * y for x, y in zip(N[i], N[m], strict=True)) - (sum(N[i]) if i == m else 0)
            form[i, m] = (i == m) - b * entry
        return mp.det(form) ** (-mpf(self.p) / 2)

    def entry(self, order: int) -> mpf:
        b = to_real(self.beta) ** 2 / self.p
        terms = (
            mp.binomial(order, n) * (-1) ** n * (1 - n * (n - 1) * b) ** (-mpf(self.p) / 2) for n in range(order + 1)
        )
        return mp.fsum(terms)

    def limit(self, order: int) -> mpf:
        """The moments as polynomials in m = m_2, B = beta^2, L = 1/lambda."""
        B, L = to_real(self.beta) ** 2, 1 / to_real(self.lambda_)
        m = mp.expm1(B)
        return {
            2: m,
            4: 2 * m**2 + L * B**2,
            6: 5 * m**3 + 6 * L * B**2 * m + L**2 * B**3,
            8: 14 * m**4 + 28 * L * B**2 * m**2 + L**2 * (8 * B**3 * m + 4 * B**4) + L**3 * B**4,
        }[order]

    def variance(self) -> mpf:
        """E m_2^2 - (E m_2)^2 from the covariances of squares of entries."""
        return _variance(self, mp.prec)


# -- what most changes of a certificate ask of one and the same size, at so many bits


@cache
def _moment(scores: Scores, order: int, bits: int) -> mpf:
    k, total = order // 2, mpf(0)
    for r, c, N, coefficient in walks(k):
        if choices := math.perm(scores.d, r) * math.perm(scores.d, c):
            total += choices * coefficient * (scores.mean(N) if N else 1)
    return total / mpf(scores.d) ** (k + 1)


@cache
def _variance(scores: Scores, bits: int) -> mpf:
    w = (1, -2, 1)
    pairs = list(itertools.product(range(3), repeat=2))
    row = sum(w[n] * w[m] * scores.mean(((n, m),)) for n, m in pairs)
    column = sum(w[n] * w[m] * scores.mean(((n,), (m,))) for n, m in pairs)
    square, fourth, d = scores.entry(2) ** 2, scores.entry(4), scores.d
    return (fourth - square + (d - 1) * (row - square) + (d - 1) * (column - square)) / mpf(d) ** 2


@cache
def walks(k: int) -> list[tuple[int, int, Powers, int]]:
    """(r, c, N, coefficient): each pattern of equal indices, and each choice of e or -1 from every factor."""
    found: Counter[tuple[int, int, Powers]] = Counter()
    classes = list(_classes(k))
    for rows, columns in itertools.product(classes, repeat=2):
        edges = [(rows[a], columns[a]) for a in range(k)] + [(rows[(a + 1) % k], columns[a]) for a in range(k)]
        r, c = len(set(rows)), len(set(columns))
        for chosen in itertools.product((0, 1), repeat=2 * k):
            N = [[0] * c for _ in range(r)]
            for (i, j), taken in zip(edges, chosen, strict=True):
                N[i][j] += taken
            # Rows without entries change no determinant; the order of rows does not either.
            found[r, c, tuple(sorted(tuple(row) for row in N if any(row)))] += (-1) ** (2 * k - sum(chosen))
    merged: Counter[tuple[int, int, Powers]] = Counter()
    for (r, c, N), coefficient in found.items():
        merged[r, c, _canonical(N)] += coefficient
    return [(r, c, N, coefficient) for (r, c, N), coefficient in merged.items() if coefficient]


@cache
def _canonical(N: Powers) -> Powers:
    """The least of the tables that differ by permutations."""
    if not N:
        return N
    orders = itertools.permutations(N)
    return min(
        tuple(zip(*sorted(column for column in zip(*rows, strict=True) if any(column)), strict=True)) for rows in orders
    )


def _classes(size: int) -> Iterator[tuple[int, ...]]:
    """Set partitions: every list in which a label comes after all smaller ones."""
    for labels in itertools.product(range(size), repeat=size):
        if all(label <= max((-1, *labels[:place])) + 1 for place, label in enumerate(labels)):
            yield labels


# -- finite-moments


def judge_moments(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or false."""
    scores = read_scores(given)
    names = {"moments", "ratios", "entry_parts", "variance", "infinite", "smallest", "thresholds"}
    require_record(asserts, "asserts", set(), names)
    require_record(witness, "witness", set())
    require(len(asserts) > 0, "nothing is stated")
    found: list[Judgement] = []
    comparisons: list[Comparison] = []
    values: dict[str, Callable[[int], mpf]] = {
        "moments": scores.moment,
        "ratios": lambda order: scores.moment(order) / scores.limit(order),
        "entry_parts": lambda order: scores.entry(order) / mpf(scores.d) ** (order // 2 - 1) / scores.limit(order),
    }
    bounded: list[tuple[str, int, Callable[[], mpf], Any]] = []
    for name, value in values.items():
        for item in read_items(asserts, name):
            require_record(item, name, {"order"}, {"at_least", "at_most"})
            order = _order(item["order"])
            bounded.append((f"{name} {order}", order, lambda order=order, value=value: value(order), item))
    if "variance" in asserts:
        require_record(asserts["variance"], "variance", set(), {"at_least", "at_most"})
        bounded.append(("variance", 4, scores.variance, asserts["variance"]))
    for name, order, number, item in bounded:
        bounds = [(key, read_number(item[key])) for key in ("at_least", "at_most") if key in item]
        require(len(bounds) > 0, "no bound")
        found.append(exactly(f"{name} finite", scores.finite(order)))
        if scores.finite(order):
            comparisons += [Comparison(f"{name} {key}", number, bound, key == "at_most") for key, bound in bounds]
    for text in read_items(asserts, "infinite"):
        found.append(exactly(f"{text} infinite", not scores.finite(_order(text))))
    for item in read_items(asserts, "smallest"):
        more, exact = _smallest(scores, item)
        comparisons += more
        found += exact
    for item in read_items(asserts, "thresholds"):
        require_record(item, "a threshold", {"order", "beta"})
        require(item["beta"] in ("below", "above"), "a side")
        order = _order(item["order"])
        bound = order * scores.beta**2
        comparisons.append(Comparison("threshold", lambda: mp.log(scores.d), bound, item["beta"] == "above"))
    found += [judge_all(comparisons)] if comparisons else []
    return worst(found)


def read_scores(given: Any) -> Scores:
    """beta, lambda and d; other keys are refused."""
    require_record(given, "given", {"beta", "lambda", "d"})
    beta, lambda_, d = read_number(given["beta"]), read_number(given["lambda"]), read_count(given["d"])
    require(beta > 0 and lambda_ > 0 and d >= 2, "no size")
    require((lambda_ * d).denominator == 1, "lambda d is no whole number")
    return Scores(beta, lambda_, d)


def _smallest(scores: Scores, item: Any) -> tuple[list[Comparison], list[Judgement]]:
    require_record(item, "smallest", {"order", "within", "from"})
    order, within, first = _order(item["order"]), read_number(item["within"]), read_count(item["from"])
    require(within > 0 and 1 <= first < scores.d, "an empty range")
    sizes = [d for d in range(first, scores.d) if (scores.lambda_ * d).denominator == 1] if scores.d < 10**6 else []
    require(len(sizes) <= _MOST_SIZES and scores.d < 10**6, "too many sizes")
    others = [Scores(scores.beta, scores.lambda_, d) for d in [*sizes, scores.d]]

    def distance(at: Scores) -> mpf:
        return abs(at.moment(order) / at.limit(order) - 1)

    exact = [exactly("smallest finite", scores.finite(order))]
    finite = [at for at in others if at.finite(order)]
    comparisons = []
    for at in finite:
        here = at.d == scores.d
        comparisons.append(Comparison(f"smallest at {at.d}", lambda at=at: distance(at), within, here))
    return comparisons, exact


def _order(text: Any) -> int:
    require(text in _ORDERS, "an order")
    return int(text)
