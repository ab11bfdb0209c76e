"""Means of polynomials in independent standard normal numbers."""

from __future__ import annotations

from typing import Any

import sympy

Expr = Any


def normal_mean(polynomial: Expr, normals: list[Expr]) -> Expr:
    """The mean over the normals; everything else is a constant."""
    poly, total = sympy.Poly(sympy.expand(polynomial), *normals), sympy.Integer(0)
    for exponents, c in poly.terms():
        if all(n % 2 == 0 for n in exponents):
            total += c * sympy.Mul(*(sympy.factorial2(n - 1) for n in exponents if n > 0))
    return total
