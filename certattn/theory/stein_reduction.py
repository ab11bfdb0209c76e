"""Stein's identity for softmax weights: means of polynomials in scores and weights become means of power sums.

With independent u_i ~ N(0, 1) and p = softmax(s u), write T(k, m) = sum_i p_i^k u_i^m. By Stein's identity
E[u_i F] = E d_i F and d_i p_k = s p_k (delta_ik - p_i),

    E T(k, m) R = sum_i E d_i (p_i^k u_i^(m-1) R),

whose terms are products of T's with fewer factors u. Repeated, only products of P_k = T(k, 0) are left.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import sympy

Expr = Any
# A product of T(k, m), sorted, without T(1, 0) = 1.
Product = tuple[tuple[int, int], ...]
Polynomial = dict[Product, Expr]

S = sympy.Symbol("s", positive=True)


def product(*factors: tuple[int, int]) -> Product:
    return tuple(sorted(factor for factor in factors if factor != (1, 0)))


def weighted_sum(k: int, m: int) -> Polynomial:
    """T(k, m) = sum_i p_i^k u_i^m."""
    return {product((k, m)): sympy.Integer(1)}


CONSTANT: Polynomial = {(): sympy.Integer(1)}


def times(left: Polynomial, right: Polynomial) -> Polynomial:
    found: Polynomial = defaultdict(lambda: sympy.Integer(0))
    for x, c in left.items():
        for y, d in right.items():
            found[product(*x, *y)] += c * d
    return dict(found)


def combined(*terms: tuple[Any, Polynomial]) -> Polynomial:
    """sum of factor * polynomial."""
    found: Polynomial = defaultdict(lambda: sympy.Integer(0))
    for factor, polynomial in terms:
        for key, c in polynomial.items():
            found[key] += factor * c
    return dict(found)


def stein_step(factor: tuple[int, int], rest: Product) -> Polynomial:
    """sum_i d_i (p_i^k u_i^(m-1) R) for the factor T(k, m), m >= 1, and the product R of the rest."""
    k, m = factor
    found: Polynomial = defaultdict(lambda: sympy.Integer(0))
    found[product(*rest, (k, m - 1))] += S * k
    found[product(*rest, (k + 1, m - 1))] -= S * k
    if m > 1:
        found[product(*rest, (k, m - 2))] += m - 1
    for index, (j, n) in enumerate(rest):
        others = rest[:index] + rest[index + 1 :]
        found[product(*others, (k + j, m - 1 + n))] += S * j
        found[product(*others, (k + 1, m - 1), (j, n))] -= S * j
        if n > 0:
            found[product(*others, (k + j, m + n - 2))] += n
    return dict(found)


def in_power_sums(polynomial: Polynomial) -> Polynomial:
    """A polynomial of the same mean without factors u."""
    open_: Polynomial = defaultdict(lambda: sympy.Integer(0), polynomial)
    done: Polynomial = defaultdict(lambda: sympy.Integer(0))
    while open_:
        key, coefficient = open_.popitem()
        index = next((i for i, (_, m) in enumerate(key) if m > 0), None)
        if index is None:
            done[key] += coefficient
            continue
        for term, c in stein_step(key[index], key[:index] + key[index + 1 :]).items():
            open_[term] += coefficient * c
    return dict(done)


def power_sums(*exponents: int) -> Expr:
    """The symbol of E P_(k_1) P_(k_2) ..., in any order."""
    return sympy.Symbol("E" + "".join(f"P{k}" for k in sorted(exponents)), real=True)


def mean(polynomial: Polynomial) -> Expr:
    """The mean as an expression in s and the means of products of power sums."""
    reduced = in_power_sums(polynomial)
    terms = [c * (power_sums(*(k for k, _ in key)) if key else 1) for key, c in reduced.items()]
    return sympy.expand(sum(terms, sympy.Integer(0)))


def written_out(polynomial: Polynomial, weights: list[Expr], scores: list[Expr]) -> Expr:
    """The polynomial over a prompt of that many tokens."""
    total = sympy.Integer(0)
    for key, coefficient in polynomial.items():
        factors = [sum(p**k * u**m for p, u in zip(weights, scores, strict=True)) for k, m in key]
        total += coefficient * sympy.Mul(*factors)
    return total
