"""Polynomials that are nonnegative on a box, proved exactly by Bernstein's form.

A polynomial on [0, 1]^n lies between the smallest and the largest of its coefficients in the Bernstein
basis, which is nonnegative. Where some coefficient is negative the box is halved. Rational arithmetic
only; nothing is evaluated at points.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import Any

import sympy

Expr = Any
# Coefficients by exponents, one exponent for each variable.
Coefficients = dict[tuple[int, ...], Fraction]

_DEEPEST = 24


def is_nonnegative(polynomial: Expr, variables: Sequence[Expr], deepest: int = _DEEPEST) -> bool:
    """Whether a polynomial with rational coefficients is proved to be >= 0 where every variable lies in [0, 1]."""
    poly = sympy.Poly(sympy.expand(polynomial), *variables)
    if poly.is_zero:
        return True
    degrees = [poly.degree(variable) for variable in variables]
    powers = {exponents: Fraction(int(c.p), int(c.q)) for exponents, c in poly.terms()}
    return _nonnegative(_bernstein(powers, degrees), degrees, deepest, 0)


def _bernstein(powers: Coefficients, degrees: Sequence[int]) -> Coefficients:
    """b_i = sum_{j <= i} prod C(i_k, j_k) / C(n_k, j_k) * a_j."""
    found: Coefficients = {}
    for index in itertools.product(*(range(n + 1) for n in degrees)):
        total = Fraction(0)
        for exponents, coefficient in powers.items():
            for i, j, n in zip(index, exponents, degrees, strict=True):
                coefficient = coefficient * Fraction(comb(i, j), comb(n, j))
            total += coefficient
        found[index] = total
    return found


def _nonnegative(coefficients: Coefficients, degrees: Sequence[int], depth: int, axis: int) -> bool:
    if min(coefficients.values()) >= 0:
        return True
    corners = itertools.product(*({0, n} for n in degrees))
    if depth == 0 or any(coefficients[corner] < 0 for corner in corners):
        # A coefficient at a corner is the value there.
        return False
    halves = _halved(coefficients, degrees, axis)
    return all(_nonnegative(half, degrees, depth - 1, (axis + 1) % len(degrees)) for half in halves)


def _halved(coefficients: Coefficients, degrees: Sequence[int], axis: int) -> tuple[Coefficients, Coefficients]:
    """De Casteljau's algorithm: the coefficients on both halves along one axis."""
    left: Coefficients = {}
    right: Coefficients = {}
    n = degrees[axis]
    others = itertools.product(*(range(d + 1) for k, d in enumerate(degrees) if k != axis))
    for rest in others:
        places = [(*rest[:axis], i, *rest[axis:]) for i in range(n + 1)]
        row = [coefficients[place] for place in places]
        for i in range(n + 1):
            left[places[i]], right[places[n - i]] = row[0], row[-1]
            row = [(x + y) / 2 for x, y in itertools.pairwise(row)]
    return left, right
