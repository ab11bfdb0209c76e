"""Matrices of exact numbers or intervals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from arrays import Matrix
from vectors import dot


def times(m: Sequence[Sequence[Any]], v: Sequence[Any]) -> list[Any]:
    """m v"""
    return [dot(row, v) for row in m]


def transposed(m: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """m'"""
    return [list(column) for column in zip(*m, strict=True)]


def scaled(c: Any, m: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """c m"""
    return [[c * x for x in row] for row in m]


def less_unit(m: Sequence[Sequence[Any]], c: Any = 1) -> list[list[Any]]:
    """m - c I"""
    return [[x - c * (i == j) for j, x in enumerate(row)] for i, row in enumerate(m)]


def combined(weights: Sequence[Any], ms: Sequence[Sequence[Sequence[Any]]]) -> list[list[Any]]:
    """sum w m"""
    return [[dot(weights, column) for column in zip(*rows, strict=True)] for rows in zip(*ms, strict=True)]


def matmul(m: Sequence[Sequence[Any]], n: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """m n"""
    columns = transposed(n)
    return [[dot(row, column) for column in columns] for row in m]


def around(m: Sequence[Sequence[Any]], s: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """m s m'"""
    return matmul(m, matmul(s, transposed(m)))


def gram(m: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """m'm"""
    return matmul(transposed(m), m)


def identity(n: int) -> Matrix:
    """I"""
    return [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]


def trace(m: Sequence[Sequence[Any]]) -> Any:
    """tr m"""
    return sum(m[i][i] for i in range(len(m)))


def frobenius(m: Sequence[Sequence[Any]], n: Sequence[Sequence[Any]] | None = None) -> Any:
    """<m, n> = tr m'n, the squared Frobenius norm where n is left out."""
    return sum(dot(r, s) for r, s in zip(m, m if n is None else n, strict=True))


def flat(m: Sequence[Sequence[Any]]) -> list[Any]:
    """All entries, row after row."""
    return [x for row in m for x in row]
