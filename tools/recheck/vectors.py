"""Vectors of exact numbers or intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from operator import mul
from typing import Any

from arrays import Matrix
from intervals import I, square


def dot(u: Sequence[Any], v: Sequence[Any]) -> Any:
    """<u, v>"""
    return sum(map(mul, u, v)) if u else Fraction(0)


def plus(u: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """u + v"""
    return [x + y for x, y in zip(u, v, strict=True)]


def minus(u: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """u - v"""
    return [x - y for x, y in zip(u, v, strict=True)]


def norm2(v: Sequence[Any]) -> Any:
    """|v|^2; intervals are squared as such, so that it is not negative."""
    return sum((square(x) if isinstance(x, I) else x * x for x in v), start=Fraction(0))


def integers(rows: Matrix) -> tuple[list[list[int]], int]:
    """The rows as integers over one denominator."""
    d = math.lcm(*(x.denominator for row in rows for x in row))
    return [[x.numerator * (d // x.denominator) for x in row] for row in rows], d


def products(rows: Matrix, points: Matrix) -> Matrix:
    """<row, x> for every row and point."""
    (r, dr), (p, dp) = integers(rows), integers(points)
    return [[Fraction(dot(x, y), dr * dp) for y in p] for x in r]
